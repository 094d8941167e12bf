//! Dot products give what processors have been measured to give.

mod support;

use support::rows::{Register, hex, lines, run_on};

const F16: &str = include_str!("measured/dot2_f16.txt");
const BF16: &str = include_str!("measured/dot2_bf16.txt");

struct Case {
    sources: [u32; 3],
    /// On gfx1100 and on gfx1201.
    results: [Option<u32>; 2],
}

fn cases(text: &str) -> Vec<Case> {
    let case = |words: Vec<&str>| Case {
        sources: std::array::from_fn(|k| hex(words[k])),
        results: std::array::from_fn(|k| (words[3 + k] != "-").then(|| hex(words[3 + k]))),
    };
    lines(text).into_iter().map(case).collect()
}

/// The cases' sources in v10, v11 and v12, 32 cases a time, and the body's result in v12 or another register.
fn check(processor: &str, text: &str, result: u32, body: &str) {
    let cases = cases(text);
    for chunk in cases.chunks(32) {
        let source = |k: usize| (0..32).map(|i| chunk[i % chunk.len()].sources[k]).collect();
        let mut loads: Vec<Register> = (0..3).map(|k| (10 + k as u32, source(k))).collect();
        loads.push((19, vec![0; 32]));
        let out = run_on(processor, 32, &loads, body, result, 1);
        for (i, case) in chunk.iter().enumerate() {
            if let Some(want) = case.results[usize::from(processor.starts_with("gfx12"))] {
                assert_eq!(out[0][i], want, "{processor}: {body}: {:x?}: {:#x}", case.sources, out[0][i]);
            }
        }
    }
}

#[test]
fn sums_of_two_products() {
    // What has been measured on gfx1151 agrees with gfx1100.
    for processor in ["gfx1100", "gfx1151", "gfx1201"] {
        check(processor, F16, 13, "  v_dot2_f32_f16 v13, v10, v11, v12");
        check(processor, BF16, 13, "  v_dot2_f32_bf16 v13, v10, v11, v12");
        for kind in ["f16", "bf16"] {
            let text = if kind == "f16" { F16 } else { BF16 };
            check(
                processor,
                text,
                12,
                &format!("  v_dual_dot2acc_f32_{kind} v12, v10, v11 :: v_dual_mov_b32 v15, v19"),
            );
            check(
                processor,
                text,
                12,
                &format!("  v_dual_mov_b32 v15, v19 :: v_dual_dot2acc_f32_{kind} v12, v10, v11"),
            );
        }
    }
    check("gfx1100", F16, 12, "  v_dot2acc_f32_f16 v12, v10, v11");
}

#[test]
fn signs_and_halves_are_chosen_before() {
    for processor in ["gfx1100", "gfx1201"] {
        let turned = "
  v_xor_b32_e32 v10, 0x80008000, v10
  v_xor_b32_e32 v11, 0x8000, v11
  v_alignbit_b32 v11, v11, v11, 16
  v_xor_b32_e32 v12, 0x80000000, v12
";
        let mods = "op_sel:[0,1,0] op_sel_hi:[1,0,0] neg_lo:[1,1,1] neg_hi:[1,0,0]";
        check(processor, F16, 13, &format!("{turned}  v_dot2_f32_f16 v13, v10, v11, v12 {mods}"));
        check(processor, BF16, 13, &format!("{turned}  v_dot2_f32_bf16 v13, v10, v11, v12 {mods}"));
    }
}

#[test]
fn constants_of_16_bits() {
    // Measured with (1, 2) as the other source and zero as the addend.
    let third = [("f16", "0.15915494309189532"), ("bf16", "0.158203125")];
    for processor in ["gfx1100", "gfx1201"] {
        let mut checks: Vec<(String, u32)> = Vec::new();
        for (kind, third) in third {
            // 1, 1.0 and 1/(2 pi), by what OP_SEL and OP_SEL_HI say of the constant; and for the accumulating forms.
            let denormal = if processor == "gfx1100" { 0 } else { 0x0003_0000 };
            let wants = if kind == "f16" {
                [
                    ("1", [0x3440_0000, 0x3380_0000, 0x3400_0000, 0]),
                    ("1.0", [0x4040_0000, 0x3f80_0000, 0x4000_0000, 0]),
                    (third, [0x3ef4_8000, 0x3e23_0000, 0x3ea3_0000, 0]),
                ]
            } else {
                [("1", [denormal; 4]), ("1.0", [0x4040_0000; 4]), (third, [0x3ef3_0000; 4])]
            };
            let other = if kind == "f16" { "v10" } else { "v11" };
            for (constant, want) in wants {
                for (select, want) in want.into_iter().enumerate() {
                    let (low, high) = (select / 2, select % 2);
                    let first = format!("{constant}, {other}, v12 op_sel:[{low},0,0] op_sel_hi:[{high},1,1]");
                    let second = format!("{other}, {constant}, v12 op_sel:[0,{low},0] op_sel_hi:[1,{high},1]");
                    checks.push((format!("v_dot2_f32_{kind} D, {first}"), want));
                    checks.push((format!("v_dot2_f32_{kind} D, {second}"), want));
                }
                // Of two operations at once both halves are the constant, of one alone the lower.
                let dual = format!("v_dual_dot2acc_f32_{kind} D, {constant}, {other} :: v_dual_mov_b32 E, v12");
                checks.push((dual, want[0]));
                if (processor, kind) == ("gfx1100", "f16") {
                    checks.push((format!("v_dot2acc_f32_f16 D, {constant}, {other}"), want[1]));
                }
            }
        }
        for checks in checks.chunks(20) {
            let loads = [(10, vec![0x4000_3c00; 32]), (11, vec![0x4000_3f80; 32]), (12, vec![0; 32])];
            let mut body: String = (20..60).map(|r| format!("  v_mov_b32_e32 v{r}, 0\n")).collect();
            for (k, (instruction, _)) in checks.iter().enumerate() {
                let (even, odd) = (format!("v{}", 20 + 2 * k), format!("v{}", 21 + 2 * k));
                body += &format!("  {}\n", instruction.replace('D', &even).replace('E', &odd));
            }
            let out = run_on(processor, 32, &loads, &body, 20, 40);
            for (k, (instruction, want)) in checks.iter().enumerate() {
                assert_eq!(out[2 * k][7], *want, "{processor} {instruction}: {:#x}", out[2 * k][7]);
            }
        }
    }
}

const PACKED: &str = include_str!("measured/wmma_packed.txt");

#[test]
fn sums_of_two_products_with_16_bits() {
    // RDNA3's WMMA is eight of them: what it has been measured to give, they give, in either half.
    for case in lines(PACKED).chunks(37) {
        let rows: Vec<Vec<u32>> = case[1..].iter().map(|line| line.iter().map(|word| hex(word)).collect()).collect();
        let kind = case[0][0];
        for (c_half, d_half) in [(0, 0), (1, 0), (0, 1)] {
            let lanes =
                |f: &dyn Fn(usize, usize) -> u32| -> Vec<u32> { (0..32).map(|lane| f(lane / 16, lane % 16)).collect() };
            let mut body = String::new();
            let mut loads: Vec<Register> = Vec::new();
            for k in 0..8 {
                let at = 10 + 2 * k as u32;
                loads.push((at, lanes(&|row, _| rows[row][2 * k] | rows[row][2 * k + 1] << 16)));
                loads.push((at + 1, lanes(&|_, column| rows[4 + 2 * k][column] | rows[5 + 2 * k][column] << 16)));
                // The result goes to the other half in turns, where the next one reads it.
                let (from, to) = if k == 0 { (c_half, d_half) } else { (d_half, d_half) };
                body += &format!("  v_dot2_{kind}_{kind} v40, v{at}, v{}, v40 op_sel:[0,0,{from},{to}]\n", at + 1);
            }
            let filler = 0x1234_5678u32;
            let half = |word: u32, half: u32| word << (16 * half) | filler & !(0xffff << (16 * half));
            loads.push((40, lanes(&|row, column| half(rows[20 + row][column], c_half))));
            let out = run_on("gfx1100", 32, &loads, &body, 40, 1);
            for (lane, &bits) in out[0].iter().enumerate() {
                let want = rows[24 + lane / 16][lane % 16];
                assert_eq!(bits >> (16 * d_half) & 0xffff, want, "{kind}, halves {c_half} and {d_half}, lane {lane}");
                let kept = if c_half == d_half { filler } else { half(rows[20 + lane / 16][lane % 16], c_half) };
                let other = 0xffff << (16 * (1 - d_half));
                assert_eq!(bits & other, kept & other, "{kind}: the other half, lane {lane}");
            }
        }
    }
}

#[test]
fn signs_of_pairs_are_those_of_both_halves() {
    for processor in ["gfx1100", "gfx1201"] {
        let loads =
            [(10, vec![0xc000_3c00; 32]), (11, vec![0x4400_4200; 32]), (12, vec![0xc500_c500; 32]), (13, vec![7; 32])];
        for (sources, want) in [
            ("v10, v11, v12", 3.0 - 8.0 - 5.0),
            ("-v10, v11, -v12", -3.0 + 8.0 + 5.0),
            ("|v10|, v11, -v12", 3.0 + 8.0 + 5.0),
            ("-|v10|, -v11, |v12|", 3.0 + 8.0 + 5.0f32),
        ] {
            let body = format!("  v_dot2_f16_f16 v13, {sources}");
            let out = run_on(processor, 32, &loads, &body, 13, 1)[0][3];
            let bits = want.to_bits();
            let half = bits >> 16 & 0x8000 | ((bits & 0x7fff_ffff) - (112 << 23)) >> 13;
            assert_eq!(out, half, "{processor} {body}");
        }
        // Lanes from elsewhere.
        let (a, ones) =
            ((0..32).map(|lane| [0x3c00, 0x4000, 0x4200, 0x4400][lane % 4]).collect(), vec![0x3c00_3c00; 32]);
        let loads = [(10, a), (11, ones), (12, vec![0; 32]), (13, vec![0xffff_0000; 32])];
        let body = "  v_dot2_f16_f16_e64_dpp v13, v10, v11, v12 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf";
        let out = run_on(processor, 32, &loads, body, 13, 1);
        assert_eq!(out[0][..4], [0xffff_4400, 0xffff_4200, 0xffff_4000, 0xffff_3c00], "{processor}");
    }
}
