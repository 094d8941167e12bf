//! The address that a hook is given is the address of the access: compared with what the mock device says of each lane.

#![cfg(feature = "llvm")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use luthier_codegen::hook::{HookModule, HookSource};
use luthier_codegen::*;
use luthier_emulator::observe::{Space, Watch};
use luthier_emulator::{Device, DeviceConfig, Launch, Strict};
use luthier_isa::Mode;
use luthier_lifter::Program;
use luthier_loader::CodeObject;
use support::*;

const LANES: usize = 64;
const BUFFER: u64 = 64 * 1024;
/// What no lane has written.
const NOTHING: u64 = u64::MAX;

/// A hook at every instruction that has an address, which stores it for each lane; the instructions without.
fn plan(program: &Program) -> (Plan, Vec<String>) {
    let source = include_str!("../src/hook/fixtures/where.json").to_owned();
    let hook = HookModule::new(&HookSource::Tree(source)).unwrap();
    let out = Arg::Variable { symbol: "tool.out".into(), offset: 0 };
    let args: Arc<[Arg]> = [out, Arg::PointId, Arg::Address].into();
    let (mut insertions, mut without) = (Vec::new(), Vec::new());
    for instr in program.instrs().iter() {
        let inst = program.inst(instr);
        if inst.memory().is_none() {
            continue;
        }
        if AddressShape::of(inst).is_err() {
            without.push(inst.to_string());
            continue;
        }
        let body = Body::Hook { hook: 0, args: args.clone() };
        insertions.push(Insertion { address: program.vaddr(instr), at: Where::Before, body, order: 0 });
    }
    let size = (insertions.len() * LANES * 8) as u64;
    let variable = Variable { name: "tool.out".into(), size, align: 8, init: vec![0xff; size as usize] };
    (
        Plan { hooks: vec![Arc::new(hook)], variables: vec![variable], counters: vec![], insertions, check: true },
        without,
    )
}

/// Runs one wave of every kernel. How many addresses were compared, by where they were.
fn compare(mode: Mode, name: &str, object: &CodeObject, values: &[u64]) -> BTreeMap<u8, usize> {
    let name = format!("{name} {} {:?}", mode.target().name(), mode.wave());
    let program = Program::lift(object).unwrap();
    let texts: BTreeMap<u64, String> =
        program.instrs().iter().map(|i| (program.vaddr(i), program.inst(i).to_string())).collect();
    let (plan, without) = plan(&program);
    assert!(without.is_empty(), "{name}: {without:?}");
    let done = instrument(object, &plan).unwrap_or_else(|e| panic!("{name}: {e}"));
    let rejected = done.report.rejected.first();
    assert!(rejected.is_none(), "{name}: {:#x}: {}", rejected.unwrap().address, rejected.unwrap().reason);
    let new = CodeObject::parse(done.bytes).unwrap();
    let origins = new.origin_map().unwrap().expect("an instrumented object");
    let mut compared = BTreeMap::new();
    for kernel in object.kernels() {
        let device = Device::new(mode.target(), DeviceConfig::default());
        let module = device.load(&new).unwrap();
        let metadata = kernel.metadata().expect("metadata");
        let (mut kernarg, mut values) = (Vec::new(), values.iter());
        for arg in metadata.explicit_args() {
            kernarg.resize(arg.offset.unwrap_or(0) as usize, 0);
            let value = match arg.value_kind.as_deref() {
                Some("global_buffer") => device.alloc(BUFFER).unwrap(),
                _ => values.next().copied().unwrap_or(40),
            };
            kernarg.extend_from_slice(&value.to_le_bytes()[..arg.size.unwrap_or(8).min(8) as usize]);
        }
        let lanes = mode.wave().lanes();
        let launch = Launch {
            module,
            kernel: kernel.name.clone(),
            grid: [lanes, 1, 1],
            workgroup: [lanes, 1, 1],
            kernarg,
            dynamic_lds: 0,
            strict: Strict::On,
            cooperative: false,
            cluster: None,
            schedule: Default::default(),
        };
        let watch = Watch { memory: true, limit: 10_000_000, ..Watch::default() };
        let observed = device.observe(&launch, watch).unwrap_or_else(|e| panic!("{name}: {}: {e}", kernel.name));
        assert!(observed.report.findings.is_empty(), "{name}: {:?}", observed.report.findings.first());

        let (address, size) = device.symbol(module, "tool.out").unwrap();
        let mut bytes = vec![0; size as usize];
        device.read(address, &mut bytes).unwrap();
        let out: Vec<u64> = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        let points: BTreeMap<u64, usize> = plan.insertions.iter().enumerate().map(|(n, i)| (i.address, n)).collect();
        // The last that happened at each place in each lane; of one execution the first.
        let mut last: BTreeMap<(u64, u8), Vec<(u64, u8)>> = BTreeMap::new();
        for event in &observed.observation.memory {
            if let Some(place) = origins.origin(event.pc).filter(|_| origins.is_application(event.pc)) {
                last.entry((place, event.lane)).or_default().push((event.address, event.kind >> 4));
            }
        }
        let mut scratch_base = None;
        for ((place, lane), events) in last {
            let Some(point) = points.get(&place) else { continue };
            let inst = &texts[&place];
            let mine = &out[point * LANES..][..LANES];
            let kind = events[0].1;
            let given = if kind == Space::Scalar as u8 {
                *mine.iter().find(|v| **v != NOTHING).unwrap_or(&NOTHING)
            } else {
                mine[usize::from(lane)]
            };
            assert_ne!(given, NOTHING, "{name}: {inst} at {place:#x}, lane {lane}: no address, but {events:x?}");
            if kind == Space::Scratch as u8 {
                // Where it is on the device: words of all lanes side by side, from somewhere on.
                let at = (given & !3) * u64::from(lanes) + 4 * u64::from(lane) + (given & 3);
                let base = events.last().unwrap().0.wrapping_sub(at);
                assert_eq!(*scratch_base.get_or_insert(base), base, "{name}: {inst} at {place:#x}, lane {lane}");
            } else {
                // LDS is reached through its aperture by flat instructions.
                let found =
                    events.iter().any(|e| e.0 == given || inst.starts_with("flat") && e.0 == given & 0xffff_ffff);
                assert!(found, "{name}: {inst} at {place:#x}, lane {lane}: {given:#x}, not {:x?}", events.last());
            }
            *compared.entry(kind).or_default() += 1;
        }
    }
    compared
}

/// One processor of each kind, in its wave sizes.
fn modes() -> Vec<Mode> {
    let all = std::env::var_os("LUTHIER_ALL_TARGETS").is_some();
    if let Ok(one) = std::env::var("LUTHIER_TARGET") {
        return Mode::all().filter(|m| m.target().name() == one).collect();
    }
    let some = ["gfx900", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];
    let wanted = |m: &Mode| m.target().has_tables() && (all || some.contains(&m.target().name()));
    Mode::all().filter(wanted).filter(|m| !m.target().name().ends_with("generic")).collect()
}

#[test]
fn addresses_of_compiled_kernels_are_those_of_the_accesses() {
    for mode in modes() {
        let mut all = BTreeMap::new();
        for name in ["vecadd", "reduce", "histogram", "scratch", "half", "wide", "table", "matmul"] {
            let Some(object) = kernel_for(mode, name, "O1") else { return };
            for (kind, count) in compare(mode, name, &object, &[]) {
                *all.entry(kind).or_insert(0) += count;
            }
        }
        assert_eq!(all.len(), 4, "{}: not every kind of memory was accessed: {all:?}", mode.target().name());
        assert!(all.values().sum::<usize>() > 500, "{all:?}");
    }
}

/// A kernel of one pointer, in s[0:1], of these instructions; v0 is the lane.
fn assembled(mode: Mode, body: &str) -> Option<CodeObject> {
    let clang = llvm("clang")?;
    let target = mode.target().name();
    let accum = if mode.target().has_agprs() && target != "gfx908" { ".amdhsa_accum_offset 32" } else { "" };
    let wave = if mode.target().waves().len() > 1 {
        format!(".amdhsa_wavefront_size32 {}", u32::from(mode.wave().lanes() == 32))
    } else {
        String::new()
    };
    let source = format!(
        "
.amdgcn_target \"amdgcn-amd-amdhsa--{target}\"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
{body}
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 48
  .amdhsa_group_segment_fixed_size 32768
  {accum}
  {wave}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 32768
    .private_segment_fixed_size: 0
    .wavefront_size: {lanes}
    .sgpr_count: 48
    .vgpr_count: 32
    .max_flat_workgroup_size: 256
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
",
        lanes = mode.wave().lanes()
    );
    let name = format!("addresses_{target}_{}", mode.wave().lanes());
    let (input, out) = (scratch(&format!("{name}.s")), scratch(&format!("{name}.hsaco")));
    std::fs::write(&input, source).unwrap();
    let cpu = format!("-mcpu={target}");
    let wave = if mode.wave().lanes() == 64 { "-mwavefrontsize64" } else { "-mno-wavefrontsize64" };
    let mut args = vec!["--target=amdgcn-amd-amdhsa", &cpu, "-fuse-ld=lld"];
    if mode.target().waves().len() > 1 {
        args.push(wave);
    }
    args.extend([input.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    output(&clang, &args);
    Some(CodeObject::parse(std::fs::read(out).unwrap()).unwrap())
}

/// Every form of buffer, LDS and scalar access, in gfx9's names; `later` changes what other processors call otherwise.
fn forms(mode: Mode) -> String {
    let rdna = !mode.target().generation().is_gfx9_family();
    // Raw, strided, swizzled and lane-adding resources in s[8:11], one after the other.
    let swizzle =
        if rdna && mode.target().generation() != luthier_isa::Generation::Gfx10 { 1 << 30 } else { 1u32 << 31 };
    // RDNA: out of bounds where the last record ends.
    let flags = if rdna { 3u32 << 28 } else { 0x27000 };
    // On gfx9 the format's bits would make the stride longer.
    let adding = if rdna { flags } else { 0 } | 1 << 23;
    let resources = [(0, flags), (16 << 16, flags), (16 << 16 | swizzle, flags), (16 << 16, adding)];
    let mut body = "
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s6, s[4:5], 0x10
  s_mov_b32 s7, 36
  s_load_dword s6, s[4:5], s7
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s6, 12
  v_and_b32_e32 v1, 15, v0
  v_lshlrev_b32_e32 v2, 2, v1
  v_lshlrev_b32_e32 v3, 3, v0
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 0
  global_load_dword v4, v3, s[4:5] offset:8
  v_mov_b32_e32 v5, s4
  v_mov_b32_e32 v6, s5
  global_load_dword v4, v[5:6], off offset:16
  s_waitcnt vmcnt(0)
"
    .to_owned();
    if mode.target().generation().is_gfx9_family() {
        body = body.replace("v[5:6]", "v[6:7]").replace("v5, s4", "v6, s4").replace("v6, s5", "v7, s5");
    }
    for (high, flags) in resources {
        body += &format!(
            "
  s_mov_b32 s8, s4
  s_or_b32 s9, s5, {high:#x}
  s_mov_b32 s10, 0x1000
  s_mov_b32 s11, {flags:#x}
  buffer_load_dword v4, off, s[8:11], 0 offset:4
  buffer_load_dword v4, v2, s[8:11], 0 offen offset:8
  buffer_load_dword v4, v1, s[8:11], 0 idxen
  v_mov_b32_e32 v12, v1
  v_and_b32_e32 v13, 12, v2
  buffer_load_dword v4, v[12:13], s[8:11], 0 idxen offen
  buffer_load_dword v4, v2, s[8:11], s6 offen
  s_waitcnt vmcnt(0)
  v_nop
"
        );
    }
    body += "
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_mov_b32 s10, 0x1000
  s_buffer_load_dword s12, s[8:11], 0x20
  s_buffer_load_dword s12, s[8:11], s6
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, 0x7fff
  ds_write_b32 v3, v9 offset:64
  ds_write2_b32 v3, v9, v10 offset0:2 offset1:9
  ds_write2st64_b32 v3, v9, v10 offset0:1 offset1:2
  ds_read_b32 v4, v3 offset:64
  s_waitcnt lgkmcnt(0)
";
    if mode.target().generation() >= luthier_isa::Generation::Gfx11 {
        for (old, new) in [
            ("s_load_dwordx2", "s_load_b64"),
            ("s_load_dword", "s_load_b32"),
            ("s_buffer_load_dword", "s_buffer_load_b32"),
            ("buffer_load_dword", "buffer_load_b32"),
            ("global_load_dword", "global_load_b32"),
            ("ds_write2_b32", "ds_store_2addr_b32"),
            ("ds_write2st64_b32", "ds_store_2addr_stride64_b32"),
            ("ds_write_b32", "ds_store_b32"),
            ("ds_read_b32", "ds_load_b32"),
        ] {
            body = body.replace(old, new);
        }
    }
    body
}

#[test]
fn addresses_of_buffers_and_lds_are_those_of_the_accesses() {
    for mode in modes().into_iter().filter(|m| m.target().generation() < luthier_isa::Generation::Gfx12) {
        let Some(object) = assembled(mode, &forms(mode)) else { return };
        let compared = compare(mode, "forms", &object, &[]);
        assert!(compared.values().sum::<usize>() > 500, "{compared:?}");
    }
}
