//! What is computed in each lane by itself, for any number of lanes: the interpreter has it done for halves of rows, native
//! code for the lanes of a vector.

use crate::lanes::HALF;
use crate::masks::pack;
use crate::op::{Flow, Op};
use crate::wave::{Row, Wave};

/// An operation on words. `lanes` must be `#[inline(always)]`, and so must what it calls.
pub trait Lanewise {
    /// The results for as many lanes. The fourth source is a mask, of all ones or zeros a lane, for those that read one. So is
    /// the second result, of those that have one.
    fn lanes<const N: usize>(w: &Wave, sources: [&[u32; N]; 4], out: [&mut [u32; N]; 2]);
}

/// dst = an operation on src0, src1 and src2.
#[inline(always)]
pub fn lanewise<F: Lanewise>(w: &mut Wave, op: &Op) -> Flow {
    let out = both::<F>(w, op)[0];
    w.write(op.dst, &out);
    Flow::Next
}

/// The same, and sdst = its second result.
#[inline(always)]
pub fn lanewise_with_mask<F: Lanewise>(w: &mut Wave, op: &Op) -> Flow {
    let [out, mask] = both::<F>(w, op);
    w.write(op.dst, &out);
    let mask = pack(&mask.0) & w.exec();
    w.set_mask(op.sdst, mask);
    Flow::Next
}

#[inline(always)]
fn both<F: Lanewise>(w: &Wave, op: &Op) -> [Row; 2] {
    let (mut out, mut second) = (Row::ZERO, Row::ZERO);
    let [a, b, c] = op.src.map(|source| w.row(source).0.as_chunks::<HALF>().0);
    let results = out.0.as_chunks_mut().0.iter_mut().zip(second.0.as_chunks_mut().0);
    for (half, (out, second)) in results.enumerate().take(w.halves()) {
        F::lanes(w, [&a[half], &b[half], &c[half], &a[half]], [out, second]);
    }
    [out, second]
}
