//! One file of vector registers (CDNA2 on): VGPRs from ACCUM_OFFSET on are AGPRs by another name.

mod support;

use luthier_emulator::Strict;
use luthier_isa::Target;
use support::{Asm, assemble_for, load};

const EIGHT_AND_EIGHT: Asm = Asm { vgprs: 8, agprs: 8, lds: 0, extra: "" };

#[test]
fn vgprs_behind_accum_offset_are_agprs_on_either_side_of_it() {
    let body = "
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32 v0, 5, v0
  v_mov_b32 v6, 1
  v_mov_b32 v7, 2
  v_mov_b32 v8, 3
  v_accvgpr_write_b32 a1, 4
  v_mov_b32 v10, 5
  s_nop 3
  v_accvgpr_read_b32 v3, a0
  v_accvgpr_read_b32 v4, a2
  v_mov_b32 v2, v9
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v0, v[6:9], s[2:3]
  global_store_dwordx3 v0, v[2:4], s[2:3] offset:16
  global_load_dwordx4 v[6:9], v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_accvgpr_read_b32 v1, a1
  global_store_dword v0, v1, s[2:3] offset:28";
    for target in [Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        let loaded = load(&assemble_for(target, body, EIGHT_AND_EIGHT));
        let out = loaded.buffer(&[0; 8 * 64]);
        for strict in [Strict::Off, Strict::On] {
            let report = loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], strict).expect("runs");
            assert!(report.findings.is_empty(), "{target:?}: {:#?}", report.findings);
            for lane in loaded.words(out, 8 * 64).chunks(8) {
                assert_eq!(lane, [1, 2, 3, 4, 4, 3, 5, 4], "{target:?}");
            }
        }
    }
}

#[test]
fn vgprs_behind_all_registers_of_the_kernel_are_refused_and_agprs_too() {
    for (body, what) in [("v_mov_b32 v16, 1", "v16"), ("v_accvgpr_write_b32 a8, 1", "a8")] {
        let loaded = load(&assemble_for(Target::Gfx90a, body, EIGHT_AND_EIGHT));
        let out = loaded.buffer(&[0; 8]);
        let error = loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], Strict::Off).expect_err("no such register");
        assert!(error.to_string().contains(&format!("{what} is beyond the")), "{error}");
    }
    let loaded = load(&assemble_for(Target::Gfx90a, "v_mov_b32 v15, 1", EIGHT_AND_EIGHT));
    let out = loaded.buffer(&[0; 8]);
    loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], Strict::Off).expect("v15 is a7");
}
