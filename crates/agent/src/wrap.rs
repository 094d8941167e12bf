//! What stands in the runtime's table in the place of its own functions.
//!
//! Each does what the original does and looks at it; whatever goes wrong here, the application gets the original's result.

use std::ffi::{CStr, c_char, c_void};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::calls::{self, Function};
use crate::code::Fresh;
use crate::complete;
use crate::cooperative;
use crate::flow::Flow;
use crate::held;
use crate::hsa::{self, Handle, Packet, Queue, QueueError, Status};
use crate::memory::Shared;
use crate::message::Said;
use crate::runtime::{Defined, Definition};
use crate::session::{self, Session, complain, lock};
use crate::table::{Part, TableError};

/// Puts them there.
pub fn install(session: &Session) -> Result<(), TableError> {
    let all: [(Part, &str, usize); 10] = [
        (Part::Core, "hsa_queue_create", queue_create as *const () as usize),
        (Part::Core, "hsa_queue_destroy", queue_destroy as *const () as usize),
        (Part::Core, "hsa_executable_load_agent_code_object", executable_load as *const () as usize),
        (Part::Core, "hsa_executable_load_code_object", executable_load_deserialized as *const () as usize),
        (Part::Core, "hsa_executable_freeze", executable_freeze as *const () as usize),
        (Part::Core, "hsa_executable_destroy", executable_destroy as *const () as usize),
        (Part::Core, "hsa_executable_global_variable_define", define_global as *const () as usize),
        (Part::Core, "hsa_executable_agent_global_variable_define", define_agent_global as *const () as usize),
        (Part::Core, "hsa_executable_readonly_variable_define", define_read_only as *const () as usize),
        (Part::AmdExt, "hsa_amd_queue_intercept_create", intercept_create as *const () as usize),
    ];
    for (part, name, address) in all {
        session.hsa().table.replace(part, name, address)?;
    }
    INSTALLED.iter().for_each(|installed| installed.store(false, Ordering::Relaxed));
    let wanted = lock(&session.wrapped).clone();
    if let Err(reason) = put(session, &wanted, true) {
        complain(&reason);
    }
    Ok(())
}

/// Wrappers for tools that are in the table, or behind what another tool has put over them.
static INSTALLED: [AtomicBool; calls::COUNT] = [const { AtomicBool::new(false) }; calls::COUNT];

/// Has functions wrapped for tools, or not any more.
pub fn wrap(session: &Session, functions: &[usize], on: bool) -> Result<(), String> {
    lock(&session.wrapped).retain(|known| !functions.contains(known));
    if on {
        lock(&session.wrapped).extend_from_slice(functions);
    }
    if session.has_runtime() { put(session, functions, on) } else { Ok(()) }
}

fn put(session: &Session, functions: &[usize], on: bool) -> Result<(), String> {
    let mut missing = Vec::new();
    for &function in functions {
        let Some((part, entry)) = at(function) else { continue };
        let (table, wrapper) = (&session.hsa().table, entry.wrapper.expose_provenance());
        let Ok(present) = table.get(part, entry.name) else {
            missing.push(entry.name);
            continue;
        };
        let installed = INSTALLED[function].load(Ordering::Acquire);
        if on && !installed {
            calls::set_next(function, present);
            let _ = table.replace(part, entry.name, wrapper);
            INSTALLED[function].store(true, Ordering::Release);
        } else if !on && installed && present == wrapper {
            let _ = table.replace(part, entry.name, calls::next(function));
            INSTALLED[function].store(false, Ordering::Release);
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(format!("the runtime has no {}", missing.join(", "))) }
}

/// The entry of the API table that a function has; none if it is HIP's.
fn at(mut function: usize) -> Option<(Part, &'static Function)> {
    for part in [Part::Core, Part::AmdExt, Part::Image] {
        let functions = part.functions();
        if let Some(entry) = functions.get(function) {
            return Some((part, entry));
        }
        function -= functions.len();
    }
    None
}

/// The session that the functions below are for: they are in the table only while there is one.
fn of_the_process() -> &'static Session {
    session::current().unwrap_or_else(|| std::process::abort())
}

/// Looks at what was done. A mistake of ours must not reach the application.
fn look(at: impl FnOnce(&'static Session)) {
    let session = of_the_process();
    if !session.is_active() || calls::is_inside() {
        return;
    }
    if catch_unwind(AssertUnwindSafe(|| calls::inside(|| at(session)))).is_err() {
        session.retire();
        complain("a mistake in the agent: further launches are not instrumented");
    }
}

unsafe extern "C" fn queue_create(
    agent: Handle,
    size: u32,
    kind: u32,
    callback: QueueError,
    data: *mut c_void,
    private: u32,
    group: u32,
    queue: *mut *mut Queue,
) -> Status {
    let session = of_the_process();
    // A tool that came before has a way of its own to create queues, whose packets it sees; we look at them there.
    let own = session.is_active() && session.runtime().creates_queues_itself();
    let create = if own { session.runtime().intercept_create } else { session.runtime().queue_create };
    // SAFETY: the application's arguments, as they are.
    unsafe { watched(create, agent, size, kind, callback, data, private, group, queue) }
}

unsafe extern "C" fn intercept_create(
    agent: Handle,
    size: u32,
    kind: u32,
    callback: QueueError,
    data: *mut c_void,
    private: u32,
    group: u32,
    queue: *mut *mut Queue,
) -> Status {
    let create = of_the_process().runtime().intercept_create;
    // SAFETY: the application's arguments, as they are.
    unsafe { watched(create, agent, size, kind, callback, data, private, group, queue) }
}

/// Creates a queue whose packets we see.
#[expect(clippy::too_many_arguments, reason = "they are the runtime's")]
unsafe fn watched(
    create: hsa::QueueCreate,
    agent: Handle,
    size: u32,
    kind: u32,
    callback: QueueError,
    data: *mut c_void,
    private: u32,
    group: u32,
    queue: *mut *mut Queue,
) -> Status {
    // SAFETY: the caller's promise.
    let make = || unsafe { create(agent, size, kind, callback, data, private, group, queue) };
    let runtime = of_the_process().runtime();
    let is_intercepted = create as usize == runtime.intercept_create as usize;
    // Of queues that another tool creates nothing is known.
    let is_shared = kind == hsa::COOPERATIVE && is_intercepted && runtime.creates_queues_itself() && !queue.is_null();
    let (status, is_new) = if is_shared {
        // SAFETY: the caller's promise.
        unsafe { cooperative::create(agent, queue, make) }
    } else {
        (make(), true)
    };
    if status == hsa::SUCCESS && is_new && !queue.is_null() {
        look(|session| {
            // The runtime may hand packets to us for as long as the process lives.
            // SAFETY: the runtime has just written it.
            let queue_address = unsafe { *queue }.addr() as u64;
            let source = Source { agent, queue: queue_address, index: QUEUES.fetch_add(1, Ordering::Relaxed) };
            let watched = Box::leak(Box::new(WatchedQueue { source, flow: Flow::new(size) }));
            // SAFETY: the runtime has just written it.
            let made = unsafe { (session.runtime().intercept_register)(*queue, packets, (&raw mut *watched).cast()) };
            if made != hsa::SUCCESS {
                complain(&format!("a queue cannot be watched (status {made:#x}): its launches are not instrumented"));
            }
            if session.wants.complete {
                // SAFETY: as above. Without it, launches have no times.
                unsafe { (session.runtime().profile)(*queue, 1) };
            }
        });
    }
    status
}

unsafe extern "C" fn queue_destroy(queue: *mut Queue) -> Status {
    let runtime = of_the_process().runtime();
    if cooperative::destroy(runtime, queue) {
        return hsa::SUCCESS;
    }
    // SAFETY: the application's argument.
    unsafe { (runtime.queue_destroy)(queue) }
}

/// Where packets come from.
#[derive(Clone, Copy)]
pub struct Source {
    /// The GPU.
    pub agent: Handle,
    /// The queue's address.
    pub queue: u64,
    /// A number that no other queue has.
    pub index: u64,
}

/// Queues that there were so far.
static QUEUES: AtomicU64 = AtomicU64::new(0);

/// A queue whose packets we see.
struct WatchedQueue {
    source: Source,
    flow: Flow,
}

/// Packets that the application has submitted.
unsafe extern "C" fn packets(from: *const c_void, count: u64, _index: u64, watched: *mut c_void, write: hsa::Writer) {
    let mut ours: Vec<Packet> = Vec::new();
    let mut held = Vec::new();
    // SAFETY: what was registered with this function.
    let WatchedQueue { source, flow } = unsafe { &*watched.cast::<WatchedQueue>() };
    look(|session| {
        for n in 0..count as usize {
            // SAFETY: as many as the runtime says. They may lie anywhere.
            ours.push(unsafe { from.cast::<Packet>().add(n).read_unaligned() });
        }
        if session.wants.hold {
            (ours, held) = held::surround(session, *source, std::mem::take(&mut ours));
        } else {
            for packet in &mut ours {
                let theirs = packet.completion_signal();
                let followed = if packet.is_dispatch() { session.direct(*source, packet) } else { None };
                // Of a signal that is not the application's it hears nothing.
                if followed.is_none() && packet.completion_signal() == theirs {
                    complete::behind(session, *source, packet);
                }
            }
        }
        flow.make_room(session, &mut ours);
    });
    let (all, count) =
        if ours.len() as u64 >= count { (ours.as_ptr().cast(), ours.len() as u64) } else { (from, count) };
    // SAFETY: as many packets, ours or the application's.
    unsafe { write(all, count) };
    if !held.is_empty() {
        look(|session| held::look(session, held));
    }
}

unsafe extern "C" fn executable_load(
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
unsafe extern "C" fn executable_load_deserialized(
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

unsafe extern "C" fn executable_freeze(executable: Handle, options: *const c_char) -> Status {
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

unsafe extern "C" fn executable_destroy(executable: Handle) -> Status {
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

unsafe extern "C" fn define_global(executable: Handle, name: *const c_char, address: *mut c_void) -> Status {
    // SAFETY: the application's arguments.
    let status = unsafe { (of_the_process().runtime().define_global)(executable, name, address) };
    if status == hsa::SUCCESS {
        defined(executable, Defined::Global, name, address);
    }
    status
}

unsafe extern "C" fn define_agent_global(
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

unsafe extern "C" fn define_read_only(
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

/// The runtime is shut down: nothing that it had is there any more.
pub fn forget(session: &Session) {
    complete::settle(session);
    session.leave_waiting(None);
    cooperative::forget();
    let gone = session.code.write().unwrap_or_else(PoisonError::into_inner).clear();
    for object in gone {
        session.tell(&Said::Unloaded { object }, None);
    }
}

/// Ends what there is with the controller.
pub fn finish(session: &session::Session) {
    if session.is_active() {
        calls::inside(|| {
            if session.has_runtime() {
                complete::settle(session);
            }
            session.leave_waiting(None);
            session.tell(&Said::Ended, None);
        });
    }
}
