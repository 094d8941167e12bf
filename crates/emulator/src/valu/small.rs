//! Conversions to and from formats of 4, 6 and 8 bits ([`crate::fp::small`]); those of blocks that share a scale are
//! [`super::scaled`]'s.
//!
//! MODE decides only whether numbers that are too large saturate, those that come from f16 as well (AMD's manuals say of
//! FP16_OVFL that it is for all conversions to eight bits; of rocjitsu's models those from f16 ignore it). Denormals are
//! kept on both sides. On gfx1250 the clamp bit of conversions from and to fp8 stands for E5M3. A packed conversion with
//! stochastic rounding takes the next number of the generator for the second half, as the CDNA4 manual's pseudocode does
//! wherever several numbers are converted; rocjitsu does so for these.

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::error::FaultKind;
use crate::fp::small::{BF8, BF8_FNUZ, BF16, E5M3, F16, FP8, FP8_FNUZ, Rounding, Small, next_random};
use crate::fp::soft::{self, Format};
use crate::lanes::{map1, map3};
use crate::masks::lanes;
use crate::op::{Flow, Op, OpFlags, RawMods};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

use luthier_isa::Generation;

/// The eight-bit format of this processor, or that which the instruction asks for.
fn format8(op: &Op, bf8: bool) -> Small {
    match (bf8, op.flags.contains(OpFlags::FNUZ)) {
        (false, _) if op.flags.contains(OpFlags::E5M3) => E5M3,
        (false, false) => FP8,
        (false, true) => FP8_FNUZ,
        (true, false) => BF8,
        (true, true) => BF8_FNUZ,
    }
}

fn widen8(w: &mut Wave, op: &Op, bf8: bool) -> Flow {
    let format = format8(op, bf8);
    map1(w, op, |x| format.to_f32(x & 255).to_bits())
}

/// A byte to f16; every number of eight bits but the largest of E5M3, which does not come here, is one.
fn widen_half(w: &mut Wave, op: &Op, bf8: bool) -> Flow {
    let format = format8(op, bf8);
    map1(w, op, |x| format.widen(x & 255, soft::F16, Some(0)) as u32)
}

/// Two bytes to two halves of a word.
fn widen_halves(w: &mut Wave, op: &Op, bf8: bool) -> Flow {
    let format = format8(op, bf8);
    let half = |x: u32| format.widen(x & 255, soft::F16, Some(0)) as u32;
    map1(w, op, |x| half(x) | half(x >> 8) << 16)
}

/// Two bytes to two words.
fn widen_pair(w: &mut Wave, op: &Op, bf8: bool) -> Flow {
    let format = format8(op, bf8);
    let source = *w.row(op.src[0]);
    for k in 0..2 {
        let mut out = Row::ZERO;
        for i in 0..64 {
            out.0[i] = format.to_f32(source.0[i] >> (8 * k) & 255).to_bits();
        }
        w.write(op.dst + k, &out);
    }
    Flow::Next
}

/// An f32 source with its modifiers.
pub(super) fn single(w: &Wave, op: &Op, k: usize, lane: usize) -> u64 {
    let mods = RawMods(op.imm);
    let x = w.row(op.src[k]).0[lane];
    let x = if mods.abs(k as u32) { x & 0x7fff_ffff } else { x };
    u64::from(if mods.neg(k as u32) { x ^ 0x8000_0000 } else { x })
}

/// Replaces `bits` bits of the destination, the `part`th of as many.
pub(super) fn merge(w: &mut Wave, op: &Op, lane: usize, part: u32, bits: u32, value: u32) {
    let (shift, mask) = (part * bits, ((1u64 << bits) - 1) as u32);
    let word = &mut w.row_mut(op.dst).0[lane];
    *word = *word & !(mask << shift) | (value & mask) << shift;
}

/// The byte that OP_SEL's upper two bits, or its lower two, select.
pub(super) fn byte(mods: RawMods, first: u32) -> u32 {
    u32::from(mods.op_sel(first)) | u32::from(mods.op_sel(first + 1)) << 1
}

/// Numbers as codes of a format that may have no sign.
struct Coder {
    to: Small,
    from: Format,
    saturate: bool,
    lost_sign: bool,
    rdna4: bool,
}

impl Coder {
    fn new(w: &Wave, to: Small, from: Format) -> Coder {
        let rdna4 = w.generation == Generation::Gfx12;
        Coder { to, from, saturate: w.mode.fp16_ovfl(), lost_sign: false, rdna4 }
    }
    /// On RDNA4 every NaN becomes the negative one, and FP16_OVFL leaves infinities what they are (bjacob/goc's captures on
    /// gfx1201); elsewhere NaNs keep their sign and infinities saturate, as [`Small::narrow`] has it.
    fn code(&mut self, x: u64, rounding: Rounding) -> u32 {
        let magnitude = x & ((1 << (self.from.exponent + self.from.fraction)) - 1);
        if self.rdna4 && magnitude >= self.from.infinity() {
            let code = self.to.narrow(self.from, x, rounding, Some(0), false);
            return if magnitude > self.from.infinity() { code | 0x80 } else { code };
        }
        self.lost_sign |= self.to.loses_sign(self.from, x);
        self.to.narrow(self.from, x, rounding, Some(0), self.saturate)
    }
    fn flow(self, w: &mut Wave) -> Flow {
        if self.lost_sign {
            let message = "what a negative number becomes in E5M3 is not documented".to_string();
            return w.fault(FaultKind::Unsupported, message);
        }
        Flow::Next
    }
}

fn narrow_pair(w: &mut Wave, op: &Op, bf8: bool) -> Flow {
    let mut coder = Coder::new(w, format8(op, bf8), soft::F32);
    let half = u32::from(RawMods(op.imm).op_sel(3));
    for lane in lanes(w.exec()) {
        let [low, high] = [0, 1].map(|k| coder.code(single(w, op, k, lane), Rounding::NearestEven));
        merge(w, op, lane, half, 16, low | high << 8);
    }
    coder.flow(w)
}

/// Two halves of one source.
fn narrow_halves(w: &mut Wave, op: &Op, bf8: bool) -> Flow {
    let mut coder = Coder::new(w, format8(op, bf8), soft::F16);
    let half = u32::from(RawMods(op.imm).op_sel(3));
    for lane in lanes(w.exec()) {
        let both = w.row(op.src[0]).0[lane];
        let [low, high] = [both & 0xffff, both >> 16].map(|x| coder.code(x.into(), Rounding::NearestEven));
        merge(w, op, lane, half, 16, low | high << 8);
    }
    coder.flow(w)
}

/// An f16 source with its modifiers.
fn half(w: &Wave, op: &Op, lane: usize) -> u64 {
    let mods = RawMods(op.imm);
    let x = w.row(op.src[0]).0[lane] & 0xffff;
    let x = if mods.abs(0) { x & 0x7fff } else { x };
    u64::from(if mods.neg(0) { x ^ 0x8000 } else { x })
}

/// One number, stochastically, into the byte that OP_SEL selects.
fn stochastic8(w: &mut Wave, op: &Op, to: Small, from: Format) -> Flow {
    let mut coder = Coder::new(w, to, from);
    for lane in lanes(w.exec()) {
        let x = if from.exponent == 5 { half(w, op, lane) } else { single(w, op, 0, lane) };
        let code = coder.code(x, Rounding::Stochastic(w.row(op.src[1]).0[lane]));
        merge(w, op, lane, byte(RawMods(op.imm), 2), 8, code);
    }
    coder.flow(w)
}

/// An f32 as 16 bits, stochastically. An infinity stays one.
fn stochastic_half(to: Small, x: u32, random: u32, saturate: bool) -> u32 {
    let code = to.narrow(soft::F32, x.into(), Rounding::Stochastic(random), Some(0), saturate);
    code + u32::from(saturate && x & 0x7fff_ffff == 0x7f80_0000)
}

/// One number, into the half that OP_SEL selects.
fn stochastic16(w: &mut Wave, op: &Op, to: Small) -> Flow {
    let (half, saturate) = (u32::from(RawMods(op.imm).op_sel(3)), w.mode.fp16_ovfl());
    for lane in lanes(w.exec()) {
        let code = stochastic_half(to, single(w, op, 0, lane) as u32, w.row(op.src[1]).0[lane], saturate);
        merge(w, op, lane, half, 16, code);
    }
    Flow::Next
}

/// Two numbers into a word.
fn stochastic_pair(w: &mut Wave, op: &Op, to: Small) -> Flow {
    let saturate = w.mode.fp16_ovfl();
    map3(w, op, |a, b, random| {
        let low = stochastic_half(to, a, random, saturate);
        low | stochastic_half(to, b, next_random(random), saturate) << 16
    })
}

/// The bits of [`RawMods`] that change the sign of source `k`.
pub(super) const fn signs(k: u32) -> u64 {
    1 << k | 8 << k
}

/// Clamp and omod in [`RawMods`].
const OUTPUT: u64 = 7 << 13;

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VCvtF32Fp8 => op!(scalar w, o => widen8(w, o, false)),
        IsaOp::VCvtF32Bf8 => op!(scalar w, o => widen8(w, o, true)),
        IsaOp::VCvtPkF32Fp8 => op!(scalar w, o => widen_pair(w, o, false)),
        IsaOp::VCvtPkF32Bf8 => op!(scalar w, o => widen_pair(w, o, true)),
        IsaOp::VCvtF16Fp8 => op!(scalar w, o => widen_half(w, o, false)).refuses(OUTPUT),
        IsaOp::VCvtF16Bf8 => op!(scalar w, o => widen_half(w, o, true)).refuses(OUTPUT),
        IsaOp::VCvtPkF16Fp8 => op!(scalar w, o => widen_halves(w, o, false)).refuses(OUTPUT),
        IsaOp::VCvtPkF16Bf8 => op!(scalar w, o => widen_halves(w, o, true)).refuses(OUTPUT),
        IsaOp::VCvtPkFp8F32 => op!(scalar w, o => narrow_pair(w, o, false)).raw_mods().merges(),
        IsaOp::VCvtPkBf8F32 => op!(scalar w, o => narrow_pair(w, o, true)).raw_mods().merges(),
        IsaOp::VCvtPkFp8F16 => op!(scalar w, o => narrow_halves(w, o, false)).raw_mods().merges().refuses(signs(0)),
        IsaOp::VCvtPkBf8F16 => {
            op!(scalar w, o => narrow_halves(w, o, true)).raw_mods().merges().refuses(signs(0) | OUTPUT)
        }
        IsaOp::VCvtSrFp8F32 => {
            op!(scalar w, o => stochastic8(w, o, format8(o, false), soft::F32)).raw_mods().merges().refuses(signs(1))
        }
        IsaOp::VCvtSrBf8F32 => {
            op!(scalar w, o => stochastic8(w, o, format8(o, true), soft::F32)).raw_mods().merges().refuses(signs(1))
        }
        IsaOp::VCvtSrFp8F16 => {
            op!(scalar w, o => stochastic8(w, o, FP8, soft::F16)).raw_mods().merges().refuses(signs(1) | OUTPUT)
        }
        IsaOp::VCvtSrBf8F16 => {
            op!(scalar w, o => stochastic8(w, o, BF8, soft::F16)).raw_mods().merges().refuses(signs(1) | OUTPUT)
        }
        IsaOp::VCvtSrF16F32 => op!(scalar w, o => stochastic16(w, o, F16)).raw_mods().merges().refuses(signs(1)),
        IsaOp::VCvtSrBf16F32 => op!(scalar w, o => stochastic16(w, o, BF16)).raw_mods().merges().refuses(signs(1)),
        IsaOp::VCvtSrPkF16F32 => op!(scalar w, o => stochastic_pair(w, o, F16)).refuses(signs(2)),
        IsaOp::VCvtSrPkBf16F32 => op!(scalar w, o => stochastic_pair(w, o, BF16)).refuses(signs(2)),
        IsaOp::VPrngB32 => op!(w, o => map1(w, o, next_random)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::valu::run_alone as run;

    #[test]
    fn a_pair_goes_into_the_half_that_is_asked_for() {
        let op = Op { dst: 4, src: [0, 1, 0], imm: 1 << 9 | 1 << 1, ..Op::NOTHING };
        let set = |w: &mut Wave| {
            w.rows[0] = Row([1.0f32.to_bits(); 64]);
            w.rows[1] = Row([2.0f32.to_bits(); 64]);
            w.rows[4] = Row([0x1234_5678; 64]);
        };
        assert_eq!(run("v_cvt_pk_fp8_f32", op, set).rows[4].0[7], 0xc038_5678, "the second is negated");
        let fnuz = Op { flags: OpFlags::FNUZ, ..op };
        assert_eq!(run("v_cvt_pk_fp8_f32", fnuz, set).rows[4].0[7], 0xc840_5678);
    }
}
