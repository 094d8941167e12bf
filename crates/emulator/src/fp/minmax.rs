//! Minimum, maximum and median with the device's NaN rules: a NaN loses against a number, except that a signalling
//! NaN is returned, quieted, when MODE.ieee is set; -0 is less than +0. Of two NaNs gfx9 returns the second, RDNA the
//! first.
//!
//! RDNA4 knows no signalling NaNs, quiets what it returns, and tells zeros of both signs apart in medians; it flushes
//! sources, not results. So do gfx1201's results that AMD's rocjitsu has been held to (shared/minmax.h, its tests; for f16
//! also bjacob/goc). Where they do not agree with the manual's pseudocode, it is they that count here: of several NaNs
//! `minimum` returns the first, not a signalling one, and the median of -0, +0 and -0 is -0. gfx1250 is taken to do as
//! RDNA4 does.

use super::{is_nan16, is_nan32, is_nan64, is_snan16, is_snan32, is_snan64, quiet16, quiet32, quiet64};

use luthier_isa::Generation;

use crate::mode::Mode;

/// What becomes of NaNs.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Signalling ones win.
    pub ieee: bool,
    /// Of two the first wins.
    pub first: bool,
    /// RDNA4's rules: it is quieted; medians tell zeros apart; results are not flushed.
    pub rdna4: bool,
}

impl Rules {
    /// Those of a processor in a mode.
    #[inline(always)]
    pub fn of(mode: Mode, generation: Generation) -> Rules {
        use Generation::{Gfx9, Gfx12, Gfx90a, Gfx940, Gfx1250};
        let rdna4 = matches!(generation, Gfx12 | Gfx1250);
        Rules { ieee: mode.ieee() && !rdna4, first: !matches!(generation, Gfx9 | Gfx90a | Gfx940), rdna4 }
    }
    /// Whether denormal f32 are left as they are, as sources and as results.
    #[inline(always)]
    pub fn keeps32(self, m: Mode) -> [bool; 2] {
        [m.denorm_in32(), self.rdna4 || m.denorm_out32()]
    }
    /// The same of f16 and f64.
    #[inline(always)]
    pub fn keeps16_64(self, m: Mode) -> [bool; 2] {
        [m.denorm_in16_64(), self.rdna4 || m.denorm_out16_64()]
    }
}

macro_rules! minmax {
    ($t:ty, $s:ty, $sign:expr, $is_nan:ident, $is_snan:ident, $quiet:ident, $key:ident, $min:ident, $max:ident,
     $min3:ident, $max3:ident, $med3:ident, $minimum:ident, $maximum:ident) => {
        /// Order of the non-NaN values as integers.
        #[inline(always)]
        fn $key(x: $t) -> $s {
            const SIGN: $t = $sign;
            let magnitude = (x & (SIGN - 1)) as $s;
            if x & SIGN != 0 { -magnitude - 1 } else { magnitude }
        }
        #[inline(always)]
        pub fn $min(rules: Rules, a: $t, b: $t) -> $t {
            let r = if $key(a) < $key(b) { a } else { b };
            let r = if $is_nan(b) { a } else { r };
            let r = if $is_nan(a) & !(rules.first & $is_nan(b)) { b } else { r };
            let r = if rules.rdna4 & $is_nan(r) { $quiet(r) } else { r };
            let r = if rules.ieee & $is_snan(b) { $quiet(b) } else { r };
            if rules.ieee & $is_snan(a) { $quiet(a) } else { r }
        }
        #[inline(always)]
        pub fn $max(rules: Rules, a: $t, b: $t) -> $t {
            let r = if $key(a) >= $key(b) { a } else { b };
            let r = if $is_nan(b) { a } else { r };
            let r = if $is_nan(a) & !(rules.first & $is_nan(b)) { b } else { r };
            let r = if rules.rdna4 & $is_nan(r) { $quiet(r) } else { r };
            let r = if rules.ieee & $is_snan(b) { $quiet(b) } else { r };
            if rules.ieee & $is_snan(a) { $quiet(a) } else { r }
        }
        #[inline(always)]
        pub fn $min3(rules: Rules, a: $t, b: $t, c: $t) -> $t {
            $min(rules, $min(rules, a, b), c)
        }
        #[inline(always)]
        pub fn $max3(rules: Rules, a: $t, b: $t, c: $t) -> $t {
            $max(rules, $max(rules, a, b), c)
        }
        /// IEEE 754-2019's minimum: a NaN is returned, the first of several, quieted.
        #[inline(always)]
        pub fn $minimum(a: $t, b: $t) -> $t {
            let r = if $key(a) < $key(b) { a } else { b };
            let r = if $is_nan(b) { $quiet(b) } else { r };
            if $is_nan(a) { $quiet(a) } else { r }
        }
        #[inline(always)]
        pub fn $maximum(a: $t, b: $t) -> $t {
            let r = if $key(a) >= $key(b) { a } else { b };
            let r = if $is_nan(b) { $quiet(b) } else { r };
            if $is_nan(a) { $quiet(a) } else { r }
        }
        /// The middle one; the minimum if one is a NaN.
        #[inline(always)]
        pub fn $med3(rules: Rules, a: $t, b: $t, c: $t) -> $t {
            let top = $max3(rules, a, b, c);
            let r = $max(rules, a, b);
            const SIGN: $t = $sign;
            let same = |x: $t| (x == top) | (!rules.rdna4 & ((x | top) & (SIGN - 1) == 0)); // zeros of both signs
            let r = if same(b) { $max(rules, a, c) } else { r };
            let r = if same(a) { $max(rules, b, c) } else { r };
            if $is_nan(a) | $is_nan(b) | $is_nan(c) { $min3(rules, a, b, c) } else { r }
        }
    };
}

minmax!(
    u32,
    i32,
    1 << 31,
    is_nan32,
    is_snan32,
    quiet32,
    key32,
    min32,
    max32,
    min3_32,
    max3_32,
    med3_32,
    minimum32,
    maximum32
);
minmax!(
    u64,
    i64,
    1 << 63,
    is_nan64,
    is_snan64,
    quiet64,
    key64,
    min64,
    max64,
    min3_64,
    max3_64,
    med3_64,
    minimum64,
    maximum64
);
minmax!(
    u32,
    i32,
    1 << 15,
    is_nan16,
    is_snan16,
    quiet16,
    key16,
    min16,
    max16,
    min3_16,
    max3_16,
    med3_16,
    minimum16,
    maximum16
);
