//! A plain run and an instrumented one side by side, an instruction of the application at a time.
#![allow(dead_code, reason = "no test that shares this uses all of it")]

use std::collections::HashMap;

use luthier_codegen::{Plan, Report, instrument};
use luthier_emulator::observe::Registers;
use luthier_emulator::session::Session;
use luthier_emulator::workgroup::State;
use luthier_emulator::{Device, DeviceConfig, Launch, ModuleId};
use luthier_isa::{Flags, Mode, Reg, RegSet};
use luthier_lifter::{Live, Liveness, Program};
use luthier_loader::{CodeObject, OriginMap};

/// Where both devices' allocations go on, behind whatever was loaded.
const ROOM: u64 = 64 << 20;
/// Inserted instructions between two of the application's.
const MOST: usize = 100_000;

/// The two runs.
struct Sides<'a> {
    mode: Mode,
    program: Program,
    plain: &'a CodeObject,
    instrumented: &'a CodeObject,
}

/// Two waves of the kernel `k`, one in each workgroup, with a buffer that its first argument leads to.
pub fn two_waves(mode: Mode, device: &Device, module: ModuleId, data: &[u8]) -> (Launch, Buffers) {
    let lanes = mode.wave().lanes();
    let address = device.alloc(data.len() as u64).unwrap();
    device.write(address, data).unwrap();
    let launch = Launch {
        module,
        kernel: "k".into(),
        grid: [2 * lanes, 1, 1],
        workgroup: [lanes, 1, 1],
        kernarg: address.to_le_bytes().to_vec(),
        dynamic_lds: 0,
        strict: crate::support::strict(),
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    };
    (launch, vec![(address, data.len())])
}

/// Those of these targets, or all where that is asked for, in each wave size; no generic ones.
pub fn modes_of(targets: &[&str]) -> Vec<Mode> {
    let all = crate::support::all_targets();
    let wanted = |m: &Mode| all && m.target().has_tables() || targets.contains(&m.target().name());
    Mode::all().filter(wanted).filter(|m| !m.target().name().ends_with("generic")).collect()
}

/// What a launch can write to: addresses and bytes.
pub type Buffers = Vec<(u64, usize)>;

/// A side that is ready to run.
struct Side {
    device: Device,
    launch: Launch,
    buffers: Buffers,
    base: u64,
}

impl Side {
    fn memory(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &(address, len) in &self.buffers {
            let at = bytes.len();
            bytes.resize(at + len, 0);
            self.device.read(address, &mut bytes[at..]).unwrap();
        }
        bytes
    }
}

/// What was found to be the same.
#[derive(Debug, Default)]
pub struct Judged {
    pub compared: Compared,
    /// Strict mode finds nothing in either; `None` if the plain kernel does not run to its end.
    pub clean: Option<bool>,
    /// What it finds there first.
    pub finding: Option<String>,
    pub report: Report,
}

/// Runs a kernel without and with a plan: step by step with all live registers compared, then as a whole in strict mode
/// with memory compared. `prepare` makes the launch, and gets the same addresses for both.
///
/// # Errors
/// The first difference.
pub fn judge(
    mode: Mode,
    object: &CodeObject,
    plan: &Plan,
    prepare: impl Fn(&Device, ModuleId) -> (Launch, Buffers),
) -> Result<Judged, String> {
    let done = instrument(object, plan).map_err(|e| e.to_string())?;
    let new = CodeObject::parse(done.bytes).map_err(|e| e.to_string())?;
    let sides = Sides::new(mode, object, &new);
    let compared = sides.compare(&sides.prepare(&prepare))?;
    let runs = sides.prepare(&prepare);
    let [plain, instrumented] = runs.each_ref().map(|side| side.device.launch(&side.launch));
    let finding =
        plain.as_ref().ok().and_then(|plain| plain.findings.first()).map(|f| format!("{}: {}", f.text, f.message));
    let clean = match (plain, instrumented) {
        (Ok(_), Ok(_)) if runs[0].memory() != runs[1].memory() => return Err(difference(&runs)),
        (Ok(plain), Ok(instrumented)) if plain.instructions != instrumented.app_instructions => {
            return Err("another number of the application's instructions".to_owned());
        }
        (Ok(plain), Ok(instrumented)) => match (plain.findings.is_empty(), instrumented.findings.first()) {
            (true, Some(finding)) => return Err(format!("strict mode finds {finding:?}")),
            (clean, _) => Some(clean),
        },
        (Err(_), Err(_)) => None,
        (Ok(_), Err(e)) => return Err(format!("only the instrumented kernel stops: {e}")),
        (Err(e), Ok(_)) => return Err(format!("only the plain kernel stops: {e}")),
    };
    Ok(Judged { compared, clean, finding, report: done.report })
}

/// The first byte of memory that is not the same.
fn difference([plain, instrumented]: &[Side; 2]) -> String {
    let (x, y) = (plain.memory(), instrumented.memory());
    let different = || x.iter().zip(&y).enumerate().filter(|(_, (x, y))| x != y);
    let Some((mut at, (is, wanted))) = different().next().map(|(at, (x, y))| (at, (*y, *x))) else {
        return "memory is of another size".to_owned();
    };
    for (number, &(address, len)) in plain.buffers.iter().enumerate() {
        if at < len {
            return format!(
                "memory differs in {} bytes, first at {:#x} (byte {at} of buffer {number}): {is:#x}, not {wanted:#x}",
                different().count(),
                address + at as u64,
            );
        }
        at -= len;
    }
    unreachable!("all of it is in a buffer")
}

/// How far the two were the same.
#[derive(Debug, Default)]
pub struct Compared {
    /// Instructions of the application, of all waves.
    pub steps: u64,
    /// Registers that were live there.
    pub values: u64,
    /// The plain run stopped with this error.
    pub stopped: Option<String>,
}

impl<'a> Sides<'a> {
    fn new(mode: Mode, plain: &'a CodeObject, instrumented: &'a CodeObject) -> Sides<'a> {
        Sides { mode, program: Program::lift(plain).unwrap(), plain, instrumented }
    }

    /// A device for each. `prepare` gets the same addresses on both.
    fn prepare(&self, prepare: impl Fn(&Device, ModuleId) -> (Launch, Buffers)) -> [Side; 2] {
        [self.plain, self.instrumented].map(|object| {
            let config = DeviceConfig { threads: 1, watchdog: 10_000_000, ..DeviceConfig::default() };
            let device = Device::new(self.mode.target(), config);
            let module = device.load(object).unwrap();
            let base = device.load_address(module).unwrap();
            level(&device, base);
            let (launch, buffers) = prepare(&device, module);
            Side { device, launch, buffers, base }
        })
    }

    /// Runs both, comparing all live registers before each of the application's instructions.
    fn compare(&self, [plain, instrumented]: &[Side; 2]) -> Result<Compared, String> {
        let origins = self.instrumented.origin_map().unwrap().unwrap();
        let live = live(&self.program);
        let returns = Returns { origins: &origins, base: plain.base };
        let mut frames: HashMap<usize, Frames> = HashMap::new();
        let mut compared = Compared::default();
        let text = |e: luthier_emulator::EmuError| e.to_string();
        let mut a = plain.device.session(&plain.launch).map_err(text)?;
        let mut b = instrumented.device.session(&instrumented.launch).map_err(text)?;
        let mut groups = None;
        while let Some(group) = a.workgroup() {
            if groups != Some(group) {
                (groups, frames) = (Some(group), HashMap::new());
            }
            let mut moved = false;
            for wave in 0..a.waves() {
                // Another workgroup's turn has come, or the wave waits or has ended.
                if a.workgroup() != Some(group) || a.state(wave) != Some(State::Ready) {
                    continue;
                }
                let pc = a.pc(wave).ok_or("no program counter")?;
                let what = format!("{} in wave {wave} of {group:?}", self.at(pc));
                let here = catch_up(&mut b, wave, &origins).map_err(|e| format!("before {what}: {e}"))?;
                if here != pc {
                    return Err(format!("before {what}: the instrumented run is at {}", self.at(here)));
                }
                let frames = frames.entry(wave).or_default();
                if let (Some(live), Some(x), Some(y)) = (live.get(&pc), a.registers(wave), b.registers(wave)) {
                    let wrong = self.differences(&frames.needed(live), &x, &y, &returns, &mut compared.values);
                    if !wrong.is_empty() {
                        return Err(format!("before {what}: {}", wrong.join(", ")));
                    }
                    frames.step(&self.program, pc, live, x.exec == self.all_lanes());
                }
                compared.steps += 1;
                moved = true;
                match (a.step(wave), b.step(wave)) {
                    (Ok(()), Ok(())) => frames.arrive(&self.program, a.pc(wave)),
                    (Err(x), Err(_)) => {
                        compared.stopped = Some(x.to_string());
                        return Ok(compared);
                    }
                    (Ok(()), Err(y)) => return Err(format!("at {what}: only the instrumented run stops: {y}")),
                    (Err(x), Ok(())) => return Err(format!("at {what}: only the plain run stops: {x}")),
                }
            }
            if !moved {
                return Err(format!("all waves of {group:?} wait"));
            }
        }
        match b.workgroup() {
            None => Ok(compared),
            Some(group) => Err(format!("the plain run is over, the instrumented one is in {group:?}")),
        }
    }

    fn all_lanes(&self) -> u64 {
        u64::MAX >> (64 - self.mode.wave().lanes())
    }

    fn at(&self, vaddr: u64) -> String {
        let inst = self.program.instr_at(vaddr).map(|i| self.program.inst(i).to_string());
        format!("{vaddr:#x} {}", inst.unwrap_or_default())
    }

    /// The live registers that differ.
    fn differences(
        &self,
        live: &Live,
        a: &Registers,
        b: &Registers,
        returns: &Returns,
        values: &mut u64,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let all = live.any();
        let lanes = self.all_lanes();
        for reg in all.iter() {
            if let Some(rows) = rows(reg, a, b) {
                let on = if live.active.contains(reg) { a.exec & lanes } else { 0 };
                let off = if live.inactive.contains(reg) { !a.exec & lanes } else { 0 };
                *values += 1;
                for lane in (0..64).filter(|lane| (on | off) >> lane & 1 != 0) {
                    let (x, y) = (rows.0[lane], rows.1[lane]);
                    if x != y && !returns.same(x, y) {
                        wrong.push(format!("{reg} is {y:#x} in lane {lane}, not {x:#x}"));
                        break;
                    }
                }
            } else if let (Some(x), Some(y)) = (self.scalar(reg, a), self.scalar(reg, b)) {
                *values += 1;
                if x != y && !returns.same(x, y) {
                    wrong.push(format!("{reg} is {y:#x}, not {x:#x}"));
                }
            }
        }
        wrong
    }

    /// What a scalar unit holds; `None` for trap temporaries, status and what the kernel has not been given.
    fn scalar(&self, reg: Reg, of: &Registers) -> Option<u32> {
        let half = |value: u64, high: bool| Some((value >> (32 * u32::from(high))) as u32);
        let gfx9 = self.mode.target().generation().is_gfx9_family();
        match reg {
            Reg::SCC => Some(of.scc.into()),
            Reg::M0 => Some(of.m0),
            Reg::MODE => Some(of.mode),
            Reg::VCC_LO | Reg::VCC_HI => half(of.vcc, reg == Reg::VCC_HI),
            Reg::EXEC_LO | Reg::EXEC_HI => half(of.exec, reg == Reg::EXEC_HI),
            Reg::FLAT_SCRATCH_LO | Reg::FLAT_SCRATCH_HI if gfx9 => half(of.flat_scratch, reg == Reg::FLAT_SCRATCH_HI),
            Reg::FLAT_SCRATCH_BASE_LO | Reg::FLAT_SCRATCH_BASE_HI if !gfx9 => {
                half(of.flat_scratch, reg == Reg::FLAT_SCRATCH_BASE_HI)
            }
            reg if reg.is_sgpr() => of.sgprs.get(usize::from(reg.number())).copied(),
            _ => None,
        }
    }
}

/// What a wave's callers do not need. A function's own liveness does not know its callers and takes all for needed that
/// it leaves alone.
#[derive(Default)]
struct Frames {
    /// Of each call under way: the units that were dead there, as far as nothing has been written to them since.
    dead: Vec<Live>,
    last: Option<Last>,
}

#[derive(Clone, Copy)]
enum Last {
    Call,
    Return,
}

impl Frames {
    fn needed(&self, live: &Live) -> Live {
        let mut needed = *live;
        if let Some(dead) = self.dead.last() {
            needed.active.subtract(&dead.active);
            needed.inactive.subtract(&dead.inactive);
        }
        needed
    }

    /// The wave is about to execute an instruction, with all of its lanes on or not.
    fn step(&mut self, program: &Program, pc: u64, live: &Live, full: bool) {
        let Some(instr) = program.instr_at(pc) else { return };
        let inst = program.inst(instr);
        if inst.info().flags.contains(Flags::CALL) {
            let needed = self.needed(live);
            let dead = |needed: &RegSet| {
                (0..Reg::COUNT).filter_map(Reg::from_index).filter(|r| !needed.contains(*r)).collect()
            };
            self.dead.push(Live { active: dead(&needed.active), inactive: dead(&needed.inactive) });
            self.last = Some(Last::Call);
        } else if inst.info().flags.contains(Flags::INDIRECT) {
            self.last = Some(Last::Return);
        }
        inst.for_each_access(|a| {
            let vector = a.reg.is_vgpr() || a.reg.is_agpr();
            if a.access.writes() {
                for dead in &mut self.dead {
                    dead.active.remove(a.reg);
                    if full || !vector {
                        dead.inactive.remove(a.reg);
                    }
                }
            }
        });
    }

    /// It has come to the next one.
    fn arrive(&mut self, program: &Program, pc: Option<u64>) {
        let enters = pc.is_some_and(|pc| program.function_at(pc).is_some_and(|f| program.function(f).vaddr == pc));
        if matches!(self.last.take(), Some(Last::Return)) && !enters {
            self.dead.pop();
        }
    }
}

type Row = [u32; 64];

/// A vector unit on both sides; `None` if the plain kernel has none of this number.
fn rows<'r>(reg: Reg, a: &'r Registers, b: &'r Registers) -> Option<(&'r Row, &'r Row)> {
    let number = usize::from(reg.number());
    match reg {
        reg if reg.is_vgpr() => a.vgprs.get(number).zip(b.vgprs.get(number)),
        reg if reg.is_agpr() => a.agprs.get(number).zip(b.agprs.get(number)),
        _ => None,
    }
}

/// Code that calls leaves the address behind it, which is one in the copy.
struct Returns<'a> {
    origins: &'a OriginMap,
    base: u64,
}

impl Returns<'_> {
    /// The lower halves of the same place in the original and in its copy, as a return address knows it.
    fn same(&self, plain: u32, instrumented: u32) -> bool {
        let whole = |low: u32| (self.base & !0xffff_ffff | u64::from(low)).checked_sub(self.base);
        let (Some(plain), Some(copy)) = (whole(plain), whole(instrumented)) else { return false };
        if !self.origins.covers(copy) {
            return false;
        }
        let pairs = self.origins.pairs();
        let next = pairs.get(pairs.partition_point(|(new, _)| *new < copy));
        next.is_some_and(|(_, original)| *original == plain)
    }
}

/// Inserted code runs until the wave is at an instruction of the application, whose original address this gives.
fn catch_up(session: &mut Session, wave: usize, origins: &OriginMap) -> Result<u64, String> {
    for _ in 0..MOST {
        let pc = session.pc(wave).ok_or("the wave has ended")?;
        if let Some(origin) = origins.origin(pc) {
            return Ok(origin);
        }
        // What was not copied is there as it was.
        if !origins.covers(pc) {
            return Ok(pc);
        }
        session.step(wave).map_err(|e| e.to_string())?;
    }
    Err("inserted code does not end".to_owned())
}

/// What is live before each instruction.
fn live(program: &Program) -> HashMap<u64, Live> {
    let mut all = HashMap::new();
    for func in program.function_ids() {
        // What a function does not touch itself matters where its callers and callees run.
        let mut touched = RegSet::EMPTY;
        let instrs = program.function_instrs(func);
        instrs.iter().for_each(|i| program.inst(i).for_each_access(|a| touched.insert(a.reg)));
        let mut untouched: RegSet = (0..Reg::COUNT).filter_map(Reg::from_index).collect();
        untouched.subtract(&touched);
        let liveness = Liveness::of(program, func);
        for block in program.function(func).blocks.iter() {
            for point in liveness.points(block).iter() {
                let mut live = *point.before;
                live.active.subtract(&untouched);
                live.inactive.subtract(&untouched);
                // No liveness tells of these, which matter until the wave ends.
                if !program.inst(point.instr).info().flags.contains(Flags::END) {
                    [Reg::EXEC_LO, Reg::EXEC_HI, Reg::MODE].into_iter().for_each(|reg| live.active.insert(reg));
                }
                all.insert(program.vaddr(point.instr), live);
            }
        }
    }
    all
}

/// Has the next allocation begin [`ROOM`] behind the module, whatever its size.
fn level(device: &Device, base: u64) {
    let alloc = |bytes: u64| device.alloc(bytes).unwrap();
    let (first, second) = (alloc(1), alloc(1));
    let step = second - first;
    let from = second + step;
    // An allocation takes its bytes, in whole pages, and what one of a byte takes beside its page.
    let bytes = base + ROOM - from - (step - 4096);
    alloc(bytes);
    let next = alloc(1);
    assert_eq!(next, base + ROOM, "allocations are where they are wanted");
}
