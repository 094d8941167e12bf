//! Conversions of several numbers at a time: each number makes bits of its own of the result, so that one that is undefined
//! leaves the others defined. Which bits of its register such an instruction leaves alone is told here as well.

use luthier_isa::{Field, Flags, Inst, Operand};

use super::checked::Checked;
use super::shadow::Shadow;
use super::terms::Source;
use crate::fp::small::packed;
use crate::masks::lanes;
use crate::valu::scaled::{self, Scaled};

/// Which of the sources' bits make each bit of the result: number `n`, from bit `n * to` of the result on, is
/// number `n / turns` of source `first + n % turns`. All other sources count for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elements {
    pub count: u8,
    /// Bits of a number before and after.
    pub from: u8,
    pub to: u8,
    pub first: u8,
    pub turns: u8,
    /// The second source is a scale that another lane may hold: `scale_sel`.
    pub select: Option<u8>,
}

/// `count` numbers of `bits` bits, in this many sources.
const fn numbers(count: u8, from: u8, to: u8, turns: u8) -> Elements {
    Elements { count, from, to, first: 0, turns, select: None }
}

/// The packed conversions but those that share a scale, whose names say it all ([`Scaled`]).
const SHAPES: [(&[&str], Elements); 9] = [
    (
        &[
            "v_cvt_pk_f16_f32",
            "v_cvt_pk_bf16_f32",
            "v_cvt_pk_i16_f32",
            "v_cvt_pk_u16_f32",
            "v_cvt_pk_i16_i32",
            "v_cvt_pk_u16_u32",
            "v_cvt_pknorm_i16_f32",
            "v_cvt_pknorm_u16_f32",
            "v_cvt_pkrtz_f16_f32",
            "v_cvt_sr_pk_f16_f32",
            "v_cvt_sr_pk_bf16_f32",
        ],
        numbers(2, 32, 16, 2),
    ),
    (&["v_cvt_pknorm_i16_f16", "v_cvt_pknorm_u16_f16", "v_pack_b32_f16"], numbers(2, 16, 16, 2)),
    (&["v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32"], numbers(2, 32, 8, 2)),
    (&["v_cvt_pk_fp8_f16", "v_cvt_pk_bf8_f16", "v_sat_pk_u8_i16"], numbers(2, 16, 8, 1)),
    (&["v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8"], numbers(2, 8, 32, 1)),
    (&["v_cvt_pk_f16_fp8", "v_cvt_pk_f16_bf8"], numbers(2, 8, 16, 1)),
    (&["v_sat_pk4_i4_i8", "v_sat_pk4_u4_u8"], numbers(4, 8, 4, 1)),
    // Numbers that choose from a table.
    (&["v_perm_pk16_b4_u4"], Elements { first: 2, ..numbers(16, 4, 4, 1) }),
    (&["v_perm_pk16_b8_u4"], Elements { first: 2, ..numbers(16, 4, 8, 1) }),
];
const SIX_BITS: Elements = Elements { first: 2, ..numbers(16, 4, 6, 1) };

/// One number, which goes into a part of the register.
const SINGLE: [(&str, u32); 6] = [
    ("v_cvt_sr_fp8_f32", 8),
    ("v_cvt_sr_bf8_f32", 8),
    ("v_cvt_sr_fp8_f16", 8),
    ("v_cvt_sr_bf8_f16", 8),
    ("v_cvt_sr_f16_f32", 16),
    ("v_cvt_sr_bf16_f32", 16),
];

impl From<Scaled> for Elements {
    fn from(scaled: Scaled) -> Elements {
        let (small, wide) = (scaled.small_bits() as u8, scaled.wide_bits() as u8);
        let (from, to) = if scaled.narrows { (wide, small) } else { (small, wide) };
        numbers(scaled.count as u8, from, to, scaled.sources() as u8)
    }
}

impl Elements {
    pub fn of(inst: &Inst, base: &str) -> Option<Elements> {
        if let Some(scaled) = Scaled::of(inst.info().op()) {
            let select = scaled.selects.then(|| inst.field(Field::OpSel).unwrap_or(0) as u8);
            return Some(Elements { select, ..scaled.into() });
        }
        if base == "v_perm_pk16_b6_u4" {
            return Some(SIX_BITS);
        }
        SHAPES.iter().find(|(names, _)| names.contains(&base)).map(|&(_, elements)| elements)
    }

    fn sources(&self) -> std::ops::Range<usize> {
        usize::from(self.first)..usize::from(self.first + self.turns)
    }

    /// The bits that the numbers fill of each of their sources.
    fn filled(&self) -> u32 {
        u32::from(self.count) * u32::from(self.from) / u32::from(self.turns)
    }

    /// Says which bits of its sources a conversion uses, where their types do not.
    pub fn name_used(&self, inst: &Inst, sources: &mut [Source]) {
        if inst.info().flags.contains(Flags::SDWA) {
            return;
        }
        for source in sources.get_mut(self.sources()).into_iter().flatten().filter(|_| self.filled() >= 32) {
            (source.used, source.shift) = (!0, 0);
        }
        let Some(scaled) = Scaled::of(inst.info().op()) else { return };
        if self.filled() < 32
            && !scaled.narrows
            && let Some(source) = sources.first_mut()
        {
            let select = inst.field(Field::OpSel).unwrap_or(0);
            source.shift = if self.filled() == 8 { 8 * (select & 3) as u8 } else { 16 * (select & 1) as u8 };
            source.used = ((1u32 << self.filled()) - 1) << source.shift;
        }
        if let Some(scale) = sources.get_mut(scaled.scale()) {
            // Of an f32 the exponent counts; which byte of the others, the lane says.
            (scale.used, scale.shift) = (if scaled.selects { !0 } else { 0x7f80_0000 }, 0);
        }
    }

    /// The undefined bits of the result; `word` gives those of a word of a source.
    fn undefined(&self, word: impl Fn(usize, usize) -> u32) -> [u32; 32] {
        let mut result = [0; 33];
        for n in 0..usize::from(self.count) {
            let (source, at) = (usize::from(self.first) + n % usize::from(self.turns), n / usize::from(self.turns));
            let bits = match self.from {
                32 => word(source, at),
                from => packed(|k| word(source, k), from.into(), at),
            };
            if bits != 0 {
                let at = n * usize::from(self.to);
                let all = ((1u64 << self.to) - 1) << (at % 32);
                result[at / 32] |= all as u32;
                result[at / 32 + 1] |= (all >> 32) as u32;
            }
        }
        std::array::from_fn(|k| result[k])
    }
}

/// The bits of its register that a conversion writes where it leaves the others alone.
pub(super) fn written(inst: &Inst, base: &str) -> Option<u32> {
    let select = inst.field(Field::OpSel).unwrap_or(0);
    let bits = match Scaled::of(inst.info().op()) {
        Some(scaled) if scaled.narrows => scaled.count as u32 * scaled.small_bits(),
        Some(scaled) => scaled.count as u32 * scaled.wide_bits(),
        None if base == "v_cvt_pkaccum_u8_f32" => {
            // Which byte, the second source says.
            return match inst.operand_in(Field::Src1)? {
                Operand::Inline(code) => Some(0xff << (8 * (crate::registers::inline_constant32(code as u8)? & 3))),
                _ => None,
            };
        }
        None => match SINGLE.iter().find(|(name, _)| *name == base) {
            Some(&(_, bits)) => bits,
            None if matches!(
                base,
                "v_cvt_pk_fp8_f32" | "v_cvt_pk_bf8_f32" | "v_cvt_pk_fp8_f16" | "v_cvt_pk_bf8_f16"
            ) =>
            {
                16
            }
            None => return None,
        },
    };
    match bits {
        8 => Some(0xff << (8 * (select >> 2 & 3))),
        16 => Some(0xffff << (16 * (select >> 3 & 1))),
        _ => None,
    }
}

impl Shadow {
    /// Moves undefinedness through a conversion.
    pub(super) fn convert(&mut self, inst: &Checked, elements: Elements, exec: u64) {
        let Some(&target) = inst.results.first() else { return };
        let moved = self.moved_source(inst, exec);
        let others = || inst.sources.iter().enumerate().filter(|(n, _)| !elements.sources().contains(n));
        let scales: [u32; 64] = match inst.sources.get(1).filter(|_| elements.select.is_some()) {
            Some(scale) => std::array::from_fn(|lane| self.word(scale.place, 0, lane)),
            None => [0; 64],
        };
        for lane in lanes(exec) {
            if let (Some(moved), Some(dpp)) = (&moved, inst.dpp)
                && dpp.keeps(lane, moved[lane].is_some())
            {
                continue;
            }
            let word = |n: usize, k: usize| match (inst.sources.get(n), &moved) {
                (Some(source), Some(moved)) if n == 0 && k < 2 => source.bits(moved[lane].map_or(0, |words| words[k])),
                (Some(source), _) if k < source.place.words().into() => {
                    source.bits(self.word(source.place, k as u8, lane))
                }
                _ => 0,
            };
            let is_unscaled = match elements.select {
                Some(select) => match scaled::selected(select.into(), elements.from.into(), lane) {
                    Some((from, byte)) => scales[from & 63] >> (8 * byte) & 0xff != 0,
                    None => false,
                },
                None => others().any(|(n, source)| (0..source.place.words().into()).any(|k| word(n, k) != 0)),
            };
            let undefined = if is_unscaled { elements.undefined(|_, _| !0) } else { elements.undefined(word) };
            for k in 0..target.words() {
                let mut new = undefined[usize::from(k) % 32];
                if inst.written != !0 {
                    let old = self.word(target, k, lane);
                    new = old & inst.kept | new << inst.written.trailing_zeros() & inst.written;
                }
                self.set(target, k, lane, new);
            }
        }
    }
}
