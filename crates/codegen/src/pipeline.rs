//! From an object and a plan to an instrumented object: lift, compile, components, copies, layout, write.

use std::collections::HashMap;
use std::sync::Arc;

use luthier_isa::{Decoder, Reg, RegRange, RegSet};
use luthier_lifter::{FuncId, FunctionKind, GapKind, Liveness, Program};
use luthier_loader::{CodeObject, HookMap, HookVariable, OriginMap};
use rayon::prelude::*;

use crate::CodegenError;
use crate::check::Violation;
use crate::component::Component;
use crate::copy::redirect::{self, Original, Patch};
use crate::copy::{self, ChunkMap, Copied, KernelEntry, Refusal, Spot, scratch_base};
use crate::layout::chunk::{Chunk, ChunkId, Place};
use crate::layout::{Filler, Layout};
use crate::machine::{File, Machine};
use crate::plan::{Arg, Body, Instrumented, Plan, Rejected, Rejection, Report, Where};
use crate::splice::pool::Free;
use crate::template::prepared::Prepared;
use crate::template::{ArgSpec, Template};
use crate::write::{self, Additions, CodeSymbol, ORIGIN_SECTION, PAGE, PlacedVariable, Variables};

/// Inserts the plan's hooks. What cannot be inserted is in the report with the reason; everything else is exact.
pub fn instrument(object: &CodeObject, plan: &Plan) -> Result<Instrumented, CodegenError> {
    if object.section(ORIGIN_SECTION).is_some() {
        return Err(CodegenError::AlreadyInstrumented { section: ORIGIN_SECTION });
    }
    let program = Program::lift(object)?;
    let machine = Machine::of(program.mode())?;
    let filler = Filler::of(&machine.ops)?;
    let variables = Variables::of(object, plan)?;
    let symbols = symbols(object, plan);
    let mut report = Report::default();
    let mut spots = spots(&program, plan, &mut report);
    let Compiled { templates, template_of } = compile(&program, plan, &mut spots, &mut report)?;

    let base = Base {
        object,
        program: &program,
        plan,
        machine: &machine,
        templates: &templates,
        template_of: &template_of,
        symbols: &symbols,
    };
    let mut components = Component::all(&base, &spots);
    let (map, copied_functions) = number(&program, &components);
    let mut copies = copy_all(&components, &copied_functions, &map, &spots, plan.check);
    settle(&mut components, &copied_functions, &mut copies);
    find_scratch(&mut components, &copied_functions, &mut copies, plan.check);

    let text_vaddr = write::end_of_segments(object);
    let (chunks, layout, patches) = loop {
        let chunks: Vec<Chunk> =
            copies.iter_mut().map(|c| c.as_mut().map(|c| std::mem::take(&mut c.chunk)).unwrap_or_default()).collect();
        let layout = Layout::new(&chunks, text_vaddr, filler)?;
        let done = redirect(&base, &mut components, &copied_functions, &copies, &layout, &chunks)?;
        match done {
            Ok(patches) => break (chunks, layout, patches),
            Err((component, reason)) => {
                for (copy, chunk) in copies.iter_mut().zip(chunks) {
                    if let Ok(copied) = copy {
                        copied.chunk = chunk;
                    }
                }
                refuse(&mut components, component, reason, &copied_functions, &mut copies);
            }
        }
    };

    let data_vaddr = layout.end().next_multiple_of(PAGE);
    // Beside the original there is no data.
    let own = plan.beside.is_none();
    let placed = if own { variables.place(data_vaddr) } else { Vec::new() };
    let addresses: Vec<u64> = placed.iter().map(|v| v.vaddr).collect();
    let text = layout.emit(&chunks, &addresses);
    let origin = origins(&chunks, &layout, text_vaddr, &patches)?;
    let hooks = hooks(&templates, &chunks, &layout, &placed);
    let decoder = Decoder::new(program.mode());
    let debug = write::lines::of_copies(object, &decoder, &chunks, &layout, (text_vaddr, &text)).unwrap_or_else(|e| {
        report.notes.push(format!("the copies have no source lines: {e}"));
        Vec::new()
    });
    let mut new = Additions {
        text_vaddr,
        data_vaddr,
        data: if own { variables.filled() } else { Vec::new() },
        bss_size: if own { variables.zero_size() } else { 0 },
        variables: placed,
        code_symbols: code_symbols(&copies, &chunks, &layout),
        patches: patches.into_iter().map(|p| (p.vaddr, p.bytes)).collect(),
        metadata: None,
        origin,
        hooks,
        debug,
        text,
    };
    describe(&base, &components, &copied_functions, &copies, &layout, &mut new, &mut report);
    let bytes = write::write(object, &new)?;
    let violations = finish(&components, &spots, copies, &mut report);
    if !violations.is_empty() {
        return Err(CodegenError::Check(violations));
    }
    Ok(Instrumented { bytes, report })
}

/// What everything starts from.
pub struct Base<'a> {
    pub object: &'a CodeObject,
    pub program: &'a Program,
    pub plan: &'a Plan,
    pub machine: &'a Machine,
    pub templates: &'a [Prepared],
    pub template_of: &'a [Option<u32>],
    pub symbols: &'a HashMap<String, Place>,
}

/// The plan's hooks in the shapes in which they are used.
struct Compiled {
    /// Each once.
    templates: Vec<Prepared>,
    /// For each insertion, its template.
    template_of: Vec<Option<u32>>,
}

/// Compiles each hook for every shape of its arguments, on all cores. Insertions whose arguments have no shape are
/// rejected, and leave `spots`.
fn compile(
    program: &Program,
    plan: &Plan,
    spots: &mut Vec<Spot>,
    report: &mut Report,
) -> Result<Compiled, CodegenError> {
    let mut shapes: HashMap<(usize, Vec<ArgSpec>), u32> = HashMap::new();
    let mut wanted: Vec<(usize, Vec<ArgSpec>)> = Vec::new();
    // Many insertions share their arguments; the shape of most depends on nothing else.
    let mut known: HashMap<(usize, *const Arg), u32> = HashMap::new();
    let mut template_of = vec![None; plan.insertions.len()];
    let mut refused = Vec::new();
    for spot in spots.iter() {
        let Body::Hook { hook, args } = &plan.insertions[spot.insertion as usize].body else { continue };
        let plain = !args.iter().any(Arg::depends_on_place);
        let key = (*hook, args.as_ptr());
        if let Some(found) = known.get(&key).filter(|_| plain && !args.is_empty()) {
            template_of[spot.insertion as usize] = Some(*found);
            continue;
        }
        let inst = program.inst(spot.instr);
        let specs: Result<Vec<ArgSpec>, Rejection> =
            args.iter().enumerate().map(|(n, arg)| arg.spec(inst, &args[..n])).collect();
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
    for (insertion, reason) in refused {
        report.rejected.push(Rejected { address: plan.insertions[insertion as usize].address, reason });
        spots.retain(|s| s.insertion != insertion);
    }
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
    Ok(Compiled { templates, template_of })
}

/// What templates may refer to by name: the plan's variables, then the object's own symbols.
fn symbols(object: &CodeObject, plan: &Plan) -> HashMap<String, Place> {
    let defined = object.symbols().iter().filter(|s| !s.is_undefined() && !s.is_absolute());
    let mut symbols: HashMap<String, Place> = defined.map(|s| (s.name.clone(), Place::Original(s.value))).collect();
    let variables = plan.variables.iter().enumerate();
    symbols.extend(variables.map(|(i, v)| (v.name.clone(), Place::Variable { index: i as u32, offset: 0 })));
    symbols
}

/// The plan's insertions with their instructions, sorted.
fn spots(program: &Program, plan: &Plan, report: &mut Report) -> Vec<Spot> {
    let mut spots = Vec::with_capacity(plan.insertions.len());
    for (i, insertion) in plan.insertions.iter().enumerate() {
        let address = insertion.address;
        let mut reject = |reason| report.rejected.push(Rejected { address, reason });
        let Some(instr) = program.instr_at(address) else {
            reject(Rejection::NoInstruction { address });
            continue;
        };
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

/// Why an instruction of the plan's own cannot be inserted as it is.
fn refused_raw(inst: &luthier_isa::Inst) -> Option<Rejection> {
    use luthier_isa::Flags;
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

/// A chunk for every function of every component: its component, and the function.
type Numbered = Vec<(usize, FuncId)>;

fn number(program: &Program, components: &[Component]) -> (ChunkMap, Numbered) {
    let mut of_function = vec![None; program.functions().len()];
    let mut all = Vec::new();
    for (c, component) in components.iter().enumerate() {
        for &f in &component.functions {
            of_function[f.index()] = Some(ChunkId(all.len() as u32));
            all.push((c, f));
        }
    }
    (ChunkMap { of_function }, all)
}

fn copy_all(
    components: &[Component],
    functions: &Numbered,
    map: &ChunkMap,
    spots: &[Spot],
    check: bool,
) -> Vec<Result<Copied, Refusal>> {
    let one = |(n, (c, f)): (usize, &(usize, FuncId))| {
        let component = &components[*c];
        let env = &component.env;
        let instrs = env.program.function_instrs(*f);
        let from = spots.partition_point(|s| s.instr < instrs.first);
        let to = spots.partition_point(|s| s.instr < instrs.end);
        let function = env.program.function(*f);
        let kernels = || component.kernels.iter().filter(|k| k.entry == function.vaddr);
        let preloads = kernels().any(|k| env.machine.preloads(&k.descriptor));
        let entry = kernels().next().map(|k| KernelEntry { vaddr: k.entry, preloads });
        copy::copy(env, map, *f, ChunkId(n as u32), &spots[from..to], entry, check)
    };
    functions.par_iter().enumerate().map(one).collect()
}

/// A component is copied as a whole or not at all.
fn settle(components: &mut [Component], functions: &Numbered, copies: &mut [Result<Copied, Refusal>]) {
    for n in 0..copies.len() {
        let (c, f) = functions[n];
        let Err(refusal) = &copies[n] else { continue };
        let name = &components[c].env.program.function(f).name;
        let reason = format!("{name} cannot be copied: {refusal}");
        if components[c].refused.is_none() {
            refuse(components, c, reason, functions, copies);
        }
    }
    for (n, copied) in copies.iter().enumerate() {
        if let Ok(copied) = copied {
            let component = &mut components[functions[n].0];
            component.highest.merge(&copied.highest);
            component.scratch = component.scratch.max(copied.scratch);
        }
    }
    for (c, component) in components.iter().enumerate() {
        if let Some(reason) = &component.refused {
            for (n, _) in functions.iter().enumerate().filter(|(_, (of, _))| *of == c) {
                copies[n] = Err(Refusal::Reason(reason.clone()));
            }
        }
    }
}

/// Kernels whose hooks were given scratch find it first of all.
fn find_scratch(
    components: &mut [Component],
    functions: &Numbered,
    copies: &mut [Result<Copied, Refusal>],
    check: bool,
) {
    for n in 0..copies.len() {
        let (c, f) = functions[n];
        let component = &components[c];
        let vaddr = component.env.program.function(f).vaddr;
        let Some(kernel) = component.kernels.iter().find(|k| k.entry == vaddr) else { continue };
        let (Some(inputs), Ok(copied)) = (component.sets_scratch_base(kernel), &mut copies[n]) else { continue };
        let done = scratch_base::prepend(&component.env, kernel, ChunkId(n as u32), &inputs, copied, check);
        if let Err(refusal) = done {
            refuse(components, c, refusal.to_string(), functions, copies);
        }
    }
}

fn refuse(
    components: &mut [Component],
    c: usize,
    reason: String,
    functions: &Numbered,
    copies: &mut [Result<Copied, Refusal>],
) {
    for (n, (component, _)) in functions.iter().enumerate() {
        if *component == c {
            copies[n] = Err(Refusal::Reason(reason.clone()));
        }
    }
    components[c].refused = Some(reason);
}

/// Why a component could not be redirected.
type Unredirected = (usize, String);

/// Branches from the original device functions to their copies. Fails with a component that cannot be redirected.
fn redirect(
    base: &Base,
    components: &mut [Component],
    functions: &Numbered,
    copies: &[Result<Copied, Refusal>],
    layout: &Layout,
    chunks: &[Chunk],
) -> Result<Result<Vec<Patch>, Unredirected>, CodegenError> {
    let program = base.program;
    if base.plan.beside.is_some() {
        return Ok(Ok(Vec::new()));
    }
    let mut order: Vec<usize> = (0..functions.len()).filter(|n| copies[*n].is_ok()).collect();
    order.sort_by_key(|n| program.function(functions[*n].1).vaddr);
    let mut originals = Vec::with_capacity(order.len());
    for &n in &order {
        let (_, f) = functions[n];
        let function = program.function(f);
        let kernel = function.kind == FunctionKind::Kernel;
        let end = function.vaddr + function.size;
        let gap = program.gaps().binary_search_by_key(&end, |g| g.vaddr).ok().map(|i| program.gaps()[i]);
        let padding = gap.filter(|g| g.kind == GapKind::Padding);
        let label = copies[n].as_ref().map_or(0, |c| c.entry);
        let place = Place::Label { chunk: ChunkId(n as u32), label };
        originals.push(Original {
            name: function.name.clone(),
            vaddr: function.vaddr,
            size: function.size + padding.map_or(0, |g| g.size),
            copy: (!kernel).then(|| layout.place(chunks, place, &[])),
            entered_inside: function.entered_inside.iter().copied().find(|v| *v > function.vaddr),
            scc_live: !kernel && Liveness::of(program, f).live_in(function.entry).contains(Reg::SCC),
        });
    }
    // Only now is it known whether a pair is needed; one that hooks use between times will do.
    let via = |i: usize| {
        let env = &components[functions[order[i]].0].env;
        let mut taken: RegSet = (0..Reg::COUNT).filter_map(Reg::from_index).collect();
        taken.subtract(&env.never_used);
        taken.union_with(&env.reserved);
        Free::outside(&taken, File::Sgpr.first_unit(), env.limits.sgprs).find(2, 2, 0).map(Reg::sgpr)
    };
    match redirect::patches(&base.machine.ops, &originals, via)? {
        Ok(patches) => {
            for (original, reg) in patches.iter().filter_map(|p| p.via) {
                components[functions[order[original]].0].highest.note(RegRange::new(reg, 2));
            }
            Ok(Ok(patches))
        }
        Err(failure) => Ok(Err((functions[order[failure.original]].0, failure.reason))),
    }
}

fn origins(chunks: &[Chunk], layout: &Layout, start: u64, patches: &[Patch]) -> Result<Vec<u8>, CodegenError> {
    let mut builder = OriginMap::builder();
    if layout.end() > start {
        builder.range(start, layout.end());
    }
    for (c, chunk) in chunks.iter().enumerate() {
        for (word, vaddr) in &chunk.origins {
            builder.push(layout.address(c, *word), *vaddr);
        }
    }
    // What leads from an original to its copy is ours, not the application's.
    for patch in patches {
        builder.range(patch.vaddr, patch.vaddr + patch.bytes.len() as u64);
    }
    Ok(builder.finish().map_err(CodegenError::Origin)?.encode())
}

/// Where the hooks are, and the tools' variables.
fn hooks(templates: &[Prepared], chunks: &[Chunk], layout: &Layout, variables: &[PlacedVariable]) -> Vec<u8> {
    let mut map = HookMap::default();
    for template in templates {
        map.add_body(template.size(), template.rows());
    }
    let of_chunk = |(c, chunk): (usize, &Chunk)| {
        chunk.hooks.iter().map(|(word, template)| (layout.address(c, *word), *template)).collect::<Vec<_>>()
    };
    map.place(chunks.iter().enumerate().flat_map(of_chunk));
    for PlacedVariable { name, vaddr, size, .. } in variables {
        map.add_variable(HookVariable { symbol: name.clone(), vaddr: *vaddr, size: *size });
    }
    map.encode()
}

fn code_symbols(copies: &[Result<Copied, Refusal>], chunks: &[Chunk], layout: &Layout) -> Vec<CodeSymbol> {
    let copied = copies.iter().zip(chunks).enumerate().filter(|(_, (copy, _))| copy.is_ok());
    copied
        .map(|(n, (_, chunk))| {
            let vaddr = layout.address(n, 0);
            let size = layout.address(n, chunk.here()) - vaddr;
            CodeSymbol { name: chunk.name.clone(), vaddr, size }
        })
        .collect()
}

/// Kernel descriptors and the metadata note.
fn describe(
    base: &Base,
    components: &[Component],
    functions: &Numbered,
    copies: &[Result<Copied, Refusal>],
    layout: &Layout,
    new: &mut Additions,
    report: &mut Report,
) {
    let mut metadata = base.object.metadata().cloned();
    for (n, (c, f)) in functions.iter().enumerate() {
        let (component, function) = (&components[*c], base.program.function(*f));
        if copies[n].is_err() {
            continue;
        }
        let entry = layout.address(n, 0);
        for kernel in component.kernels.iter().filter(|k| k.entry == function.vaddr) {
            let (descriptor, registers) = component.describe(kernel, entry);
            new.patches.push((kernel.descriptor_vaddr, descriptor.to_bytes().to_vec()));
            if let Some(noted) = metadata.as_mut().and_then(|m| m.kernel_mut(&kernel.name)) {
                let raise = |field: &mut Option<u64>, by: u32, from: u32| {
                    if let (Some(n), true) = (field.as_mut(), by > from) {
                        *n = (*n).max(u64::from(by));
                    }
                };
                raise(&mut noted.sgpr_count, registers.sgprs_after, registers.sgprs_before);
                raise(&mut noted.vgpr_count, registers.vgprs_after, registers.vgprs_before);
                raise(&mut noted.private_segment_fixed_size, registers.scratch_after, registers.scratch_before);
            }
            report.registers.push(registers);
        }
    }
    new.metadata = metadata.filter(|m| Some(m) != base.object.metadata());
}

/// Fills the report.
fn finish(
    components: &[Component],
    spots: &[Spot],
    copies: Vec<Result<Copied, Refusal>>,
    report: &mut Report,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    for copied in copies.into_iter().flatten() {
        report.points += copied.points;
        report.inserted_instructions += copied.inserted;
        report.copied_instructions += copied.copied;
        report.rejected.extend(copied.rejected);
        violations.extend(copied.violations);
    }
    for component in components {
        let program = component.env.program;
        let Some(reason) = &component.refused else {
            let without = component.functions.iter().filter(|f| {
                let instrs = program.function_instrs(**f);
                let at = spots.partition_point(|s| s.instr < instrs.first);
                spots.get(at).is_none_or(|s| !instrs.contains(s.instr))
            });
            let names: Vec<&str> = without.map(|f| program.function(*f).name.as_str()).collect();
            if !names.is_empty() {
                report.notes.push(format!(
                    "copied without hooks of their own, since they share code with others: {}",
                    names.join(", ")
                ));
            }
            continue;
        };
        for f in &component.functions {
            let instrs = program.function_instrs(*f);
            let from = spots.partition_point(|s| s.instr < instrs.first);
            for spot in spots[from..].iter().take_while(|s| instrs.contains(s.instr)) {
                let address = component.env.plan.insertions[spot.insertion as usize].address;
                report.rejected.push(Rejected { address, reason: Rejection::Component(reason.clone()) });
            }
        }
    }
    report.rejected.sort_by_key(|r| r.address);
    violations
}
