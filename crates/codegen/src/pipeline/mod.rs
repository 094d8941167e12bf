//! From an object and a plan to an instrumented object: lift, compile, components, copies, layout, write.

mod constants;
mod copies;
mod originals;
mod outcome;
mod resolve;

use luthier_isa::Decoder;
use luthier_lifter::Program;
use luthier_loader::CodeObject;

use crate::CodegenError;
use crate::component::{Base, ByRoot, Endings};
use crate::layout::chunk::Chunk;
use crate::layout::{Filler, Layout, PAGE};
use crate::machine::Machine;
use crate::plan::selection::Selection;
use crate::plan::{Instrumented, Plan, Report};
use crate::splice::Given;
use crate::write::{self, Additions, ORIGIN_SECTION, Variables};

use constants::Constants;
use copies::{Copies, number, refuse, settle};
use originals::{Unredirected, redirect};
use outcome::{code_symbols, describe, finish, hooks, origins};
use resolve::{Compiled, compile, leave_unselected, spots, symbols};

/// Inserts the plan's hooks. What cannot be inserted is in the report with the reason; everything else is exact.
pub fn instrument(object: &CodeObject, plan: &Plan) -> Result<Instrumented, CodegenError> {
    if object.section(ORIGIN_SECTION).is_some() {
        return Err(CodegenError::AlreadyInstrumented { section: ORIGIN_SECTION });
    }
    instrument_lifted(object, &Program::lift(object)?, plan)
}

/// The same with the object's code as it was lifted already.
pub fn instrument_lifted(object: &CodeObject, program: &Program, plan: &Plan) -> Result<Instrumented, CodegenError> {
    if object.section(ORIGIN_SECTION).is_some() {
        return Err(CodegenError::AlreadyInstrumented { section: ORIGIN_SECTION });
    }
    let machine = Machine::of(program.mode())?;
    let filler = Filler::of(&machine.ops)?;
    let variables = Variables::of(object, plan)?;
    for slot in &plan.slots {
        if let Some(reason) = slot.refused(&plan.variables) {
            return Err(CodegenError::Slot { name: slot.name.clone(), reason });
        }
    }
    let mut symbols = symbols(object, plan);
    let mut report = Report::default();
    let mut spots = spots(program, plan, &mut report);
    let selection = Selection::of(object, program, plan);
    leave_unselected(program, &selection, &mut spots, &mut report);
    let Compiled { templates, template_of } = compile(program, plan, &mut spots, &mut report)?;
    let constants = Constants::of(&templates);
    symbols.extend(constants.places);

    let given = Given {
        program,
        plan,
        machine: &machine,
        templates: &templates,
        template_of: &template_of,
        symbols: &symbols,
        selection: &selection,
        version: object.version().into(),
        replays: object.xnack().required() != Some(false) && machine.replays(),
    };
    let base = Base { object, given, endings: Endings::default() };
    let by_root = ByRoot::of(&base, &spots);
    let mut components = by_root.components()?;
    let (map, copied_functions) = number(program, &components);
    let copied: usize = copied_functions.iter().map(|(_, f)| program.function_instrs(*f).len()).sum();
    let checked = plan.check.of(plan.insertions.len(), copied);
    let all = Copies { components: &components, functions: &copied_functions, map: &map, spots: &spots, checked };
    let mut made = all.make();
    let wanting = made.wanting(&components, &copied_functions);
    for (component, _) in components.iter_mut().zip(&wanting).filter(|(_, wants)| **wants) {
        *component = by_root.floating(component)?;
    }
    let all = Copies { components: &components, functions: &copied_functions, map: &map, spots: &spots, checked };
    if wanting.contains(&true) {
        all.make_again(&mut made, &wanting);
    }
    let mut copies = all.join(made);
    settle(&mut components, &copied_functions, &mut copies);

    // Beside the original there is no data, and nothing of the original's.
    let own = plan.beside.is_none();
    let text_vaddr = if own { write::end_of_segments(object) } else { write::start_beside(object) };
    let (chunks, layout, patches) = loop {
        let chunks: Vec<Chunk> =
            copies.iter_mut().map(|c| c.as_mut().map(|c| std::mem::take(&mut c.chunk)).unwrap_or_default()).collect();
        let layout = Layout::new(&chunks, text_vaddr, filler)?;
        match redirect(&base, &mut components, &copied_functions, &copies, &layout, &chunks) {
            Ok(patches) => break (chunks, layout, patches),
            Err(Unredirected::Fails(error)) => return Err(error),
            Err(Unredirected::Component { component, reason }) => {
                for (copy, chunk) in copies.iter_mut().zip(chunks) {
                    if let Ok(copied) = copy {
                        copied.chunk = chunk;
                    }
                }
                refuse(&mut components, component, reason, &copied_functions, &mut copies);
            }
        }
    };

    let data_vaddr = (layout.constants() + constants.bytes.len() as u64).next_multiple_of(PAGE);
    let placed = if own { variables.place(data_vaddr) } else { Vec::new() };
    let addresses: Vec<u64> = placed.iter().map(|v| v.vaddr).collect();
    let (text, (origin, (hooks, described))) = rayon::join(
        || layout.emit(&chunks, &addresses),
        || {
            rayon::join(
                || origins(&chunks, &layout, text_vaddr, &patches),
                || {
                    rayon::join(
                        || hooks(&templates, &chunks, &layout, &placed),
                        || describe(&base, &components, &copied_functions, &copies, &layout),
                    )
                },
            )
        },
    );
    let origin = origin?;
    let decoder = Decoder::new(program.mode());
    let debug = write::lines::of_copies(object, &decoder, &chunks, &layout, (text_vaddr, &text)).unwrap_or_else(|e| {
        report.notes.push(format!("the copies have no source lines: {e}"));
        Vec::new()
    });
    let mut patches: Vec<(u64, Vec<u8>)> = patches.into_iter().map(|p| (p.vaddr, p.bytes)).collect();
    patches.extend(described.descriptors);
    report.registers = described.registers;
    let new = Additions {
        text_vaddr,
        constants_vaddr: layout.constants(),
        constants: constants.bytes,
        data_vaddr,
        data: if own { variables.filled() } else { Vec::new() },
        bss_size: if own { variables.zero_size() } else { 0 },
        variables: placed,
        code_symbols: code_symbols(&copies, &chunks, &layout),
        patches,
        metadata: described.metadata,
        origin,
        hooks,
        debug,
        text,
    };
    let (bytes, violations) = rayon::join(
        || if own { write::write(object, &new) } else { write::write_beside(object, &new) },
        || {
            drop(chunks);
            finish(plan, &components, &spots, copies, &mut report)
        },
    );
    let (bytes, violations) = (bytes?, violations?);
    if !violations.is_empty() {
        return Err(CodegenError::Check(violations));
    }
    Ok(Instrumented { bytes, report })
}
