//! A launch that stops wherever it is told to, and goes back.
//!
//! All its waves are there, in the order of [`crate::interleave`]. An *event* is an instruction that some wave has executed;
//! the number of events so far says where the launch is. To go back is to take a moment that was kept before, or the
//! beginning, with memory as it was then, and to run up to the event with the same choices: so everything is again what it
//! was, strict mode's knowledge included (in strict mode, and where waves wait across workgroups, no moments are kept).

mod back;
mod found;
mod look;
mod resume;
mod seek;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::choose::{Chooser, WaveId};
use crate::device::Module;
use crate::error::EmuError;
use crate::gws::Gws;
use crate::image::Image;
use crate::interleave::Interleaving;
use crate::moments::Moments;
use crate::observe::MemoryEvent;
use crate::report::Finding;
use crate::schedule::Schedule;

pub use back::MOST_KEPT;
pub use found::{Did, StaleRead};
pub use look::{Executed, Seen};
pub use seek::{Done, Sought, Wrote};
pub use watch::{Register, Wanted, Watchpoint};

/// How far the launch goes on.
#[derive(Clone, Debug, Default)]
pub struct Until {
    /// Until all waves together have executed this number of instructions.
    pub event: Option<u64>,
    /// Until one wave has executed this number of instructions.
    pub retired: Option<(WaveId, u64)>,
    /// Until a wave is about to execute the instruction at one of these addresses of the code object.
    pub addresses: BTreeSet<u64>,
    pub watchpoints: Vec<Watchpoint>,
    /// Until strict mode finds something.
    pub findings: bool,
}

/// Why it has stopped.
#[derive(Clone, Debug)]
pub enum Why {
    /// It has come as far as it was told.
    Reached,
    /// It is about to execute the instruction at an address.
    Address(u64),
    /// A watchpoint, by its number, with the access if it is one of memory. The instruction has been executed.
    Watchpoint(usize, Option<MemoryEvent>, u64),
    /// What strict mode has found. The instruction has been executed.
    Found(Box<Finding>),
    /// The launch cannot go on. Where a wave has an instruction that it cannot execute, it stands before it.
    Failed(EmuError),
    /// All is done.
    Over,
}

#[derive(Clone, Debug)]
pub struct Stopped {
    pub why: Why,
    /// Whose turn it is.
    pub wave: Option<WaveId>,
}

/// A launch on the stage.
pub struct Stage {
    module: Arc<Module>,
    kernel: String,
    pub(crate) play: Interleaving,
    pub(crate) chooser: Chooser,
    schedule: Schedule,
    gws: Gws,
    /// Memory at the beginning.
    image: Option<Image>,
    moments: Moments,
    /// The event that it is on its way to.
    target: Option<u64>,
    /// Instructions that strict mode has found something at, by address: where findings are to stop the launch, it runs their
    /// blocks an instruction at a time; and everything up to an event. How often it was taken back for a finding.
    suspects: BTreeSet<u64>,
    careful_until: u64,
    surprises: u32,
    /// Where the device's own allocations begin, not those that are there for the launch only.
    starts: BTreeSet<u64>,
    /// What it has stopped before: it goes on there.
    passed: Option<(WaveId, u64)>,
    /// Who has done what was watched.
    acted: Option<WaveId>,
    /// That it cannot go on at an event.
    failed: Option<(u64, Option<WaveId>, EmuError)>,
    shown: bool,
}

impl Stage {
    pub(crate) fn new(
        module: Arc<Module>,
        kernel: String,
        play: Interleaving,
        gws: Gws,
        starts: BTreeSet<u64>,
    ) -> Stage {
        let memory = &play.shared.memory;
        let image = Image::of(memory, MOST_KEPT);
        let schedule = play.shared.schedule.clone();
        let chooser = Chooser::new(&schedule);
        Stage {
            module,
            kernel,
            play,
            chooser,
            schedule,
            gws,
            image,
            starts,
            moments: Moments::default(),
            target: None,
            suspects: BTreeSet::new(),
            careful_until: 0,
            surprises: 0,
            passed: None,
            acted: None,
            failed: None,
            shown: false,
        }
    }

    /// Instructions executed so far.
    pub fn event(&self) -> u64 {
        self.play.event()
    }

    /// A workgroup that has executed more instructions is taken for one that never ends.
    pub fn limit(&mut self, instructions: u64) {
        self.play.shared.watchdog = self.play.shared.watchdog.limited(instructions);
    }

    /// From here on the stage keeps a moment each time this number of events has passed.
    pub fn keep_every(&mut self, events: u64) {
        self.moments.keep_every(events);
    }

    /// The schedule that leads here again.
    pub fn choices(&self) -> Schedule {
        self.chooser.made().in_memory(self.schedule.weak())
    }
}
