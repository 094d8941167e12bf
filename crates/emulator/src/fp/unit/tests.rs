//! Against what has been captured: FNV hashes of results, word by word or byte by byte, as rocjitsu's tests have them.

use super::cubics::exp;
use super::*;

struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
    fn fold(&mut self, x: u64) {
        self.0 = (self.0 ^ x).wrapping_mul(0x0100_0000_01b3);
    }
    /// A word in one step.
    fn word(&mut self, x: u32) {
        self.fold(x.into());
    }
    /// A word as four bytes.
    fn bytes(&mut self, x: u32) {
        x.to_le_bytes().into_iter().for_each(|byte| self.fold(byte.into()));
    }
}

fn hash(inputs: impl Iterator<Item = u32>, fold: fn(&mut Fnv, u32), f: impl Fn(u32) -> u32) -> u64 {
    let mut hash = Fnv::new();
    inputs.for_each(|x| fold(&mut hash, f(x)));
    hash.0
}

/// Every fraction, exponents of both parities where they matter. gfx1100 and gfx1201; the root gfx1201.
#[test]
fn reciprocals_and_roots() {
    assert_eq!(hash(ONE..ONE + (1 << 23), Fnv::word, rcp), 0xd54e_c249_9257_2df9);
    assert_eq!(hash(ONE..ONE + (1 << 24), Fnv::word, rsq), 0x010b_c79e_b6e4_8caf);
    assert_eq!(hash(ONE..ONE + (1 << 24), Fnv::bytes, sqrt), 0xc696_d1c2_06af_f8a9);
}

/// gfx1201.
#[test]
fn powers_and_logarithms() {
    let spread = |count: u32, by: u32| (0..count).map(move |i| i.wrapping_mul(by));
    assert_eq!(hash(spread(1 << 16, 0x0001_0001), Fnv::bytes, exp), 0xd715_49c3_b952_04bb);
    assert_eq!(hash(spread(1 << 24, 257), Fnv::bytes, exp), 0x95ac_fb81_7f51_4b79);
    // Multiples of 2^-23 below one.
    let steps = (0..1u32 << 23).map(|i| (i as f32 * 2f32.powi(-23)).to_bits());
    assert_eq!(hash(steps, Fnv::word, exp), 0xef14_981b_949b_3960);
    let around_one = (ONE..ONE + (1 << 23)).chain(0x3f00_0000..ONE);
    assert_eq!(hash(around_one, Fnv::bytes, log), 0x5118_28d8_bc60_ccbf);
    assert_eq!(hash(ONE..ONE + (1 << 23), Fnv::word, log), 0xdcab_e314_d296_4004);
}

/// 2^20 numbers of all kinds through exp, log, rcp, rsq and sqrt, gfx1201; as they are, negated, without their sign.
#[test]
fn numbers_of_all_kinds() {
    let all = |change: fn(u32) -> u32| {
        let mut hash = Fnv::new();
        for f in [exp, log, rcp, rsq, sqrt] {
            (0..1u32 << 20).for_each(|i| hash.bytes(f(change(i.wrapping_mul(0x9e37_79b9)))));
        }
        hash.0
    };
    assert_eq!(all(|x| x), 0x8368_4362_e754_ab7f);
    assert_eq!(all(|x| x ^ SIGN32), 0x087e_d5f5_37bb_5cc8);
    assert_eq!(all(|x| x & !SIGN32), 0x9bdf_b24e_8000_3805);
}

/// Every f16, gfx1201.
#[test]
fn halves() {
    let modes = |denorm: u32, saturate| Halves { keep: [denorm & 1 != 0, denorm & 2 != 0], saturate };
    let all = |m: Halves, change: fn(u32) -> u32| {
        let mut hash = Fnv::new();
        let five: [&dyn Fn(u32) -> u32; 5] =
            [&|h| m.exp(h), &|h| m.apply(h, log), &|h| m.apply(h, rcp), &|h| m.apply(h, rsq), &|h| m.apply(h, sqrt)];
        for f in five {
            (0..1 << 16).for_each(|h| hash.bytes(f(change(h))));
        }
        hash.0
    };
    assert_eq!(all(modes(3, false), |h| h), 0x17c9_ef10_78f9_b1a5);
    assert_eq!(all(modes(0, false), |h| h), 0x0527_3827_59f0_b7a6);
    assert_eq!(all(modes(3, true), |h| h), 0x97d6_d7cc_080d_e2e1);
    assert_eq!(all(modes(0, false), |h| h ^ 0x8000), 0x7b27_0ccf_1af7_5986);
    assert_eq!(all(modes(2, false), |h| h | 0x8000), 0xa07f_6ef2_768f_f661);
    let logs = [
        [0x7b13_9780_c1be_cc29, 0x3999_dfce_791d_6c29],
        [0xab56_1022_e31b_a143, 0xab21_f15c_2191_eb2b],
        [0x7b13_9780_c1be_cc29, 0x3999_dfce_791d_6c29],
        [0xab56_1022_e31b_a143, 0xab21_f15c_2191_eb2b],
    ];
    let rcps = [
        [0x36cc_4b30_e451_54f5, 0x3f39_8012_1e8c_bcf5],
        [0x4e50_e3da_9892_a3ad, 0x8db5_cd82_83d4_aa91],
        [0x2c71_ffe2_56ab_1945, 0x73ec_6be1_844d_8945],
        [0x0667_b75d_288e_9039, 0xd9f8_9262_db73_6b55],
    ];
    let sines = [0xbda6_2118_2e96_6565, 0xb708_bf57_6f3d_8aad, 0xbda6_2118_2e96_6565u64, 0xb624_5e65_a23f_99f9];
    for denorm in 0..4 {
        for saturate in [false, true] {
            let m = modes(denorm, saturate);
            let one = |f: &dyn Fn(u32) -> u32| hash(0..1 << 16, Fnv::word, f);
            let (d, s) = (denorm as usize, usize::from(saturate));
            assert_eq!(one(&|h| m.apply(h, log)), logs[d][s], "log {denorm} {saturate}");
            assert_eq!(one(&|h| m.apply(h, rcp)), rcps[d][s], "rcp {denorm} {saturate}");
            assert_eq!(one(&|h| m.apply(h, |x| sin(x, [true; 2]))), sines[d], "sin {denorm}");
            assert_eq!(one(&|h| m.apply(h, |x| cos(x, [true; 2]))), 0xc6c3_112c_531e_4391, "cos {denorm}");
        }
    }
}

/// gfx1100 and gfx1201, denormals kept.
#[test]
fn sine_and_cosine() {
    const POINTS: [[u32; 3]; 35] = [
        [0x8000_0001, 0x8000_0006, 0x3f80_0000],
        [0x007f_ffff, 0x01c9_0fd3, 0x3f80_0000],
        [0x0080_0000, 0x01c9_0fd5, 0x3f80_0000],
        [0x39bf_ffff, 0x3b16_cbdf, 0x3f7f_ffd3],
        [0x39c0_0000, 0x3b16_cbdf, 0x3f7f_ffd3],
        [0x39ff_ffff, 0x3b49_0fbe, 0x3f7f_ffb1],
        [0x3a00_0000, 0x3b49_0fcb, 0x3f7f_ffb1],
        [0x3e00_0000, 0x3f35_04f4, 0x3f35_04f3],
        [0x3e7f_ffff, 0x3f80_0000, 0x33c9_0fd9],
        [0x3e80_0000, 0x3f80_0000, 0],
        [0x3f00_0000, 0, 0xbf80_0000],
        [0x3f80_0000, 0, 0x3f80_0000],
        [0x7f7f_ffff, 0, 0x3f80_0000],
        [0xff7f_ffff, 0, 0x3f80_0000],
        [0x7f80_0000, 0xffc0_0000, 0xffc0_0000],
        [0xff80_0000, 0xffc0_0000, 0xffc0_0000],
        [0, 0, 0x3f80_0000],
        [0x8000_0000, 0x8000_0000, 0x3f80_0000],
        [0x7fa1_2345, 0x7fe1_2345, 0x7fe1_2345],
        [0x3aab_9885, 0x3c06_c500, 0x3f7f_fdc8],
        [0x3b84_19b1, 0x3ccf_7b0d, 0x3f7f_eaf9],
        [0x3bcf_188b, 0x3d22_9c2d, 0x3f7f_cc55],
        [0x3c98_be2d, 0x3def_6125, 0x3f7e_3ec8],
        [0x3d20_01fb, 0x3e78_d2d0, 0x3f78_53c7],
        [0x3d60_02f3, 0x3eac_7f01, 0x3f71_08a3],
        [0x3dc0_84ad, 0x3f0e_9072, 0x3f54_a13b],
        [0x3df0_010d, 0x3f2b_ebe5, 0x3f3d_ae6b],
        [0x3e7f_2800, 0x3f7f_ff1f, 0x3ba9_a533],
        [0x3e7f_f600, 0x3f7f_ffff, 0x397b_53d7],
        [0x3e7f_ff08, 0x3f80_0000, 0x37c2_c761],
        [0x3e7f_fff1, 0x3f80_0000, 0x35bc_7ee2],
        [0x3e7f_fa50, 0x3f80_0000, 0x390e_f149],
        [0x3eff_fd28, 0x390e_f149, 0xbf80_0000],
        [0x3f3f_fe94, 0xbf80_0000, 0xb90e_f149],
        [0x3f7f_fe94, 0xb90e_f149, 0x3f80_0000],
    ];
    for [x, sine, cosine] in POINTS {
        assert_eq!((sin(x, [true; 2]), cos(x, [true; 2])), (sine, cosine), "{x:#x}");
    }
}

/// One unit in the last place everywhere, as the manuals promise of f32.
#[test]
fn sine_and_cosine_are_near() {
    for i in 0..1u32 << 20 {
        let x = f32::from_bits(0x3000_0000 + i.wrapping_mul(0x9e37_79b9) % 0x1a00_0000);
        let turn = f64::from(x).fract();
        let (sine, cosine) = (std::f64::consts::TAU * turn).sin_cos();
        for (got, exact) in [(sin(x.to_bits(), [true; 2]), sine), (cos(x.to_bits(), [true; 2]), cosine)] {
            let error = (f64::from(f32::from_bits(got)) - exact).abs();
            assert!(error < 1.3e-7, "{x:e}: {:e}, exact {exact:e}", f32::from_bits(got));
        }
    }
}

/// What the captures above are compared with, one lane at a time, is what all lanes get: every segment of every table, and
/// numbers of all kinds.
#[test]
fn all_lanes_have_what_one_lane_has() {
    fn compare<F: Cubics>(one: fn(u32) -> u32) {
        for first in (0..1u32 << 20).step_by(32) {
            let x = std::array::from_fn(|i| (first + i as u32).wrapping_mul(0x9e37_79b9));
            let mut found = [0; 32];
            of_lanes::<F, 32>(&x, &mut found);
            assert_eq!(found, x.map(one));
        }
    }
    compare::<Rcp>(rcp);
    compare::<Rsq>(rsq);
    compare::<Sqrt>(sqrt);
    compare::<Exp>(exp);
}
