//! A signal of the workgroup's barrier for which the wave waits at the end of the same block: put right before the wait, so that
//! what stands in between does not part a run.
//!
//! That a wave has come to its workgroup's barrier no other wave sees by anything but the barrier's state, and this one meets
//! no other before it waits ([`crate::meets`]).

use std::borrow::Cow;

use luthier_isa::op::Op as IsaOp;

use super::forms;
use super::graph::Graph;
use super::phase::Skip;
use crate::barrier::WORKGROUP;
use crate::op::{Kind, Op};
use crate::scalar::IMM;

/// Whether micro-ops are a signal of the workgroup's barrier and the wait for it.
pub fn are_barrier(ops: &[Op]) -> bool {
    let [signal, wait] = ops else { return false };
    is_signal(signal) && is_wait(wait)
}

fn is_signal(op: &Op) -> bool {
    op.kind == Kind::of(IsaOp::SBarrierSignal) && op.src[0] == IMM && op.imm as i32 == WORKGROUP
}

fn is_wait(op: &Op) -> bool {
    op.kind == Kind::of(IsaOp::SBarrierWait) && op.imm as i16 as i32 == WORKGROUP
}

/// Whether a micro-op computes something in registers, and can do no more.
fn computes(op: &Op, wave64: bool) -> bool {
    let mut graph = Graph::default();
    forms::scalar_form(op).is_some() || forms::add(&mut graph, op, wave64).is_ok() && !graph.accesses()
}

/// Micro-ops in which such a signal is the last but one.
pub fn signal_late(ops: &[Op], skip: Option<Skip>, wave64: bool) -> Cow<'_, [Op]> {
    let Some((_, body)) = ops.split_last().filter(|(wait, _)| is_wait(wait)) else { return ops.into() };
    let Some(at) = body.iter().rposition(is_signal) else { return ops.into() };
    let between = &body[at + 1..];
    // A branch onwards ends before the signal, or there is none.
    let is_passed = skip.is_none_or(|skip| skip.to <= at);
    if between.is_empty() || !is_passed || !between.iter().all(|op| computes(op, wave64)) {
        return ops.into();
    }
    let mut late = ops.to_vec();
    late[at..body.len()].rotate_left(1);
    late.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::lookup;

    fn op(operation: IsaOp, inst: u16, imm: i64) -> Op {
        let run = lookup(operation).expect("a scalar operation");
        Op { run, kind: Kind::of(operation), src: [IMM; 3], imm: imm as u64, inst, ..Op::NOTHING }
    }

    fn order(operations: &[(IsaOp, i64)], skip: Option<Skip>) -> Vec<u16> {
        let ops: Vec<Op> = (0..).zip(operations).map(|(inst, &(operation, imm))| op(operation, inst, imm)).collect();
        signal_late(&ops, skip, false).iter().map(|op| op.inst).collect()
    }

    #[test]
    fn a_signal_comes_behind_what_only_computes() {
        use IsaOp::{SBarrierSignal, SBarrierWait, SGetBarrierState, SMovB32};
        let wait = (SBarrierWait, -1);
        assert_eq!(order(&[(SMovB32, 0), (SBarrierSignal, -1), (SMovB32, 0), wait], None), [0, 2, 1, 3]);
        // Another barrier, one that is waited for elsewhere, and one whose state is read.
        assert_eq!(order(&[(SBarrierSignal, -3), (SMovB32, 0), wait], None), [0, 1, 2]);
        assert_eq!(order(&[(SBarrierSignal, 1), (SMovB32, 0), wait], None), [0, 1, 2]);
        assert_eq!(order(&[(SBarrierSignal, -1), (SMovB32, 0), (SBarrierWait, 1)], None), [0, 1, 2]);
        assert_eq!(order(&[(SBarrierSignal, -1), (SMovB32, 0)], None), [0, 1]);
        assert_eq!(order(&[(SBarrierSignal, -1), (SGetBarrierState, -1), wait], None), [0, 1, 2]);
    }

    #[test]
    fn a_signal_that_a_branch_may_lead_past_stays() {
        use IsaOp::{SBarrierSignal, SBarrierWait, SCbranchScc0, SMovB32};
        let ops = [(SCbranchScc0, 0), (SBarrierSignal, -1), (SMovB32, 0), (SBarrierWait, -1)];
        assert_eq!(order(&ops, Some(Skip { at: 0, to: 2 })), [0, 1, 2, 3]);
        assert_eq!(order(&ops, Some(Skip { at: 0, to: 1 })), [0, 2, 1, 3]);
    }
}
