//! The agent: what Luthier has in the process of a program that it instruments.
//!
//! ROCr loads it as a tool (`HSA_TOOLS_LIB`) and hands it the table through which it calls its own functions. The agent
//! sees what is loaded and launched, and tells the controller, the Python process that compiles. When a kernel is launched
//! for the first time, the controller may answer with an instrumented copy; the agent loads that beside the original and
//! has this launch, and later ones, run it. There is neither LLVM nor Python in here.
//!
//! | module | one idea |
//! |---|---|
//! | [`hsa`] | what passes between ROCr and its tools |
//! | [`names`], [`table`] | the API table |
//! | [`runtime`] | the functions of it that the agent calls |
//! | [`wrap`] | the functions that it puts in their place |
//! | [`code`] | what is loaded |
//! | [`session`] | what a launch runs; the agent of this process |
//! | [`message`], [`link`], [`memory`] | the controller: what is said, how, and shared memory |
//!
//! Invariants:
//! * Whatever goes wrong here, the application runs as it would without the agent; a line on standard error says so.
//! * Tools' variables lie in memory that the controller has as well: they outlive the process, however it ends.
//! * A child after `fork` has no agent until it loads the runtime itself.

pub mod code;
pub mod hsa;
pub mod link;
pub mod memory;
pub mod message;
pub mod names;
pub mod runtime;
pub mod session;
pub mod table;
pub mod wrap;

use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use runtime::Runtime;
use session::{Session, complain};
use table::Table;

/// Where the controller listens.
const SOCKET: &str = "LUTHIER_AGENT";
/// If set: the only process that is watched. Its children are not.
const ONLY: &str = "LUTHIER_AGENT_ONLY";

pub(crate) static SESSION: OnceLock<Session> = OnceLock::new();

/// ROCr's entry into a tool.
///
/// # Safety
/// Called by ROCr, with its table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OnLoad(table: *mut u8, _version: u64, _failed: u64, _names: *const *const c_char) -> bool {
    // SAFETY: the caller's promise.
    let done = catch_unwind(AssertUnwindSafe(|| unsafe { load(table) }));
    done.unwrap_or_else(|_| {
        complain("a mistake in the agent: nothing is instrumented");
        true
    })
}

/// ROCr's last word to a tool.
#[unsafe(no_mangle)]
pub extern "C" fn OnUnload() {
    end();
}

/// # Safety
/// As for [`OnLoad`].
unsafe fn load(table: *mut u8) -> bool {
    let Ok(path) = std::env::var(SOCKET) else {
        complain(&format!("the agent has no controller ({SOCKET} is not set): nothing is instrumented"));
        return true;
    };
    if std::env::var(ONLY).is_ok_and(|only| only != std::process::id().to_string()) {
        return true;
    }
    if SESSION.get().is_some() {
        // The runtime was shut down and started again: its table is as new.
        return again();
    }
    // SAFETY: the caller's promise.
    let opened = unsafe { Table::new(table) }
        .and_then(|table| Ok((table, Runtime::of(&table)?)))
        .map_err(|error| error.to_string())
        .and_then(|(table, runtime)| {
            Session::open(table, runtime, &path).map_err(|error| format!("the controller at {path}: {error}"))
        });
    match opened {
        Ok(session) => {
            let session = SESSION.get_or_init(|| session);
            // SAFETY: functions that stay where they are: the library is never unloaded.
            unsafe {
                libc::pthread_atfork(None, None, Some(in_child));
                libc::atexit(end);
            }
            if let Err(error) = wrap::install(session) {
                complain(&format!("{error}: nothing is instrumented"));
            }
        }
        Err(reason) => complain(&format!("{reason}: nothing is instrumented")),
    }
    true
}

fn again() -> bool {
    if let Some(session) = SESSION.get().filter(|session| session.is_active())
        && let Err(error) = wrap::install(session)
    {
        complain(&format!("{error}: nothing is instrumented"));
    }
    true
}

extern "C" fn end() {
    if let Some(session) = SESSION.get() {
        // Nothing is to leave this function.
        let _ = catch_unwind(AssertUnwindSafe(|| wrap::finish(session)));
    }
}

extern "C" fn in_child() {
    if let Some(session) = SESSION.get() {
        session.retire();
        // SAFETY: the child's copy, which nobody uses any more.
        unsafe { libc::close(session.socket) };
    }
}
