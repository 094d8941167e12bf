//! The whole division sequence, as LLVM writes it, is the host's correctly rounded division.

use luthier_isa::Generation;

use super::{Bench, Random, SOURCES};

/// Runs one step on all lanes with the given sources; the result, and leaves the mask in VCC.
fn step(on: Generation, name: &str, sources: [&[u64; 64]; 3], vcc: u64) -> ([u64; 64], u64) {
    let mut bench = Bench::new(super::DEFAULT);
    bench.wave.generation = on;
    for (k, values) in sources.iter().enumerate() {
        for (lane, &value) in values.iter().enumerate() {
            bench.set(k, lane, value);
        }
    }
    bench.wave.s[106] = vcc as u32;
    bench.wave.s[107] = (vcc >> 32) as u32;
    bench.op.src = SOURCES;
    bench.run(name);
    (std::array::from_fn(|lane| bench.get(lane)), bench.mask())
}

fn divide(on: Generation, n: &[u64; 64], d: &[u64; 64], f32s: bool) -> [u64; 64] {
    let (ty, sign, one) = if f32s { ("f32", 1u64 << 31, 0x3f80_0000) } else { ("f64", 1 << 63, 0x3ff0_0000_0000_0000) };
    let name = |op: &str| format!("v_{op}_{ty}");
    let (fma, scale) = (name("fma"), name("div_scale"));
    let neg = |x: &[u64; 64]| x.map(|v| v ^ sign);
    let ones = [one; 64];
    let (ds, _) = step(on, &scale, [d, d, n], 0);
    let (ns, vcc) = step(on, &scale, [n, d, n], 0);
    let (mut r, _) = step(on, &name("rcp"), [&ds, &ds, &ds], 0);
    let nds = neg(&ds);
    for _ in 0..if f32s { 1 } else { 2 } {
        let (e, _) = step(on, &fma, [&nds, &r, &ones], 0);
        r = step(on, &fma, [&e, &r, &r], 0).0;
    }
    let zero = [0; 64];
    let (mut q, _) = step(on, &fma, [&ns, &r, &zero], 0);
    if f32s {
        let (e, _) = step(on, &fma, [&nds, &q, &ns], 0);
        q = step(on, &fma, [&e, &r, &q], 0).0;
    }
    let (e, _) = step(on, &fma, [&nds, &q, &ns], 0);
    let (q, _) = step(on, &name("div_fmas"), [&e, &r, &q], vcc);
    step(on, &name("div_fixup"), [&q, d, n], 0).0
}

/// Two ways to scale, and to find a reciprocal.
const ON: [Generation; 2] = [Generation::Gfx90a, Generation::Gfx12];

#[test]
fn single() {
    let mut r = Random(11);
    let edges = [
        0u32,
        1,
        0x7f_ffff,
        0x80_0000,
        0x80_0001,
        0x0c80_0000,
        0x3f7f_ffff,
        0x3f80_0000,
        0x4040_0000,
        0x7e80_0000,
        0x7e80_0001,
        0x7f00_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
    ];
    for round in 0..240 {
        let mut pick = || -> u64 {
            let x = r.next();
            let v = if x >> 40 & 3 == 0 { edges[(x >> 48) as usize % edges.len()] } else { x as u32 };
            u64::from(v ^ (x >> 33) as u32 & 0x8000_0000)
        };
        let (n, d): ([u64; 64], [u64; 64]) = (std::array::from_fn(|_| pick()), std::array::from_fn(|_| pick()));
        let got = divide(ON[round % 2], &n, &d, true);
        for lane in 0..64 {
            let want = f32::from_bits(n[lane] as u32) / f32::from_bits(d[lane] as u32);
            let got = f32::from_bits(got[lane] as u32);
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(
                same,
                "round {round}: {:#x} / {:#x} = {:#x}, not {:#x}",
                n[lane],
                d[lane],
                got.to_bits(),
                want.to_bits()
            );
        }
    }
}

#[test]
fn double() {
    let mut r = Random(12);
    let edges = [
        0u64,
        1,
        0xf_ffff_ffff_ffff,
        0x10_0000_0000_0000,
        0x3ff0_0000_0000_0000,
        0x3fef_ffff_ffff_ffff,
        0x7fd0_0000_0000_0001,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
    ];
    for round in 0..240 {
        let mut pick = || -> u64 {
            let (x, y) = (r.next(), r.next());
            if y & 3 == 0 { edges[(y >> 8) as usize % edges.len()] ^ x & 1 << 63 } else { x }
        };
        let (n, d): ([u64; 64], [u64; 64]) = (std::array::from_fn(|_| pick()), std::array::from_fn(|_| pick()));
        let got = divide(ON[round % 2], &n, &d, false);
        for lane in 0..64 {
            let want = f64::from_bits(n[lane]) / f64::from_bits(d[lane]);
            let got = f64::from_bits(got[lane]);
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(
                same,
                "round {round}: {:#x} / {:#x} = {:#x}, not {:#x}",
                n[lane],
                d[lane],
                got.to_bits(),
                want.to_bits()
            );
        }
    }
}
