//! Loops of floating-point operations: the host's arithmetic where it gives the device's bits, the exact one elsewhere.
//!
//! With nearest-even rounding a loop of host arithmetic (sources and results masked where denormals are flushed) is
//! right except for NaNs: which of several is returned is the compiler's choice. So every lane with a NaN result is
//! done again by the exact function; so are all lanes under directed rounding.

use crate::fp::{flush16, flush32, flush64, half, quiet32};
use crate::lanes::{fill3, fill64, lane64, ranges};
use crate::level::{Level, level};
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op};
use crate::registers::Halves;
use crate::registers::Row;
use crate::wave::Wave;

/// Exact operations on bits.
pub type Exact3<T> = fn(Mode, T, T, T) -> T;

/// Whether a loop of host arithmetic can do it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Host,
    Flush,
    Exact,
}

#[inline(always)]
fn path(host: bool, round: Round) -> Path {
    match round {
        _ if host => Path::Host,
        Round::NearestEven => Path::Flush,
        _ => Path::Exact,
    }
}

#[inline(always)]
fn path16_64(m: Mode) -> Path {
    path(m.host16_64(), m.round16_64())
}

#[cold]
#[inline(never)]
fn redo32(m: Mode, all: bool, out: &mut Row, [a, b, c]: [&Row; 3], f: Exact3<u32>) {
    for i in 0..64 {
        if all || f32::from_bits(out.0[i]).is_nan() {
            out.0[i] = f(m, a.0[i], b.0[i], c.0[i]);
        }
    }
}

/// Gives each NaN of a result that comes from a source: the first of them that is one, made quiet. (The sources that are
/// off in a mask, and what a division of zero leaves, make these common.) Whether there are others.
#[inline(always)]
fn carry_nans<const SOURCES: usize>(halves: Halves, out: &mut Row, [a, b, c]: [&Row; 3]) -> bool {
    // All ones for a NaN.
    let is_nan = |x: u32| (0x7f80_0000 - (x & 0x7fff_ffff) as i32) >> 31;
    let mut left = 0;
    for lanes in ranges(halves) {
        for i in lanes {
            let mut from = 0;
            let mut found = 0;
            let mut look_at = |x: u32| {
                let here = is_nan(x);
                from = from & !here as u32 | x & here as u32;
                found |= here;
            };
            // The first one wins.
            if SOURCES > 2 {
                look_at(c.0[i]);
            }
            look_at(b.0[i]);
            look_at(a.0[i]);
            let here = is_nan(out.0[i]);
            left |= here & !found;
            let carried = (here & found) as u32;
            out.0[i] = out.0[i] & !carried | quiet32(from) & carried;
        }
    }
    left != 0
}

/// dst = f(src0, src1, src2); operations of fewer `SOURCES` ignore the rest. Of several NaNs the first is the result.
#[inline(always)]
pub fn float32<const SOURCES: usize>(
    w: &mut Wave,
    op: &Op,
    host: impl Fn(f32, f32, f32) -> f32,
    exact: Exact3<u32>,
) -> Flow {
    let m = w.mode;
    // Zeros in each arm by itself: where all of it is filled, nothing is cleared before.
    let mut out;
    let (a, b, c) = (w.row(op.src[0]), w.row(op.src[1]), w.row(op.src[2]));
    let path = path(m.host32(), m.round32());
    match path {
        Path::Host => {
            out = Row::ZERO;
            fill3(&mut out, a, b, c, |a, b, c| host(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits())
        }
        Path::Flush => {
            let (ki, ko) = (m.denorm_in32(), m.denorm_out32());
            let read = |x: u32| f32::from_bits(flush32(x, ki));
            out = Row::ZERO;
            fill3(&mut out, a, b, c, |a, b, c| flush32(host(read(a), read(b), read(c)).to_bits(), ko));
        }
        Path::Exact => out = Row::ZERO,
    }
    if path == Path::Exact || any_nan32(&out) && carry_nans::<SOURCES>(w.halves(), &mut out, [a, b, c]) {
        redo32(m, path == Path::Exact, &mut out, [a, b, c], exact);
    }
    w.write(op.dst, &out);
    Flow::Next
}

#[cold]
#[inline(never)]
fn redo64(m: Mode, all: bool, lo: &mut Row, hi: &mut Row, [a, b, c]: [(&Row, &Row); 3], f: Exact3<u64>) {
    for i in 0..64 {
        if all || f64::from_bits(lane64((lo, hi), i)).is_nan() {
            let r = f(m, lane64(a, i), lane64(b, i), lane64(c, i));
            (lo.0[i], hi.0[i]) = (r as u32, (r >> 32) as u32);
        }
    }
}

/// As [`float32`] for f64 with `SOURCES` sources.
#[inline(always)]
pub fn float64<const SOURCES: usize>(
    w: &mut Wave,
    op: &Op,
    host: impl Fn(f64, f64, f64) -> f64,
    exact: Exact3<u64>,
) -> Flow {
    let m = w.mode;
    let (mut lo, mut hi) = (Row::ZERO, Row::ZERO);
    let source = |k: usize| w.pair(op.src[if k < SOURCES { k } else { 0 }]);
    let (a, b, c) = (source(0), source(1), source(2));
    let path = path16_64(m);
    match path {
        Path::Host => fill64(&mut lo, &mut hi, |i| {
            let read = |pair| f64::from_bits(lane64(pair, i));
            host(read(a), read(b), read(c)).to_bits()
        }),
        Path::Flush => {
            let (ki, ko) = (m.denorm_in16_64(), m.denorm_out16_64());
            fill64(&mut lo, &mut hi, |i| {
                let read = |pair| f64::from_bits(flush64(lane64(pair, i), ki));
                flush64(host(read(a), read(b), read(c)).to_bits(), ko)
            });
        }
        Path::Exact => {}
    }
    // An infinity sends us there too, which costs only time.
    if path == Path::Exact || any_above(&hi, 0x7fff_ffff, 0x7fef_ffff) {
        redo64(m, path == Path::Exact, &mut lo, &mut hi, [a, b, c], exact);
    }
    w.write(op.dst, &lo);
    w.write(op.dst + 1, &hi);
    Flow::Next
}

/// Whether a lane's bits under `mask` are more than `limit`: magnitudes of floats compare as integers, NaNs above all.
#[inline(always)]
pub fn any_above(row: &Row, mask: u32, limit: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: `level` says that the processor has the features.
        return unsafe { any_above_avx512(row, mask, limit) };
    }
    row.0.iter().fold(0, |most, &x| most.max(x & mask)) > limit
}

/// To find the largest of sixteen lanes takes longer than the arithmetic; to find whether one is too large does not.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn any_above_avx512(row: &Row, mask: u32, limit: u32) -> bool {
    use std::arch::x86_64::*;
    let (mask, limit) = (_mm512_set1_epi32(mask as i32), _mm512_set1_epi32(limit as i32));
    let mut above = 0;
    for lanes in row.0.as_chunks::<16>().0 {
        // SAFETY: 64 bytes.
        let x = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
        above |= _mm512_cmpgt_epu32_mask(_mm512_and_si512(x, mask), limit);
    }
    above != 0
}

/// Whether a lane holds an f32 NaN.
#[inline(always)]
pub fn any_nan32(row: &Row) -> bool {
    any_above(row, 0x7fff_ffff, 0x7f80_0000)
}

/// A row pair as 64-bit lanes.
#[inline(always)]
pub fn read64(w: &Wave, index: u16) -> [u64; 64] {
    let mut out = [0; 64];
    let (lo, hi) = w.pair(index);
    join(&mut out, lo, hi);
    out
}
#[inline(always)]
fn join(out: &mut [u64; 64], lo: &Row, hi: &Row) {
    for i in 0..64 {
        out[i] = lane64((lo, hi), i);
    }
}

/// Writes 64-bit lanes to a row pair under EXEC.
#[inline(always)]
pub fn write64(w: &mut Wave, dst: u16, value: &[u64; 64]) {
    let (mut lo, mut hi) = (Row::ZERO, Row::ZERO);
    fill64(&mut lo, &mut hi, |i| value[i]);
    w.write(dst, &lo);
    w.write(dst + 1, &hi);
}

/// A lane mask from 0 or 1 a lane.
#[inline(always)]
pub fn mask(lanes: &[u32; 64]) -> u64 {
    let mut wide = [0; 64];
    for i in 0..64 {
        wide[i] = lanes[i].wrapping_neg();
    }
    crate::masks::pack(&wide)
}

/// One half of each source, done in f32 (`host`'s result must round to f16 as the exact one would).
#[inline(always)]
fn halves(
    m: Mode,
    [a, b, c]: [&Row; 3],
    shift: u32,
    host: &impl Fn(f32, f32, f32) -> u32,
    exact: Exact3<u32>,
    out: &mut Row,
) {
    let path = if m.fp16_ovfl() { Path::Exact } else { path16_64(m) };
    let mut result = Row::ZERO;
    match path {
        Path::Host => {
            fill_halves(&mut result, [a, b, c], shift, true, host);
        }
        Path::Flush => {
            fill_halves(&mut result, [a, b, c], shift, m.denorm_in16_64(), host);
            for x in &mut result.0 {
                *x = flush16(*x, m.denorm_out16_64());
            }
        }
        Path::Exact => {}
    }
    if path == Path::Exact || any_above(&result, 0x7fff, 0x7c00) {
        redo16(m, path == Path::Exact, shift, &mut result, [a, b, c], exact);
    }
    for i in 0..64 {
        out.0[i] |= result.0[i] << shift;
    }
}

/// A loop of its own rather than a closure: a closure of this size is compiled once, as a function for the baseline
/// processor, and called for each lane.
#[inline(always)]
fn fill_halves(out: &mut Row, [a, b, c]: [&Row; 3], shift: u32, keep: bool, host: &impl Fn(f32, f32, f32) -> u32) {
    let mask = if keep { !0 } else { 0x8000 };
    for i in 0..64 {
        let (x, y, z) = (a.0[i] >> shift & 0xffff, b.0[i] >> shift & 0xffff, c.0[i] >> shift & 0xffff);
        let x = if x & 0x7c00 == 0 { x & mask } else { x };
        let y = if y & 0x7c00 == 0 { y & mask } else { y };
        let z = if z & 0x7c00 == 0 { z & mask } else { z };
        out.0[i] = host(half::f16_to_f32(x), half::f16_to_f32(y), half::f16_to_f32(z));
    }
}

#[cold]
#[inline(never)]
fn redo16(m: Mode, all: bool, shift: u32, out: &mut Row, [a, b, c]: [&Row; 3], f: Exact3<u32>) {
    for i in 0..64 {
        if all || out.0[i] & 0x7fff > 0x7c00 {
            let take = |x: u32| x >> shift & 0xffff;
            out.0[i] = f(m, take(a.0[i]), take(b.0[i]), take(c.0[i]));
        }
    }
}

/// dst = f(src0, src1, src2) on f16; the high half of the result is zero.
#[inline(always)]
pub fn float16(w: &mut Wave, op: &Op, host: impl Fn(f32, f32, f32) -> u32, exact: Exact3<u32>) -> Flow {
    let mut out = Row::ZERO;
    let sources = [w.row(op.src[0]), w.row(op.src[1]), w.row(op.src[2])];
    halves(w.mode, sources, 0, &host, exact, &mut out);
    w.write(op.dst, &out);
    Flow::Next
}

/// As [`float16`] on both halves.
#[inline(always)]
pub fn packed16(w: &mut Wave, op: &Op, host: impl Fn(f32, f32, f32) -> u32, exact: Exact3<u32>) -> Flow {
    let mut out = Row::ZERO;
    let sources = [w.row(op.src[0]), w.row(op.src[1]), w.row(op.src[2])];
    halves(w.mode, sources, 0, &host, exact, &mut out);
    halves(w.mode, sources, 16, &host, exact, &mut out);
    w.write(op.dst, &out);
    Flow::Next
}

/// f16 fused multiply-add. The product of halves is exact in f32; the sum is rounded to odd (by its exact error), after
/// which rounding to f16 is as if it were the first.
#[inline(always)]
pub fn fma_f16(a: f32, b: f32, c: f32) -> u32 {
    let product = a * b;
    let sum = product + c;
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    let bits = sum.to_bits();
    // An even last bit with an error: the odd neighbour, which lies on the error's side.
    let outward = (error.to_bits() ^ bits) >> 31 == 0;
    let odd = if outward { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let keep = (error == 0.0) | (bits & 1 != 0) | (bits & 0x7f80_0000 == 0x7f80_0000);
    half::f32_to_f16(f32::from_bits(if keep { bits } else { odd }))
}
