//! The agent in one process: the controller, and the runtime once there is one.

mod process;
mod talk;

use std::os::fd::{AsFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use crate::calls;
use crate::code::Code;
use crate::followed::Followed;
use crate::late::Waiting;
use crate::link::{Link, LinkError};
use crate::memory::Shared;
use crate::message::{Asked, Gpu, Said, VERSION};
use crate::runtime::Runtime;
use crate::table::Table;
use crate::wrap;

pub use process::{of_program, read, thread};

/// Kernels that are counted each for itself. Further ones share the last place, and are not instrumented.
pub const SLOTS: usize = 1 << 16;
/// Numbers of the ledger for each kernel: how often it was launched as it is, how often instrumented, how many of these
/// launches are followed to their end, and how many have ended.
pub const COUNTERS: usize = 4;
/// The place in the ledger behind all kernels': launches of kernels of code objects that were not seen when they were loaded.
pub const UNSEEN: usize = SLOTS;

/// Where the controller listens.
const SOCKET: &str = "LUTHIER_AGENT";
/// If set: the only process that is watched. Its children are not.
const ONLY: &str = "LUTHIER_AGENT_ONLY";

/// The runtime, from when it has loaded the agent.
pub struct Hsa {
    pub table: Table,
    pub runtime: Runtime,
    pub gpus: OnceLock<Vec<Gpu>>,
}

/// What the controller wants of launches.
#[derive(Clone, Copy)]
pub struct Wants {
    pub every_launch: bool,
    pub decide: bool,
    pub complete: bool,
    pub hold: bool,
    pub wait: bool,
}

pub struct Session {
    hsa: OnceLock<Hsa>,
    pub(crate) link: Mutex<Link>,
    pub code: RwLock<Code>,
    pub ledger: Shared,
    /// What the controller wants of each function, for [`calls`].
    _wishes: Shared,
    pub wants: Wants,
    /// Memory that the controller has filled for the process.
    kept: Mutex<Vec<Shared>>,
    /// Functions to be wrapped once there is a runtime.
    pub wrapped: Mutex<Vec<usize>>,
    active: AtomicBool,
    socket: RawFd,
    /// Where the memory of the ring is, and how many bytes it has, if there is one.
    ring: Option<(usize, usize)>,
    calls: AtomicU64,
    pub launches: AtomicU64,
    /// Launches that are followed to their end.
    pub followed: Followed,
    /// Kernels that wait to be instrumented while their originals run.
    pub waiting: Waiting,
}

static CURRENT: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());
/// Processes that were tried: one that has no controller does not look for it at every call.
static TRIED: AtomicUsize = AtomicUsize::new(0);

/// The session of this process, if it has one.
pub fn current() -> Option<&'static Session> {
    // SAFETY: sessions are never freed.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// The session of this process; the first call introduces it to the controller.
pub fn current_or_new() -> Option<&'static Session> {
    static OPENING: Mutex<()> = Mutex::new(());
    let _one = lock(&OPENING);
    if let Some(session) = current() {
        return Some(session);
    }
    let pid = std::process::id();
    let path = std::env::var(SOCKET).ok()?;
    if std::env::var(ONLY).is_ok_and(|only| only != pid.to_string()) {
        return None;
    }
    if TRIED.swap(pid as usize, Ordering::Relaxed) == pid as usize {
        return None;
    }
    match Session::open(&path) {
        Ok(session) => {
            let session: &'static Session = Box::leak(Box::new(session));
            calls::obey(session._wishes.start().cast());
            CURRENT.store(std::ptr::from_ref(session).cast_mut(), Ordering::Release);
            static ONCE: std::sync::Once = std::sync::Once::new();
            // SAFETY: functions that stay where they are: the library is never unloaded.
            ONCE.call_once(|| unsafe {
                libc::pthread_atfork(None, None, Some(in_child));
                libc::atexit(end);
            });
            Some(session)
        }
        Err(error) => {
            complain(&format!("the controller at {path}: {error}: nothing is instrumented"));
            None
        }
    }
}

/// Whether the agent was asked for.
pub fn has_controller() -> bool {
    std::env::var_os(SOCKET).is_some()
}

/// The process ends, or the runtime does.
pub extern "C" fn end() {
    if let Some(session) = current() {
        if calls::is_inside() {
            // A signal's handler has called `exit` in the middle of something of ours, which may hold any lock.
            session.retire();
            return;
        }
        // Nothing is to leave this function.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wrap::finish(session)));
        session.followed.end(false);
    }
}

extern "C" fn in_child() {
    let Some(session) = current() else { return };
    session.retire();
    calls::obey(std::ptr::null_mut());
    // SAFETY: the child's copy, which is not used any more.
    unsafe { libc::close(session.socket) };
    if let Some((start, len)) = session.ring {
        // A signal's handler may have forked in the middle of an entry: that is not to be finished in the parent's memory.
        Shared::replace(start, len);
    }
    if session.hsa.get().is_none() {
        // It may use a GPU itself, and is then a process like any other.
        CURRENT.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// What a panic elsewhere has left is used all the same: everything is changed in one step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line on standard error.
pub fn complain(what: &str) {
    // Without the lock of Rust's own stream, which a thread that a fork has left behind may hold.
    let line = format!("luthier: {what}\n");
    // SAFETY: as long as it says.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

impl Session {
    /// Introduces this process to the controller whose socket is at `path`.
    fn open(path: &str) -> Result<Session, LinkError> {
        let mut link = Link::open(path)?;
        let (ledger, counts) = Shared::new((SLOTS + 1) * COUNTERS * 8)?;
        let (wishes, words) = Shared::new(calls::COUNT * 4)?;
        let program = process::program().unwrap_or_default();
        // SAFETY: has no conditions.
        let parent = unsafe { libc::getppid() }.cast_unsigned();
        let (pid, functions) = (std::process::id(), calls::COUNT);
        let hello = Said::Hello { version: VERSION, functions, pid, parent, program: &program };
        link.say(&hello, &[counts.as_fd(), words.as_fd()])?;
        let (wants, wrapped) = match link.hear()?.0 {
            Asked::Welcome { version: VERSION, every_launch, decide, complete, hold, wait, wrap } => {
                (Wants { every_launch, decide, complete, hold, wait }, wrap)
            }
            other => return Err(LinkError::Message(format!("it does not welcome us: {other:?}"))),
        };
        if wants.every_launch || wants.complete {
            link.share_ring()?;
        }
        Ok(Session {
            hsa: OnceLock::new(),
            socket: link.socket(),
            ring: link.ring_memory(),
            link: Mutex::new(link),
            code: RwLock::default(),
            ledger,
            _wishes: wishes,
            wants,
            kept: Mutex::default(),
            wrapped: Mutex::new(wrapped),
            active: AtomicBool::new(true),
            calls: AtomicU64::new(0),
            launches: AtomicU64::new(0),
            followed: Followed::default(),
            waiting: Waiting::default(),
        })
    }

    /// Takes a runtime.
    pub fn attach(&self, table: Table, runtime: Runtime) {
        // If the runtime was shut down and is started again, its table is where it was.
        self.hsa.get_or_init(|| Hsa { table, runtime, gpus: OnceLock::new() });
        self.followed.begin();
    }

    /// The runtime, in functions that only it calls.
    pub fn hsa(&self) -> &Hsa {
        self.hsa.get().unwrap_or_else(|| std::process::abort())
    }

    pub fn runtime(&self) -> &Runtime {
        &self.hsa().runtime
    }

    pub fn has_runtime(&self) -> bool {
        self.hsa.get().is_some()
    }

    /// The controller listens, and this is the process that it knows.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// From now on everything goes as if the agent were not there.
    pub fn retire(&self) {
        self.active.store(false, Ordering::Release);
    }

    pub(crate) fn lost(&self, error: &LinkError) {
        if self.active.swap(false, Ordering::AcqRel) {
            complain(&format!(
                "the controller is lost ({error}): the program goes on, and further launches are not instrumented"
            ));
        }
    }

    /// Number and description of a GPU.
    pub fn gpu(&self, agent: u64) -> (usize, Gpu) {
        let gpus = self.gpus();
        let number = gpus.iter().position(|gpu| gpu.agent == agent);
        let unknown = || Gpu { agent, name: String::new() };
        number.map_or_else(|| (gpus.len(), unknown()), |n| (n, gpus[n].clone()))
    }

    /// All GPUs. The controller learns of them the first time.
    pub fn gpus(&self) -> &[Gpu] {
        self.hsa().gpus.get_or_init(|| {
            let gpus = self.runtime().gpus();
            self.tell(&Said::Runtime { gpus: &gpus }, None);
            gpus
        })
    }

    /// Numbers calls.
    pub fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}
