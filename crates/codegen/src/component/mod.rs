//! Call-graph components: kernels and device functions that may run in one wave, and what all their places have in
//! common.

mod arguments;
mod base;
mod by_root;
pub mod describe;
mod endings;
pub mod scratch;
pub mod slots;
mod stack;

use std::collections::HashMap;
use std::sync::OnceLock;

use luthier_isa::{EncodeError, Reg, RegRange, RegSet};
use luthier_lifter::{FuncId, Liveness, RegisterCounts};
use luthier_loader::Kernel;

use self::scratch::Stacks;
use self::slots::{MOST_SCRATCH, Room};
use crate::check::Looked;
use crate::machine::registers::Counts;
use crate::machine::scratch::Floating;
use crate::plan::{Arg, Body, EntryValue, Init, Rejection, Spot, Where};
use crate::splice::asked::Asked;
use crate::splice::slots::Slots;
use crate::splice::{Carried, Env, Given, Registers};

pub use base::Base;
pub use by_root::ByRoot;
pub use endings::Endings;

/// A component with insertions.
pub struct Component<'a> {
    pub functions: Vec<FuncId>,
    pub kernels: Vec<&'a Kernel>,
    pub used: RegSet,
    pub env: Env<'a>,
    /// What the checker knows of the hooks' arguments.
    pub looked: Looked<'a>,
    pub highest: Counts,
    pub scratch: u32,
    /// Its stacks have no known end, and scratch of ours was not put behind them: [`ByRoot::floating`] does that.
    pub has_no_scratch_yet: bool,
    /// Why nothing is done to it after all.
    pub refused: Option<String>,
}

/// What the insertions of one component ask for.
#[derive(Default)]
struct Wishes {
    slots: Vec<usize>,
    /// What waves are to start with.
    entry: Vec<EntryValue>,
    /// The kernel's arguments that hooks look for.
    arguments: Vec<Arg>,
    /// Bytes of LDS.
    shared: u32,
    /// Application registers that hooks look at where the application does not need them any more, or that the plan's
    /// own instructions touch.
    watched: RegSet,
    /// The same of special state.
    watched_state: RegSet,
    /// FLAT_SCRATCH may get another value.
    moves_scratch: bool,
}

impl<'a> Component<'a> {
    /// `floats`: where stacks have no known end, scratch of ours is put behind them.
    fn of(
        base: &Base<'a>,
        functions: Vec<FuncId>,
        kernels: Vec<&'a Kernel>,
        used: RegSet,
        wishes: &Wishes,
        spots: Vec<&'a [Spot]>,
        floats: bool,
    ) -> Result<Component<'a>, EncodeError> {
        let (program, machine) = (base.given.program, base.given.machine);
        let instrs = || functions.iter().flat_map(|f| program.function_instrs(*f).iter());
        let written = functions.first().map(|f| program.written_registers(*f)).unwrap_or_default();
        let sets_mode = written.contains(Reg::MODE);
        let mut touched = used;
        touched.union_with(&wishes.watched);
        let mut never_used = *every_register();
        never_used.subtract(&touched);
        let mut limits = machine.limits(&kernels, &used);
        let mut allocated =
            kernels.iter().map(|k| machine.allocated(k, &used_by(&base.given, k, &used))).reduce(Counts::least);
        if kernels.is_empty() {
            // Functions that no kernel of this object calls: their callers have counts of their own.
            let counts = RegisterCounts::of(&used);
            limits = Counts { sgprs: counts.sgprs, vgprs: counts.vgprs.min(256), agprs: counts.agprs };
        }
        let allocated = *allocated.get_or_insert(limits);
        let allocated_in = allocated_in(base, &functions, &kernels, &used);
        let ends = base.given.selection.ends_as_it_is(program, &functions);
        let none = match ends {
            _ if wishes.slots.is_empty() => None,
            _ if kernels.is_empty() => Some(Rejection::SlotWithoutKernel),
            Some(f) => Some(Rejection::EndsAsItIs { function: program.function(f).name.clone() }),
            None => None,
        };
        let argument = |arg: &Arg| (arg.clone(), arguments::offset(base.object, &kernels, arg));
        let arguments = wishes.arguments.iter().map(argument).collect();
        let unbounded = scratch::is_unbounded(program, &functions, &kernels);
        let size = (unbounded && floats).then_some(EntryValue::PrivateSegmentSize);
        let entry: Vec<EntryValue> = wishes.entry.iter().copied().chain(size).collect();
        let asked = Asked::of(machine, &kernels, &entry, arguments, wishes.shared);
        // Where waves start, these hold something for a while.
        let mut taken = touched;
        asked.all().for_each(|begins| taken.union_with(&begins.registers()));
        let room = base.given.plan.placement.room();
        let stack = base.given.templates.iter().filter_map(|t| Some(t.stack?.bytes)).max().unwrap_or(0);
        let has_size = size.is_some_and(|size| asked.refused(size).is_none());
        let floating = if has_size { Floating::among(&taken, limits.sgprs, stack > 0) } else { None };
        let kept = || floating.into_iter().flat_map(Floating::registers);
        kept().for_each(|reg| taken.insert(reg));
        let stacks = if unbounded { Stacks::Unbounded(floating) } else { Stacks::Bounded };
        let own = |room: u32| {
            let own = scratch::own(machine, program, (&functions, &written), &kernels, stacks, (stack, room));
            own.filter(|_| !wishes.moves_scratch)
        };
        let mut slots = if none.is_some() {
            Slots { homes: vec![None; base.given.plan.slots.len()], refused: none, ..Slots::default() }
        } else {
            let (vgprs, agprs) = (machine.most_vgprs(&kernels), machine.most_agprs(&kernels, &used));
            let scratch = if own(room + MOST_SCRATCH).is_some() { MOST_SCRATCH } else { 0 };
            let hooks = base.given.templates.iter().map(|t| t.vgprs()).max().unwrap_or(0);
            let room = Room { machine, touched: &taken, limits, vgprs, agprs, scratch, hooks };
            let refused = |slot: &usize| match base.given.plan.slots.get(*slot).map(|slot| slot.init) {
                Some(Init::Entry(value)) => asked.refused(value).is_some(),
                _ => false,
            };
            let wanted: Vec<usize> = wishes.slots.iter().copied().filter(|slot| !refused(slot)).collect();
            let mut slots = slots::homes(&room, &base.given.plan.slots, &wanted);
            slots.endings = endings::endings(machine, &base.given.plan.slots, &slots, &base.endings)?;
            slots
        };
        kept().for_each(|reg| slots.keep(RegRange::new(reg, 1)));
        let default_fp_mode = !sets_mode && kernels.iter().all(|k| machine.has_default_fp_mode(&k.descriptor));
        let mut reserved = slots.registers;
        reserved.union_with(&wishes.watched);
        let scratch = own(room + slots.scratch);
        let reads_by_lanes = base.given.templates.iter().any(|t| t.reads_counters_by_lanes);
        // Where any read by a vector instruction counts, it leaves a scalar's neighbour marked as read, too.
        let is_apart = |reg: &Reg| {
            let other = Reg::from_index(reg.index() ^ 1);
            !machine.remembers_scalar_reads() || other.is_some_and(|other| slots.scalars.contains(other))
        };
        let unread = if reads_by_lanes { RegSet::EMPTY } else { slots.scalars.iter().filter(is_apart).collect() };
        let highest = slots.highest;
        let env = Env {
            given: base.given,
            kernels: kernels.clone(),
            carried: Carried { slots, asked, reserved, watched_state: wishes.watched_state, unread },
            registers: Registers { never_used, unset: machine.unset(&kernels, &used), limits, allocated, allocated_in },
            default_fp_mode,
            scratch,
        };
        let allocates = instrs().any(|i| program.inst(i).info().op() == luthier_isa::op::Op::SAllocVgpr);
        let refused = allocates
            .then(|| "the kernel changes its number of VGPRs as it runs (s_alloc_vgpr)".to_owned())
            .or_else(|| machine.refused(&kernels, |k| used_by(&base.given, k, &used)));
        let looked = Looked::new(spots);
        let has_no_scratch_yet = unbounded && !floats;
        Ok(Component { functions, kernels, used, env, looked, highest, scratch: 0, has_no_scratch_yet, refused })
    }
}

fn every_register() -> &'static RegSet {
    static ALL: OnceLock<RegSet> = OnceLock::new();
    ALL.get_or_init(|| (0..Reg::COUNT).filter_map(Reg::from_index).collect())
}

/// The registers that code touches which a kernel's waves may run. Those of its component, `used`, will do but where VGPRs
/// of other kernels would lie behind the kernel's ACCUM_OFFSET.
fn used_by(given: &Given, kernel: &Kernel, used: &RegSet) -> RegSet {
    let program = given.program;
    let first = program.instr_at(kernel.entry).filter(|_| given.machine.reaches_accumulators(kernel, used));
    let Some(first) = first else { return *used };
    let mut own = RegSet::EMPTY;
    let functions = program.reachable(program.func_of(first));
    let instrs = functions.iter().flat_map(|f| program.function_instrs(*f).iter());
    instrs.for_each(|i| program.for_each_access(i, |a| own.insert(a.reg)));
    own
}

/// For each function, the registers that all kernels which may run it have.
fn allocated_in(base: &Base, functions: &[FuncId], kernels: &[&Kernel], used: &RegSet) -> HashMap<FuncId, Counts> {
    let mut all: HashMap<FuncId, Counts> = HashMap::new();
    if functions.len() == 1 || kernels.len() == 1 {
        return all;
    }
    for kernel in kernels {
        let counts = base.given.machine.allocated(kernel, &used_by(&base.given, kernel, used));
        let at = functions.iter().find(|f| base.given.program.function(**f).vaddr == kernel.entry);
        for f in at.into_iter().flat_map(|f| base.given.program.reachable(*f)) {
            all.entry(f).and_modify(|least| *least = least.least(counts)).or_insert(counts);
        }
    }
    all
}

impl Wishes {
    /// Adds what the insertions of one function ask for.
    fn note(&mut self, base: &Base, spots: &[Spot]) {
        let program = base.given.program;
        // Registers that hooks look at, or whose value is to survive an instruction that is taken out: those that
        // liveness knows nothing of must be left alone everywhere. So must those that are live only behind some of the
        // calls of this function: where it is called elsewhere, they are dead in front of the call.
        let mut looked_at: Vec<(Spot, RegRange, bool)> = Vec::new();
        for spot in spots {
            let inst = program.inst(spot.instr);
            match &base.given.plan.insertions[spot.insertion as usize].body {
                Body::Hook { args, .. } => {
                    let prepared =
                        base.given.template_of[spot.insertion as usize].map(|t| &base.given.templates[t as usize]);
                    for (n, arg) in args.iter().enumerate() {
                        let input = prepared.and_then(|p| p.inputs.get(n)).and_then(|inputs| inputs.first());
                        if input.copied().flatten().is_some_and(|input| input.read) {
                            match arg {
                                Arg::Entry(value) => self.ask(base, *value),
                                Arg::SharedBytes(bytes) => self.shared = self.shared.max(*bytes),
                                Arg::ImplicitOffset | Arg::KernelArgument { .. } if !self.arguments.contains(arg) => {
                                    self.arguments.push(arg.clone());
                                }
                                _ => {}
                            }
                        }
                        if let Arg::InOut(range) = arg {
                            self.moves_scratch |= range.units().any(|reg| scratch::is_base(base.given.machine, reg));
                        }
                        match arg {
                            Arg::Slot(c) if !self.slots.contains(c) => self.slots.push(*c),
                            _ => {
                                let behind = spot.at.is_behind();
                                let kept = if behind { arg.kept(inst) } else { Vec::new() };
                                let reads = arg.reads(inst).into_iter();
                                looked_at.extend(reads.map(|range| (*spot, range, behind && !kept.contains(&range))));
                            }
                        }
                    }
                }
                Body::Raw(insts) => {
                    for raw in insts.iter() {
                        raw.for_each_access(|a| self.watch(a.reg));
                        self.moves_scratch |= scratch::writes_base(base.given.machine, raw);
                    }
                }
                Body::Nothing => {}
            }
            if spot.at == Where::Instead {
                inst.for_each_access(|a| {
                    if a.access.writes() {
                        looked_at.push((*spot, RegRange::new(a.reg, 1), false));
                    }
                });
            }
        }
        let Some(first) = spots.first().filter(|_| !looked_at.is_empty()) else { return };
        let liveness = Liveness::within(program, program.func_of(first.instr));
        let mut known = None;
        for (spot, range, behind) in looked_at {
            let block = program.block_of(spot.instr);
            if !matches!(&known, Some((b, _)) if *b == block) {
                known = Some((block, liveness.points(block)));
            }
            let Some((_, points)) = &known else { continue };
            let index = (spot.instr.0 - program.block(block).instrs.first.0) as usize;
            let Some(point) = points.get(index) else { continue };
            let live = if behind { point.after } else { point.before };
            range.units().filter(|u| !live.active.contains(*u)).for_each(|u| self.watch(u));
        }
    }

    /// Has waves keep what they start with.
    fn ask(&mut self, base: &Base, value: EntryValue) {
        if self.entry.contains(&value) {
            return;
        }
        self.entry.push(value);
        let slot = base.given.plan.slots.iter().position(|slot| slot.init == Init::Entry(value));
        let stays = value.stays(base.given.machine.mode.target().generation());
        self.slots.extend(slot.filter(|slot| !stays && !self.slots.contains(slot)));
    }

    fn watch(&mut self, reg: Reg) {
        match crate::register_file::File::of(reg) {
            Some(_) => self.watched.insert(reg),
            None => self.watched_state.insert(reg),
        }
    }
}
