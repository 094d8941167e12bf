//! What the bytes of a typed buffer mean: data formats, and what they become in registers.
//!
//! Loads give 32 bits for each component: integers as they are, everything else as f32; "D16" 16 bits, as f16. Stores
//! are the reverse. What AMD does not document is an error, by value: how a float becomes one of fewer bits that cannot
//! hold it, what becomes of an integer that is too large.
//!
//! Sources: "Buffer Data" in AMD's RDNA3 and RDNA4 ISA manuals (conversions), LLVM's tables of format names, and for which
//! component has how many bits of a packed word Mesa's, the tables of AMD's PAL (gfx10.yaml: `BUF_FMT_11_11_10_FLOAT` is
//! X10Y11Z11) and its addrlib (addrelemlib.cpp: X has two bits of 10_10_10_2). The names begin at the highest bit.

use luthier_isa::Generation;

use crate::fp::half;

/// How a component's bits are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
}

use Number::{Float, Sint, Snorm, Sscaled, Uint, Unorm, Uscaled};

/// Bits of the components X, Y, Z and W, from the lowest bit on, and what they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataFormat {
    pub bits: &'static [u8],
    pub number: Number,
}

const INTEGERS: &[Number] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint];
const ALL: &[Number] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float];
const WIDE: &[Number] = &[Uint, Sint, Float];
const INVALID: &[u8] = &[];
const W10_11_11: &[u8] = &[11, 11, 10];
const W11_11_10: &[u8] = &[10, 11, 11];
const W10_10_10_2: &[u8] = &[2, 10, 10, 10];
const W2_10_10_10: &[u8] = &[10, 10, 10, 2];

/// RDNA's codes from 1 on: each data format with its number formats in order.
const RDNA2: &[(&[u8], &[Number])] = &[
    (&[8], INTEGERS),
    (&[16], ALL),
    (&[8, 8], INTEGERS),
    (&[32], WIDE),
    (&[16, 16], ALL),
    (W10_11_11, ALL),
    (W11_11_10, ALL),
    (W10_10_10_2, INTEGERS),
    (W2_10_10_10, INTEGERS),
    (&[8; 4], INTEGERS),
    (&[32; 2], WIDE),
    (&[16; 4], ALL),
    (&[32; 3], WIDE),
    (&[32; 4], WIDE),
];
const RDNA3: &[(&[u8], &[Number])] = &[
    (&[8], INTEGERS),
    (&[16], ALL),
    (&[8, 8], INTEGERS),
    (&[32], WIDE),
    (&[16, 16], ALL),
    (W10_11_11, &[Float]),
    (W11_11_10, &[Float]),
    (W10_10_10_2, &[Unorm, Snorm, Uint, Sint]),
    (W2_10_10_10, INTEGERS),
    (&[8; 4], INTEGERS),
    (&[32; 2], WIDE),
    (&[16; 4], ALL),
    (&[32; 3], WIDE),
    (&[32; 4], WIDE),
];
/// GCN's and CDNA's data formats.
const GCN: [&[u8]; 15] = [
    INVALID,
    &[8],
    &[16],
    &[8, 8],
    &[32],
    &[16, 16],
    W10_11_11,
    W11_11_10,
    W10_10_10_2,
    W2_10_10_10,
    &[8; 4],
    &[32; 2],
    &[16; 4],
    &[32; 3],
    &[32; 4],
];

impl DataFormat {
    /// RDNA's format code.
    pub fn unified(generation: Generation, code: u32) -> Option<DataFormat> {
        let list = if generation == Generation::Gfx10 { RDNA2 } else { RDNA3 };
        let mut at = (code as usize).checked_sub(1)?;
        for &(bits, numbers) in list {
            if let Some(&number) = numbers.get(at) {
                return DataFormat { bits, number }.known();
            }
            at -= numbers.len();
        }
        None
    }
    /// GCN's and CDNA's codes of the data and the number format.
    pub fn split(data: u32, number: u32) -> Option<DataFormat> {
        let number =
            *[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint].get(number as usize).or((number == 7).then_some(&Float))?;
        DataFormat { bits: GCN.get(data as usize)?, number }.known()
    }
    fn known(self) -> Option<DataFormat> {
        let good = match self.number {
            Float => self.bits.iter().all(|b| matches!(b, 10 | 11 | 16 | 32)) && self.bits != W2_10_10_10,
            Uint | Sint => true,
            _ => !self.bits.contains(&32),
        };
        (good && !self.bits.is_empty()).then_some(self)
    }
    /// Bytes in memory.
    pub fn bytes(self) -> u32 {
        self.bits.iter().map(|&b| u32::from(b)).sum::<u32>() / 8
    }
    /// The lowest bit of component `k`, from the first byte on.
    fn start(self, k: usize) -> u32 {
        self.bits[..k].iter().map(|&b| u32::from(b)).sum()
    }
    /// The bits of component `k`.
    pub fn field(self, k: usize) -> u128 {
        u128::from(mask(self.bits[k])) << self.start(k)
    }
    /// The raw bits of component `k`.
    fn raw(self, data: u128, k: usize) -> u32 {
        (data >> self.start(k)) as u32 & mask(self.bits[k])
    }
    /// What a load makes of component `k`.
    pub fn load(self, data: u128, k: usize, d16: bool) -> Result<u32, &'static str> {
        let (raw, bits) = (self.raw(data, k), self.bits[k]);
        if matches!(self.number, Uint | Sint) {
            let value = if self.number == Sint { extended(raw, bits) as u32 } else { raw };
            let fits = bits <= 16 || (if self.number == Sint { value as i16 as u32 } else { value & 0xffff }) == value;
            return match d16 {
                false => Ok(value),
                true if fits => Ok(value & 0xffff),
                true => Err("an integer of more than 16 bits"),
            };
        }
        if self.number == Float {
            return Ok(match bits {
                32 if d16 => return toward_zero(f32::from_bits(raw)),
                32 => raw,
                _ => {
                    let f16 = if bits == 16 { raw } else { raw << (15 - bits) };
                    if d16 { f16 } else { half::f16_to_f32(f16).to_bits() }
                }
            });
        }
        let signed = f64::from(extended(raw, bits));
        let value = match self.number {
            Unorm => f64::from(raw) / f64::from(mask(bits)),
            Snorm => (signed / f64::from(mask(bits - 1))).max(-1.0),
            Uscaled => raw.into(),
            _ => signed,
        };
        Ok(if d16 { half::f64_to_f16(value) } else { (value as f32).to_bits() })
    }
    /// Puts component `k` where it belongs, from what a store takes from a register.
    pub fn store(self, data: &mut u128, k: usize, value: u32, d16: bool) -> Result<(), &'static str> {
        let bits = self.bits[k];
        let raw = match self.number {
            Uint if u64::from(value) >> bits == 0 => value,
            Sint if d16 && extended(value, bits.min(16)) == i32::from(value as i16) => value as i16 as u32,
            Sint if !d16 && extended(value, bits) == value as i32 => value,
            Uint | Sint => return Err("an integer that the format cannot hold"),
            _ => {
                let x = if d16 { half::f16_to_f32(value) } else { f32::from_bits(value) };
                self.narrow(x, bits, if d16 { x.to_bits() } else { value })?
            }
        };
        *data |= u128::from(raw & mask(bits)) << self.start(k);
        Ok(())
    }
    fn narrow(self, x: f32, bits: u8, whole: u32) -> Result<u32, &'static str> {
        let rounded = |low: f64, high: f64| {
            let x = if x.is_nan() { 0.0 } else { f64::from(x) };
            (x.clamp(low, 1.0) * high).round_ties_even() as i64 as u32
        };
        match self.number {
            Unorm => Ok(rounded(0.0, mask(bits).into())),
            Snorm => Ok(rounded(-1.0, mask(bits - 1).into())),
            Float if bits == 32 => Ok(whole),
            Float => {
                let f16 = half::f32_to_f16(x);
                let cut = 15 - bits.min(15);
                let same = half::f16_to_f32(f16).to_bits() == x.to_bits();
                if same && (bits == 16 || f16 >> 15 == 0 && f16 & mask(cut) == 0) {
                    Ok(f16 >> if bits == 16 { 0 } else { cut })
                } else {
                    Err("a number that the format cannot hold exactly")
                }
            }
            _ => {
                let (low, high) = match self.number {
                    Uscaled => (0, i64::from(mask(bits))),
                    _ => (-(1i64 << (bits - 1)), i64::from(mask(bits - 1))),
                };
                if x.fract() == 0.0 && (low as f32..=high as f32).contains(&x) {
                    Ok(x as i64 as u32)
                } else {
                    Err("a number that the format cannot hold exactly")
                }
            }
        }
    }
    /// One, as a load gives it.
    pub fn one(self, d16: bool) -> u32 {
        match (self.number, d16) {
            (Uint | Sint, _) => 1,
            (_, true) => 0x3c00,
            (_, false) => 0x3f80_0000,
        }
    }
}

/// f32 to f16, cut off.
fn toward_zero(x: f32) -> Result<u32, &'static str> {
    let near = half::f32_to_f16(x);
    if x.is_nan() || x.is_infinite() {
        return Ok(near);
    }
    if x.abs() >= 65536.0 {
        return Err("a number that the format cannot hold");
    }
    let away = near & 0x7c00 == 0x7c00 || half::f16_to_f32(near).abs() > x.abs();
    Ok(near - u32::from(away))
}

fn mask(bits: u8) -> u32 {
    ((1u64 << bits) - 1) as u32
}

fn extended(raw: u32, bits: u8) -> i32 {
    (raw << (32 - bits)) as i32 >> (32 - bits)
}
