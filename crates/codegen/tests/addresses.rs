//! What a hook is told of a memory access, before and after it: the address of each of its places, whether it is made, its
//! width, space and direction are those that the mock device sees of each lane.

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

/// What the hook at a point stores for each lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// Of the place of this number.
    Address(u8),
    /// Whether the access is made: 0 or 1.
    Reached,
}

/// Of each point: the instruction, whether it is behind it, and what it stores.
type Points = BTreeMap<(u64, bool, What), usize>;

/// Hooks at every instruction that accesses memory, before and after it.
fn plan(program: &Program) -> (Plan, Points) {
    let source = |text: &str| Arc::new(HookModule::new(&HookSource::Tree(text.to_owned())).unwrap());
    let hooks = [include_str!("../src/hook/fixtures/where.json"), include_str!("../src/hook/fixtures/reached.json")];
    let (mut insertions, mut points) = (Vec::new(), Points::new());
    for instr in program.instrs().iter() {
        let (inst, address) = (program.inst(instr), program.vaddr(instr));
        let Some(places) = inst.accesses() else { continue };
        if places[0].space == luthier_isa::Space::Gds {
            continue;
        }
        let addresses = (0..places.len() as u8).map(What::Address);
        let bounded = places[0].space != luthier_isa::Space::Buffer || places[0].width.is_some();
        for what in addresses.chain(bounded.then_some(What::Reached)) {
            for behind in [false, true] {
                let (hook, arg) = match what {
                    // One that need not be told apart from others need not have a number.
                    What::Address(0) if places.len() == 1 => (0, Arg::Address(None)),
                    What::Address(number) => (0, Arg::Address(Some(number))),
                    What::Reached => (1, Arg::InRange),
                };
                let out = Arg::Variable { symbol: "tool.out".into(), offset: 0 };
                let args: Arc<[Arg]> = [out, Arg::PointId, arg].into();
                let at = if behind { Where::After } else { Where::Before };
                points.insert((address, behind, what), insertions.len());
                insertions.push(Insertion { address, at, body: Body::Hook { hook, args }, order: 0 });
            }
        }
    }
    let size = (insertions.len().max(1) * LANES * 8) as u64;
    let variable = Variable { name: "tool.out".into(), size, align: 8, init: vec![0xff; size as usize] };
    let hooks = hooks.map(|text| source(text) as Arc<dyn TemplateSource>).to_vec();
    (Plan { hooks, variables: vec![variable], insertions, check: Checking::Everything, ..Plan::default() }, points)
}

/// What a run of one wave tells.
struct Run {
    /// What the hooks stored: for each point and lane.
    given: Vec<u64>,
    /// What the device saw, by the original instruction and the lane (scalar accesses have lane 0).
    seen: BTreeMap<(u64, u8), Vec<MemoryEvent>>,
}

fn run(mode: Mode, name: &str, new: &CodeObject, origins: &OriginMap, kernel: &Entry) -> Run {
    let device = Device::new(mode.target(), DeviceConfig::default());
    let module = device.load(new).unwrap();
    let metadata = kernel.metadata().expect("metadata");
    let mut kernarg = Vec::new();
    for arg in metadata.explicit_args() {
        kernarg.resize(arg.offset.unwrap_or(0) as usize, 0);
        let value = match arg.value_kind.as_deref() {
            Some("global_buffer") => device.alloc(BUFFER).unwrap(),
            _ => 40,
        };
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
    Run { given, seen }
}

/// Runs one wave of every kernel, and compares what the hooks were told with what the device saw.
fn compare(mode: Mode, name: &str, object: &CodeObject) -> Compared {
    let name = format!("{name} {} {:?}", mode.target().name(), mode.wave());
    let program = Program::lift(object).unwrap();
    let (plan, points) = plan(&program);
    let done = instrument(object, &plan).unwrap_or_else(|e| panic!("{name}: {e}"));
    // Behind an instruction that overwrites its address, a register has to be free to keep it.
    let rejected = done.report.rejected.iter().find(|r| r.reason.kind() != "old_value");
    assert!(rejected.is_none(), "{name}: {:#x}: {}", rejected.unwrap().address, rejected.unwrap().reason);
    let few = done.report.rejected.len() * 50 <= points.len();
    assert!(few, "{name}: {} of {} are rejected", done.report.rejected.len(), points.len());
    let new = CodeObject::parse(done.bytes).unwrap();
    let origins = new.origin_map().unwrap().expect("an instrumented object");
    let mut compared = Compared::new();
    for kernel in object.kernels() {
        let run = run(mode, &name, &new, &origins, kernel);
        let mut scratch = Scratch { mode, base: None };
        for (&(place, behind, what), &point) in &points {
            let inst = program.inst(program.instr_at(place).unwrap());
            let told = &run.given[point * LANES..][..LANES];
            let after = if behind { "after" } else { "before" };
            for lane in 0..LANES as u8 {
                let events = run.seen.get(&(place, lane)).map_or(&[][..], |events| events);
                let text = format!("{name}: {after} {inst} at {place:#x}, lane {lane}");
                let scalar = inst.info().flags.contains(luthier_isa::Flags::SMEM);
                let given = match scalar {
                    true if lane > 0 => continue,
                    true => *told.iter().find(|v| **v != NOTHING).unwrap_or(&NOTHING),
                    false => told[usize::from(lane)],
                };
                // Lanes that are off run no hook, and where one was rejected none does.
                let is_rejected = done.report.rejected.iter().any(|r| r.address == place) && behind;
                if given == NOTHING {
                    assert!(events.is_empty() || is_rejected, "{text}: nothing told, but {events:x?}");
                    continue;
                }
                match what {
                    What::Reached if scalar => {}
                    What::Reached => reached(inst, given, events, &text),
                    What::Address(_) if events.is_empty() => {}
                    What::Address(number) => {
                        facts(inst, events, &text);
                        let form = scratch.address(inst, usize::from(number), given, lane, events, &text);
                        *compared.entry(form).or_default() += 1;
                    }
                }
            }
        }
    }
    compared
}

/// A lane whose access is made has an event, one whose access is not has none; unless it is partly made.
fn reached(inst: &Inst, told: u64, events: &[MemoryEvent], text: &str) {
    let access = inst.accesses().unwrap()[0];
    let width = access.width.unwrap_or(0);
    let global: Vec<_> = events.iter().filter(|e| e.kind >> 4 != Space::Lds as u8 || !access.lds).collect();
    // Nothing bounds other accesses; some are made for the whole wave by one lane.
    if access.space != luthier_isa::Space::Buffer {
        return assert_eq!(told, 1, "{text}");
    }
    match told {
        1 => assert!(!global.is_empty(), "{text}: told that it accesses something"),
        0 => assert!(
            global.is_empty() || global.iter().all(|e| e.size < width),
            "{text}: told that it accesses nothing, but {global:x?}"
        ),
        other => panic!("{text}: {other:#x} is no truth value"),
    }
}

/// Where scratch begins, which the first access to it tells.
struct Scratch {
    mode: Mode,
    base: Option<u64>,
}

impl Scratch {
    /// An address is that of an access to its place. Gives what was accessed.
    fn address(
        &mut self,
        inst: &Inst,
        number: usize,
        given: u64,
        lane: u8,
        events: &[MemoryEvent],
        text: &str,
    ) -> (&'static str, &'static str) {
        let places = inst.accesses().unwrap();
        let access = places[number];
        let in_lds = |event: &&MemoryEvent| event.kind >> 4 == Space::Lds as u8;
        let events: Vec<MemoryEvent> = match places[0].lds {
            true => events.iter().filter(|e| in_lds(e) == (number == 1)).copied().collect(),
            false => events.to_vec(),
        };
        let Some(last) = events.last() else {
            // A lane outside of its buffer accesses no memory, and puts zeros into LDS.
            let is_outside = number == 0 && access.space == luthier_isa::Space::Buffer;
            assert!(places[0].lds && is_outside, "{text}: nothing is seen of place {number}");
            return (access.space.name(), "unseen");
        };
        let (space, kind) = (last.kind >> 4, access.space);
        let in_scratch = kind == luthier_isa::Space::Flat && space == Space::Scratch as u8;
        let at = match kind {
            // Words of all lanes side by side, from somewhere on; flat instructions come through the aperture.
            _ if kind == luthier_isa::Space::Scratch || in_scratch => {
                let lanes = u64::from(self.mode.wave().lanes());
                let place = |own: u64| (own & !3) * lanes + 4 * u64::from(lane) + (own & 3);
                let base = match in_scratch && self.mode.target().generation() == Generation::Gfx1250 {
                    // The address counts from the same base, with the lane's number above it.
                    true => (place(given & ((1 << 52) - 1)) - last.address) / (lanes - 1),
                    false => last.address.wrapping_sub(place(given & 0xffff_ffff)),
                };
                assert_eq!(*self.base.get_or_insert(base), base, "{text}: {given:#x}, not {last:x?}");
                last.address
            }
            // LDS is reached through its aperture.
            luthier_isa::Space::Flat if space == Space::Lds as u8 => given & 0xffff_ffff,
            _ => given,
        };
        // Of an access in one piece the last one counts, of one in several the first of its pieces; a pair is seen place
        // by place.
        let pair = places.len() == 2 && !places[0].lds;
        let found = match access.width == Some(last.size) {
            true if pair => events[events.len() - 2 + number].address == at,
            true => last.address == at,
            false => events.iter().any(|e| e.address == at),
        };
        assert!(found, "{text}: place {number} is told to be {given:#x}, not {events:x?}");
        (kind.name(), ["global", "lds", "scratch", "scalar"][usize::from(space)])
    }
}

/// Width, direction and number of places, which hooks are told as numbers.
fn facts(inst: &Inst, events: &[MemoryEvent], what: &str) {
    let told = |arg: Arg| arg.access(inst).unwrap();
    let places = inst.accesses().unwrap();
    assert_eq!(told(Arg::AccessCount), places.len() as u64, "{what}");
    for (number, access) in places.iter().enumerate() {
        let which = Some(number as u8);
        let in_lds = |event: &&MemoryEvent| event.kind >> 4 == Space::Lds as u8;
        let mine = |e: &&MemoryEvent| !places[0].lds || in_lds(e) == (number == 1);
        let events: Vec<_> = events.iter().filter(mine).collect();
        if events.is_empty() {
            continue;
        }
        let expected = events.iter().fold(0, |all, event| all | [1, 2, 3][usize::from(event.kind & 3)]);
        assert_eq!(told(Arg::AccessDirection(which)), expected, "{what}: {events:x?}");
        let spaces: &[Space] = match access.space {
            luthier_isa::Space::Flat => &[Space::Global, Space::Lds, Space::Scratch],
            luthier_isa::Space::Lds => &[Space::Lds],
            luthier_isa::Space::Scratch => &[Space::Scratch],
            _ => &[Space::Global, Space::Scalar, Space::Scratch],
        };
        let kind = luthier_isa::Space::ALL[told(Arg::AccessKind(which)) as usize];
        assert_eq!(kind, access.space, "{what}");
        let known = |event: &&MemoryEvent| spaces.iter().any(|space| *space as u8 == event.kind >> 4);
        assert!(events.iter().all(known), "{what}: {events:x?}");
        let width = told(Arg::AccessWidth(which));
        let bytes: u64 = events.iter().map(|event| u64::from(event.size)).sum();
        // Words of an access that is partly in its buffer are seen one by one.
        let width = if access.space == luthier_isa::Space::Buffer { width.min(4) } else { width };
        assert!(width > 0 && bytes.is_multiple_of(width), "{what}: {width} bytes, {events:x?}");
    }
    // Both of a pair together.
    if places.len() == 2 && !places[0].lds {
        assert_eq!(told(Arg::AccessWidth(None)), 2 * told(Arg::AccessWidth(Some(0))), "{what}");
        assert_eq!(Arg::Address(None).spec(inst, &[], &[]).unwrap_err().kind(), "several_places", "{what}");
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

/// Buffer resources in s[8:11]: raw, strided, swizzled, adding the lane's number; each large enough for all lanes and for
/// some, by every rule of what is outside.
fn bounded(generation: Generation) -> Vec<(u32, u32, u32)> {
    let gfx9 = generation.is_gfx9_family();
    let mut found = Vec::new();
    for (high, flags) in resources(generation) {
        let rules = if gfx9 || generation == Generation::Gfx1250 { 1 } else { 4 };
        for rule in 0..rules {
            let flags = if rules == 1 { flags } else { flags & !(3 << 28) | rule << 28 };
            found.extend([(high, flags, 0x1000), (high, flags, 0x25), (high, flags, 0)]);
        }
    }
    found
}

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
    for (high, flags, records) in bounded(w.generation) {
        // On gfx1250 the number of records begins above the base's 57 bits.
        let (records, above) = match w.generation {
            Generation::Gfx1250 => (records >> 7, records << 25),
            _ => (records, 0),
        };
        let high = high | above;
        // Of the lanes that Triton turns off the offset is this. Two of RDNA's rules do not look at offsets.
        let far = if !w.generation.is_gfx9_family() && matches!(flags >> 28 & 3, 1 | 2) { 4 } else { 0x8000_0000u32 };
        body += &format!(
            "
  s_mov_b32 s8, s2
  s_or_b32 s9, s3, {high:#x}
  s_mov_b32 s10, {records:#x}
  s_mov_b32 s11, {flags:#x}
  buffer_load_dword v4, off, s[8:11], 0 offset:4
  buffer_load_dword v4, v3, s[8:11], 0 offen offset:8
  buffer_load_dwordx2 v[4:5], v3, s[8:11], s6 offen
  buffer_store_dword v9, v3, s[8:11], s6 offen
  v_mov_b32_e32 v14, {far:#x}
  buffer_load_dword v4, v14, s[8:11], 0 offen
  buffer_store_dword v9, v14, s[8:11], 0 offen
  wait
  v_mov_b32_e32 v14, v3
  buffer_load_dword v14, v14, s[8:11], 0 offen
"
        );
        if w.generation != Generation::Gfx1250 {
            body += "
  buffer_load_dword v4, v2, s[8:11], 0 idxen
  v_mov_b32_e32 v12, v2
  v_and_b32_e32 v13, 12, v3
  buffer_load_dword v4, v[12:13], s[8:11], 0 idxen offen
  buffer_store_dword v9, v[12:13], s[8:11], s6 idxen offen offset:4
  wait
  buffer_load_dwordx2 v[12:13], v[12:13], s[8:11], 0 idxen offen
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
    body += OVERWRITTEN;
    body += to_lds(w);
    let body = w.translate(&body.replace("  wait\n", "wait\n"));
    // Once more with few lanes.
    format!("{body}s_mov_b32 exec_lo, 0x5a5a0ff0\n{body}")
}

/// Instructions whose results lie where their addresses do.
const OVERWRITTEN: &str = "
  v_mov_b32_e32 v6, v3
  global_load_dword v6, v6, s[2:3]
  wait
  v_mov_b32_e32 v7, s3
  v_or_b32_e32 v6, s2, v3
  global_load_dwordx2 v[6:7], v[6:7], off
  wait
  v_mov_b32_e32 v7, s3
  v_or_b32_e32 v6, s2, v3
  flat_load_dword v7, v[6:7]
  wait
  v_mov_b32_e32 v7, s3
  v_or_b32_e32 v6, s2, v3
  global_atomic_add v6, v[6:7], v9, off glc
  wait
  v_mov_b32_e32 v6, v3
  ds_read2_b32 v[6:7], v6 offset0:3 offset1:7
  wait
  v_mov_b32_e32 v6, v3
  ds_read_b32 v6, v6 offset:64
  wait
  v_mov_b32_e32 v6, v3
  ds_add_rtn_u32 v6, v6, v9
  wait
  s_mov_b32 s20, s2
  s_mov_b32 s21, s3
  s_load_dwordx2 s[20:21], s[20:21], 0x8
  wait
  s_mov_b32 s8, s2
  s_mov_b32 s9, s3
  s_mov_b32 s10, 0x1000
  s_buffer_load_dword s9, s[8:11], 0x20
  wait
  s_mov_b32 s7, 36
  s_load_dword s7, s[2:3], s7
  wait
";

/// Transfers between memory and LDS.
fn to_lds(w: &Words) -> &'static str {
    match w.generation {
        Generation::Gfx9 | Generation::Gfx90a => {
            "s_mov_b32 s8, s2\ns_mov_b32 s9, s3\ns_mov_b32 s10, 0x60\ns_mov_b32 s11, 0x27000\ns_mov_b32 m0, 0x100\ns_nop 4\n\
             buffer_load_dword v3, s[8:11], 0 offen offset:8 lds\nwait\n"
        }
        Generation::Gfx940 => {
            "v_mov_b32_e32 v7, s3\nv_or_b32_e32 v6, s2, v3\ns_mov_b32 m0, 0x100\ns_nop 4\n\
             global_load_lds_dword v[6:7], off offset:16\nglobal_load_lds_ubyte v3, s[2:3]\nwait\n"
        }
        Generation::Gfx1250 => {
            "global_load_async_to_lds_b64 v3, v3, s[2:3] offset:8\n\
             global_store_async_from_lds_b32 v3, v0, s[2:3] offset:16\ns_wait_asynccnt 0x0\n"
        }
        _ => "",
    }
}

#[test]
fn what_has_no_address_of_its_own_is_refused_by_name() {
    for mode in modes() {
        let words = Words::of(mode);
        let Some((resource, modifiers)) = words.image() else { continue };
        let body = format!("{resource}image_load v4, v8, s[12:19] {modifiers}\nwait\n");
        let kernel = Kernel { vgprs: 32, ..Kernel::of(words.translate(&body)).unwrap() };
        let Some(object) = kernel.assemble(&words, "image") else { return };
        let program = Program::lift(&object).unwrap();
        let image = program.instrs().iter().map(|i| program.inst(i)).find(|i| i.info().base == "image_load").unwrap();
        let kinds = [
            (Arg::Address(None), "no_address"),
            (Arg::Address(Some(0)), "no_address"),
            (Arg::AccessCount, "no_count"),
            (Arg::AccessWidth(None), "no_width"),
            (Arg::InRange, "no_range"),
        ];
        for (arg, kind) in kinds {
            assert_eq!(arg.spec(image, &[], &[]).unwrap_err().kind(), kind, "{mode:?} {arg:?}");
        }
    }
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
        assert!(["global", "flat", "buffer", "lds"].into_iter().all(spaces), "{mode:?}: {compared:?}");
    }
}
