//! Kernel descriptors against llvm-objdump, and their own round trips.

mod support;

use luthier_loader::fuzz::Random;
use luthier_loader::{CodeObject, Generation, KernelDescriptor};
use support::{corpus, files, llvm_tool, output};

/// The directive's name, and ours where it differs.
const NAMES: &[(&str, &str)] = &[
    ("dx10_clamp", "enable_dx10_clamp"),
    ("ieee_mode", "enable_ieee_mode"),
    ("fp16_overflow", "fp16_ovfl"),
    ("workgroup_processor_mode", "wgp_mode"),
    ("memory_ordered", "mem_ordered"),
    ("forward_progress", "fwd_progress"),
    ("round_robin_scheduling", "enable_wg_rr_en"),
    ("named_barrier_count", "named_bar_cnt"),
    ("wavefront_size32", "enable_wavefront_size32"),
    ("system_sgpr_private_segment_wavefront_offset", "enable_private_segment"),
    ("system_sgpr_workgroup_id_x", "enable_sgpr_workgroup_id_x"),
    ("system_sgpr_workgroup_id_y", "enable_sgpr_workgroup_id_y"),
    ("system_sgpr_workgroup_id_z", "enable_sgpr_workgroup_id_z"),
    ("system_sgpr_workgroup_info", "enable_sgpr_workgroup_info"),
    ("system_vgpr_workitem_id", "enable_vgpr_workitem_id"),
    ("exception_fp_ieee_invalid_op", "enable_exception_ieee_754_fp_invalid_operation"),
    ("exception_fp_denorm_src", "enable_exception_fp_denormal_source"),
    ("exception_fp_ieee_div_zero", "enable_exception_ieee_754_fp_division_by_zero"),
    ("exception_fp_ieee_overflow", "enable_exception_ieee_754_fp_overflow"),
    ("exception_fp_ieee_underflow", "enable_exception_ieee_754_fp_underflow"),
    ("exception_fp_ieee_inexact", "enable_exception_ieee_754_fp_inexact"),
    ("exception_int_div_zero", "enable_exception_int_divide_by_zero"),
    ("user_sgpr_private_segment_buffer", "enable_sgpr_private_segment_buffer"),
    ("user_sgpr_dispatch_ptr", "enable_sgpr_dispatch_ptr"),
    ("user_sgpr_queue_ptr", "enable_sgpr_queue_ptr"),
    ("user_sgpr_kernarg_segment_ptr", "enable_sgpr_kernarg_segment_ptr"),
    ("user_sgpr_dispatch_id", "enable_sgpr_dispatch_id"),
    ("user_sgpr_flat_scratch_init", "enable_sgpr_flat_scratch_init"),
    ("user_sgpr_private_segment_size", "enable_sgpr_private_segment_size"),
    ("user_sgpr_kernarg_preload_length", "kernarg_preload_length"),
    ("user_sgpr_kernarg_preload_offset", "kernarg_preload_offset"),
];

/// What a directive says, as we say it. `None` for directives that are no field of their own.
fn ours(descriptor: &KernelDescriptor, fields: &[(&str, i64)], generation: Generation, directive: &str) -> Option<i64> {
    match directive {
        "next_free_vgpr" => return Some(descriptor.vgpr_count(generation).into()),
        // objdump prints its constant for an empty field from gfx10 on.
        "next_free_sgpr" => return Some((i64::from(descriptor.granulated_wavefront_sgpr_count()) + 1) * 8),
        "accum_offset" => return Some(descriptor.accum_offset().into()),
        // The assembler's own book-keeping.
        "reserve_vcc" | "reserve_flat_scratch" | "reserve_xnack_mask" | "user_sgpr_count" => return None,
        _ => {}
    }
    let name = NAMES.iter().find(|row| row.0 == directive).map_or(directive, |row| row.1);
    let found = fields.iter().find(|field| field.0 == name);
    Some(found.unwrap_or_else(|| panic!("{directive} is no field of {generation:?}")).1)
}

#[luthier_needs::needs(corpus, llvm)]
#[test]
fn fields_agree_with_objdump() {
    let corpus = corpus();
    let Some(objdump) = llvm_tool("llvm-objdump") else { return };
    let (mut kernels, mut values) = (0, 0);
    for path in files(&corpus, "hsaco") {
        let Ok(object) = CodeObject::parse(std::fs::read(&path).unwrap()) else { continue };
        let generation = Generation::of(&object.target().processor).unwrap();
        // objdump has no disassembler for gfx6 and gfx7.
        if ["gfx6", "gfx7"].iter().any(|old| object.target().processor.starts_with(old)) {
            continue;
        }
        let text = output(&objdump, &["-D", "-j", ".rodata", path.to_str().unwrap()]);
        let mut kernel = None;
        for line in text.lines().map(str::trim) {
            let line = line.trim_start_matches("; ");
            if let Some(name) = line.strip_prefix(".amdhsa_kernel ") {
                let found = object.kernel(name).unwrap_or_else(|| panic!("{}: no {name}", path.display()));
                kernel = Some((found, found.descriptor.fields_for(generation)));
                kernels += 1;
            } else if line == ".end_amdhsa_kernel" {
                kernel = None;
            } else if let (Some((kernel, fields)), Some((name, value))) = (&kernel, line.split_once(' ')) {
                // What has no directive is printed as a comment in capitals.
                let name = name.trim_start_matches(".amdhsa_").to_lowercase();
                let Some(ours) = ours(&kernel.descriptor, fields, generation, &name) else { continue };
                assert_eq!(ours.to_string(), value, "{}: {}: {name}", path.display(), kernel.name);
                values += 1;
            }
        }
    }
    println!("{kernels} descriptors, {values} values");
    assert!(kernels > 500 && values > 20 * kernels, "{kernels} descriptors, {values} values");
}

#[test]
fn setters_change_their_field_and_nothing_else() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..1000 {
        let bytes: [u8; 64] = std::array::from_fn(|_| random.number() as u8);
        let before = KernelDescriptor::from_bytes(bytes);
        assert_eq!(before.to_bytes(), bytes);
        let mut after = before;
        // Whatever a getter says can be set again.
        after.set_granulated_workitem_vgpr_count(before.granulated_workitem_vgpr_count()).unwrap();
        after.set_priv(before.priv_());
        after.set_user_sgpr_count(before.user_sgpr_count()).unwrap();
        after.set_kernarg_preload_offset(before.kernarg_preload_offset()).unwrap();
        after.set_tg_split(before.tg_split());
        after.set_uses_dynamic_stack(before.uses_dynamic_stack());
        after.set_kernel_code_entry_byte_offset(before.kernel_code_entry_byte_offset());
        assert_eq!(before, after);

        after.set_enable_sgpr_dispatch_ptr(!before.enable_sgpr_dispatch_ptr());
        after.set_granulated_lds_size(before.granulated_lds_size() ^ 0x155).unwrap();
        after.set_enable_vgpr_workitem_id(before.enable_vgpr_workitem_id() ^ 1).unwrap();
        // Too large a value changes nothing.
        let unchanged = after;
        assert!(after.set_enable_vgpr_workitem_id(4).is_err());
        assert!(after.set(Generation::Gfx90a, "granulated_lds_size", 512).is_err());
        assert!(after.set(Generation::Gfx90a, "wgp_mode", 1).is_err(), "not a field of gfx90a");
        assert_eq!(after, unchanged);
        let changed: Vec<&str> =
            before.fields().iter().zip(after.fields()).filter(|(b, a)| **b != *a).map(|(_, a)| a.0).collect();
        assert_eq!(
            changed,
            [
                "compute_pgm_rsrc2",
                "kernel_code_properties",
                "enable_vgpr_workitem_id",
                "granulated_lds_size",
                "enable_sgpr_dispatch_ptr"
            ]
        );
    }
}

#[test]
fn register_counts_round_up_to_granules() {
    let mut descriptor = KernelDescriptor::from_bytes([0; 64]);
    assert_eq!(descriptor.set_vgpr_count(Generation::Gfx90a, 41), 48);
    assert_eq!(descriptor.granulated_workitem_vgpr_count(), 5);
    assert_eq!(descriptor.set_vgpr_count(Generation::Gfx9, 41), 44);
    assert_eq!(descriptor.set_vgpr_count(Generation::Gfx90a, 4000), 512);
    assert_eq!(descriptor.set_sgpr_count(Generation::Gfx90a, 17), 32);
    assert_eq!(descriptor.set_sgpr_count(Generation::Gfx6, 17), 24);
    assert_eq!(descriptor.set_sgpr_count(Generation::Gfx90a, 1000), 128);
    assert_eq!(descriptor.set_accum_offset(33), 36);
    assert_eq!(descriptor.granulated_accum_offset(), 8);
    descriptor.set_enable_wavefront_size32(true);
    assert_eq!(descriptor.set_vgpr_count(Generation::Gfx11, 41), 48);
    assert_eq!(descriptor.set_vgpr_count(Generation::Gfx125, 41), 48);
}

#[test]
fn fields_are_set_by_name_and_unknown_bits_stay() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for round in 0..700 {
        let generation = Generation::ALL[round % 7];
        let bytes: [u8; 64] = std::array::from_fn(|_| random.number() as u8);
        let before = KernelDescriptor::from_bytes(bytes);
        let mut after = before;
        for (name, value) in before.fields_for(generation) {
            assert_eq!(before.get(generation, name).unwrap(), value);
            after.set(generation, name, value.into()).unwrap();
        }
        assert_eq!(after, before);
        // All fields zero: what is left is what no field has.
        for (name, _) in before.fields_for(generation).into_iter().rev() {
            if !name.starts_with("compute_pgm") && !matches!(name, "kernel_code_properties" | "kernarg_preload") {
                after.set(generation, name, 0).unwrap();
            }
        }
        let left: Vec<(usize, u8)> = after.to_bytes().into_iter().enumerate().filter(|(_, byte)| *byte != 0).collect();
        assert_eq!(left, before.reserved_bits(generation));
        assert_eq!(left, after.reserved_bits(generation));
        // And back.
        for (name, value) in before.fields_for(generation).into_iter().rev() {
            if !name.starts_with("compute_pgm") && !matches!(name, "kernel_code_properties" | "kernarg_preload") {
                after.set(generation, name, value.into()).unwrap();
            }
        }
        assert_eq!(after, before);
    }
}

#[luthier_needs::needs(corpus)]
#[test]
fn no_kernel_of_the_corpus_sets_reserved_bits() {
    let corpus = corpus();
    let mut kernels = 0;
    for path in files(&corpus, "hsaco") {
        let Ok(object) = CodeObject::open(&path) else { continue };
        let generation = Generation::of(&object.target().processor).unwrap();
        for kernel in object.kernels() {
            let reserved = kernel.descriptor.reserved_bits(generation);
            assert!(reserved.is_empty(), "{}: {}: {reserved:x?}", path.display(), kernel.name);
            let size = kernel.metadata().and_then(|m| m.wavefront_size).unwrap();
            assert_eq!(u64::from(kernel.descriptor.wavefront_size(generation)), size, "{}", kernel.name);
            kernels += 1;
        }
    }
    assert!(kernels > 5000, "{kernels}");
}

#[test]
fn derived_values() {
    let mut descriptor = KernelDescriptor::from_bytes([0; 64]);
    descriptor.set(Generation::Gfx11, "inst_pref_size", 63).unwrap();
    assert!(descriptor.set(Generation::Gfx11, "inst_pref_size", 64).is_err());
    assert_eq!(descriptor.inst_pref_bytes(Generation::Gfx11), Some(63 * 128));
    descriptor.set(Generation::Gfx120, "inst_pref_size", 255).unwrap();
    assert_eq!(descriptor.inst_pref_bytes(Generation::Gfx120), Some(255 * 128));
    assert_eq!(descriptor.inst_pref_bytes(Generation::Gfx10), None);
    descriptor.set(Generation::Gfx90a, "kernarg_preload_length", 6).unwrap();
    descriptor.set(Generation::Gfx90a, "kernarg_preload_offset", 2).unwrap();
    assert_eq!(descriptor.preloaded_arguments(Generation::Gfx90a), Some(8..32));
    assert_eq!(descriptor.preloaded_arguments(Generation::Gfx10), None);
    descriptor.set(Generation::Gfx125, "user_sgpr_count", 63).unwrap();
    assert!(descriptor.set(Generation::Gfx120, "user_sgpr_count", 32).is_err());
    descriptor.set(Generation::Gfx10, "enable_wavefront_size32", 1).unwrap();
    assert_eq!((descriptor.wavefront_size(Generation::Gfx10), descriptor.wavefront_size(Generation::Gfx9)), (32, 64));
}
