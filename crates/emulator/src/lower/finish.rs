//! Micro-ops after a vector operation: output modifiers, and results that replace a part of their destination.

use crate::lanes::fill1;
use crate::op::{Flow, Kernel, Op};
use crate::wave::{Row, Wave};

/// The type that output modifiers apply to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FloatType {
    F16,
    F32,
    F64,
    PackedF16,
    PackedF32,
}

/// The type of an operation's result if it is a floating-point one, from its name: the first type in it.
pub(super) fn result_type(base: &str) -> Option<FloatType> {
    let packed = base.starts_with("v_pk_");
    let first = base.split('_').find(|part| {
        let mut bytes = part.bytes();
        matches!(bytes.next(), Some(b'f' | b'i' | b'u' | b'b')) && {
            let rest = &part[1..];
            !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
        }
    })?;
    Some(match (first, packed) {
        ("f16", false) => FloatType::F16,
        ("f16", true) => FloatType::PackedF16,
        ("f32", false) => FloatType::F32,
        ("f32", true) => FloatType::PackedF32,
        ("f64", _) => FloatType::F64,
        _ => return None,
    })
}

fn scale(omod: u32) -> f64 {
    [1.0, 2.0, 4.0, 0.5][omod as usize & 3]
}

#[inline(always)]
fn clamp32(v: f32, nan_to_zero: bool) -> f32 {
    if v.is_nan() {
        if nan_to_zero { 0.0 } else { v }
    } else if v > 0.0 {
        v.min(1.0)
    } else {
        0.0
    }
}

/// dst = src0 with omod (imm [1:0]) and clamp (imm bit 2), f32.
pub(super) struct Modify32;
impl Kernel for Modify32 {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let (by, clamp, dx10) = (scale(op.imm as u32) as f32, op.imm & 4 != 0, w.mode.dx10_clamp());
        let scaled = op.imm & 3 != 0;
        let mut out = Row::ZERO;
        fill1(&mut out, w.row(op.src[0]), |v| {
            let v = if scaled { f32::from_bits(v) * by } else { f32::from_bits(v) };
            (if clamp { clamp32(v, dx10) } else { v }).to_bits()
        });
        w.write(op.dst, &out);
        Flow::Next
    }
}

/// As [`Modify32`], f64 in a row pair.
pub(super) struct Modify64;
impl Kernel for Modify64 {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let (by, clamp, dx10) = (scale(op.imm as u32), op.imm & 4 != 0, w.mode.dx10_clamp());
        let scaled = op.imm & 3 != 0;
        crate::lanes::write64(w, op.dst, |w, i| {
            let v = f64::from_bits(crate::lanes::lane64(w.pair(op.src[0]), i));
            let v = if scaled { v * by } else { v };
            let v = match clamp {
                false => v,
                true if v.is_nan() => {
                    if dx10 {
                        0.0
                    } else {
                        v
                    }
                }
                true if v > 0.0 => v.min(1.0),
                true => 0.0,
            };
            v.to_bits()
        });
        Flow::Next
    }
}

/// The half `h` with omod and clamp. Scaling by a power of two is done on the fields.
#[inline(always)]
fn modify_half(h: u32, omod: u32, clamp: bool, dx10: bool) -> u32 {
    let (sign, magnitude) = (h & 0x8000, h & 0x7fff);
    let mut m = magnitude;
    if omod != 0 && magnitude < 0x7c00 {
        let up = match omod {
            1 => 1,
            2 => 2,
            _ => -1i32,
        };
        for _ in 0..up {
            // Doubling: a denormal shifts, a normal counts its exponent up.
            m = if m < 0x400 { m << 1 } else { (m + 0x400).min(0x7c00) };
        }
        if up < 0 {
            // Halving: into and within the denormals with rounding to nearest even.
            m = if m >= 0x800 { m - 0x400 } else { (m >> 1) + (m & 1 & (m >> 1)) };
        }
    }
    if !clamp {
        return sign | m;
    }
    if m > 0x7c00 {
        return if dx10 { 0 } else { sign | m };
    }
    if sign != 0 { 0 } else { m.min(0x3c00) }
}

/// As [`Modify32`], f16; imm bit 3: both halves.
pub(super) struct Modify16;
impl Kernel for Modify16 {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let (omod, clamp, dx10) = (op.imm as u32 & 3, op.imm & 4 != 0, w.mode.dx10_clamp());
        let both = op.imm & 8 != 0;
        let mut out = Row::ZERO;
        fill1(&mut out, w.row(op.src[0]), |v| {
            let lo = modify_half(v & 0xffff, omod, clamp, dx10);
            let hi = if both { modify_half(v >> 16, omod, clamp, dx10) } else { v >> 16 };
            lo | hi << 16
        });
        w.write(op.dst, &out);
        Flow::Next
    }
}

/// dst's bits of imm2 = src0 shifted left by imm; bit 32 of imm2: the bits above are filled with the field's sign,
/// bit 33: with zero, as are those below; else the other bits keep their value.
pub(super) struct Merge;
impl Kernel for Merge {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let (shift, mask) = (op.imm as u32 & 31, op.imm2 as u32);
        let (sign, zero) = (op.imm2 >> 32 & 1 != 0, op.imm2 >> 33 & 1 != 0);
        let top = 31 - mask.leading_zeros();
        let mut out = Row::ZERO;
        crate::lanes::fill2(&mut out, w.row(op.src[0]), w.row(op.dst), |value, old| {
            let field = (value << shift) & mask;
            let above = if field >> top & 1 != 0 { !((2u64 << top) - 1) as u32 } else { 0 };
            if zero {
                field
            } else if sign {
                field | above
            } else {
                field | old & !mask
            }
        });
        w.write(op.dst, &out);
        Flow::Next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_types_come_from_names() {
        assert_eq!(result_type("v_add_f32"), Some(FloatType::F32));
        assert_eq!(result_type("v_cvt_f32_f16"), Some(FloatType::F32));
        assert_eq!(result_type("v_cvt_i32_f32"), None);
        assert_eq!(result_type("v_pk_fma_f16"), Some(FloatType::PackedF16));
        assert_eq!(result_type("v_add_u32"), None);
        assert_eq!(result_type("v_fma_f64"), Some(FloatType::F64));
    }

    #[test]
    fn halves_scale_and_clamp() {
        assert_eq!(modify_half(0x3c00, 1, false, true), 0x4000);
        assert_eq!(modify_half(0x3c00, 2, false, true), 0x4400);
        assert_eq!(modify_half(0x3c00, 3, false, true), 0x3800);
        assert_eq!(modify_half(0x0001, 1, false, true), 0x0002);
        assert_eq!(modify_half(0x0400, 3, false, true), 0x0200);
        assert_eq!(modify_half(0x4000, 0, true, true), 0x3c00);
        assert_eq!(modify_half(0xbc00, 0, true, true), 0);
        assert_eq!(modify_half(0x7e00, 0, true, true), 0);
    }
}
