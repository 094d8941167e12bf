//! Small kernels in assembly, in the words of any processor.
#![allow(dead_code)]

use std::fmt::Write;

use luthier_isa::{Generation, Mode, Wave};
use luthier_loader::CodeObject;

use crate::support::assemble_for;

/// What a kernel is made of, in the words of its processor.
pub struct Words {
    pub mode: Mode,
    pub generation: Generation,
    pub wide: bool,
}

impl Words {
    pub fn of(mode: Mode) -> Words {
        Words { mode, generation: mode.target().generation(), wide: mode.wave() == Wave::W64 }
    }
    pub fn has_new_names(&self) -> bool {
        self.generation >= Generation::Gfx11
    }
    pub fn vcc(&self) -> &'static str {
        if self.wide { "vcc" } else { "vcc_lo" }
    }
    pub fn load(&self) -> &'static str {
        if self.has_new_names() { "global_load_b32" } else { "global_load_dword" }
    }
    pub fn store(&self) -> &'static str {
        if self.has_new_names() { "global_store_b32" } else { "global_store_dword" }
    }
    pub fn local(&self, load: bool) -> &'static str {
        match (self.has_new_names(), load) {
            (true, true) => "ds_load_b32",
            (true, false) => "ds_store_b32",
            (false, true) => "ds_read_b32",
            (false, false) => "ds_write_b32",
        }
    }
    /// Everything has come.
    pub fn wait(&self) -> &'static str {
        match self.generation {
            Generation::Gfx12 | Generation::Gfx1250 => {
                "s_wait_loadcnt 0x0\ns_wait_storecnt 0x0\ns_wait_dscnt 0x0\ns_wait_kmcnt 0x0\n"
            }
            Generation::Gfx10 | Generation::Gfx11 => "s_waitcnt 0x0\ns_waitcnt_vscnt null, 0x0\n",
            _ => "s_waitcnt 0x0\n",
        }
    }
    pub fn exec(&self, value: u64) -> String {
        let low = format!("s_mov_b32 exec_lo, {:#x}\n", value as u32);
        if self.wide { format!("{low}s_mov_b32 exec_hi, {:#x}\n", value >> 32) } else { low }
    }
    /// Of what is written for gfx9: the same in the processor's own words.
    pub fn translate(&self, body: &str) -> String {
        let mut body = body.to_owned();
        if self.has_new_names() {
            let names = [
                ("s_buffer_load_dword ", "s_buffer_load_b32 "),
                ("s_load_dwordx2 ", "s_load_b64 "),
                ("s_load_dword ", "s_load_b32 "),
                ("buffer_load_dword ", "buffer_load_b32 "),
                ("buffer_store_dword ", "buffer_store_b32 "),
                ("global_load_dword ", "global_load_b32 "),
                ("global_load_ubyte ", "global_load_u8 "),
                ("global_store_short ", "global_store_b16 "),
                ("global_atomic_add ", "global_atomic_add_u32 "),
                ("flat_load_dword ", "flat_load_b32 "),
                ("ds_write2_b32 ", "ds_store_2addr_b32 "),
                ("ds_write2st64_b32 ", "ds_store_2addr_stride64_b32 "),
                ("ds_read2_b32 ", "ds_load_2addr_b32 "),
                ("ds_write_b32 ", "ds_store_b32 "),
                ("ds_read_b32 ", "ds_load_b32 "),
                ("ds_read_addtid_b32 ", "ds_load_addtid_b32 "),
                ("buffer_load_dwordx2 ", "buffer_load_b64 "),
                ("global_load_dwordx2 ", "global_load_b64 "),
            ];
            names.iter().for_each(|(old, new)| body = body.replace(old, new));
        }
        if self.generation == Generation::Gfx940 {
            body = body.replace(" glc\n", " sc0\n");
        }
        if self.generation >= Generation::Gfx12 {
            body = body.replace("], 0 offen", "], null offen").replace("], 0 idxen", "], null idxen");
            body = body.replace("], 0 offset", "], null offset").replace(" glc\n", " th:TH_ATOMIC_RETURN\n");
        }
        body.replace("wait\n", self.wait())
    }
    /// s[12:19] = the resource of a line of 64 texels of 32 bits at s[2:3]; `None` where there are no images. Then what
    /// image instructions say besides their registers.
    pub fn image(&self) -> Option<(String, &'static str)> {
        let select = 0xfac | 8 << 28;
        let words = match self.generation {
            Generation::Gfx940 | Generation::Gfx1250 => return None,
            g if g.is_gfx9_family() => [4 << 20 | 4 << 26, 63 | 4 << 28, select, 63 << 13, 0],
            Generation::Gfx10 => [20 << 20 | 3 << 30, 15 | 1 << 31, select, 0, 4 << 20],
            Generation::Gfx11 => [20 << 20 | 3 << 30, 15, select, 0, 4 << 20],
            _ => [20u32 << 17 | 3 << 30, 15, select, 0, 4 << 20],
        };
        let mut text = format!("s_lshr_b64 s[12:13], s[2:3], 8\ns_or_b32 s13, s13, {:#x}\n", words[0]);
        for (n, word) in words[1..].iter().chain(&[0, 0]).enumerate() {
            text += &format!("s_mov_b32 s{}, {word:#x}\n", 14 + n);
        }
        let modifiers = match self.generation {
            g if g.is_gfx9_family() => "dmask:0x1 unorm",
            Generation::Gfx12 => "dmask:0x1 dim:SQ_RSRC_IMG_1D",
            _ => "dmask:0x1 dim:SQ_RSRC_IMG_1D unorm",
        };
        Some((text, modifiers))
    }
    pub fn has_agprs(&self) -> bool {
        self.mode.target().name() == "gfx908" || matches!(self.generation, Generation::Gfx90a | Generation::Gfx940)
    }
}

/// What a kernel does between its beginning, which puts the address of 64 KB into s[2:3] and four times the lane into
/// v0, and its end, which stores v1.
#[derive(Default)]
pub struct Kernel {
    pub body: String,
    pub vgprs: u32,
    pub agprs: u32,
    pub lds: u32,
    /// More of the kernel's description.
    pub more: &'static str,
}

impl Kernel {
    pub fn of(body: String) -> Option<Kernel> {
        Some(Kernel { body, vgprs: 24, agprs: 0, lds: 1024, more: "" })
    }

    pub fn assemble(&self, w: &Words, name: &str) -> Option<CodeObject> {
        let load = if w.has_new_names() { "s_load_b64" } else { "s_load_dwordx2" };
        let mut text = format!(
            ".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n.amdhsa_code_object_version 6\n.text\n.protected k\n.globl k\n.p2align 8\n\
             .type k,@function\nk:\n{load} s[2:3], s[0:1], 0x0\n{wait}v_and_b32_e32 v0, 63, v0\n\
             v_lshlrev_b32_e32 v0, 2, v0\nv_mov_b32_e32 v1, v0\n{}{wait}{}{} v0, v1, s[2:3]\ns_endpgm\n.size k, .-k\n",
            w.mode.target().name(),
            self.body,
            w.exec(u64::MAX),
            w.store(),
            wait = w.wait(),
        );
        let vgprs = self.vgprs.next_multiple_of(4);
        let unified = matches!(w.generation, Generation::Gfx90a | Generation::Gfx940);
        let accum = if unified { format!(".amdhsa_accum_offset {vgprs}\n") } else { String::new() };
        let total = if unified { vgprs + self.agprs } else { vgprs.max(self.agprs) };
        let wave = match w.generation.is_gfx9_family() || w.generation == Generation::Gfx1250 {
            true => String::new(),
            false => format!(".amdhsa_wavefront_size32 {}\n", u32::from(!w.wide)),
        };
        write!(
            text,
            ".rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_kernarg_size 8\n\
             .amdhsa_next_free_vgpr {total}\n.amdhsa_next_free_sgpr 102\n.amdhsa_group_segment_fixed_size {lds}\n\
             {accum}{wave}{more}.end_amdhsa_kernel\n.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: k\n    \
             .symbol: k.kd\n    .kernarg_segment_size: 8\n    .group_segment_fixed_size: {lds}\n    \
             .private_segment_fixed_size: 0\n    .kernarg_segment_align: 8\n    .wavefront_size: {}\n    .sgpr_count: 102\n    \
             .vgpr_count: {total}\n    .max_flat_workgroup_size: 64\n    .args:\n      \
             - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}\n...\n.end_amdgpu_metadata\n",
            w.mode.wave().lanes(),
            lds = self.lds,
            more = self.more,
        )
        .ok()?;
        assemble_for(w.mode, name, &text)
    }
}
