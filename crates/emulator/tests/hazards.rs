//! Pairs of instructions that software has to keep apart on gfx90a: found when they are too close, and one wait state
//! more makes them good.

mod support;

use luthier_emulator::{FindingKind, Strict};
use support::{Asm, assemble, load};

/// What comes first, what comes too soon behind it, and the wait states that they need in between.
const PAIRS: &[(&str, &str, u32)] = &[
    ("v_readfirstlane_b32 s8, v1", "global_load_dword v2, v1, s[8:9]", 5),
    ("v_cmp_eq_u32_e64 s[8:9], v1, v1", "global_load_dword v2, v1, s[8:9]", 5),
    ("v_readfirstlane_b32 s8, v1", "v_readlane_b32 s10, v1, s8", 4),
    ("v_readfirstlane_b32 s8, v1", "v_writelane_b32 v3, 0, s8", 4),
    ("v_cmp_eq_u32_e32 vcc, v1, v1", "v_div_fmas_f32 v2, v1, v1, v1", 4),
    ("v_cmpx_eq_u32_e32 vcc, v1, v1", "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 5),
    ("v_add_u32_e32 v1, v1, v1", "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 2),
    ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", "s_getreg_b32 s8, hwreg(HW_REG_MODE)", 2),
    ("s_mov_b32 m0, 2", "s_movrels_b32 s8, s8", 1),
    ("global_store_dwordx4 v1, v[4:7], s[2:3]", "v_mov_b32_e32 v5, 0", 1),
    ("v_mfma_f32_4x4x1f32 v[4:7], v1, v1, v[4:7]", "v_add_f32_e32 v2, v4, v4", 5),
    ("v_mfma_f32_16x16x4f32 v[4:7], v1, v1, v[4:7]", "v_add_f32_e32 v2, v4, v4", 11),
    ("v_mfma_f32_16x16x4f32 v[4:7], v1, v1, v[4:7]", "v_mov_b32_e32 v6, 0", 11),
    ("v_mfma_f32_32x32x2f32 a[0:15], v1, v1, a[0:15]", "v_accvgpr_read_b32 v2, a3", 19),
    ("v_mfma_f32_16x16x4f32 v[4:7], v1, v1, v[4:7]", "v_mfma_f32_16x16x4f32 v[8:11], v4, v1, v[8:11]", 11),
    // Through the accumulator: at once if it is the very same, else not before the first one is through.
    ("v_mfma_f32_4x4x1f32 a[0:3], v1, v1, a[0:3]", "v_mfma_f32_4x4x1f32 a[4:7], v1, v1, a[2:5]", 2),
    ("v_mfma_f32_16x16x4f32 a[0:3], v1, v1, a[0:3]", "v_mfma_f32_16x16x4f32 a[4:7], v1, v1, a[2:5]", 8),
    ("v_mfma_f32_32x32x2f32 a[0:15], v1, v1, a[0:15]", "v_mfma_f32_16x16x4f32 a[16:19], v1, v1, a[12:15]", 16),
    ("v_mfma_f32_16x16x4f32 v[4:7], v1, v1, 0", "v_mfma_f64_16x16x4f64 v[12:19], v[2:3], v[2:3], v[4:11]", 9),
    // What a matrix instruction still reads.
    ("v_mfma_f32_16x16x4f32 v[12:15], v1, v1, v[4:7]", "v_mov_b32_e32 v6, 0", 7),
    ("v_mfma_f32_32x32x2f32 v[20:35], v1, v1, v[4:19]", "v_mov_b32_e32 v6, 0", 15),
    ("v_mfma_f64_16x16x4f64 a[0:7], v[2:3], v[4:5], 0", "v_accvgpr_read_b32 v6, a3", 11),
    ("v_mfma_f64_16x16x4f64 v[4:11], v[2:3], v[2:3], 0", "global_store_dword v1, v5, s[2:3]", 18),
    ("v_mfma_f64_16x16x4f64 v[4:11], v[2:3], v[2:3], 0", "v_mfma_f64_16x16x4f64 a[0:7], v[4:5], v[2:3], 0", 11),
    ("v_mfma_f64_16x16x4f64 v[4:11], v[2:3], v[2:3], 0", "v_mfma_f64_4x4x4f64 v[12:13], v[2:3], v[2:3], v[6:7]", 9),
    ("v_mfma_f64_4x4x4f64 v[4:5], v[2:3], v[2:3], 0", "v_mfma_f64_4x4x4f64 v[12:13], v[2:3], v[2:3], v[4:5]", 4),
    ("v_mfma_f64_4x4x4f64 v[4:5], v[2:3], v[2:3], 0", "v_mfma_f64_4x4x4f64 a[0:1], v[4:5], v[2:3], 0", 6),
    ("v_mfma_f64_4x4x4f64 v[4:5], v[2:3], v[2:3], 0", "global_store_dword v1, v5, s[2:3]", 9),
    ("v_mfma_f64_4x4x4f64 v[4:5], v[2:3], v[2:3], 0", "v_fma_f64 v[6:7], v[2:3], v[2:3], v[2:3]", 2),
    ("v_mov_b32_e32 v4, 0", "v_mfma_f32_16x16x4f32 a[0:3], v4, v1, a[0:3]", 2),
    ("v_cmpx_eq_u32_e32 vcc, v1, v1", "v_mfma_f32_16x16x4f32 a[0:3], v1, v1, a[0:3]", 4),
    ("v_dot2_f32_f16 v4, v1, v1, v2", "v_add_f32_e32 v5, v4, v1", 3),
    ("v_dot2_f32_f16 v4, v1, v1, v2", "v_dot2_f32_f16 v5, v4, v1, v2", 3),
    ("v_dot2_f32_f16 v4, v1, v1, v2", "v_mov_b32_e32 v4, 0", 3),
];

/// Pairs that need nothing in between.
const CHAINS: &[(&str, &str)] = &[
    ("v_mfma_f32_16x16x4f32 a[0:3], v1, v1, a[0:3]", "v_mfma_f32_16x16x4f32 a[0:3], v1, v1, a[0:3]"),
    ("v_mfma_f64_16x16x4f64 a[0:7], v[2:3], v[4:5], 0", "v_mfma_f64_16x16x4f64 a[0:7], v[2:3], v[4:5], a[0:7]"),
    ("v_mfma_f64_16x16x4f64 v[4:11], v[2:3], v[2:3], 0", "v_mfma_f32_16x16x4f32 v[12:15], v1, v1, v[4:7]"),
    ("v_dot2_f32_f16 v4, v1, v1, v2", "v_dot2_f32_f16 v4, v1, v1, v4"),
    ("v_dot2_f32_f16 v4, v1, v1, v2", "v_mfma_f32_16x16x4f32 a[0:3], v4, v1, a[0:3]"),
];

/// Everything that the pairs read, far enough before them.
fn prelude() -> String {
    let vectors: String = (1..20).map(|n| format!("v_mov_b32_e32 v{n}, 0\n")).collect();
    let accumulators: String = (0..20).map(|n| format!("v_accvgpr_write_b32 a{n}, v1\n")).collect();
    format!(
        "s_load_dwordx2 s[2:3], s[0:1], 0x0\ns_mov_b64 s[4:5], 0\ns_mov_b64 s[6:7], 0\ns_waitcnt lgkmcnt(0)\n\
         s_mov_b32 s8, s2\ns_mov_b32 s9, s3\ns_mov_b32 s10, 0\n{vectors}{accumulators}v_mov_b32_e32 v1, s2\n\
         s_nop 15\ns_nop 15\n"
    )
}

fn nops(states: u32) -> String {
    (0..states).map(|_| "s_nop 0\n").collect()
}

/// The hazards that strict mode finds with so many wait states in between.
fn hazards(first: &str, second: &str, states: u32) -> usize {
    let body = format!("{}{first}\n{}{second}\ns_waitcnt vmcnt(0)\n", prelude(), nops(states));
    let loaded = load(&assemble(&body, Asm { vgprs: 40, agprs: 20, ..Asm::default() }));
    let out = loaded.buffer(&[0; 4096]);
    let report = loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], Strict::On).expect("strict mode goes on");
    report.findings.iter().filter(|f| f.kind == FindingKind::Hazard).count()
}

#[test]
fn too_close_is_found_and_far_enough_is_not() {
    for &(first, second, states) in PAIRS {
        assert_eq!(hazards(first, second, states), 0, "{first}; {states} wait states; {second}");
        assert_eq!(hazards(first, second, states - 1), 1, "{first}; {} wait states; {second}", states - 1);
        if states > 1 {
            assert_eq!(hazards(first, second, 0), 1, "{first}; {second}");
        }
    }
}

#[test]
fn chains_through_the_same_accumulator_need_no_wait_states() {
    for (first, second) in CHAINS {
        assert_eq!(hazards(first, second, 0), 0, "{first}; {second}");
    }
}

#[test]
fn an_f64_matrix_instruction_between_a_write_and_a_memory_access_hides_the_hazard_from_the_hardware() {
    let (first, second) =
        ("v_mov_b32_e32 v9, 0\nv_mfma_f64_4x4x4f64 v[4:5], v[2:3], v[2:3], 0", "global_store_dword v9, v1, s[2:3]");
    assert_eq!(hazards(first, second, 0), 1);
    assert_eq!(hazards(first, second, 1), 0);
}

#[test]
fn one_nop_may_be_many_wait_states() {
    let (first, second, states) = PAIRS[0];
    let first = format!("{first}\ns_nop {}", states - 1);
    assert_eq!(hazards(&first, second, 0), 0);
}
