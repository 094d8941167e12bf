//! What there is to see where the launch stands: its waves, their registers, memory, and the way that a wave has come.

use super::Stage;
use crate::choose::WaveId;
use crate::error::EmuError;
use crate::interleave::Stretch;
use crate::observe::Registers;
use crate::outcome::Trouble;
use crate::program::Halts;
use crate::wave::Wave;
use crate::workgroup::{Pace, State};

/// A wave under way.
#[derive(Clone, Debug)]
pub struct Seen {
    pub id: WaveId,
    pub workgroup: [u32; 3],
    pub state: State,
    /// Address (in the code object) of the instruction that it executes next.
    pub pc: u64,
    pub retired: u64,
}

/// An instruction that a wave has executed: its event, its address in the code object, and the lanes that were on.
pub type Executed = (u64, u64, u64);

impl Stage {
    /// The waves under way.
    pub fn waves(&self) -> Vec<Seen> {
        let of_group = |group: &crate::workgroup::Workgroup| {
            let (number, workgroup) = (group.number, group.id);
            let seen = |(wave, running): (u32, &crate::workgroup::Running)| {
                let id = WaveId { group: number, wave };
                let pc = self.module.place(self.play.address(id).unwrap_or_default());
                Seen { id, workgroup, state: running.state, pc, retired: running.instructions }
            };
            (0..).zip(&group.waves).map(seen).collect::<Vec<_>>()
        };
        self.play.groups().iter().flat_map(of_group).collect()
    }

    pub(super) fn wave(&self, id: WaveId) -> Option<&Wave> {
        Some(&self.play.group(id.group)?.waves.get(id.wave as usize)?.wave)
    }

    pub(super) fn retired(&self, id: WaveId) -> u64 {
        let group = self.play.group(id.group);
        group.and_then(|group| group.waves.get(id.wave as usize)).map_or(0, |running| running.instructions)
    }

    /// A wave's registers.
    pub fn registers(&mut self, id: WaveId) -> Option<Registers> {
        let limits = self.play.program().limits();
        Some(Registers::of(self.wave(id)?, limits.vgprs, limits.agprs))
    }

    /// Where a wave's scratch memory begins, and how many bytes it has for all lanes together.
    pub fn scratch(&self, id: WaveId) -> Option<(u64, u64)> {
        let (shared, group) = (&self.play.shared, self.play.group(id.group)?);
        let own = shared.dispatch.wave_scratch();
        Some((shared.scratch + shared.scratch_slot * group.slot as u64 + u64::from(id.wave) * own, own))
    }

    /// Bytes of a workgroup's LDS.
    pub fn lds(&self, group: u64) -> Option<Vec<u8>> {
        Some(self.play.group(group)?.waves.first()?.wave.lds.bytes())
    }

    /// Copies device memory as the launch sees it: its arguments and scratch included.
    ///
    /// # Errors
    /// The first address that is in no allocation.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), u64> {
        self.play.shared.memory.read(address, out)
    }

    /// The event of an instruction of a wave's: after which the wave has executed `retired` instructions and this one is next.
    /// `None` if it has not come there.
    pub fn event_of(&self, id: WaveId, retired: u64) -> Option<u64> {
        let own = self.play.log().iter().rev();
        let Stretch { event, retired: before, .. } = *own.filter(|s| s.wave == id).find(|s| s.retired <= retired)?;
        Some(event + (retired - before)).filter(|event| *event <= self.event())
    }

    /// What a wave has executed, from the instruction on that it has executed as its `first` (from 0), up to where the launch
    /// is now, where it is again afterwards. Those before `first` are not told of.
    ///
    /// # Errors
    /// The launch cannot be taken back.
    pub fn trace(&mut self, id: WaveId, first: u64, go_on: &dyn Fn() -> bool) -> Result<Vec<Executed>, EmuError> {
        let end = self.event();
        let Some(begin) = self.event_of(id, first).filter(|begin| *begin < end) else { return Ok(Vec::new()) };
        self.goto(begin)?;
        let mut all = Vec::new();
        self.play.program().set_halts(&Halts::default());
        while self.event() < end {
            match self.one_of_trace(id, end, &mut all) {
                Ok(true) if go_on() => {}
                Ok(true) => return Err(EmuError::Interrupted),
                Ok(false) => break,
                Err(trouble) => return self.fail(trouble).map(|_| all),
            }
        }
        self.goto(end)?;
        Ok(all)
    }

    fn one_of_trace(&mut self, id: WaveId, end: u64, all: &mut Vec<Executed>) -> Result<bool, Trouble> {
        let Some(now) = self.whose_turn()? else { return Ok(false) };
        if now != id && !self.play.is_within() && self.play.advance(end - self.event())? != Pace::Halted {
            return Ok(true);
        }
        if now == id {
            let exec = self.wave(id).map_or(0, Wave::exec);
            all.push((self.event(), self.module.place(self.play.address(id).unwrap_or_default()), exec));
        }
        self.step(now, false)?;
        Ok(true)
    }
}
