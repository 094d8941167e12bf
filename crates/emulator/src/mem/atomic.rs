//! Atomic read-modify-write operations, the same for global memory and LDS.

use std::sync::atomic::Ordering::SeqCst;

use crate::fp::flush32;
use crate::fp::half::{bf16_to_f32, f32_to_bf16};
use crate::fp::minmax::{Rules, max32, max64, min32, min64};
use crate::memory::HostPtr;

/// An operation on one 32-bit or 64-bit word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Atomic {
    Swap,
    CmpSwap,
    Add,
    Sub,
    ReverseSub,
    SMin,
    UMin,
    SMax,
    UMax,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    FAdd,
    /// As `FAdd`, but denormal operands and sums are zeros whatever MODE says: CDNA 2's f32 additions in global memory.
    /// (LLVM uses them only where denormals may be ignored, for targets without MemoryAtomicFAddF32DenormalSupport.)
    FAddFlushed,
    FMin,
    FMax,
    FCmpSwap,
    PkAddF16,
    PkAddBf16,
    /// LDS only: old & ~data | data2.
    MaskOr,
    /// LDS only: old >= data ? old - data : old + data2.
    Wrap,
    /// RDNA4's, which order zeros by their signs and quiet NaNs.
    FMinNum,
    FMaxNum,
    /// old - data, or zero if that is negative.
    SubClamp,
    /// old - data, unless that is negative: then it stays.
    CondSub,
    /// LDS only: bit 31 of each half of data says whether its other bits replace the half.
    CondSwap,
}

impl Atomic {
    /// From the end of a buffer, flat or global mnemonic (`add_x2`), with the width in words.
    pub fn from_name(name: &str) -> Option<(Atomic, u8)> {
        if let Some(atomic) = Atomic::from_typed_name(name) {
            return Some(atomic);
        }
        let (name, words) = match name.strip_suffix("_x2") {
            Some(name) => (name, 2),
            None => (name, 1),
        };
        Some(match name {
            "swap" => (Atomic::Swap, words),
            "cmpswap" => (Atomic::CmpSwap, words),
            "add" => (Atomic::Add, words),
            "sub" => (Atomic::Sub, words),
            "smin" => (Atomic::SMin, words),
            "umin" => (Atomic::UMin, words),
            "smax" => (Atomic::SMax, words),
            "umax" => (Atomic::UMax, words),
            "and" => (Atomic::And, words),
            "or" => (Atomic::Or, words),
            "xor" => (Atomic::Xor, words),
            "inc" => (Atomic::Inc, words),
            "dec" => (Atomic::Dec, words),
            "csub" => (Atomic::SubClamp, 1),
            "fcmpswap" => (Atomic::FCmpSwap, words),
            "fmin" => (Atomic::FMin, words),
            "fmax" => (Atomic::FMax, words),
            "add_f32" => (Atomic::FAddFlushed, 1),
            "pk_add_f16" => (Atomic::PkAddF16, 1),
            "pk_add_bf16" => (Atomic::PkAddBf16, 1),
            "add_f64" => (Atomic::FAdd, 2),
            "min_f64" => (Atomic::FMin, 2),
            "max_f64" => (Atomic::FMax, 2),
            _ => return None,
        })
    }
    /// The names since RDNA3, which say the type of all (`add_u64`, `max_i32`).
    fn from_typed_name(name: &str) -> Option<(Atomic, u8)> {
        let (operation, ty) = name.rsplit_once('_')?;
        let words = match ty {
            "b32" | "u32" | "i32" => 1,
            "b64" | "u64" | "i64" => 2,
            "f32" => {
                // Additions here keep denormals, unlike CDNA 2's.
                let atomic = match operation {
                    "add" => return None,
                    "min" => Atomic::FMin,
                    "max" => Atomic::FMax,
                    "min_num" => Atomic::FMinNum,
                    "max_num" => Atomic::FMaxNum,
                    "cmpswap" => Atomic::FCmpSwap,
                    _ => return None,
                };
                return Some((atomic, 1));
            }
            // gfx1250's name for what CDNA has as min_f64, with RDNA4's rules.
            "f64" => {
                let atomic = match operation {
                    "min_num" => Atomic::FMinNum,
                    "max_num" => Atomic::FMaxNum,
                    _ => return None,
                };
                return Some((atomic, 2));
            }
            _ => return None,
        };
        let atomic = match (operation, ty.as_bytes()[0]) {
            ("swap", _) => Atomic::Swap,
            ("cmpswap", _) => Atomic::CmpSwap,
            ("add", _) => Atomic::Add,
            ("sub", _) => Atomic::Sub,
            ("min", b'i') => Atomic::SMin,
            ("min", b'u') => Atomic::UMin,
            ("max", b'i') => Atomic::SMax,
            ("max", b'u') => Atomic::UMax,
            ("and", _) => Atomic::And,
            ("or", _) => Atomic::Or,
            ("xor", _) => Atomic::Xor,
            ("inc", _) => Atomic::Inc,
            ("dec", _) => Atomic::Dec,
            ("csub" | "sub_clamp", b'u') => Atomic::SubClamp,
            ("cond_sub", b'u') => Atomic::CondSub,
            _ => return None,
        };
        Some((atomic, words))
    }
    /// From the middle of a DS mnemonic (`add`, `cmpst`), given whether it is a float one.
    pub fn from_ds_name(name: &str, float: bool) -> Option<Atomic> {
        Some(match (name, float) {
            ("add", false) => Atomic::Add,
            ("add", true) => Atomic::FAdd,
            ("sub", false) => Atomic::Sub,
            ("rsub", false) => Atomic::ReverseSub,
            ("inc", false) => Atomic::Inc,
            ("dec", false) => Atomic::Dec,
            ("and", false) => Atomic::And,
            ("or", false) => Atomic::Or,
            ("xor", false) => Atomic::Xor,
            ("mskor", false) => Atomic::MaskOr,
            ("cmpst" | "cmpstore", false) => Atomic::CmpSwap,
            ("cmpst" | "cmpstore", true) => Atomic::FCmpSwap,
            ("min", true) => Atomic::FMin,
            ("max", true) => Atomic::FMax,
            ("min_num", true) => Atomic::FMinNum,
            ("max_num", true) => Atomic::FMaxNum,
            ("wrxchg" | "storexchg", false) => Atomic::Swap,
            ("sub_clamp", false) => Atomic::SubClamp,
            ("cond_sub", false) => Atomic::CondSub,
            ("wrap", false) => Atomic::Wrap,
            ("condxchg32", false) => Atomic::CondSwap,
            _ => return None,
        })
    }
    /// How [`Atomic::FMinNum`] treats NaNs.
    const NUM: Rules = Rules { ieee: false, first: true, rdna4: true };

    /// The new value of a 32-bit word. `compare` is the second operand of those that have two.
    pub fn apply32(self, old: u32, data: u32, compare: u32) -> u32 {
        let f = |v| f32::from_bits(v);
        match self {
            Atomic::FAdd => (f(old) + f(data)).to_bits(),
            Atomic::FAddFlushed => {
                let read = |x| f(flush32(x, false));
                flush32((read(old) + read(data)).to_bits(), false)
            }
            Atomic::FMinNum => min32(Atomic::NUM, data, old),
            Atomic::FMaxNum => max32(Atomic::NUM, data, old),
            Atomic::FMin => min_max(f(old).is_nan(), f(data).is_nan(), f(data) < f(old), old, data),
            Atomic::FMax => min_max(f(old).is_nan(), f(data).is_nan(), f(data) > f(old), old, data),
            Atomic::FCmpSwap => {
                if f(old) == f(compare) {
                    data
                } else {
                    old
                }
            }
            Atomic::PkAddF16 => {
                let half = |shift: u32| {
                    let sum = half_to_f32((old >> shift) as u16) + half_to_f32((data >> shift) as u16);
                    u32::from(f32_to_half(sum)) << shift
                };
                half(0) | half(16)
            }
            Atomic::PkAddBf16 => {
                let half = |shift: u32| {
                    let sum = bf16_to_f32(old >> shift & 0xffff) + bf16_to_f32(data >> shift & 0xffff);
                    f32_to_bf16(sum) << shift
                };
                half(0) | half(16)
            }
            Atomic::SMin => (old as i32).min(data as i32) as u32,
            Atomic::SMax => (old as i32).max(data as i32) as u32,
            Atomic::Wrap => {
                if old >= data {
                    old - data
                } else {
                    old.wrapping_add(compare)
                }
            }
            other => other.apply_unsigned(old.into(), data.into(), compare.into()) as u32,
        }
    }
    /// The new value of a 64-bit word.
    pub fn apply64(self, old: u64, data: u64, compare: u64) -> u64 {
        let f = |v| f64::from_bits(v);
        match self {
            Atomic::FAdd => (f(old) + f(data)).to_bits(),
            Atomic::FMin => min_max(f(old).is_nan(), f(data).is_nan(), f(data) < f(old), old, data),
            Atomic::FMax => min_max(f(old).is_nan(), f(data).is_nan(), f(data) > f(old), old, data),
            Atomic::FMinNum => min64(Atomic::NUM, data, old),
            Atomic::FMaxNum => max64(Atomic::NUM, data, old),
            Atomic::FCmpSwap => {
                if f(old) == f(compare) {
                    data
                } else {
                    old
                }
            }
            Atomic::SMin => (old as i64).min(data as i64) as u64,
            Atomic::SMax => (old as i64).max(data as i64) as u64,
            Atomic::CondSwap => {
                let half = |shift: u32| {
                    let (new, old) = ((data >> shift) as u32, (old >> shift) as u32);
                    u64::from(if new >> 31 != 0 { new & 0x7fff_ffff } else { old }) << shift
                };
                half(0) | half(32)
            }
            other => other.apply_unsigned(old, data, compare),
        }
    }
    /// What is the same for both widths, given zero-extended operands (the caller truncates).
    fn apply_unsigned(self, old: u64, data: u64, compare: u64) -> u64 {
        match self {
            Atomic::Swap => data,
            Atomic::CmpSwap => {
                if old == compare {
                    data
                } else {
                    old
                }
            }
            Atomic::Add => old.wrapping_add(data),
            Atomic::Sub => old.wrapping_sub(data),
            Atomic::ReverseSub => data.wrapping_sub(old),
            Atomic::UMin => old.min(data),
            Atomic::UMax => old.max(data),
            Atomic::And => old & data,
            Atomic::Or => old | data,
            Atomic::Xor => old ^ data,
            Atomic::Inc => {
                if old >= data {
                    0
                } else {
                    old + 1
                }
            }
            Atomic::SubClamp => old.saturating_sub(data),
            Atomic::CondSub => {
                if old >= data {
                    old - data
                } else {
                    old
                }
            }
            Atomic::Dec => {
                if old == 0 || old > data {
                    data
                } else {
                    old - 1
                }
            }
            Atomic::MaskOr => old & !data | compare,
            // The others have a form of their own for each width in which they exist.
            _ => old,
        }
    }
    /// Performs the operation on an aligned word of device memory; returns the old value.
    pub fn run32(self, at: HostPtr, data: u32, compare: u32) -> u32 {
        let word = at.a32();
        match self {
            Atomic::Add => word.fetch_add(data, SeqCst),
            Atomic::Or => word.fetch_or(data, SeqCst),
            Atomic::Swap => word.swap(data, SeqCst),
            _ => match word.fetch_update(SeqCst, SeqCst, |old| Some(self.apply32(old, data, compare))) {
                Ok(old) | Err(old) => old,
            },
        }
    }
    /// As [`Atomic::run32`], 64 bits.
    pub fn run64(self, at: HostPtr, data: u64, compare: u64) -> u64 {
        let word = at.a64();
        match self {
            Atomic::Add => word.fetch_add(data, SeqCst),
            Atomic::Or => word.fetch_or(data, SeqCst),
            Atomic::Swap => word.swap(data, SeqCst),
            _ => match word.fetch_update(SeqCst, SeqCst, |old| Some(self.apply64(old, data, compare))) {
                Ok(old) | Err(old) => old,
            },
        }
    }
    /// The operation has a second data operand (what to compare with, or what to or in).
    pub const fn two_operands(self) -> bool {
        matches!(self, Atomic::CmpSwap | Atomic::FCmpSwap | Atomic::MaskOr | Atomic::Wrap)
    }
}

/// IEEE minNum and maxNum: a NaN loses against a number.
fn min_max<T: Copy>(old_nan: bool, data_nan: bool, better: bool, old: T, data: T) -> T {
    if data_nan {
        old
    } else if old_nan || better {
        data
    } else {
        old
    }
}

fn half_to_f32(h: u16) -> f32 {
    let (sign, exp, man) = (u32::from(h >> 15) << 31, u32::from(h >> 10 & 31), u32::from(h & 0x3ff));
    match exp {
        0 => f32::from_bits(sign | (man as f32 * 2f32.powi(-24)).to_bits()),
        31 => f32::from_bits(sign | 0x7f80_0000 | man << 13),
        _ => f32::from_bits(sign | (exp + 112) << 23 | man << 13),
    }
}

/// To nearest, ties to even.
fn f32_to_half(v: f32) -> u16 {
    let sign = (v.to_bits() >> 16 & 0x8000) as u16;
    let bits = v.to_bits() & 0x7fff_ffff;
    if bits >= 0x7f80_0000 {
        return sign | 0x7c00 | if bits > 0x7f80_0000 { 0x200 | (bits >> 13 & 0x3ff) as u16 } else { 0 };
    }
    // Adding this pushes the mantissa's surplus bits out with the host's own rounding.
    if bits < 0x3880_0000 {
        return sign | ((f32::from_bits(bits) + 0.5).to_bits() & 0x7ff) as u16;
    }
    let rounded = bits + 0xfff + (bits >> 13 & 1);
    if rounded >= 0x4780_0000 { sign | 0x7c00 } else { sign | ((rounded - 0x3800_0000) >> 13) as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_survive_the_way_through_f32() {
        for h in 0..=u16::MAX {
            if h & 0x7c00 != 0x7c00 {
                assert_eq!(f32_to_half(half_to_f32(h)), h, "{h:#x}");
            }
        }
        assert_eq!(f32_to_half(65519.0), 0x7bff);
        assert_eq!(f32_to_half(65520.0), 0x7c00);
        assert_eq!(f32_to_half(2f32.powi(-25)), 0);
        assert_eq!(f32_to_half(2f32.powi(-25) * 1.5), 1);
    }

    #[test]
    fn integer_operations() {
        assert_eq!(Atomic::Inc.apply32(7, 7, 0), 0);
        assert_eq!(Atomic::Inc.apply32(6, 7, 0), 7);
        assert_eq!(Atomic::Dec.apply32(0, 7, 0), 7);
        assert_eq!(Atomic::Dec.apply32(9, 7, 0), 7);
        assert_eq!(Atomic::SMin.apply32(!0, 3, 0), !0);
        assert_eq!(Atomic::UMin.apply32(!0, 3, 0), 3);
        assert_eq!(Atomic::CmpSwap.apply64(5, 9, 5), 9);
        assert_eq!(Atomic::CmpSwap.apply64(5, 9, 6), 5);
    }

    #[test]
    fn additions_in_global_memory_flush_denormals() {
        assert_eq!(Atomic::FAddFlushed.apply32(1, 0x0080_0000, 0), 0x0080_0000);
        assert_eq!(Atomic::FAddFlushed.apply32(0x0080_0000, 0x8080_0001, 0), 0x8000_0000);
        assert_eq!(Atomic::FAdd.apply32(1, 0x0080_0000, 0), 0x0080_0001);
    }
}
