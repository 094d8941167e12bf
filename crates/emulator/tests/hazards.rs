//! Pairs of instructions that software has to keep apart: found when they are too close, and one wait state more makes
//! them good. The numbers are those that `llc-22 -run-pass post-RA-hazard-rec` fills up to.

mod support;

use luthier_emulator::{DeviceConfig, FindingKind, Strict};
use luthier_isa::Target;
use support::{Asm, assemble_for, load_for};

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

/// The same on gfx942.
const CDNA3: &[(&str, &str, u32)] = &[
    ("v_mfma_f32_4x4x4_16b_f16 v[4:7], v[2:3], v[2:3], v[12:15]", "v_add_f32_e32 v2, v4, v4", 5),
    ("v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[12:15]", "v_add_f32_e32 v2, v4, v4", 7),
    ("v_mfma_f32_16x16x8_xf32 v[4:7], v[2:3], v[2:3], v[12:15]", "global_store_dword v1, v5, s[2:3]", 7),
    ("v_mfma_f32_32x32x16_fp8_fp8 v[20:35], v[2:3], v[2:3], v[4:19]", "v_mov_b32_e32 v21, 0", 11),
    ("v_mfma_f32_32x32x8_f16 v[20:35], v[2:3], v[2:3], v[4:19]", "v_mov_b32_e32 v6, 0", 7),
    ("v_mfma_f32_16x16x16_f16 v[12:15], v[2:3], v[2:3], v[4:7]", "v_mov_b32_e32 v6, 0", 3),
    ("v_mfma_f32_4x4x1_16b_f32 v[4:7], v1, v1, v[12:15]", "v_add_f32_e32 v2, v4, v4", 4),
    ("v_mfma_f32_16x16x4_f32 v[4:7], v1, v1, v[12:15]", "v_add_f32_e32 v2, v4, v4", 10),
    ("v_mfma_f32_16x16x4_f32 v[4:7], v1, v1, v[12:15]", "v_mfma_f32_16x16x4_f32 v[8:11], v1, v1, v[6:9]", 8),
    ("v_mfma_f32_32x32x2_f32 v[20:35], v1, v1, v[4:19]", "v_mfma_f32_16x16x4_f32 v[8:11], v20, v1, v[8:11]", 18),
    ("v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], 0", "v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[2:3], v[6:9]", 5),
    ("v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], 0", "v_mfma_f32_16x16x4_f32 v[8:11], v1, v1, v[6:9]", 5),
    (
        "v_mfma_f32_4x4x4_16b_f16 v[4:7], v[2:3], v[2:3], 0",
        "v_mfma_f32_4x4x4_16b_f16 v[8:11], v[2:3], v[2:3], v[4:7]",
        2,
    ),
    (
        "v_smfmac_f32_16x16x32_f16 v[4:7], v[2:3], v[8:11], v1",
        "v_smfmac_f32_16x16x32_f16 v[12:15], v[2:3], v[8:11], v4",
        7,
    ),
    (
        "v_smfmac_f32_16x16x32_f16 v[4:7], v[2:3], v[8:11], v1",
        "v_smfmac_f32_16x16x32_f16 v[6:9], v[2:3], v[10:13], v1",
        5,
    ),
    ("v_mfma_f64_16x16x4_f64 v[4:11], v[2:3], v[2:3], 0", "v_mfma_f32_4x4x1_16b_f32 v[12:15], v1, v1, v[4:7]", 9),
    ("v_mfma_f64_16x16x4_f64 v[4:11], v[2:3], v[2:3], 0", "global_store_dword v1, v5, s[2:3]", 18),
    ("v_mfma_f64_4x4x4_4b_f64 v[4:5], v[2:3], v[2:3], 0", "v_add_f32_e32 v6, v4, v4", 6),
    ("v_mov_b32_e32 v4, 0", "v_mfma_f32_16x16x4_f32 a[0:3], v4, v1, a[0:3]", 2),
    ("v_exp_f32_e32 v4, v1", "v_add_f32_e32 v5, v4, v1", 1),
    ("v_mov_b32_sdwa v4, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0", "v_add_f32_e32 v5, v4, v1", 1),
    ("v_cvt_pk_fp8_f32 v4, v1, v1 op_sel:[0,0,1]", "v_add_f32_e32 v5, v4, v1", 1),
    ("v_readfirstlane_b32 s8, v1", "v_mov_b32_e32 v4, s8", 2),
    ("v_cmp_eq_u32_e32 vcc, v1, v1", "v_cndmask_b32_e32 v4, v1, v1, vcc", 2),
    ("v_mov_b32_e32 v4, 0", "v_readfirstlane_b32 s8, v4", 1),
    ("v_cmpx_eq_u32_e32 vcc, v1, v1", "v_readfirstlane_b32 s8, v1", 4),
    ("v_readfirstlane_b32 s8, v1", "global_load_dword v2, v1, s[8:9]", 5),
    ("global_store_dwordx4 v1, v[4:7], s[2:3]", "v_mov_b32_e32 v5, 0", 2),
];

/// And on gfx950, where they differ.
const CDNA4: &[(&str, &str, u32)] = &[
    ("v_mfma_f32_16x16x32_f16 v[4:7], v[8:11], v[8:11], v[12:15]", "v_add_f32_e32 v2, v4, v4", 8),
    ("v_mfma_f32_16x16x128_f8f6f4 v[4:7], v[8:15], v[8:15], v[12:15]", "v_add_f32_e32 v2, v4, v4", 12),
    ("v_mfma_f32_32x32x64_f8f6f4 v[20:35], v[8:15], v[8:15], 0", "v_add_f32_e32 v2, v20, v20", 20),
    ("v_mfma_f32_16x16x128_f8f6f4 v[4:7], v[8:11], v[8:13], v[12:15] cbsz:4 blgp:2", "v_add_f32_e32 v2, v4, v4", 8),
    ("v_mfma_f32_16x16x128_f8f6f4 v[4:7], v[8:11], v[8:15], v[12:15] cbsz:4", "v_add_f32_e32 v2, v4, v4", 12),
    ("v_mfma_f32_32x32x64_f8f6f4 v[20:35], v[8:11], v[8:11], 0 cbsz:4 blgp:4", "v_add_f32_e32 v2, v20, v20", 12),
    (
        "v_mfma_f32_16x16x32_f16 v[4:7], v[8:11], v[8:11], 0",
        "v_mfma_f32_16x16x32_f16 v[12:15], v[8:11], v[8:11], v[6:9]",
        6,
    ),
    (
        "v_mfma_f32_4x4x4_16b_f16 v[4:7], v[2:3], v[2:3], 0",
        "v_mfma_f32_4x4x4_16b_f16 v[8:11], v[2:3], v[2:3], v[6:9]",
        4,
    ),
    ("v_mfma_f32_4x4x4_16b_f16 v[4:7], v[2:3], v[2:3], 0", "v_mfma_f32_4x4x1_16b_f32 v[8:11], v1, v1, v[6:9]", 3),
    ("v_mfma_f32_16x16x4_f32 v[4:7], v1, v1, v[12:15]", "v_add_f32_e32 v2, v4, v4", 10),
    ("v_mfma_f64_16x16x4_f64 v[4:11], v[2:3], v[2:3], 0", "v_add_f32_e32 v2, v4, v4", 19),
    ("v_mfma_f64_16x16x4_f64 v[4:11], v[2:3], v[2:3], 0", "v_mov_b32_e32 v4, 0", 11),
    ("v_mfma_f64_16x16x4_f64 v[4:11], v[2:3], v[2:3], 0", "v_mfma_f32_4x4x1_16b_f32 v[12:15], v1, v1, v[4:7]", 17),
    ("v_mov_b32_e32 v4, 0", "v_permlane16_swap_b32_e32 v4, v5", 2),
    ("v_cmpx_eq_u32_e32 vcc, v1, v1", "v_permlane32_swap_b32_e32 v4, v5", 4),
];

/// Pairs that need nothing in between, CDNA3 on.
const CDNA3_CHAINS: &[(&str, &str)] = &[
    ("v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], 0", "v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[2:3], v[4:7]"),
    ("v_mfma_f32_16x16x4_f32 v[4:7], v1, v1, 0", "v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[2:3], v[6:9]"),
    ("v_mfma_f64_16x16x4_f64 v[4:11], v[2:3], v[2:3], 0", "v_mfma_f32_16x16x16_f16 v[12:15], v[2:3], v[2:3], v[4:7]"),
    ("v_smfmac_f32_16x16x32_f16 v[4:7], v[2:3], v[8:11], v1", "v_smfmac_f32_16x16x32_bf16 v[4:7], v[2:3], v[8:11], v1"),
    ("v_exp_f32_e32 v4, v1", "v_exp_f32_e32 v5, v4"),
    ("v_exp_f32_e32 v4, v1", "global_store_dword v1, v4, s[2:3]"),
    ("v_smfmac_f32_16x16x32_f16 v[4:7], v[2:3], v[8:11], v1", "v_mov_b32_e32 v1, 0"),
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

/// The hazards that strict mode finds with `states` wait states in between.
fn hazards(first: &str, second: &str, states: u32) -> usize {
    hazards_on(Target::Gfx90a, first, second, states)
}

fn hazards_on(target: Target, first: &str, second: &str, states: u32) -> usize {
    let body = format!("{}{first}\n{}{second}\ns_waitcnt vmcnt(0)\n", prelude(), nops(states));
    let object = assemble_for(target, &body, Asm { vgprs: 40, agprs: 20, ..Asm::default() });
    let loaded = load_for(target, &object, DeviceConfig::default());
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
fn so_it_is_on_cdna3_and_cdna4() {
    for (target, pairs) in [(Target::Gfx942, CDNA3), (Target::Gfx950, CDNA4)] {
        for &(first, second, states) in pairs {
            assert_eq!(
                hazards_on(target, first, second, states),
                0,
                "{target:?}: {first}; {states} wait states; {second}"
            );
            let found = hazards_on(target, first, second, states - 1);
            assert_eq!(found, 1, "{target:?}: {first}; {} wait states; {second}", states - 1);
        }
        for (first, second) in CDNA3_CHAINS {
            assert_eq!(hazards_on(target, first, second, 0), 0, "{target:?}: {first}; {second}");
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
