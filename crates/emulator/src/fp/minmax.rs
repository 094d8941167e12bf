//! Minimum, maximum and median with the device's NaN rules: a NaN loses against a number, except that a signalling
//! NaN is returned, quieted, when MODE.ieee is set; -0 is less than +0. Of two NaNs gfx9 returns the second, RDNA the
//! first.

use super::{is_nan16, is_nan32, is_nan64, is_snan16, is_snan32, is_snan64, quiet16, quiet32, quiet64};

use luthier_isa::Generation;

use crate::wave::Wave;

/// What becomes of NaNs.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Signalling ones win.
    pub ieee: bool,
    /// Of two the first wins.
    pub first: bool,
    /// ... and is quieted.
    pub quiets: bool,
}

impl Rules {
    /// Those of a wave.
    #[inline(always)]
    pub fn of(w: &Wave) -> Rules {
        use Generation::{Gfx9, Gfx12, Gfx90a, Gfx940, Gfx1250};
        Rules {
            ieee: w.mode.ieee(),
            first: !matches!(w.generation, Gfx9 | Gfx90a | Gfx940),
            quiets: matches!(w.generation, Gfx12 | Gfx1250),
        }
    }
}

macro_rules! minmax {
    ($t:ty, $s:ty, $sign:expr, $is_nan:ident, $is_snan:ident, $quiet:ident, $key:ident, $min:ident, $max:ident,
     $min3:ident, $max3:ident, $med3:ident, $lowest:ident, $highest:ident) => {
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
            let r = if rules.quiets & $is_nan(r) { $quiet(r) } else { r };
            let r = if rules.ieee & $is_snan(b) { $quiet(b) } else { r };
            if rules.ieee & $is_snan(a) { $quiet(a) } else { r }
        }
        #[inline(always)]
        pub fn $max(rules: Rules, a: $t, b: $t) -> $t {
            let r = if $key(a) >= $key(b) { a } else { b };
            let r = if $is_nan(b) { a } else { r };
            let r = if $is_nan(a) & !(rules.first & $is_nan(b)) { b } else { r };
            let r = if rules.quiets & $is_nan(r) { $quiet(r) } else { r };
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
        /// IEEE 754-2019's minimum as RDNA4 has it: a signalling NaN wins, then a quiet one.
        #[inline(always)]
        pub fn $lowest(a: $t, b: $t) -> $t {
            let r = if $key(a) < $key(b) { a } else { b };
            let r = if $is_nan(b) { $quiet(b) } else { r };
            let r = if $is_nan(a) { $quiet(a) } else { r };
            if $is_snan(b) & !$is_snan(a) { $quiet(b) } else { r }
        }
        #[inline(always)]
        pub fn $highest(a: $t, b: $t) -> $t {
            let r = if $key(a) >= $key(b) { a } else { b };
            let r = if $is_nan(b) { $quiet(b) } else { r };
            let r = if $is_nan(a) { $quiet(a) } else { r };
            if $is_snan(b) & !$is_snan(a) { $quiet(b) } else { r }
        }
        /// The middle one; the minimum if one is a NaN.
        #[inline(always)]
        pub fn $med3(rules: Rules, a: $t, b: $t, c: $t) -> $t {
            let top = $max3(rules, a, b, c);
            let r = $max(rules, a, b);
            const SIGN: $t = $sign;
            let same = |x: $t| (x == top) | ((x | top) & (SIGN - 1) == 0); // zeros of both signs are equal
            let r = if same(b) { $max(rules, a, c) } else { r };
            let r = if same(a) { $max(rules, b, c) } else { r };
            if $is_nan(a) | $is_nan(b) | $is_nan(c) { $min3(rules, a, b, c) } else { r }
        }
    };
}

/// IEEE 754-2019 `minimum` and `maximum`: a NaN is returned, the first of several, quieted; -0 is less than +0.
macro_rules! propagating {
    ($t:ty, $is_nan:ident, $quiet:ident, $key:ident, $minimum:ident, $maximum:ident) => {
        #[inline(always)]
        pub fn $minimum(a: $t, b: $t) -> $t {
            let r = if $key(a) <= $key(b) { a } else { b };
            let r = if $is_nan(b) { $quiet(b) } else { r };
            if $is_nan(a) { $quiet(a) } else { r }
        }
        #[inline(always)]
        pub fn $maximum(a: $t, b: $t) -> $t {
            let r = if $key(a) >= $key(b) { a } else { b };
            let r = if $is_nan(b) { $quiet(b) } else { r };
            if $is_nan(a) { $quiet(a) } else { r }
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
    lowest32,
    highest32
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
    lowest64,
    highest64
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
    lowest16,
    highest16
);
propagating!(u32, is_nan32, quiet32, key32, minimum32, maximum32);
propagating!(u32, is_nan16, quiet16, key16, minimum16, maximum16);
