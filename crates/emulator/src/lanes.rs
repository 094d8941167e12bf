//! Whole-wave loops: the shapes that almost every vector operation has.
//!
//! Each computes all 64 lanes into a local row (so that the compiler knows that nothing aliases and vectorises), then
//! writes the lanes of EXEC. Computing inactive lanes is harmless: nothing traps.

use std::ops::Range;

use crate::masks::{pack, unpack};
use crate::op::{Flow, Op};
use crate::registers::{Halves, Row};
use crate::wave::Wave;

/// Lanes of a half.
pub const HALF: usize = 32;

/// The lanes of each half. Long operations spare waves of 32 lanes the other one; short ones are done for all of a row
/// sooner than it is asked how many there are.
#[inline(always)]
pub fn ranges(halves: Halves) -> impl Iterator<Item = Range<usize>> {
    (0..halves.min(2)).map(|half| HALF * half..HALF * (half + 1))
}

/// dst = an expression of src0, src1 and src2, with [`ranges`]: where a closure would be too long to be compiled into the
/// loops of each kind of processor.
macro_rules! each_lane {
    ($w:expr, $op:expr, |$a:ident, $b:ident| $value:expr) => {
        $crate::lanes::each_lane!($w, $op, |$a, $b, _c| $value)
    };
    ($w:expr, $op:expr, |$a:ident, $b:ident, $c:ident| $value:expr) => {{
        let [a, b, c] = $op.src.map(|source| $w.row(source));
        let mut out = $crate::registers::Row::ZERO;
        for lanes in $crate::lanes::ranges($w.halves()) {
            for i in lanes {
                let ($a, $b, $c) = (a.0[i], b.0[i], c.0[i]);
                out.0[i] = $value;
            }
        }
        $w.write($op.dst, &out);
        $crate::op::Flow::Next
    }};
}
pub(crate) use each_lane;

/// out = f(a). A function of its own, so that its arguments are known not to alias.
#[inline(always)]
pub fn fill1(out: &mut Row, a: &Row, f: impl Fn(u32) -> u32) {
    for i in 0..64 {
        out.0[i] = f(a.0[i]);
    }
}

/// out = f(a, b)
#[inline(always)]
pub fn fill2(out: &mut Row, a: &Row, b: &Row, f: impl Fn(u32, u32) -> u32) {
    for i in 0..64 {
        out.0[i] = f(a.0[i], b.0[i]);
    }
}

/// out = f(a, b, c)
#[inline(always)]
pub fn fill3(out: &mut Row, a: &Row, b: &Row, c: &Row, f: impl Fn(u32, u32, u32) -> u32) {
    for i in 0..64 {
        out.0[i] = f(a.0[i], b.0[i], c.0[i]);
    }
}

/// A row pair, low word first.
pub type Pair<'a> = (&'a Row, &'a Row);

/// A 64-bit lane of a row pair.
#[inline(always)]
pub fn lane64(pair: Pair, i: usize) -> u64 {
    u64::from(pair.0.0[i]) | u64::from(pair.1.0[i]) << 32
}

/// lo, hi = f(i), lane by lane.
#[inline(always)]
pub fn fill64(lo: &mut Row, hi: &mut Row, f: impl Fn(usize) -> u64) {
    for i in 0..64 {
        let value = f(i);
        lo.0[i] = value as u32;
        hi.0[i] = (value >> 32) as u32;
    }
}

/// dst = f(src0)
#[inline(always)]
pub fn map1(w: &mut Wave, op: &Op, f: impl Fn(u32) -> u32) -> Flow {
    let mut out = Row::ZERO;
    fill1(&mut out, w.row(op.src[0]), f);
    w.write(op.dst, &out);
    Flow::Next
}

/// dst = f(src0, src1)
#[inline(always)]
pub fn map2(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) -> Flow {
    let mut out = Row::ZERO;
    fill2(&mut out, w.row(op.src[0]), w.row(op.src[1]), f);
    w.write(op.dst, &out);
    Flow::Next
}

/// dst = f(src0, src1, src2)
#[inline(always)]
pub fn map3(w: &mut Wave, op: &Op, f: impl Fn(u32, u32, u32) -> u32) -> Flow {
    let mut out = Row::ZERO;
    fill3(&mut out, w.row(op.src[0]), w.row(op.src[1]), w.row(op.src[2]), f);
    w.write(op.dst, &out);
    Flow::Next
}

/// Writes a row pair, low word first, in the lanes of EXEC: lane `i` gets `f(w, i)`.
#[inline(always)]
pub fn write64(w: &mut Wave, dst: u16, f: impl Fn(&Wave, usize) -> u64) {
    let (mut lo, mut hi) = (Row::ZERO, Row::ZERO);
    fill64(&mut lo, &mut hi, |i| f(w, i));
    let exec = w.exec();
    w.write_masked(dst, &lo, exec);
    w.write_masked(dst + 1, &hi, exec);
}

/// dst:64 = f(src0:64)
#[inline(always)]
pub fn map1_64(w: &mut Wave, op: &Op, f: impl Fn(u64) -> u64) -> Flow {
    write64(w, op.dst, |w, i| f(lane64(w.pair(op.src[0]), i)));
    Flow::Next
}

/// dst:64 = f(src0:64, src1:64)
#[inline(always)]
pub fn map2_64(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> u64) -> Flow {
    write64(w, op.dst, |w, i| f(lane64(w.pair(op.src[0]), i), lane64(w.pair(op.src[1]), i)));
    Flow::Next
}

/// The variant of a comparison that EXEC becomes the result of, too (`v_cmpx`).
pub const TO_EXEC: u64 = 1;

/// sdst = the lanes of EXEC in which a comparison is true; `imm2` may be [`TO_EXEC`].
#[inline(always)]
pub fn compared(w: &mut Wave, op: &Op, lanes: u64) -> Flow {
    let mask = lanes & w.exec();
    w.set_mask(op.sdst, mask);
    if op.imm2 == TO_EXEC {
        w.set_exec(mask);
    }
    Flow::Next
}

/// sdst = mask of f(src0, src1) in the lanes of EXEC, zero elsewhere.
#[inline(always)]
pub fn compare(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> bool) -> Flow {
    let mut out = Row::ZERO;
    fill2(&mut out, w.row(op.src[0]), w.row(op.src[1]), |a, b| u32::from(f(a, b)).wrapping_neg());
    compared(w, op, pack(&out.0))
}

/// As [`compare`], 64-bit sources.
#[inline(always)]
pub fn compare64(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> bool) -> Flow {
    let (a, b) = (w.pair(op.src[0]), w.pair(op.src[1]));
    let mut out = Row::ZERO;
    for i in 0..64 {
        out.0[i] = u32::from(f(lane64(a, i), lane64(b, i))).wrapping_neg();
    }
    compared(w, op, pack(&out.0))
}

/// dst, sdst = f(src0, src1, carry in): carry out in sdst for the lanes of EXEC, zero elsewhere. Carry in comes from
/// `op.ssrc` if `carry_in`.
#[inline(always)]
pub fn carry(w: &mut Wave, op: &Op, carry_in: bool, f: impl Fn(u32, u32, u32) -> (u32, bool)) -> Flow {
    let exec = w.exec();
    let cin = if carry_in { unpack(w.s64(op.ssrc)) } else { Row::ZERO };
    let (mut out, mut cout) = (Row::ZERO, Row::ZERO);
    let (a, b) = (w.row(op.src[0]), w.row(op.src[1]));
    fill3(&mut out, a, b, &cin, |a, b, c| f(a, b, c & 1).0);
    fill3(&mut cout, a, b, &cin, |a, b, c| u32::from(f(a, b, c & 1).1).wrapping_neg());
    w.write_masked(op.dst, &out, exec);
    w.set_mask(op.sdst, pack(&cout.0) & exec);
    Flow::Next
}
