//! Add, multiply, fma and conversions in every rounding and denormal mode, against LLVM's software floats.

use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::{DEFAULT, Random, run_many, triples};

const ROUNDS: [Round; 4] = [Round::NearestTiesToEven, Round::TowardPositive, Round::TowardNegative, Round::TowardZero];

/// Bits of exponent and fraction.
#[derive(Clone, Copy)]
struct Layout(u32, u32);

impl Layout {
    fn mask(self) -> u64 {
        u64::MAX >> (63 - self.0 - self.1)
    }
    fn infinity(self) -> u64 {
        ((1 << self.0) - 1) << self.1
    }
    fn sign(self) -> u64 {
        1 << (self.0 + self.1)
    }
    fn flush(self, x: u64, keep: bool) -> u64 {
        if !keep && x & self.infinity() == 0 { x & self.sign() } else { x }
    }
    fn edges(self) -> Vec<u64> {
        let one = ((1u64 << (self.0 - 1)) - 1) << self.1;
        let least = 1u64 << self.1;
        let positive = [
            0,
            1,
            3,
            least - 1,
            least,
            least + 1,
            one - 1,
            one,
            one + 1,
            one + least,
            one + (least >> 1),
            (self.1 as u64 + 1) * least + one,
            one - (self.1 as u64 + 1) * least,
            self.infinity() - 1,
            self.infinity() - least,
            self.infinity(),
            self.infinity() | least >> 1,
        ];
        positive.iter().flat_map(|&x| [x, x | self.sign()]).collect()
    }
    /// Numbers close enough in size that sums and products meet denormals, ties and cancellation.
    fn random(self, r: &mut Random) -> u64 {
        let x = r.next() & self.mask();
        match r.next() % 4 {
            0 => x,
            1 => x & !(self.infinity() >> 1) | (self.infinity() >> 1), // around one
            2 => x & (self.sign() | ((1 << self.1) - 1)),              // denormal
            _ => x & !((1 << (self.1 / 2)) - 1),                       // short: exact sums and ties
        }
    }
}

/// `names`: add, subtract (f64 has none), multiply, fma.
fn check<F: Float>(names: [&str; 4], layout: Layout, mode_of: impl Fn(u32, bool, bool) -> u32, mask: u64) {
    let mut cases = triples(&layout.edges(), 2, 0);
    let mut third = Random(7);
    let edges = layout.edges();
    cases.iter_mut().for_each(|t| t[2] = edges[third.next() as usize % edges.len()]);
    let mut r = Random(1);
    cases.extend((0..1500).map(|_| std::array::from_fn(|_| layout.random(&mut r))));
    for (bits, &round) in ROUNDS.iter().enumerate() {
        for keeps in 0..4 {
            let (keep_in, keep_out) = (keeps & 1 != 0, keeps & 2 != 0);
            let mode = mode_of(bits as u32, keep_in, keep_out);
            for (k, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                let got = run_many(name, mode, false, &cases);
                for (&[a, b, c], got) in cases.iter().zip(got) {
                    let read = |x: u64| F::from_bits(layout.flush(x, keep_in).into());
                    let (fa, fb, fc) = (read(a), read(b), read(c));
                    let want = match k {
                        0 => fa.add_r(fb, round),
                        1 => fa.sub_r(fb, round),
                        2 => fa.mul_r(fb, round),
                        _ => fa.mul_add_r(fb, fc, round),
                    };
                    let want = layout.flush(want.value.to_bits() as u64, keep_out);
                    let got = got & mask;
                    let nan = |x: u64| x & (layout.sign() - 1) > layout.infinity();
                    assert!(
                        got == want || nan(got) && nan(want),
                        "{name} {a:#x} {b:#x} {c:#x} {round:?} in {keep_in} out {keep_out}: {got:#x}, not {want:#x}"
                    );
                }
            }
        }
    }
}

fn mode32(round: u32, keep_in: bool, keep_out: bool) -> u32 {
    0x3c0 | round | u32::from(keep_in) << 4 | u32::from(keep_out) << 5
}
fn mode16_64(round: u32, keep_in: bool, keep_out: bool) -> u32 {
    0x330 | round << 2 | u32::from(keep_in) << 6 | u32::from(keep_out) << 7
}

#[test]
fn single() {
    check::<Single>(["v_add_f32", "v_sub_f32", "v_mul_f32", "v_fma_f32"], Layout(8, 23), mode32, 0xffff_ffff);
}

#[test]
fn double() {
    check::<Double>(["v_add_f64", "", "v_mul_f64", "v_fma_f64"], Layout(11, 52), mode16_64, !0);
}

#[test]
fn half() {
    check::<Half>(["v_add_f16", "v_sub_f16", "v_mul_f16", "v_fma_f16"], Layout(5, 10), mode16_64, 0xffff);
}

#[test]
fn narrowing_conversions() {
    let mut r = Random(3);
    let layout = Layout(8, 23);
    let mut singles: Vec<u64> = layout.edges();
    // Around the limits of f16, and ties between neighbours.
    for base in [0x3300_0000u32, 0x3380_0000, 0x387f_c000, 0x3880_0000, 0x477f_e000, 0x477f_f000, 0x3f80_1000] {
        singles.extend((-2i32..3).map(|d| u64::from(base.wrapping_add_signed(d))));
    }
    singles.extend((0..4000).map(|_| r.next() & 0xffff_ffff));
    singles.extend((0..4000).map(|_| (r.next() & 0x8fff_ffff) + 0x3000_0000));
    let doubles: Vec<u64> = Layout(11, 52)
        .edges()
        .into_iter()
        .chain((0..4000).map(|_| (r.next() & 0x87ff_ffff_ffff_ffff) + 0x3500_0000_0000_0000))
        .collect();
    for (bits, &round) in ROUNDS.iter().enumerate() {
        let mut lost = false;
        let cases: Vec<_> = singles.iter().map(|&x| [x, 0, 0]).collect();
        for (&x, got) in
            singles.iter().zip(run_many("v_cvt_f16_f32", mode16_64(bits as u32, true, true), false, &cases))
        {
            let want: Half = Single::from_bits(x.into()).convert_r(round, &mut lost).value;
            let nan = want.is_nan() && got & 0x7fff > 0x7c00;
            assert!(nan || u128::from(got) == want.to_bits(), "f16({x:#x}) {round:?}: {got:#x}");
        }
        let cases: Vec<_> = doubles.iter().map(|&x| [x, 0, 0]).collect();
        for (&x, got) in doubles.iter().zip(run_many("v_cvt_f32_f64", mode32(bits as u32, true, true), false, &cases)) {
            let want: Single = Double::from_bits(x.into()).convert_r(round, &mut lost).value;
            let got = got & 0xffff_ffff;
            assert!(want.is_nan() || u128::from(got) == want.to_bits(), "f32({x:#x}) {round:?}: {got:#x}");
        }
        let ints: Vec<_> = singles.iter().map(|&x| [x.rotate_left(7) & 0xffff_ffff, 0, 0]).collect();
        for (x, got) in ints.iter().zip(run_many("v_cvt_f32_i32", mode32(bits as u32, true, true), false, &ints)) {
            let want = Single::from_i128_r((x[0] as i32).into(), round).value.to_bits() as u64;
            assert_eq!(got & 0xffff_ffff, want, "f32 of {} {round:?}", x[0] as i32);
        }
    }
    let cases: Vec<_> = singles.iter().map(|&x| [x, x ^ 0x8000_0000, 0]).collect();
    for (case, got) in cases.iter().zip(run_many("v_cvt_pkrtz_f16_f32", DEFAULT, false, &cases)) {
        let mut lost = false;
        for (k, shift) in [(0, 0), (1, 16)] {
            let want: Half = Single::from_bits(case[k].into()).convert_r(Round::TowardZero, &mut lost).value;
            let got = got >> shift & 0xffff;
            assert!(want.is_nan() || u128::from(got) == want.to_bits(), "pkrtz {:#x}: {got:#x}", case[k]);
        }
    }
}

#[test]
fn every_half_survives_the_way_to_single_and_back() {
    let cases: Vec<_> = (0..0x1_0000u64).map(|h| [h, 0, 0]).collect();
    let singles = run_many("v_cvt_f32_f16", DEFAULT, false, &cases);
    for (h, &x) in singles.iter().enumerate() {
        let mut lost = false;
        let want: Single = Half::from_bits(h as u128).convert(&mut lost).value;
        let x = x & 0xffff_ffff;
        assert!(want.is_nan() && f32::from_bits(x as u32).is_nan() || want.to_bits() == u128::from(x), "{h:#x} {x:#x}");
    }
    let cases: Vec<_> = singles.iter().map(|&x| [x & 0xffff_ffff, 0, 0]).collect();
    for (h, back) in run_many("v_cvt_f16_f32", DEFAULT, false, &cases).into_iter().enumerate() {
        let quiet = if h & 0x7fff > 0x7c00 { h | 0x200 } else { h };
        assert_eq!(back, quiet as u64);
    }
}

#[test]
fn ldexp() {
    let layout = Layout(11, 52);
    let mut r = Random(9);
    let cases: Vec<[u64; 3]> = layout
        .edges()
        .into_iter()
        .flat_map(|x| {
            [-3000i32, -1100, -1074, -60, -1, 0, 1, 52, 1023, 2100, i32::MIN, i32::MAX].map(|n| [x, n as u32 as u64, 0])
        })
        .chain((0..3000).map(|i| [layout.random(&mut r), (i - 1500) as u32 as u64, 0]))
        .collect();
    for (&[x, n, _], got) in cases.iter().zip(run_many("v_ldexp_f64", DEFAULT, false, &cases)) {
        let want = Double::from_bits(x.into()).scalbn_r((n as i32).clamp(-9999, 9999), Round::NearestTiesToEven);
        let nan = f64::from_bits(x).is_nan();
        assert!(nan || want.to_bits() == u128::from(got), "ldexp({x:#x}, {}): {got:#x}", n as i32);
    }
    for (name, x, n, want) in [
        ("v_ldexp_f32", 0x3f80_0001, -149, 1),
        ("v_ldexp_f32", 0x3f80_0000, 127, 0x7f00_0000),
        ("v_ldexp_f32", 0x3f80_0000, 9999, 0x7f80_0000),
        ("v_ldexp_f32", 1, 149, 0x3f80_0000),
        ("v_ldexp_f32", 0x3fc0_0000, -149, 2), // a tie, to even
        ("v_ldexp_f16", 0x3c00, 0xffe8, 1),
        ("v_ldexp_f16", 0x3c00, 15, 0x7800),
        ("v_ldexp_f16", 0x3c00, 16, 0x7c00),
    ] {
        assert_eq!(super::one(name, x, n as u32, 0), want, "{name} {x:#x} {n}");
    }
}
