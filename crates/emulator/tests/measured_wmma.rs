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
            for (lane, word) in rows[at / 2].iter_mut().enumerate() {
                if lane % 16 == i && (rdna3 || lane / 16 == part) {
                    *word |= element(i, k) << (16 * (at % 2));
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
                for (i, out) in out.into_iter().enumerate() {
                    assert_eq!(out, row(want, i % 4), "{processor}, {lanes} lanes: {name}, row {i}");
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

/// The generator of the captures' operands.
fn draws(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    }
}

/// Places of two elements among four, as an index has them.
fn indices(next: &mut impl FnMut() -> u32) -> Vec<u32> {
    let pairs = [4, 8, 12, 9, 13, 14];
    (0..32).map(|_| (0..8).fold(0, |word, group| word | pairs[(next() % 6) as usize] << (4 * group))).collect()
}

/// FNV-1a of the bytes of registers, one after the other.
fn digest(registers: &[Vec<u32>]) -> u64 {
    registers
        .iter()
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

// Digests of results of sparse operations on an RX 9070 (gfx1201), operands and results being small whole numbers:
// figures from the tests of bjacob/goc.

#[test]
fn sparse_operations_on_16_bits_have_signs_of_stored_elements() {
    // By whether even elements are negated, odd ones are, and which half of the index counts.
    let singles = [
        [0x74ec_4aad_31d9_80d5, 0x6c2f_d609_1425_2778, 0x62a1_4dc1_b54f_8c2d, 0xbfc5_70ef_3e04_521a],
        [0x237d_d767_ee7e_3caa, 0x24ba_1ff3_2d6a_f66d, 0x8f88_7909_6ff5_bde0, 0xb973_d659_9b59_39b8],
    ];
    let f16 = [
        [0x61ab_fe5a_9cc4_4745, 0x9ee9_0db2_9cc2_63f8, 0xf2be_8433_05ef_aaad, 0x0997_2361_bca4_78e8],
        [0x1379_b30d_2ab3_0d4f, 0xbd24_d03e_33d7_ced1, 0x2494_6c88_5871_38ca, 0xaabd_c6c7_94ad_4ba1],
    ];
    let bf16 = [
        [0x9644_be50_9dfd_8425, 0xd2dc_e19f_9553_f64b, 0x39b3_59fe_d5db_8255, 0xf6e5_7974_4ffd_cbe2],
        [0xa242_f78f_2a2e_e32b, 0xe777_0f7c_2d8e_8fb8, 0xa0ac_1043_b662_e62a, 0x3de8_9182_8145_3d6d_u64],
    ];
    for (which, (result, kind, want)) in
        [("f32", "f16", singles), ("f32", "bf16", singles), ("f16", "f16", f16), ("bf16", "bf16", bf16)]
            .iter()
            .enumerate()
    {
        let one = if *kind == "f16" { 0x3c00 } else { 0x3f80 };
        let values = [0xc000, one | 0x8000, 0, one, 0x4000];
        let mut next = draws(0x7689_5231);
        let pair = |next: &mut dyn FnMut() -> u32| {
            let low = values[(next() % 5) as usize];
            low | values[(next() % 5) as usize] << 16
        };
        let mut loads: Vec<Register> = (10..22).map(|r| (r, (0..32).map(|_| pair(&mut next)).collect())).collect();
        let count = if *result == "f32" { 8 } else { 4 };
        for r in 0..count {
            let mut word = || if count == 4 { pair(&mut next) } else { ((next() % 5) as f32 - 2.0).to_bits() };
            loads.push((30 + r, (0..32).map(|_| word()).collect()));
        }
        loads.push((25, indices(&mut next)));
        for (key, want) in want.iter().enumerate() {
            for (signs, want) in want.iter().enumerate() {
                // Those of A, or those of B.
                let (even, odd) = (signs & 1, signs >> 1);
                let [even, odd] =
                    [even, odd].map(|s| if which % 3 == 0 { format!("{s},0,0") } else { format!("0,{s},0") });
                let body = format!(
                    "  v_swmmac_{result}_16x16x32_{kind} v[30:{}], v[10:13], v[14:21], v25 index_key:{key} neg_lo:[{even}] \
                     neg_hi:[{odd}]\n  v_nop",
                    29 + count
                );
                let out = run_on("gfx1201", 32, &loads, &body, 30, count);
                assert_eq!(digest(&out), *want, "{body}");
            }
        }
    }
}

#[test]
fn sparse_operations_on_8_bits() {
    for (seed, want) in [
        (0, [0x2f44_2f76_6c6f_0b8a, 0xeb02_4bd6_d2a5_e5ab]),
        (5, [0x136a_3518_929b_cc6a, 0x2268_157c_5fba_6fa3]),
        (15, [0x8189_13cc_1a06_d473, 0x3d90_195a_73d8_dbed_u64]),
    ] {
        let codes = [("fp8", [0xc0, 0xb8, 0, 0x38, 0x40]), ("bf8", [0xc0, 0xbc, 0, 0x3c, 0x40u32])];
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut next = draws(0x7381_a593 + seed);
            let mut loads: Vec<Register> = Vec::new();
            for r in 0..6 {
                let values = codes[if r < 2 { a } else { b }].1;
                let mut word = || (0..4).fold(0, |word, byte| word | values[(next() % 5) as usize] << (8 * byte));
                loads.push((10 + r, (0..32).map(|_| word()).collect()));
            }
            for r in 0..8 {
                loads.push((30 + r, (0..32).map(|_| ((next() % 5) as f32 - 2.0).to_bits()).collect()));
            }
            loads.push((25, indices(&mut next)));
            for (key, want) in want.into_iter().enumerate() {
                let kinds = format!("{}_{}", codes[a].0, codes[b].0);
                let body = format!(
                    "  v_swmmac_f32_16x16x32_{kinds} v[30:37], v[10:11], v[12:15], v25 index_key:{key}\n  v_nop"
                );
                assert_eq!(digest(&run_on("gfx1201", 32, &loads, &body, 30, 8)), want, "{body}");
            }
        }
    }
}

/// Two factors, and how often they are there.
type Product = (f32, f32, usize);

#[test]
fn errors_of_single_precision_of_rdna3() {
    // Products (factors, how many), and by how many units of 2^-23 of the largest one's power of two the sum was wrong on a
    // gfx1151: measured by the makers of a port of exllamav3 (rocm_tools/wmma_gate.hip).
    let small = |n: i32| 2f32.powi(n);
    let (five, six, seven, eight, twelve) = (small(-5), small(-6), small(-7), small(-8), small(-12));
    let sums: [(Vec<Product>, i32, f32); 14] = [
        (vec![(3.0, 3.0, 1), (-3.0, 3.0, 1)], 3, -0.25),
        (vec![(1.0, 1.0, 1), (-1.0, 1.0, 1)], 0, -0.5),
        (vec![(32.0, 32.0, 1), (-32.0, 32.0, 1)], 10, -0.5),
        (vec![(2.0, 2.0, 1), (-1.0, 1.0, 1)], 2, -0.5),
        (vec![(4.0, 2.0, 1), (-1.0, 1.0, 1)], 3, -0.5),
        (vec![(3.0, 3.0, 1), (-3.0, 3.0, 1), (3.0, 3.0, 1), (-3.0, 3.0, 1)], 3, 0.0),
        (vec![(-1.0, 1.0, 2)], 0, 0.0),
        (vec![(32.0, 32.0, 1), (six, seven, 1)], 10, 0.0),
        (vec![(32.0, 32.0, 1), (eight, eight, 8)], 10, -1.0),
        (vec![(32.0, 32.0, 1), (seven, seven, 14)], 10, -1.0),
        (vec![(32.0, 32.0, 1), (six, six, 4), (six, seven, 4), (seven, seven, 6)], 10, -1.0),
        (vec![(32.0, 32.0, 1), (seven, five, 15)], 10, 0.0),
        (vec![(-32.0, 32.0, 1), (eight, eight, 8)], 10, 1.0),
        (vec![(1.0, 1.0, 1), (twelve, twelve, 14)], 0, -1.0),
    ];
    let factor = |probe: usize, k: usize, which: usize| {
        let mut all = sums.get(probe).map_or(&[][..], |s| &s.0).iter().flat_map(|&(a, b, n)| vec![[a, b]; n]);
        let bits = all.nth(k).map_or(0.0, |factors| factors[which]).to_bits();
        if bits == 0 { 0 } else { bits >> 16 & 0x8000 | ((bits & 0x7fff_ffff) - (112 << 23)) >> 13 }
    };
    // A row and a column for each: the diagonal counts.
    let mut loads = factors(true, 32, 10, |i, k| factor(i, k, 0));
    loads.extend(factors(true, 32, 20, |j, k| factor(j, k, 1)));
    loads.extend((30..38).map(|r| (r, vec![0; 32])));
    let body = "  v_wmma_f32_16x16x16_f16 v[30:37], v[10:17], v[20:27], v[30:37]\n  v_nop";
    let out = run_on("gfx1151", 32, &loads, body, 30, 8);
    for (i, (products, largest, wrong)) in sums.iter().enumerate() {
        let (register, lane) = home(true, 32, i, i);
        let exact: f64 = products.iter().map(|&(a, b, n)| f64::from(a) * f64::from(b) * n as f64).sum();
        let want = exact + f64::from(*wrong) * 2f64.powi(largest - 23);
        assert_eq!(f64::from(f32::from_bits(out[register][lane])), want, "{products:?}");
    }
}
