//! 32-bit integer operations.

use luthier_isa::op::Op as IsaOp;

use super::lanewise::{Lanewise, RESULTS, SOURCES};
use super::op;
use crate::lanes::{carry, each_lane, fill3, map1, map2, map3};
use crate::op::{Flow, Op, OpFlags};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

/// As [`map2`], with one function for plain and one for saturating operation.
#[inline(always)]
fn clamped2(w: &mut Wave, op: &Op, plain: impl Fn(u32, u32) -> u32, clamp: impl Fn(u32, u32) -> u32) -> Flow {
    if op.flags.contains(OpFlags::CLAMP) { map2(w, op, clamp) } else { map2(w, op, plain) }
}

/// A sum in 64 bits: wraps, or saturates as unsigned.
#[inline(always)]
fn sum_u32(w: &mut Wave, op: &Op, f: impl Fn(u32, u32, u32) -> u64) -> Flow {
    if op.flags.contains(OpFlags::CLAMP) {
        map3(w, op, |a, b, c| f(a, b, c).min(u32::MAX.into()) as u32)
    } else {
        map3(w, op, |a, b, c| f(a, b, c) as u32)
    }
}

#[inline(always)]
fn sum_i32(w: &mut Wave, op: &Op, f: impl Fn(u32, u32, u32) -> i64) -> Flow {
    if op.flags.contains(OpFlags::CLAMP) {
        map3(w, op, |a, b, c| f(a, b, c).clamp(i32::MIN.into(), i32::MAX.into()) as u32)
    } else {
        map3(w, op, |a, b, c| f(a, b, c) as u32)
    }
}

/// Carry chains; with CLAMP the sum saturates at all ones, the difference at zero.
#[inline(always)]
fn add_carry(w: &mut Wave, op: &Op, carry_in: bool) -> Flow {
    let saturate = if op.flags.contains(OpFlags::CLAMP) { !0 } else { 0 };
    carry(w, op, carry_in, |a, b, c| {
        let sum = u64::from(a) + u64::from(b) + u64::from(c);
        let out = sum >> 32 != 0;
        (sum as u32 | if out { saturate } else { 0 }, out)
    })
}

#[inline(always)]
fn sub_borrow(w: &mut Wave, op: &Op, carry_in: bool, reverse: bool) -> Flow {
    let saturate = if op.flags.contains(OpFlags::CLAMP) { 0 } else { !0 };
    carry(w, op, carry_in, |a, b, c| {
        let (a, b) = if reverse { (b, a) } else { (a, b) };
        let difference = u64::from(a).wrapping_sub(u64::from(b)).wrapping_sub(u64::from(c));
        let out = difference >> 32 != 0;
        (difference as u32 & if out { saturate } else { !0 }, out)
    })
}

#[inline(always)]
fn i24(x: u32) -> i64 {
    i64::from((x << 8) as i32 >> 8)
}
#[inline(always)]
fn u24(x: u32) -> u64 {
    u64::from(x & 0xff_ffff)
}
#[inline(always)]
fn abs_diff_bytes(a: u32, b: u32) -> u32 {
    (0..4).map(|k| (a >> (8 * k) & 255).abs_diff(b >> (8 * k) & 255)).sum()
}
/// Bytes whose reference (source 1) is zero do not count.
#[inline(always)]
pub(super) fn masked_abs_diff_bytes(a: u32, b: u32) -> u32 {
    (0..4)
        .map(|k| {
            let (x, y) = (a >> (8 * k) & 255, b >> (8 * k) & 255);
            if y == 0 { 0 } else { x.abs_diff(y) }
        })
        .sum()
}
#[inline(always)]
pub(super) fn sad_u8(a: u32, b: u32) -> u32 {
    abs_diff_bytes(a, b)
}

/// One byte of v_perm_b32, out of the pair (a, b), where b holds bytes 0 to 3.
#[inline(always)]
fn permuted(a: u32, b: u32, select: u32) -> u32 {
    let word = if select & 4 != 0 { a } else { b };
    let byte = word >> ((select & 3) * 8) & 255;
    // 8 to 11 replicate the sign of bytes 1, 3, 5, 7.
    let word = if select & 2 != 0 { a } else { b };
    let sign = (word >> ((select & 1) * 16 + 15) & 1) * 255;
    let r = if select >= 8 { sign } else { byte };
    let r = if select == 12 { 0 } else { r };
    if select > 12 { 255 } else { r }
}

/// One lane of v_perm_b32.
#[inline(always)]
fn perm(a: u32, b: u32, select: u32) -> u32 {
    let byte = |k: u32| permuted(a, b, select >> (8 * k) & 255) << (8 * k);
    byte(0) | byte(1) | byte(2) | byte(3)
}

/// v_perm_b32, of lanes.
pub struct Bytes;
impl Lanewise for Bytes {
    #[inline(always)]
    fn lanes<const N: usize>(_w: &Wave, sources: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        let [a, b, numbers, ..] = sources;
        for i in 0..N {
            out[i] = perm(a[i], b[i], numbers[i]);
        }
    }
}

#[inline(always)]
fn med3<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.max(b).min(a.min(b).max(c))
}

/// How many bits of a mask belong to lanes below each lane, as two masks a lane.
const fn below(high: bool) -> Row {
    let mut out = [0; 64];
    let mut i = 0;
    while i < 64 {
        let mask = (1u64 << i) - 1;
        out[i] = if high { (mask >> 32) as u32 } else { mask as u32 };
        i += 1;
    }
    Row(out)
}
static BELOW_LO: Row = below(false);
static BELOW_HI: Row = below(true);

#[inline(always)]
fn mbcnt(w: &mut Wave, op: &Op, below: &Row) -> Flow {
    let mut out = Row::ZERO;
    fill3(&mut out, w.row(op.src[0]), w.row(op.src[1]), below, |a, b, below| (a & below).count_ones().wrapping_add(b));
    w.write(op.dst, &out);
    Flow::Next
}

/// Bit by bit by a truth table: the sources' bits, the first source's highest, say which bit of the table it is.
#[inline(always)]
pub(super) fn bitop3(table: u32, a: u32, b: u32, c: u32) -> u32 {
    let term = |n: u32| {
        let pick = |x: u32, bit: u32| if n >> bit & 1 != 0 { x } else { !x };
        if table >> n & 1 != 0 { pick(a, 2) & pick(b, 1) & pick(c, 0) } else { 0 }
    };
    (0..8).fold(0, |all, n| all | term(n))
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VAndB32 => op!(w, o => map2(w, o, |a, b| a & b)),
        IsaOp::VOrB32 => op!(w, o => map2(w, o, |a, b| a | b)),
        IsaOp::VXorB32 => op!(w, o => map2(w, o, |a, b| a ^ b)),
        IsaOp::VXnorB32 => op!(w, o => map2(w, o, |a, b| !(a ^ b))),
        IsaOp::VNotB32 => op!(w, o => map1(w, o, |a| !a)),
        IsaOp::VLshlrevB32 => op!(w, o => map2(w, o, |a, b| b << (a & 31))),
        IsaOp::VLshrrevB32 => op!(w, o => map2(w, o, |a, b| b >> (a & 31))),
        IsaOp::VAshrrevI32 => op!(w, o => map2(w, o, |a, b| (b as i32 >> (a & 31)) as u32)),
        IsaOp::VAddU32 => op!(w, o => clamped2(w, o, u32::wrapping_add, u32::saturating_add)),
        IsaOp::VSubU32 => op!(w, o => clamped2(w, o, u32::wrapping_sub, u32::saturating_sub)),
        IsaOp::VSubrevU32 => op!(w, o => clamped2(w, o, |a, b| b.wrapping_sub(a), |a, b| b.saturating_sub(a))),
        IsaOp::VAddI32 => {
            op!(w, o => clamped2(w, o, u32::wrapping_add, |a, b| (a as i32).saturating_add(b as i32) as u32))
        }
        IsaOp::VSubI32 => {
            op!(w, o => clamped2(w, o, u32::wrapping_sub, |a, b| (a as i32).saturating_sub(b as i32) as u32))
        }
        IsaOp::VAddCoU32 => op!(w, o => add_carry(w, o, false)),
        IsaOp::VAddcCoU32 => op!(w, o => add_carry(w, o, true)),
        IsaOp::VSubCoU32 => op!(w, o => sub_borrow(w, o, false, false)),
        IsaOp::VSubrevCoU32 => op!(w, o => sub_borrow(w, o, false, true)),
        IsaOp::VSubbCoU32 => op!(w, o => sub_borrow(w, o, true, false)),
        IsaOp::VSubbrevCoU32 => op!(w, o => sub_borrow(w, o, true, true)),
        IsaOp::VAdd3U32 => op!(w, o => map3(w, o, |a, b, c| a.wrapping_add(b).wrapping_add(c))),
        IsaOp::VLshlAddU32 => op!(w, o => map3(w, o, |a, b, c| (a << (b & 31)).wrapping_add(c))),
        IsaOp::VAddLshlU32 => op!(w, o => map3(w, o, |a, b, c| a.wrapping_add(b) << (c & 31))),
        IsaOp::VLshlOrB32 => op!(w, o => map3(w, o, |a, b, c| a << (b & 31) | c)),
        IsaOp::VAndOrB32 => op!(w, o => map3(w, o, |a, b, c| a & b | c)),
        IsaOp::VOr3B32 => op!(w, o => map3(w, o, |a, b, c| a | b | c)),
        IsaOp::VXadU32 => op!(w, o => map3(w, o, |a, b, c| (a ^ b).wrapping_add(c))),
        IsaOp::VMulLoU32 => op!(w, o => map2(w, o, u32::wrapping_mul)),
        IsaOp::VMulHiU32 => op!(w, o => map2(w, o, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)),
        IsaOp::VMulHiI32 => {
            op!(w, o => map2(w, o, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32))
        }
        IsaOp::VMulU32U24 => op!(w, o => clamped2(w, o,
            |a, b| (u24(a) * u24(b)) as u32, |a, b| (u24(a) * u24(b)).min(u32::MAX.into()) as u32)),
        IsaOp::VMulHiU32U24 => op!(w, o => map2(w, o, |a, b| ((u24(a) * u24(b)) >> 32) as u32)),
        IsaOp::VMulI32I24 => op!(w, o => clamped2(w, o,
            |a, b| (i24(a) * i24(b)) as u32,
            |a, b| (i24(a) * i24(b)).clamp(i32::MIN.into(), i32::MAX.into()) as u32)),
        IsaOp::VMulHiI32I24 => op!(w, o => map2(w, o, |a, b| ((i24(a) * i24(b)) >> 32) as u32)),
        IsaOp::VMadU32U24 => op!(w, o => sum_u32(w, o, |a, b, c| u24(a) * u24(b) + u64::from(c))),
        IsaOp::VMadI32I24 => op!(w, o => sum_i32(w, o, |a, b, c| i24(a) * i24(b) + i64::from(c as i32))),
        IsaOp::VMadU32U16 => op!(w, o => sum_u32(w, o,
            |a, b, c| u64::from(a & 0xffff) * u64::from(b & 0xffff) + u64::from(c))),
        IsaOp::VMadI32I16 => op!(w, o => sum_i32(w, o,
            |a, b, c| i64::from(a as i16) * i64::from(b as i16) + i64::from(c as i32))),
        IsaOp::VBfeU32 => op!(w, o => map3(w, o, |a, b, c| (a >> (b & 31)) & ((1 << (c & 31)) - 1))),
        IsaOp::VBfeI32 => op!(w, o => map3(w, o, |a, b, c| {
            let width = c & 31;
            let field = (a as i32 >> (b & 31)) as u32;
            let up = 32u32.wrapping_sub(width) & 31;
            let signed = ((field << up) as i32 >> up) as u32;
            if width == 0 { 0 } else { signed }
        })),
        IsaOp::VBfiB32 => op!(w, o => map3(w, o, |a, b, c| a & b | !a & c)),
        IsaOp::VBitop3B32 => op!(w, o => {
            let table = o.imm as u32;
            map3(w, o, |a, b, c| bitop3(table, a, b, c))
        })
        .raw_mods(),
        IsaOp::VBfmB32 => op!(w, o => map2(w, o, |a, b| ((1u32 << (a & 31)) - 1) << (b & 31))),
        IsaOp::VBfrevB32 => op!(w, o => map1(w, o, u32::reverse_bits)),
        IsaOp::VBcntU32B32 => op!(w, o => map2(w, o, |a, b| a.count_ones().wrapping_add(b))),
        IsaOp::VFfbhU32 => op!(w, o => map1(w, o, |a| if a == 0 { !0 } else { a.leading_zeros() })),
        IsaOp::VFfblB32 => op!(w, o => map1(w, o, |a| if a == 0 { !0 } else { a.trailing_zeros() })),
        IsaOp::VFfbhI32 => op!(w, o => map1(w, o, |a| {
            let differs = a ^ (a as i32 >> 31) as u32;
            if differs == 0 { !0 } else { differs.leading_zeros() }
        })),
        IsaOp::VMbcntLoU32B32 => op!(w, o => mbcnt(w, o, &BELOW_LO)),
        IsaOp::VMbcntHiU32B32 => op!(w, o => mbcnt(w, o, &BELOW_HI)),
        IsaOp::VMinU32 => op!(w, o => map2(w, o, u32::min)),
        IsaOp::VMaxU32 => op!(w, o => map2(w, o, u32::max)),
        IsaOp::VMinI32 => op!(w, o => map2(w, o, |a, b| (a as i32).min(b as i32) as u32)),
        IsaOp::VMaxI32 => op!(w, o => map2(w, o, |a, b| (a as i32).max(b as i32) as u32)),
        IsaOp::VMin3U32 => op!(w, o => map3(w, o, |a, b, c| a.min(b).min(c))),
        IsaOp::VMax3U32 => op!(w, o => map3(w, o, |a, b, c| a.max(b).max(c))),
        IsaOp::VMed3U32 => op!(w, o => map3(w, o, med3)),
        IsaOp::VMin3I32 => op!(w, o => map3(w, o, |a, b, c| (a as i32).min(b as i32).min(c as i32) as u32)),
        IsaOp::VMax3I32 => op!(w, o => map3(w, o, |a, b, c| (a as i32).max(b as i32).max(c as i32) as u32)),
        IsaOp::VMed3I32 => op!(w, o => map3(w, o, |a, b, c| med3(a as i32, b as i32, c as i32) as u32)),
        IsaOp::VAlignbitB32 => {
            op!(w, o => map3(w, o, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32))
        }
        IsaOp::VAlignbyteB32 => {
            op!(w, o => map3(w, o, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> ((c & 3) * 8)) as u32))
        }
        IsaOp::VPermB32 => op!(w, o => each_lane!(w, o, |a, b, c| perm(a, b, c))),
        IsaOp::VLerpU8 => op!(w, o => map3(w, o, |a, b, c| (0..4).fold(0, |r, k| {
            let byte = |x: u32| x >> (8 * k) & 255;
            r | ((byte(a) + byte(b) + (byte(c) & 1)) >> 1) << (8 * k)
        }))),
        IsaOp::VSadU8 => op!(w, o => sum_u32(w, o, |a, b, c| u64::from(abs_diff_bytes(a, b)) + u64::from(c))),
        IsaOp::VSadHiU8 => {
            op!(w, o => sum_u32(w, o, |a, b, c| (u64::from(abs_diff_bytes(a, b)) << 16) + u64::from(c)))
        }
        IsaOp::VSadU16 => op!(w, o => sum_u32(w, o, |a, b, c| {
            u64::from((a & 0xffff).abs_diff(b & 0xffff)) + u64::from((a >> 16).abs_diff(b >> 16)) + u64::from(c)
        })),
        IsaOp::VSadU32 => op!(w, o => sum_u32(w, o, |a, b, c| u64::from(a.abs_diff(b)) + u64::from(c))),
        IsaOp::VMsadU8 => {
            op!(w, o => sum_u32(w, o, |a, b, c| u64::from(masked_abs_diff_bytes(a, b)) + u64::from(c)))
        }
        _ => return None,
    })
}
