//! A workgroup under way: its waves, and where each of them is.
//!
//! | module | one idea |
//! |---|---|
//! | `begin` | how it begins |
//! | `advance` | its waves go on |
//! | `rounds` | they run the same pairs of blocks from barrier to barrier |
//! | `meet` | they wait for one another, and pass |
//! | `keep` | it as it was |
//! | `tell` | what it tells |

mod advance;
mod begin;
mod keep;
mod meet;
#[cfg(target_arch = "x86_64")]
mod rounds;
mod tell;

use std::rc::Rc;

pub use keep::KeptGroup;

use crate::barrier::Barriers;
use crate::program::{Cursor, Program};
use crate::wave::Wave;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Ready,
    AtBarrier,
    Ended,
}

/// A wave of a workgroup.
pub struct Running {
    pub wave: Box<Wave>,
    pub cursor: Cursor,
    pub state: State,
    /// That it has retired.
    pub instructions: u64,
}

pub struct Workgroup {
    pub id: [u32; 3],
    /// x fastest.
    pub number: u64,
    /// Which of the launch's pieces of scratch memory it has.
    pub slot: usize,
    pub waves: Vec<Running>,
    /// Which of the launch's clusters it is of; without clusters, its number.
    pub cluster: u64,
    barriers: Rc<Barriers>,
    /// That all its waves have retired.
    pub instructions: u64,
}

/// What becomes of a wave that was let go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Its time is over.
    Quantum,
    /// It lets others run.
    Yielded,
    /// It has come to a block that it is not to run as a whole.
    Halted,
    /// It waits at a barrier.
    Waits,
    Ended,
}

/// What a round of turns has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// All waves that have not ended have come to a barrier, and passed it; whether all are before blocks that are private, as in
    /// [`Workgroup::are_private`].
    Passed {
        private: bool,
    },
    Apart,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    Running,
    /// No wave goes on unless another workgroup of its cluster, or any that uses global wave sync, lets it.
    Stuck,
    Ended,
}

impl Workgroup {
    /// Whether some wave waits for nothing.
    pub fn has_ready_waves(&self) -> bool {
        self.waves.iter().any(|running| running.state == State::Ready)
    }

    /// Whether no wave waits, and each that goes on is before a block that is private ([`crate::code::Block::is_private`]).
    pub fn are_private(&self, program: &Program) -> bool {
        self.waves.iter().all(|running| match running.state {
            State::Ready => program.is_private(running.cursor),
            State::AtBarrier => false,
            State::Ended => true,
        })
    }

    /// Whether its waves' observers hear of accesses to memory.
    pub fn hear(&mut self, all: bool) {
        for Running { wave, .. } in &mut self.waves {
            let wanted = wave.must_hear();
            wave.is_watched = wanted || all && wave.observer.as_ref().is_some_and(|observer| observer.hears_memory());
        }
    }
}
