//! Operations that gfx1250 adds: 64-bit integers, sums and what is larger or smaller, tables of sixteen entries.

use luthier_isa::op::Op as IsaOp;

use super::op;
use super::shapes::{read64, write64};
use crate::fp::in16;
use crate::fp::minmax::{self, Rules};
use crate::fp::small::packed;
use crate::lanes::{map1, map2_64, map3};
use crate::op::{Flow, Op, OpFlags};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

/// The bit of [`crate::op::RawMods`] that asks for clamping.
const CLAMP: u64 = 1 << 13;

/// dst:64 = f(src0:32, src1:32, src2:64), which also says whether the sum left its range.
#[inline(always)]
fn multiply_add(w: &mut Wave, op: &Op, limit: impl Fn(u64) -> u64, f: impl Fn(u32, u32, u64) -> (u64, bool)) -> Flow {
    let c = read64(w, op.src[2]);
    let clamp = op.flags.contains(OpFlags::CLAMP);
    let (a, b) = (w.row(op.src[0]), w.row(op.src[1]));
    let mut out = [0; 64];
    for i in 0..64 {
        let (value, over) = f(a.0[i], b.0[i], c[i]);
        out[i] = if clamp & over { limit(c[i]) } else { value };
    }
    write64(w, op.dst, &out);
    Flow::Next
}

/// dst = f(src0 + src1, src2), numbers of 32 bits; clamping limits the sum.
#[inline(always)]
fn sum_then(w: &mut Wave, op: &Op, signed: bool, f: impl Fn(i64, i64) -> i64) -> Flow {
    let clamp = op.flags.contains(OpFlags::CLAMP);
    map3(w, op, |a, b, c| {
        if signed {
            let sum = if clamp { (a as i32).saturating_add(b as i32) } else { a.wrapping_add(b) as i32 };
            f(sum.into(), (c as i32).into()) as u32
        } else {
            let sum = if clamp { a.saturating_add(b) } else { a.wrapping_add(b) };
            f(sum.into(), c.into()) as u32
        }
    })
}

/// As [`sum_then`] on both halves.
#[inline(always)]
fn halves_sum_then(w: &mut Wave, op: &Op, signed: bool, f: impl Fn(i64, i64) -> i64) -> Flow {
    let clamp = op.flags.contains(OpFlags::CLAMP);
    let one = |a: u16, b: u16, c: u16| {
        if signed {
            let (a, b) = (a as i16, b as i16);
            let sum = if clamp { a.saturating_add(b) } else { a.wrapping_add(b) };
            f(sum.into(), (c as i16).into()) as u16
        } else {
            let sum = if clamp { a.saturating_add(b) } else { a.wrapping_add(b) };
            f(sum.into(), c.into()) as u16
        }
    };
    map3(w, op, |a, b, c| {
        let high = one((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
        u32::from(one(a as u16, b as u16, c as u16)) | u32::from(high) << 16
    })
}

/// f of three numbers in each half.
#[inline(always)]
fn halves(w: &mut Wave, op: &Op, signed: bool, f: impl Fn(i32, i32, i32) -> i32) -> Flow {
    let read = |x: u32| if signed { i32::from(x as i16) } else { i32::from(x as u16) };
    map3(w, op, |a, b, c| {
        let high = f(read(a >> 16), read(b >> 16), read(c >> 16)) as u32;
        f(read(a), read(b), read(c)) as u32 & 0xffff | high << 16
    })
}

/// Minimum or maximum of three numbers in each half, in which a NaN loses.
#[inline(always)]
fn halves_of_floats(w: &mut Wave, op: &Op, f: impl Fn(Rules, u32, u32, u32) -> u32) -> Flow {
    let (m, rules) = (w.mode, Rules::of(w.mode, w.generation));
    let one = |a, b, c| f(rules, in16(m, a), in16(m, b), in16(m, c));
    map3(w, op, |a, b, c| one(a, b, c) | one(a >> 16, b >> 16, c >> 16) << 16)
}

/// Sixteen entries of `BITS` bits from a table of as many, which src0 and src1 hold (src1 the low ones), by the sixteen
/// numbers of four bits in src2.
fn look_up<const BITS: u32>(w: &mut Wave, op: &Op) -> Flow {
    let words = BITS as usize / 2;
    // Six bits: the table's high third comes from one register, the rest from two.
    let low = if BITS == 6 { 2 } else { words / 2 };
    let mut out = [Row::ZERO; 5];
    for lane in 0..64 {
        let word = |k: usize| {
            let (source, k) = if k < low { (1, k) } else { (0, k - low) };
            w.row(op.src[source] + k as u16).0[lane]
        };
        let table: [u32; 4] = std::array::from_fn(|k| if k < words { word(k) } else { 0 });
        for k in 0..16 {
            let index = w.row(op.src[2] + k as u16 / 8).0[lane] >> (4 * (k % 8)) & 15;
            let entry = u64::from(packed(|i| table[i], BITS, index as usize));
            let at = k * BITS as usize;
            let placed = entry << (at % 32);
            out[at / 32].0[lane] |= placed as u32;
            out[at / 32 + 1].0[lane] |= (placed >> 32) as u32;
        }
    }
    for (k, row) in out.iter().take(words).enumerate() {
        w.write(op.dst + k as u16, row);
    }
    Flow::Next
}

/// Four bytes limited to what four bits hold.
#[inline(always)]
fn nibbles(x: u32, limit: impl Fn(u32) -> u32) -> u32 {
    (0..4).fold(0, |all, k| all | (limit(x >> (8 * k) & 255) & 15) << (4 * k))
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VAddNcU64 => op!(w, o => {
            let clamp = o.flags.contains(OpFlags::CLAMP);
            map2_64(w, o, |a, b| if clamp { a.saturating_add(b) } else { a.wrapping_add(b) })
        }),
        IsaOp::VSubNcU64 => op!(w, o => {
            let clamp = o.flags.contains(OpFlags::CLAMP);
            map2_64(w, o, |a, b| if clamp { a.saturating_sub(b) } else { a.wrapping_sub(b) })
        }),
        IsaOp::VMulU64 => op!(w, o => map2_64(w, o, u64::wrapping_mul)).refuses(CLAMP),
        IsaOp::VMinI64 => op!(w, o => map2_64(w, o, |a, b| (a as i64).min(b as i64) as u64)),
        IsaOp::VMaxI64 => op!(w, o => map2_64(w, o, |a, b| (a as i64).max(b as i64) as u64)),
        IsaOp::VMinU64 => op!(w, o => map2_64(w, o, u64::min)),
        IsaOp::VMaxU64 => op!(w, o => map2_64(w, o, u64::max)),
        IsaOp::VMadU32 => op!(w, o => map3(w, o, |a, b, c| a.wrapping_mul(b).wrapping_add(c))).refuses(CLAMP),
        IsaOp::VMadNcU64U32 => op!(w, o => multiply_add(w, o, |_| !0, |a, b, c| {
            (u64::from(a) * u64::from(b)).overflowing_add(c)
        })),
        IsaOp::VMadNcI64I32 => op!(w, o => {
            let limit = |c| if (c as i64) < 0 { 1 << 63 } else { (1 << 63) - 1 };
            multiply_add(w, o, limit, |a, b, c| {
                let (sum, over) = (i64::from(a as i32) * i64::from(b as i32)).overflowing_add(c as i64);
                (sum as u64, over)
            })
        }),
        IsaOp::VAddMaxI32 => op!(w, o => sum_then(w, o, true, i64::max)),
        IsaOp::VAddMinI32 => op!(w, o => sum_then(w, o, true, i64::min)),
        IsaOp::VAddMaxU32 => op!(w, o => sum_then(w, o, false, i64::max)),
        IsaOp::VAddMinU32 => op!(w, o => sum_then(w, o, false, i64::min)),
        IsaOp::VPkAddMaxI16 => op!(w, o => halves_sum_then(w, o, true, i64::max)),
        IsaOp::VPkAddMinI16 => op!(w, o => halves_sum_then(w, o, true, i64::min)),
        IsaOp::VPkAddMaxU16 => op!(w, o => halves_sum_then(w, o, false, i64::max)),
        IsaOp::VPkAddMinU16 => op!(w, o => halves_sum_then(w, o, false, i64::min)),
        IsaOp::VPkMax3I16 => op!(w, o => halves(w, o, true, |a, b, c| a.max(b).max(c))),
        IsaOp::VPkMin3I16 => op!(w, o => halves(w, o, true, |a, b, c| a.min(b).min(c))),
        IsaOp::VPkMax3U16 => op!(w, o => halves(w, o, false, |a, b, c| a.max(b).max(c))),
        IsaOp::VPkMin3U16 => op!(w, o => halves(w, o, false, |a, b, c| a.min(b).min(c))),
        IsaOp::VPkMin3NumF16 => op!(w, o => halves_of_floats(w, o, minmax::min3_16)),
        IsaOp::VPkMax3NumF16 => op!(w, o => halves_of_floats(w, o, minmax::max3_16)),
        IsaOp::VPermPk16B4U4 => op!(scalar w, o => look_up::<4>(w, o)),
        IsaOp::VPermPk16B6U4 => op!(scalar w, o => look_up::<6>(w, o)),
        IsaOp::VPermPk16B8U4 => op!(scalar w, o => look_up::<8>(w, o)),
        IsaOp::VSatPk4I4I8 => {
            op!(scalar w, o => map1(w, o, |x| nibbles(x, |b| (b as i8).clamp(-8, 7) as u32))).keep_high()
        }
        IsaOp::VSatPk4U4U8 => op!(scalar w, o => map1(w, o, |x| nibbles(x, |b| b.min(15)))).keep_high(),
        _ => return None,
    })
}
