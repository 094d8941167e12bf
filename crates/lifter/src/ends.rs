//! Ways that end although no instruction ends them: compilers put nothing behind what never comes back.
//!
//! Control that would run on past a function's last instruction does not, where there is no code behind it, behind a call
//! of a function that never returns, and behind `s_trap 2`, which LLVM makes of `llvm.trap`
//! (its AMDGPU usage page, "Trap Handler ABI").

use luthier_isa::{Field, Inst};

use crate::{Exit, Program, Terminator};

/// Takes such ways out of the exits. `falls` says of each exit whether it is by running on, `is_code` whether there is
/// code at an address.
pub(crate) fn prune(p: &mut Program, falls: &[bool], is_code: impl Fn(u64) -> bool) {
    if !falls.contains(&true) {
        return;
    }
    let mut returns = vec![false; p.functions.len()];
    let goes_on = |p: &Program, exit: &Exit, falls: bool, returns: &[bool]| {
        let block = p.block(exit.block);
        if !falls {
            return true;
        }
        let ends = match block.terminator {
            Terminator::Trap => block.instrs.last().is_some_and(|i| is_llvm_trap(p.inst(i))),
            Terminator::Call => p.call(exit.block).and_then(|c| c.callee).is_some_and(|f| !returns[f.index()]),
            _ => false,
        };
        !ends && is_code(exit.target)
    };
    for block in &p.blocks {
        use Terminator::{Return, UnknownJump, Unsupported};
        returns[block.func.index()] |= matches!(block.terminator, Return { .. } | UnknownJump | Unsupported);
    }
    loop {
        let before = returns.clone();
        for (exit, falls) in p.exits.iter().zip(falls) {
            let back = exit.callee.is_none_or(|f| before[f.index()]);
            returns[p.block(exit.block).func.index()] |= back && goes_on(p, exit, *falls, &before);
        }
        if returns == before {
            break;
        }
    }
    let kept: Vec<Exit> = p
        .exits
        .iter()
        .zip(falls)
        .filter(|(exit, falls)| goes_on(p, exit, **falls, &returns))
        .map(|(e, _)| *e)
        .collect();
    p.exits = kept;
}

/// `s_trap 2` stops the program. Others, such as a debugger's, come back.
pub(crate) fn is_llvm_trap(inst: &Inst) -> bool {
    inst.field(Field::Simm16).is_some_and(|id| id & 0xff == 2)
}
