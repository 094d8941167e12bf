//! What is delicate in RDNA: waves of 32 lanes, halves of registers, two operations at once, lanes that see each other,
//! matrices.

mod support;

use support::run_rdna;

const GFX11: &str = "gfx1100";

/// Stores the scalars in order, one word each.
fn store_scalars(scalars: &[&str]) -> String {
    let store = |(k, s): (usize, &&str)| {
        format!("  v_mov_b32_e32 v60, {s}\n  global_store_b32 v61, v60, s[2:3] offset:{}\n", 4 * k)
    };
    format!(
        "  s_mov_b32 s90, exec_lo\n  s_mov_b32 exec_lo, 1\n  v_mov_b32_e32 v61, 0\n{}",
        scalars.iter().enumerate().map(store).collect::<String>()
    )
}

/// A small generator: the same numbers in every run.
fn random(seed: u32) -> impl FnMut() -> u32 {
    let mut x = seed.wrapping_mul(0x9e37_79b9) | 1;
    move || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x
    }
}

#[test]
fn lane_masks_of_32_lanes_are_one_register() {
    let body = "
  s_mov_b32 vcc_hi, 0x1234
  s_mov_b32 exec_hi, 0x5678
  s_mov_b32 s11, 77
  v_cmp_lt_u32_e32 vcc_lo, 19, v1
  v_cmp_gt_u32_e64 s10, 20, v1
  s_and_saveexec_b32 s12, s10
  v_mov_b32_e32 v2, 1
  v_cmpx_ne_u32_e32 8, v1
  s_mov_b32 s13, exec_lo
  s_mov_b32 exec_lo, s12
  v_add_co_u32 v3, s14, -1, v1
";
    let scalars = ["vcc_lo", "vcc_hi", "exec_hi", "s10", "s11", "s12", "s13", "s14", "s90"];
    let out = run_rdna(GFX11, 32, &format!("{body}{}", store_scalars(&scalars)), &[0; 16]);
    let high = 0xffff_ffe0;
    let want = [high, 0x1234, 0x5678, 0x1f, 77, !0, 0x1b, 0xffff_fffe, !0];
    assert_eq!(out[..9], want);
}

#[test]
fn a_zero_flag_looks_at_the_waves_own_lanes() {
    let body = "
  s_mov_b32 vcc_hi, -1
  v_cmp_lt_u32_e32 vcc_lo, 0x1000, v1
  s_mov_b32 s10, 0
  s_cbranch_vccnz .Lover
  s_mov_b32 s10, 5
.Lover:
";
    let out = run_rdna(GFX11, 32, &format!("{body}{}", store_scalars(&["s10"])), &[0; 4]);
    assert_eq!(out[0], 5);
}

#[test]
fn both_operations_read_before_either_writes() {
    let body = "
  v_mov_b32_e32 v2, 100
  v_mov_b32_e32 v3, 7
  v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2
  v_dual_add_f32 v4, 1.0, v1 :: v_dual_fmamk_f32 v5, 2.0, 0x40400000, v4
  v_mov_b32_e32 v4, 0
  v_dual_mov_b32 v4, v3 :: v_dual_lshlrev_b32 v7, 2, v4
  global_store_b32 v1, v2, s[2:3]
  global_store_b32 v1, v3, s[2:3] offset:128
  global_store_b32 v1, v7, s[2:3] offset:256
";
    // The second line's fmamk reads v4, which was not written: it decides nothing, so strict mode is silent.
    let out = run_rdna(GFX11, 32, body, &[0; 96]);
    assert_eq!((out[3], out[32 + 3], out[64 + 3]), (7, 100, 0));
}

#[test]
fn halves_of_registers_are_written_alone() {
    let body = "
  v_mov_b32_e32 v2, 0x40003c00
  v_mov_b32_e32 v3, 0x11112222
  v_add_f16_e32 v3.h, v2.l, v2.h
  v_mov_b32_e32 v4, 0x33334444
  v_mul_f16_e64 v4.l, -v2.h, v3.h
  v_mov_b16_e32 v5.l, v4.h
  v_mov_b16_e32 v5.h, v3.l
  v_mov_b32_e32 v6, 0x12345678
  v_swap_b16 v6.l, v6.h
  v_add_nc_u16 v6.h, v6.l, 1
  global_store_b32 v1, v3, s[2:3]
  global_store_b32 v1, v4, s[2:3] offset:128
  global_store_b32 v1, v5, s[2:3] offset:256
  global_store_b32 v1, v6, s[2:3] offset:384
";
    let out = run_rdna(GFX11, 32, body, &[0; 128]);
    // 1 + 2 = 3; -2 * 3 = -6
    assert_eq!([out[0], out[32], out[64], out[96]], [0x4200_2222, 0x3333_c600, 0x2222_3333, 0x1235_1234]);
}

#[test]
fn lanes_see_others_of_their_rows() {
    let body = "
  v_lshrrev_b32_e32 v2, 2, v1
  v_mov_b32_dpp v3, v2 row_share:3 row_mask:0xf bank_mask:0xf
  v_mov_b32_dpp v4, v2 row_xmask:5 row_mask:0xf bank_mask:0xf
  v_mov_b32_dpp v5, v2 dpp8:[7,6,5,4,3,2,1,0]
  s_mov_b32 s10, 0x76543210
  s_mov_b32 s11, 0xfedcba98
  v_permlanex16_b32 v6, v2, s10, s11
  s_mov_b32 s10, 0x11111111
  v_permlane16_b32 v7, v2, s10, s10
  v_mov_b32_e32 v8, 99
  s_mov_b32 s12, exec_lo
  s_mov_b32 exec_lo, 0x0000fff7
  v_mov_b32_dpp v8, v2 row_share:3 row_mask:0xf bank_mask:0xf
  v_mov_b32_dpp v8, v2 row_share:3 row_mask:0xf bank_mask:0x2 fi:1
  s_mov_b32 exec_lo, s12
  global_store_b32 v1, v3, s[2:3]
  global_store_b32 v1, v4, s[2:3] offset:128
  global_store_b32 v1, v5, s[2:3] offset:256
  global_store_b32 v1, v6, s[2:3] offset:384
  global_store_b32 v1, v7, s[2:3] offset:512
  global_store_b32 v1, v8, s[2:3] offset:640
";
    let out = run_rdna(GFX11, 32, body, &[0; 192]);
    for lane in 0..32u32 {
        let at = |row: u32| out[(32 * row + lane) as usize];
        let want8 = if (4..8).contains(&lane) { 3 } else { 99 };
        let want = [lane & 16 | 3, lane ^ 5, lane ^ 7, lane ^ 16, lane & 16 | 1, want8];
        assert_eq!((0..6).map(at).collect::<Vec<_>>(), want, "lane {lane}");
    }
}

/// f16 of a small integer.
fn half(value: i32) -> u32 {
    let sign = if value < 0 { 0x8000 } else { 0 };
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let top = magnitude.ilog2();
    sign | (top + 15) << 10 | (magnitude << (10 - top)) & 0x3ff
}

type Matrix = [[i32; 16]; 16];

fn matrix(next: &mut impl FnMut() -> u32) -> Matrix {
    std::array::from_fn(|_| std::array::from_fn(|_| (next() >> 8) as i32 % 13 - 6))
}

/// A * B + C
fn multiplied(a: &Matrix, b: &Matrix, c: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| c[i][j] + (0..16).map(|k| a[i][k] * b[k][j]).sum::<i32>()))
}

#[test]
fn matrices_of_rdna3_lie_as_documented() {
    for lanes in [32usize, 64] {
        let mut next = random(lanes as u32);
        let (a, b, c) = (matrix(&mut next), matrix(&mut next), matrix(&mut next));
        let (rows, registers) = (lanes / 16, 256 / lanes);
        let mut words = vec![0u32; 32 * lanes];
        for lane in 0..lanes {
            for k in 0..16 {
                let shift = 16 * (k % 2);
                words[k / 2 * lanes + lane] |= half(a[lane % 16][k]) << shift;
                words[(8 + k / 2) * lanes + lane] |= half(b[k][lane % 16]) << shift;
            }
            for r in 0..registers {
                words[(16 + r) * lanes + lane] = (c[r * rows + lane / 16][lane % 16] as f32).to_bits();
            }
        }
        let last = 26 + registers - 1;
        let mut body = body_of_loads(lanes, 24);
        body += &format!("  v_wmma_f32_16x16x16_f16 v[26:{last}], v[10:17], v[18:25], v[26:{last}]\n");
        body += "  v_nop\n";
        for r in 0..registers {
            body += &format!("  global_store_b32 v1, v{}, s[4:5]\n", 26 + r);
            body += &format!("  s_add_u32 s4, s4, {}\n  s_addc_u32 s5, s5, 0\n", 4 * lanes);
        }
        let out = run_rdna(GFX11, lanes as u32, &body, &words);
        let want = multiplied(&a, &b, &c);
        for lane in 0..lanes {
            for r in 0..registers {
                let got = f32::from_bits(out[(24 + r) * lanes + lane]);
                // The sums of RDNA3 are not even exact for small integers: tests/measured_wmma.rs.
                let want = want[r * rows + lane / 16][lane % 16] as f32;
                assert!((got - want).abs() < 1e-3, "{lanes} lanes: register {r}, lane {lane}: {got} for {want}");
            }
        }
    }
}

/// Loads rows of the buffer into v10 and up; s[4:5] is behind them afterwards.
fn body_of_loads(lanes: usize, rows: usize) -> String {
    let mut body = "  s_mov_b64 s[4:5], s[2:3]\n".to_owned();
    for r in 0..rows {
        body += &format!("  global_load_b32 v{}, v1, s[4:5]\n", 10 + r);
        body += &format!("  s_add_u32 s4, s4, {}\n  s_addc_u32 s5, s5, 0\n", 4 * lanes);
    }
    body + "  s_waitcnt vmcnt(0)\n"
}

#[test]
fn integer_matrices_know_their_signs() {
    let mut next = random(5);
    let (a, b, c) = (matrix(&mut next), matrix(&mut next), matrix(&mut next));
    let mut words = vec![0u32; 32 * 32];
    for lane in 0..32 {
        for k in 0..16 {
            words[k / 4 * 32 + lane] |= (a[lane % 16][k] as u32 & 0xff) << (8 * (k % 4));
            words[(4 + k / 4) * 32 + lane] |= (b[k][lane % 16] as u32 & 0xff) << (8 * (k % 4));
        }
        for r in 0..8 {
            words[(8 + r) * 32 + lane] = c[r * 2 + lane / 16][lane % 16] as u32;
        }
    }
    for (neg, unsigned_a) in [("neg_lo:[1,1,0]", false), ("neg_lo:[0,1,0]", true)] {
        let mut body = body_of_loads(32, 16);
        body += &format!("  v_wmma_i32_16x16x16_iu8 v[18:25], v[10:13], v[14:17], v[18:25] {neg}\n");
        for r in 0..8 {
            body += &format!("  global_store_b32 v1, v{}, s[4:5] offset:{}\n", 18 + r, 128 * r);
        }
        let out = run_rdna(GFX11, 32, &body, &words);
        let a = if unsigned_a { a.map(|row| row.map(|x| x & 0xff)) } else { a };
        let want = multiplied(&a, &b, &c);
        for lane in 0..32 {
            for r in 0..8 {
                assert_eq!(
                    out[(16 + r) * 32 + lane] as i32,
                    want[r * 2 + lane / 16][lane % 16],
                    "{neg} r {r} lane {lane}"
                );
            }
        }
    }
}

#[test]
fn a_missing_wait_is_found_by_its_counter() {
    let body = "
  s_load_b64 s[2:3], s[0:1], 0x0
  v_and_b32_e32 v1, 0x3ff, v0
  v_lshlrev_b32_e32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_load_b32 v2, v1, s[2:3]
  WAIT
  v_add_nc_u32_e32 v2, 1, v2
  global_store_b32 v1, v2, s[2:3]
";
    for (wait, right) in
        [("s_waitcnt vmcnt(0)", true), ("s_waitcnt_vscnt null, 0x0", false), ("s_waitcnt lgkmcnt(0)", false)]
    {
        let object = support::assemble_rdna(GFX11, 32, &body.replace("WAIT", wait));
        let loaded = support::load(&object);
        let out = loaded.buffer(&[0; 32]);
        let report = loaded.launch("k", [32, 1, 1], [32, 1, 1], &[out], luthier_emulator::Strict::On).expect("it runs");
        let missing = report.findings.iter().all(|f| f.kind == luthier_emulator::FindingKind::MissingWait);
        assert!(report.findings.is_empty() == right && missing, "{wait}: {:?}", report.findings);
    }
}
