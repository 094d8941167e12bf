//! Values that the manuals and standards fix: special cases of the transcendental operations, NaN rules, saturation.

use super::{DEFAULT, NAN, one, run_many};

fn f(x: f32) -> u32 {
    x.to_bits()
}

#[test]
fn transcendental_special_cases() {
    let (inf, minus_inf) = (f(f32::INFINITY), f(f32::NEG_INFINITY));
    for (name, x, want) in [
        ("v_exp_f32", minus_inf, 0),
        ("v_exp_f32", f(0.0), f(1.0)),
        ("v_exp_f32", inf, inf),
        ("v_exp_f32", f(128.0), inf),
        ("v_exp_f32", f(-127.0), 0), // a denormal: flushed
        ("v_exp_f32", f(-126.0), 0x80_0000),
        ("v_log_f32", minus_inf, NAN),
        ("v_log_f32", f(-1.0), NAN),
        ("v_log_f32", f(-0.0), minus_inf),
        ("v_log_f32", f(0.0), minus_inf),
        ("v_log_f32", 1, minus_inf), // a denormal: zero
        ("v_log_f32", f(1.0), 0),
        ("v_log_f32", f(8.0), f(3.0)),
        ("v_log_f32", inf, inf),
        ("v_rcp_f32", minus_inf, f(-0.0)),
        ("v_rcp_f32", f(-0.0), minus_inf),
        ("v_rcp_f32", f(3.0), f(1.0 / 3.0)),
        ("v_rcp_f32", f(f32::MAX), 0),
        ("v_rcp_iflag_f32", f(0.0), inf),
        ("v_rsq_f32", f(4.0), f(0.5)),
        ("v_rsq_f32", f(-4.0), NAN),
        ("v_rsq_f32", f(0.0), inf),
        ("v_rsq_f32", f(-0.0), minus_inf),
        ("v_sqrt_f32", minus_inf, NAN),
        ("v_sqrt_f32", f(-0.0), f(-0.0)),
        ("v_sqrt_f32", f(4.0), f(2.0)),
        ("v_sin_f32", minus_inf, NAN),
        ("v_sin_f32", f(f32::MAX), 0),
        ("v_sin_f32", f(-0.0), f(-0.0)),
        ("v_sin_f32", f(0.25), f(1.0)),
        ("v_cos_f32", f(f32::MAX), f(1.0)),
        ("v_cos_f32", f(0.5), f(-1.0)),
        ("v_cos_f32", inf, NAN),
        ("v_fract_f32", f(-1.25), f(0.75)),
        ("v_fract_f32", f(-1e-10), 0x3f7f_ffff),
        ("v_rndne_f32", f(2.5), f(2.0)),
        ("v_rndne_f32", f(-0.25), f(-0.0)),
        ("v_ceil_f32", f(-0.5), f(-0.0)),
        ("v_floor_f32", f(-0.5), f(-1.0)),
        ("v_trunc_f32", 0x7f80_0001, 0x7fc0_0001),
        ("v_frexp_mant_f32", f(12.0), f(0.75)),
        ("v_frexp_mant_f32", 1, f(0.5)),
        ("v_frexp_exp_i32_f32", f(12.0), 4),
        ("v_frexp_exp_i32_f32", 1, -148i32 as u32),
        ("v_frexp_exp_i32_f32", inf, 0),
        ("v_frexp_exp_i32_f32", 0, 0),
        ("v_frexp_mant_f16", 0x0001, 0x3800),
        ("v_frexp_exp_i16_f16", 0x0001, 0xffe9),
        ("v_rcp_f16", 0x4200, 0x3555),
        ("v_sqrt_f16", 0x4400, 0x4000),
        ("v_exp_f16", 0x4200, 0x4800),
        ("v_log_f16", 0x4800, 0x4200),
    ] {
        assert_eq!(one(name, x, 0, 0), want, "{name}({x:#x})");
    }
}

#[test]
fn minimum_and_maximum() {
    let (snan, qnan, other) = (0x7f80_0001, 0x7fc0_0002, 0xffc0_0003);
    for (name, ieee, a, b, want) in [
        ("v_min_f32", true, f(1.0), f(2.0), f(1.0)),
        ("v_min_f32", true, f(0.0), f(-0.0), f(-0.0)),
        ("v_max_f32", true, f(-0.0), f(0.0), f(0.0)),
        ("v_min_f32", true, qnan, f(2.0), f(2.0)),
        ("v_max_f32", true, f(2.0), qnan, f(2.0)),
        ("v_max_f32", true, snan, f(2.0), snan | 0x40_0000),
        ("v_min_f32", true, f(2.0), snan, snan | 0x40_0000),
        ("v_min_f32", false, snan, f(2.0), f(2.0)),
        ("v_max_f32", true, qnan, other, other),
        ("v_max_f32", true, f(-3.0), f(f32::NEG_INFINITY), f(-3.0)),
        ("v_min_f16", true, 0x8000, 0, 0x8000),
        ("v_max_f16", true, 0x7e01, 0x3c00, 0x3c00),
    ] {
        let mode = if ieee { DEFAULT } else { DEFAULT & !0x200 };
        let got = run_many(name, mode, false, &[[a.into(), b.into(), 0]])[0];
        assert_eq!(got as u32, want, "{name}({a:#x}, {b:#x}) ieee {ieee}");
    }
    for (a, b, c) in [(1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (2.0, 3.0, 1.0), (2.0, 2.0, 1.0), (2.0, 5.0, 2.0)] {
        assert_eq!(one("v_med3_f32", f(a), f(b), f(c)), f(2.0));
        assert_eq!(one("v_min3_f32", f(a), f(b), f(c)), f(a.min(b).min(c)));
        assert_eq!(one("v_max3_f32", f(a), f(b), f(c)), f(a.max(b).max(c)));
    }
    assert_eq!(one("v_med3_f32", f(1.0), qnan, f(0.5)), f(0.5));
}

#[test]
fn the_first_nan_is_returned() {
    let (first, second) = (0x7f80_0001, 0xffc0_0002);
    for name in ["v_add_f32", "v_mul_f32", "v_sub_f32", "v_subrev_f32", "v_fma_f32"] {
        assert_eq!(one(name, first, second, 0), first | 0x40_0000, "{name}");
        assert_eq!(one(name, f(1.0), second, 0), second, "{name}");
    }
    assert_eq!(one("v_add_f32", f(f32::INFINITY), f(f32::NEG_INFINITY), 0), NAN);
    assert_eq!(one("v_mul_f32", f(f32::INFINITY), 0, 0), NAN);
    assert_eq!(one("v_fma_f32", f(f32::INFINITY), 0, second), second);
}

#[test]
fn conversions_saturate() {
    for (name, x, want) in [
        ("v_cvt_i32_f32", f(f32::NAN), 0),
        ("v_cvt_i32_f32", f(3e9), i32::MAX as u32),
        ("v_cvt_i32_f32", f(-3e9), i32::MIN as u32),
        ("v_cvt_i32_f32", f(-1.9), -1i32 as u32),
        ("v_cvt_u32_f32", f(-1.0), 0),
        ("v_cvt_u32_f32", f(5e9), u32::MAX),
        ("v_cvt_u32_f32", f(4294967040.0), 4294967040),
        ("v_cvt_u32_f32", f(f32::NAN), 0),
        ("v_cvt_flr_i32_f32", f(-1.5), -2i32 as u32),
        ("v_cvt_rpi_i32_f32", f(1.5), 2),
        ("v_cvt_f32_u32", u32::MAX, f(4294967296.0)),
        ("v_cvt_f32_ubyte2", 0x12ab_3456, f(171.0)),
        ("v_cvt_off_f32_i4", 8, f(-0.5)),
        ("v_cvt_off_f32_i4", 7, f(0.4375)),
        ("v_cvt_u16_f16", 0x7c00, 0xffff),
        ("v_cvt_u16_f16", 0xbc00, 0),
        ("v_cvt_i16_f16", 0xfc00, 0x8000),
        ("v_cvt_f16_u16", 0xffff, 0x7c00),
        ("v_cvt_f16_i16", 0xffff, 0xbc00),
        ("v_cvt_norm_i16_f16", 0xbc00, 0x8001),
        ("v_cvt_norm_u16_f16", 0x3800, 0x8000),
    ] {
        assert_eq!(one(name, x, 0, 0), want, "{name}({x:#x})");
    }
    assert_eq!(one("v_cvt_pk_u8_f32", f(300.0), 2, 0x1122_3344), 0x11ff_3344);
    assert_eq!(one("v_cvt_pk_u8_f32", f(2.5), 0, 0x1122_3344), 0x1122_3302);
    assert_eq!(one("v_cvt_pknorm_i16_f32", f(-1.0), f(2.0), 0), 0x7fff_8001);
    assert_eq!(one("v_cvt_pknorm_u16_f32", f(0.5), f(-2.0), 0), 0x8000);
    assert_eq!(one("v_cvt_pkrtz_f16_f32", f(70000.0), f(f32::INFINITY), 0), 0x7c00_7bff);
    let doubles = [(1e10, i32::MAX as u32), (-1e10, i32::MIN as u32), (f64::NAN, 0), (-2.9, -2i32 as u32)];
    for (x, want) in doubles {
        assert_eq!(run_many("v_cvt_i32_f64", DEFAULT, false, &[[x.to_bits(), 0, 0]])[0] as u32, want);
    }
    assert_eq!(run_many("v_cvt_f64_i32", DEFAULT, false, &[[0x8000_0000, 0, 0]])[0], (-2147483648f64).to_bits());
}

#[test]
fn unfused_and_legacy_multiplication() {
    // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24: the product is rounded before the sum.
    let x = f(1.0 + 2f32.powi(-12));
    assert_eq!(one("v_mad_f32", x, x, f(-1.0 - 2f32.powi(-11))), 0);
    assert_eq!(one("v_fma_f32", x, x, f(-1.0 - 2f32.powi(-11))), f(2f32.powi(-24)));
    assert_eq!(one("v_mad_f32", 1, f(1.0), 0), 0, "denormals are flushed");
    assert_eq!(one("v_mul_legacy_f32", f(f32::INFINITY), f(0.0), 0), 0);
    assert_eq!(one("v_mad_legacy_f32", f(f32::NAN), f(0.0), f(2.0)), f(2.0));
    assert_eq!(one("v_mul_legacy_f32", f(3.0), f(-2.0), 0), f(-6.0));
}

#[test]
fn cube_faces() {
    let faces = [
        ([3.0, 1.0, 2.0], [0.0, -2.0, -1.0, 6.0]),
        ([-3.0, 1.0, 2.0], [1.0, 2.0, -1.0, -6.0]),
        ([1.0, 3.0, 2.0], [2.0, 1.0, 2.0, 6.0]),
        ([1.0, -3.0, 2.0], [3.0, 1.0, -2.0, -6.0]),
        ([1.0, 2.0, 3.0], [4.0, 1.0, -2.0, 6.0]),
        ([1.0, 2.0, -3.0], [5.0, -1.0, -2.0, -6.0]),
    ];
    for (direction, want) in faces {
        let [x, y, z] = direction.map(f);
        let names = ["v_cubeid_f32", "v_cubesc_f32", "v_cubetc_f32", "v_cubema_f32"];
        assert_eq!(names.map(|name| f32::from_bits(one(name, x, y, z))), want, "{direction:?}");
    }
}
