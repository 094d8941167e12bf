//! Conversions to and from formats of 4, 6 and 8 bits ([`crate::fp::small`]).
//!
//! Those of CDNA4 (`v_cvt_scalef32_*`) multiply or divide by a power of two that a block of numbers shares: the exponent
//! of an f32 source. A name says everything else: `v_cvt_scalef32_[sr_][pk_|pk32_|2xpk16_]TO_FROM`. MODE decides
//! only whether numbers that are too large saturate; denormals are kept on both sides.

use super::op;
use crate::fp::small::{self, BF6, BF8, BF8_FNUZ, BF16, F16, FP4, FP6, FP8, FP8_FNUZ, Rounding, Small, next_random};
use crate::fp::soft::{self, Format};
use crate::lanes::map1;
use crate::mem::lanes;
use crate::op::{Flow, Op, OpFlags, RawMods};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

/// The eight-bit format of this processor.
fn format8(op: &Op, bf8: bool) -> Small {
    match (bf8, op.flags.contains(OpFlags::FNUZ)) {
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
fn single(w: &Wave, op: &Op, k: usize, lane: usize) -> u64 {
    let mods = RawMods(op.imm);
    let x = w.row(op.src[k]).0[lane];
    let x = if mods.abs(k as u32) { x & 0x7fff_ffff } else { x };
    u64::from(if mods.neg(k as u32) { x ^ 0x8000_0000 } else { x })
}

/// Replaces `bits` bits of the destination, the `part`th of as many.
fn merge(w: &mut Wave, op: &Op, lane: usize, part: u32, bits: u32, value: u32) {
    let (shift, mask) = (part * bits, ((1u64 << bits) - 1) as u32);
    let word = &mut w.row_mut(op.dst).0[lane];
    *word = *word & !(mask << shift) | (value & mask) << shift;
}

/// The byte that OP_SEL's upper two bits, or its lower two, select.
fn byte(mods: RawMods, first: u32) -> u32 {
    u32::from(mods.op_sel(first)) | u32::from(mods.op_sel(first + 1)) << 1
}

fn narrow_pair(w: &mut Wave, op: &Op, bf8: bool) -> Flow {
    let (format, saturate) = (format8(op, bf8), w.mode.fp16_ovfl());
    let half = u32::from(RawMods(op.imm).op_sel(3));
    for lane in lanes(w.exec()) {
        let code = |k| format.from_f32(single(w, op, k, lane) as u32, saturate);
        let both = code(0) | code(1) << 8;
        merge(w, op, lane, half, 16, both);
    }
    Flow::Next
}

/// `v_cvt_sr_*_f32`: one number, stochastically, into the byte or half that OP_SEL selects.
fn stochastic(w: &mut Wave, op: &Op, to: Small) -> Flow {
    let (mods, saturate) = (RawMods(op.imm), w.mode.fp16_ovfl());
    let part = if to.bits() == 8 { byte(mods, 2) } else { u32::from(mods.op_sel(3)) };
    for lane in lanes(w.exec()) {
        let random = Rounding::Stochastic(w.row(op.src[1]).0[lane]);
        let mut code = to.narrow(soft::F32, single(w, op, 0, lane), random, Some(0), saturate);
        if to.bits() == 16 && saturate && single(w, op, 0, lane) & 0x7fff_ffff == 0x7f80_0000 {
            code += 1; // f16 and bf16 have infinities, which stay
        }
        merge(w, op, lane, part, to.bits(), code);
    }
    Flow::Next
}

/// The bits of [`RawMods`] that change the sign of source `k`.
const fn signs(k: u32) -> u64 {
    1 << k | 8 << k
}

/// What a name says, in a micro-op's `imm2`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Scaled {
    small: usize,
    wide: usize,
    narrows: bool,
    stochastic: bool,
    /// 1, 2 or 32.
    count: usize,
    /// 32 numbers come from two sources in turns.
    interleaved: bool,
}

const SMALL: [(&str, Small); 5] = [("fp8", FP8), ("bf8", BF8), ("fp6", FP6), ("bf6", BF6), ("fp4", FP4)];
const WIDE: [(&str, Format); 3] = [("f32", soft::F32), ("f16", soft::F16), ("bf16", soft::BF16)];

impl Scaled {
    fn parse(name: &str) -> Option<Scaled> {
        let (stochastic, rest) = name.strip_prefix("sr_").map_or((false, name), |rest| (true, rest));
        let (shape, types) = match rest.split_once('_')? {
            (shape @ ("pk" | "pk32" | "2xpk16"), types) => (shape, types),
            _ => ("", rest),
        };
        let (to, from) = types.split_once('_')?;
        let narrow = |name| SMALL.iter().position(|(n, _)| *n == name);
        let wide = |name| WIDE.iter().position(|(n, _)| *n == name);
        let narrows = narrow(to).is_some();
        let (small, wide) = if narrows { (narrow(to)?, wide(from)?) } else { (narrow(from)?, wide(to)?) };
        let count = match shape {
            "" => 1,
            "pk" => 2,
            _ => 32,
        };
        Some(Scaled { small, wide, narrows, stochastic, count, interleaved: shape == "2xpk16" })
    }
    fn to_bits(self) -> u64 {
        self.small as u64
            | (self.wide as u64) << 8
            | (self.count as u64) << 16
            | u64::from(self.narrows) << 24
            | u64::from(self.stochastic) << 25
            | u64::from(self.interleaved) << 26
    }
    fn from_bits(bits: u64) -> Scaled {
        let field = |at: u32| (bits >> at & 255) as usize;
        let flag = |at: u32| bits >> at & 1 != 0;
        Scaled {
            small: field(0),
            wide: field(8),
            count: field(16),
            narrows: flag(24),
            stochastic: flag(25),
            interleaved: flag(26),
        }
    }
    /// Modifiers that no manual gives a meaning: those that would change the sign of bits which are no f32 (that of a
    /// scale does not matter), and the choice of a half where OP_SEL already says where the result goes.
    fn refuses(self) -> u64 {
        let singles = self.narrows && self.wide == 0 && (self.count == 1 || (self.count == 2 && !self.stochastic));
        let mut mods = if singles { 0 } else { signs(0) };
        if self.stochastic || self.interleaved {
            mods |= signs(1);
        }
        if self.narrows && self.count == 1 && self.wide != 0 {
            mods |= 1 << 6;
        }
        mods
    }
    /// Which source has the scale.
    fn scale(self) -> usize {
        if self.narrows && (self.stochastic || self.wide == 0) { 2 } else { 1 }
    }
}

/// Number `k` of the wide source.
fn wide_element(w: &Wave, op: &Op, scaled: Scaled, k: usize, lane: usize) -> u64 {
    let row = |source: usize, k: usize| w.row(op.src[source] + k as u16).0[lane];
    if scaled.wide != 0 {
        return u64::from(row(0, k / 2) >> (16 * (k % 2)) & 0xffff);
    }
    match scaled.count {
        _ if scaled.interleaved => row(k % 2, k / 2).into(),
        2 if !scaled.stochastic => single(w, op, k, lane),
        1 => single(w, op, 0, lane),
        _ => row(0, k).into(),
    }
}

fn scaled_narrow(w: &mut Wave, op: &Op, scaled: Scaled) -> Flow {
    let (mods, saturate) = (RawMods(op.imm), w.mode.fp16_ovfl());
    let (to, from) = (SMALL[scaled.small].1, WIDE[scaled.wide].1);
    let mut results = [Row::ZERO; 6];
    for lane in lanes(w.exec()) {
        let scale = small::shared_exponent(w.row(op.src[scaled.scale()]).0[lane] >> 23);
        let mut random = if scaled.stochastic { w.row(op.src[1]).0[lane] } else { 0 };
        let mut words = [0u32; 7];
        for k in 0..scaled.count {
            let rounding = if scaled.stochastic { Rounding::Stochastic(random) } else { Rounding::NearestEven };
            let code = to.narrow(from, wide_element(w, op, scaled, k, lane), rounding, scale, saturate);
            random = next_random(random);
            let at = k * to.bits() as usize;
            let placed = u64::from(code) << (at % 32);
            words[at / 32] |= placed as u32;
            words[at / 32 + 1] |= (placed >> 32) as u32;
        }
        match scaled.count * to.bits() as usize {
            8 => merge(w, op, lane, byte(mods, 2), 8, words[0]),
            16 => merge(w, op, lane, u32::from(mods.op_sel(3)), 16, words[0]),
            _ => (0..6).for_each(|k| results[k].0[lane] = words[k]),
        }
    }
    if scaled.count == 32 {
        for (k, row) in results.iter().enumerate() {
            w.write(op.dst + k as u16, row);
        }
    }
    Flow::Next
}

fn scaled_widen(w: &mut Wave, op: &Op, scaled: Scaled) -> Flow {
    let mods = RawMods(op.imm);
    let (from, to) = (SMALL[scaled.small].1, WIDE[scaled.wide].1);
    let bits = from.bits();
    // The first of the numbers within the source.
    let first = match scaled.count as u32 * bits {
        8 => byte(mods, 0) * (8 / bits),
        16 => u32::from(mods.op_sel(0)) * 2,
        _ => 0,
    } as usize;
    let mut results = [Row::ZERO; 32];
    for lane in lanes(w.exec()) {
        let scale = small::shared_exponent(w.row(op.src[1]).0[lane] >> 23);
        for k in 0..scaled.count {
            let code = small::packed(|i| w.row(op.src[0] + i as u16).0[lane], bits, first + k);
            let mut number = from.widen(code, to, scale) as u32;
            let finite = scale.is_some() && !from.to_f32(code).is_infinite();
            if scaled.wide == 1 && w.mode.fp16_ovfl() && number & 0x7fff == 0x7c00 && finite {
                number -= 1;
            }
            if scaled.wide == 0 {
                results[k].0[lane] = number;
            } else {
                results[k / 2].0[lane] |= number << (16 * (k % 2));
            }
        }
    }
    if scaled.count == 1 && scaled.wide != 0 {
        for lane in lanes(w.exec()) {
            merge(w, op, lane, u32::from(mods.op_sel(3)), 16, results[0].0[lane]);
        }
        return Flow::Next;
    }
    let rows = if scaled.wide == 0 { scaled.count } else { scaled.count.div_ceil(2) };
    for (k, row) in results.iter().take(rows).enumerate() {
        w.write(op.dst + k as u16, row);
    }
    Flow::Next
}

fn scaled(w: &mut Wave, op: &Op) -> Flow {
    let scaled = Scaled::from_bits(op.imm2);
    if scaled.narrows { scaled_narrow(w, op, scaled) } else { scaled_widen(w, op, scaled) }
}

pub fn lookup(base: &str) -> Option<ValuOp> {
    if let Some(name) = base.strip_prefix("v_cvt_scalef32_") {
        let says = Scaled::parse(name)?;
        let op = op!(scalar w, o => scaled(w, o)).raw_mods().merges();
        return Some(op.variant(says.to_bits()).refuses(says.refuses()));
    }
    Some(match base {
        "v_cvt_f32_fp8" => op!(scalar w, o => widen8(w, o, false)),
        "v_cvt_f32_bf8" => op!(scalar w, o => widen8(w, o, true)),
        "v_cvt_pk_f32_fp8" => op!(scalar w, o => widen_pair(w, o, false)),
        "v_cvt_pk_f32_bf8" => op!(scalar w, o => widen_pair(w, o, true)),
        "v_cvt_pk_fp8_f32" => op!(scalar w, o => narrow_pair(w, o, false)).raw_mods().merges(),
        "v_cvt_pk_bf8_f32" => op!(scalar w, o => narrow_pair(w, o, true)).raw_mods().merges(),
        "v_cvt_sr_fp8_f32" => {
            op!(scalar w, o => stochastic(w, o, format8(o, false))).raw_mods().merges().refuses(signs(1))
        }
        "v_cvt_sr_bf8_f32" => {
            op!(scalar w, o => stochastic(w, o, format8(o, true))).raw_mods().merges().refuses(signs(1))
        }
        "v_cvt_sr_f16_f32" => op!(scalar w, o => stochastic(w, o, F16)).raw_mods().merges().refuses(signs(1)),
        "v_cvt_sr_bf16_f32" => op!(scalar w, o => stochastic(w, o, BF16)).raw_mods().merges().refuses(signs(1)),
        "v_prng_b32" => op!(w, o => map1(w, o, next_random)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(base: &str, op: Op, set: impl Fn(&mut Wave)) -> Wave {
        let valu = lookup(base).expect("a conversion");
        let mut wave = Wave::new();
        wave.set_exec(!0);
        set(&mut wave);
        // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
        let flow = unsafe { valu.variants.select()(&mut wave, &Op { imm2: valu.variant, ..op }) };
        assert_eq!(flow, Flow::Next);
        wave
    }

    #[test]
    fn names_say_what_is_converted() {
        let scaled = Scaled::parse("sr_pk32_bf6_bf16").expect("a name");
        assert_eq!((scaled.small, scaled.wide, scaled.count), (3, 2, 32));
        assert!(scaled.narrows && scaled.stochastic && !scaled.interleaved);
        assert_eq!(Scaled::from_bits(scaled.to_bits()), scaled);
        assert!(Scaled::parse("2xpk16_fp6_f32").is_some_and(|s| s.interleaved && s.scale() == 2));
        assert!(Scaled::parse("pk32_f32_fp6").is_some_and(|s| !s.narrows && s.scale() == 1));
        assert!(Scaled::parse("f32_f16").is_none());
    }

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

    #[test]
    fn thirty_two_numbers_fill_six_registers_and_come_back() {
        let scale = 4.0f32.to_bits();
        let narrow = Op { dst: 64, src: [0, 16, 40], ..Op::NOTHING };
        let wave = run("v_cvt_scalef32_2xpk16_fp6_f32", narrow, |w| {
            for k in 0..32 {
                w.rows[k] = Row([(k as f32).to_bits(); 64]);
            }
            w.rows[40] = Row([scale; 64]);
        });
        let packed: Vec<Row> = wave.rows[64..70].to_vec();
        let wide = Op { dst: 0, src: [64, 40, 0], ..Op::NOTHING };
        let wave = run("v_cvt_scalef32_pk32_f32_fp6", wide, |w| {
            w.rows[64..70].copy_from_slice(&packed);
            w.rows[40] = Row([scale; 64]);
        });
        for k in 0..32 {
            let want = FP6.to_f32(FP6.from_f32(((k / 2 + 16 * (k % 2)) as f32 / 4.0).to_bits(), false)) * 4.0;
            assert_eq!(f32::from_bits(wave.rows[k].0[63]), want, "number {k}");
        }
    }
}
