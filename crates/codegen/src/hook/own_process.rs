//! LLVM's work on code that we have not written, in a process of its own: LLVM can crash on an operation that the
//! processor does not have, and whatever it takes along is not ours then.
//!
//! The process is a copy of this one (fork), made while no thread is inside of LLVM, so that none of LLVM's locks is held
//! in it for ever. It works, writes its answer into a pipe and ends. It starts no thread: another thread of this process
//! may have been starting one when it was copied, and what the C library and Rust lock for that stays locked in the copy.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use inkwell::targets::TargetMachine;
use luthier_isa::Mode;

use super::{llvm, refusal::Refusal};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// An answer's first byte.
const DONE: u8 = 1;
const REFUSED: u8 = 2;
const GAVE_UP: u8 = 3;

/// Why there is nothing.
pub enum Failure {
    /// The work's own reason, or why no process could do it.
    Refused(Refusal),
    /// LLVM has given up on it, and why.
    GaveUp(String),
    /// LLVM has crashed.
    Crash,
}

/// What `work` gives, done in another process.
pub fn run(
    mode: Mode,
    work: impl FnOnce(&TargetMachine) -> Result<Vec<u8>, Refusal> + Send,
) -> Result<Vec<u8>, Failure> {
    let none = |e: io::Error| refused(format!("no process of LLVM's own could be started: {e}"));
    llvm::start();
    // The copy goes on with the stack of the thread that makes it, and LLVM needs a large one.
    thread::scope(|scope| {
        let forks = || {
            let (from, to) = pipe().map_err(none)?;
            let alone = llvm::nobody_inside();
            // SAFETY: the copy runs nothing but this function, and leaves by `_exit`; what other threads may have locked
            // it does not use, but for the allocator, which the C library puts in order.
            match unsafe { libc::fork() } {
                -1 => Err(none(io::Error::last_os_error())),
                0 => {
                    drop(alone);
                    drop(from);
                    answer(to, mode, work)
                }
                process => {
                    drop(alone);
                    drop(to);
                    wait(process, from)
                }
            }
        };
        let thread = thread::Builder::new().name("llvm".to_owned()).stack_size(llvm::STACK).spawn_scoped(scope, forks);
        thread.map_err(none)?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn refused(said: String) -> Failure {
    Failure::Refused(said.into())
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: writes two descriptors, which are nothing else's.
    match unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } {
        // SAFETY: as above.
        0 => Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The other process: quiet, and gone when it has answered.
fn answer(to: OwnedFd, mode: Mode, work: impl FnOnce(&TargetMachine) -> Result<Vec<u8>, Refusal>) -> ! {
    // SAFETY: plain calls; a crash of LLVM ends the process as it would any, without a handler or a core of ours.
    unsafe {
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP] {
            libc::signal(signal, libc::SIG_DFL);
        }
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        if nowhere >= 0 {
            libc::dup2(nowhere, 2);
        }
    }
    let to = Rc::new(File::from(to));
    let gives_up = to.clone();
    match llvm::on_this_thread(mode, move |reason| leave(&gives_up, GAVE_UP, reason.as_bytes()), work) {
        Ok(bytes) => leave(&to, DONE, &bytes),
        // What cannot be written is no answer, which the one who waits says.
        Err(refusal) => leave(&to, REFUSED, &serde_json::to_vec(&refusal).unwrap_or_default()),
    }
}

fn leave(mut to: &File, kind: u8, bytes: &[u8]) -> ! {
    let whole = (bytes.len() as u64).to_le_bytes();
    let said = to.write_all(&[kind]).and_then(|()| to.write_all(&whole)).and_then(|()| to.write_all(bytes));
    // SAFETY: nothing of the process that it is a copy of may run at its end.
    unsafe { libc::_exit(i32::from(said.is_err())) }
}

/// What the other process answers.
fn wait(process: libc::pid_t, from: OwnedFd) -> Result<Vec<u8>, Failure> {
    let mut said = Vec::new();
    let in_time = read(from, &mut said);
    if !in_time {
        // SAFETY: the process is ours and has not been waited for.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }
    let mut status = 0;
    // SAFETY: as above. Where somebody else has waited for it, what it said is all that there is.
    while unsafe { libc::waitpid(process, &raw mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    if !in_time {
        return Err(refused(format!("LLVM has not compiled it in {} seconds", PATIENCE.as_secs())));
    }
    let whole = said.split_first().and_then(|(kind, rest)| {
        let (length, bytes) = rest.split_first_chunk()?;
        (u64::from_le_bytes(*length) == bytes.len() as u64).then(|| (*kind, bytes.to_vec()))
    });
    match whole {
        Some((DONE, bytes)) => Ok(bytes),
        Some((GAVE_UP, reason)) => Err(Failure::GaveUp(String::from_utf8_lossy(&reason).into_owned())),
        Some((REFUSED, refusal)) => Err(match serde_json::from_slice(&refusal) {
            Ok(refusal) => Failure::Refused(refusal),
            Err(error) => refused(format!("the answer of LLVM's own process cannot be read: {error}")),
        }),
        Some(_) | None => Err(Failure::Crash),
    }
}

/// Reads to the end; whether that came in time.
fn read(from: OwnedFd, said: &mut Vec<u8>) -> bool {
    let start = Instant::now();
    let mut from = File::from(from);
    let mut part = [0; 1 << 16];
    loop {
        let left = PATIENCE.saturating_sub(start.elapsed());
        let mut ready = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        match unsafe { libc::poll(&raw mut ready, 1, left.as_millis() as i32) } {
            0 => return false,
            1.. => match from.read(&mut part) {
                Ok(0) => return true,
                Ok(n) => said.extend_from_slice(&part[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return true,
            },
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return true,
        }
    }
}
