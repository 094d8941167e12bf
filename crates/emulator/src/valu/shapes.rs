//! Loops of floating-point operations: the host's arithmetic where it gives the device's bits, the exact one elsewhere.
//!
//! With nearest-even rounding a loop of host arithmetic (sources and results masked where denormals are flushed) is
//! right except for NaNs: which of several is returned is the compiler's choice. So every lane with a NaN result is
//! done again by the exact function; so are all lanes under directed rounding.

use crate::fp::{flush16, flush32, flush64, half};
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op};
use crate::wave::{Row, Wave};

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

/// dst = f(src0, src1, src2); operations of fewer sources ignore the rest.
#[inline(always)]
pub fn float32(w: &mut Wave, op: &Op, host: impl Fn(f32, f32, f32) -> f32, exact: Exact3<u32>) -> Flow {
    let m = w.mode;
    let mut out = Row::ZERO;
    let (a, b, c) = (w.row(op.src[0]), w.row(op.src[1]), w.row(op.src[2]));
    let mut nan = 0;
    let path = path(m.host32(), m.round32());
    match path {
        Path::Host => {
            for i in 0..64 {
                let r = host(f32::from_bits(a.0[i]), f32::from_bits(b.0[i]), f32::from_bits(c.0[i]));
                nan |= u32::from(r.is_nan());
                out.0[i] = r.to_bits();
            }
        }
        Path::Flush => {
            let (ki, ko) = (m.denorm_in32(), m.denorm_out32());
            let read = |x: u32| f32::from_bits(flush32(x, ki));
            for i in 0..64 {
                let r = host(read(a.0[i]), read(b.0[i]), read(c.0[i]));
                nan |= u32::from(r.is_nan());
                out.0[i] = flush32(r.to_bits(), ko);
            }
        }
        Path::Exact => nan = 1,
    }
    if nan != 0 {
        redo32(m, path == Path::Exact, &mut out, [a, b, c], exact);
    }
    w.write(op.dst, &out);
    Flow::Next
}

#[cold]
#[inline(never)]
fn redo64(m: Mode, all: bool, out: &mut [u64; 64], [a, b, c]: [&[u64; 64]; 3], f: Exact3<u64>) {
    for i in 0..64 {
        if all || f64::from_bits(out[i]).is_nan() {
            out[i] = f(m, a[i], b[i], c[i]);
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
    let mut out = [0; 64];
    let source = |k: usize| if k < SOURCES { w.read64(op.src[k]) } else { [0; 64] };
    let (a, b, c) = (source(0), source(1), source(2));
    let mut nan = 0;
    let path = path16_64(m);
    match path {
        Path::Host => {
            for i in 0..64 {
                let r = host(f64::from_bits(a[i]), f64::from_bits(b[i]), f64::from_bits(c[i]));
                nan |= u64::from(r.is_nan());
                out[i] = r.to_bits();
            }
        }
        Path::Flush => {
            let (ki, ko) = (m.denorm_in16_64(), m.denorm_out16_64());
            let read = |x: u64| f64::from_bits(flush64(x, ki));
            for i in 0..64 {
                let r = host(read(a[i]), read(b[i]), read(c[i]));
                nan |= u64::from(r.is_nan());
                out[i] = flush64(r.to_bits(), ko);
            }
        }
        Path::Exact => nan = 1,
    }
    if nan != 0 {
        redo64(m, path == Path::Exact, &mut out, [&a, &b, &c], exact);
    }
    w.write64(op.dst, &out);
    Flow::Next
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
    let mut nan = 0;
    match path {
        Path::Host => {
            let read = |x: u32| half::f16_to_f32(x >> shift & 0xffff);
            for i in 0..64 {
                let r = host(read(a.0[i]), read(b.0[i]), read(c.0[i]));
                nan |= u32::from(r & 0x7fff > 0x7c00);
                out.0[i] |= r << shift;
            }
        }
        Path::Flush => {
            let (ki, ko) = (m.denorm_in16_64(), m.denorm_out16_64());
            let read = |x: u32| half::f16_to_f32(flush16(x >> shift & 0xffff, ki));
            for i in 0..64 {
                let r = flush16(host(read(a.0[i]), read(b.0[i]), read(c.0[i])), ko);
                nan |= u32::from(r & 0x7fff > 0x7c00);
                out.0[i] |= r << shift;
            }
        }
        Path::Exact => nan = 1,
    }
    if nan != 0 {
        redo16(m, path == Path::Exact, shift, out, [a, b, c], exact);
    }
}

#[cold]
#[inline(never)]
fn redo16(m: Mode, all: bool, shift: u32, out: &mut Row, [a, b, c]: [&Row; 3], f: Exact3<u32>) {
    for i in 0..64 {
        if all || (out.0[i] >> shift) & 0x7fff > 0x7c00 {
            let take = |x: u32| x >> shift & 0xffff;
            let r = f(m, take(a.0[i]), take(b.0[i]), take(c.0[i]));
            out.0[i] = out.0[i] & !(0xffff << shift) | r << shift;
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

/// f16 fused multiply-add: the product of halves is exact in f64 and the sum so nearly that rounding twice is rounding
/// once (a product that decides a tie reaches at most 42 bits below the sum's leading bit).
#[inline(always)]
pub fn fma_f16(a: f32, b: f32, c: f32) -> u32 {
    half::f64_to_f16(a as f64 * b as f64 + c as f64)
}
