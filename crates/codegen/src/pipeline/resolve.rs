//! The plan against the object: where each insertion stands, each hook compiled once for every shape of its arguments,
//! and what hooks may refer to by name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use luthier_isa::{Flags, Inst};
use luthier_lifter::{InstrId, Program};
use luthier_loader::CodeObject;
use rayon::prelude::*;

use crate::CodegenError;
use crate::copy::Spot;
use crate::layout::chunk::Place;
use crate::plan::selection::Selection;
use crate::plan::{Arg, Body, Plan, Rejected, Rejection, Report, Where};
use crate::template::prepared::Prepared;
use crate::template::{ArgSpec, Template};

/// The plan's hooks in the shapes in which they are used.
pub struct Compiled {
    /// Each once.
    pub templates: Vec<Prepared>,
    /// For each insertion, its template.
    pub template_of: Vec<Option<u32>>,
}

/// Compiles each hook for every shape of its arguments, on all cores. Insertions whose arguments have no shape are
/// rejected, and leave `spots`.
pub fn compile(
    program: &Program,
    plan: &Plan,
    spots: &mut Vec<Spot>,
    report: &mut Report,
) -> Result<Compiled, CodegenError> {
    let mut shapes: HashMap<(usize, Vec<ArgSpec>), u32> = HashMap::new();
    let mut wanted: Vec<(usize, Vec<ArgSpec>)> = Vec::new();
    // Many insertions share their arguments; the shape of most depends on nothing else.
    let mut known: HashMap<(usize, *const Arg), u32> = HashMap::new();
    // The latest of them: mostly the next insertion's too.
    let mut latest: Option<((usize, *const Arg), u32)> = None;
    let mut template_of = vec![None; plan.insertions.len()];
    let mut refused = Vec::new();
    for spot in spots.iter() {
        let Body::Hook { hook, args } = &plan.insertions[spot.insertion as usize].body else { continue };
        let key = (*hook, args.as_ptr());
        if let Some((_, found)) = latest.filter(|(of, _)| *of == key) {
            template_of[spot.insertion as usize] = Some(found);
            continue;
        }
        let plain = !args.iter().any(Arg::depends_on_place);
        if let Some(found) = known.get(&key).filter(|_| plain && !args.is_empty()) {
            template_of[spot.insertion as usize] = Some(*found);
            latest = Some((key, *found));
            continue;
        }
        let inst = program.inst(spot.instr);
        let specs: Result<Vec<ArgSpec>, Rejection> =
            args.iter().enumerate().map(|(n, arg)| arg.spec(inst, &args[..n], &plan.slots)).collect();
        match specs {
            Ok(specs) => {
                let index = *shapes.entry((*hook, specs.clone())).or_insert_with(|| {
                    wanted.push((*hook, specs));
                    wanted.len() as u32 - 1
                });
                template_of[spot.insertion as usize] = Some(index);
                if plain {
                    known.insert(key, index);
                }
            }
            Err(reason) => refused.push((spot.insertion, reason)),
        }
    }
    leave_out(program, plan, spots, refused, report);
    let mode = program.mode();
    let made: Vec<Arc<Template>> = wanted
        .par_iter()
        .map(|(hook, specs)| {
            let source = plan.hooks.get(*hook).ok_or(CodegenError::NoHook { index: *hook, count: plan.hooks.len() })?;
            source.template(mode, specs).map_err(|error| CodegenError::Hook { index: *hook, error })
        })
        .collect::<Result<_, CodegenError>>()?;
    // Different shapes may have made the same template.
    let mut index: HashMap<*const Template, u32> = HashMap::new();
    let mut templates = Vec::new();
    let renumbered: Vec<u32> = made
        .iter()
        .map(|template| {
            *index.entry(Arc::as_ptr(template)).or_insert_with(|| {
                templates.push(Prepared::new(template));
                templates.len() as u32 - 1
            })
        })
        .collect();
    template_of.iter_mut().flatten().for_each(|t| *t = renumbered[*t as usize]);
    let mut places = vec![0; templates.len()];
    template_of.iter().flatten().for_each(|t| places[*t as usize] += 1);
    for (number, (template, places)) in templates.iter_mut().zip(places).enumerate() {
        let functions = || functions(program, spots, &template_of, number as u32);
        template.called = plan.bodies.calls(template.insts.len(), places, functions);
    }
    Ok(Compiled { templates, template_of })
}

/// How many functions a template stands in. Spots are sorted.
fn functions(program: &Program, spots: &[Spot], template_of: &[Option<u32>], template: u32) -> usize {
    let mine = spots.iter().filter(|spot| template_of[spot.insertion as usize] == Some(template));
    let (mut count, mut last) = (0, None);
    for func in mine.map(|spot| program.func_of(spot.instr)) {
        count += usize::from(last != Some(func));
        last = Some(func);
    }
    count
}

/// Rejects insertions, and whatever else is to take the place of an instruction with one of them.
fn leave_out(
    program: &Program,
    plan: &Plan,
    spots: &mut Vec<Spot>,
    refused: Vec<(u32, Rejection)>,
    report: &mut Report,
) {
    if refused.is_empty() {
        return;
    }
    let mut reasons: HashMap<u32, Rejection> = refused.into_iter().collect();
    let stays: HashSet<InstrId> = spots
        .iter()
        .filter(|s| s.at == Where::Instead && reasons.contains_key(&s.insertion))
        .map(|s| s.instr)
        .collect();
    spots.retain(|spot| {
        let reason = reasons.remove(&spot.insertion).or_else(|| {
            let stays = spot.at == Where::Instead && stays.contains(&spot.instr);
            stays.then(|| Rejection::Stays { inst: program.inst(spot.instr).to_string() })
        });
        let Some(reason) = reason else { return true };
        let (insertion, address) = (spot.insertion, plan.insertions[spot.insertion as usize].address);
        report.rejected.push(Rejected { insertion, address, reason });
        false
    });
}

/// What templates may refer to by name: the plan's variables, then the object's own symbols.
pub fn symbols(object: &CodeObject, plan: &Plan) -> HashMap<String, Place> {
    let defined = object.symbols().iter().filter(|s| !s.is_undefined() && !s.is_absolute());
    let mut symbols: HashMap<String, Place> = defined.map(|s| (s.name.clone(), Place::Original(s.value))).collect();
    let variables = plan.variables.iter().enumerate();
    symbols.extend(variables.map(|(i, v)| (v.name.clone(), Place::Variable { index: i as u32, offset: 0 })));
    symbols
}

/// The plan's insertions with their instructions, sorted.
pub fn spots(program: &Program, plan: &Plan, report: &mut Report) -> Vec<Spot> {
    let mut spots = Vec::with_capacity(plan.insertions.len());
    // Plans mostly name one instruction after the other.
    let mut next = InstrId(0);
    for (i, insertion) in plan.insertions.iter().enumerate() {
        let address = insertion.address;
        let mut reject = |reason| report.rejected.push(Rejected { insertion: i as u32, address, reason });
        let follows = next.index() < program.instrs().len() && program.vaddr(next) == address;
        let Some(instr) = follows.then_some(next).or_else(|| program.instr_at(address)) else {
            reject(Rejection::NoInstruction { address });
            continue;
        };
        next = InstrId(instr.0 + 1);
        if insertion.at == Where::Entry && program.function(program.func_of(instr)).vaddr != address {
            reject(Rejection::NoFunction { address });
            continue;
        }
        if let Body::Raw(insts) = &insertion.body
            && let Some(reason) = insts.iter().find_map(refused_raw)
        {
            reject(reason);
            continue;
        }
        spots.push(Spot { instr, at: insertion.at, order: insertion.order, insertion: i as u32 });
    }
    spots.par_sort_unstable();
    spots
}

/// Leaves out of `spots` what would not always run.
pub fn leave_unselected(program: &Program, selection: &Selection, spots: &mut Vec<Spot>, report: &mut Report) {
    if selection.is_everything() {
        return;
    }
    spots.retain(|spot| {
        let func = program.func_of(spot.instr);
        let function = || program.function(func).name.clone();
        let reason = match (selection.is_copied(func), selection.runs_as_it_is(func)) {
            (true, false) => return true,
            (true, true) => Rejection::ThroughPointer { function: function() },
            (false, _) => Rejection::NotSelected { function: function() },
        };
        let (insertion, address) = (spot.insertion, program.vaddr(spot.instr));
        report.rejected.push(Rejected { insertion, address, reason });
        false
    });
}

/// Why an instruction of the plan's own cannot be inserted as it is.
fn refused_raw(inst: &Inst) -> Option<Rejection> {
    let flags = inst.info().flags;
    let flow = Flags::BRANCH | Flags::COND_BRANCH | Flags::CALL | Flags::INDIRECT | Flags::END;
    let what = if flags.intersects(flow) {
        "decides where control goes"
    } else if flags.contains(Flags::GETPC) {
        "reads the program counter"
    } else {
        return None;
    };
    Some(Rejection::RawInstruction { inst: inst.to_string(), what })
}
