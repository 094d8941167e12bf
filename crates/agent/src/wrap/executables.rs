//! Code that is loaded, its variables, and its end.

use std::ffi::{CStr, c_char, c_void};
use std::os::fd::AsFd;
use std::sync::PoisonError;

use super::{look, of_the_process};
use crate::code::Fresh;
use crate::complete;
use crate::hsa::{self, Handle, Status};
use crate::memory::Shared;
use crate::message::Said;
use crate::runtime::{Defined, Definition};
use crate::session::{Session, complain};

pub unsafe extern "C" fn executable_load(
    executable: Handle,
    agent: Handle,
    reader: Handle,
    options: *const c_char,
    object: *mut Handle,
) -> Status {
    let session = of_the_process();
    let mut made = Handle(0);
    // SAFETY: the application's arguments; the result goes through here.
    let status = unsafe { (session.runtime().executable_load)(executable, agent, reader, options, &raw mut made) };
    if status != hsa::SUCCESS {
        return status;
    }
    if !object.is_null() {
        // SAFETY: the application's.
        unsafe { object.write(made) };
    }
    look(|session| take(session, executable, agent, made));
    status
}

/// The deprecated way, which GCC's libgomp uses. It does not say what has been loaded.
pub unsafe extern "C" fn executable_load_deserialized(
    executable: Handle,
    agent: Handle,
    from: Handle,
    options: *const c_char,
) -> Status {
    let session = of_the_process();
    // SAFETY: the application's arguments, as they are.
    let status = unsafe { (session.runtime().executable_load_deserialized)(executable, agent, from, options) };
    if status == hsa::SUCCESS {
        look(|session| match session.runtime().loaded_into(executable) {
            Ok(objects) => {
                let code = session.code.read().unwrap_or_else(PoisonError::into_inner);
                let known = |object| code.executables.get(&executable).is_some_and(|known| known.has(object));
                let new: Vec<Handle> = objects.into_iter().filter(|object| !known(*object)).collect();
                drop(code);
                new.into_iter().for_each(|object| take(session, executable, agent, object));
            }
            Err(reason) => complain(&format!("a code object's kernels are not instrumented: {reason}")),
        });
    }
    status
}

/// A code object has been loaded.
fn take(session: &Session, executable: Handle, agent: Handle, object: Handle) {
    // What it was loaded from is the application's, and may go away soon.
    let copy = session.runtime().storage(object).and_then(|(at, size)| {
        let (memory, file) = Shared::new(size).map_err(|e| e.to_string())?;
        // SAFETY: the runtime says that they are there, and it has just read them.
        unsafe { memory.fill(at) };
        Ok(file)
    });
    if let Err(reason) = &copy {
        complain(&format!("a code object's kernels are not instrumented: {reason}"));
    }
    let mut code = session.code.write().unwrap_or_else(PoisonError::into_inner);
    let fresh = Fresh { object, agent, bytes: copy.ok() };
    code.executables.entry(executable).or_default().fresh.push(fresh);
}

pub unsafe extern "C" fn executable_freeze(executable: Handle, options: *const c_char) -> Status {
    // SAFETY: the application's arguments.
    let status = unsafe { (of_the_process().runtime().executable_freeze)(executable, options) };
    if status == hsa::SUCCESS {
        look(|session| frozen(session, executable));
    }
    status
}

fn frozen(session: &Session, executable: Handle) {
    let (fresh, definitions) = {
        let mut code = session.code.write().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = code.executables.get_mut(&executable) else { return };
        (std::mem::take(&mut known.fresh), known.definitions.clone())
    };
    for mut one in fresh {
        let Some(bytes) = one.bytes.take() else { continue };
        let loaded = match session.runtime().loaded(one.object) {
            Ok(loaded) => loaded,
            Err(reason) => {
                complain(&format!("a code object's kernels are not instrumented: {reason}"));
                continue;
            }
        };
        let (base, start, size, uri) = (loaded.delta, loaded.base, loaded.size, loaded.uri.clone());
        let mut code = session.code.write().unwrap_or_else(PoisonError::into_inner);
        let object = code.add(executable, &one, loaded, definitions.clone());
        drop(code);
        let (number, gpu) = session.gpu(one.agent.0);
        let said = Said::Loaded { object, executable: executable.0, gpu: &gpu, number, base, start, size, uri: &uri };
        session.tell(&said, Some(bytes.as_fd()));
    }
}

pub unsafe extern "C" fn executable_destroy(executable: Handle) -> Status {
    // Once it is destroyed, its addresses may be given to another one.
    let mut gone = Vec::new();
    look(|session| {
        // Tools hear of the ends of its launches first.
        complete::settle(session);
        session.leave_waiting(Some(executable));
        gone = session.code.write().unwrap_or_else(PoisonError::into_inner).remove(executable);
    });
    let session = of_the_process();
    // SAFETY: the application's argument.
    let status = unsafe { (session.runtime().executable_destroy)(executable) };
    look(|session| {
        for object in gone {
            let number = object.number;
            object.free(session.runtime());
            session.tell(&Said::Unloaded { object: number }, None);
        }
    });
    status
}

fn defined(executable: Handle, kind: Defined, name: *const c_char, address: *mut c_void) {
    look(|session| {
        // SAFETY: the runtime has just read it.
        let name = unsafe { CStr::from_ptr(name) }.to_owned();
        let mut code = session.code.write().unwrap_or_else(PoisonError::into_inner);
        let definition = Definition { kind, name, address: address.expose_provenance() };
        code.executables.entry(executable).or_default().definitions.push(definition);
    });
}

pub unsafe extern "C" fn define_global(executable: Handle, name: *const c_char, address: *mut c_void) -> Status {
    // SAFETY: the application's arguments.
    let status = unsafe { (of_the_process().runtime().define_global)(executable, name, address) };
    if status == hsa::SUCCESS {
        defined(executable, Defined::Global, name, address);
    }
    status
}

pub unsafe extern "C" fn define_agent_global(
    executable: Handle,
    agent: Handle,
    name: *const c_char,
    address: *mut c_void,
) -> Status {
    // SAFETY: the application's arguments.
    let status = unsafe { (of_the_process().runtime().define_agent_global)(executable, agent, name, address) };
    if status == hsa::SUCCESS {
        defined(executable, Defined::AgentGlobal(agent), name, address);
    }
    status
}

pub unsafe extern "C" fn define_read_only(
    executable: Handle,
    agent: Handle,
    name: *const c_char,
    address: *mut c_void,
) -> Status {
    // SAFETY: the application's arguments.
    let status = unsafe { (of_the_process().runtime().define_read_only)(executable, agent, name, address) };
    if status == hsa::SUCCESS {
        defined(executable, Defined::ReadOnly(agent), name, address);
    }
    status
}
