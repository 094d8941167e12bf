//! Micro-ops after a vector operation: output modifiers, and results that replace a part of their destination.

use luthier_isa::op::Op as IsaOp;

use crate::fp;
use crate::fp::factor::{self, Overflow};
use crate::lanes::fill1;
use crate::mode::{Mode, Round};
use crate::op::{Flow, Kind, Op, Semantics};
use crate::registers::Row;
use crate::wave::Wave;

use luthier_isa::{Generation, Inst};

/// The type that output modifiers apply to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FloatType {
    F16,
    F32,
    F64,
    PackedF16,
    PackedF32,
}

/// The first type in an operation's name, which is its result's: `f32`, `u16`, `bf16`.
pub(super) fn first_type(base: &str) -> Option<&str> {
    base.split('_').find(|part| {
        let digits = part.strip_prefix("bf").or_else(|| part.strip_prefix(['f', 'i', 'u', 'b'])).unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Whether the result is a bf16, or a pair of them.
pub(super) fn makes_bf16(base: &str) -> bool {
    first_type(base) == Some("bf16")
}

/// The type of an operation's result if output modifiers apply to it.
pub(super) fn result_type(base: &str) -> Option<FloatType> {
    let packed = ["v_pk_", "v_cvt_pk", "v_cvt_sr_pk"].iter().any(|start| base.starts_with(start));
    let first = first_type(base)?;
    Some(match (first, packed) {
        ("f16", false) => FloatType::F16,
        ("f16", true) => FloatType::PackedF16,
        ("f32", false) => FloatType::F32,
        ("f32", true) => FloatType::PackedF32,
        ("f64", _) => FloatType::F64,
        _ => return None,
    })
}

/// Whether an operation's result is the transcendental unit's, which rounds to nearest whatever MODE says.
pub(super) fn rounds_to_nearest(base: &str) -> bool {
    let unit = ["v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"];
    unit.iter().any(|start| base.starts_with(start)) && !base.ends_with("_f64")
}

/// Whether clamp and omod change the result. On gfx1201 those of v_cvt_pk_rtz_f16_f32 do not (bjacob/goc's captures).
pub(super) fn takes_modifiers(inst: &Inst, base: &str) -> bool {
    let rdna4 = matches!(inst.info().mode.target().generation(), Generation::Gfx12 | Generation::Gfx1250);
    !(rdna4 && base == IsaOp::VCvtPkrtzF16F32.name())
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

/// The factor that applies: the hardware ignores it where MODE asks for IEEE results or keeps denormal ones (LLVM's
/// SIFoldOperands, and the manuals' chapter on output modifiers); RDNA4 does not ([`factor`]).
fn effective(generation: Generation, omod: u64, mode: Mode, keeps_denormals: bool) -> u32 {
    let always = matches!(generation, Generation::Gfx12 | Generation::Gfx1250);
    if !always && (mode.ieee() || keeps_denormals) { 0 } else { omod as u32 & 3 }
}

/// What too large a result becomes on RDNA; imm bit 4: it is the transcendental unit's.
fn overflow(op: &Op, round: Round, saturate: bool) -> Overflow {
    Overflow { round: if op.imm & 16 != 0 { Round::NearestEven } else { round }, saturate }
}

/// dst = src0 with omod (imm \[1:0\]) and clamp (imm bit 2), f32. RDNA's factors are in [`factor`]. Of gfx9, scaled results
/// lose the sign of a zero, and denormals are flushed behind the factor, not before it: what an operation leaves denormal
/// that keeps them (a conversion of bf16) may be scaled to something else. (The CDNA3 manual: applied, and denormals
/// flushed.)
pub(super) struct Modify32;
impl Semantics for Modify32 {
    const KIND: Kind = Kind::MODIFY32;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let m = w.mode;
        let omod = effective(w.generation, op.imm, m, m.denorm_out32());
        let (clamp, dx10) = (op.imm & 4 != 0, m.dx10_clamp());
        let (rdna, overflow) = (!w.generation.is_gfx9_family(), overflow(op, m.round32(), false));
        let by = (scale(omod) as f32).to_bits();
        let mut out = Row::ZERO;
        fill1(&mut out, w.row(op.src[0]), |v| {
            let v = match omod {
                0 => v,
                _ if rdna => factor::scaled(fp::soft::F32, v.into(), omod, overflow) as u32,
                _ => positive_zero32(fp::soft::mul32(m.reading_denormals(), v, by)),
            };
            let v = f32::from_bits(v);
            (if clamp { clamp32(v, dx10) } else { v }).to_bits()
        });
        w.write(op.dst, &out);
        Flow::Next
    }
}

/// As [`Modify32`], f64 in a row pair.
pub(super) struct Modify64;
impl Semantics for Modify64 {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let m = w.mode;
        let omod = effective(w.generation, op.imm, m, m.denorm_out16_64());
        let (rdna, overflow) = (!w.generation.is_gfx9_family(), overflow(op, m.round16_64(), false));
        let (by, clamp, dx10) = (scale(omod).to_bits(), op.imm & 4 != 0, m.dx10_clamp());
        crate::lanes::write64(w, op.dst, |w, i| {
            let v = crate::lanes::lane64(w.pair(op.src[0]), i);
            let v = match omod {
                0 => v,
                _ if rdna => factor::scaled(fp::soft::F64, v, omod, overflow),
                _ => Some(fp::soft::mul64(m.reading_denormals(), v, by)).filter(|&v| v != fp::SIGN64).unwrap_or(0),
            };
            let v = f64::from_bits(v);
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

fn positive_zero32(x: u32) -> u32 {
    if x == fp::SIGN32 { 0 } else { x }
}

/// The half `h` with omod and clamp; `rdna`: as RDNA has it.
#[inline(always)]
fn modify_half(mode: Mode, h: u32, omod: u32, clamp: bool, rdna: Option<Overflow>) -> u32 {
    let dx10 = mode.dx10_clamp();
    let by = [0x3c00, 0x4000, 0x4400, 0x3800][omod as usize & 3];
    let h = match rdna {
        _ if omod == 0 => h,
        Some(overflow) => factor::scaled(fp::soft::F16, h.into(), omod, overflow) as u32,
        None => Some(fp::soft::mul16(mode.reading_denormals(), h, by)).filter(|&h| h != 0x8000).unwrap_or(0),
    };
    let (sign, m) = (h & 0x8000, h & 0x7fff);
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
impl Semantics for Modify16 {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let m = w.mode;
        let omod = effective(w.generation, op.imm, m, m.denorm_out16_64());
        let rdna = (!w.generation.is_gfx9_family()).then(|| overflow(op, m.round16_64(), m.fp16_ovfl()));
        let clamp = op.imm & 4 != 0;
        let both = op.imm & 8 != 0;
        let mut out = Row::ZERO;
        fill1(&mut out, w.row(op.src[0]), |v| {
            let lo = modify_half(m, v & 0xffff, omod, clamp, rdna);
            let hi = if both { modify_half(m, v >> 16, omod, clamp, rdna) } else { v >> 16 };
            lo | hi << 16
        });
        w.write(op.dst, &out);
        Flow::Next
    }
}

/// dst's bits of imm2 = src0 shifted left by imm; bit 32 of imm2: the bits above are filled with the field's sign,
/// bit 33: with zero, as are those below; else the other bits keep their value.
pub(super) struct Merge;
impl Semantics for Merge {
    const KIND: Kind = Kind::MERGE;
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
        assert_eq!(result_type("v_cvt_pk_bf16_f32"), None);
        assert!(makes_bf16("v_cvt_pk_bf16_f32") && !makes_bf16("v_dot2_f32_bf16"));
    }

    #[test]
    fn halves_scale_and_clamp() {
        let dx10 = Mode(0x100);
        assert_eq!(modify_half(dx10, 0x3c00, 1, false, None), 0x4000);
        assert_eq!(modify_half(dx10, 0x3c00, 2, false, None), 0x4400);
        assert_eq!(modify_half(dx10, 0x3c00, 3, false, None), 0x3800);
        assert_eq!(modify_half(dx10, 0x8400, 3, false, None), 0, "a denormal is flushed, a zero loses its sign");
        assert_eq!(modify_half(dx10, 0x4000, 0, true, None), 0x3c00);
        assert_eq!(modify_half(dx10, 0xbc00, 0, true, None), 0);
        assert_eq!(modify_half(dx10, 0x7e00, 0, true, None), 0);
        assert_eq!(modify_half(Mode(0), 0x7e00, 0, true, None), 0x7e00);
    }

    #[test]
    fn factors_are_ignored_for_ieee_results_and_kept_denormals() {
        assert_eq!(effective(Generation::Gfx9, 1, Mode(0), false), 1);
        assert_eq!(effective(Generation::Gfx9, 1, Mode(0), true), 0);
        assert_eq!(effective(Generation::Gfx9, 1, Mode(0x200), false), 0);
        assert_eq!(effective(Generation::Gfx12, 1, Mode(0x2f0), true), 1);
    }
}
