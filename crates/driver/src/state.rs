//! The driver of this process.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

use luthier_emulator::FindingKind;

use crate::abi::Status;
use crate::account::Account;
use crate::code;
use crate::config::Config;
use crate::crash;
use crate::events::{self, Events};
use crate::gpu::Gpu;
use crate::log::{log, say};
use crate::memory::Memory;
use crate::order::Order;
use crate::queue::{self, Queues};
use crate::runtime;
use crate::touches::Touches;

pub struct State {
    pub config: Config,
    pub memory: Arc<Memory>,
    pub events: Arc<Events>,
    /// By node, those that are GPUs.
    gpus: Vec<Arc<Gpu>>,
    pub queues: Queues,
    /// What orders launches and copies, if strict mode looks for that.
    pub order: Arc<Option<Order>>,
    /// What the host does to memory that GPUs have, likewise.
    pub touches: Option<Arc<Touches>>,
    opened: AtomicU32,
}

/// Made by the first who opens the driver, and never taken away: threads may use it until the process ends.
static STATE: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());
static OPENING: Mutex<()> = Mutex::new(());
/// This process is a child of the one that opened the driver.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}

impl State {
    fn new(config: Config) -> Result<State, Status> {
        let wanted = config.strict.kinds().is_some_and(|kinds| kinds.contains(FindingKind::LaunchRace.into()));
        // On an APU all memory of the process is the GPU's.
        let touches = if wanted && !config.apu { Touches::new() } else { None };
        let memory = Arc::new(Memory::new(config.clone(), touches.clone()));
        let mailboxes = memory.allocate_for_all(8 * events::MOST as u64)?;
        let events = Arc::new(Events::new(mailboxes));
        let nodes = (0..config.nodes()).filter(|&node| config.is_gpu(node));
        let account = Arc::new(Account::of_environment());
        let order = Arc::new(wanted.then(Order::default));
        let gpus: Vec<_> = nodes.map(|node| Arc::new(Gpu::new(&memory, &events, &account, &order, node))).collect();
        if let (Some(touches), Some(gpu)) = (&touches, gpus.first()) {
            touches.serve(gpu).map_err(|_| Status::NoMemory)?;
        }
        Ok(State { config, memory, events, gpus, queues: Queues::default(), order, touches, opened: AtomicU32::new(0) })
    }

    /// # Errors
    /// The node is no GPU.
    pub fn gpu(&self, node: u32) -> Result<&Arc<Gpu>, Status> {
        self.gpus.iter().find(|gpu| gpu.view.node == node).ok_or(Status::InvalidNode)
    }

    /// What a signal holds, if it is one that GPUs see, and the runtime has not ended.
    pub fn signal(&self, handle: u64) -> Option<i64> {
        let gpu = self.gpus.first().filter(|_| self.opened.load(Ordering::Relaxed) != 0)?;
        queue::signal_value(gpu, handle).ok()
    }
}

/// Opens the driver.
///
/// # Errors
/// The environment asks for GPUs that cannot be; it is said which.
pub fn open() -> Result<(), Status> {
    let _one = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if FORKED.swap(false, Ordering::Relaxed) {
        // What the parent has is not ours; its threads are not here to give it back either.
        STATE.store(std::ptr::null_mut(), Ordering::Release);
    }
    if STATE.load(Ordering::Acquire).is_null() {
        let config = Config::from_environment().map_err(|error| {
            say(&error);
            Status::Error
        })?;
        let libraries = runtime::libraries();
        for library in &libraries {
            log!(config, "with {}", library.display());
        }
        if let Some(rocr) = runtime::lacks(&libraries, config.target.name()) {
            let target = config.target.name();
            say(&format!("{} knows no {target}: another version of ROCm may (luthier trace --rocm)", rocr.display()));
            return Err(Status::Error);
        }
        let target = config.target;
        let state = State::new(config)?;
        STATE.store(Box::into_raw(Box::new(state)), Ordering::Release);
        crash::watch(&libraries, target);
        static WATCH_FORKS: Once = Once::new();
        WATCH_FORKS.call_once(|| {
            // SAFETY: the handler stores a flag.
            unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        });
    }
    code::find_runtime();
    get()?.opened.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Closes what was opened.
///
/// # Errors
/// It was not opened.
pub fn close() -> Result<(), Status> {
    let counts_down = |n: u32| n.checked_sub(1);
    let state = get()?;
    state.opened.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counts_down).map_err(|_| Status::NotOpened)?;
    Ok(())
}

/// The driver, if it is open.
///
/// # Errors
/// It is not, or was opened by the parent of this process.
pub fn get() -> Result<&'static State, Status> {
    // SAFETY: null or a state that is never freed.
    let state = unsafe { STATE.load(Ordering::Acquire).as_ref() };
    state.filter(|_| !FORKED.load(Ordering::Relaxed)).ok_or(Status::NotOpened)
}
