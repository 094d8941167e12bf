//! Scalar operations against expectations written down here, run as machine code.

mod support;

use support::{Asm, run_asm};

const VALUES: [u32; 8] = [0, 1, 5, 31, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xdead_beef];

/// Name, and what it makes of two operands: result and SCC (`None`: SCC is left alone).
type Binary = (&'static str, fn(u32, u32) -> (u32, Option<bool>));

fn nz(v: u32) -> (u32, Option<bool>) {
    (v, Some(v != 0))
}

const BINARY: &[Binary] = &[
    ("s_add_u32", |a, b| (a.wrapping_add(b), Some(a.checked_add(b).is_none()))),
    ("s_sub_u32", |a, b| (a.wrapping_sub(b), Some(a < b))),
    ("s_add_i32", |a, b| (a.wrapping_add(b), Some((a as i32).checked_add(b as i32).is_none()))),
    ("s_sub_i32", |a, b| (a.wrapping_sub(b), Some((a as i32).checked_sub(b as i32).is_none()))),
    ("s_min_i32", |a, b| ((a as i32).min(b as i32) as u32, Some((a as i32) < b as i32))),
    ("s_max_u32", |a, b| (a.max(b), Some(a >= b))),
    ("s_and_b32", |a, b| nz(a & b)),
    ("s_or_b32", |a, b| nz(a | b)),
    ("s_xor_b32", |a, b| nz(a ^ b)),
    ("s_andn2_b32", |a, b| nz(a & !b)),
    ("s_orn2_b32", |a, b| nz(a | !b)),
    ("s_nand_b32", |a, b| nz(!(a & b))),
    ("s_nor_b32", |a, b| nz(!(a | b))),
    ("s_xnor_b32", |a, b| nz(!(a ^ b))),
    ("s_lshl_b32", |a, b| nz(a << (b % 32))),
    ("s_lshr_b32", |a, b| nz(a >> (b % 32))),
    ("s_ashr_i32", |a, b| nz((a as i32 >> (b % 32)) as u32)),
    ("s_mul_i32", |a, b| (a.wrapping_mul(b), None)),
    ("s_mul_hi_u32", |a, b| (((a as u64 * b as u64) >> 32) as u32, None)),
    ("s_mul_hi_i32", |a, b| (((a as i32 as i64 * b as i32 as i64) >> 32) as u32, None)),
    ("s_absdiff_i32", |a, b| nz((a as i32).wrapping_sub(b as i32).wrapping_abs() as u32)),
    ("s_lshl2_add_u32", |a, b| {
        let sum = (a as u64) * 4 + b as u64;
        (sum as u32, Some(sum > u32::MAX as u64))
    }),
    ("s_pack_ll_b32_b16", |a, b| (a & 0xffff | b << 16, None)),
    ("s_pack_lh_b32_b16", |a, b| (a & 0xffff | b & 0xffff_0000, None)),
    ("s_pack_hh_b32_b16", |a, b| (a >> 16 | b & 0xffff_0000, None)),
    ("s_bfm_b32", |a, b| (((1u64 << (a % 32)) as u32).wrapping_sub(1) << (b % 32), None)),
];

#[test]
fn binary_operations() {
    for chunk in BINARY.chunks(7) {
        let mut body = String::from("s_load_dwordx2 s[2:3], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n");
        let mut want = Vec::new();
        for (name, f) in chunk {
            for a in VALUES {
                for b in VALUES {
                    let at = want.len() * 4;
                    // SCC is set first, so that an operation that leaves it alone shows.
                    body += &format!(
                        "s_mov_b32 s4, {a:#x}\ns_mov_b32 s5, {b:#x}\ns_cmp_eq_u32 s4, s4\n{name} s6, s4, s5\n\
                         s_cselect_b32 s7, 1, 0\ns_store_dwordx2 s[6:7], s[2:3], {at:#x}\n"
                    );
                    let (value, scc) = f(a, b);
                    want.extend([value, u32::from(scc.unwrap_or(true))]);
                }
            }
        }
        let got = run_asm(&body, Asm::default(), want.len());
        for (i, (got, want)) in got.chunks(2).zip(want.chunks(2)).enumerate() {
            let (name, a, b) = (chunk[i / 64].0, VALUES[i % 64 / 8], VALUES[i % 8]);
            assert_eq!(got, want, "{name} {a:#x}, {b:#x}");
        }
    }
}

type Unary = (&'static str, fn(u32) -> u32);

const UNARY: &[Unary] = &[
    ("s_mov_b32", |a| a),
    ("s_not_b32", |a| !a),
    ("s_brev_b32", |a| a.reverse_bits()),
    ("s_bcnt1_i32_b32", |a| a.count_ones()),
    ("s_bcnt0_i32_b32", |a| a.count_zeros()),
    ("s_ff1_i32_b32", |a| if a == 0 { !0 } else { a.trailing_zeros() }),
    ("s_ff0_i32_b32", |a| if a == !0 { !0 } else { a.trailing_ones() }),
    ("s_flbit_i32_b32", |a| if a == 0 { !0 } else { a.leading_zeros() }),
    ("s_flbit_i32", |a| match a {
        0 | 0xffff_ffff => !0,
        a if a >> 31 == 0 => a.leading_zeros(),
        a => a.leading_ones(),
    }),
    ("s_sext_i32_i8", |a| a as i8 as u32),
    ("s_sext_i32_i16", |a| a as i16 as u32),
    ("s_abs_i32", |a| (a as i32).wrapping_abs() as u32),
    ("s_wqm_b32", |a| (0..8).map(|i| if a >> (4 * i) & 15 != 0 { 15 << (4 * i) } else { 0 }).sum()),
    ("s_quadmask_b32", |a| (0..8).map(|i| u32::from(a >> (4 * i) & 15 != 0) << i).sum()),
];

#[test]
fn unary_operations() {
    let mut body = String::from("s_load_dwordx2 s[2:3], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n");
    let mut want = Vec::new();
    for (name, f) in UNARY {
        for a in VALUES {
            let at = want.len() * 4;
            body += &format!("s_mov_b32 s4, {a:#x}\n{name} s6, s4\ns_store_dword s6, s[2:3], {at:#x}\n");
            want.push(f(a));
        }
    }
    let got = run_asm(&body, Asm::default(), want.len());
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        assert_eq!(got, want, "{} {:#x}", UNARY[i / VALUES.len()].0, VALUES[i % VALUES.len()]);
    }
}

#[test]
fn wide_operations_carries_fields_and_branches() {
    let body = "
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[4:5], -2
  s_mov_b32 s6, 0xffffffff
  s_mov_b32 s7, 1
  s_add_u32 s8, s4, 3          // 1, carry
  s_addc_u32 s9, s5, s7        // 1 + 0xffffffff + carry = 1
  s_store_dwordx2 s[8:9], s[2:3], 0x0
  s_sub_u32 s8, 1, 2
  s_subb_u32 s9, 5, 0          // 4
  s_store_dwordx2 s[8:9], s[2:3], 0x8
  s_mov_b32 s4, 0x12345678
  s_mov_b32 s5, 0x0000f000
  s_bfe_u32 s8, s4, 0x80008     // 8 bits at 8: 0x56
  s_bfe_i32 s9, s5, 0x4000c     // 4 bits at 12: -1
  s_store_dwordx2 s[8:9], s[2:3], 0x10
  s_mov_b32 s4, 0x89abcdef
  s_mov_b32 s5, 0x01234567
  s_bfe_u64 s[8:9], s[4:5], 0x200010    // 32 bits at 16
  s_store_dwordx2 s[8:9], s[2:3], 0x18
  s_lshl_b64 s[8:9], s[4:5], 36
  s_store_dwordx2 s[8:9], s[2:3], 0x20
  s_movk_i32 s8, 0x8000
  s_addk_i32 s8, 5
  s_mulk_i32 s8, 2
  s_cmpk_lt_i32 s8, 0
  s_cselect_b32 s9, 7, 9
  s_store_dwordx2 s[8:9], s[2:3], 0x28
  s_bitset1_b32 s8, 0
  s_bitset0_b32 s8, 31
  s_bitcmp1_b32 s8, 30
  s_cselect_b32 s9, 7, 9
  s_store_dwordx2 s[8:9], s[2:3], 0x30
  s_mov_b32 s8, 0
  s_getpc_b64 s[10:11]
here:
  s_add_u32 s10, s10, skip-here
  s_addc_u32 s11, s11, 0
  s_setpc_b64 s[10:11]
  s_mov_b32 s8, 1
skip:
  s_call_b64 s[12:13], function
  s_mov_b32 s9, 3
  s_store_dwordx2 s[8:9], s[2:3], 0x38
  s_mov_b64 exec, 0xff
  s_and_saveexec_b64 s[8:9], 0xf0
  s_cbranch_execnz some
  s_mov_b32 s8, 0
some:
  s_mov_b32 s9, exec_lo
  s_store_dwordx2 s[8:9], s[2:3], 0x40
  s_mov_b32 m0, 2
  s_mov_b32 s20, 11
  s_mov_b32 s22, 13
  s_movrels_b32 s8, s20
  s_movreld_b32 s7, s20        // s9
  s_store_dwordx2 s[8:9], s[2:3], 0x48
  s_getreg_b32 s8, hwreg(HW_REG_MODE, 4, 4)
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3
  s_getreg_b32 s9, hwreg(HW_REG_MODE, 0, 2)
  s_store_dwordx2 s[8:9], s[2:3], 0x50
  s_mov_b64 s[8:9], src_shared_base
  s_mov_b64 s[4:5], src_private_base
  s_mov_b32 s8, s5
  s_store_dwordx2 s[8:9], s[2:3], 0x58
  s_endpgm
function:
  s_add_i32 s8, s8, 40
  s_setpc_b64 s[12:13]
";
    let got = run_asm(body, Asm::default(), 24);
    let k = ((0x8000u32 as i16 as i32 + 5) * 2) as u32;
    let bits = (k | 1) & 0x7fff_ffff;
    let wide = 0x0123_4567_89ab_cdefu64;
    let (field, shifted) = ((wide >> 16) as u32, wide << 36);
    let want = [
        [1, 1],
        [!0, 4],
        [0x56, !0],
        [field, 0],
        [shifted as u32, (shifted >> 32) as u32],
        [k, 7],
        [bits, if bits >> 30 & 1 != 0 { 7 } else { 9 }],
        [40, 3],
        [0xff, 0xf0],
        [13, 11],
        // Denormals of 16 and 64 bits on, of 32 bits flushed: the assembler's default.
        [0xc, 3],
        [0x20000, 0x10000],
    ];
    assert_eq!(got, want.concat());
}

/// Flags are operands too; a 64-bit operand has zeros above them, whatever lies beside them on the device.
#[test]
fn flags_as_operands() {
    let body = "
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v0, 5
  v_mov_b32 v1, 0
  v_mov_b32 v4, 7
  v_mov_b32 v5, 7
  v_mov_b32 v6, 7
  s_mov_b64 vcc, 0
  s_cmp_eq_u32 s2, s2
  s_mov_b64 s[8:9], src_vccz
  s_store_dwordx2 s[8:9], s[2:3], 0x0
  s_mov_b64 s[8:9], src_execz
  s_store_dwordx2 s[8:9], s[2:3], 0x8
  s_mov_b64 s[8:9], src_scc
  s_store_dwordx2 s[8:9], s[2:3], 0x10
  s_xor_b64 s[8:9], src_vccz, src_vccz
  s_store_dwordx2 s[8:9], s[2:3], 0x18
  s_cmp_eq_u32 s2, s2
  s_mov_b32 s8, src_scc
  v_cmp_lt_u64 vcc, src_execz, v[0:1]
  s_cselect_b32 s9, 1, 0
  s_store_dwordx2 s[8:9], s[2:3], 0x20
  s_store_dwordx2 vcc, s[2:3], 0x28
  s_mov_b32 s9, src_vccz
  s_mov_b64 exec, 0
  s_nop 4
  s_mov_b32 s8, src_execz
  s_store_dwordx2 s[8:9], s[2:3], 0x30
";
    let got = run_asm(body, Asm::default(), 14);
    let want = [[1, 0], [0, 0], [1, 0], [0, 0], [1, 1], [!0, !0], [1, 0]];
    assert_eq!(got, want.concat());
}
