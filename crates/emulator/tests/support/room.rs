//! A kernel with room for a sequence of instructions.
#![allow(dead_code, reason = "no test that shares this uses all of it")]

use std::fmt::Write;
use std::process::Command;

use luthier_isa::{Generation, Inst, Mode, Wave};
use luthier_loader::CodeObject;

use crate::words;

/// Room for a sequence, in `s_nop`s with a number that nothing else has.
pub const ROOM: usize = 160;
const MARK: u32 = 0xbf80_002a;
const NOP: u32 = 0xbf80_0000;
/// From one workgroup's region to the next: further than an instruction's offset reaches.
pub const DISTANCE: u64 = 32 << 20;
/// Vector registers that are looked at in the end.
pub const SHOWN: usize = 24;

/// A kernel that gives even vector registers the lower half of an address and odd ones the upper, makes room for a
/// sequence, and stores some registers.
pub fn source(mode: Mode) -> String {
    let target = mode.target();
    let new = target.generation() >= Generation::Gfx11;
    let wave64 = mode.wave() == Wave::W64;
    let load = if new { "s_load_b128" } else { "s_load_dwordx4" };
    let store = if new { "global_store_b32" } else { "global_store_dword" };
    let wait = if target.generation() >= Generation::Gfx12 { "s_wait_kmcnt 0" } else { "s_waitcnt lgkmcnt(0)" };
    let group = if target.generation() >= Generation::Gfx12 { "ttmp9" } else { "s2" };
    let exec = if wave64 { "s_mov_b64 exec, -1" } else { "s_mov_b32 exec_lo, -1" };
    let high = if wave64 { "v_mbcnt_hi_u32_b32 v31, -1, v31" } else { "" };
    let mut text = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{name}\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n
s_mul_i32 s4, {group}, {DISTANCE}
{load} s[96:99], s[0:1], 0x0\n{wait}
s_add_u32 s96, s96, s4\ns_addc_u32 s97, s97, 0
s_mul_i32 s4, {group}, {results}
s_add_u32 s98, s98, s4\ns_addc_u32 s99, s99, 0
v_mbcnt_lo_u32_b32 v31, -1, 0\n{high}\n",
        name = target.name(),
        results = SHOWN * 256,
    );
    for v in (0..30).step_by(2) {
        let _ = writeln!(text, "v_lshl_add_u32 v{v}, v31, 4, s96\nv_mov_b32 v{}, s97", v + 1);
    }
    // The kernel arguments, which all workgroups share, are out of reach behind this.
    for s in (0..94).step_by(2) {
        let _ = writeln!(text, "s_mov_b32 s{s}, s96\ns_mov_b32 s{}, s97", s + 1);
    }
    let _ = writeln!(text, ".rept {ROOM}\n.long {MARK:#x}\n.endr\n{exec}");
    // What a sequence has set stays: clamped or flushed stores there are not.
    let _ = writeln!(text, "v_mbcnt_lo_u32_b32 v31, -1, 0\n{high}\nv_lshlrev_b32 v31, 2, v31");
    for v in 0..SHOWN {
        let _ = writeln!(text, "{store} v31, v{v}, s[98:99] offset:{}", v % 8 * 256);
        if v % 8 == 7 {
            let _ = writeln!(text, "s_add_u32 s98, s98, 0x800\ns_addc_u32 s99, s99, 0");
        }
    }
    let waves = if target.waves().len() > 1 {
        format!(".amdhsa_wavefront_size32 {}\n", u32::from(!wave64))
    } else {
        String::new()
    };
    let generation = target.generation();
    let accum =
        if matches!(generation, Generation::Gfx90a | Generation::Gfx940) { ".amdhsa_accum_offset 32\n" } else { "" };
    let agprs = if accum.is_empty() { 32 } else { 64 };
    let _ = writeln!(
        text,
        "s_endpgm\n.Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_next_free_vgpr {agprs}\n.amdhsa_next_free_sgpr 102\n.amdhsa_group_segment_fixed_size 4096\n{accum}{waves}.end_amdhsa_kernel
.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: 16
    .group_segment_fixed_size: 4096\n    .private_segment_fixed_size: 0\n    .kernarg_segment_align: 8
    .wavefront_size: {lanes}\n    .sgpr_count: 102\n    .vgpr_count: {agprs}\n    .max_flat_workgroup_size: 64\n    .args:
      - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}
      - {{.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}}\n...\n.end_amdgpu_metadata",
        lanes = mode.wave().lanes(),
    );
    text
}

/// The kernel, assembled; `what` names the folder that this takes.
pub fn template(mode: Mode, what: &str) -> Vec<u8> {
    let folder = words::scratch(&format!("{what}-{}-{}", mode.target().name(), mode.wave().lanes()));
    let (input, output) = (folder.join("k.s"), folder.join("k.hsaco"));
    std::fs::write(&input, source(mode)).unwrap();
    let cpu = format!("-mcpu={}", mode.target().name());
    let mut command = Command::new("clang-22");
    command.args(["-target", "amdgcn-amd-amdhsa", &cpu, "-x", "assembler"]).arg(&input).arg("-o").arg(&output);
    let done = command.output().expect("clang-22 is installed (make setup)");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let bytes = std::fs::read(&output).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    bytes
}

/// The kernel with these instructions in its room.
pub fn with_sequence(template: &[u8], sequence: &[Inst]) -> CodeObject {
    let mut bytes = template.to_vec();
    let mark = MARK.to_le_bytes();
    let at = (0..bytes.len() - 8)
        .step_by(4)
        .find(|&at| bytes[at..at + 4] == mark && bytes[at + 4..at + 8] == mark)
        .expect("the room for a sequence");
    let mut code = Vec::new();
    sequence.iter().for_each(|inst| inst.encode_into(&mut code));
    assert!(code.len() <= 4 * ROOM);
    code.resize(4 * ROOM, 0);
    let used = sequence.iter().map(Inst::size).sum::<usize>();
    code[used..].chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&NOP.to_le_bytes()));
    bytes[at..at + code.len()].copy_from_slice(&code);
    CodeObject::parse(bytes).expect("the template's own structure")
}

/// Instructions of the kernel before its room.
pub fn prologue(mode: Mode) -> usize {
    let text = source(mode);
    let body = text.split("k:\n").nth(1).and_then(|rest| rest.split(".rept").next()).expect("the kernel's beginning");
    body.lines().filter(|line| !line.is_empty()).count()
}
