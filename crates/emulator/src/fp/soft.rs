//! Exact arithmetic in any binary format of up to 64 bits, rounded once in any direction.
//!
//! Every operation is an exact sum of a product and an addend: `a * b + c`. Slow; for directed rounding, for lanes
//! with NaNs, and as a reference in tests.

use crate::mode::{Mode, Round};

/// A binary interchange format: widths of the exponent and of the fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    pub exponent: u32,
    pub fraction: u32,
}

pub const F16: Format = Format { exponent: 5, fraction: 10 };
pub const BF16: Format = Format { exponent: 8, fraction: 7 };
pub const F32: Format = Format { exponent: 8, fraction: 23 };
pub const F64: Format = Format { exponent: 11, fraction: 52 };

impl Format {
    const fn max_exponent(self) -> u64 {
        (1 << self.exponent) - 1
    }
    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }
    const fn sign_bit(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }
    pub const fn infinity(self) -> u64 {
        self.max_exponent() << self.fraction
    }
    const fn quiet_bit(self) -> u64 {
        1 << (self.fraction - 1)
    }
    /// The NaN of an invalid operation.
    pub const fn default_nan(self) -> u64 {
        self.sign_bit() | self.infinity() | self.quiet_bit()
    }
    pub const fn is_nan(self, x: u64) -> bool {
        x & (self.sign_bit() - 1) > self.infinity()
    }
    const fn is_inf(self, x: u64) -> bool {
        x & (self.sign_bit() - 1) == self.infinity()
    }
    const fn sign(self, x: u64) -> bool {
        x & self.sign_bit() != 0
    }
    pub const fn flush(self, x: u64, keep: bool) -> u64 {
        if !keep && x & self.infinity() == 0 { x & self.sign_bit() } else { x }
    }
    /// A finite value as `significand * 2^exponent`.
    const fn unpack(self, x: u64) -> (u64, i32) {
        let fraction = x & ((1 << self.fraction) - 1);
        let exponent = (x >> self.fraction & self.max_exponent()) as i32;
        let base = 1 - self.bias() - self.fraction as i32;
        if exponent == 0 { (fraction, base) } else { (fraction | 1 << self.fraction, base + exponent - 1) }
    }
    const fn zero(self, sign: bool) -> u64 {
        if sign { self.sign_bit() } else { 0 }
    }
}

/// Rounds `significand * 2^exponent`, plus a non-zero remainder of less than one unit if `sticky`, to the format.
pub fn round(f: Format, round: Round, sign: bool, significand: u128, exponent: i32, sticky: bool) -> u64 {
    if significand == 0 && !sticky {
        return f.zero(sign);
    }
    // The unit in the last place of the result: from the leading bit, but not below the denormals'.
    let least = 1 - f.bias() - f.fraction as i32;
    let top = 127 - significand.leading_zeros() as i32; // -1 for zero
    let unit = (exponent + top - f.fraction as i32).max(least);
    let shift = unit - exponent;
    let (mut kept, rest, half) = if shift <= 0 {
        (significand << -shift, false, false)
    } else if shift > 127 {
        (0, significand != 0, false)
    } else {
        let rest = significand & ((1 << (shift - 1)) - 1);
        (significand >> shift, rest != 0, significand >> (shift - 1) & 1 != 0)
    };
    let rest = rest || sticky;
    let away = match round {
        Round::NearestEven => half && (rest || kept & 1 != 0),
        Round::Up => !sign && (half || rest),
        Round::Down => sign && (half || rest),
        Round::Zero => false,
    };
    kept += u128::from(away);
    let mut unit = unit;
    if kept >> (f.fraction + 1) != 0 {
        kept >>= 1;
        unit += 1;
    }
    let sign_bits = f.zero(sign);
    if kept >> f.fraction == 0 {
        return sign_bits | kept as u64; // denormal or zero
    }
    let biased = (unit - least + 1) as u64;
    if biased >= f.max_exponent() {
        let to_infinity = match round {
            Round::NearestEven => true,
            Round::Up => !sign,
            Round::Down => sign,
            Round::Zero => false,
        };
        return sign_bits | if to_infinity { f.infinity() } else { f.infinity() - 1 };
    }
    sign_bits | biased << f.fraction | (kept as u64 & ((1 << f.fraction) - 1))
}

/// `a * b + c`, rounded once. No flushing.
pub fn fma(f: Format, rounding: Round, a: u64, b: u64, c: u64) -> u64 {
    fma_scaled(f, rounding, a, b, c, 0)
}

/// `(a * b + c) * 2^scale`, rounded once.
pub fn fma_scaled(f: Format, rounding: Round, a: u64, b: u64, c: u64, scale: i32) -> u64 {
    for x in [a, b, c] {
        if f.is_nan(x) {
            return x | f.quiet_bit();
        }
    }
    let product_sign = f.sign(a) != f.sign(b);
    let ((sa, ea), (sb, eb), (sc, ec)) = (f.unpack(a), f.unpack(b), f.unpack(c));
    if f.is_inf(a) || f.is_inf(b) {
        let zero = |x: u64, s: u64| !f.is_inf(x) && s == 0;
        if zero(a, sa) || zero(b, sb) || (f.is_inf(c) && f.sign(c) != product_sign) {
            return f.default_nan();
        }
        return f.zero(product_sign) | f.infinity();
    }
    if f.is_inf(c) {
        return c;
    }
    let product = u128::from(sa) * u128::from(sb);
    if product == 0 && sc == 0 {
        let sign = if product_sign == f.sign(c) { product_sign } else { rounding == Round::Down };
        return f.zero(sign);
    }
    if product == 0 {
        return round(f, rounding, f.sign(c), sc.into(), ec + scale, false);
    }
    if sc == 0 {
        return round(f, rounding, product_sign, product, ea + eb + scale, false);
    }
    // Both leading bits to bit 120: what is shifted out below is then far below the result's last place.
    let normal = |s: u128, e: i32| {
        let up = s.leading_zeros() as i32 - 7;
        (s << up, e - up)
    };
    let (p, q) = (normal(product, ea + eb), normal(sc.into(), ec));
    let product_larger = (p.1, p.0) >= (q.1, q.0);
    let (big, small) = if product_larger { (p, q) } else { (q, p) };
    let sign = if product_larger { product_sign } else { f.sign(c) };
    let distance = big.1 - small.1;
    let (aligned, sticky) =
        if distance > 126 { (0, true) } else { (small.0 >> distance, small.0 & ((1 << distance) - 1) != 0) };
    if product_sign == f.sign(c) {
        return round(f, rounding, sign, big.0 + aligned, big.1 + scale, sticky);
    }
    let difference = big.0 - aligned - u128::from(sticky);
    if difference == 0 && !sticky {
        return f.zero(rounding == Round::Down);
    }
    round(f, rounding, sign, difference, big.1 + scale, sticky)
}

const fn one(f: Format) -> u64 {
    (f.bias() as u64) << f.fraction
}

pub fn add(f: Format, round: Round, a: u64, b: u64) -> u64 {
    fma(f, round, a, one(f), b)
}

pub fn mul(f: Format, round: Round, a: u64, b: u64) -> u64 {
    fma(f, round, a, b, (a ^ b) & f.sign_bit())
}

/// From one format to another. NaNs keep the leading bits of their payload and are quieted.
pub fn convert(from: Format, to: Format, rounding: Round, x: u64) -> u64 {
    let sign = from.sign(x);
    if from.is_nan(x) {
        let payload = x & ((1 << from.fraction) - 1);
        let payload = if from.fraction > to.fraction {
            payload >> (from.fraction - to.fraction)
        } else {
            payload << (to.fraction - from.fraction)
        };
        return to.zero(sign) | to.infinity() | to.quiet_bit() | payload;
    }
    if from.is_inf(x) {
        return to.zero(sign) | to.infinity();
    }
    let (s, e) = from.unpack(x);
    round(to, rounding, sign, s.into(), e, false)
}

/// From an integer.
pub fn from_int(to: Format, rounding: Round, x: i64) -> u64 {
    round(to, rounding, x < 0, x.unsigned_abs().into(), 0, false)
}

/// `x * 2^n`.
pub fn ldexp(f: Format, rounding: Round, x: u64, n: i32) -> u64 {
    if f.is_nan(x) {
        return x | f.quiet_bit();
    }
    if f.is_inf(x) {
        return x;
    }
    let (s, e) = f.unpack(x);
    round(f, rounding, f.sign(x), s.into(), e + n.clamp(-10_000, 10_000), false)
}

/// Addition, multiplication and fused multiply-add with MODE's rounding and flushing, for the handlers.
macro_rules! with_mode {
    ($fmt:ident, $bits:ty, $round:ident, $din:ident, $dout:ident, $add:ident, $mul:ident, $fma:ident, $saturate:expr) => {
        pub fn $add(m: Mode, a: $bits, b: $bits) -> $bits {
            let read = |x: $bits| $fmt.flush(x.into(), m.$din());
            let (a, b) = (read(a), read(b));
            let r = add($fmt, m.$round(), a, b);
            let infinite = $fmt.is_inf(a) || $fmt.is_inf(b);
            $saturate(m, $fmt.flush(r, m.$dout()) as $bits, infinite)
        }
        pub fn $mul(m: Mode, a: $bits, b: $bits) -> $bits {
            let read = |x: $bits| $fmt.flush(x.into(), m.$din());
            let (a, b) = (read(a), read(b));
            let r = mul($fmt, m.$round(), a, b);
            let infinite = $fmt.is_inf(a) || $fmt.is_inf(b);
            $saturate(m, $fmt.flush(r, m.$dout()) as $bits, infinite)
        }
        pub fn $fma(m: Mode, a: $bits, b: $bits, c: $bits) -> $bits {
            let read = |x: $bits| $fmt.flush(x.into(), m.$din());
            let (a, b, c) = (read(a), read(b), read(c));
            let r = fma($fmt, m.$round(), a, b, c);
            let infinite = $fmt.is_inf(a) || $fmt.is_inf(b) || $fmt.is_inf(c);
            $saturate(m, $fmt.flush(r, m.$dout()) as $bits, infinite)
        }
    };
}

with_mode!(F32, u32, round32, denorm_in32, denorm_out32, add32, mul32, fma32, |_: Mode, r: u32, _: bool| r);
with_mode!(F64, u64, round16_64, denorm_in16_64, denorm_out16_64, add64, mul64, fma64, |_: Mode, r: u64, _: bool| r);
with_mode!(F16, u32, round16_64, denorm_in16_64, denorm_out16_64, add16, mul16, fma16, super::half::finish_f16);
