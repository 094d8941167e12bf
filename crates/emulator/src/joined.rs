//! Two blocks as one: what a branch leads past, and what comes behind.
//!
//! Compilers guard short pieces of code by a branch for waves that have no lane there. The block that ends in such a branch
//! (*first*) is followed by the guarded piece and what comes behind it (*through*), or by the latter alone (*over*), which is
//! how *through* ends. Native code of *first* and *through* together, with a jump in it, saves each wave the way from block
//! to block. It counts as the blocks that it stands for; [`Wave::skipped`](crate::wave::Wave::skipped) says which.

use std::sync::Arc;

use crate::code::Block;
use crate::mode::Mode;
use crate::native::{Native, Skip, Whole, native_pair, native_whole};
use crate::op::Op;

/// Micro-ops of the second block at most: it has native code of its own, too.
const LONGEST: usize = 256;

/// Native code of a block and the one that follows it.
pub struct Joined {
    through: Arc<Block>,
    pub native: Native,
}

impl Joined {
    /// That of a block whose branch, if it is taken, leads to `over`, and else to `through`; none if there is none worth having.
    pub fn of(first: &Block, through: &Arc<Block>, over: &Block, wave64: bool, mode: Mode) -> Option<Joined> {
        if !first.is_alone() || !through.is_alone() || through.ops.len() > LONGEST || first.ops.is_empty() {
            return None;
        }
        let (ops, skip) = one_after_the_other(first, through, over);
        let native = native_pair(&ops, skip, wave64, mode)?;
        Some(Joined { through: Arc::clone(through), native })
    }

    /// Whether this is the block behind it.
    pub fn is_followed_by(&self, through: &Arc<Block>) -> bool {
        Arc::ptr_eq(&self.through, through)
    }
}

/// The micro-ops of both, and the branch among them.
fn one_after_the_other(first: &Block, through: &Block, over: &Block) -> (Vec<Op>, Skip) {
    let behind = first.insts.len() as u16;
    let following = through.ops.iter().map(|op| Op { inst: op.inst + behind, ..*op });
    let ops: Vec<Op> = first.ops.iter().copied().chain(following).collect();
    let skip = Skip { at: first.ops.len() - 1, to: ops.len() - over.ops.len() };
    (ops, skip)
}

/// Native code of a kernel that is one block, or a block and what it may lead past to the kernel's end.
pub struct Kernel {
    through: Option<Arc<Block>>,
    pub native: Whole,
}

impl Kernel {
    /// That of a block at which waves begin; `following`: what its branch leads to if it is not taken, and if it is.
    pub fn of(first: &Block, following: Option<(&Arc<Block>, &Block)>, wave64: bool, mode: Mode) -> Option<Kernel> {
        if !first.is_alone() || first.ops.is_empty() {
            return None;
        }
        let Some((through, over)) = following else {
            return Some(Kernel { through: None, native: native_whole(&first.ops, None, wave64, mode)? });
        };
        if !through.is_alone() || !ends_with(through, over) {
            return None;
        }
        let (ops, skip) = one_after_the_other(first, through, over);
        let native = native_whole(&ops, Some(skip), wave64, mode)?;
        Some(Kernel { through: Some(Arc::clone(through)), native })
    }

    /// Whether this is the block behind the first one.
    pub fn is_followed_by(&self, through: Option<&Arc<Block>>) -> bool {
        match (&self.through, through) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        }
    }
}

/// Whether a block is how another one ends, micro-op by micro-op.
pub fn ends_with(through: &Block, over: &Block) -> bool {
    let Some(insts) = through.insts.len().checked_sub(over.insts.len()).filter(|&more| more != 0) else { return false };
    let Some(ops) = through.ops.len().checked_sub(over.ops.len()) else { return false };
    let same = |(ours, theirs): (&Op, &Op)| is_same(&Op { inst: theirs.inst + insts as u16, ..*theirs }, ours);
    through.insts[insts].0 == over.address()
        && (through.next, through.taken) == (over.next, over.taken)
        && over.is_alone()
        && through.ops[ops..].iter().zip(&over.ops).all(same)
}

fn is_same(a: &Op, b: &Op) -> bool {
    std::ptr::fn_addr_eq(a.run, b.run)
        && (a.dst, a.src, a.imm, a.imm2) == (b.dst, b.src, b.imm, b.imm2)
        && (a.sdst, a.ssrc, a.flags, a.inst, a.kind) == (b.sdst, b.ssrc, b.flags, b.inst, b.kind)
}
