//! Operations of three sources by the rules of minimum and maximum ([`crate::fp::minmax`]).

/// f32. (A macro: as a closure it would be too long, see [`crate::lanes::each_lane`].)
macro_rules! minmax3 {
    (|$rules:ident, $a:ident, $b:ident, $c:ident| $value:expr) => {
        $crate::valu::op!(w, o => {
            let m = w.mode;
            let $rules = $crate::fp::minmax::Rules::of(w.mode, w.generation);
            let keep = $rules.keeps32(m)[1];
            $crate::lanes::each_lane!(w, o, |a, b, c| {
                let [$a, $b, $c] = [a, b, c].map(|x| $crate::fp::in32(m, x));
                $crate::fp::flush32($value, keep)
            })
        })
    };
}
pub(super) use minmax3;

/// f16.
macro_rules! minmax3_16 {
    (|$rules:ident, $a:ident, $b:ident, $c:ident| $value:expr) => {
        $crate::valu::op!(w, o => {
            let m = w.mode;
            let $rules = $crate::fp::minmax::Rules::of(w.mode, w.generation);
            let keep = $rules.keeps16_64(m)[1];
            $crate::lanes::each_lane!(w, o, |a, b, c| {
                let [$a, $b, $c] = [a, b, c].map(|x| $crate::fp::in16(m, x));
                $crate::fp::flush16($value, keep)
            })
        })
        .keep_high()
    };
}
pub(super) use minmax3_16;
