//! log2: near one with more places, the nearer the more.

use super::tables::{LOG, LOG_ABOVE, LOG_BELOW};
use super::{INF, NAN32, ONE, SIGN32, from_fixed, nearest, product24, quiet};

/// log2 of what lies up to 1/32 above one. The fewer the leading bits, the more places: four at a time.
#[inline(always)]
fn log_above_one(x: u32) -> u32 {
    let n = x - ONE;
    let row = if n < 0x1_0000 { 0 } else { 1 + (n >> 17) as usize };
    let c = LOG_ABOVE[row].map(u64::from);
    let width = 32 - n.leading_zeros();
    let more = if row == 0 { (18 - width) / 4 * 4 } else { 0 };
    let (n, scaled) = (u64::from(n), u64::from(n) << more);
    let linear = (c[1] * scaled) >> 13 << 2;
    let inner = nearest((c[2] << 22) - c[3] * (2 * n + 1), 22);
    let quadratic = product24(inner * ((scaled * n) >> 12));
    let fixed = c[0] + linear - quadratic;
    // Cut off, and always one more: also where nothing was cut off.
    let leading = 63 - fixed.leading_zeros();
    ((leading + 126 - 35 - more) << 23) + (fixed >> (leading - 23)) as u32 + 1
}

/// log2 of what lies up to 1/64 below one.
#[inline(always)]
fn log_below_one(x: u32) -> u32 {
    let n = ONE - x;
    let c = LOG_BELOW[usize::from(n >= 0x2_0000)].map(u64::from);
    let width = 32 - n.leading_zeros();
    let more = if width < 18 { (18 - width) / 4 * 4 } else { 0 };
    let n = u64::from(n);
    let cut = |x: u64, bits: u32| x >> bits << bits;
    let linear = cut(2 * c[1] * n, 14u32.saturating_sub(more));
    let square = cut(n * n, 12u32.saturating_sub(more));
    let inner = nearest((c[2] << 22) + c[3] * (n - 1), 22);
    let quadratic = (inner * square).div_ceil(1 << (38 - more));
    from_fixed(true, (linear << 2) + (quadratic << (16 - more)) - (c[0] << 16), 50, true)
}

/// log2(x); it is rounded down.
#[inline]
pub fn log(x: u32) -> u32 {
    let (sign, a) = (x & SIGN32, x & !SIGN32);
    if a > INF {
        return quiet(x);
    }
    if a < 0x0080_0000 {
        return SIGN32 | INF;
    }
    if sign != 0 {
        return NAN32;
    }
    match x {
        INF => return INF,
        ONE => return 0,
        0x3f7c_0000..ONE => return log_below_one(x),
        0x3f80_0001..0x3f84_0000 => return log_above_one(x),
        _ => {}
    }
    let n = u64::from(x & 0x3_ffff);
    let second_half = x >> 17 & 63 == 3;
    let c = LOG[if second_half { 32 } else { (x >> 18 & 31) as usize }].map(u64::from);
    let linear = (c[1] * n) >> 16;
    let inner = nearest((c[2] << 22) - c[3] * (2 * n + 1), 22);
    let quadratic = product24(inner * ((n * n) >> 12));
    let whole = ((x >> 23) as i64 - 127) << 35;
    let fixed = whole + (((c[0] + linear) << 5) as i64 - quadratic as i64);
    from_fixed(fixed < 0, fixed.unsigned_abs(), 35, fixed < 0)
}
