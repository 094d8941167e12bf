//! The agent in one process: the runtime, the controller, and what is loaded.

use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use crate::code::{Code, Instead, Kernel};
use crate::hsa::Packet;
use crate::link::{Link, LinkError};
use crate::memory::Shared;
use crate::message::{Asked, Gpu, Said, VERSION};
use crate::runtime::Runtime;
use crate::table::Table;

/// Kernels that are counted each for itself; further ones share the last place.
pub const SLOTS: usize = 1 << 14;

pub struct Session {
    pub table: Table,
    pub runtime: Runtime,
    link: Mutex<Link>,
    pub code: RwLock<Code>,
    /// For each kernel, how often it was launched as it is, and how often instrumented.
    ledger: Shared,
    every_launch: bool,
    active: AtomicBool,
    /// The controller's socket, for a child that has to close it.
    pub socket: RawFd,
    gpus: OnceLock<Vec<Gpu>>,
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
    pub fn open(table: Table, runtime: Runtime, path: &str) -> Result<Session, LinkError> {
        let link = Link::open(path)?;
        let ledger = Shared::new(SLOTS * 16)?;
        let program = std::fs::read_link("/proc/self/exe").map(|p| p.to_string_lossy().into_owned());
        let program = program.unwrap_or_default();
        // SAFETY: has no conditions.
        let parent = unsafe { libc::getppid() }.cast_unsigned();
        let hello = Said::Hello { version: VERSION, pid: std::process::id(), parent, program: &program };
        link.say(&hello, &[ledger.file()])?;
        let every_launch = match link.hear()?.0 {
            Asked::Welcome { version: VERSION, every_launch } => every_launch,
            other => return Err(LinkError::Message(format!("it does not welcome us: {other:?}"))),
        };
        Ok(Session {
            table,
            runtime,
            socket: link.socket(),
            link: Mutex::new(link),
            code: RwLock::default(),
            ledger,
            every_launch,
            active: AtomicBool::new(true),
            gpus: OnceLock::new(),
        })
    }

    /// The controller listens, and this is the process that it knows.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// From now on everything goes as if the agent were not there.
    pub fn retire(&self) {
        self.active.store(false, Ordering::Release);
    }

    fn lost(&self, error: &LinkError) {
        if self.active.swap(false, Ordering::AcqRel) {
            complain(&format!(
                "the controller is lost ({error}): the program goes on, and further launches are not instrumented"
            ));
        }
    }

    /// Number and description of a GPU.
    pub fn gpu(&self, agent: u64) -> (usize, Gpu) {
        let gpus = self.gpus.get_or_init(|| self.runtime.gpus());
        let number = gpus.iter().position(|gpu| gpu.agent == agent);
        let unknown = || Gpu { agent, name: String::new() };
        number.map_or_else(|| (gpus.len(), unknown()), |n| (n, gpus[n].clone()))
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

    /// Has a dispatch packet run what its kernel is to run.
    pub fn direct(&self, packet: &mut Packet) {
        let address = packet.kernel_object();
        let known = self.code.read().unwrap_or_else(PoisonError::into_inner).kernel(address);
        let Some(kernel) = known.or_else(|| self.ask(address, packet)) else { return };
        if known.is_some() && self.every_launch && kernel.instead.is_some() {
            self.tell(&Said::Launched { slot: kernel.slot, grid: packet.grid(), block: packet.block() }, None);
        }
        if let Some(counter) = self.ledger.counter(2 * kernel.slot + usize::from(kernel.instead.is_some())) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(instead) = kernel.instead {
            let [private, group] = packet.segments();
            packet.set_kernel_object(instead.descriptor);
            packet
                .set_segments([private.saturating_add(instead.segments[0]), group.saturating_add(instead.segments[1])]);
        }
    }

    /// Asks the controller what a launch runs.
    fn ask(&self, address: u64, packet: &Packet) -> Option<Kernel> {
        let link = lock(&self.link);
        let mut code = self.code.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have asked meanwhile.
        let known = code.kernel(address);
        if known.is_some() || !self.is_active() {
            return known;
        }
        let object = code.object_at(address)?;
        let (number, kernel) = (object.number, address.wrapping_sub(object.loaded.delta));
        let slot = code.new_slot().min(SLOTS - 1);
        let launch = Said::Launch { object: number, kernel, slot, grid: packet.grid(), block: packet.block() };
        let instead = self.converse(&link, &mut code, address, &launch);
        let instead = instead.unwrap_or_else(|error| {
            self.lost(&error);
            None
        });
        let kernel = Kernel { slot, instead };
        code.set_kernel(address, kernel);
        Some(kernel)
    }

    /// Says what is to be answered, and does what the controller asks for meanwhile.
    fn converse(
        &self,
        link: &Link,
        code: &mut Code,
        address: u64,
        launch: &Said,
    ) -> Result<Option<Instead>, LinkError> {
        link.say(launch, &[])?;
        loop {
            match link.hear()? {
                (Asked::Allocate { size }, _) => match self.allocate(size) {
                    Ok((memory, address_there)) => {
                        link.say(&Said::Allocated { address: address_there }, &[memory.file()])?;
                        if let Some(object) = code.object_at(address) {
                            object.variables.push(memory);
                        }
                    }
                    Err(reason) => link.say(&Said::Failed { reason }, &[])?,
                },
                (Asked::Instrumented { descriptor, private, group }, Some(file)) => {
                    match self.take(code, address, file, descriptor) {
                        Ok(descriptor) => {
                            link.say(&Said::Done, &[])?;
                            return Ok(Some(Instead { descriptor, segments: [private, group] }));
                        }
                        Err(reason) => {
                            link.say(&Said::Failed { reason }, &[])?;
                            return Ok(None);
                        }
                    }
                }
                (Asked::Original {}, _) => return Ok(None),
                (other, _) => return Err(LinkError::Message(format!("it says {other:?} when asked about a launch"))),
            }
        }
    }

    fn allocate(&self, size: u64) -> Result<(Shared, u64), String> {
        let size = usize::try_from(size).ok().filter(|n| *n > 0 && *n < 1 << 40);
        let size = size.ok_or("the tools' variables are too large")?.next_multiple_of(4096);
        let memory = Shared::new(size).map_err(|e| format!("{size} bytes for the tools' variables: {e}"))?;
        let there = self.runtime.lock(&memory)?;
        Ok((memory, there))
    }

    /// Loads the object that stands for the one at an address; gives where its kernel is.
    fn take(&self, code: &mut Code, address: u64, file: OwnedFd, descriptor: u64) -> Result<u64, String> {
        let object = code.object_at(address).ok_or("the code object has gone")?;
        let bytes = Shared::of_file(file).map_err(|e| format!("the instrumented code object: {e}"))?;
        let (executable, loaded) = self.runtime.load(object.agent, &bytes, &object.definitions)?;
        object.ours.push((executable, bytes));
        Ok(loaded.delta.wrapping_add(descriptor))
    }
}
