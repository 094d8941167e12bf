//! What stands in the runtime's table in the place of its own functions.
//!
//! Each does what the original does and looks at it; whatever goes wrong here, the application gets the original's result.

mod executables;
mod queues;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::calls::{self, Function};
use crate::complete;
use crate::cooperative;
use crate::message::Said;
use crate::session::{self, Session, complain, lock};
use crate::table::{Part, TableError};

use executables::{
    define_agent_global, define_global, define_read_only, executable_destroy, executable_freeze, executable_load,
    executable_load_deserialized,
};
pub use queues::Source;
use queues::{intercept_create, queue_create, queue_destroy};

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
