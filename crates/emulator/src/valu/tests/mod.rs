//! Handlers run on edge cases and random lanes, against computations that share no code with them.

mod compare;
mod coverage;
mod division;
mod dots;
mod floats;
mod integers;
mod lanes;
mod modes;
mod packed;
mod special;

use crate::mode::Mode;
use crate::op::{Op, OpFlags};
use crate::registers::Row;
use crate::wave::Wave;

/// Denormals kept, IEEE and DX10 clamp on: how compute kernels start.
const DEFAULT: u32 = 0x3f0;
/// What an invalid operation returns.
const NAN: u32 = 0xffc0_0000;

/// Where the tests put sources and results: rows 0, 4, 8, and 16.
const SOURCES: [u16; 3] = [0, 4, 8];
const RESULT: u16 = 16;
/// An SGPR pair for masks.
const MASK: u8 = 20;

/// A wave with EXEC full and a micro-op, ready to run an operation.
struct Bench {
    wave: Wave,
    op: Op,
}

impl Bench {
    fn new(mode: u32) -> Bench {
        let mut wave = Wave::new();
        wave.mode = Mode(mode);
        wave.set_exec(!0);
        Bench { wave, op: Op { dst: RESULT, src: SOURCES, sdst: MASK, ssrc: MASK, ..Op::NOTHING } }
    }
    fn set(&mut self, k: usize, lane: usize, value: u64) {
        self.wave.row_mut(SOURCES[k]).0[lane] = value as u32;
        self.wave.row_mut(SOURCES[k] + 1).0[lane] = (value >> 32) as u32;
    }
    fn run(&mut self, name: &str) {
        let valu =
            luthier_isa::op::Op::from_name(name).and_then(super::lookup).unwrap_or_else(|| panic!("{name} is unknown"));
        let op = Op { imm2: self.op.imm2 | valu.variant, ..self.op };
        // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
        let _ = unsafe { valu.variants.select()(&mut self.wave, &op) };
    }
    fn get(&self, lane: usize) -> u64 {
        let (lo, hi) = self.wave.pair(RESULT);
        u64::from(lo.0[lane]) | u64::from(hi.0[lane]) << 32
    }
    fn get32(&self, lane: usize) -> u32 {
        self.wave.row(RESULT).0[lane]
    }
    fn mask(&self) -> u64 {
        self.wave.s64(MASK)
    }
}

/// Runs one operation on many triples, 64 at a time; the low row of each result, and the high one.
fn run_many(name: &str, mode: u32, clamp: bool, triples: &[[u64; 3]]) -> Vec<u64> {
    let mut out = Vec::new();
    for chunk in triples.chunks(64) {
        let mut bench = Bench::new(mode);
        if clamp {
            bench.op.flags |= OpFlags::CLAMP;
        }
        *bench.wave.row_mut(RESULT) = Row::ZERO;
        *bench.wave.row_mut(RESULT + 1) = Row::ZERO;
        for (lane, triple) in chunk.iter().enumerate() {
            for (k, &value) in triple.iter().enumerate() {
                bench.set(k, lane, value);
            }
        }
        bench.run(name);
        out.extend((0..chunk.len()).map(|lane| bench.get(lane)));
    }
    out
}

/// One 32-bit result.
fn one(name: &str, a: u32, b: u32, c: u32) -> u32 {
    run_many(name, DEFAULT, false, &[[a.into(), b.into(), c.into()]])[0] as u32
}

/// A small generator (splitmix64): the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// All triples of the values, and random ones.
fn triples(edges: &[u64], sources: usize, random: usize) -> Vec<[u64; 3]> {
    let third: &[u64] = if sources == 3 { edges } else { &[0] };
    let mut out = Vec::new();
    for &a in edges {
        for &b in edges {
            for &c in third {
                out.push([a, b, c]);
            }
        }
    }
    let mut r = Random(edges.len() as u64);
    out.extend((0..random).map(|_| [r.next(), r.next(), r.next()]));
    out
}
