//! The 64 bytes of a kernel descriptor.
//!
//! Kept as bytes, so that reserved bits and fields of processors that we do not know survive. Names, places and
//! applicability from the LLVM AMDGPU usage page ("Kernel Descriptor") and llvm/Support/AMDHSAKernelDescriptor.h.

use std::fmt;

use crate::LoadError;

/// The processor families whose descriptors differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Generation {
    /// gfx6, gfx7, gfx8.
    Gfx6,
    /// gfx9 without AGPRs in the unified file: gfx900 to gfx90c except gfx90a.
    Gfx9,
    /// gfx90a, gfx940 to gfx950: unified vector register file.
    Gfx90a,
    Gfx10,
    Gfx11,
    /// gfx1200, gfx1201.
    Gfx120,
    /// gfx1250, gfx1251.
    Gfx125,
}

impl Generation {
    pub const ALL: [Generation; 7] = [
        Generation::Gfx6,
        Generation::Gfx9,
        Generation::Gfx90a,
        Generation::Gfx10,
        Generation::Gfx11,
        Generation::Gfx120,
        Generation::Gfx125,
    ];

    /// From a processor name; `None` when it is not one of AMDGCN's.
    pub fn of(processor: &str) -> Option<Generation> {
        let digits = processor.strip_prefix("gfx")?;
        Some(match digits {
            "9-4-generic" => Generation::Gfx90a,
            _ if digits.starts_with("90a") || digits.starts_with("94") || digits.starts_with("95") => {
                Generation::Gfx90a
            }
            _ if digits.starts_with("125") => Generation::Gfx125,
            _ if digits.starts_with("12") => Generation::Gfx120,
            _ if digits.starts_with("11") => Generation::Gfx11,
            _ if digits.starts_with("10") => Generation::Gfx10,
            _ if digits.starts_with('9') => Generation::Gfx9,
            _ if digits.starts_with(['6', '7', '8']) => Generation::Gfx6,
            _ => return None,
        })
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// How many VGPRs (gfx90a: VGPRs and AGPRs together) one step of the granulated count stands for.
    pub fn vgpr_granule(self, wave32: bool) -> u32 {
        match (self, wave32) {
            (Generation::Gfx90a, _) => 8,
            (Generation::Gfx125, true) => 16,
            (Generation::Gfx125, false) => 8,
            (Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx120, true) => 8,
            _ => 4,
        }
    }
}

const GFX6: u8 = 1;
const GFX9: u8 = 2;
const GFX90A: u8 = 4;
const GFX10: u8 = 8;
const GFX11: u8 = 16;
const GFX120: u8 = 32;
const GFX125: u8 = 64;
const ALL: u8 = 0x7f;
const GFX9_PLUS: u8 = ALL & !GFX6;
const GFX10_PLUS: u8 = GFX10 | GFX11 | GFX120 | GFX125;
const GFX12_PLUS: u8 = GFX120 | GFX125;
const GFX6_11: u8 = GFX6 | GFX9 | GFX90A | GFX10 | GFX11;

const RSRC3: usize = 44;
const RSRC1: usize = 48;
const RSRC2: usize = 52;
const PROPERTIES: usize = 56;
const PRELOAD: usize = 58;

/// A kernel descriptor, lossless.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelDescriptor([u8; 64]);

macro_rules! words {
    ($($(#[$doc:meta])* $get:ident $set:ident $ty:ty, $offset:expr;)*) => {
        impl KernelDescriptor {
            $(
                $(#[$doc])*
                pub fn $get(&self) -> $ty {
                    let mut bytes = [0; size_of::<$ty>()];
                    bytes.copy_from_slice(&self.0[$offset..$offset + size_of::<$ty>()]);
                    <$ty>::from_le_bytes(bytes)
                }
                pub fn $set(&mut self, value: $ty) {
                    self.0[$offset..$offset + size_of::<$ty>()].copy_from_slice(&value.to_le_bytes());
                }
            )*

            /// The whole words with their values.
            fn words(&self) -> Vec<(&'static str, i64)> {
                vec![$((stringify!($get), self.$get() as i64)),*]
            }

            /// Sets a whole word. `None` when there is none of that name.
            fn set_word(&mut self, name: &str, value: i128) -> Option<Result<(), LoadError>> {
                $(if name == stringify!($get) {
                    return Some(match <$ty>::try_from(value) {
                        Ok(value) => {
                            self.$set(value);
                            Ok(())
                        }
                        Err(_) => Err(LoadError::DescriptorValue {
                            field: stringify!($get),
                            value,
                            min: <$ty>::MIN.into(),
                            max: <$ty>::MAX.into(),
                        }),
                    });
                })*
                None
            }
        }
    };
}

words! {
    /// Static LDS of a workgroup, in bytes.
    group_segment_fixed_size set_group_segment_fixed_size u32, 0;
    /// Scratch of a work-item, in bytes.
    private_segment_fixed_size set_private_segment_fixed_size u32, 4;
    /// Size of the kernarg segment in bytes; 0 may mean that it is not said.
    kernarg_size set_kernarg_size u32, 8;
    /// From the descriptor's own address to the first instruction, in bytes.
    kernel_code_entry_byte_offset set_kernel_code_entry_byte_offset i64, 16;
    compute_pgm_rsrc3 set_compute_pgm_rsrc3 u32, RSRC3;
    compute_pgm_rsrc1 set_compute_pgm_rsrc1 u32, RSRC1;
    compute_pgm_rsrc2 set_compute_pgm_rsrc2 u32, RSRC2;
    kernel_code_properties set_kernel_code_properties u16, PROPERTIES;
    kernarg_preload set_kernarg_preload u16, PRELOAD;
}

/// One bit field.
struct BitField {
    generations: u8,
    word: usize,
    shift: u32,
    width: u32,
    name: &'static str,
}

/// One row per bit field: generations, word, shift, width, getter, setter, type.
macro_rules! fields {
    ($($(#[$doc:meta])* [$gens:expr] $word:expr, $shift:literal, $width:literal, $get:ident $set:ident $ty:tt $name:literal;)*) => {
        const BIT_FIELDS: &[BitField] = &[
            $(BitField { generations: $gens, word: $word, shift: $shift, width: $width, name: $name }),*
        ];

        impl KernelDescriptor {
            $(
                $(#[$doc])*
                pub fn $get(&self) -> fields!(@type $ty) {
                    fields!(@from $ty, self.bits($word, $shift, $width))
                }
                fields!(@set $ty, $set, $word, $shift, $width, $name);
            )*
        }
    };
    (@type bool) => { bool };
    (@type u32) => { u32 };
    (@from bool, $bits:expr) => { $bits != 0 };
    (@from u32, $bits:expr) => { $bits };
    (@set bool, $set:ident, $word:expr, $shift:literal, $width:literal, $name:literal) => {
        pub fn $set(&mut self, value: bool) {
            self.set_bits($word, $shift, $width, u32::from(value));
        }
    };
    (@set u32, $set:ident, $word:expr, $shift:literal, $width:literal, $name:literal) => {
        /// Refuses a value that the field is too narrow for.
        pub fn $set(&mut self, value: u32) -> Result<(), LoadError> {
            check($name, $width, value.into())?;
            self.set_bits($word, $shift, $width, value);
            Ok(())
        }
    };
}

fn check(field: &'static str, width: u32, value: i128) -> Result<(), LoadError> {
    let max = (1i128 << width) - 1;
    if (0..=max).contains(&value) { Ok(()) } else { Err(LoadError::DescriptorValue { field, value, min: 0, max }) }
}

fields! {
    /// See [`KernelDescriptor::vgpr_count`].
    [ALL] RSRC1, 0, 6, granulated_workitem_vgpr_count set_granulated_workitem_vgpr_count u32
        "granulated_workitem_vgpr_count";
    /// See [`KernelDescriptor::sgpr_count`]. Must be 0 from gfx10 on.
    [ALL] RSRC1, 6, 4, granulated_wavefront_sgpr_count set_granulated_wavefront_sgpr_count u32
        "granulated_wavefront_sgpr_count";
    [ALL] RSRC1, 10, 2, priority set_priority u32 "priority";
    /// 0 nearest even, 1 up, 2 down, 3 towards zero.
    [ALL] RSRC1, 12, 2, float_round_mode_32 set_float_round_mode_32 u32 "float_round_mode_32";
    [ALL] RSRC1, 14, 2, float_round_mode_16_64 set_float_round_mode_16_64 u32 "float_round_mode_16_64";
    /// 0 flush sources and results, 1 flush results, 2 flush sources, 3 flush none.
    [ALL] RSRC1, 16, 2, float_denorm_mode_32 set_float_denorm_mode_32 u32 "float_denorm_mode_32";
    [ALL] RSRC1, 18, 2, float_denorm_mode_16_64 set_float_denorm_mode_16_64 u32 "float_denorm_mode_16_64";
    [ALL] RSRC1, 20, 1, priv_ set_priv bool "priv";
    [GFX6_11] RSRC1, 21, 1, enable_dx10_clamp set_enable_dx10_clamp bool "enable_dx10_clamp";
    [GFX12_PLUS] RSRC1, 21, 1, enable_wg_rr_en set_enable_wg_rr_en bool "enable_wg_rr_en";
    [ALL] RSRC1, 22, 1, debug_mode set_debug_mode bool "debug_mode";
    [GFX6_11] RSRC1, 23, 1, enable_ieee_mode set_enable_ieee_mode bool "enable_ieee_mode";
    [GFX12_PLUS] RSRC1, 23, 1, disable_perf set_disable_perf bool "disable_perf";
    [ALL] RSRC1, 24, 1, bulky set_bulky bool "bulky";
    [ALL] RSRC1, 25, 1, cdbg_user set_cdbg_user bool "cdbg_user";
    [GFX9_PLUS] RSRC1, 26, 1, fp16_ovfl set_fp16_ovfl bool "fp16_ovfl";
    [GFX125] RSRC1, 27, 1, flat_scratch_is_nv set_flat_scratch_is_nv bool "flat_scratch_is_nv";
    [GFX10 | GFX11 | GFX120] RSRC1, 29, 1, wgp_mode set_wgp_mode bool "wgp_mode";
    [GFX10_PLUS] RSRC1, 30, 1, mem_ordered set_mem_ordered bool "mem_ordered";
    [GFX10_PLUS] RSRC1, 31, 1, fwd_progress set_fwd_progress bool "fwd_progress";

    [ALL] RSRC2, 0, 1, enable_private_segment set_enable_private_segment bool "enable_private_segment";
    [ALL & !GFX125] RSRC2, 1, 5, user_sgpr_count set_user_sgpr_count u32 "user_sgpr_count";
    [GFX125] RSRC2, 1, 6, user_sgpr_count_gfx125 set_user_sgpr_count_gfx125 u32 "user_sgpr_count";
    [GFX6_11] RSRC2, 6, 1, enable_trap_handler set_enable_trap_handler bool "enable_trap_handler";
    [GFX120] RSRC2, 6, 1, enable_dynamic_vgpr set_enable_dynamic_vgpr bool "enable_dynamic_vgpr";
    [ALL] RSRC2, 7, 1, enable_sgpr_workgroup_id_x set_enable_sgpr_workgroup_id_x bool "enable_sgpr_workgroup_id_x";
    [ALL] RSRC2, 8, 1, enable_sgpr_workgroup_id_y set_enable_sgpr_workgroup_id_y bool "enable_sgpr_workgroup_id_y";
    [ALL] RSRC2, 9, 1, enable_sgpr_workgroup_id_z set_enable_sgpr_workgroup_id_z bool "enable_sgpr_workgroup_id_z";
    [ALL] RSRC2, 10, 1, enable_sgpr_workgroup_info set_enable_sgpr_workgroup_info bool "enable_sgpr_workgroup_info";
    /// 0 x, 1 x and y, 2 x, y and z.
    [ALL] RSRC2, 11, 2, enable_vgpr_workitem_id set_enable_vgpr_workitem_id u32 "enable_vgpr_workitem_id";
    [ALL] RSRC2, 13, 1, enable_exception_address_watch set_enable_exception_address_watch bool
        "enable_exception_address_watch";
    [ALL] RSRC2, 14, 1, enable_exception_memory set_enable_exception_memory bool "enable_exception_memory";
    /// Must be 0 in the object: the packet processor fills it in.
    [ALL] RSRC2, 15, 9, granulated_lds_size set_granulated_lds_size u32 "granulated_lds_size";
    [ALL] RSRC2, 24, 1, enable_exception_ieee_754_fp_invalid_operation
        set_enable_exception_ieee_754_fp_invalid_operation bool "enable_exception_ieee_754_fp_invalid_operation";
    [ALL] RSRC2, 25, 1, enable_exception_fp_denormal_source set_enable_exception_fp_denormal_source bool
        "enable_exception_fp_denormal_source";
    [ALL] RSRC2, 26, 1, enable_exception_ieee_754_fp_division_by_zero
        set_enable_exception_ieee_754_fp_division_by_zero bool "enable_exception_ieee_754_fp_division_by_zero";
    [ALL] RSRC2, 27, 1, enable_exception_ieee_754_fp_overflow set_enable_exception_ieee_754_fp_overflow bool
        "enable_exception_ieee_754_fp_overflow";
    [ALL] RSRC2, 28, 1, enable_exception_ieee_754_fp_underflow set_enable_exception_ieee_754_fp_underflow bool
        "enable_exception_ieee_754_fp_underflow";
    [ALL] RSRC2, 29, 1, enable_exception_ieee_754_fp_inexact set_enable_exception_ieee_754_fp_inexact bool
        "enable_exception_ieee_754_fp_inexact";
    [ALL] RSRC2, 30, 1, enable_exception_int_divide_by_zero set_enable_exception_int_divide_by_zero bool
        "enable_exception_int_divide_by_zero";

    /// As encoded: the first AGPR's place in the unified file is `(n + 1) * 4`, see [`KernelDescriptor::accum_offset`].
    [GFX90A] RSRC3, 0, 6, granulated_accum_offset set_granulated_accum_offset u32 "granulated_accum_offset";
    [GFX90A] RSRC3, 16, 1, tg_split set_tg_split bool "tg_split";
    [GFX10 | GFX11] RSRC3, 0, 4, shared_vgpr_count set_shared_vgpr_count u32 "shared_vgpr_count";
    [GFX11] RSRC3, 4, 6, inst_pref_size_gfx11 set_inst_pref_size_gfx11 u32 "inst_pref_size";
    [GFX11] RSRC3, 10, 1, trap_on_start set_trap_on_start bool "trap_on_start";
    [GFX11] RSRC3, 11, 1, trap_on_end set_trap_on_end bool "trap_on_end";
    [GFX12_PLUS] RSRC3, 4, 8, inst_pref_size set_inst_pref_size u32 "inst_pref_size";
    [GFX12_PLUS] RSRC3, 13, 1, glg_en set_glg_en bool "glg_en";
    [GFX125] RSRC3, 14, 3, named_bar_cnt set_named_bar_cnt u32 "named_bar_cnt";
    [GFX125] RSRC3, 17, 1, enable_dynamic_vgpr_gfx125 set_enable_dynamic_vgpr_gfx125 bool "enable_dynamic_vgpr";
    [GFX125] RSRC3, 18, 3, tcp_split set_tcp_split u32 "tcp_split";
    [GFX125] RSRC3, 21, 1, enable_didt_throttle set_enable_didt_throttle bool "enable_didt_throttle";
    [GFX11 | GFX12_PLUS] RSRC3, 31, 1, image_op set_image_op bool "image_op";

    [ALL] PROPERTIES, 0, 1, enable_sgpr_private_segment_buffer set_enable_sgpr_private_segment_buffer bool
        "enable_sgpr_private_segment_buffer";
    [ALL] PROPERTIES, 1, 1, enable_sgpr_dispatch_ptr set_enable_sgpr_dispatch_ptr bool "enable_sgpr_dispatch_ptr";
    [ALL] PROPERTIES, 2, 1, enable_sgpr_queue_ptr set_enable_sgpr_queue_ptr bool "enable_sgpr_queue_ptr";
    [ALL] PROPERTIES, 3, 1, enable_sgpr_kernarg_segment_ptr set_enable_sgpr_kernarg_segment_ptr bool
        "enable_sgpr_kernarg_segment_ptr";
    [ALL] PROPERTIES, 4, 1, enable_sgpr_dispatch_id set_enable_sgpr_dispatch_id bool "enable_sgpr_dispatch_id";
    [ALL] PROPERTIES, 5, 1, enable_sgpr_flat_scratch_init set_enable_sgpr_flat_scratch_init bool
        "enable_sgpr_flat_scratch_init";
    [ALL] PROPERTIES, 6, 1, enable_sgpr_private_segment_size set_enable_sgpr_private_segment_size bool
        "enable_sgpr_private_segment_size";
    [GFX10_PLUS] PROPERTIES, 10, 1, enable_wavefront_size32 set_enable_wavefront_size32 bool "enable_wavefront_size32";
    [ALL] PROPERTIES, 11, 1, uses_dynamic_stack set_uses_dynamic_stack bool "uses_dynamic_stack";

    /// Kernel arguments preloaded into user SGPRs, in dwords.
    [GFX90A | GFX125] PRELOAD, 0, 7, kernarg_preload_length set_kernarg_preload_length u32 "kernarg_preload_length";
    /// Where in the kernarg segment they begin, in dwords.
    [GFX90A | GFX125] PRELOAD, 7, 9, kernarg_preload_offset set_kernarg_preload_offset u32 "kernarg_preload_offset";
}

impl KernelDescriptor {
    pub fn from_bytes(bytes: [u8; 64]) -> KernelDescriptor {
        KernelDescriptor(bytes)
    }

    pub fn to_bytes(&self) -> [u8; 64] {
        self.0
    }

    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// `width` bits at `shift` of the little-endian word at `offset`. The two half words at the end read as 16 bits.
    fn bits(&self, offset: usize, shift: u32, width: u32) -> u32 {
        (self.word(offset) >> shift) & (u32::MAX >> (32 - width))
    }

    fn set_bits(&mut self, offset: usize, shift: u32, width: u32, value: u32) {
        let mask = (u32::MAX >> (32 - width)) << shift;
        let word = (self.word(offset) & !mask) | ((value << shift) & mask);
        let size = if offset >= PROPERTIES { 2 } else { 4 };
        self.0[offset..offset + size].copy_from_slice(&word.to_le_bytes()[..size]);
    }

    fn word(&self, offset: usize) -> u32 {
        let mut bytes = [0; 4];
        let size = if offset >= PROPERTIES { 2 } else { 4 };
        bytes[..size].copy_from_slice(&self.0[offset..offset + size]);
        u32::from_le_bytes(bytes)
    }

    /// Vector registers allocated to a work-item: on gfx90a and gfx94x, VGPRs and AGPRs together.
    pub fn vgpr_count(&self, generation: Generation) -> u32 {
        let wave32 = self.wavefront_size(generation) == 32;
        (self.granulated_workitem_vgpr_count() + 1) * generation.vgpr_granule(wave32)
    }

    /// Rounds up to what the field can say; more than it can say sets its largest value. Gives the count set.
    pub fn set_vgpr_count(&mut self, generation: Generation, registers: u32) -> u32 {
        let wave32 = self.wavefront_size(generation) == 32;
        let granules = registers.max(1).div_ceil(generation.vgpr_granule(wave32)).min(64);
        self.set_bits(RSRC1, 0, 6, granules - 1);
        self.vgpr_count(generation)
    }

    /// Scalar registers that the field stands for, in steps of 8, with VCC, FLAT_SCRATCH and XNACK_MASK counted. From
    /// gfx10 on the field is 0 and every wave has 128: this says 106 (the addressable ones).
    pub fn sgpr_count(&self, generation: Generation) -> u32 {
        if generation.bit() & GFX10_PLUS != 0 { 106 } else { (self.granulated_wavefront_sgpr_count() + 1) * 8 }
    }

    /// Rounds up to what the hardware allocates (steps of 16 on gfx9, of 8 before), at most 128. Gives the count set.
    pub fn set_sgpr_count(&mut self, generation: Generation, registers: u32) -> u32 {
        let granule = match generation {
            Generation::Gfx6 => 8,
            _ => 16,
        };
        if generation.bit() & GFX10_PLUS == 0 {
            let registers = registers.clamp(1, 128).next_multiple_of(granule);
            self.set_bits(RSRC1, 6, 4, registers / 8 - 1);
        }
        self.sgpr_count(generation)
    }

    /// gfx90a, gfx94x: where AGPR 0 lies in the unified register file, which is how many VGPRs there are.
    pub fn accum_offset(&self) -> u32 {
        (self.granulated_accum_offset() + 1) * 4
    }

    /// Rounds up to a multiple of 4, at most 256. Gives the offset set.
    pub fn set_accum_offset(&mut self, registers: u32) -> u32 {
        self.set_bits(RSRC3, 0, 6, registers.max(1).div_ceil(4).min(64) - 1);
        self.accum_offset()
    }

    /// Every named field with its value, as gfx90a understands it.
    pub fn fields(&self) -> Vec<(&'static str, i64)> {
        self.fields_for(Generation::Gfx90a)
    }

    /// Every named field that a generation has, with its value: first the whole words, then their bit fields.
    pub fn fields_for(&self, generation: Generation) -> Vec<(&'static str, i64)> {
        let mut all = self.words();
        let own = BIT_FIELDS.iter().filter(|field| field.generations & generation.bit() != 0);
        all.extend(own.map(|field| (field.name, self.bits(field.word, field.shift, field.width).into())));
        all
    }

    /// The value of a field that the generation has.
    pub fn get(&self, generation: Generation, name: &str) -> Result<i64, LoadError> {
        let found = self.fields_for(generation).into_iter().find(|field| field.0 == name);
        found.map(|field| field.1).ok_or_else(|| no_field(generation, name))
    }

    /// Sets a field that the generation has to a value that it is wide enough for; changes nothing otherwise. Counts are
    /// as they are encoded: for registers there are [`KernelDescriptor::set_vgpr_count`] and the like.
    pub fn set(&mut self, generation: Generation, name: &str, value: i128) -> Result<(), LoadError> {
        if let Some(done) = self.set_word(name, value) {
            return done;
        }
        let field = BIT_FIELDS.iter().find(|field| field.generations & generation.bit() != 0 && field.name == name);
        let field = field.ok_or_else(|| no_field(generation, name))?;
        check(field.name, field.width, value)?;
        self.set_bits(field.word, field.shift, field.width, value as u32);
        Ok(())
    }

    /// The bits that are set and that no field of the generation has, as byte offset and mask: must be 0 by today's
    /// specification, and are kept.
    pub fn reserved_bits(&self, generation: Generation) -> Vec<(usize, u8)> {
        let mut known = [0u8; 64];
        for range in [0..12, 16..24] {
            known[range].fill(0xff);
        }
        for field in BIT_FIELDS.iter().filter(|field| field.generations & generation.bit() != 0) {
            let mask = (u64::from(u32::MAX >> (32 - field.width)) << field.shift).to_le_bytes();
            (0..4).for_each(|byte| known[field.word + byte] |= mask[byte]);
        }
        let unknown = self.0.iter().zip(known).map(|(byte, known)| byte & !known).enumerate();
        unknown.filter(|(_, bits)| *bits != 0).collect()
    }

    /// What the instruction prefetch is told at the kernel's start, in bytes of code. gfx11 on.
    pub fn inst_pref_bytes(&self, generation: Generation) -> Option<u32> {
        let lines = match generation {
            Generation::Gfx11 => self.inst_pref_size_gfx11(),
            Generation::Gfx120 | Generation::Gfx125 => self.inst_pref_size(),
            _ => return None,
        };
        Some(lines * 128)
    }

    /// Registers of a work-item that both halves of a wave64 share, from gfx10 to gfx11, in steps of 8.
    pub fn shared_vgprs(&self, generation: Generation) -> Option<u32> {
        matches!(generation, Generation::Gfx10 | Generation::Gfx11).then(|| self.shared_vgpr_count() * 8)
    }

    /// Work-items of a wave.
    pub fn wavefront_size(&self, generation: Generation) -> u32 {
        if generation.bit() & GFX10_PLUS != 0 && self.enable_wavefront_size32() { 32 } else { 64 }
    }

    /// The kernel arguments that are preloaded into SGPRs, as a byte range of the kernarg segment. `None` without any.
    pub fn preloaded_arguments(&self, generation: Generation) -> Option<std::ops::Range<u32>> {
        let length = self.kernarg_preload_length();
        let start = self.kernarg_preload_offset() * 4;
        (generation.bit() & (GFX90A | GFX125) != 0 && length != 0).then(|| start..start + length * 4)
    }

    /// Bytes from the entry to where the hardware starts a kernel whose arguments it has preloaded. In front of that, code
    /// loads the same registers, for firmware that cannot preload; gfx125x's always can, and starts at the entry.
    pub fn preloaded_entry(&self, generation: Generation) -> Option<u64> {
        (generation == Generation::Gfx90a && self.kernarg_preload_length() != 0).then_some(256)
    }
}

fn no_field(generation: Generation, name: &str) -> LoadError {
    LoadError::DescriptorField { field: name.chars().take(100).collect(), generation }
}

impl fmt::Debug for KernelDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.words()).finish()
    }
}
