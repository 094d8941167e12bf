//! `v_swmmac_*` of gfx1250: of every four elements along K of a row of A two are stored, and an index says which.
//!
//! The stored elements lie as those of an operation of half of K do, B's in turns of twice as many, so that elements that
//! meet are in the same half of the wave. The index has two bits for each stored element of a row, the place among its
//! four; the first half of them is in lanes 0 to 15, the second in lanes 16 to 31, *in the order along K*, not in the turns
//! of the elements. With K = 64 it fills a register, with K = 128 a pair. INDEX_KEY, which on RDNA4 says which part of the
//! register counts, has nothing left to say and is refused. D is C as well; but `v_swmmac_bf16f32` reads eight registers
//! of f32 and writes the first four of them, two results to a register.
//!
//! Sources: AMD's Tensile (LraTileAssignment, for sparse kernels that run on the hardware: both the rows of metadata that
//! the lanes load, and B's doubled turns), and AMD's rocjitsu, which has been corrected to agree with these kernels after
//! it had followed the manual of CDNA5 (rocm-systems, issue 10522); the registers of the result of `v_swmmac_bf16f32` are
//! from rocjitsu alone. LLVM 22 takes the index for half as wide as it is; later versions of its builtins do not.
//! Everything else is as in [`super::wmma1250`].

use luthier_isa::op::Op as IsaOp;

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::wmma::{Bf8, Bf16, Element, F16, Fp8, SIZE};
use super::wmma1250::{Holds, Packed, SIGNS, Single, addends, bytes, floats, integers, multiply_met, results, turn};
use crate::op::{Flow, Op, Semantics};
use crate::registry::ValuOp;
use crate::wave::Wave;

/// For each row of A and each of its `STORED` elements: which row of B it meets.
#[inline(always)]
fn met<const STORED: usize>(w: &Wave, op: &Op) -> [[u8; STORED]; SIZE] {
    /// Indices in a register.
    const EACH: usize = 16;
    let mut out = [[0; STORED]; SIZE];
    for (row, out) in out.iter_mut().enumerate() {
        for (s, out) in out.iter_mut().enumerate() {
            let (half, at) = (s / (STORED / 2), s % (STORED / 2));
            let index = w.row(op.src[2] + (at / EACH) as u16).0[row + SIZE * half] >> (2 * (at % EACH));
            *out = (s / 2 * 4) as u8 + (index & 3) as u8;
        }
    }
    out
}

/// D (as `D` holds it) = A * B + D (as `C` holds it).
struct Sparse<A, B, C, D, const STORED: usize, const K: usize>(PhantomData<(A, B, C, D)>);
impl<A: Element, B: Element, C: Holds, D: Holds, const STORED: usize, const K: usize> Semantics
    for Sparse<A, B, C, D, STORED, K>
{
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mut sums = addends::<C>(w, op, op.dst);
        let own = turn(A::BITS, STORED);
        let (mut a, mut b) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let a = floats::<A, STORED>(w, op, 0, own, &mut a);
        let b = floats::<B, K>(w, op, 1, 2 * own, &mut b);
        let met = met::<STORED>(w, op);
        multiply_met(&mut sums, a, b, |row, s| usize::from(met[row][s]) % K);
        results::<D>(w, op.dst, &sums);
        Flow::Next
    }
}

/// Bytes, added to 32 bits. NEG says whether A's and B's are signed.
struct Integers;
impl Semantics for Integers {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        const STORED: usize = 64;
        const K: usize = 2 * STORED;
        let own = turn(8, STORED);
        let (a, b) = (bytes::<STORED>(w, op, 0, own), bytes::<K>(w, op, 1, 2 * own));
        let met = met::<STORED>(w, op);
        let mut dot = [[0.0; SIZE]; SIZE];
        multiply_met(&mut dot, &a, &b, |row, s| usize::from(met[row][s]) % K);
        integers(w, op, op.dst, &dot);
        Flow::Next
    }
}

/// INDEX_KEY, in the lower bits of OP_SEL.
const INDEX_KEY: u64 = 3 << 6;

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    let base = op.name();
    /// Eight-bit floats, by what holds the result.
    macro_rules! bytes {
        ($kinds:expr, $held:ty) => {
            match $kinds {
                "fp8_fp8" => ValuOp::of::<Sparse<Fp8, Fp8, $held, $held, 64, 128>>(),
                "fp8_bf8" => ValuOp::of::<Sparse<Fp8, Bf8, $held, $held, 64, 128>>(),
                "bf8_fp8" => ValuOp::of::<Sparse<Bf8, Fp8, $held, $held, 64, 128>>(),
                "bf8_bf8" => ValuOp::of::<Sparse<Bf8, Bf8, $held, $held, 64, 128>>(),
                _ => return None,
            }
            .refuses(SIGNS | INDEX_KEY)
        };
    }
    type Halves = Packed<F16>;
    type Brains = Packed<Bf16>;
    let op = match base.strip_prefix("v_swmmac_")? {
        "f32_16x16x64_f16" => ValuOp::of::<Sparse<F16, F16, Single, Single, 32, 64>>().refuses(INDEX_KEY),
        "f32_16x16x64_bf16" => ValuOp::of::<Sparse<Bf16, Bf16, Single, Single, 32, 64>>().refuses(INDEX_KEY),
        "f16_16x16x64_f16" => ValuOp::of::<Sparse<F16, F16, Halves, Halves, 32, 64>>().refuses(INDEX_KEY),
        "bf16_16x16x64_bf16" => ValuOp::of::<Sparse<Bf16, Bf16, Brains, Brains, 32, 64>>().refuses(INDEX_KEY),
        "bf16f32_16x16x64_bf16" => ValuOp::of::<Sparse<Bf16, Bf16, Single, Brains, 32, 64>>().refuses(INDEX_KEY),
        "i32_16x16x128_iu8" => ValuOp::of::<Integers>().refuses(INDEX_KEY),
        name => match (name.strip_prefix("f32_16x16x128_"), name.strip_prefix("f16_16x16x128_")) {
            (Some(kinds), _) => bytes!(kinds, Single),
            (_, Some(kinds)) => bytes!(kinds, Halves),
            _ => return None,
        },
    };
    Some(op.raw_mods().places_halves())
}
