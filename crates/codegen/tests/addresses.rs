//! What a hook is told of a memory access: its address, width, space and direction are those that the mock device sees of
//! each lane.

#![cfg(feature = "llvm")]

mod support;
#[path = "support/words.rs"]
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use luthier_codegen::hook::{HookModule, HookSource};
use luthier_codegen::*;
use luthier_emulator::observe::{MemoryEvent, Space, Watch};
use luthier_emulator::{Device, DeviceConfig, Launch, Strict};
use luthier_isa::{Generation, Inst, Mode, Wave};
use luthier_lifter::Program;
use luthier_loader::{CodeObject, Kernel as Entry, OriginMap};
use support::*;
use words::{Kernel, Words};

const LANES: usize = 64;
const BUFFER: u64 = 64 * 1024;
/// What no lane has written.
const NOTHING: u64 = u64::MAX;

/// How many lanes' addresses were compared, by the instruction's space and what it reached.
type Compared = BTreeMap<(&'static str, &'static str), usize>;

/// A hook at every instruction that accesses memory, which stores the address for each lane.
fn plan(program: &Program) -> Plan {
    let source = include_str!("../src/hook/fixtures/where.json").to_owned();
    let hook = HookModule::new(&HookSource::Tree(source)).unwrap();
    let out = Arg::Variable { symbol: "tool.out".into(), offset: 0 };
    let args: Arc<[Arg]> = [out, Arg::PointId, Arg::Address].into();
    let accesses = program.instrs().iter().filter(|instr| program.inst(*instr).memory().is_some());
    let insertions: Vec<Insertion> = accesses
        .map(|instr| Insertion {
            address: program.vaddr(instr),
            at: Where::Before,
            body: Body::Hook { hook: 0, args: args.clone() },
            order: 0,
        })
        .collect();
    let size = (insertions.len() * LANES * 8) as u64;
    let variable = Variable { name: "tool.out".into(), size, align: 8, init: vec![0xff; size as usize] };
    Plan {
        hooks: vec![Arc::new(hook)],
        variables: vec![variable],
        counters: vec![],
        insertions,
        check: true,
        ..Plan::default()
    }
}

/// What a run of one wave tells.
struct Run {
    /// What the hooks stored: for each point and lane.
    given: Vec<u64>,
    /// What the device saw, by the original instruction and the lane (scalar accesses have lane 0).
    seen: BTreeMap<(u64, u8), Vec<MemoryEvent>>,
    /// Where the argument's buffer is.
    data: u64,
}

fn run(mode: Mode, name: &str, new: &CodeObject, origins: &OriginMap, kernel: &Entry) -> Run {
    let device = Device::new(mode.target(), DeviceConfig::default());
    let module = device.load(new).unwrap();
    let metadata = kernel.metadata().expect("metadata");
    let (mut kernarg, mut data) = (Vec::new(), 0);
    for arg in metadata.explicit_args() {
        kernarg.resize(arg.offset.unwrap_or(0) as usize, 0);
        let value = match arg.value_kind.as_deref() {
            Some("global_buffer") => device.alloc(BUFFER).unwrap(),
            _ => 40,
        };
        data = if data == 0 { value } else { data };
        device.write(value, &vec![0; BUFFER as usize]).ok();
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
        strict: Strict::Off,
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    };
    let watch = Watch { memory: true, limit: 10_000_000, ..Watch::default() };
    let observed = device.observe(&launch, watch).unwrap_or_else(|e| panic!("{name}: {}: {e}", kernel.name));
    let (address, size) = device.symbol(module, "tool.out").unwrap();
    let mut bytes = vec![0; size as usize];
    device.read(address, &mut bytes).unwrap();
    let given = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    let mut seen: BTreeMap<(u64, u8), Vec<MemoryEvent>> = BTreeMap::new();
    for event in &observed.observation.memory {
        if let Some(place) = origins.origin(event.pc) {
            seen.entry((place, event.lane)).or_default().push(*event);
        }
    }
    Run { given, seen, data }
}

/// Runs one wave of every kernel, and compares what the hooks were told with what the device saw.
fn compare(mode: Mode, name: &str, object: &CodeObject) -> Compared {
    let name = format!("{name} {} {:?}", mode.target().name(), mode.wave());
    let program = Program::lift(object).unwrap();
    let plan = plan(&program);
    let done = instrument(object, &plan).unwrap_or_else(|e| panic!("{name}: {e}"));
    let rejected = done.report.rejected.first();
    assert!(rejected.is_none(), "{name}: {:#x}: {}", rejected.unwrap().address, rejected.unwrap().reason);
    let new = CodeObject::parse(done.bytes).unwrap();
    let origins = new.origin_map().unwrap().expect("an instrumented object");
    let points: BTreeMap<u64, usize> = plan.insertions.iter().enumerate().map(|(n, i)| (i.address, n)).collect();
    let mut compared = Compared::new();
    for kernel in object.kernels() {
        let run = run(mode, &name, &new, &origins, kernel);
        let mut scratch_base = None;
        for ((place, lane), events) in &run.seen {
            let inst = program.inst(program.instr_at(*place).unwrap());
            let what = format!("{name}: {inst} at {place:#x}, lane {lane}");
            let mine = &run.given[points[place] * LANES..][..LANES];
            let last = events.last().unwrap();
            let space = last.kind >> 4;
            let given = match space == Space::Scalar as u8 {
                true => *mine.iter().find(|v| **v != NOTHING).unwrap_or(&NOTHING),
                false => mine[usize::from(*lane)],
            };
            assert_ne!(given, NOTHING, "{what}: no address, but {events:x?}");
            facts(inst, events, &what);
            let kind = inst.memory().unwrap().space;
            let in_scratch = kind == luthier_isa::Space::Flat && space == Space::Scratch as u8;
            let at = match kind {
                // Words of all lanes side by side, from somewhere on; flat instructions come through the aperture.
                _ if kind == luthier_isa::Space::Scratch || in_scratch => {
                    let lanes = u64::from(mode.wave().lanes());
                    let place = |own: u64| (own & !3) * lanes + 4 * u64::from(*lane) + (own & 3);
                    let base = match in_scratch && mode.target().generation() == Generation::Gfx1250 {
                        // The address counts from the same base, with the lane's number above it.
                        true => (place(given & ((1 << 52) - 1)) - last.address) / (lanes - 1),
                        false => last.address.wrapping_sub(place(given & 0xffff_ffff)),
                    };
                    assert_eq!(*scratch_base.get_or_insert(base), base, "{what}: {given:#x}, not {last:x?}");
                    last.address
                }
                // LDS is reached through its aperture.
                luthier_isa::Space::Flat if space == Space::Lds as u8 => given & 0xffff_ffff,
                // Texels lie in the image, which begins there.
                luthier_isa::Space::Image => {
                    assert_eq!(given, run.data, "{what}");
                    assert!((given..given + BUFFER).contains(&last.address), "{what}: {last:x?}");
                    last.address
                }
                _ => given,
            };
            // Of an access in one piece the last one counts, of one in several the first of its pieces.
            let width = inst.memory().unwrap().width;
            let found = match Some(last.size) == width {
                true => last.address == at,
                false => events.iter().any(|e| e.address == at),
            };
            assert!(found, "{what}: {given:#x}, not {last:x?}");
            let reached = ["global", "lds", "scratch", "scalar"][usize::from(space)];
            let form = (kind.name(), reached);
            *compared.entry(form).or_default() += 1;
        }
    }
    compared
}

/// Width and direction, which hooks are told as numbers.
fn facts(inst: &Inst, events: &[MemoryEvent], what: &str) {
    let direction = Arg::AccessDirection.access(inst).unwrap();
    let expected = events.iter().fold(0, |all, event| all | [1, 2, 3][usize::from(event.kind & 3)]);
    assert_eq!(direction, expected, "{what}: {events:x?}");
    let spaces: &[Space] = match inst.memory().unwrap().space {
        luthier_isa::Space::Flat => &[Space::Global, Space::Lds, Space::Scratch],
        luthier_isa::Space::Lds => &[Space::Lds],
        luthier_isa::Space::Scratch => &[Space::Scratch],
        _ => &[Space::Global, Space::Scalar, Space::Scratch],
    };
    let known = |event: &MemoryEvent| spaces.iter().any(|space| *space as u8 == event.kind >> 4);
    assert!(events.iter().all(known), "{what}: {events:x?}");
    if inst.memory().unwrap().space != luthier_isa::Space::Image {
        let width = Arg::AccessWidth.access(inst).unwrap();
        let bytes: u64 = events.iter().map(|event| u64::from(event.size)).sum();
        assert!(width > 0 && bytes.is_multiple_of(width), "{what}: {width} bytes, {events:x?}");
    }
}

/// One processor of each kind, in its wave sizes.
fn modes() -> Vec<Mode> {
    let all = all_targets();
    if let Ok(one) = std::env::var("LUTHIER_TARGET") {
        return Mode::all().filter(|m| m.target().name() == one).collect();
    }
    let some = ["gfx900", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];
    let wanted = |m: &Mode| m.target().has_tables() && (all || some.contains(&m.target().name()));
    Mode::all().filter(wanted).filter(|m| !m.target().name().ends_with("generic")).collect()
}

#[test]
fn addresses_in_compiled_kernels_are_those_of_the_accesses() {
    let all = all_targets();
    let kernels = [("vecadd", "O1"), ("reduce", "O0"), ("scratch", "O0"), ("half", "O1")];
    let deep = [("histogram", "O0"), ("wide", "O1"), ("matmul", "O0"), ("pair", "O0"), ("table", "O1")];
    let kernels: Vec<_> = kernels.into_iter().chain(deep.into_iter().filter(|_| all)).collect();
    let both = |mode: &Mode| all || mode.target().waves().len() == 1 || mode.wave() == Wave::W32;
    for mode in modes().into_iter().filter(both) {
        let mut compared = Compared::new();
        for (name, level) in &kernels {
            let Some(object) = kernel_for(mode, name, level) else { return };
            for (form, count) in compare(mode, name, &object) {
                *compared.entry(form).or_insert(0) += count;
            }
        }
        println!("{} {:?}: {compared:?}", mode.target().name(), mode.wave());
        let total = compared.values().sum::<usize>();
        let scratch = compared.keys().any(|(_, reached)| *reached == "scratch");
        assert!(total > 500 && scratch, "{}: {compared:?}", mode.target().name());
    }
}

/// Buffer resources in s[8:11]: raw, strided, swizzled, adding the lane's number.
fn resources(generation: Generation) -> Vec<(u32, u32)> {
    let gfx9 = generation.is_gfx9_family();
    let swizzle = if gfx9 || generation == Generation::Gfx10 { 1u32 << 31 } else { 1 << 30 };
    // RDNA: out of bounds where the last record ends.
    let flags = if gfx9 { 0x27000 } else { 3u32 << 28 };
    // On gfx9 the format's bits would make the stride longer.
    let adding = if gfx9 { 0 } else { flags } | 1 << 23;
    match generation {
        Generation::Gfx1250 => vec![(0, 0)],
        _ => vec![(0, flags), (16 << 16, flags), (16 << 16 | swizzle, flags), (16 << 16, adding)],
    }
}

/// Every form of access.
fn forms(w: &Words) -> String {
    // v2: small; v3: eight times the lane; v[6:7]: an address of each lane's own.
    let mut body = "
  s_load_dword s6, s[2:3], 0x10
  s_mov_b32 s7, 36
  s_load_dword s6, s[2:3], s7
  wait
  s_mov_b32 s6, 12
  v_lshrrev_b32_e32 v8, 2, v0
  v_and_b32_e32 v2, 15, v8
  v_lshlrev_b32_e32 v3, 3, v8
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 0
  global_load_dword v4, v3, s[2:3] offset:8
  global_load_ubyte v4, v3, s[2:3]
  global_store_short v3, v9, s[2:3] offset:2
  global_atomic_add v3, v9, s[2:3]
  v_mov_b32_e32 v7, s3
  v_or_b32_e32 v6, s2, v3
  global_load_dword v4, v[6:7], off offset:16
  flat_load_dword v4, v[6:7]
  s_mov_b64 s[20:21], src_shared_base
  v_mov_b32_e32 v7, s21
  v_mov_b32_e32 v6, v0
  flat_load_dword v4, v[6:7]
  wait
"
    .to_owned();
    let negative = if w.generation == Generation::Gfx10 { "" } else { "global_load_dword v4, v3, s[2:3] offset:-8\n" };
    body += &format!("s_add_u32 s2, s2, 0x400\n{negative}wait\ns_sub_u32 s2, s2, 0x400\n");
    for (high, flags) in resources(w.generation) {
        body += &format!(
            "
  s_mov_b32 s8, s2
  s_or_b32 s9, s3, {high:#x}
  s_mov_b32 s10, 0x1000
  s_mov_b32 s11, {flags:#x}
  buffer_load_dword v4, off, s[8:11], 0 offset:4
  buffer_load_dword v4, v3, s[8:11], 0 offen offset:8
  buffer_store_dword v9, v3, s[8:11], s6 offen
"
        );
        if w.generation != Generation::Gfx1250 {
            body += "
  buffer_load_dword v4, v2, s[8:11], 0 idxen
  v_mov_b32_e32 v12, v2
  v_and_b32_e32 v13, 12, v3
  buffer_load_dword v4, v[12:13], s[8:11], 0 idxen offen
  buffer_store_dword v9, v[12:13], s[8:11], s6 idxen offen offset:4
";
        }
        body += "wait\nv_nop\n";
    }
    body += "
  s_mov_b32 s8, s2
  s_mov_b32 s9, s3
  s_mov_b32 s10, 0x1000
  s_buffer_load_dword s12, s[8:11], 0x20
  s_buffer_load_dword s12, s[8:11], s6
  wait
  s_mov_b32 m0, 0x7fff
  ds_write_b32 v3, v9 offset:64
  ds_write2_b32 v3, v9, v10 offset0:2 offset1:9
  ds_write2st64_b32 v3, v9, v10 offset0:1 offset1:2
  ds_read2_b32 v[4:5], v3 offset0:3 offset1:7
  ds_read_b32 v4, v3 offset:64
  ds_add_u32 v3, v9
  wait
";
    if w.generation != Generation::Gfx1250 {
        body += "s_mov_b32 m0, 0x80\ns_nop 0\nds_read_addtid_b32 v4 offset:16\nds_append v4 offset:4\nwait\n";
    }
    if let Some((resource, modifiers)) = w.image() {
        body += &resource;
        body += &format!("image_load v4, v8, s[12:19] {modifiers}\nwait\n");
        body += &format!("image_store v9, v8, s[12:19] {modifiers}\nwait\n");
    }
    let body = w.translate(&body.replace("  wait\n", "wait\n"));
    // Once more with few lanes.
    format!("{body}s_mov_b32 exec_lo, 0x5a5a0ff0\n{body}")
}

#[test]
fn addresses_in_every_form_are_those_of_the_accesses() {
    for mode in modes() {
        let words = Words::of(mode);
        let kernel = Kernel { lds: 32768, vgprs: 32, ..Kernel::of(forms(&words)).unwrap() };
        let Some(object) = kernel.assemble(&words, "addresses") else { return };
        let compared = compare(mode, "forms", &object);
        println!("{} {:?}: {compared:?}", mode.target().name(), mode.wave());
        let spaces = |name| compared.keys().any(|(space, _)| *space == name);
        let images = words.image().is_none() || spaces("image");
        assert!(images && ["global", "flat", "buffer", "lds"].into_iter().all(spaces), "{mode:?}: {compared:?}");
    }
}
