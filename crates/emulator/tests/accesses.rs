//! What isa says an instruction reads and writes, against what it does: every opcode, with random operands and
//! modifiers, runs on two waves. They have the same EXEC and the same values in what is said to be read, and different
//! ones everywhere else. What is said to be written must come out the same, and the rest must stay.
//!
//! Runs on one processor of each family; LUTHIER_TARGETS=gfx942,gfx1201 or LUTHIER_TARGETS=all on others.
//! LUTHIER_ENCODINGS=N tries N encodings of each opcode instead of a few.

#[path = "../../isa/tests/common/mod.rs"]
mod words;

#[path = "support/room.rs"]
mod room;

use std::collections::{BTreeMap, HashMap, HashSet};

use luthier_emulator::observe::Registers;
use luthier_emulator::session::Session;
use luthier_emulator::{Device, DeviceConfig, Launch, Strict, TARGETS, coverage};
use luthier_isa::{Access, Field, Flags, Inst, Mode, Op, OpcodeInfo, Operand, Reg, RegRange, Wave};
use luthier_loader::CodeObject;
use room::{prologue, template, with_sequence};
use words::{Rng, random_words};

/// Instructions of a launch.
const LENGTH: usize = 24;
/// Bytes of the memory that addresses lead to.
const REGION: u64 = 64 << 10;
/// Vector registers of the kernel; AGPRs are as many.
const VGPRS: u16 = 32;

const FAMILIES: [&str; 8] = ["gfx906", "gfx908", "gfx90a", "gfx950", "gfx1030", "gfx1151", "gfx1201", "gfx1250"];

fn modes() -> Vec<Mode> {
    let wanted = std::env::var("LUTHIER_TARGETS").unwrap_or_else(|_| FAMILIES.join(","));
    let is_wanted = |mode: &Mode| wanted == "all" || wanted.split(',').any(|name| name == mode.target().name());
    Mode::all().filter(|mode| TARGETS.contains(&mode.target())).filter(is_wanted).collect()
}

/// Whether an instruction can run by itself, twice with the same outcome.
fn is_tried(info: &OpcodeInfo) -> bool {
    const ELSEWHERE: Flags =
        Flags::BRANCH.union(Flags::CALL).union(Flags::END).union(Flags::BARRIER).union(Flags::TRAP);
    let op = info.op();
    let apart = matches!(
        op,
        // What comes next runs elsewhere, or is skipped, or means other registers.
        Op::SCbranchGFork | Op::SCbranchJoin | Op::SSetvskip | Op::SSetGprIdxOn | Op::SSetGprIdxMode | Op::SSetVgprMsb
        | Op::SSubvectorLoopBegin | Op::SSubvectorLoopEnd | Op::SRfeB64 | Op::SRfeRestoreB64 | Op::SSethalt | Op::SSetkill
        | Op::SAddPcI64 | Op::SGetpcB64
        // The processor's state, and clocks.
        | Op::SGetregB32 | Op::SSetregB32 | Op::SSetregImm32B32 | Op::SMemtime | Op::SMemrealtime | Op::SGetWaveidInWorkgroup
        | Op::SGetShaderCyclesU64 | Op::SAllocVgpr | Op::SVersion
    );
    // A description of an image is more than random words: tests/device/test_images.py.
    let described = info.flags.contains(Flags::MIMG) || info.base.contains("tensor_");
    let formatted = info.base.contains("buffer_") && info.base.contains("format_");
    let waits =
        op.is_gws() || op.is_message() || info.base.starts_with("s_barrier_") || info.base.contains("_barrier_");
    !(info.flags.intersects(ELSEWHERE)
        || info.flags.contains(Flags::INDIRECT)
        || apart
        || described
        || formatted
        || waits)
}

fn touches_exec(range: RegRange) -> bool {
    range.units().any(|unit| unit == Reg::EXEC_LO || unit == Reg::EXEC_HI)
}

/// A random instruction of the opcode, its vector registers among those that the kernel has.
fn encoding(info: &'static OpcodeInfo, rng: &mut Rng) -> Option<Inst> {
    let mode = info.mode;
    for _ in 0..60 {
        let bytes: Vec<u8> = random_words(info, rng).iter().flat_map(|w| w.to_le_bytes()).collect();
        let Ok(mut inst) = Inst::decode(mode, &bytes) else { continue };
        if inst.info() != info {
            continue;
        }
        // Near, and where everything is aligned.
        for field in [Field::Offset, Field::Offset0, Field::Offset1] {
            let _ = inst.set_field(field, inst.field(field).unwrap_or(0) & 0xf0);
        }
        for index in 0..info.operands.len() {
            let Some((_, Operand::Reg(range))) = inst.operands().nth(index) else { continue };
            let room = u64::from(VGPRS) - u64::from(range.count.min(VGPRS as u8 - 1));
            let first = match range.first {
                r if r.is_vgpr() => Reg::vgpr((rng.below(room) & !1) as u16),
                r if r.is_agpr() => Reg::agpr((rng.below(room) & !1) as u16),
                _ => continue,
            };
            let _ = inst.set_operand(index, Operand::Reg(RegRange { first, ..range }));
        }
        // From a special register on, an index leads nowhere; memory is not there, and swaps have nowhere to go.
        let indexed = info.op().is_scalar_movrel();
        let swaps = matches!(info.op(), Op::VSwapB32 | Op::VPermlane16SwapB32 | Op::VPermlane32SwapB32);
        let named = indexed || swaps || info.flags.intersects(Flags::LOAD | Flags::STORE | Flags::ATOMIC);
        // Which lanes the rest of the instruction has then, no manual says.
        let writes_exec = info.flags.contains(Flags::VALU)
            && inst.operands().any(|(o, value)| o.access.writes() && value.reg().is_some_and(touches_exec));
        let there = inst.operands().all(|(_, value)| match value {
            Operand::Reg(range) if indexed => range.first.index() < 80,
            Operand::Special(_) => !named,
            Operand::Reg(range) if range.first.is_vgpr() || range.first.is_agpr() => {
                range.first.number() + u16::from(range.count) <= VGPRS
            }
            _ => true,
        });
        let mut code = Vec::new();
        inst.encode_into(&mut code);
        if there && !writes_exec && !inst.has_invisible_bits() && Inst::decode(mode, &code) == Ok(inst) {
            return Some(inst);
        }
    }
    None
}

/// Two launches of the same code.
struct Twins {
    sessions: [Session; 2],
    devices: [Device; 2],
    data: u64,
}

impl Twins {
    fn new(object: &CodeObject, mode: Mode) -> Twins {
        let one = || {
            let device = Device::new(mode.target(), DeviceConfig { threads: 1, ..DeviceConfig::default() });
            let module = device.load(object).expect("the module loads");
            let data = device.alloc(REGION).unwrap();
            let pattern: Vec<u8> =
                (0..REGION as u32 / 4).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
            device.write(data, &pattern).unwrap();
            let lanes = mode.wave().lanes();
            let launch = Launch {
                module,
                kernel: "k".into(),
                grid: [lanes, 1, 1],
                workgroup: [lanes, 1, 1],
                kernarg: [data, data].iter().flat_map(|a| a.to_le_bytes()).collect(),
                dynamic_lds: 0,
                strict: Strict::Off,
                cooperative: false,
                cluster: None,
                schedule: Default::default(),
            };
            let mut session = device.session(&launch).expect("a session");
            (0..prologue(mode)).for_each(|_| session.step(0).expect("the prologue runs"));
            (device, session, data)
        };
        let ((a, first, data), (b, second, same)) = (one(), one());
        assert_eq!(data, same);
        Twins { sessions: [first, second], devices: [a, b], data }
    }

    fn memory(&self) -> [(Vec<u8>, Vec<u8>); 2] {
        [0, 1].map(|i| {
            let mut bytes = vec![0; REGION as usize];
            self.devices[i].read(self.data, &mut bytes).expect("the region is there");
            (bytes, self.sessions[i].lds())
        })
    }
}

/// Registers for an instruction to run on: values, or what leads it to memory.
fn values(inst: &Inst, like: &Registers, data: u64, rng: &mut Rng) -> Registers {
    let flags = inst.info().flags;
    let memory = flags.intersects(Flags::VMEM | Flags::FLAT | Flags::SMEM | Flags::GLOBAL | Flags::MUBUF);
    let is_offset = |info: &OpcodeInfo| info.operands.iter().any(|o| o.field == Field::Vaddr && o.units == 1);
    let by_offset = flags.intersects(Flags::DS | Flags::SCRATCH | Flags::MUBUF) || memory && is_offset(inst.info());
    let (low, high) = (data + REGION / 2, (data >> 32) as u32);
    let mut values = like.clone();
    let plain = |rng: &mut Rng| match rng.below(4) {
        0 => rng.below(64) as u32,
        1 => (rng.below(4) as f32 - 1.5).to_bits(),
        _ => rng.next() as u32,
    };
    for (n, value) in values.sgprs.iter_mut().enumerate() {
        *value = match (memory, n % 4) {
            (false, _) => plain(rng),
            // A pair of them is an address, four are a buffer.
            (true, 0) => low as u32 + 64 * rng.below(16) as u32,
            (true, 1) if flags.intersects(Flags::MUBUF | Flags::MTBUF) => high,
            (true, 2) if flags.intersects(Flags::MUBUF | Flags::MTBUF) => 0x4000,
            (true, 3) if flags.intersects(Flags::MUBUF | Flags::MTBUF) => 0x0002_7000,
            (true, 2) => low as u32,
            (true, _) => high,
        };
    }
    for (n, row) in values.vgprs.iter_mut().chain(&mut values.agprs).enumerate() {
        for (lane, value) in row.iter_mut().enumerate() {
            *value = match () {
                () if by_offset => 16 * rng.below(96) as u32,
                () if memory && n % 2 == 0 => low as u32 + 16 * lane as u32,
                () if memory => high,
                () => plain(rng),
            };
        }
    }
    values.exec = rng.next() & if rng.below(2) == 0 { rng.next() } else { !0 };
    values.vcc = rng.next();
    if like.exec >> 32 == 0 && inst.info().mode.wave() == Wave::W32 {
        values.exec &= 0xffff_ffff;
        values.vcc &= 0xffff_ffff;
    }
    values.m0 = rng.below(8) as u32;
    values.scc = rng.below(2) == 1;
    values.flat_scratch = data + REGION / 2;
    values
}

/// How an instruction says it touches units, the strongest word of each.
struct Said {
    reads: HashSet<Reg>,
    writes: HashMap<Reg, Access>,
    /// Vector registers are read in lanes that are off, too.
    off_lanes: bool,
}

impl Said {
    fn of(inst: &Inst) -> Said {
        let mut said =
            Said { reads: HashSet::new(), writes: HashMap::new(), off_lanes: inst.reads_lanes_that_are_off() };
        inst.for_each_access(|a| {
            if a.access.reads() {
                said.reads.insert(a.reg);
            }
            if a.access.writes() {
                // Of a surely and a perhaps written operand one may be the last.
                let both = |old: Access| if old == a.access { old } else { Access::ReadCondWrite };
                said.writes.entry(a.reg).and_modify(|access| *access = both(*access)).or_insert(a.access);
            }
        });
        said
    }

    /// The same with other values in all that is not read.
    fn other(&self, values: &Registers, rng: &mut Rng) -> Registers {
        let mut other = values.clone();
        let reads = |reg: Reg| self.reads.contains(&reg);
        for (n, value) in other.sgprs.iter_mut().enumerate() {
            if !reads(Reg::sgpr(n as u16)) {
                *value = !*value;
            }
        }
        let exec_is_read = reads(Reg::EXEC_LO);
        let mut file = |first: Reg, rows: &mut Vec<[u32; 64]>| {
            for (n, row) in rows.iter_mut().enumerate() {
                let is_read = reads(Reg::from_index(first.index() + n).expect("a register"));
                for (lane, value) in row.iter_mut().enumerate() {
                    let on = values.exec >> lane & 1 != 0 || self.off_lanes;
                    if !(is_read && on) {
                        *value = !*value ^ (rng.next() as u32 & 0xff);
                    }
                }
            }
        };
        file(Reg::vgpr(0), &mut other.vgprs);
        file(Reg::agpr(0), &mut other.agprs);
        if !exec_is_read && !reads(Reg::EXEC_HI) {
            other.exec = !values.exec & if values.exec >> 32 == 0 { 0xffff_ffff } else { !0 };
        }
        for (reg, shift) in [(Reg::VCC_LO, 0), (Reg::VCC_HI, 32)] {
            if !reads(reg) {
                other.vcc ^= 0xffff_ffff << shift;
            }
        }
        if !reads(Reg::M0) {
            other.m0 = !other.m0;
        }
        other.scc ^= !reads(Reg::SCC);
        if !reads(Reg::MODE) {
            // Rounding and denormals.
            other.mode ^= 0xff;
        }
        other
    }

    /// What came out otherwise than said; `before` and `after` of both waves.
    fn mistakes(&self, before: &[Registers; 2], after: &[Registers; 2]) -> Vec<String> {
        let mut found = Vec::new();
        let mut scalar = |reg: Reg, part: &dyn Fn(&Registers) -> u32| {
            let [was, is] = [before, after].map(|r| [part(&r[0]), part(&r[1])]);
            match self.writes.get(&reg) {
                None if was != is => found.push(format!("{reg} changes")),
                None => {}
                Some(Access::CondWrite) if was == is => {}
                Some(_) if is[0] != is[1] => found.push(format!("{reg} differs")),
                Some(_) => {}
            }
        };
        (0..102).for_each(|n| scalar(Reg::sgpr(n), &|r| r.sgprs[usize::from(n)]));
        scalar(Reg::EXEC_LO, &|r| r.exec as u32);
        scalar(Reg::EXEC_HI, &|r| (r.exec >> 32) as u32);
        scalar(Reg::VCC_LO, &|r| r.vcc as u32);
        scalar(Reg::VCC_HI, &|r| (r.vcc >> 32) as u32);
        scalar(Reg::M0, &|r| r.m0);
        scalar(Reg::SCC, &|r| r.scc.into());
        scalar(Reg::MODE, &|r| r.mode);
        let exec = before[0].exec;
        let mut vector = |reg: Reg, part: &dyn Fn(&Registers) -> [u32; 64]| {
            let [was, is] = [before, after].map(|r| [part(&r[0]), part(&r[1])]);
            let lanes = |bad: &dyn Fn(usize) -> bool| (0..64).filter(|&lane| bad(lane)).count();
            let kept = |lane: usize| was[0][lane] == is[0][lane] && was[1][lane] == is[1][lane];
            let same = |lane: usize| is[0][lane] == is[1][lane];
            let on = |lane: usize| exec >> lane & 1 != 0;
            let (bad, what) = match self.writes.get(&reg) {
                None => (lanes(&|lane| !kept(lane)), "changes"),
                Some(Access::Write | Access::ReadWrite) => (lanes(&|lane| !same(lane)), "differs"),
                Some(_) if !self.off_lanes && lanes(&|lane| !on(lane) && !kept(lane)) > 0 => {
                    (lanes(&|lane| !on(lane) && !kept(lane)), "changes where EXEC is off")
                }
                Some(_) => (lanes(&|lane| on(lane) && !same(lane)), "keeps something where EXEC is on"),
            };
            if bad > 0 {
                found.push(format!("{reg} {what}, in {bad} lanes"));
            }
        };
        (0..before[0].vgprs.len()).for_each(|n| vector(Reg::vgpr(n as u16), &|r| r.vgprs[n]));
        (0..before[0].agprs.len()).for_each(|n| vector(Reg::agpr(n as u16), &|r| r.agprs[n]));
        found
    }
}

/// What has been tried.
#[derive(Default)]
struct Tally {
    ran: u64,
    stopped: u64,
    /// By opcode, the first instruction that did otherwise than said.
    wrong: BTreeMap<String, String>,
    how_often: u64,
}

/// Runs instructions one by one, each on values of its own, as far as they do not stop.
fn run(template: &[u8], mode: Mode, insts: &[Inst], rng: &mut Rng, tally: &mut Tally) -> usize {
    let mut twins = Twins::new(&with_sequence(template, insts), mode);
    let touches = |inst: &Inst| inst.info().flags.intersects(Flags::STORE | Flags::ATOMIC | Flags::LOAD);
    for (done, inst) in insts.iter().enumerate() {
        let said = Said::of(inst);
        let like = twins.sessions[0].registers(0).expect("a wave");
        let first = values(inst, &like, twins.data, rng);
        let second = said.other(&first, rng);
        let before = [first, second];
        for (session, values) in twins.sessions.iter_mut().zip(&before) {
            session.set_registers(0, values);
        }
        let before = [0, 1].map(|i| twins.sessions[i].registers(0).expect("a wave"));
        let ends = twins.sessions.each_mut().map(|session| session.step(0).map_err(|e| e.to_string()));
        let name = format!("{} {}", mode.target().name(), inst.info().llvm);
        let mut note = |what: String| {
            tally.how_often += 1;
            let text = || {
                format!(
                    "{} ({} lanes): {inst}: {what}; exec {:#x}",
                    mode.target().name(),
                    mode.wave().lanes(),
                    before[0].exec
                )
            };
            tally.wrong.entry(name.clone()).or_insert_with(text);
        };
        if ends[0].is_err() != ends[1].is_err() {
            note(format!("ends {:?} and {:?}", ends[0], ends[1]));
        }
        if ends.iter().any(Result::is_err) {
            tally.stopped += 1;
            return done + 1;
        }
        tally.ran += 1;
        let after = [0, 1].map(|i| twins.sessions[i].registers(0).expect("a wave"));
        let mut mistakes = said.mistakes(&before, &after);
        let differ = touches(inst) && {
            let [a, b] = twins.memory();
            a != b
        };
        if differ {
            mistakes.push("memory differs".into());
        }
        if !mistakes.is_empty() {
            note(mistakes.join(", "));
        }
        if differ {
            return done + 1;
        }
    }
    insts.len()
}

#[test]
fn what_is_said_to_be_read_decides_what_is_said_to_be_written() {
    let count: usize = std::env::var("LUTHIER_ENCODINGS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let mut tally = Tally::default();
    for mode in modes() {
        let refused: HashSet<&str> =
            coverage(mode.target()).iter().filter(|c| c.refusal.is_some()).map(|c| c.base).collect();
        let template = template(mode, "accesses");
        let mut rng = Rng(0x5851_f42d_4c95_7f2d);
        let tried = mode.opcodes().iter().filter(|info| is_tried(info) && !refused.contains(info.base));
        let mut insts = Vec::new();
        for info in tried {
            // What its modifiers choose among needs more of them.
            let more = info.flags.intersects(Flags::DPP | Flags::SDWA | Flags::OP_SEL);
            // Of pairs there are thousands.
            let count =
                if info.flags.contains(Flags::DUAL) { count.div_ceil(3) } else { count * (1 + usize::from(more)) };
            insts.extend(std::iter::repeat_with(|| encoding(info, &mut rng)).take(count).flatten());
        }
        let mut rest = &insts[..];
        while !rest.is_empty() {
            let done = run(&template, mode, &rest[..rest.len().min(LENGTH)], &mut rng, &mut tally);
            rest = &rest[done..];
        }
    }
    let Tally { ran, stopped, wrong, how_often } = tally;
    println!(
        "{ran} instructions ran, {stopped} stopped, {how_often} did otherwise than said, of {} opcodes",
        wrong.len()
    );
    let shown: Vec<&str> = wrong.values().map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} opcodes do otherwise than said:\n{}", wrong.len(), shown.join("\n"));
    // Random registers as addresses: one in eight stops.
    assert!(ran > 7 * stopped, "{stopped} of {ran} instructions stopped");
}
