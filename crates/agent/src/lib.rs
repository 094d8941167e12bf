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
//! | [`functions`], [`table`] | the functions that can be wrapped; the API table |
//! | [`runtime`] | the functions of it that the agent calls |
//! | [`wrap`] | what it puts in the table, for itself and for tools |
//! | [`calls`], [`hip`], [`dlsym`] | calls that tools hear of; those of HIP; those of functions taken from its library |
//! | [`code`] | what is loaded |
//! | [`launches`], [`late`], [`held`] | what a launch runs, at once or later; launches one at a time |
//! | [`complete`], [`followed`] | when a launch is over |
//! | [`cooperative`] | queues that all users of a GPU share |
//! | [`session`], [`thread`] | the agent of this process, and its threads |
//! | [`message`], [`link`], [`memory`] | the controller: what is said, how, and shared memory |
//! | [`ring`] | launches that it hears of while the program goes on |
//!
//! Invariants:
//! * Whatever goes wrong here, the application runs as it would without the agent; a line on standard error says so.
//! * Tools' variables lie in memory that the controller has as well: they outlive the process, however it ends.
//! * A child after `fork` has no agent until it loads the runtime itself.

pub mod calls;
pub mod code;
pub mod complete;
pub mod cooperative;
pub mod dlsym;
pub mod flow;
pub mod followed;
pub mod functions;
pub mod held;
pub mod hip;
pub mod hsa;
pub mod late;
pub mod launches;
pub mod link;
pub mod memory;
pub mod message;
pub mod ring;
pub mod runtime;
pub mod session;
pub mod table;
pub mod thread;
pub mod wrap;

use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use runtime::Runtime;
use session::complain;
use table::Table;

/// ROCr's entry into a tool.
///
/// # Safety
/// Called by ROCr, with its table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OnLoad(table: *mut u8, _version: u64, _failed: u64, _names: *const *const c_char) -> bool {
    // SAFETY: the caller's promise.
    let done = catch_unwind(AssertUnwindSafe(|| calls::inside(|| unsafe { load(table) })));
    if done.is_err() {
        complain("a mistake in the agent: nothing is instrumented");
    }
    true
}

/// ROCr's last word to a tool.
#[unsafe(no_mangle)]
pub extern "C" fn OnUnload() {
    let done = catch_unwind(AssertUnwindSafe(|| {
        if let Some(session) = session::current().filter(|session| session.is_active()) {
            calls::inside(|| wrap::forget(session));
        }
        if let Some(session) = session::current() {
            session.followed.end(true);
        }
    }));
    if done.is_err() {
        complain("a mistake in the agent: its report may not be whole");
    }
    session::end();
}

/// # Safety
/// As for [`OnLoad`].
unsafe fn load(table: *mut u8) {
    if !session::has_controller() {
        complain("the agent has no controller (LUTHIER_AGENT is not set): nothing is instrumented");
        return;
    }
    // SAFETY: the caller's promise.
    let found = unsafe { Table::new(table) }.and_then(|table| Ok((table, Runtime::of(&table)?)));
    let (table, runtime) = match found {
        Ok(found) => found,
        Err(error) => {
            complain(&format!("{error}: nothing is instrumented"));
            return;
        }
    };
    let Some(session) = session::current_or_new().filter(|session| session.is_active()) else { return };
    session.attach(table, runtime);
    if let Err(error) = wrap::install(session) {
        complain(&format!("{error}: nothing is instrumented"));
    }
}
