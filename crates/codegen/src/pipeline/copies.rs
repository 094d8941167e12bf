//! The copies of all functions, in parallel; a component is copied as a whole or not at all.

use luthier_lifter::{FuncId, Program};
use rayon::prelude::*;

use crate::component::Component;
use crate::copy::{self, ChunkMap, Copied, KernelEntry, Refusal, Spot, Task, scratch_base};
use crate::layout::chunk::ChunkId;
use crate::plan::Checked;

/// A chunk for every function of every component: its component, and the function.
pub type Numbered = Vec<(usize, FuncId)>;

pub fn number(program: &Program, components: &[Component]) -> (ChunkMap, Numbered) {
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

pub fn copy_all(
    components: &[Component],
    functions: &Numbered,
    map: &ChunkMap,
    spots: &[Spot],
    checked: Checked,
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
        let task = Task { env, map, func: *f, chunk: ChunkId(n as u32), kernel: entry, checked };
        copy::copy(&task, &spots[from..to])
    };
    functions.par_iter().enumerate().map(one).collect()
}

/// A component is copied as a whole or not at all.
pub fn settle(components: &mut [Component], functions: &Numbered, copies: &mut [Result<Copied, Refusal>]) {
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
pub fn find_scratch(
    components: &mut [Component],
    functions: &Numbered,
    copies: &mut [Result<Copied, Refusal>],
    checked: Checked,
) {
    for n in 0..copies.len() {
        let (c, f) = functions[n];
        let component = &components[c];
        let vaddr = component.env.program.function(f).vaddr;
        let Some(kernel) = component.kernels.iter().find(|k| k.entry == vaddr) else { continue };
        let (Some(inputs), Ok(copied)) = (component.sets_scratch_base(kernel), &mut copies[n]) else { continue };
        let done = scratch_base::prepend(&component.env, kernel, ChunkId(n as u32), &inputs, copied, checked);
        if let Err(refusal) = done {
            refuse(components, c, refusal.to_string(), functions, copies);
        }
    }
}

pub fn refuse(
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
