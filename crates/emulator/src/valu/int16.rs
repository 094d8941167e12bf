//! 16-bit integer operations. The high half of a result is zero (or kept, for the forms that GFX9 added).

use luthier_isa::op::Op as IsaOp;

use super::int32::bitop3;
use super::op;
use crate::fp;
use crate::lanes::{map1, map2, map3};
use crate::op::{Flow, Op, OpFlags, RawMods};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

#[inline(always)]
fn clamped2(w: &mut Wave, op: &Op, plain: impl Fn(u16, u16) -> u16, clamp: impl Fn(u16, u16) -> u16) -> Flow {
    if op.flags.contains(OpFlags::CLAMP) {
        map2(w, op, |a, b| clamp(a as u16, b as u16).into())
    } else {
        map2(w, op, |a, b| plain(a as u16, b as u16).into())
    }
}
#[inline(always)]
fn u(w: &mut Wave, op: &Op, f: impl Fn(u16, u16) -> u16) -> Flow {
    map2(w, op, |a, b| f(a as u16, b as u16).into())
}
#[inline(always)]
fn i(w: &mut Wave, op: &Op, f: impl Fn(i16, i16) -> i16) -> Flow {
    map2(w, op, |a, b| (f(a as i16, b as i16) as u16).into())
}
#[inline(always)]
fn u3(w: &mut Wave, op: &Op, f: impl Fn(u16, u16, u16) -> u16) -> Flow {
    map3(w, op, |a, b, c| f(a as u16, b as u16, c as u16).into())
}
#[inline(always)]
fn i3(w: &mut Wave, op: &Op, f: impl Fn(i16, i16, i16) -> i16) -> Flow {
    map3(w, op, |a, b, c| (f(a as i16, b as i16, c as i16) as u16).into())
}
#[inline(always)]
fn med3<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.max(b).min(a.min(b).max(c))
}
#[inline(always)]
fn mad_u16(w: &mut Wave, op: &Op) -> Flow {
    let wide = |a: u32, b: u32, c: u32| u64::from(a & 0xffff) * u64::from(b & 0xffff) + u64::from(c & 0xffff);
    if op.flags.contains(OpFlags::CLAMP) {
        map3(w, op, |a, b, c| wide(a, b, c).min(0xffff) as u32)
    } else {
        map3(w, op, |a, b, c| wide(a, b, c) as u32 & 0xffff)
    }
}
#[inline(always)]
fn mad_i16(w: &mut Wave, op: &Op) -> Flow {
    let wide = |a: u32, b: u32, c: u32| i64::from(a as i16) * i64::from(b as i16) + i64::from(c as i16);
    if op.flags.contains(OpFlags::CLAMP) {
        map3(w, op, |a, b, c| wide(a, b, c).clamp(i16::MIN.into(), i16::MAX.into()) as u32 & 0xffff)
    } else {
        map3(w, op, |a, b, c| wide(a, b, c) as u32 & 0xffff)
    }
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VAddU16 => op!(w, o => clamped2(w, o, u16::wrapping_add, u16::saturating_add)),
        IsaOp::VSubU16 => op!(w, o => clamped2(w, o, u16::wrapping_sub, u16::saturating_sub)),
        IsaOp::VSubrevU16 => op!(w, o => clamped2(w, o, |a, b| b.wrapping_sub(a), |a, b| b.saturating_sub(a))),
        IsaOp::VAddI16 => {
            op!(w, o => clamped2(w, o, u16::wrapping_add, |a, b| (a as i16).saturating_add(b as i16) as u16))
                .keep_high()
        }
        IsaOp::VSubI16 => {
            op!(w, o => clamped2(w, o, u16::wrapping_sub, |a, b| (a as i16).saturating_sub(b as i16) as u16))
                .keep_high()
        }
        IsaOp::VMulLoU16 => op!(w, o => u(w, o, u16::wrapping_mul)),
        IsaOp::VLshlrevB16 => op!(w, o => u(w, o, |a, b| b << (a & 15))),
        IsaOp::VLshrrevB16 => op!(w, o => u(w, o, |a, b| b >> (a & 15))),
        IsaOp::VAshrrevI16 => op!(w, o => i(w, o, |a, b| b >> (a & 15))),
        IsaOp::VMinU16 => op!(w, o => u(w, o, u16::min)),
        IsaOp::VMaxU16 => op!(w, o => u(w, o, u16::max)),
        IsaOp::VMinI16 => op!(w, o => i(w, o, i16::min)),
        IsaOp::VMaxI16 => op!(w, o => i(w, o, i16::max)),
        IsaOp::VMin3U16 => op!(w, o => u3(w, o, |a, b, c| a.min(b).min(c))).keep_high(),
        IsaOp::VMax3U16 => op!(w, o => u3(w, o, |a, b, c| a.max(b).max(c))).keep_high(),
        IsaOp::VMed3U16 => op!(w, o => u3(w, o, med3)).keep_high(),
        IsaOp::VMin3I16 => op!(w, o => i3(w, o, |a, b, c| a.min(b).min(c))).keep_high(),
        IsaOp::VMax3I16 => op!(w, o => i3(w, o, |a, b, c| a.max(b).max(c))).keep_high(),
        IsaOp::VMed3I16 => op!(w, o => i3(w, o, med3)).keep_high(),
        IsaOp::VMadU16 => op!(w, o => mad_u16(w, o)).keep_high(),
        IsaOp::VMadI16 => op!(w, o => mad_i16(w, o)).keep_high(),
        IsaOp::VMadLegacyU16 => op!(w, o => mad_u16(w, o)),
        IsaOp::VMadLegacyI16 => op!(w, o => mad_i16(w, o)),
        // Halves that go through a floating-point unit: LLVM packs only canonical ones with it.
        IsaOp::VPackB32F16 => op!(w, o => {
            let m = w.mode;
            let flushed = |x: u32| fp::out16(m, fp::in16(m, x));
            map2(w, o, |a, b| flushed(a) | flushed(b) << 16)
        }),
        IsaOp::VSatPkU8I16 => op!(w, o => map1(w, o, |a| {
            let byte = |x: u32| (x as i16).clamp(0, 255) as u32;
            byte(a) | byte(a >> 16) << 8
        })),
        IsaOp::VBitop3B16 => op!(w, o => {
            let (table, mods) = (o.imm as u32, RawMods(o.imm >> 32));
            let shift = |k| if mods.op_sel(k) { 16 } else { 0 };
            let (a, b, c) = (shift(0), shift(1), shift(2));
            let (keep, up) = if mods.op_sel(3) { (0xffff, 16) } else { (0xffff_0000, 0) };
            let old = *w.row(o.dst);
            let mut out = Row::ZERO;
            let (x, y, z) = (w.row(o.src[0]), w.row(o.src[1]), w.row(o.src[2]));
            for i in 0..64 {
                let new = bitop3(table, x.0[i] >> a, y.0[i] >> b, z.0[i] >> c) & 0xffff;
                out.0[i] = old.0[i] & keep | new << up;
            }
            w.write(o.dst, &out);
            Flow::Next
        })
        .raw_mods()
        .merges(),
        IsaOp::VAshrPkI8I32 => op!(w, o => shift_pair(w, o, -128, 127)).keep_high(),
        IsaOp::VAshrPkU8I32 => op!(w, o => shift_pair(w, o, 0, 255)).keep_high(),
        _ => return None,
    })
}

/// Two words shifted right, saturated to bytes.
#[inline(always)]
fn shift_pair(w: &mut Wave, op: &Op, least: i32, most: i32) -> Flow {
    let byte = |x: u32, by: u32| (x as i32 >> (by & 31)).clamp(least, most) as u32 & 255;
    map3(w, op, |a, b, c| byte(a, c) | byte(b, c) << 8)
}
