//! Branches, by what a scalar register or a pair holds.

use luthier_isa::op::Op as IsaOp;

use crate::op::Op;
use crate::registers::scalar;

/// When a branch is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Branch {
    Always,
    /// The register, or the pair (`wide`), is zero or not.
    If {
        code: u8,
        wide: bool,
        zero: bool,
    },
}

/// The branch that a micro-op is.
pub fn branch(op: &Op, wave64: bool) -> Option<Branch> {
    let scc = |zero| Branch::If { code: scalar::SCC, wide: false, zero };
    let mask = |code, zero| Branch::If { code, wide: wave64, zero };
    Some(match op.kind.operation()? {
        IsaOp::SBranch => Branch::Always,
        IsaOp::SCbranchScc0 => scc(true),
        IsaOp::SCbranchScc1 => scc(false),
        IsaOp::SCbranchVccz => mask(scalar::VCC, true),
        IsaOp::SCbranchVccnz => mask(scalar::VCC, false),
        IsaOp::SCbranchExecz => mask(scalar::EXEC, true),
        IsaOp::SCbranchExecnz => mask(scalar::EXEC, false),
        _ => return None,
    })
}
