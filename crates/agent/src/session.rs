//! The agent in one process: the controller, and the runtime once there is one.

use std::ffi::{CString, c_void};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use crate::calls::{self, Before, Made};
use crate::code::Code;
use crate::followed::Followed;
use crate::late::Waiting;
use crate::link::{Link, LinkError};
use crate::memory::Shared;
use crate::message::{Asked, Gpu, Said, VERSION};
use crate::ring::Entry;
use crate::runtime::Runtime;
use crate::table::Table;
use crate::wrap;

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
        let program = program();
        let program = program.unwrap_or_default();
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

    /// Tells the controller something.
    pub fn tell(&self, what: &Said, file: Option<BorrowedFd>) {
        if !self.is_active() {
            return;
        }
        let files: Vec<BorrowedFd> = file.into_iter().collect();
        if let Err(error) = lock(&self.link).say(what, &files) {
            self.lost(&error);
        }
    }

    /// Numbers calls.
    pub fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks what is to be done with a call.
    pub fn before(&self, call: u64, function: usize, words: &[u64], stack: &[u64]) -> Option<Before> {
        let mut link = lock(&self.link);
        let said = Said::Calling { call, function, thread: thread(), words, stack };
        let answer = link.say(&said, &[]).and_then(|()| match self.hear(&mut link)?.0 {
            Asked::Go { words } => Ok(Before::Run(words)),
            Asked::Skip { result } => Ok(Before::Skip(result)),
            other => Err(LinkError::Message(format!("it says {other:?} when asked about a call"))),
        });
        answer.inspect_err(|error| self.lost(error)).ok()
    }

    /// Tells of a call; where an answer is wanted, gives the result that a tool wants it to have.
    pub fn after(&self, call: &Made, answer: bool) -> Option<u64> {
        if !self.is_active() {
            return None;
        }
        let mut link = lock(&self.link);
        let said = Said::Called { call, thread: thread(), answer };
        let done = link.say(&said, &[]).and_then(|()| match answer {
            false => Ok(call.result),
            true => match self.hear(&mut link)?.0 {
                Asked::Return { result } => Ok(result),
                other => Err(LinkError::Message(format!("it says {other:?} when told of a call"))),
            },
        });
        done.inspect_err(|error| self.lost(error)).ok()
    }

    /// Tells of a launch, and goes on.
    pub fn put(&self, entry: &Entry) {
        if !self.is_active() {
            return;
        }
        if let Err(error) = lock(&self.link).put(entry) {
            self.lost(&error);
        }
    }

    /// Tells of a launch that is over; where the controller wants that, comes back when the tools have heard of it.
    pub fn completed(&self, slot: usize, number: u64, [start, end]: [u64; 2]) {
        if !self.wants.hold {
            self.put(&Entry::Completed { slot, number, start, end });
        } else if self.is_active() {
            self.have_heard(&Said::Completed { slot, number, start, end });
        }
    }

    /// Tells of a launch that is about to begin, and comes back when the tools have heard of it.
    pub fn begins(&self, slot: usize, number: u64) {
        if self.is_active() {
            self.have_heard(&Said::Begins { slot, number });
        }
    }

    fn have_heard(&self, said: &Said) {
        let mut link = lock(&self.link);
        let done = link.say(said, &[]).and_then(|()| match self.hear(&mut link)?.0 {
            Asked::Heard {} => Ok(()),
            other => Err(LinkError::Message(format!("it says {other:?} when told of a launch"))),
        });
        if let Err(error) = done {
            self.lost(&error);
        }
    }

    /// What the controller answers. What it wants to know or to have done first is seen to here.
    pub(crate) fn hear(&self, link: &mut Link) -> Result<(Asked, Option<OwnedFd>), LinkError> {
        loop {
            let done = match link.hear()? {
                (Asked::Read { address, size }, _) => match contents(address, size) {
                    Ok(file) => {
                        link.say(&Said::Contents, &[file.as_fd()])?;
                        continue;
                    }
                    Err(reason) => Err(reason),
                },
                (Asked::Write { address }, Some(file)) => write(address, file),
                (Asked::Keep {}, Some(file)) => match Shared::of_file(&file) {
                    Ok(memory) => {
                        let address = memory.start().expose_provenance() as u64;
                        link.say(&Said::Allocated { address }, &[file.as_fd()])?;
                        lock(&self.kept).push(memory);
                        continue;
                    }
                    Err(error) => Err(error.to_string()),
                },
                (Asked::SetVariable { name, value }, _) => set_variable(&name, &value),
                (Asked::Wrap { functions, on }, _) => wrap::wrap(self, &functions, on),
                other => return Ok(other),
            };
            let said = done.map_or_else(|reason| Said::Failed { reason }, |()| Said::Done);
            link.say(&said, &[])?;
        }
    }

    /// Reads this process's memory, wherever that may be; false if it is not there.
    pub fn read(address: u64, to: &mut [u8]) -> bool {
        transfer(libc::process_vm_readv, to.as_mut_ptr().cast(), address, to.len())
    }
}

type Transfer = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> libc::ssize_t;

/// Between memory of ours and an address that may be wrong, by way of the kernel.
fn transfer(how: Transfer, ours: *mut c_void, address: u64, size: usize) -> bool {
    let local = libc::iovec { iov_base: ours, iov_len: size };
    let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address as usize), iov_len: size };
    // SAFETY: our memory has this size, and the kernel looks after the other one.
    let done = unsafe { how(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    done == size.cast_signed()
}

/// A file with what is there.
fn contents(address: u64, size: u64) -> Result<OwnedFd, String> {
    let size = usize::try_from(size).ok().filter(|n| *n > 0 && *n <= 1 << 30).ok_or("a read of more than a GB")?;
    let (memory, file) = Shared::new(size).map_err(|e| e.to_string())?;
    if !transfer(libc::process_vm_readv, memory.start(), address, size) {
        return Err(format!("{size} bytes at {address:#x} cannot be read"));
    }
    Ok(file)
}

fn write(address: u64, file: OwnedFd) -> Result<(), String> {
    let memory = Shared::of_file(&file).map_err(|e| e.to_string())?;
    if !transfer(libc::process_vm_writev, memory.start(), address, memory.len()) {
        return Err(format!("{} bytes at {address:#x} cannot be written", memory.len()));
    }
    Ok(())
}

fn set_variable(name: &str, value: &str) -> Result<(), String> {
    let text = |text: &str| CString::new(text).map_err(|e| e.to_string());
    let (name, value) = (text(name)?, text(value)?);
    // SAFETY: two strings. Other threads that look at the environment now are in a race that C gives no way out of.
    if unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) } == 0 { Ok(()) } else { Err("setenv fails".into()) }
}

/// The kernel's number of this thread.
pub(crate) fn thread() -> u64 {
    // SAFETY: has no conditions.
    u64::from(unsafe { libc::gettid() }.cast_unsigned())
}

/// The program that a dynamic loader was told to run (`ld.so PROGRAM`), if one was; `luthier trace --rocm` says which.
const LOADED_PROGRAM: &str = "LUTHIER_LOADED_PROGRAM";

fn executable() -> Option<String> {
    std::fs::read_link("/proc/self/exe").ok().map(|path| path.to_string_lossy().into_owned())
}

/// The process's program.
fn program() -> Option<String> {
    let found = executable();
    let is_loader =
        found.as_deref().and_then(|path| path.rsplit('/').next()).is_some_and(|n| n.starts_with("ld-linux"));
    std::env::var(LOADED_PROGRAM).ok().filter(|_| is_loader).or(found)
}

/// The URI of a code object in the program itself, which the runtime takes the loader for, if one runs it.
pub fn of_program(uri: String) -> String {
    match (executable(), program()) {
        (Some(loader), Some(program)) if loader != program => {
            uri.replacen(&format!("file://{loader}"), &format!("file://{program}"), 1)
        }
        _ => uri,
    }
}
