//! Conversions to and from formats of 4, 6 and 8 bits ([`crate::fp::small`]), a block of which shares a power of two.
//!
//! # Names
//!
//! `v_cvt_scalef32_[sr_][pk_|pk8_|pk16_|pk32_|2xpk16_]TO_FROM`: CDNA4's, and gfx1250's narrowing ones, multiply or divide
//! by the exponent of an f32 (its sign and fraction count for nothing: CDNA4's pseudocode, MLIR's ROCDL dialect).
//! `v_cvt_scale_pk8_TO_FROM`, `v_cvt_scale_pk16_TO_FROM`: gfx1250's widening ones, by a byte that is an exponent. MODE
//! decides only whether numbers that are too large saturate; denormals are kept on both sides. With stochastic rounding
//! each number has the next one of the generator (CDNA4's pseudocode; rocjitsu for gfx1250).
//!
//! # Where gfx1250's scales are
//!
//! OP_SEL (`scale_sel`) chooses a byte of a register, which the sixteen lanes of one half of the wave hold for both
//! halves: lane `i` reads lane `i % 16` of the half of bit 0, whatever EXEC says. So do composable_kernel's tests
//! (`pk4scaled_type_convert`, all the values below) and Triton's lowering of `cvt_scale_pk`; MLIR's `getScaleSel` has the
//! same bits in reverse. rocjitsu's reading, a byte of each lane's own, contradicts all three. Other values are refused.
//!
//! | elements of | `scale_sel / 2` | byte of lanes 0-15 | of lanes 16-31 |
//! |---|---|---|---|
//! | 4, 6 bits | 0, 1 | 0, 2 | 1, 3 |
//! | | 2, 3 | 0, 1 | 2, 3 |
//! | 8 bits | 0, 1, 2, 3 | 0, 2, 1, 3 | the same |
//! | | 4, 5 | 0, 2 | 1, 3 |

use luthier_isa::op::Op as IsaOp;

use super::op;
use super::small::{byte, merge, signs, single};
use crate::error::FaultKind;
use crate::fp::small::{self, BF6, BF8, FP4, FP6, FP8, Rounding, Small, next_random};
use crate::fp::soft::{self, Format};
use crate::masks::lanes;
use crate::op::{Flow, Op, RawMods};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

/// What a name says, in a micro-op's `imm2`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scaled {
    small: usize,
    wide: usize,
    pub narrows: bool,
    stochastic: bool,
    /// 1, 2, 8, 16 or 32.
    pub count: usize,
    /// 32 numbers come from two sources in turns.
    interleaved: bool,
    /// The scale is a byte that OP_SEL chooses.
    pub selects: bool,
}

const SMALL: [(&str, Small); 5] = [("fp8", FP8), ("bf8", BF8), ("fp6", FP6), ("bf6", BF6), ("fp4", FP4)];
const WIDE: [(&str, Format); 3] = [("f32", soft::F32), ("f16", soft::F16), ("bf16", soft::BF16)];

impl Scaled {
    /// What an instruction with this name converts, if it is one of these.
    pub fn of(op: IsaOp) -> Option<Scaled> {
        let base = op.name();
        match base.strip_prefix("v_cvt_scalef32_") {
            Some(name) => Scaled::parse(name),
            None => Some(Scaled { selects: true, ..Scaled::parse(base.strip_prefix("v_cvt_scale_")?)? }),
        }
    }
    /// Bits of a number of the small format.
    pub fn small_bits(self) -> u32 {
        SMALL[self.small].1.bits()
    }
    /// Bits of a number of the wide format.
    pub fn wide_bits(self) -> u32 {
        if self.wide == 0 { 32 } else { 16 }
    }
    /// How many sources, the first ones, have numbers, in turns.
    pub fn sources(self) -> usize {
        if self.interleaved || self.narrows && self.wide == 0 && self.count == 2 && !self.stochastic { 2 } else { 1 }
    }
    fn parse(name: &str) -> Option<Scaled> {
        let (stochastic, rest) = name.strip_prefix("sr_").map_or((false, name), |rest| (true, rest));
        let (shape, types) = match rest.split_once('_')? {
            (shape @ ("pk" | "pk8" | "pk16" | "pk32" | "2xpk16"), types) => (shape, types),
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
            "pk8" => 8,
            "pk16" => 16,
            _ => 32,
        };
        Some(Scaled { small, wide, narrows, stochastic, count, interleaved: shape == "2xpk16", selects: false })
    }
    fn to_bits(self) -> u64 {
        self.small as u64
            | (self.wide as u64) << 8
            | (self.count as u64) << 16
            | u64::from(self.narrows) << 24
            | u64::from(self.stochastic) << 25
            | u64::from(self.interleaved) << 26
            | u64::from(self.selects) << 27
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
            selects: flag(27),
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
    pub fn scale(self) -> usize {
        let listed = self.wide == 0 && !matches!(self.count, 8 | 16);
        if self.narrows && (self.stochastic || listed) { 2 } else { 1 }
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
    for (k, row) in results.iter().take(scaled.count * to.bits() as usize / 32).enumerate() {
        w.write(op.dst + k as u16, row);
    }
    Flow::Next
}

/// The lane whose scale a lane reads, and which byte of it.
pub fn selected(select: u64, bits: u32, lane: usize) -> Option<(usize, u32)> {
    let (pair, upper) = ((select >> 1) as u32, lane as u32 / 16);
    let byte = match (bits, pair) {
        (8, 0..=3) => [0, 2, 1, 3][pair as usize],
        (8, 4 | 5) => 2 * (pair - 4) + upper,
        (4 | 6, 0 | 1) => 2 * pair + upper,
        (4 | 6, 2 | 3) => pair - 2 + 2 * upper,
        _ => return None,
    };
    Some((lane % 16 + 16 * (select & 1) as usize, byte))
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
    let select = mods.0 >> 6 & 15;
    if scaled.selects && selected(select, bits, 0).is_none() {
        return w.fault(FaultKind::Unsupported, format!("scale_sel:{select} is not documented for these elements"));
    }
    let mut results = [Row::ZERO; 32];
    for lane in lanes(w.exec()) {
        let biased = match selected(select, bits, lane).filter(|_| scaled.selects) {
            Some((from, byte)) => w.row(op.src[1]).0[from & 63] >> (8 * byte) & 255,
            None => w.row(op.src[1]).0[lane] >> 23,
        };
        let scale = small::shared_exponent(biased);
        for k in 0..scaled.count {
            let code = small::packed(|i| w.row(op.src[0] + i as u16).0[lane], bits, first + k);
            let mut number = from.widen(code, to, scale) as u32;
            let finite = scale.is_some() && !from.to_f32(code).is_infinite();
            let infinity = to.infinity() as u32;
            if scaled.wide != 0 && w.mode.fp16_ovfl() && number & 0x7fff == infinity && finite {
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

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    let says = Scaled::of(op)?;
    let op = op!(scalar w, o => scaled(w, o)).raw_mods().merges();
    Some(op.variant(says.to_bits()).refuses(says.refuses()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::valu::run_alone as run;

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

    /// What composable_kernel's comments say of each value.
    #[test]
    fn scales_lie_where_the_selection_says() {
        let at = |select, bits, lane| selected(select, bits, lane);
        assert_eq!((at(0, 4, 3), at(0, 4, 19)), (Some((3, 0)), Some((3, 1))));
        assert_eq!((at(3, 6, 3), at(3, 6, 19)), (Some((19, 2)), Some((19, 3))));
        assert_eq!((at(6, 4, 0), at(6, 4, 16)), (Some((0, 1)), Some((0, 3))));
        assert_eq!((at(2, 8, 5), at(2, 8, 21)), (Some((5, 2)), Some((5, 2))));
        assert_eq!((at(5, 8, 5), at(5, 8, 21)), (Some((21, 1)), Some((21, 1))));
        assert_eq!((at(11, 8, 0), at(11, 8, 16)), (Some((16, 2)), Some((16, 3))));
        assert!(at(8, 4, 0).is_none() && at(12, 8, 0).is_none());
    }
}
