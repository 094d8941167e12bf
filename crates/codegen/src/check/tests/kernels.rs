//! A kernel that leaves no register free, for every processor.

use std::fmt::Write;

use luthier_isa::{Generation, Mode, Wave};
use luthier_loader::CodeObject;

use super::support::{llvm, output, scratch};

/// Where a device's first allocation is, which the kernel loads from and stores to.
pub const BUFFER: u64 = 0x10_0000_0000;

/// How many registers of each file are live all through the kernel.
#[derive(Clone, Copy)]
pub struct Busy {
    pub sgprs: u32,
    pub vgprs: u32,
    /// AGPRs that it is given behind its VGPRs; it uses the first of them.
    pub agprs: u32,
}

impl Busy {
    /// The number of the first instruction where all of them are live.
    pub fn middle(self) -> usize {
        (self.sgprs - 2 + self.vgprs - 1) as usize
    }
}

/// Assembles a kernel that has `live` registers live from its middle to its end, with loads in flight, SCC, VCC and M0
/// live. It is given `room` VGPRs, of CDNA's unified file half.
pub fn busy(mode: Mode, busy: Busy, room: u32) -> Option<CodeObject> {
    let generation = mode.target().generation();
    let wait = if generation >= Generation::Gfx12 { "s_wait_loadcnt 0x0" } else { "s_waitcnt vmcnt(0)" };
    let scalar_wait = if generation >= Generation::Gfx12 { "s_wait_kmcnt 0x0" } else { "s_waitcnt lgkmcnt(0)" };
    let vcc = if mode.wave() == Wave::W32 { "vcc_lo" } else { "vcc" };
    let [load, store, scalar] = match generation >= Generation::Gfx11 {
        true => ["global_load_b32", "global_store_b32", "s_load_b64"],
        false => ["global_load_dword", "global_store_dword", "s_load_dwordx2"],
    };
    let mut body = String::new();
    for n in 2..busy.sgprs {
        writeln!(body, "s_mov_b32 s{n}, {n}").unwrap();
    }
    for n in 1..busy.vgprs {
        // An address in v2 and v3.
        let value = [n.into(), BUFFER & 0xffff_ffff, BUFFER >> 32][usize::from(n == 2) + 2 * usize::from(n == 3)];
        writeln!(body, "v_mov_b32_e32 v{n}, {value:#x}").unwrap();
    }
    // The middle: everything is live from here on.
    body += if busy.agprs > 0 { "s_nop 0\nv_accvgpr_write_b32 a0, 0\n" } else { "s_nop 0\n" };
    write!(
        body,
        "s_mov_b32 m0, 5\nv_cmp_eq_u32_e32 {vcc}, 3, v1\ns_cmp_eq_u32 s2, s3\n{load} v4, v[2:3], off\n\
         {scalar} s[4:5], s[0:1], 0x0\ns_nop 0\ns_mov_b32 s6, m0\nv_xor_b32_e32 v5, v5, v6\n{wait}\n{scalar_wait}\n\
         s_cselect_b32 s7, s6, s7\nv_cndmask_b32_e32 v7, v5, v4, {vcc}\n"
    )
    .unwrap();
    if mode.target().vgprs() > 256 && room > 256 {
        // v256 and v257 are written and read under other upper bits of VGPR numbers.
        body += "s_set_vgpr_msb 0x41\nv_mov_b32_e32 v0, v1\nv_xor_b32_e32 v1, v0, v1\ns_set_vgpr_msb 0x45\n\
                 v_xor_b32_e32 v0, v1, v0\nv_xor_b32_e32 v1, v0, v1\ns_set_vgpr_msb 0x1\nv_xor_b32_e32 v4, v1, v4\n\
                 s_set_vgpr_msb 0x0\n";
    }
    // In all lanes.
    body += if mode.wave() == Wave::W32 { "s_mov_b32 exec_lo, -1\n" } else { "s_mov_b64 exec, -1\n" };
    for n in 3..busy.sgprs {
        writeln!(body, "s_xor_b32 s2, s2, s{n}").unwrap();
    }
    for n in 4..busy.vgprs {
        writeln!(body, "v_xor_b32_e32 v1, v1, v{n}").unwrap();
    }
    write!(body, "v_xor_b32_e32 v1, s2, v1\n{store} v[2:3], v1, off\ns_endpgm\n").unwrap();

    let name = mode.target().name();
    let accum = match generation {
        Generation::Gfx90a | Generation::Gfx940 => format!("  .amdhsa_accum_offset {room}\n"),
        _ => String::new(),
    };
    let wave = match generation.is_gfx9_family() || generation == Generation::Gfx1250 {
        true => String::new(),
        false => format!("  .amdhsa_wavefront_size32 {}\n", u32::from(mode.wave() == Wave::W32)),
    };
    // Where the hardware does not know a wave's scratch by itself, the kernel is told.
    let scratch_init = match generation {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx10 => ".amdhsa_user_sgpr_flat_scratch_init 1\n",
        _ => "",
    };
    let total = room + busy.agprs;
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{name}\"\n.amdhsa_code_object_version 6\n.text\n.protected busy\n\
         .globl busy\n.p2align 8\n.type busy,@function\nbusy:\n{body}.size busy, .-busy\n.rodata\n.p2align 6\n\
         .amdhsa_kernel busy\n  .amdhsa_next_free_vgpr {total}\n  .amdhsa_next_free_sgpr {}\n{accum}{wave}{scratch_init}\
         .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_kernarg_size 8\n.end_amdhsa_kernel\n.amdgpu_metadata\n---\n\
         amdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: busy\n    .symbol: busy.kd\n    .kernarg_segment_size: 8\n    \
         .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .kernarg_segment_align: 8\n    \
         .wavefront_size: {lanes}\n    .sgpr_count: {}\n    .vgpr_count: {total}\n    .max_flat_workgroup_size: 1024\n    \
         .args:\n      - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}\n...\n\
         .end_amdgpu_metadata\n",
        busy.sgprs,
        busy.sgprs,
        lanes = mode.wave().lanes(),
    );
    let (input, out) = (scratch(&format!("busy_{}.s", tag(mode))), scratch(&format!("busy_{}.hsaco", tag(mode))));
    std::fs::write(&input, source).unwrap();
    let cpu = format!("-mcpu={name}");
    let size = if mode.wave() == Wave::W32 { "-mno-wavefrontsize64" } else { "-mwavefrontsize64" };
    let mut args = vec!["--target=amdgcn-amd-amdhsa", &cpu, "-fuse-ld=lld"];
    if mode.target().waves().len() > 1 {
        args.push(size);
    }
    args.extend([input.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    output(&llvm("clang")?, &args);
    Some(CodeObject::parse(std::fs::read(out).unwrap()).unwrap())
}

fn tag(mode: Mode) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}_{}_{}", mode.target().name(), mode.wave().lanes(), NEXT.fetch_add(1, Ordering::Relaxed))
}
