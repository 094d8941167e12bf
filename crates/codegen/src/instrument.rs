//! From an object and a plan to an instrumented object.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use luthier_isa::{Reg, RegRange, RegSet, Target};
use luthier_lifter::{FuncId, FunctionKind, GapKind, Liveness, Program};
use luthier_loader::{CodeObject, Kernel, OriginMap};
use rayon::prelude::*;

use crate::check::Violation;
use crate::place::chunk::{Chunk, ChunkId, Place};
use crate::place::copy::{self, ChunkMap, Copied, KernelEntry, Refusal, Spot};
use crate::place::env::Env;
use crate::place::layout::Layout;
use crate::place::ops::Ops;
use crate::place::patch::{self, Original, Patch};
use crate::place::point::Highest;
use crate::place::pool::{File, Free};
use crate::place::prepared::Prepared;
use crate::place::resources;
use crate::plan::{Instrumented, Plan, Rejected, Report};
use crate::write::{self, Additions, CodeSymbol, ORIGIN_SECTION, PAGE, Variables};
use crate::{ArgValue, CodegenError, Template};

/// A call-graph component with insertions.
struct Component<'a> {
    functions: Vec<FuncId>,
    kernels: Vec<&'a Kernel>,
    used: RegSet,
    env: Env<'a>,
    highest: Highest,
    /// Why nothing is done to it after all.
    refused: Option<String>,
}

/// Inserts the plan's hooks. What cannot be inserted is in the report with the reason; everything else is exact.
pub fn instrument(object: &CodeObject, plan: &Plan) -> Result<Instrumented, CodegenError> {
    if object.section(ORIGIN_SECTION).is_some() {
        return Err(CodegenError::AlreadyInstrumented { section: ORIGIN_SECTION });
    }
    let program = Program::lift(object)?;
    // More can be lifted than there are rules for placing code.
    if program.target() != Target::Gfx90a {
        return Err(CodegenError::Target { processor: object.target().processor.clone() });
    }
    let ops = Ops::of(program.target())?;
    let variables = Variables::of(object, plan)?;
    let (templates, template_of) = prepare(plan);
    let symbols = symbols(object, plan);
    let mut report = Report::default();
    let spots = spots(&program, plan, &mut report);

    let base = Base {
        object,
        program: &program,
        plan,
        ops,
        templates: &templates,
        template_of: &template_of,
        symbols: &symbols,
    };
    let mut components = components(&base, &spots);
    let (map, copied_functions) = number(&program, &components);
    let mut copies = copy_all(&components, &copied_functions, &map, &spots, plan.check);
    settle(&mut components, &copied_functions, &mut copies)?;

    let text_vaddr = write::end_of_segments(object);
    let (chunks, layout, patches) = loop {
        let chunks: Vec<Chunk> =
            copies.iter().map(|c| c.as_ref().map(|c| c.chunk.clone()).unwrap_or_default()).collect();
        let layout = Layout::new(&chunks, text_vaddr)?;
        match redirect(&base, &mut components, &copied_functions, &copies, &layout, &chunks)? {
            Ok(patches) => break (chunks, layout, patches),
            Err((component, reason)) => refuse(&mut components, component, reason, &copied_functions, &mut copies),
        }
    };

    let data_vaddr = layout.end().next_multiple_of(PAGE);
    let placed = variables.place(data_vaddr);
    let addresses: Vec<u64> = placed.iter().map(|v| v.vaddr).collect();
    let text = layout.emit(&chunks, &addresses);
    let origin = origins(&chunks, &layout, text_vaddr, &patches)?;
    let mut new = Additions {
        text_vaddr,
        data_vaddr,
        data: variables.filled(),
        bss_size: variables.zero_size(),
        variables: placed,
        code_symbols: code_symbols(&copies, &layout),
        patches: patches.into_iter().map(|p| (p.vaddr, p.bytes)).collect(),
        metadata: None,
        origin,
        text,
    };
    describe(&base, &components, &copied_functions, &copies, &layout, &chunks, &mut new, &mut report);
    let bytes = write::write(object, &new)?;
    let violations = finish(&components, &spots, copies, &mut report);
    if !violations.is_empty() {
        return Err(CodegenError::Check(violations));
    }
    Ok(Instrumented { bytes, report })
}

/// What everything starts from.
struct Base<'a> {
    object: &'a CodeObject,
    program: &'a Program,
    plan: &'a Plan,
    ops: Ops,
    templates: &'a [Prepared],
    template_of: &'a [u32],
    symbols: &'a HashMap<String, Place>,
}

/// Each template of the plan once, and for each insertion the index of its own.
fn prepare(plan: &Plan) -> (Vec<Prepared>, Vec<u32>) {
    let mut index: HashMap<*const Template, u32> = HashMap::new();
    let mut templates = Vec::new();
    let template_of = plan.insertions.iter().map(|insertion| {
        *index.entry(Arc::as_ptr(&insertion.template)).or_insert_with(|| {
            templates.push(Prepared::new(&insertion.template));
            templates.len() as u32 - 1
        })
    });
    let template_of = template_of.collect();
    (templates, template_of)
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
        match program.instr_at(address) {
            Some(instr) => {
                spots.push(Spot { instr, when: insertion.when, order: insertion.order, insertion: i as u32 })
            }
            None => {
                let reason = format!("no instruction starts at {address:#x}");
                report.rejected.push(Rejected { address, reason });
            }
        }
    }
    spots.par_sort_unstable();
    spots
}

/// What the insertions of one component ask for.
#[derive(Default)]
struct Wishes {
    counters: Vec<usize>,
    /// Application registers that hooks read or write.
    registers: RegSet,
}

/// The components that have insertions, each with its environment.
fn components<'a>(base: &Base<'a>, spots: &[Spot]) -> Vec<Component<'a>> {
    let program = base.program;
    let mut wishes: BTreeMap<FuncId, Wishes> = BTreeMap::new();
    let mut func: Option<FuncId> = None;
    for spot in spots {
        let inside = func.filter(|f| program.function_instrs(*f).contains(spot.instr));
        let f = inside.unwrap_or_else(|| program.func_of(spot.instr));
        func = Some(f);
        let root = program.component(f).first().copied().unwrap_or(f);
        let wish = wishes.entry(root).or_default();
        for arg in &base.plan.insertions[spot.insertion as usize].args {
            match arg {
                ArgValue::Counter(c) if !wish.counters.contains(c) => wish.counters.push(*c),
                ArgValue::Reg(range) | ArgValue::RegInOut(range) => wish.registers.insert_range(*range),
                _ => {}
            }
        }
    }
    // Several descriptors may name the same code.
    let mut kernels_at: HashMap<u64, Vec<&Kernel>> = HashMap::new();
    base.object.kernels().iter().for_each(|k| kernels_at.entry(k.entry).or_default().push(k));
    let of_root = |(root, wish): (FuncId, Wishes)| {
        let functions = program.component(root).to_vec();
        let kernels: Vec<&Kernel> =
            functions.iter().filter_map(|f| kernels_at.get(&program.function(*f).vaddr)).flatten().copied().collect();
        let used = program.used_registers(root);
        component(base, functions, kernels, used, &wish)
    };
    wishes.into_par_iter().map(of_root).collect()
}

fn component<'a>(
    base: &Base<'a>,
    functions: Vec<FuncId>,
    kernels: Vec<&'a Kernel>,
    used: RegSet,
    wish: &Wishes,
) -> Component<'a> {
    let program = base.program;
    let instrs = functions.iter().flat_map(|f| program.function_instrs(*f).iter());
    let insts = instrs.map(|i| program.inst(i));
    let sets_mode = insts.clone().any(|i| i.info().base.starts_with("s_setreg"));
    let mut touched = used;
    // Registers that hooks look at hold something, whether or not the application does anything with them.
    touched.union_with(&wish.registers);
    let all: RegSet = (0..Reg::COUNT).filter_map(Reg::from_index).collect();
    let mut never_used = all;
    never_used.subtract(&touched);
    let mut limits = resources::limits(&kernels, &used);
    if kernels.is_empty() {
        // Functions that no kernel of this object calls: whoever does has its own counts.
        let counts = luthier_lifter::RegisterCounts::of(&used);
        (limits.sgprs, limits.vgprs, limits.agprs) = (counts.sgprs, counts.vgprs, counts.agprs);
    }
    let mut reserved = RegSet::EMPTY;
    let mut counters = vec![None; base.plan.counters.len()];
    let mut no_counter = None;
    let mut highest = Highest::default();
    let mut free = Free::outside(&touched, 0, limits.sgprs);
    let mut counter_lanes = vec![None; base.plan.counters.len()];
    // A VGPR for those that get no pair. The first three are what counters are flushed through.
    let mut spare = Free::outside(&touched, File::Vgpr.first_unit(), limits.vgprs);
    (0..3).for_each(|n| spare.remove(n));
    let mut lanes: Option<(Reg, u8)> = None;
    for &c in &wish.counters {
        let Some(slot) = counters.get_mut(c) else { continue };
        if kernels.is_empty() {
            let reason = "no kernel of the object calls this function, so that nothing starts and ends its counter";
            no_counter = Some(reason.to_owned());
            continue;
        }
        if let Some(n) = free.find(2, 2, 0) {
            free.remove(n);
            free.remove(n + 1);
            let pair = RegRange::new(Reg::sgpr(n), 2);
            reserved.insert_range(pair);
            highest.note(pair);
            *slot = Some(pair.first);
            continue;
        }
        let next = lanes.filter(|(_, lane)| *lane < 64).or_else(|| {
            let n = spare.find(1, 1, 0)?;
            spare.remove(n);
            let vgpr = RegRange::new(Reg::vgpr(n), 1);
            reserved.insert_range(vgpr);
            highest.note(vgpr);
            Some((vgpr.first, 0))
        });
        match next {
            Some((vgpr, lane)) => {
                counter_lanes[c] = Some((vgpr, lane));
                lanes = Some((vgpr, lane + 2));
            }
            None => {
                no_counter = Some(format!(
                    "{} counters need an SGPR pair or two lanes of a VGPR each, and the application uses all of both",
                    wish.counters.len()
                ));
            }
        }
    }
    let default_fp_mode = !sets_mode && kernels.iter().all(|k| resources::has_default_fp_mode(&k.descriptor));
    let env = Env {
        program,
        plan: base.plan,
        ops: base.ops,
        templates: base.templates,
        template_of: base.template_of,
        symbols: base.symbols,
        counters,
        counter_lanes,
        no_counter,
        reserved,
        never_used,
        limits,
        default_fp_mode,
        replays: base.object.xnack().required() != Some(false),
    };
    Component { functions, kernels, used, env, highest, refused: None }
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
        let preloads = kernels().any(|k| k.descriptor.kernarg_preload_length() > 0);
        let entry = kernels().next().map(|k| KernelEntry { vaddr: k.entry, preloads });
        copy::copy(env, map, *f, ChunkId(n as u32), &spots[from..to], entry, check)
    };
    functions.par_iter().enumerate().map(one).collect()
}

/// A component is copied as a whole or not at all.
fn settle(
    components: &mut [Component],
    functions: &Numbered,
    copies: &mut [Result<Copied, Refusal>],
) -> Result<(), CodegenError> {
    for n in 0..copies.len() {
        let (c, f) = functions[n];
        let Err(refusal) = &copies[n] else { continue };
        let name = &components[c].env.program.function(f).name;
        let reason = match refusal {
            Refusal::Reason(reason) => format!("{name} cannot be copied: {reason}"),
            Refusal::Encode(e) => format!("{name} cannot be copied: {e}"),
        };
        if components[c].refused.is_none() {
            refuse(components, c, reason, functions, copies);
        }
    }
    for (n, copied) in copies.iter().enumerate() {
        if let Ok(copied) = copied {
            let component = &mut components[functions[n].0];
            component.highest.merge(&copied.highest);
        }
    }
    Ok(())
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

/// Branches from the original device functions to their copies. Fails with a component that cannot be redirected.
#[allow(clippy::type_complexity)]
fn redirect(
    base: &Base,
    components: &mut [Component],
    functions: &Numbered,
    copies: &[Result<Copied, Refusal>],
    layout: &Layout,
    chunks: &[Chunk],
) -> Result<Result<Vec<Patch>, (usize, String)>, CodegenError> {
    let program = base.program;
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
        let entry = program.block(function.entry).instrs.first.0 - program.function_instrs(f).first.0;
        let place = Place::Label { chunk: ChunkId(n as u32), label: entry };
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
        Free::outside(&taken, 0, env.limits.sgprs).find(2, 2, 0).map(Reg::sgpr)
    };
    match patch::patches(&base.ops, &originals, via)? {
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

fn code_symbols(copies: &[Result<Copied, Refusal>], layout: &Layout) -> Vec<CodeSymbol> {
    let copied = copies.iter().enumerate().filter_map(|(n, c)| c.as_ref().ok().map(|c| (n, c)));
    copied
        .map(|(n, c)| {
            let vaddr = layout.address(n, 0);
            let size = layout.address(n, c.chunk.here()) - vaddr;
            CodeSymbol { name: c.chunk.name.clone(), vaddr, size }
        })
        .collect()
}

/// Kernel descriptors and the metadata note.
#[allow(clippy::too_many_arguments)]
fn describe(
    base: &Base,
    components: &[Component],
    functions: &Numbered,
    copies: &[Result<Copied, Refusal>],
    layout: &Layout,
    chunks: &[Chunk],
    new: &mut Additions,
    report: &mut Report,
) {
    let mut metadata = base.object.metadata().cloned();
    for (n, (c, f)) in functions.iter().enumerate() {
        let (component, function) = (&components[*c], base.program.function(*f));
        if copies[n].is_err() || chunks[n].words.is_empty() {
            continue;
        }
        let entry = layout.address(n, 0);
        for kernel in component.kernels.iter().filter(|k| k.entry == function.vaddr) {
            let (mut descriptor, registers) = resources::raise(kernel, &component.used, &component.highest);
            descriptor.set_kernel_code_entry_byte_offset(entry.wrapping_sub(kernel.descriptor_vaddr) as i64);
            new.patches.push((kernel.descriptor_vaddr, descriptor.to_bytes().to_vec()));
            if let Some(noted) = metadata.as_mut().and_then(|m| m.kernel_mut(&kernel.name)) {
                let raise = |field: &mut Option<u64>, by: u32, from: u32| {
                    if let (Some(n), true) = (field.as_mut(), by > from) {
                        *n = (*n).max(u64::from(by));
                    }
                };
                raise(&mut noted.sgpr_count, registers.sgprs_after, registers.sgprs_before);
                raise(&mut noted.vgpr_count, registers.vgprs_after, registers.vgprs_before);
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
                report.rejected.push(Rejected { address, reason: reason.clone() });
            }
        }
    }
    report.rejected.sort_by_key(|r| r.address);
    violations
}
