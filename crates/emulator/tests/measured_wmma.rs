//! WMMA gives what processors have been measured to give.

mod support;

use support::rows::{Register, hex, lines, run_on};

const SINGLE: &str = include_str!("measured/wmma_f32.txt");
const RDNA3: &str = include_str!("measured/wmma_rdna3.txt");
const PACKED: &str = include_str!("measured/wmma_packed.txt");

type Matrix = [[u32; 16]; 16];

fn numbers(words: &[&str]) -> Vec<u32> {
    words.iter().map(|word| hex(word)).collect()
}

/// Where element k of 16 lies: part of the wave and place in its lanes. RDNA4's parts have neighbours, as the captures do
/// (the device counts k in another way in waves of 32 lanes, which shows in a sum's order alone).
fn place(rdna3: bool, lanes: usize, k: usize) -> (usize, usize) {
    let each = 256 / lanes;
    if rdna3 { (0, k) } else { (k / each, k % each) }
}

/// A matrix's registers: element k of row (or column) i.
fn factors(rdna3: bool, lanes: usize, first: u32, element: impl Fn(usize, usize) -> u32) -> Vec<Register> {
    let count = if rdna3 { 8 } else { 128 / lanes };
    let mut rows = vec![vec![0u32; lanes]; count];
    for i in 0..16 {
        for k in 0..16 {
            let (part, at) = place(rdna3, lanes, k);
            for lane in 0..lanes {
                if lane % 16 == i && (rdna3 || lane / 16 == part) {
                    rows[at / 2][lane] |= element(i, k) << (16 * (at % 2));
                }
            }
        }
    }
    (first..).zip(rows).collect()
}

/// Register and lane of an element of a 32-bit result.
fn home(rdna3: bool, lanes: usize, row: usize, column: usize) -> (usize, usize) {
    let parts = lanes / 16;
    let (register, part) = match (rdna3, parts) {
        (true, _) => (row / parts, row % parts),
        (false, 2) => (row % 8, row / 8),
        (false, _) => (row % 4, row / 8 + 2 * (row % 8 / 4)),
    };
    (register, 16 * part + column)
}

#[test]
fn single_precision_of_rdna4() {
    for lanes in [32, 64] {
        for case in lines(SINGLE).chunks(4) {
            let (a, b, c) = (numbers(&case[1]), numbers(&case[2]), numbers(&case[3]));
            // The same in every row and column, in the order of the registers.
            let operand = |first, values: &[u32]| -> Vec<Register> {
                let count = 128 / lanes;
                let word = |register: usize, lane: usize| {
                    let k = lane / 16 * (256 / lanes) + 2 * register;
                    values[k] | values[k + 1] << 16
                };
                (0..count).map(|r| (first + r as u32, (0..lanes).map(|lane| word(r, lane)).collect())).collect()
            };
            let count = 256 / lanes as u32;
            let mut loads = operand(10, &a);
            loads.extend(operand(20, &b));
            loads.extend((0..count).map(|r| (30 + r, vec![c[0]; lanes])));
            let last = 128 / lanes - 1;
            let (end, d) = (30 + count - 1, 40 + count - 1);
            let body = format!(
                "  v_wmma_f32_16x16x16_{} v[40:{d}], v[10:{}], v[20:{}], v[30:{end}]",
                case[0][0],
                10 + last,
                20 + last
            );
            let want = if lanes == 32 { c[1] } else { c[2] };
            for row in run_on("gfx1201", lanes as u32, &loads, &body, 40, count) {
                assert_eq!(row, vec![want; lanes], "{body}: {a:x?} {b:x?} {:x}", c[0]);
            }
        }
    }
}

/// A small integer as f16 and as bf16.
fn halves_of(value: i32) -> [u32; 2] {
    let bits = (value as f32).to_bits();
    let rebiased = bits & 0x7fff_ffff;
    let half = if value == 0 { 0 } else { bits >> 16 & 0x8000 | (rebiased - (112 << 23)) >> 13 };
    [half, bits >> 16]
}

#[test]
fn integers_in_single_precision_of_rdna3() {
    let want: Vec<u32> = lines(RDNA3).iter().flat_map(|line| numbers(line)).collect();
    for lanes in [32, 64] {
        for (kind, name) in ["f16", "bf16"].into_iter().enumerate() {
            let a = |i: usize, k: usize| halves_of(((16 * i + k) * 7 % 17) as i32 - 8)[kind];
            let b = |j: usize, k: usize| halves_of(((16 * k + j) * 11 % 17) as i32 - 8)[kind];
            let count = 256 / lanes as u32;
            let mut c = vec![vec![0; lanes]; count as usize];
            for (row, column) in (0..256).map(|n| (n / 16, n % 16)) {
                let (register, lane) = home(true, lanes, row, column);
                c[register][lane] = (((16 * row + column) * 13 % 129) as f32 - 64.0).to_bits();
            }
            let mut loads = factors(true, lanes, 10, a);
            loads.extend(factors(true, lanes, 20, b));
            loads.extend((30..).zip(c));
            let last = 30 + count - 1;
            let body = format!("  v_wmma_f32_16x16x16_{name} v[30:{last}], v[10:17], v[20:27], v[30:{last}]\n  v_nop");
            let out = run_on("gfx1100", lanes as u32, &loads, &body, 30, count);
            for (row, column) in (0..256).map(|n| (n / 16, n % 16)) {
                let (register, lane) = home(true, lanes, row, column);
                assert_eq!(out[register][lane], want[16 * row + column], "{body}: {row}, {column}");
            }
        }
    }
}

/// D = A * B + C of 16-bit results: rows and columns. On RDNA3 in the lower or in the upper half of its registers.
fn packed(processor: &str, lanes: usize, name: &str, a: &Matrix, b: &Matrix, c: &Matrix, high: bool) -> Matrix {
    let rdna3 = processor.starts_with("gfx11");
    let place = |row, column| {
        let (register, lane) = home(rdna3, lanes, row, column);
        if rdna3 { (register, lane, 16 * usize::from(high)) } else { (register / 2, lane, 16 * (register % 2)) }
    };
    let count = if rdna3 { 256 / lanes } else { 128 / lanes };
    let mut rows = vec![vec![if rdna3 { 0x5678_1234 & !(0xffff << (16 * u32::from(high))) } else { 0 }; lanes]; count];
    for (row, column) in (0..256).map(|n| (n / 16, n % 16)) {
        let (register, lane, shift) = place(row, column);
        rows[register][lane] |= c[row][column] << shift;
    }
    let before = rows.clone();
    let mut loads = factors(rdna3, lanes, 10, |i, k| a[i][k]);
    let wide = loads.len() - 1;
    loads.extend(factors(rdna3, lanes, 20, |j, k| b[k][j]));
    loads.extend((30..).zip(rows));
    let (d, selects) = (30 + count - 1, if high { " op_sel:[0,0,1]" } else { "" });
    let body = format!("  {name} v[30:{d}], v[10:{}], v[20:{}], v[30:{d}]{selects}\n  v_nop", 10 + wide, 20 + wide);
    let out = run_on(processor, lanes as u32, &loads, &body, 30, count as u32);
    if rdna3 {
        let kept = 0xffff << (16 * u32::from(!high));
        for (out, before) in out.iter().flatten().zip(before.iter().flatten()) {
            assert_eq!(out & kept, before & kept, "{name}: the other half");
        }
    }
    let mut result = [[0; 16]; 16];
    for (row, column) in (0..256).map(|n| (n / 16, n % 16)) {
        let (register, lane, shift) = place(row, column);
        result[row][column] = out[register][lane] >> shift & 0xffff;
    }
    result
}

#[test]
fn halves_as_results() {
    let text = lines(PACKED);
    for case in text.chunks(37) {
        let rows: Vec<Vec<u32>> = case[1..].iter().map(|line| numbers(line)).collect();
        let row = |at: usize, row: usize| std::array::from_fn(|k| rows[at + row][k]);
        // Four rows have been kept of each: here four times.
        let (a, c): (Matrix, Matrix) =
            (std::array::from_fn(|i| row(0, i % 4)), std::array::from_fn(|i| row(20, i % 4)));
        let b: Matrix = std::array::from_fn(|k| row(4, k));
        let kind = case[0][0];
        let name = format!("v_wmma_{kind}_16x16x16_{kind}");
        for (processor, lanes, want) in
            [("gfx1100", 32, 24), ("gfx1100", 64, 24), ("gfx1201", 32, 28), ("gfx1201", 64, 32)]
        {
            for high in [false, true] {
                if high && processor == "gfx1201" {
                    continue;
                }
                let out = packed(processor, lanes, &name, &a, &b, &c, high);
                for i in 0..16 {
                    assert_eq!(out[i], row(want, i % 4), "{processor}, {lanes} lanes: {name}, row {i}");
                }
            }
        }
    }
}

#[test]
fn modifiers_and_constants() {
    // (1, 2) times (3, 4) in every place and -5 in C, by f16 and bf16; the constants, and what they are.
    struct Kind {
        name: &'static str,
        operands: [u32; 3],
        /// Of 5, 35, 48, 83 and 93 as results.
        sums: [(i32, u32); 5],
        constants: [(&'static str, u32); 4],
    }
    let kinds = [
        Kind {
            name: "v_wmma_f16_16x16x16_f16",
            operands: [0x4000_3c00, 0x4400_4200, 0xc500],
            sums: [(35, 0x5060), (83, 0x5530), (93, 0x55d0), (45, 0x51a0), (0, 0)],
            constants: [("1", 1), ("-1", 0xffff), ("0.5", 0x3800), ("0.15915494309189532", 0x3118)],
        },
        Kind {
            name: "v_wmma_bf16_16x16x16_bf16",
            operands: [0x4000_3f80, 0x4080_4040, 0xc0a0],
            sums: [(35, 0x420c), (83, 0x42a6), (93, 0x42ba), (45, 0x4234), (0, 0)],
            constants: [("1", 1), ("-1", 0xffff), ("0.5", 0x3f00), ("4.0", 0x4080)],
        },
    ];
    for processor in ["gfx1100", "gfx1201"] {
        let rdna3 = processor == "gfx1100";
        let (wide, count) = if rdna3 { (8, 8) } else { (4, 4) };
        for kind in &kinds {
            let run = |factors: [u32; 2], c: &str, mods: &str, high: bool| {
                let mut loads: Vec<Register> = (0..wide).map(|r| (10 + r, vec![factors[0]; 32])).collect();
                loads.extend((0..wide).map(|r| (20 + r, vec![factors[1]; 32])));
                loads.extend((0..count).map(|r| (30 + r, vec![kind.operands[2] * 0x1_0001; 32])));
                loads.extend((0..count).map(|r| (40 + r, vec![0x5678_1234; 32])));
                let (a, b, d) = (9 + wide, 19 + wide, 39 + count);
                let body = format!("  {} v[40:{d}], v[10:{a}], v[20:{b}], {c} {mods}\n  v_nop", kind.name);
                let out = run_on(processor, 32, &loads, &body, 40, count);
                assert!(out.iter().flatten().all(|&word| word == out[0][0]), "{processor} {body}");
                let word = out[0][0];
                match (rdna3, high) {
                    (true, false) => assert_eq!(word >> 16, 0x5678, "{body}"),
                    (true, true) => assert_eq!(word & 0xffff, 0x1234, "{body}"),
                    (false, _) => assert_eq!(word >> 16, word & 0xffff, "{body}"),
                }
                word >> (16 * u32::from(rdna3 && high)) & 0xffff
            };
            let c = format!("v[30:{}]", 29 + count);
            for (text, bits) in kind.constants {
                // gfx1100 has no denormals of bf16.
                let flushed = rdna3 && kind.name.contains("bf16") && bits < 0x80;
                for (select, high) in [("", false), ("op_sel:[0,0,1]", true)] {
                    if high && !rdna3 {
                        continue;
                    }
                    let got = run([0, 0], text, select, high);
                    assert_eq!(got, if flushed { 0 } else { bits }, "{processor} {}: {text} {select}", kind.name);
                }
            }
            for signs in [0u32, 1, 2, 4, 8, 0b100_000, 0b100_100, 0b011_011, 0b111_110] {
                let bit = |n: u32| signs >> n & 1;
                let sign = |n: u32| 1 - 2 * bit(n) as i32;
                let c_value = if bit(5) == 1 { 5 } else { -5 } * sign(2);
                let sum = 8 * (3 * sign(0) * sign(1) + 8 * sign(3) * sign(4)) + c_value;
                let mods =
                    format!("neg_lo:[{},{},{}] neg_hi:[{},{},{}]", bit(0), bit(1), bit(2), bit(3), bit(4), bit(5));
                let magnitude = kind.sums.iter().find(|(n, _)| *n == sum.abs()).expect("a sum of the table").1;
                let want = magnitude | if sum < 0 { 0x8000 } else { 0 };
                let got = run([kind.operands[0], kind.operands[1]], &c, &mods, false);
                assert_eq!(got, want, "{processor} {}: {mods}", kind.name);
            }
        }
    }
}

#[test]
fn results_of_lanes_come_from_the_operands_of_their_own_half() {
    // Measured on gfx1151. Lanes 16 to 31 have the odd rows of the result.
    for (which, name) in [(10, "A"), (20, "B")] {
        let mut loads: Vec<Register> =
            [10, 20].iter().flat_map(|&r| (r..r + 8).map(|r| (r, vec![0x3c00_3c00; 32]))).collect();
        for (register, lanes) in &mut loads {
            if (which..which + 8).contains(register) {
                lanes[16..].fill(0x4000_4000);
            }
        }
        loads.extend((30..38).map(|r| (r, vec![0; 32])));
        let body = "  v_wmma_f32_16x16x16_f16 v[30:37], v[10:17], v[20:27], v[30:37]\n  v_nop";
        for row in run_on("gfx1151", 32, &loads, body, 30, 8) {
            for (lane, bits) in row.into_iter().enumerate() {
                assert_eq!(f32::from_bits(bits), if lane < 16 { 16.0 } else { 32.0 }, "{name}, lane {lane}");
            }
        }
    }
}

#[test]
fn overflow_is_what_mode_says() {
    for processor in ["gfx1100", "gfx1201"] {
        let (wide, count) = if processor == "gfx1100" { (8, 8) } else { (4, 4) };
        for (factor, saturates, want) in
            [(0x7bff_7bffu32, false, 0x7c00), (0x7bff_7bff, true, 0x7bff), (0x7c00_7c00, true, 0x7c00)]
        {
            let mut loads: Vec<Register> = (0..wide).map(|r| (10 + r, vec![factor; 32])).collect();
            loads.extend((0..wide).map(|r| (20 + r, vec![0x3c00_3c00; 32])));
            loads.extend((0..count).map(|r| (30 + r, vec![0; 32])));
            let body = format!(
                "  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), {}\n  v_wmma_f16_16x16x16_f16 v[30:{d}], v[10:{}], v[20:{}], \
                 v[30:{d}]\n  v_nop",
                u32::from(saturates),
                9 + wide,
                19 + wide,
                d = 29 + count
            );
            let out = run_on(processor, 32, &loads, &body, 30, count);
            assert_eq!(out[0][5] & 0xffff, want, "{processor} {factor:x} {saturates}");
        }
    }
}
