//! What is computed in each lane by itself, for any number of lanes: the interpreter has it done for halves of rows, native
//! code for the lanes of a vector.

use crate::lanes::HALF;
use crate::masks::pack;
use crate::op::{Flow, Op};
use crate::registers::Row;
use crate::wave::Wave;

/// Vectors of words that an operation is given and gives at most.
pub const SOURCES: usize = 7;
pub const RESULTS: usize = 3;

/// An operation on words. `lanes` must be `#[inline(always)]`, and so must what it calls.
pub trait Lanewise {
    /// The results for as many lanes. Sources and results of 64 bits are two, the low words first. Behind all results is the
    /// mask of those operations that give one, of all ones or zeros a lane; the last source is one for those that read it.
    fn lanes<const N: usize>(w: &Wave, sources: [&[u32; N]; SOURCES], out: [&mut [u32; N]; RESULTS]);
}

/// dst = an operation on src0, src1 and src2.
#[inline(always)]
pub fn lanewise<F: Lanewise>(w: &mut Wave, op: &Op) -> Flow {
    let [a, b, c] = op.src;
    let [out, ..] = all::<F>(w, [a, b, c, a, a, a, a]);
    w.write(op.dst, &out);
    Flow::Next
}

/// The same, and sdst = the mask that it gives.
#[inline(always)]
pub fn lanewise_with_mask<F: Lanewise>(w: &mut Wave, op: &Op) -> Flow {
    let [a, b, c] = op.src;
    let [out, mask, _] = all::<F>(w, [a, b, c, a, a, a, a]);
    w.write(op.dst, &out);
    set_mask(w, op, &mask);
    Flow::Next
}

/// dst:64 = an operation on src0:64, src1:64 and src2:64.
#[inline(always)]
pub fn lanewise64<F: Lanewise>(w: &mut Wave, op: &Op) -> Flow {
    let [a, b, c] = op.src;
    let [low, high, _] = all::<F>(w, [a, a + 1, b, b + 1, c, c + 1, a]);
    write_pair(w, op, &low, &high);
    Flow::Next
}

/// dst:64 = an operation on src0:64 and src1:32.
#[inline(always)]
pub fn lanewise64_with_word<F: Lanewise>(w: &mut Wave, op: &Op) -> Flow {
    let [a, b, _] = op.src;
    let [low, high, _] = all::<F>(w, [a, a + 1, b, a, a, a, a]);
    write_pair(w, op, &low, &high);
    Flow::Next
}

/// As [`lanewise64`], and sdst = the mask that it gives.
#[inline(always)]
pub fn lanewise64_with_mask<F: Lanewise>(w: &mut Wave, op: &Op) -> Flow {
    let [a, b, c] = op.src;
    let [low, high, mask] = all::<F>(w, [a, a + 1, b, b + 1, c, c + 1, a]);
    write_pair(w, op, &low, &high);
    set_mask(w, op, &mask);
    Flow::Next
}

#[inline(always)]
fn write_pair(w: &mut Wave, op: &Op, low: &Row, high: &Row) {
    w.write(op.dst, low);
    w.write(op.dst + 1, high);
}

#[inline(always)]
fn set_mask(w: &mut Wave, op: &Op, lanes: &Row) {
    let mask = pack(&lanes.0) & w.exec();
    w.set_mask(op.sdst, mask);
}

/// All results, of rows.
#[inline(always)]
fn all<F: Lanewise>(w: &Wave, sources: [u16; SOURCES]) -> [Row; RESULTS] {
    let (mut a, mut b, mut c) = (Row::ZERO, Row::ZERO, Row::ZERO);
    let sources = sources.map(|source| w.row(source).0.as_chunks::<HALF>().0);
    for half in 0..w.halves().min(2) {
        let out = [&mut a, &mut b, &mut c].map(|row| &mut row.0.as_chunks_mut().0[half]);
        F::lanes(w, sources.map(|source| &source[half]), out);
    }
    [a, b, c]
}
