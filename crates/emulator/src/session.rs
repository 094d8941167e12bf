//! A launch that goes on only when it is told to: one instruction of one wave at a time.
//!
//! Workgroups run one after the other, so kernels whose workgroups wait for each other do not end here.

use std::sync::atomic::Ordering::Relaxed;

use std::sync::Arc;

use crate::device::Module;
use crate::error::EmuError;
use crate::observe::Registers;
use crate::program::{Cursor, Program};
use crate::sched::Shared;
use crate::workgroup::{Progress, State, Workgroup};

/// A launch under way, and the workgroup that is.
pub struct Session {
    module: Arc<Module>,
    kernel: String,
    shared: Shared,
    program: Program,
    group: Option<Workgroup>,
    instructions: u64,
}

impl Session {
    pub(crate) fn new(module: Arc<Module>, kernel: String, shared: Shared, program: Program) -> Session {
        let program = program.stepping();
        let mut session = Session { module, kernel, shared, program, group: None, instructions: 0 };
        session.next_group();
        session
    }

    fn next_group(&mut self) {
        let number = self.shared.next_cluster.fetch_add(1, Relaxed);
        let limits = self.program.limits();
        let id = self.shared.dispatch.group_in_cluster(number, 0);
        let start = || Workgroup::start(&self.shared, id, (number, None), 0, limits, &mut Vec::new());
        self.group = (number < self.shared.clusters).then(start);
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
        let pc = match running.cursor {
            Cursor::Address(pc, _) => pc,
            Cursor::Block(at) => self.program.block_address(at),
        };
        Some(self.module.place(pc))
    }

    /// Instructions that a wave has retired.
    pub fn retired(&self, wave: usize) -> Option<u64> {
        Some(self.group.as_ref()?.waves.get(wave)?.instructions)
    }

    /// Instructions retired by all waves so far.
    pub fn instructions(&self) -> u64 {
        self.instructions + self.group.as_ref().map_or(0, |g| g.instructions)
    }

    pub fn registers(&self, wave: usize) -> Option<Registers> {
        let running = self.group.as_ref()?.waves.get(wave)?;
        let limits = self.program.limits();
        Some(Registers::of(&running.wave, limits.vgprs, limits.agprs))
    }

    /// A wave executes one instruction; nothing happens while it waits at a barrier for others, or has ended. When the
    /// last wave of a workgroup ends, the next workgroup begins.
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
                let trouble = group.deadlock(&self.program);
                return Err(self.module.error(&self.kernel, trouble, |pc| self.module.locate(pc).1));
            }
            Progress::Ended => {
                if let Some(group) = self.group.take() {
                    self.instructions += group.instructions;
                    self.next_group();
                }
            }
        }
        Ok(())
    }

    /// Steps all waves in turns until one is about to execute the instruction at `pc` (in the code object), which it
    /// gives; `None` if the launch is over before, or so many instructions have been executed.
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
