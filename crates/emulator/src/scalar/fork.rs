//! Branches that divide EXEC by themselves: GCN's forks, which keep the other path on a stack of SGPRs, and RDNA's loops
//! over the halves of a wave of 64.
//!
//! Sources: the pseudocode of AMD's Vega, CDNA and RDNA manuals. The stack's depth is in MODE; entry n is in the four SGPRs
//! from s\[4n\] on: an address, and the lanes that go on there.

use luthier_isa::op::Op as IsaOp;

use super::{s32, s64};
use crate::error::FaultKind;
use crate::mode::Mode;
use crate::op::{Flow, Handler, Op};
use crate::registers::scalar;
use crate::wave::Wave;

/// Where MODE has the depth of the stack of forks.
const DEPTH: u32 = 29;

fn depth(w: &Wave) -> u32 {
    w.mode.0 >> DEPTH
}

fn set_depth(w: &mut Wave, depth: u32) {
    w.mode = Mode(w.mode.0 & ((1 << DEPTH) - 1) | depth << DEPTH);
}

/// Where a wave goes on.
enum Way {
    Target,
    Next,
}

/// Divides EXEC by a mask: all of it goes one way, or the smaller part does, and the larger one when that has joined.
fn fork(w: &mut Wave, mask: u64, target: u64, next: u64) -> Result<Way, String> {
    let exec = w.exec();
    let (pass, fail) = (mask & exec, !mask & exec);
    // With no lane left both masks are all of EXEC, and the first question decides.
    if pass == exec {
        return Ok(Way::Target);
    }
    if fail == exec {
        return Ok(Way::Next);
    }
    let depth = depth(w);
    if depth == 7 {
        return Err("the stack of forks is full".into());
    }
    let (way, exec, later) = if fail.count_ones() < pass.count_ones() {
        (Way::Next, fail, (target, pass))
    } else {
        (Way::Target, pass, (next, fail))
    };
    let at = (4 * depth) as u8;
    w.set_s64(at, later.1);
    w.set_s64(at + 2, later.0);
    w.set_exec(exec);
    set_depth(w, depth + 1);
    Ok(way)
}

fn fault(w: &mut Wave, message: String) -> Flow {
    w.fault(FaultKind::Unsupported, message)
}

/// The mask and the target are pairs of SGPRs.
fn g_fork(w: &mut Wave, op: &Op) -> Flow {
    let (mask, target) = (s64(w, op, 0), s64(w, op, 1));
    match fork(w, mask, target, op.imm2) {
        Ok(Way::Target) => {
            w.pc = target;
            Flow::Jump
        }
        Ok(Way::Next) => Flow::Fall,
        Err(message) => fault(w, message),
    }
}

/// The target is relative.
fn i_fork(w: &mut Wave, op: &Op) -> Flow {
    let mask = s64(w, op, 0);
    match fork(w, mask, op.imm2.wrapping_add(op.imm << 2), op.imm2) {
        Ok(Way::Target) => Flow::Taken,
        Ok(Way::Next) => Flow::Fall,
        Err(message) => fault(w, message),
    }
}

/// A path has ended: the other one, if it has not been gone.
fn join(w: &mut Wave, op: &Op) -> Flow {
    let depth = depth(w);
    if s32(w, op, 0) == depth {
        return Flow::Fall;
    }
    let Some(depth) = depth.checked_sub(1) else { return fault(w, "no fork is open here".into()) };
    let at = (4 * depth) as u8;
    let exec = w.s64(at);
    w.pc = w.s64(at + 2);
    w.set_exec(exec);
    set_depth(w, depth);
    Flow::Jump
}

/// The lower half of the lanes goes first, if it has any; the upper one waits in the SGPR.
fn loop_begin(w: &mut Wave, op: &Op) -> Flow {
    let saved = usize::from(op.src[0] & 255);
    let [low, high] = [0, 1].map(|half| usize::from(scalar::EXEC) + half);
    match (w.s[low], w.s[high]) {
        (0, 0) => return Flow::Taken,
        (0, _) => w.s[saved] = 0,
        (_, upper) => {
            w.s[saved] = upper;
            w.s[high] = 0;
        }
    }
    Flow::Fall
}

/// After the lower half the upper one, if it waits; after that, the lower half is back.
fn loop_end(w: &mut Wave, op: &Op) -> Flow {
    let saved = usize::from(op.src[0] & 255);
    let [low, high] = [0, 1].map(|half| usize::from(scalar::EXEC) + half);
    if w.s[high] != 0 {
        w.s[low] = w.s[saved];
        return Flow::Fall;
    }
    if w.s[saved] == 0 {
        return Flow::Fall;
    }
    w.s[high] = w.s[saved];
    w.s[saved] = w.s[low];
    w.s[low] = 0;
    Flow::Taken
}

pub(super) fn lookup(op: IsaOp) -> Option<Handler> {
    match op {
        IsaOp::SCbranchGFork => Some(g_fork),
        IsaOp::SCbranchIFork => Some(i_fork),
        IsaOp::SCbranchJoin => Some(join),
        IsaOp::SSubvectorLoopBegin => Some(loop_begin),
        IsaOp::SSubvectorLoopEnd => Some(loop_end),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(exec: u64) -> Wave {
        let mut w = Wave::new();
        w.set_exec(exec);
        w
    }

    #[test]
    fn the_smaller_part_goes_first() {
        let op = Op { src: [8, 10, 0], imm2: 0x104, ..Op::NOTHING };
        let mut w = wave(0xff);
        w.set_s64(8, 0x0f0e);
        w.set_s64(10, 0x900);
        // Three of the lanes pass, five fail.
        assert_eq!((g_fork(&mut w, &op), w.pc, w.exec(), depth(&w)), (Flow::Jump, 0x900, 0x0e, 1));
        let joined = Op { src: [12, 0, 0], imm2: 0x904, ..Op::NOTHING };
        assert_eq!((join(&mut w, &joined), w.pc, w.exec(), depth(&w)), (Flow::Jump, 0x104, 0xf1, 0));
        assert_eq!((join(&mut w, &joined), w.exec()), (Flow::Fall, 0xf1));
        // All lanes, or none.
        w.set_s64(8, 0xff);
        assert_eq!(g_fork(&mut w, &op), Flow::Jump);
        w.set_s64(8, 0);
        assert_eq!(g_fork(&mut w, &op), Flow::Fall);
        w.s[12] = 3;
        assert_eq!(join(&mut w, &joined), Flow::Fault);
    }

    #[test]
    fn halves_take_turns() {
        let op = Op { src: [8, 0, 0], ..Op::NOTHING };
        let passes = |exec: u64| {
            let mut w = wave(exec);
            let mut seen = Vec::new();
            if loop_begin(&mut w, &op) == Flow::Fall {
                loop {
                    seen.push(w.exec());
                    if loop_end(&mut w, &op) == Flow::Fall {
                        break;
                    }
                }
            }
            assert_eq!(w.exec(), exec);
            seen
        };
        assert_eq!(passes(0x5_0000_0003), [3, 0x5_0000_0000]);
        assert_eq!(passes(3), [3]);
        assert_eq!(passes(5 << 32), [5 << 32]);
        assert!(passes(0).is_empty());
    }
}
