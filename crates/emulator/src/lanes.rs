//! Whole-wave loops: the shapes that almost every vector operation has.
//!
//! Each computes all 64 lanes into a local row (so that the compiler knows that nothing aliases and vectorises), then
//! writes the lanes of EXEC. Computing inactive lanes is harmless: nothing traps.

use crate::op::{Flow, Op};
use crate::wave::{Row, Wave, pack, unpack};

/// dst = f(src0)
#[inline(always)]
pub fn map1(w: &mut Wave, op: &Op, f: impl Fn(u32) -> u32) -> Flow {
    let mut out = Row::ZERO;
    let a = w.row(op.src[0]);
    for i in 0..64 {
        out.0[i] = f(a.0[i]);
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// dst = f(src0, src1)
#[inline(always)]
pub fn map2(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) -> Flow {
    let mut out = Row::ZERO;
    let (a, b) = (w.row(op.src[0]), w.row(op.src[1]));
    for i in 0..64 {
        out.0[i] = f(a.0[i], b.0[i]);
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// dst = f(src0, src1, src2)
#[inline(always)]
pub fn map3(w: &mut Wave, op: &Op, f: impl Fn(u32, u32, u32) -> u32) -> Flow {
    let mut out = Row::ZERO;
    let (a, b, c) = (w.row(op.src[0]), w.row(op.src[1]), w.row(op.src[2]));
    for i in 0..64 {
        out.0[i] = f(a.0[i], b.0[i], c.0[i]);
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// dst:64 = f(src0:64)
#[inline(always)]
pub fn map1_64(w: &mut Wave, op: &Op, f: impl Fn(u64) -> u64) -> Flow {
    let a = w.read64(op.src[0]);
    let mut out = [0; 64];
    for i in 0..64 {
        out[i] = f(a[i]);
    }
    w.write64(op.dst, &out);
    Flow::Next
}

/// dst:64 = f(src0:64, src1:64)
#[inline(always)]
pub fn map2_64(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> u64) -> Flow {
    let (a, b) = (w.read64(op.src[0]), w.read64(op.src[1]));
    let mut out = [0; 64];
    for i in 0..64 {
        out[i] = f(a[i], b[i]);
    }
    w.write64(op.dst, &out);
    Flow::Next
}

/// dst:64 = f(src0:64, src1:64, src2:64)
#[inline(always)]
pub fn map3_64(w: &mut Wave, op: &Op, f: impl Fn(u64, u64, u64) -> u64) -> Flow {
    let (a, b, c) = (w.read64(op.src[0]), w.read64(op.src[1]), w.read64(op.src[2]));
    let mut out = [0; 64];
    for i in 0..64 {
        out[i] = f(a[i], b[i], c[i]);
    }
    w.write64(op.dst, &out);
    Flow::Next
}

/// sdst = mask of f(src0, src1) in the lanes of EXEC, zero elsewhere.
#[inline(always)]
pub fn compare(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> bool) -> Flow {
    let (a, b) = (w.row(op.src[0]), w.row(op.src[1]));
    let mut out = [0u32; 64];
    for i in 0..64 {
        out[i] = u32::from(f(a.0[i], b.0[i]));
    }
    let mask = pack(&out) & w.exec();
    w.set_s64(op.sdst, mask);
    Flow::Next
}

/// As [`compare`], 64-bit sources.
#[inline(always)]
pub fn compare64(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> bool) -> Flow {
    let (a, b) = (w.read64(op.src[0]), w.read64(op.src[1]));
    let mut out = [0u32; 64];
    for i in 0..64 {
        out[i] = u32::from(f(a[i], b[i]));
    }
    let mask = pack(&out) & w.exec();
    w.set_s64(op.sdst, mask);
    Flow::Next
}

/// dst, sdst = f(src0, src1, carry in): carry out in sdst for the lanes of EXEC, zero elsewhere. Carry in comes from
/// `op.ssrc` if `carry_in`.
#[inline(always)]
pub fn carry(w: &mut Wave, op: &Op, carry_in: bool, f: impl Fn(u32, u32, u32) -> (u32, bool)) -> Flow {
    let exec = w.exec();
    let cin = if carry_in { unpack(w.s64(op.ssrc)) } else { [0; 64] };
    let (a, b) = (w.row(op.src[0]), w.row(op.src[1]));
    let (mut out, mut cout) = (Row::ZERO, [0u32; 64]);
    for i in 0..64 {
        let (value, c) = f(a.0[i], b.0[i], cin[i]);
        out.0[i] = value;
        cout[i] = u32::from(c);
    }
    w.write_masked(op.dst, &out, exec);
    w.set_s64(op.sdst, pack(&cout) & exec);
    Flow::Next
}
