//! What the host does to memory of its own that GPUs have: pinned and managed memory.
//!
//! GPUs have such memory at other pages, which show the same bytes. The host's pages are taken from it whenever it submits
//! work, and those that the program touches again and again while work is under way. The host's next access of each page waits for a thread of ours, which
//! hears of the address, and of the thread that wants it, and shows the page again (Linux's userfaultfd). System calls that
//! read or write there wait likewise; the program notices nothing. What the host does to a page that it has is not seen:
//! of each page the first access in a while.

mod code;
mod faults;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::gpu::Gpu;
use crate::log::say;
use crate::memory::PAGE;
use crate::order::HostTouch;
use crate::queue;
pub use code::Code;
use code::Codes;
use faults::{Fault, Faults};

/// How often pages that the program touches are taken again while work is under way.
const PACE: Duration = Duration::from_millis(2);

pub struct Touches {
    faults: Faults,
    ranges: Mutex<Vec<Range<u64>>>,
}

impl Touches {
    /// Nothing, and a line that says why, where the system has no such thing.
    pub fn new() -> Option<Arc<Touches>> {
        match Faults::new() {
            Ok(faults) => Some(Arc::new(Touches { faults, ranges: Mutex::default() })),
            Err(why) => {
                say(&format!(
                    "races of launches with the host's own accesses are not looked for: userfaultfd: {why} (Linux has it \
                     since 5.18, for root or with sysctl vm.unprivileged_userfaultfd=1)"
                ));
                None
            }
        }
    }

    /// Begins to look at whole pages, which are a file's.
    pub fn watch(&self, pages: Range<u64>) {
        match self.faults.watch(&pages) {
            Ok(()) => self.lock().push(pages),
            Err(why) => {
                say(&format!("the host's accesses at {:#x} are not compared with launches: {why}", pages.start));
            }
        }
    }

    /// The pages that begin there are about to be given back.
    pub fn forget(&self, start: u64) {
        self.lock().retain(|pages| pages.start != start);
    }

    /// Takes all pages from the host, which sees its next accesses of them late.
    pub fn take(&self) {
        self.lock().iter().for_each(faults::take);
    }

    fn take_again(&self, pages: impl Iterator<Item = Range<u64>>) {
        let ranges = self.lock();
        // What was freed meanwhile may be another's.
        let is_watched = |page: &Range<u64>| ranges.iter().any(|range| range.contains(&page.start));
        pages.filter(is_watched).for_each(|page| faults::take(&page));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Range<u64>>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread that serves the host's accesses, and tells of races in the name of a GPU.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn serve(self: &Arc<Self>, gpu: &Arc<Gpu>) -> std::io::Result<()> {
        let (own, gpu) = (Arc::clone(self), Arc::clone(gpu));
        let body = move || own.run(&gpu);
        queue::quietly(|| std::thread::Builder::new().name("luthier-touches".into()).spawn(body)).map(|_| ())
    }

    /// No lock of the driver's is held where it accesses such memory, so this thread may take any.
    fn run(&self, gpu: &Gpu) {
        let Some(order) = gpu.order() else { return };
        let (mut codes, mut pages) = (Codes::default(), Vec::new());
        loop {
            match self.faults.next(PACE) {
                Ok(Some(fault)) => {
                    let Fault { address, write, thread } = fault;
                    let code = codes.of_thread(thread);
                    // The runtime's thread looks at its own all the time.
                    if !code.is_the_runtimes() {
                        let start = address & !(PAGE - 1);
                        pages.push(start..start + PAGE);
                    }
                    // Before it goes on, and perhaps ends the process.
                    let races = order.host_touches(HostTouch { address, write, code });
                    queue::tell_of_host(gpu, &races);
                    self.faults.resolve(&fault);
                }
                Ok(None) if order.is_under_way() => self.take_again(pages.drain(..)),
                Ok(None) => pages.clear(),
                Err(why) => {
                    say(&format!("the host's own accesses are not compared with launches any more: {why}"));
                    return;
                }
            }
        }
    }
}
