//! The factor of an output modifier (2, 4 or 1/2) as RDNA applies it: to the result as it is in its own format, by its
//! exponent.
//!
//! A zero or a denormal becomes +0, whatever MODE says of denormals; what halving makes denormal becomes a zero of its
//! sign; what becomes too large is rounded as MODE says (the transcendental unit's results to nearest), and an f16 stays
//! finite where MODE asks for that. So it is on gfx1201 in all formats and modes, and for f16 on gfx1100, gfx1030 and
//! gfx1010 (rocjitsu's captures, shared/output_modifier.h; for gfx1201 also bjacob/goc's). RDNA4 applies it whatever MODE
//! says; before it, it is ignored where MODE keeps denormal results or asks for IEEE ones. gfx1250 is taken to do as RDNA4.

use super::soft::Format;
use crate::mode::Round;

/// What a number that is too large becomes.
#[derive(Clone, Copy)]
pub struct Overflow {
    pub round: Round,
    /// The largest number, in any case.
    pub saturate: bool,
}

/// `x` times 2, 4 or 1/2 (`omod` 1 to 3).
#[inline(always)]
pub fn scaled(f: Format, x: u64, omod: u32, overflow: Overflow) -> u64 {
    let sign = 1u64 << (f.exponent + f.fraction);
    let (negative, magnitude) = (x & sign, x & (sign - 1));
    let (exponent, top) = ((magnitude >> f.fraction) as i32, (1 << f.exponent) - 1);
    let steps = [0, 1, 2, -1][omod as usize & 3];
    if exponent == top || steps == 0 {
        return x;
    }
    if exponent == 0 {
        return 0;
    }
    let made = exponent + steps;
    if made <= 0 {
        return negative;
    }
    if made >= top {
        let to_infinity = match overflow.round {
            Round::NearestEven => true,
            Round::Up => negative == 0,
            Round::Down => negative != 0,
            Round::Zero => false,
        };
        let infinity = (top as u64) << f.fraction;
        return negative | if to_infinity && !overflow.saturate { infinity } else { infinity - 1 };
    }
    negative | (made as u64) << f.fraction | magnitude & ((1 << f.fraction) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fp::soft::{F16, F32, F64};

    const NEAREST: Overflow = Overflow { round: Round::NearestEven, saturate: false };

    /// Points that rocjitsu's tests have from gfx1201 (f16 also from gfx1100 and gfx1030).
    #[test]
    fn captured() {
        assert_eq!(scaled(F32, 0x8000_0000, 1, NEAREST), 0, "a zero loses its sign");
        assert_eq!(scaled(F32, 0x80ff_ffff, 3, NEAREST), 0x8000_0000, "what underflows keeps it");
        assert_eq!(scaled(F16, 0x83ff, 1, NEAREST), 0, "denormals are zeros");
        assert_eq!(scaled(F16, 0x8400, 3, NEAREST), 0x8000);
        assert_eq!(scaled(F16, 0x7bff, 1, NEAREST), 0x7c00);
        let directed = |round, saturate| Overflow { round, saturate };
        assert_eq!(scaled(F16, 0x7bff, 1, directed(Round::Up, false)), 0x7c00);
        assert_eq!(scaled(F16, 0x7bff, 1, directed(Round::Up, true)), 0x7bff);
        assert_eq!(scaled(F16, 0x7bff, 1, directed(Round::Down, false)), 0x7bff);
        assert_eq!(scaled(F16, 0xfbff, 1, directed(Round::Up, false)), 0xfbff);
        assert_eq!(scaled(F16, 0xfbff, 1, directed(Round::Down, false)), 0xfc00);
        assert_eq!(scaled(F16, 0x7c00, 3, directed(Round::Zero, true)), 0x7c00, "infinities stay");
        assert_eq!(scaled(F32, 0x7fc0_0001, 2, NEAREST), 0x7fc0_0001, "NaNs too");
        assert_eq!(scaled(F64, 1.5f64.to_bits(), 2, NEAREST), 6f64.to_bits());
        assert_eq!(scaled(F64, 1.5f64.to_bits(), 3, NEAREST), 0.75f64.to_bits());
    }
}
