//! One sum with whatever operands.

use super::{Factor, Result, Unit, left, product, take};

/// The sum of `N` products, in groups of `GROUP`, and of `c`. `saturates`: FP16_OVFL.
#[cold]
pub fn exact<U: Unit, A: Factor, B: Factor, R: Result, const GROUP: usize, const N: usize>(
    a: [u32; N],
    b: [u32; N],
    c: u32,
    saturates: bool,
) -> u32 {
    let invalid = if A::BITS == 8 { R::NAN } else { R::INVALID };
    let (mut wrong, mut infinite) = (false, [false; 2]);
    for (&a, &b) in a.iter().zip(&b) {
        if is_nan::<A>(a) || is_nan::<B>(b) {
            return R::NAN;
        }
        if A::is_special(a) || B::is_special(b) {
            wrong |= is_zero::<U, A>(a) || is_zero::<U, B>(b);
            infinite[usize::from((a > A::MAGNITUDE) != (b > B::MAGNITUDE))] = true;
        }
    }
    if wrong || infinite == [true; 2] {
        return invalid;
    }
    if c & !R::SIGN > R::INFINITY {
        return c | R::QUIET;
    }
    if c & !R::SIGN == R::INFINITY {
        infinite[usize::from(c & R::SIGN != 0)] = true;
    }
    match infinite {
        [false, false] => {}
        [true, true] => return invalid,
        [_, negative] => return R::INFINITY | if negative { R::SIGN } else { 0 },
    }
    let products = std::array::from_fn(|k| product(left::<A, B>(take::<U, A>(a[k])), take::<U, B>(b[k])));
    let (sum, last) = U::sum::<R, GROUP, N>(products, R::addend::<U, A>(c));
    R::exact::<U>(sum, last, saturates)
}

fn is_nan<F: Factor>(code: u32) -> bool {
    F::is_special(code) && (code & F::MAGNITUDE > F::SPECIAL || !F::INFINITE)
}

fn is_zero<U: Unit, F: Factor>(code: u32) -> bool {
    !F::is_special(code) && take::<U, F>(code).significand == 0
}
