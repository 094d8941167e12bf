//! A launch that goes on only when it is told to: one instruction of one wave at a time.
//!
//! Workgroups run one after the other, so kernels whose workgroups wait for each other do not end here, unless it is for
//! global wave sync that they wait: then the next one begins, and those that have waited go on when they can. Those of a
//! cluster begin together: when all waves of one wait for the cluster's barrier, another one goes on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::device::Module;
use crate::error::EmuError;
use crate::observe::Registers;
use crate::outcome::Trouble;
use crate::program::Program;
use crate::shared::{Shared, Slots};
use crate::workgroup::{Progress, State, Workgroup};

/// A launch under way, and the workgroup that is.
pub struct Session {
    module: Arc<Module>,
    kernel: String,
    shared: Shared,
    program: Program,
    group: Option<Workgroup>,
    /// Workgroups all of whose waves waited, for others when they were last looked at.
    waiting: VecDeque<Workgroup>,
    /// Pieces of scratch memory that no workgroup has.
    slots: Slots,
    instructions: u64,
}

// SAFETY: its workgroups hold counted references of one thread ([`Rc`]) to what their waves share (LDS, barriers),
// and nothing else does: nothing that the session gives out has one. They all go with it from one thread to another.
unsafe impl Send for Session {}

impl Session {
    /// `program` has a block for each instruction.
    pub(crate) fn new(module: Arc<Module>, kernel: String, shared: Shared, program: Program) -> Session {
        let (slots, group, waiting) = (Slots::new(0..shared.slots), None, VecDeque::new());
        let mut session = Session { module, kernel, shared, program, group, waiting, slots, instructions: 0 };
        session.group = session.next_group();
        session
    }

    /// A workgroup that has waited and may go on, or else the first of those that have not begun, with its cluster.
    fn next_group(&mut self) -> Option<Workgroup> {
        if let Some(at) = self.waiting.iter().position(|group| !group.is_stuck()) {
            let mut group = self.waiting.remove(at)?;
            group.settle();
            return Some(group);
        }
        // Workgroups of a cluster wait for one another only.
        if self.shared.dispatch.cluster_size() > 1 && !self.waiting.is_empty() {
            return None;
        }
        let limits = self.program.limits();
        let groups = Workgroup::start_next(&self.shared, &mut self.slots, limits, &mut Vec::new())?;
        let started = self.waiting.len();
        self.waiting.extend(groups);
        self.waiting.remove(started)
    }

    fn stuck(&self, group: &Workgroup) -> EmuError {
        let mut trouble = group.deadlock(&self.program);
        if let Trouble::Deadlock { to_come, .. } = &mut trouble {
            *to_come = self.shared.clusters.saturating_sub(self.shared.next_cluster.load(Relaxed));
        }
        self.module.error(&self.kernel, trouble, |pc| self.module.locate(pc).1)
    }

    /// The workgroup under way; `None` when the launch is over.
    pub fn workgroup(&self) -> Option<[u32; 3]> {
        self.group.as_ref().map(|g| g.id)
    }

    pub fn waves(&self) -> usize {
        self.group.as_ref().map_or(0, |g| g.waves.len())
    }

    pub fn state(&self, wave: usize) -> Option<State> {
        Some(self.group.as_ref()?.waves.get(wave)?.state)
    }

    /// Address (in the code object) of the instruction that a wave executes next.
    pub fn pc(&self, wave: usize) -> Option<u64> {
        let running = self.group.as_ref()?.waves.get(wave)?;
        Some(self.module.place(self.program.address(running.cursor)))
    }

    /// Instructions that a wave has retired.
    pub fn retired(&self, wave: usize) -> Option<u64> {
        Some(self.group.as_ref()?.waves.get(wave)?.instructions)
    }

    /// Instructions retired by all waves so far.
    pub fn instructions(&self) -> u64 {
        let under_way = self.group.iter().chain(&self.waiting);
        self.instructions + under_way.map(|group| group.instructions).sum::<u64>()
    }

    pub fn registers(&self, wave: usize) -> Option<Registers> {
        let running = self.group.as_ref()?.waves.get(wave)?;
        let limits = self.program.limits();
        Some(Registers::of(&running.wave, limits.vgprs, limits.agprs))
    }

    /// Gives a wave other registers, as far as its kernel has them. EXEC and the mask registers keep to the wave's lanes.
    pub fn set_registers(&mut self, wave: usize, registers: &Registers) {
        if let Some(running) = self.group.as_mut().and_then(|group| group.waves.get_mut(wave)) {
            registers.put(&mut running.wave);
        }
    }

    /// A wave executes one instruction; nothing happens while it waits at a barrier for others, or has ended. When the
    /// last wave of a workgroup ends, or all of them wait for global wave sync, another workgroup's turn comes.
    ///
    /// # Errors
    /// The instruction cannot be executed.
    pub fn step(&mut self, wave: usize) -> Result<(), EmuError> {
        let Some(group) = &mut self.group else { return Ok(()) };
        if let Err(trouble) = group.advance(&mut self.program, wave, 1) {
            return Err(self.module.error(&self.kernel, trouble, |pc| self.module.locate(pc).1));
        }
        match group.settle() {
            Progress::Running => {}
            Progress::Stuck => {
                let waits = group.waits_globally() || self.shared.dispatch.cluster_size() > 1;
                if let Some(next) = waits.then(|| self.next_group()).flatten() {
                    self.waiting.extend(self.group.replace(next));
                } else if let Some(group) = &self.group {
                    return Err(self.stuck(group));
                }
            }
            Progress::Ended => {
                if let Some(group) = self.group.take() {
                    self.instructions += group.instructions;
                    self.slots.give(group.slot);
                }
                self.group = self.next_group();
                match (&self.group, self.waiting.front()) {
                    (None, Some(first)) => return Err(self.stuck(first)),
                    (None, None) => self.shared.show(&self.kernel)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Steps all waves in turns until one is about to execute the instruction at `pc` (in the code object), which it
    /// gives; `None` if the launch is over before, or `limit` instructions have been executed.
    ///
    /// # Errors
    /// As [`Session::step`].
    pub fn run_to(&mut self, pc: u64, limit: u64) -> Result<Option<usize>, EmuError> {
        let mut left = limit;
        loop {
            let workgroup = self.workgroup();
            for wave in 0..self.waves() {
                if self.workgroup() != workgroup || self.state(wave) != Some(State::Ready) {
                    continue;
                }
                if self.pc(wave) == Some(pc) {
                    return Ok(Some(wave));
                }
                if left == 0 {
                    return Ok(None);
                }
                left -= 1;
                self.step(wave)?;
            }
            if self.group.is_none() {
                return Ok(None);
            }
        }
    }

    /// Bytes of the workgroup's LDS.
    pub fn lds(&self) -> Vec<u8> {
        let first = self.group.as_ref().and_then(|group| group.waves.first());
        first.map_or_else(Vec::new, |running| running.wave.lds.bytes())
    }

    /// Copies device memory as the launch sees it: its arguments and scratch included.
    ///
    /// # Errors
    /// The first address that is in no allocation.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), u64> {
        self.shared.memory.read(address, out)
    }
}
