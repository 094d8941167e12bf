//! Constants among bf16 sources on gfx1250: they are f32's, whose upper half is the bf16.

mod support;

use luthier_emulator::Strict;
use support::{assemble_rdna, load};

/// Lane 0's v2 after one instruction, with v3 = 5.0 and v4 = 2.0 in both halves.
fn result(instruction: &str) -> u32 {
    let body = format!(
        "s_load_b64 s[2:3], s[0:1], 0x0\nv_and_b32_e32 v0, 0x3ff, v0\nv_lshlrev_b32_e32 v1, 2, v0\nv_mov_b32_e32 v2, 0\n\
         v_mov_b32_e32 v3, 0x40a040a0\nv_mov_b32_e32 v4, 0x40004000\ns_wait_kmcnt 0x0\n{instruction}\n\
         global_store_b32 v1, v2, s[2:3]"
    );
    let loaded = load(&assemble_rdna("gfx1250", 32, &body));
    let buffer = loaded.buffer(&[0; 64]);
    let report = loaded.launch("k", [32, 1, 1], [32, 1, 1], &[buffer], Strict::On).expect("it runs");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    loaded.words(buffer, 1)[0]
}

#[test]
fn bf16_constants_are_in_the_upper_half() {
    let f32 = |value: f32| value.to_bits();
    // Of halves: the constant's upper half is 1.0, its lower half zero; as f32 it is 1.0.
    assert_eq!(result("v_fma_mix_f32_bf16 v2, v3, 1.0, v4 op_sel:[0,1,0] op_sel_hi:[1,1,1]"), f32(7.0));
    assert_eq!(result("v_fma_mix_f32_bf16 v2, v3, 1.0, v4 op_sel:[0,0,0] op_sel_hi:[1,1,1]"), f32(2.0));
    assert_eq!(result("v_fma_mix_f32_bf16 v2, v3, 1.0, v4 op_sel:[0,0,0] op_sel_hi:[1,0,1]"), f32(7.0));
    assert_eq!(result("v_fma_mixlo_bf16 v2, v3, 1.0, v4 op_sel:[0,1,0] op_sel_hi:[1,1,1]"), 0x40e0);
    // Packed: 5 * 2 + 1 in the lower half, + 0 in the upper one.
    assert_eq!(result("v_pk_fma_bf16 v2, v3, v4, 1.0 op_sel:[0,0,1] op_sel_hi:[1,1,0]"), 0x4120_4130);
    assert_eq!(result("v_pk_fma_bf16 v2, v3, v4, 1.0"), 0x4130_4120);
    assert_eq!(result("v_pk_add_bf16 v2, v3, 1.0 op_sel:[0,1] op_sel_hi:[1,1]"), 0x40c0_40c0);
    assert_eq!(result("v_pk_mul_bf16 v2, v3, -2.0 op_sel:[0,1] op_sel_hi:[1,1]"), 0xc120_c120);
    assert_eq!(result("v_pk_max_num_bf16 v2, v3, 4.0 op_sel:[0,1] op_sel_hi:[1,0]"), 0x40a0_40a0);
    // One number: its lower half is read.
    assert_eq!(result("v_rcp_bf16_e32 v2, 2.0"), 0x7f80);
    assert_eq!(result("v_cvt_f32_bf16_e32 v2, 4.0"), 0);
    // Literals are written as they are meant.
    assert_eq!(result("v_rcp_bf16_e32 v2, 0x4040"), 0x3eab);
}
