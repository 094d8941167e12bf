//! Queues: rings of packets in the host's memory, each with a thread that takes them in turn.

mod aql;
mod blit;
mod dispatch;
mod fault;
mod launch;
mod pm4;
mod sdma;
mod signal;
mod told;
mod trouble;
mod watch;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use luthier_abi::{Queue as AmdQueue, packet};

use crate::abi::{QueueResource, Status, queue_type};
use crate::gpu::Gpu;
use crate::memory::Kept;
use crate::order::{Order, Ticket};
use watch::{Patience, Watch};

pub use blit::{Blit, Blits};
pub use signal::value as signal_value;
pub use told::tell_of_host;
pub use watch::quietly;

/// Queues of a process.
const MOST: usize = 1024;
/// Bytes of an AQL packet.
const PACKET: u64 = packet::SIZE as u64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Aql,
    Sdma,
}

/// What became of the packet at the head of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// It is done.
    Done,
    /// There is none.
    Empty,
    /// It waits for something.
    Blocked,
    /// The queue takes no more packets.
    Dead,
}

/// A queue of one GPU.
pub struct Queue {
    pub id: u64,
    kind: Kind,
    gpu: Arc<Gpu>,
    ring: u64,
    bytes: u64,
    write: *const AtomicU64,
    read: *const AtomicU64,
    /// An AQL queue's `amd_queue_t`.
    amd: *const AmdQueue,
    /// It is destroyed.
    stop: AtomicBool,
    /// Stops the launch under way.
    launch: Mutex<Arc<AtomicBool>>,
    suspended: AtomicBool,
    /// Has global wave sync: all workgroups of its kernels run together.
    cooperative: AtomicBool,
    watch: Watch,
    /// Its number among those whose order is looked at.
    line: Option<usize>,
    /// Read and write index of a queue that has none of its own.
    _indices: Box<[AtomicU64; 2]>,
    _kept: Vec<Kept>,
}

// SAFETY: the pointers lead to memory that `_kept` and `_indices` keep, and that is accessed through atomics.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    fn write_index(&self) -> u64 {
        // SAFETY: see the implementation of `Send`.
        unsafe { &*self.write }.load(Ordering::Acquire)
    }

    fn read_index(&self) -> u64 {
        // SAFETY: as above.
        unsafe { &*self.read }.load(Ordering::Relaxed)
    }

    fn set_read_index(&self, value: u64) {
        // SAFETY: as above.
        unsafe { &*self.read }.store(value, Ordering::Release);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A launch begins, which this stops.
    fn begin(&self, launch: &Arc<AtomicBool>) {
        *lock(&self.launch) = Arc::clone(launch);
        if self.is_stopped() {
            launch.store(true, Ordering::Relaxed);
        }
    }

    /// It is destroyed: what it runs is given up.
    fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        lock(&self.launch).store(true, Ordering::SeqCst);
    }

    /// Takes packets until the queue is destroyed.
    fn run(&self) {
        let mut patience = Patience::default();
        while !self.is_stopped() {
            let step = match self.suspended.load(Ordering::Acquire) {
                true => Step::Empty,
                false if self.kind == Kind::Aql => aql::step(self),
                false => sdma::step(self),
            };
            match step {
                Step::Done => patience = Patience::default(),
                Step::Empty => patience.for_packets(&self.watch, || self.has_work() || self.is_stopped()),
                Step::Blocked => patience.for_signals(),
                Step::Dead => self.suspended.store(true, Ordering::Release),
            }
        }
    }

    /// A packet comes to its turn, if order is looked at.
    fn ticket(&self, index: Option<u64>, barrier: bool) -> Option<Ticket> {
        Some(self.gpu.order()?.begin(self.line?, index, barrier))
    }

    /// It is done, which its signal says next.
    fn done(&self, ticket: Option<Ticket>, signal: u64) {
        if let (Some(order), Some(ticket)) = (self.gpu.order(), ticket) {
            order.ends(ticket, signal);
        }
    }

    fn has_work(&self) -> bool {
        !self.suspended.load(Ordering::Relaxed) && self.write_index() != self.read_index()
    }
}

/// A queue and its thread.
struct Running {
    queue: Arc<Queue>,
    thread: JoinHandle<()>,
}

/// The queues of a process.
#[derive(Default)]
pub struct Queues {
    all: Mutex<BTreeMap<u64, Running>>,
    /// Where programs ring, by the queue's number.
    doorbells: OnceLock<Box<[AtomicU64]>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queues {
    /// `hsaKmtCreateQueue`; fills in what the queue needs.
    ///
    /// # Errors
    /// There is no such kind of queue, its memory is not a GPU's, or there are too many.
    pub fn create(
        &self,
        gpu: &Arc<Gpu>,
        kind: u32,
        ring: u64,
        bytes: u64,
        resource: &mut QueueResource,
    ) -> Result<(), Status> {
        let kind = match kind {
            queue_type::AQL => Kind::Aql,
            queue_type::SDMA | queue_type::SDMA_XGMI | queue_type::SDMA_BY_ENGINE => Kind::Sdma,
            _ => return Err(Status::NotSupported),
        };
        let indices = Box::new([const { AtomicU64::new(0) }; 2]);
        let place = |index: &AtomicU64| std::ptr::from_ref(index).expose_provenance() as u64;
        let (mut read, mut write) = (place(&indices[0]), place(&indices[1]));
        let (mut bytes, mut amd, mut kept) = (bytes, 0, Vec::new());
        let memory = &gpu.view.memory;
        if kind == Kind::Aql {
            (read, write) = (resource.read, resource.write);
            amd = read.wrapping_sub(std::mem::offset_of!(AmdQueue, read_dispatch_id) as u64);
            let queue = gpu.view.place::<AmdQueue>(amd, true).map_err(|_| Status::InvalidParameter)?;
            gpu.view.place::<AtomicU64>(write, true).map_err(|_| Status::InvalidParameter)?;
            // SAFETY: checked.
            bytes = u64::from(unsafe { &raw const (*queue).size }.read_volatile_word()) * PACKET;
            kept.extend([amd, write].into_iter().filter_map(|at| memory.keep(at)));
        }
        if !bytes.is_power_of_two()
            || bytes < PACKET
            || !ring.is_multiple_of(PACKET)
            || gpu.view.resolve(ring, bytes, true).is_err()
        {
            return Err(Status::InvalidParameter);
        }
        kept.extend(memory.keep(ring));
        let mut all = lock(&self.all);
        if all.len() >= MOST {
            return Err(Status::NoMemory);
        }
        let id = (1..).find(|id| !all.contains_key(id)).unwrap_or(u64::MAX);
        let doorbells = self.doorbells.get_or_init(|| (0..=MOST).map(|_| AtomicU64::new(0)).collect());
        resource.id = id;
        resource.doorbell = place(&doorbells[id as usize]);
        (resource.read, resource.write) = (read, write);
        let pointer = |at: u64| std::ptr::with_exposed_provenance::<AtomicU64>(at as usize);
        let queue = Arc::new(Queue {
            id,
            kind,
            gpu: Arc::clone(gpu),
            ring,
            bytes,
            write: pointer(write),
            read: pointer(read),
            amd: std::ptr::with_exposed_provenance(amd as usize),
            stop: AtomicBool::new(false),
            launch: Mutex::default(),
            suspended: AtomicBool::new(false),
            cooperative: AtomicBool::new(false),
            watch: Watch::default(),
            line: gpu.order().map(Order::add_queue),
            _indices: indices,
            _kept: kept,
        });
        let own = Arc::clone(&queue);
        let name = format!("luthier-queue-{id}");
        let thread = watch::quietly(|| std::thread::Builder::new().name(name).spawn(move || own.run()));
        let thread = thread.map_err(|_| Status::NoMemory)?;
        queue.watch.set_thread(thread.thread().clone());
        watch::add(&queue);
        all.insert(id, Running { queue, thread });
        Ok(())
    }

    fn get(&self, id: u64) -> Result<Arc<Queue>, Status> {
        lock(&self.all).get(&id).map(|running| Arc::clone(&running.queue)).ok_or(Status::InvalidHandle)
    }

    /// `hsaKmtDestroyQueue`: what it runs is given up.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn destroy(&self, id: u64) -> Result<(), Status> {
        let Running { queue, thread } = lock(&self.all).remove(&id).ok_or(Status::InvalidHandle)?;
        queue.end();
        thread.thread().unpark();
        // It has nothing to say; what went wrong in it was said.
        thread.join().unwrap_or(());
        if let (Some(order), Some(line)) = (queue.gpu.order(), queue.line) {
            order.end_queue(line);
        }
        Ok(())
    }

    /// `hsaKmtUpdateQueue`: with no share of the GPU a queue stops.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn update(&self, id: u64, percentage: u32) -> Result<(), Status> {
        let queue = self.get(id)?;
        if percentage == 0 {
            queue.suspended.store(true, Ordering::Release);
        }
        queue.watch.wake();
        Ok(())
    }

    /// `hsaKmtAllocQueueGWS`.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn make_cooperative(&self, id: u64, cooperative: bool) -> Result<(), Status> {
        self.get(id)?.cooperative.store(cooperative, Ordering::Relaxed);
        Ok(())
    }

    /// The program is about to ring for packets up to an index, at this address.
    pub fn rings(&self, doorbell: u64, index: u64) {
        let Some(doorbells) = self.doorbells.get() else { return };
        let first = std::ptr::from_ref(&doorbells[0]).addr() as u64;
        let id = doorbell.wrapping_sub(first) / size_of::<AtomicU64>() as u64;
        if let Ok(queue) = self.get(id)
            && let (Some(order), Some(line)) = (queue.gpu.order(), queue.line)
        {
            order.rings(line, index);
        }
    }

    /// # Errors
    /// There is no such queue.
    pub fn exists(&self, id: u64) -> Result<(), Status> {
        self.get(id).map(|_| ())
    }
}

/// A word that another thread may write at any time.
trait ReadWord {
    fn read_volatile_word(self) -> u32;
}

impl ReadWord for *const u32 {
    fn read_volatile_word(self) -> u32 {
        // SAFETY: callers have checked the place.
        unsafe { self.read_volatile() }
    }
}

/// The queues that sleep with something to do wake now.
pub fn look() {
    watch::look();
}

#[cfg(test)]
mod tests;
