//! What instructions count for, against what AMD's matrix calculator and the names of the counters say.

use luthier_isa::{Flags, Mode, Op, OpcodeInfo, Target};

fn info(target: &str, name: &str) -> &'static OpcodeInfo {
    let target = Target::ALL.iter().copied().find(|t| t.name() == target).unwrap();
    let modes = Mode::all().filter(|mode| mode.target() == target);
    let op = Op::from_name(name);
    modes
        .flat_map(|mode| {
            op.and_then(|op| mode.plain(op)).or_else(|| mode.opcodes().iter().find(|info| info.base == name))
        })
        .next()
        .unwrap()
}

fn flops(target: &str, name: &str) -> Vec<(&'static str, u32)> {
    info(target, name).flops().into_iter().map(|flops| (flops.kind, flops.count)).collect()
}

#[test]
fn matrix_operations_count_their_products_and_sums() {
    for (target, name, kind, count) in [
        ("gfx908", "v_mfma_f32_32x32x1f32", "f32", 4096),
        ("gfx908", "v_mfma_f32_32x32x2f32", "f32", 4096),
        ("gfx908", "v_mfma_f32_4x4x4f16", "f16", 2048),
        ("gfx908", "v_mfma_f32_16x16x16f16", "f16", 8192),
        ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", "bf16", 16384),
        ("gfx90a", "v_mfma_f64_16x16x4f64", "f64", 2048),
        ("gfx90a", "v_mfma_f64_4x4x4f64", "f64", 512),
        ("gfx942", "v_mfma_f32_16x16x32_fp8_bf8", "fp8", 16384),
        ("gfx942", "v_mfma_f32_16x16x8_xf32", "xf32", 4096),
        ("gfx942", "v_smfmac_f32_16x16x32_f16", "f16", 8192),
        ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", "f8f6f4", 131072),
        ("gfx1100", "v_wmma_f32_16x16x16_f16", "f16", 8192),
        ("gfx1201", "v_swmmac_f32_16x16x32_bf16", "bf16", 8192),
        ("gfx1250", "v_wmma_f32_16x16x128_fp8_fp8", "fp8", 65536),
    ] {
        assert_eq!(flops(target, name), [(kind, count)], "{name}");
        assert!(info(target, name).works_for_the_wave(), "{name}");
        assert_eq!(info(target, name).category(), "matrix", "{name}");
    }
    assert_eq!(flops("gfx90a", "v_mfma_i32_16x16x16i8"), []);
}

#[test]
fn lanes_count_additions_products_and_functions_once_and_fused_ones_twice() {
    for (target, name, kind, count) in [
        ("gfx90a", "v_add_f32", "f32", 1),
        ("gfx90a", "v_fmac_f64", "f64", 2),
        ("gfx90a", "v_pk_fma_f32", "f32", 4),
        ("gfx90a", "v_pk_add_f16", "f16", 2),
        ("gfx90a", "v_dot2_f32_f16", "f16", 4),
        ("gfx90a", "v_rsq_f32", "f32", 1),
        ("gfx90a", "v_div_fmas_f32", "f32", 2),
        ("gfx1100", "v_fma_mix_f32", "f32", 2),
        ("gfx1201", "v_dot4_f32_fp8_bf8", "fp8", 8),
        ("gfx1201", "s_fmac_f32", "f32", 2),
        ("gfx1250", "v_tanh_bf16", "bf16", 1),
    ] {
        assert_eq!(flops(target, name), [(kind, count)], "{name}");
    }
    for name in ["v_max_f32", "v_cmp_lt_f32", "v_cvt_f16_f32", "v_add_u32", "v_div_scale_f32", "v_div_fixup_f32"] {
        assert_eq!(flops("gfx90a", name), [], "{name}");
    }
    assert!(info("gfx1201", "s_fmac_f32").works_for_the_wave());
    assert!(!info("gfx90a", "v_add_f32").works_for_the_wave());
}

#[test]
fn two_operations_at_once_count_both() {
    let both = info("gfx1100", "v_dual_fmac_f32 :: v_dual_mul_f32");
    assert_eq!(both.flops().iter().map(|flops| flops.count).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn every_matrix_operation_on_floats_has_a_count() {
    for mode in Mode::all() {
        for info in mode.opcodes() {
            let floats = !info.base.contains("_i32_") && !info.base.contains("ld_scale");
            if info.flags.intersects(Flags::MFMA | Flags::WMMA) && floats {
                assert_eq!(info.flops().len(), 1, "{}", info.mnemonic);
            }
        }
    }
}
