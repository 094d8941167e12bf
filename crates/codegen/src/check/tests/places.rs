//! Real splices: the pipeline's own steps from a kernel and a hook to the question that the checker is asked.

use std::collections::HashMap;
use std::sync::Arc;

use luthier_isa::{Inst, RegSet, VgprMsb};
use luthier_lifter::{InFlight, InstrId, Live, Liveness, PendingLoads, Program};
use luthier_loader::CodeObject;

use super::hooks::Hook;
use crate::check::{self, Violation};
use crate::component::{Base, ByRoot, Component, Endings};
use crate::copy::{self, ChunkMap, Copied, KernelEntry, Spot, Task, prologue};
use crate::layout::chunk::{ChunkId, Place};
use crate::machine::Machine;
use crate::plan::Checked;
use crate::plan::selection::Selection;
use crate::splice::emit::{Literal, Span};
use crate::splice::seams::Seam;
use crate::splice::{Demand, Given, HookId, Site, Splice, allocate, emit};
use crate::template::prepared::Prepared;
use crate::template::renamed::Renamed;
use crate::{Body, Checking, Insertion, Plan, Rejection, Slot, Variable, Where};

/// One place as it was spliced, to be changed and asked about again.
#[derive(Clone)]
pub struct Spliced {
    pub insts: Vec<Inst>,
    pub spans: Vec<Span>,
    pub literals: Vec<Literal>,
    pub made: Vec<HookId>,
    pub inst: Inst,
    pub address: u64,
    pub live: Live,
    pub loads: InFlight,
    pub msb: VgprMsb,
    pub splice: Splice,
    /// The wave ends here.
    pub last: bool,
}

impl Spliced {
    pub fn check(&self, env: &Component) -> Vec<Violation> {
        let nothing = RegSet::EMPTY;
        let site = self.site(&nothing);
        let prove = if self.last { check::ending } else { check::splice };
        prove(&check::Question {
            env: &env.env,
            looked: &env.looked,
            site: &site,
            olds: &[],
            inst: &self.inst,
            insts: &self.insts,
            base: 0,
            spans: &self.spans,
            made: &self.made,
            literals: &self.literals,
            highest: self.splice.highest,
            scratch: self.splice.scratch,
        })
    }

    fn site<'a>(&'a self, nothing: &'a RegSet) -> Site<'a> {
        Site {
            address: self.address,
            live: &self.live,
            loads: &self.loads,
            busy: nothing,
            kept: nothing,
            indexed: false,
            msb: self.msb,
            last: self.last,
        }
    }

    /// The instruction is one of a hook's.
    pub fn in_hook(&self, at: usize) -> bool {
        self.spans.iter().any(|s| (s.start..s.end).contains(&at))
    }
}

/// Hands the environment of a plan with the hook in front of each instruction, twice at each, to `each`.
pub fn with_env(object: &CodeObject, hook: &Hook, each: impl FnMut(&Component, &[Spot])) {
    with_env_at(object, hook, Where::Before, each);
}

/// The same with the hook at another place of each instruction.
pub fn with_env_at(object: &CodeObject, hook: &Hook, at: Where, each: impl FnMut(&Component, &[Spot])) {
    let args: Arc<[crate::Arg]> = hook.args.clone().into();
    let body = Body::Hook { hook: 0, args };
    let twice =
        |program: &Program| program.instrs().iter().flat_map(|i| [i, i]).map(|i| (at, i, body.clone())).collect();
    with_plan(object, hook, twice, each);
}

/// A place, its instruction, and what is inserted there.
pub type Planned = (Where, InstrId, Body);

/// The same with what `places` gives, in order.
pub fn with_plan(
    object: &CodeObject,
    hook: &Hook,
    places: impl Fn(&Program) -> Vec<Planned>,
    mut each: impl FnMut(&Component, &[Spot]),
) {
    let program = Program::lift(object).unwrap();
    let machine = Machine::of(program.mode()).unwrap();
    let mut plan = plan(&program, hook);
    let places = places(&program);
    let insertion =
        |(at, i, body): &Planned| Insertion { address: program.vaddr(*i), at: *at, body: body.clone(), order: 0 };
    plan.insertions = places.iter().map(insertion).collect();
    let mut templates = [Prepared::new(&hook.template)];
    templates[0].called = hook.called;
    let is_hook = |(.., body): &Planned| matches!(body, Body::Hook { .. });
    let template_of: Vec<Option<u32>> = places.iter().map(|place| is_hook(place).then_some(0)).collect();
    let symbols: HashMap<String, Place> =
        [("tool.total".to_owned(), Place::Variable { index: 0, offset: 0 })].into_iter().collect();
    let selection = Selection::of(object, &program, &plan);
    let given = Given {
        program: &program,
        plan: &plan,
        machine: &machine,
        templates: &templates,
        template_of: &template_of,
        symbols: &symbols,
        selection: &selection,
        version: object.version().into(),
        replays: object.xnack().required() != Some(false) && machine.replays(),
    };
    let base = Base { object, given, endings: Endings::default() };
    let spot = |(n, (at, instr, _)): (usize, &Planned)| Spot { instr: *instr, at: *at, order: 0, insertion: n as u32 };
    let spots: Vec<Spot> = places.iter().enumerate().map(spot).collect();
    let by_root = ByRoot::of(&base, &spots);
    for component in by_root.components().unwrap() {
        each(&component, &spots);
        if component.has_no_scratch_yet {
            each(&by_root.floating(&component).unwrap(), &spots);
        }
    }
}

/// The plan with the hook in front of each instruction.
pub fn plan(program: &Program, hook: &Hook) -> Plan {
    let args: Arc<[crate::Arg]> = hook.args.clone().into();
    let insertion = |i| Insertion {
        address: program.vaddr(i),
        at: Where::Before,
        body: Body::Hook { hook: 0, args: args.clone() },
        order: 0,
    };
    Plan {
        hooks: vec![Arc::new(hook.template.clone())],
        variables: vec![Variable { name: "tool.total".into(), size: 8, align: 8, init: vec![] }],
        slots: vec![Slot::counter("tool.total", "tool.total", 0)],
        insertions: program.instrs().iter().flat_map(|i| [insertion(i), insertion(i)]).collect(),
        check: Checking::Everything,
        bodies: crate::plan::Bodies::InPlace,
        ..Plan::default()
    }
}

/// Splices the hook, twice at each, in front of those instructions of an object whose numbers are wanted, and hands every
/// place to `each`. Gives the rejections.
pub fn for_each(
    object: &CodeObject,
    hook: &Hook,
    wanted: impl Fn(usize) -> bool,
    mut each: impl FnMut(&Component, Spliced),
) -> Vec<Rejection> {
    let mut rejections = Vec::new();
    with_env(object, hook, |component, _| {
        let env = component;
        let program = env.program;
        for &function in &component.functions {
            let (liveness, pending) = (Liveness::of(program, function), PendingLoads::of(program, function));
            for block in program.function(function).blocks.iter() {
                let (points, loads) = (liveness.points(block), pending.points(block));
                for (n, i) in program.block(block).instrs.iter().enumerate().filter(|(_, i)| wanted(i.0 as usize)) {
                    let inst = *program.inst(i);
                    let mut spliced = Spliced {
                        insts: Vec::new(),
                        spans: Vec::new(),
                        literals: Vec::new(),
                        made: Vec::new(),
                        inst,
                        address: program.vaddr(i),
                        live: *points.get(n).unwrap().before,
                        loads: (*loads[n]).clone(),
                        msb: inst.msb().unwrap_or_default(),
                        splice: Splice::default(),
                        last: false,
                    };
                    let insertions = [i.0 * 2, i.0 * 2 + 1].map(HookId::Insertion);
                    place(env, &mut spliced, &insertions, &mut rejections);
                    if !spliced.made.is_empty() {
                        each(env, spliced);
                    }
                }
            }
        }
    });
    rejections
}

/// The copy of each function with the hook in front of each instruction, as one chunk.
pub fn copies(object: &CodeObject, hook: &Hook, mut each: impl FnMut(&Component, &Copied)) {
    with_env(object, hook, |component, spots| {
        let env = component;
        let count = env.program.functions().len();
        for &function in &component.functions {
            let map = ChunkMap { of_function: vec![Some(ChunkId(0)); count] };
            let vaddr = env.program.function(function).vaddr;
            let entry = Some(KernelEntry { vaddr, preloads: false });
            let (chunk, checked) = (ChunkId(0), Checked::All);
            let task =
                Task { env: &env.env, looked: &env.looked, map: &map, func: function, chunk, kernel: entry, checked };
            let mut copied = copy::copy(&task, spots, &mut Renamed::default()).unwrap();
            let front = prologue::front(&task, &[], &copied.starts, None).unwrap();
            prologue::join(&task, front, &mut copied).unwrap();
            each(env, &copied);
        }
    });
}

/// The hooks that end what the waves of an environment carry, in front of an instruction that ends one.
pub fn ending(env: &Component, inst: Inst, msb: VgprMsb, loads: &InFlight) -> Spliced {
    let mut spliced = Spliced {
        insts: Vec::new(),
        spans: Vec::new(),
        literals: Vec::new(),
        made: Vec::new(),
        inst,
        address: 0,
        live: Live::NONE,
        loads: loads.clone(),
        msb,
        splice: Splice::default(),
        last: true,
    };
    let hooks: Vec<HookId> = (0..env.carried.slots.endings.len() as u32).map(HookId::Ending).collect();
    let mut rejections = Vec::new();
    place(env, &mut spliced, &hooks, &mut rejections);
    assert!(rejections.is_empty(), "{:?}", rejections[0]);
    spliced
}

fn place(env: &Component, spliced: &mut Spliced, hooks: &[HookId], rejections: &mut Vec<Rejection>) {
    let nothing = RegSet::EMPTY;
    let mut splice = Splice::default();
    let site = spliced.site(&nothing);
    let mut demands = Vec::new();
    for &hook in hooks {
        match Demand::of(env, &site, &spliced.inst, hook, &[]) {
            Ok(demand) => demands.push(demand),
            Err(reason) => rejections.push(reason),
        }
    }
    let allocation = allocate(env, &site, &demands);
    rejections.extend(allocation.rejected.iter().map(|(_, reason)| reason.clone()));
    let mut seam = Seam::new(env.machine.mode, env.carried.unread);
    emit(env, &site, &demands, &allocation, &mut Renamed::default(), &mut seam, &mut splice).unwrap();
    let made = allocation.hooks.iter().map(|h| demands[h.demand].id).collect();
    let (insts, spans, literals) = (splice.insts.clone(), splice.spans.clone(), splice.literals.clone());
    (spliced.made, spliced.insts, spliced.spans, spliced.literals) = (made, insts, spans, literals);
    spliced.splice = splice;
}
