//! The same sums in wide integers, term by term as the module's text has them: what tests compare with.

use crate::fp::soft;
use crate::mode::Round;

/// Bits of a format's exponent and fraction, and whether it has infinities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    pub exponent: u32,
    pub fraction: u32,
    pub infinite: bool,
}

pub const F16: Format = Format { exponent: 5, fraction: 10, infinite: true };
pub const BF16: Format = Format { exponent: 8, fraction: 7, infinite: true };
pub const F32: Format = Format { exponent: 8, fraction: 23, infinite: true };
pub const FP8: Format = Format { exponent: 4, fraction: 3, infinite: false };
pub const BF8: Format = Format { exponent: 5, fraction: 2, infinite: true };

#[derive(Clone, Copy)]
enum Value {
    Nan,
    Infinity,
    /// Significand, exponent of the last place, and that of the first place of a normal number.
    Finite(i128, i32, i32),
}

impl Format {
    pub fn bits(self) -> u32 {
        1 + self.exponent + self.fraction
    }
    fn negative(self, code: u32) -> bool {
        code >> (self.bits() - 1) & 1 != 0
    }
    fn read(self, code: u32, flushes: bool) -> Value {
        let most = (1 << self.exponent) - 1;
        let (field, fraction) = (code >> self.fraction & most, code & ((1 << self.fraction) - 1));
        if self.infinite && field == most {
            return if fraction == 0 { Value::Infinity } else { Value::Nan };
        }
        if !self.infinite && field == most && fraction == (1 << self.fraction) - 1 {
            return Value::Nan;
        }
        let first = field.max(1) as i32 - ((1 << (self.exponent - 1)) - 1);
        let whole = match field {
            0 if flushes && self.exponent == 8 => 0,
            0 => fraction,
            _ => fraction | 1 << self.fraction,
        };
        Value::Finite(whole.into(), first - self.fraction as i32, first)
    }
}

/// `x * 2^exponent` in units of `2^last`, towards minus infinity.
fn units(x: i128, exponent: i32, last: i32) -> i128 {
    if exponent >= last { x << (exponent - last).min(90) } else { x >> (last - exponent).min(126) }
}

pub struct Sum {
    pub rdna3: bool,
    pub a: Format,
    pub b: Format,
    pub result: Format,
    /// Products in a group.
    pub group: usize,
    pub saturates: bool,
}

impl Sum {
    fn nan(&self, single: u32) -> u32 {
        match (self.result, single) {
            (F32, nan) => nan,
            (BF16, 0xffc0_0a3d) => 0xfffd,
            (BF16, nan) => nan >> 16,
            (_, 0xffc0_0a3d) => 0xfe3d,
            _ => 0xfe00,
        }
    }

    pub fn of(&self, a: &[u32], b: &[u32], c: u32) -> u32 {
        let (signalling, invalid) = (self.nan(0xffc0_0a3d), self.nan(0xffc0_0000));
        let invalid = if self.a.bits() == 8 { signalling } else { invalid };
        let mut infinities = [false; 2];
        let mut is_invalid = false;
        let mut terms = Vec::new();
        for (&x, &y) in a.iter().zip(b) {
            let negative = self.a.negative(x) != self.b.negative(y);
            match (self.a.read(x, self.rdna3), self.b.read(y, self.rdna3)) {
                (Value::Nan, _) | (_, Value::Nan) => return signalling,
                (Value::Infinity, Value::Finite(0, ..)) | (Value::Finite(0, ..), Value::Infinity) => is_invalid = true,
                (Value::Infinity, _) | (_, Value::Infinity) => infinities[usize::from(negative)] = true,
                (Value::Finite(x, xe, xf), Value::Finite(y, ye, yf)) => terms.push((negative, x * y, xe + ye, xf + yf)),
            }
        }
        if is_invalid || infinities == [true; 2] {
            return invalid;
        }
        let sign = 1 << (self.result.bits() - 1);
        let infinity = ((1 << self.result.exponent) - 1) << self.result.fraction;
        let c_negative = c & sign != 0;
        // As f32, C's significand begins with its leading one but for denormals.
        let (mut c_whole, mut c_last) = match self.result.read(c, self.rdna3) {
            Value::Nan => return c | 1 << (self.result.fraction - 1),
            Value::Infinity => {
                infinities[usize::from(c_negative)] = true;
                (0, 0)
            }
            Value::Finite(whole, last, _) => (whole, last),
        };
        match infinities {
            [true, true] => return invalid,
            [true, false] => return infinity,
            [false, true] => return infinity | sign,
            [false, false] => {}
        }
        while c_whole != 0 && c_whole < 1 << 23 && c_last > -149 {
            (c_whole, c_last) = (2 * c_whole, c_last - 1);
        }
        let floor = match (self.result, self.rdna3) {
            (F16, _) => Some(-14),
            (_, false) => Some(-126),
            _ => None,
        };
        let leading = (c_whole != 0).then(|| c_last + 127 - c_whole.leading_zeros() as i32);
        let c_place = leading.into_iter().chain(floor).max().map(|e| e - 26);
        let places = |terms: &[(bool, i128, i32, i32)]| terms.iter().filter(|t| t.1 != 0).map(|t| t.3 - 24).max();
        let Some(last) = places(&terms).into_iter().chain(c_place).max() else { return 0 };
        if c_whole == 0 && terms.iter().all(|t| t.1 == 0) {
            return 0;
        }
        let total = if self.rdna3 {
            let mut total = units(c_whole, c_last, last);
            for &(negative, whole, exponent, _) in &terms {
                let magnitude = units(whole, exponent, last);
                total += if negative == c_negative { magnitude } else { -1 - magnitude };
            }
            if c_negative { -total } else { total }
        } else {
            let signed = |negative: bool, whole: i128| if negative { -whole } else { whole };
            let mut total = units(signed(c_negative, c_whole), c_last, last);
            if total == -1 && units(c_whole, c_last, last) == 0 && last > floor.expect("RDNA4 has one") {
                total = 0;
            }
            for group in terms.chunks(self.group) {
                let Some(own) = places(group) else { continue };
                let part =
                    group.iter().map(|&(negative, whole, exponent, _)| units(signed(negative, whole), exponent, own));
                total += units(part.sum(), own, last);
            }
            total
        };
        self.rounded(total, last)
    }

    fn rounded(&self, total: i128, last: i32) -> u32 {
        let (negative, magnitude) = (total < 0, total.unsigned_abs());
        let format = if self.result == F16 { soft::F16 } else { soft::F32 };
        if magnitude == 0 {
            return 0;
        }
        let mut bits = soft::round(format, Round::NearestEven, negative, magnitude, last, false) as u32;
        if self.result == F16 {
            if self.saturates && bits & 0x7fff == 0x7c00 {
                bits -= 1;
            }
            return if bits & 0x7fff == 0 { 0 } else { bits };
        }
        if self.rdna3 {
            // Rounded far from the denormals, and looked at there.
            let far =
                soft::round(format, Round::NearestEven, negative, magnitude, -(magnitude.ilog2() as i32), false) as u32;
            let exponent = (far >> 23 & 255) as i32 - 127 + magnitude.ilog2() as i32 + last;
            if exponent < -126 {
                return 0;
            }
        }
        if bits & 0x7fff_ffff == 0 {
            return 0;
        }
        if self.result == BF16 { bits >> 16 } else { bits }
    }
}

/// Operands of all kinds: any bits, special codes, and numbers near each other.
pub struct Codes(u64);

impl Codes {
    pub fn new(seed: u64) -> Codes {
        Codes(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }
    /// A code; `style` says which kind most codes have.
    pub fn code(&mut self, f: Format, style: u32) -> u32 {
        let any = self.next() & ((1u64 << f.bits()) - 1) as u32;
        let most = (1u32 << f.exponent) - 1;
        let with = |field: u32| any & !(most << f.fraction) | field.min(most - 1) << f.fraction;
        match style % 6 {
            0 => any,
            // About one.
            1 => with(most / 2 - 3 + self.next() % 7),
            // The smallest.
            2 => with(self.next() % 4),
            // Few bits, so that sums cancel.
            3 => with(most / 2 + self.next() % 3) & !((1 << (f.fraction - f.fraction.min(2))) - 1),
            // Special ones in between.
            4 if self.next().is_multiple_of(8) => {
                let special =
                    most << f.fraction | if self.next().is_multiple_of(3) { any & ((1 << f.fraction) - 1) } else { 0 };
                special | any & 1 << (f.bits() - 1)
            }
            4 => with(most / 2 + self.next() % 5),
            // Halves, ones and zeros of both signs.
            _ => any & 1 << (f.bits() - 1) | [0, most / 2, most / 2 - 1, 1][(self.next() % 4) as usize] << f.fraction,
        }
    }
}
