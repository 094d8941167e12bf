//! How fast the device is: `bench [--json FILE]`. One core unless it says otherwise. Needs clang-22.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use luthier_emulator::{DeviceConfig, FindingKind, Kinds, LaunchReport, Strict};
use support::{Asm, Loaded, assemble, hip, load_with};

/// How many short rounds are measured. The best one counts, since the machine may be busy.
const ROUNDS: u32 = 10;

fn one_thread() -> DeviceConfig {
    DeviceConfig { threads: 1, ..DeviceConfig::default() }
}

/// The best of several launches, in million instructions a second.
fn rate(mut launch: impl FnMut() -> LaunchReport) -> f64 {
    launch();
    (0..10 * ROUNDS).map(|_| launch()).map(|r| r.instructions as f64 / r.seconds / 1e6).fold(0.0, f64::max)
}

/// As compilers have it.
const DENORMALS: &str = ".amdhsa_float_denorm_mode_32 3";

fn asm_rate(setup: &str, body: &str, repeat: usize, iterations: u32, agprs: u32, strict: Strict) -> f64 {
    let body = body.repeat(repeat);
    let code = format!(
        "{setup}\ns_movk_i32 s8, {iterations}\nloop:\n{body}\ns_sub_u32 s8, s8, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 loop\n"
    );
    let loaded =
        load_with(&assemble(&code, Asm { vgprs: 64, agprs, extra: DENORMALS, ..Asm::default() }), one_thread());
    let out = loaded.buffer(&[0; 4]);
    rate(|| loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], strict).expect("runs"))
}

const F32: &str = "
  v_add_f32 v1, v2, v3
  v_mul_f32 v4, v1, v5
  v_fma_f32 v6, v4, v7, v1
  v_max_f32 v8, v6, v9
  v_add_u32 v10, v11, v12
  v_xor_b32 v13, v10, v14
  v_fmac_f32 v15, v6, v8
  v_sub_f32 v16, v15, v4
";
const SETUP: &str = "
  v_cvt_f32_u32 v2, v0
  v_mov_b32 v3, 1.0
  v_mov_b32 v5, 0.5
  v_mov_b32 v7, 0.5
  v_mov_b32 v9, 2.0
  v_mov_b32 v11, 7
  v_mov_b32 v12, v0
  v_mov_b32 v14, v0
  v_mov_b32 v15, 0
";

const MATMUL: &str = "
KERNEL matmul(const f32 *a, const f32 *b, f32 *c, u32 n) {
    SHARED static f32 as[16][16], bs[16][16];
    u32 x = local_x, y = local_y, col = group_x * 16 + x, row = group_y * 16 + y;
    f32 sum = 0;
    for (u32 k = 0; k < n; k += 16) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + col];
        sync();
        for (u32 i = 0; i < 16; i++) sum = __builtin_fmaf(as[y][i], bs[i][x], sum);
        sync();
    }
    c[row * n + col] = sum;
}
KERNEL nothing(f32 *out) { out[0] = 1; }
KERNEL copy(const f32 *from, f32 *to) {
    u32 i = group_x * 256 + local_x;
    to[i] = from[i];
}
KERNEL add(const f32 *a, const f32 *b, f32 *c) {
    u32 i = group_x * 256 + local_x;
    c[i] = a[i] + b[i];
}
";

/// How many times as long as a plain run strict mode takes, with all that it finds and without races in memory, the three
/// in turns: the machine may be busy.
fn strict_costs(mut launch: impl FnMut(Strict) -> LaunchReport) -> [f64; 2] {
    let modes = [Strict::Off, Strict::On, Strict::Only(Kinds::USUAL - FindingKind::MemoryRace.into())];
    let mut best = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        for (best, &mode) in best.iter_mut().zip(&modes) {
            *best = best.min(launch(mode).seconds);
        }
    }
    [best[1] / best[0], best[2] / best[0]]
}

fn strict_rows() -> Vec<(&'static str, f64)> {
    let loaded = load_with(&hip(MATMUL, "-O3"), one_thread());
    let (n, words) = (256u32, 1u32 << 22);
    let zeros = vec![0; words as usize];
    let [a, b, c] = [0; 3].map(|_| loaded.buffer(&zeros));
    let run =
        |kernel, grid, group, args: &[u64], strict| loaded.launch(kernel, grid, group, args, strict).expect("runs");
    let matmul = strict_costs(|strict| run("matmul", [n, n, 1], [16, 16, 1], &[a, b, c, n.into()], strict));
    let copy = strict_costs(|strict| run("copy", [words, 1, 1], [256, 1, 1], &[a, c], strict));
    let add = strict_costs(|strict| run("add", [words, 1, 1], [256, 1, 1], &[a, b, c], strict));
    vec![
        ("strict_matmul_256", matmul[0]),
        ("strict_matmul_256_no_races", matmul[1]),
        ("strict_copy_16m", copy[0]),
        ("strict_copy_16m_no_races", copy[1]),
        ("strict_add_16m", add[0]),
        ("strict_add_16m_no_races", add[1]),
    ]
}

fn matmul(config: DeviceConfig) -> (f64, f64) {
    let loaded = load_with(&hip(MATMUL, "-O3"), config);
    let n = 256u32;
    let values: Vec<u32> = (0..n * n).map(|i| ((i % 13) as f32 - 6.0).to_bits()).collect();
    let (a, b, c) = (loaded.buffer(&values), loaded.buffer(&values), loaded.buffer(&vec![0; values.len()]));
    let run = || loaded.launch("matmul", [n, n, 1], [16, 16, 1], &[a, b, c, n.into()], Strict::Off).expect("runs");
    run();
    let best = (0..ROUNDS).map(|_| run()).min_by(|x, y| x.seconds.total_cmp(&y.seconds)).expect("several rounds");
    check(&loaded, c, &values, n as usize);
    (best.seconds * 1e3, best.instructions as f64 / best.seconds / 1e6)
}

fn check(loaded: &Loaded, c: u64, values: &[u32], n: usize) {
    let want = native(values, n);
    let got = loaded.words(c, n * n);
    assert!(got.iter().zip(&want).all(|(&g, w)| f32::from_bits(g) == *w), "the product is wrong");
}

fn native(values: &[u32], n: usize) -> Vec<f32> {
    let a: Vec<f32> = values.iter().map(|&v| f32::from_bits(v)).collect();
    let mut c = vec![0.0f32; n * n];
    for row in 0..n {
        for k in 0..n {
            let x = a[row * n + k];
            for col in 0..n {
                c[row * n + col] += x * a[k * n + col];
            }
        }
    }
    c
}

fn native_ms(n: usize) -> f64 {
    let values: Vec<u32> = (0..n * n).map(|i| ((i % 13) as f32 - 6.0).to_bits()).collect();
    let time = || {
        let start = Instant::now();
        std::hint::black_box(native(std::hint::black_box(&values), n));
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..ROUNDS).map(|_| time()).fold(f64::INFINITY, f64::min)
}

fn launch_us() -> f64 {
    let loaded = load_with(&hip(MATMUL, "-O3"), one_thread());
    let out = loaded.buffer(&[0; 4]);
    let run = || {
        let start = Instant::now();
        loaded.launch("nothing", [1, 1, 1], [1, 1, 1], &[out], Strict::Off).expect("runs");
        start.elapsed().as_secs_f64() * 1e6
    };
    run();
    (0..200).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let partial = format!("{SETUP}\ns_mov_b32 exec_lo, 0x5a5a1234\ns_mov_b32 exec_hi, 0x0ff0a5a5\n");
    let mfma = "v_mfma_f32_16x16x16f16 a[0:3], v[2:3], v[4:5], a[0:3]\n";
    let zero = (0..4).map(|i| format!("v_accvgpr_write_b32 a{i}, 0\n")).collect::<String>();
    let (matmul_ms, matmul_rate) = matmul(one_thread());
    let native = native_ms(256);
    let (all_ms, _) = matmul(DeviceConfig::default());
    let rows = [
        ("valu_full_mips", asm_rate(SETUP, F32, 16, 200, 0, Strict::Off)),
        ("valu_partial_mips", asm_rate(&partial, F32, 16, 200, 0, Strict::Off)),
        ("valu_strict_mips", asm_rate(SETUP, F32, 16, 100, 0, Strict::On)),
        (
            "scalar_operand_mips",
            asm_rate(SETUP, "v_add_f32 v1, s9, v2\nv_mul_u32_u24 v3, 0x1234, v2\n", 32, 200, 0, Strict::Off),
        ),
        (
            "salu_mips",
            asm_rate("s_mov_b32 s9, 3", "s_add_u32 s9, s9, 5\ns_xor_b32 s10, s9, s8\n", 64, 200, 0, Strict::Off),
        ),
        ("mfma_f16_16x16x16_mips", asm_rate(&format!("{SETUP}{zero}v_mov_b32 v4, 0"), mfma, 16, 50, 8, Strict::Off)),
        ("matmul_256_ms", matmul_ms),
        ("matmul_256_mips", matmul_rate),
        ("matmul_256_native_ms", native),
        ("matmul_256_over_native", matmul_ms / native),
        ("matmul_256_all_cores_ms", all_ms),
        ("launch_us", launch_us()),
    ];
    let rows = [&rows[..], &strict_rows()].concat();
    for (name, value) in &rows {
        println!("{name:<28} {value:>10.2}");
    }
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("--json") {
        let file = args.next().ok_or("--json needs a file")?;
        let body: Vec<String> = rows.iter().map(|(name, value)| format!("  \"{name}\": {value:.4}")).collect();
        std::fs::write(file, format!("{{\n{}\n}}\n", body.join(",\n")))?;
    }
    Ok(())
}
