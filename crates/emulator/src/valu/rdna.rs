//! Operations that RDNA has and gfx9 has not.

use luthier_isa::op::Op as IsaOp;

use super::minmax::{minmax3, minmax3_16};
use super::op;
use super::shapes::{float16, fma_f16};
use crate::error::FaultKind;
use crate::fp::{self, minmax, soft};
use crate::lanes::{map1, map2, map3};
use crate::mode::Mode;
use crate::op::{Flow, Handler, Op};
use crate::registers::{Row, scalar};
use crate::registry::ValuOp;
use crate::wave::Wave;

use luthier_isa::Generation;

/// DX9 rules: zero times anything is zero, and adds nothing. On RDNA4 it is a positive zero that is added, and denormals
/// are zeros whatever MODE says (bjacob/goc's captures on gfx1201, with all modifiers and MODEs).
fn fma_legacy(rdna4: bool, m: Mode, a: u32, b: u32, c: u32) -> u32 {
    let m = if rdna4 { Mode(m.0 & !0x30) } else { m };
    let zero = |x: u32| fp::in32(m, x) << 1 == 0;
    match zero(a) || zero(b) {
        true if rdna4 => soft::add32(m, 0, c),
        true => fp::out32(m, fp::in32(m, c)),
        false => soft::fma32(m, a, b, c),
    }
}

/// Whether the wave's processor is one whose results on gfx1201 count for.
fn as_rdna4(w: &Wave) -> bool {
    matches!(w.generation, Generation::Gfx12 | Generation::Gfx1250)
}

/// The lighting instruction: the product, unless the second or third source says that there is no light. On RDNA4 a factor of
/// zero makes it zero (bjacob/goc's captures on gfx1201).
fn mullit(rdna4: bool, m: Mode, a: u32, b: u32, c: u32) -> u32 {
    let (y, z) = (f32::from_bits(fp::in32(m, b)), f32::from_bits(fp::in32(m, c)));
    if y == -f32::MAX || y == f32::NEG_INFINITY || y.is_nan() || z <= 0.0 || z.is_nan() {
        (-f32::MAX).to_bits()
    } else if rdna4 && (fp::in32(m, a) << 1 == 0 || y == 0.0) {
        0
    } else {
        soft::mul32(m, a, b)
    }
}

/// The row of a VGPR that M0 leads to from the row `base`, if there is such a register. A source of another kind has a row
/// behind theirs.
fn indexed(w: &Wave, base: u16, by: u32) -> Option<u16> {
    if by == 0 {
        return Some(base);
    }
    u16::try_from(u32::from(base).checked_add(by)?).ok().filter(|&row| row < w.vgprs)
}

fn out_of_reach(w: &mut Wave, m0: u32) -> Flow {
    w.fault(FaultKind::Unsupported, format!("m0 ({m0:#x}) leads past the last VGPR"))
}

/// Two VGPRs that M0 chooses change places.
fn swapped(w: &mut Wave, op: &Op) -> Flow {
    let m0 = w.s[usize::from(scalar::M0)];
    let (Some(a), Some(b)) = (indexed(w, op.src[2], low_index(m0)), indexed(w, op.dst, high_index(m0))) else {
        return out_of_reach(w, m0);
    };
    let (value, old) = (*w.row(a), *w.row(b));
    w.write(b, &value);
    w.write(a, &old);
    Flow::Next
}

/// The steps of a move whose source is permuted or selected on the way: the register that M0 leads to into a row, and a
/// row into the register that M0 leads to.
pub fn steps(op: IsaOp) -> Option<(Handler, Handler)> {
    macro_rules! of {
        ($from:expr, $to:expr) => {{
            fn fetch(w: &mut Wave, op: &Op) -> Flow {
                let m0 = w.s[usize::from(scalar::M0)];
                let Some(source) = indexed(w, op.src[0], $from(m0)) else { return out_of_reach(w, m0) };
                *w.row_mut(op.dst) = *w.row(source);
                Flow::Next
            }
            fn store(w: &mut Wave, op: &Op) -> Flow {
                let m0 = w.s[usize::from(scalar::M0)];
                let Some(target) = indexed(w, op.dst, $to(m0)) else { return out_of_reach(w, m0) };
                let value = *w.row(op.src[0]);
                w.write(target, &value);
                Flow::Next
            }
            (fetch as Handler, store as Handler)
        }};
    }
    Some(match op {
        IsaOp::VMovrelsB32 => of!(all_of, none_of),
        IsaOp::VMovreldB32 => of!(none_of, all_of),
        IsaOp::VMovrelsdB32 => of!(all_of, all_of),
        IsaOp::VMovrelsd2B32 => of!(low_index, high_index),
        _ => return None,
    })
}

fn all_of(m0: u32) -> u32 {
    m0
}
fn none_of(_m0: u32) -> u32 {
    0
}
fn low_index(m0: u32) -> u32 {
    m0 & 0x3ff
}
fn high_index(m0: u32) -> u32 {
    m0 >> 16 & 0x3ff
}

/// Halves of two registers change places; imm says of each whether it is the upper one.
fn swap16(w: &mut Wave, op: &Op) -> Flow {
    let (a, b) = (*w.row(op.dst), *w.row(op.src[2]));
    let shifts = [16 * (op.imm & 1) as u32, 16 * (op.imm >> 1 & 1) as u32];
    let with = |old: &Row, shift: u32, other: &Row, from: u32| {
        Row(std::array::from_fn(|i| old.0[i] & !(0xffff << shift) | (other.0[i] >> from & 0xffff) << shift))
    };
    if op.dst == op.src[2] {
        let both = if shifts[0] == shifts[1] { a } else { Row(a.0.map(|x| x.rotate_left(16))) };
        w.write(op.dst, &both);
        return Flow::Next;
    }
    let (new_a, new_b) = (with(&a, shifts[0], &b, shifts[1]), with(&b, shifts[1], &a, shifts[0]));
    w.write(op.dst, &new_a);
    w.write(op.src[2], &new_b);
    Flow::Next
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VXor3B32 => op!(w, o => map3(w, o, |a, b, c| a ^ b ^ c)),
        IsaOp::VAndB16 => op!(w, o => map2(w, o, |a, b| a & b & 0xffff)).keep_high(),
        IsaOp::VOrB16 => op!(w, o => map2(w, o, |a, b| (a | b) & 0xffff)).keep_high(),
        IsaOp::VXorB16 => op!(w, o => map2(w, o, |a, b| (a ^ b) & 0xffff)).keep_high(),
        IsaOp::VNotB16 => op!(w, o => map1(w, o, |a| !a & 0xffff)).keep_high(),
        IsaOp::VMovB16 => op!(w, o => map1(w, o, |a| a & 0xffff)).keep_high(),
        IsaOp::VCvtI32I16 => op!(w, o => map1(w, o, |a| a as i16 as u32)),
        IsaOp::VCvtU32U16 => op!(w, o => map1(w, o, |a| a & 0xffff)),
        IsaOp::VMinmaxI32 => op!(w, o => map3(w, o, |a, b, c| (a as i32).min(b as i32).max(c as i32) as u32)),
        IsaOp::VMaxminI32 => op!(w, o => map3(w, o, |a, b, c| (a as i32).max(b as i32).min(c as i32) as u32)),
        IsaOp::VMinmaxU32 => op!(w, o => map3(w, o, |a, b, c| a.min(b).max(c))),
        IsaOp::VMaxminU32 => op!(w, o => map3(w, o, |a, b, c| a.max(b).min(c))),
        IsaOp::VMinmaxF32 => minmax3!(|e, a, b, c| minmax::max32(e, minmax::min32(e, a, b), c)),
        IsaOp::VMaxminF32 => minmax3!(|e, a, b, c| minmax::min32(e, minmax::max32(e, a, b), c)),
        IsaOp::VMinmaxF16 => minmax3_16!(|e, a, b, c| minmax::max16(e, minmax::min16(e, a, b), c)),
        IsaOp::VMaxminF16 => minmax3_16!(|e, a, b, c| minmax::min16(e, minmax::max16(e, a, b), c)),
        IsaOp::VFmaLegacyF32 => {
            op!(w, o => { let (r, m) = (as_rdna4(w), w.mode); map3(w, o, |a, b, c| fma_legacy(r, m, a, b, c)) })
        }
        IsaOp::VFmacLegacyF32 => {
            op!(w, o => { let (r, m) = (as_rdna4(w), w.mode); map3(w, o, |a, b, c| fma_legacy(r, m, a, b, c)) })
                .accumulates()
        }
        IsaOp::VMullitF32 => {
            op!(w, o => { let (r, m) = (as_rdna4(w), w.mode); map3(w, o, |a, b, c| mullit(r, m, a, b, c)) })
        }
        IsaOp::VFmacF16 => op!(w, o => float16(w, o, fma_f16, soft::fma16)).accumulates().keep_high(),
        IsaOp::VFmaakF16 | IsaOp::VFmamkF16 => op!(w, o => float16(w, o, fma_f16, soft::fma16)).keep_high(),
        IsaOp::VCvtPkI16F32 => op!(w, o => map2(w, o, |a, b| {
            let half = |x: u32| f32::from_bits(x) as i16 as u16 as u32;
            half(a) | half(b) << 16
        })),
        IsaOp::VCvtPkU16F32 => op!(w, o => map2(w, o, |a, b| {
            let half = |x: u32| u32::from(f32::from_bits(x) as u16);
            half(a) | half(b) << 16
        })),
        // In steps, whose handlers the lowering takes from `steps`.
        IsaOp::VMovrelsB32 | IsaOp::VMovreldB32 | IsaOp::VMovrelsdB32 | IsaOp::VMovrelsd2B32 => {
            op!(scalar w, o => w.fault(FaultKind::Unsupported, format!("a move into row {} in one step", o.dst)))
        }
        IsaOp::VSwaprelB32 => op!(scalar w, o => swapped(w, o)),
        IsaOp::VSwapB16 => op!(scalar w, o => swap16(w, o)).raw_mods().places_halves(),
        IsaOp::VPipeflush => op!(scalar _w, _o => Flow::Next),
        _ => return None,
    })
}
