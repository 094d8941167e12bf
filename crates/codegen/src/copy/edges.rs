//! What is inserted on the ways out of a block. On the way that falls through it stands right behind the branch; on a
//! taken one it stands behind the function, and the branch is aimed there.

use std::rc::Rc;

use luthier_lifter::{BlockId, Terminator};

use super::bodies::Spotted;
use super::copier::{Copier, Edge};
use super::{Refusal, Spot};
use crate::layout::chunk::{Fixup, Place};
use crate::plan::{Rejection, Where};

impl Copier<'_, '_> {
    /// What is inserted behind a block's last instruction: on all of its ways, and on single ones. Where something else
    /// stands in its place (`replaced`), control goes on behind that.
    pub(super) fn behind_block(
        &mut self,
        block: BlockId,
        terminator: Terminator,
        replaced: bool,
        spots: &[Spot],
        at: &Spotted,
    ) -> Result<(), Refusal> {
        let spots: Vec<Spot> =
            spots.iter().copied().filter(|s| matches!(s.at, Where::After | Where::Edge { .. })).collect();
        if spots.is_empty() {
            return Ok(());
        }
        let (vaddr, inst) = (at.address, at.inst);
        let next = vaddr + inst.size() as u64;
        let on = |to: Option<u64>| {
            let mut list: Vec<&Spot> = spots
                .iter()
                .filter(|s| s.at == Where::After || to.is_some_and(|to| s.at == Where::Edge { to }))
                .collect();
            list.sort_by_key(|s| (s.order, s.insertion));
            list.into_iter().map(|s| s.insertion).collect::<Vec<u32>>()
        };
        let target =
            inst.branch_target(vaddr).filter(|_| matches!(terminator, Terminator::Branch | Terminator::CondBranch));
        let ways: Vec<u64> = match terminator {
            Terminator::Branch => target.into_iter().collect(),
            Terminator::CondBranch => target.into_iter().chain([next]).collect(),
            Terminator::Fallthrough | Terminator::Trap | Terminator::Call if self.task.env.program.goes_on(block) => {
                vec![next]
            }
            _ => Vec::new(),
        };
        for spot in &spots {
            let reason = match spot.at {
                Where::Edge { to } if !ways.contains(&to) => Rejection::NoEdge { from: vaddr, to },
                Where::Edge { to } if replaced && to != next => Rejection::NeverTaken { inst: inst.to_string(), to },
                Where::After if ways.is_empty() => Rejection::NothingFollows { inst: inst.to_string() },
                _ => continue,
            };
            self.put.reject(spot.insertion, vaddr, reason);
        }
        let terminator = if replaced { Terminator::Fallthrough } else { terminator };
        match terminator {
            _ if ways.is_empty() => {}
            Terminator::Fallthrough | Terminator::Trap => {
                self.put.bodies(&on(Some(next)), at)?;
            }
            Terminator::Call => {
                // What the callee did last is not known.
                self.put.seam.begin(Some(Rc::new(|_| None)));
                let at = Spotted { previous: None, indexed: false, ..*at };
                self.put.bodies(&on(Some(next)), &at)?;
            }
            Terminator::Branch | Terminator::CondBranch => self.behind_branch(block, target, &on, at)?,
            _ => {}
        }
        Ok(())
    }

    fn behind_branch(
        &mut self,
        block: BlockId,
        target: Option<u64>,
        on: &dyn Fn(Option<u64>) -> Vec<u32>,
        at: &Spotted,
    ) -> Result<(), Refusal> {
        let program = self.task.env.program;
        let (func, vaddr, inst) = (self.task.func, at.address, at.inst);
        let start = |v: u64| {
            let block = program.block_of(program.instr_within(func, v)?);
            (program.block_vaddr(block) == v).then_some(block)
        };
        let conditional = program.block(block).terminator == Terminator::CondBranch;
        let next = vaddr + inst.size() as u64;
        let taken =
            target.and_then(|t| Some((self.task.map.target(self.task.env.program, func, t, false)?, start(t)?)));
        let both: Vec<u32> = on(None);
        let fallen = start(next).filter(|_| conditional);
        // What is on every way is on all of them or on none.
        if taken.is_none() || conditional && fallen.is_none() {
            let mut lost = on(target);
            lost.extend(on(Some(next)).into_iter().filter(|_| conditional));
            lost.sort_unstable();
            lost.dedup();
            for insertion in lost {
                self.put.reject(insertion, vaddr, Rejection::LeavesFunction { inst: inst.to_string() });
            }
            return Ok(());
        }
        let Some((to, taken)) = taken else { return Ok(()) };
        let branch = self.put.out.chunk.fixups.len() - 1;
        let mut insertions = on(target);
        // What is inserted on the way that falls through is not on this one.
        let seam = (!insertions.is_empty()).then(|| Box::new(self.put.seam.clone()));
        let mut shared = false;
        if let Some(fallen) = fallen {
            let live = self.known.liveness.at_start(fallen);
            let msb = program.block(fallen).instrs.iter().next().and_then(|i| program.inst(i).msb());
            let at = Spotted { live: &live, msb: msb.unwrap_or_default(), ..*at };
            let wanted = on(Some(next));
            let made = self.put.bodies(&wanted, &at)?;
            // What did not fit here is not to be on the other way either.
            insertions.retain(|i| !both.contains(i) || made.contains(i));
            shared = !both.is_empty();
        }
        let Some(seam) = seam.filter(|_| !insertions.is_empty()) else { return Ok(()) };
        // The branch was aimed at its target's copy: aim it at the way's own code instead. Its label comes behind those
        // of the instructions and of the entry.
        let label = program.function_instrs(func).len() as u32 + 1 + self.edges.len() as u32;
        let place = Place::Label { chunk: self.task.chunk, label };
        if let Some(Fixup::Branch { to, .. }) = self.put.out.chunk.fixups.get_mut(branch) {
            *to = place;
        }
        let msb = program.block(taken).instrs.iter().next().and_then(|i| program.inst(i).msb());
        self.edges.push(Edge {
            address: vaddr,
            inst: *inst,
            insertions,
            shared,
            live: Box::new(self.known.liveness.at_start(taken)),
            loads: at.loads.clone(),
            seam,
            indexed: at.indexed,
            msb: msb.unwrap_or_default(),
            olds: at.olds.to_vec(),
            to,
        });
        Ok(())
    }

    /// The code of taken ways, behind the function.
    pub(super) fn trampolines(&mut self) -> Result<(), Refusal> {
        for edge in std::mem::take(&mut self.edges) {
            self.put.out.chunk.label(false);
            let rejected = self.put.out.rejected.len();
            self.put.seam = *edge.seam;
            let at = Spotted {
                address: edge.address,
                inst: &edge.inst,
                live: &edge.live,
                loads: &edge.loads,
                previous: None,
                next: &[],
                indexed: edge.indexed,
                msb: edge.msb,
                olds: &edge.olds,
            };
            let made = self.put.bodies(&edge.insertions, &at)?;
            if edge.shared && edge.insertions.iter().any(|i| !self.only_taken(*i) && !made.contains(i)) {
                return Err(Refusal::Reason(format!(
                    "a hook fits on one way of the branch at {:#x} only: {}",
                    edge.address, self.put.out.rejected[rejected].reason
                )));
            }
            self.put.branch(edge.to)?;
        }
        Ok(())
    }

    fn only_taken(&self, insertion: u32) -> bool {
        matches!(self.task.env.plan.insertions[insertion as usize].at, Where::Edge { .. })
    }
}
