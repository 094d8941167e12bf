//! Every comparison on every pair of edge values, against the orderings of the host's types.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use super::{Bench, DEFAULT};

fn expected(condition: &str, order: Option<Ordering>) -> bool {
    match condition {
        "f" => false,
        "t" | "tru" => true,
        "lt" => order == Some(Less),
        "eq" => order == Some(Equal),
        "le" => matches!(order, Some(Less | Equal)),
        "gt" => order == Some(Greater),
        "lg" => matches!(order, Some(Less | Greater)),
        "ge" => matches!(order, Some(Greater | Equal)),
        "o" => order.is_some(),
        "u" => order.is_none(),
        negated => !expected(negated.strip_prefix('n').map_or("eq", |c| if c == "e" { "eq" } else { c }), order),
    }
}

const FLOATS: [&str; 16] =
    ["f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"];
const INTS: [&str; 8] = ["f", "lt", "eq", "le", "gt", "ne", "ge", "t"];

fn check(ty: &str, conditions: &[&str], values: &[u64], order: impl Fn(u64, u64) -> Option<Ordering>) {
    for condition in conditions {
        for &a in values {
            for exec in [!0u64, 0x5555_5555_f0f0_0001] {
                for cmpx in [false, true] {
                    let mut bench = Bench::new(DEFAULT);
                    bench.wave.set_exec(exec);
                    for lane in 0..64 {
                        bench.set(0, lane, a);
                        bench.set(1, lane, values[lane % values.len()]);
                    }
                    bench.run(&format!("v_cmp{}_{condition}_{ty}", if cmpx { "x" } else { "" }));
                    let want = (0..64)
                        .filter(|&lane| expected(condition, order(a, values[lane % values.len()])))
                        .fold(0u64, |mask, lane| mask | 1 << lane)
                        & exec;
                    assert_eq!(bench.mask(), want, "{condition} {ty} {a:#x} cmpx {cmpx}");
                    assert_eq!(bench.wave.exec(), if cmpx { want } else { exec });
                }
            }
        }
    }
}

#[test]
fn integers() {
    let values =
        [0u64, 1, 2, 0x7fff, 0x8000, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 32, !0, 1 << 63];
    check("u16", &INTS, &values, |a, b| Some((a as u16).cmp(&(b as u16))));
    check("i16", &INTS, &values, |a, b| Some((a as i16).cmp(&(b as i16))));
    check("u32", &INTS, &values, |a, b| Some((a as u32).cmp(&(b as u32))));
    check("i32", &INTS, &values, |a, b| Some((a as i32).cmp(&(b as i32))));
    check("u64", &INTS, &values, |a, b| Some(a.cmp(&b)));
    check("i64", &INTS, &values, |a, b| Some((a as i64).cmp(&(b as i64))));
}

#[test]
fn floats() {
    let singles =
        [0u32, 1 << 31, 1, 0x8000_0001, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x7f80_0001];
    let singles = singles.map(u64::from);
    check("f32", &FLOATS, &singles, |a, b| f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)));
    let doubles =
        [0, 1 << 63, 1, 1 << 63 | 1, 1f64.to_bits(), (-1f64).to_bits(), f64::INFINITY.to_bits(), f64::NAN.to_bits()];
    check("f64", &FLOATS, &doubles, |a, b| f64::from_bits(a).partial_cmp(&f64::from_bits(b)));
    // Halves as f64, by hand.
    let value = |h: u64| {
        let (e, f) = ((h >> 10 & 31) as i32, (h & 0x3ff) as f64);
        let m = match e {
            0 => f * 2f64.powi(-24),
            31 if f == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + f) * 2f64.powi(e - 25),
        };
        if h & 0x8000 != 0 { -m } else { m }
    };
    let halves = [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00];
    check("f16", &FLOATS, &halves, |a, b| value(a).partial_cmp(&value(b)));
}

#[test]
fn flushed_denormals_compare_equal_to_zero() {
    let mut bench = Bench::new(0x3c0); // f32 flushes
    for lane in 0..64 {
        bench.set(0, lane, 1);
        bench.set(1, lane, 0x8000_0003);
    }
    bench.run("v_cmp_eq_f32");
    assert_eq!(bench.mask(), !0);
}

#[test]
fn classes() {
    let kinds32 =
        [0x7f80_0001u32, 0xffc0_0000, 0xff80_0000, 0xbf80_0000, 0x8000_0001, 1 << 31, 0, 1, 0x3f80_0000, 0x7f80_0000];
    let kinds16 = [0x7c01u32, 0xfe00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00];
    let kinds64 = [
        0x7ff0_0000_0000_0001u64,
        0xfff8_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0xbff0_0000_0000_0000,
        1 << 63 | 1,
        1 << 63,
        0,
        1,
        0x3ff0_0000_0000_0000,
        0x7ff0_0000_0000_0000,
    ];
    for kind in 0..10 {
        let values = [("f32", kinds32[kind].into()), ("f16", kinds16[kind].into()), ("f64", kinds64[kind])];
        for (ty, value) in values {
            let mut bench = Bench::new(DEFAULT);
            for lane in 0..64 {
                bench.set(0, lane, value);
                bench.set(1, lane, 1 << (lane % 10));
            }
            bench.run(&format!("v_cmp_class_{ty}"));
            let want = (0..64).filter(|lane| lane % 10 == kind).fold(0u64, |m, lane| m | 1 << lane);
            assert_eq!(bench.mask(), want, "class {kind} of {ty}");
        }
    }
}
