//! Which instructions a wave may have issued last when it comes to a block.

use crate::{BlockId, FunctionKind, InstrId, Program, Terminator};

/// The last instructions on one way that leads to a block, in the order in which they are issued.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Way {
    pub instrs: Vec<InstrId>,
    /// What is issued in front of them is a caller's code or a callee's, and not known here. Else there are as many as were
    /// asked for, or the kernel begins with them.
    pub is_open: bool,
}

/// The last `length` instructions, without those that `skips` names, on each way to a block. `None` if there are more than
/// `most`.
pub fn ways(
    program: &Program,
    to: BlockId,
    length: usize,
    most: usize,
    skips: impl Fn(InstrId) -> bool,
) -> Option<Vec<Way>> {
    let mut done = Vec::new();
    // Latest first while they grow.
    let mut growing = vec![(to, Vec::new())];
    while let Some((at, way)) = growing.pop() {
        let function = program.function(program.block(at).func);
        let is_first = at == function.entry || function.second_entry == Some(program.block_vaddr(at));
        let returns = |p: &BlockId| program.block(*p).terminator == Terminator::Call;
        let preds = program.preds(at);
        // A function that is entered in its middle may be so at any block.
        let is_entered =
            at == function.entry && function.kind != FunctionKind::Kernel || !function.entered_inside.is_empty();
        let is_open = is_entered || preds.iter().any(returns) || preds.is_empty() && !is_first;
        if is_open || is_first {
            done.push(Way { instrs: way.iter().rev().copied().collect(), is_open });
        }
        for pred in preds.iter().filter(|p| !returns(p)) {
            let mut longer = way.clone();
            let run = program.block(*pred).instrs.iter().rev().filter(|i| !skips(*i));
            longer.extend(run.take(length - way.len()));
            if longer.len() < length {
                growing.push((*pred, longer));
            } else {
                longer.reverse();
                done.push(Way { instrs: longer, is_open: false });
            }
        }
        if done.len() + growing.len() > most {
            return None;
        }
    }
    Some(done)
}
