//! Searching backwards: the last instruction before an event that did something.
//!
//! What is near is looked at first, in stretches that grow, and only blocks with something to be seen are run an instruction
//! at a time. The launch stands somewhere afterwards: the caller goes where it wants to be.

use std::collections::BTreeSet;

use super::{Stage, Stopped, Until, Watchpoint, Why};
use crate::choose::WaveId;
use crate::error::EmuError;
use crate::interleave::Stretch;
use crate::observe::MemoryEvent;
use crate::outcome::Trouble;
use crate::program::Halts;
use crate::wave::Wave;
use crate::workgroup::Pace;

/// Events of the first stretch, and how much longer each is than the one behind it.
const FIRST: u64 = 20_000;
const LONGER: u64 = 4;

/// Instructions of one wave that are looked for, by their addresses in the code object.
#[derive(Clone, Debug)]
pub struct Sought {
    pub wave: WaveId,
    /// Those that count where the lane is on, and those that always do.
    pub masked: BTreeSet<u64>,
    pub always: BTreeSet<u64>,
    /// `None`: any lane, or none.
    pub lane: Option<u8>,
}

/// An instruction that a wave has executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// How many all waves, and this one, had executed before.
    pub event: u64,
    pub retired: u64,
    /// In the code object.
    pub pc: u64,
    pub exec: u64,
}

/// A store or an atomic, and the event behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrote {
    pub event: u64,
    pub wave: Option<WaveId>,
    pub pc: u64,
    pub access: Option<MemoryEvent>,
}

impl Stage {
    /// The last instruction of these that the wave executed among its first `retired`.
    ///
    /// # Errors
    /// The launch cannot be taken back, or `go_on` said no.
    pub fn last_executed(
        &mut self,
        sought: &Sought,
        retired: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Done>, EmuError> {
        let mut own = self.play.known().iter().rev().filter(|stretch| stretch.wave == sought.wave);
        let Some(Stretch { event, retired: before, .. }) = own.clone().find(|stretch| stretch.retired < retired) else {
            return Ok(None);
        };
        let end = event + (retired - before);
        let first = own.next_back().map_or(0, |stretch| stretch.event);
        let all = sought.masked.iter().chain(&sought.always);
        let halts = Halts { addresses: all.map(|pc| self.module.address(*pc)).collect(), memory: false };
        self.backwards(first, end, go_on, |stage, end| stage.executed_before(sought, &halts, end))
    }

    /// The last store or atomic that was seen by a watchpoint before an event.
    ///
    /// # Errors
    /// As of [`Stage::last_executed`].
    pub fn last_write(
        &mut self,
        watch: Watchpoint,
        end: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Wrote>, EmuError> {
        let until = Until { event: Some(end), watchpoints: vec![watch], ..Until::default() };
        self.backwards(0, end, go_on, |stage, end| {
            let until = Until { event: Some(end), ..until.clone() };
            let mut last = None;
            loop {
                match stage.resume(&until)? {
                    Stopped { why: Why::Watchpoint(_, access, pc), wave } => {
                        last = Some(Wrote { event: stage.event(), wave, pc, access });
                    }
                    _ => return Ok(last),
                }
            }
        })
    }

    /// Looks at stretches from the last one before `end` to the first one, which begins at `first`.
    fn backwards<T>(
        &mut self,
        first: u64,
        mut end: u64,
        go_on: &dyn Fn() -> bool,
        mut look: impl FnMut(&mut Stage, u64) -> Result<Option<T>, EmuError>,
    ) -> Result<Option<T>, EmuError> {
        // Where no moments are kept, all up to a stretch is done again for it.
        let longer = if self.play.shared.strict.is_some() { LONGER * LONGER } else { LONGER };
        let mut stretch = FIRST;
        while end > first {
            if !go_on() {
                return Err(EmuError::Interrupted);
            }
            let begin = end.saturating_sub(stretch).max(first);
            self.goto(begin)?;
            let found = look(self, end)?;
            if found.is_some() {
                return Ok(found);
            }
            (end, stretch) = (begin, stretch.saturating_mul(longer));
        }
        Ok(None)
    }

    fn executed_before(&mut self, sought: &Sought, halts: &Halts, end: u64) -> Result<Option<Done>, EmuError> {
        self.play.program().set_halts(halts);
        let mut last = None;
        while self.event() < end {
            match self.one_executed(sought, end) {
                Ok(Some(done)) => last = Some(done),
                Ok(None) if self.play.groups().is_empty() => break,
                Ok(None) => {}
                Err(trouble) => {
                    self.fail(trouble)?;
                    break;
                }
            }
        }
        Ok(last)
    }

    /// A turn, or an instruction; that one, if it is looked for.
    fn one_executed(&mut self, sought: &Sought, end: u64) -> Result<Option<Done>, Trouble> {
        let Some(now) = self.whose_turn()? else { return Ok(None) };
        if !self.play.is_within() && self.play.advance(end - self.event())? != Pace::Halted || self.event() >= end {
            return Ok(None);
        }
        let mut done = None;
        if now == sought.wave {
            let pc = self.module.place(self.play.address(now).unwrap_or_default());
            let exec = self.wave(now).map_or(0, Wave::exec);
            let is_on = sought.lane.is_none_or(|lane| exec >> lane & 1 == 1);
            if sought.always.contains(&pc) || is_on && sought.masked.contains(&pc) {
                done = Some(Done { event: self.event(), retired: self.retired(now), pc, exec });
            }
        }
        self.step(now, false)?;
        Ok(done)
    }
}
