//! What the new object says of itself, and the report.

use std::collections::HashMap;

use luthier_loader::{HookMap, HookVariable, Metadata, OriginMap};
use rayon::prelude::*;

use super::copies::Numbered;
use crate::CodegenError;
use crate::check::Violation;
use crate::component::{Base, Component};
use crate::copy::redirect::Patch;
use crate::copy::{Copied, Refusal, Spot};
use crate::layout::Layout;
use crate::layout::chunk::Chunk;
use crate::plan::{KernelRegisters, Plan, Rejected, Rejection, Report};
use crate::template::prepared::Prepared;
use crate::write::{CodeSymbol, PlacedVariable};

pub fn origins(chunks: &[Chunk], layout: &Layout, start: u64, patches: &[Patch]) -> Result<Vec<u8>, CodegenError> {
    let mut builder = OriginMap::builder();
    if layout.end() > start {
        builder.range(start, layout.end());
    }
    let of_chunk = |(c, chunk): (usize, &'_ Chunk)| {
        let mut address = layout.addresses(c);
        chunk.origins.iter().map(|(word, vaddr)| (address(*word), *vaddr)).collect::<Vec<_>>()
    };
    builder.pairs(chunks.par_iter().enumerate().flat_map_iter(of_chunk).collect());
    for (c, chunk) in chunks.iter().enumerate() {
        for (word, original) in &chunk.others {
            builder.other(layout.address(c, *word), original.words());
        }
    }
    // What leads from an original to its copy is ours, not the application's.
    for patch in patches {
        builder.range(patch.vaddr, patch.vaddr + patch.bytes.len() as u64);
    }
    Ok(builder.finish().map_err(CodegenError::Origin)?.encode())
}

/// Where the hooks are, and the tools' variables.
pub fn hooks(templates: &[Prepared], chunks: &[Chunk], layout: &Layout, variables: &[PlacedVariable]) -> Vec<u8> {
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

pub fn code_symbols(copies: &[Result<Copied, Refusal>], chunks: &[Chunk], layout: &Layout) -> Vec<CodeSymbol> {
    let copied = copies.iter().zip(chunks).enumerate().filter(|(_, (copy, _))| copy.is_ok());
    copied
        .map(|(n, (_, chunk))| {
            let vaddr = layout.address(n, 0);
            let size = layout.address(n, chunk.here()) - vaddr;
            CodeSymbol { name: chunk.name.clone(), vaddr, size }
        })
        .collect()
}

/// What the object says of its kernels.
pub struct Described {
    /// Kernel descriptors, with their addresses.
    pub descriptors: Vec<(u64, Vec<u8>)>,
    /// The metadata note, if it changes.
    pub metadata: Option<Metadata>,
    pub registers: Vec<KernelRegisters>,
}

/// Kernel descriptors and the metadata note.
pub fn describe(
    base: &Base,
    components: &[Component],
    functions: &Numbered,
    copies: &[Result<Copied, Refusal>],
    layout: &Layout,
) -> Described {
    let (mut descriptors, mut all) = (Vec::new(), Vec::new());
    let mut metadata = base.object.metadata().cloned();
    // Where each kernel is: there may be thousands.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (n, noted) in base.object.metadata().iter().flat_map(|m| &m.kernels).enumerate() {
        numbers.entry(&noted.name).or_insert(n);
    }
    for (n, (c, f)) in functions.iter().enumerate() {
        let (component, function) = (&components[*c], base.given.program.function(*f));
        if copies[n].is_err() {
            continue;
        }
        let entry = layout.address(n, 0);
        for kernel in component.kernels.iter().filter(|k| k.entry == function.vaddr) {
            let (descriptor, registers) = component.describe(kernel, entry);
            descriptors.push((kernel.descriptor_vaddr, descriptor.to_bytes().to_vec()));
            let noted = metadata.as_mut().and_then(|m| m.kernels.get_mut(*numbers.get(&*kernel.name)?));
            if let Some(noted) = noted {
                let raise = |field: &mut Option<u64>, by: u32, from: u32| {
                    if let (Some(n), true) = (field.as_mut(), by > from) {
                        *n = (*n).max(u64::from(by));
                    }
                };
                raise(&mut noted.sgpr_count, registers.sgprs_after, registers.sgprs_before);
                raise(&mut noted.vgpr_count, registers.vgprs_after, registers.vgprs_before);
                raise(&mut noted.private_segment_fixed_size, registers.scratch_after, registers.scratch_before);
                raise(&mut noted.group_segment_fixed_size, registers.lds_after, registers.lds_before);
            }
            all.push(registers);
        }
    }
    let metadata = metadata.filter(|m| Some(m) != base.object.metadata());
    Described { descriptors, metadata, registers: all }
}

/// Fills the report.
///
/// # Errors
/// An insertion was neither made nor rejected, or both.
pub fn finish(
    plan: &Plan,
    components: &[Component],
    spots: &[Spot],
    copies: Vec<Result<Copied, Refusal>>,
    report: &mut Report,
) -> Result<Vec<Violation>, CodegenError> {
    let mut violations = Vec::new();
    let mut made = vec![false; plan.insertions.len()];
    for copied in copies.into_iter().flatten() {
        copied.made.iter().for_each(|insertion| made[*insertion as usize] = true);
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
                let reason = Rejection::Component(reason.clone());
                report.rejected.push(Rejected { insertion: spot.insertion, address, reason });
            }
        }
    }
    report.points = made.iter().filter(|made| **made).count();
    // The first reason says most.
    report.rejected.sort_by_key(|r| r.insertion);
    report.rejected.dedup_by_key(|r| r.insertion);
    let mut rejected = report.rejected.iter().map(|r| r.insertion as usize).peekable();
    for (insertion, made) in made.into_iter().enumerate() {
        let what = match (made, rejected.next_if_eq(&insertion).is_some()) {
            (false, false) => "neither made nor rejected",
            (true, true) => "made, and rejected as well",
            _ => continue,
        };
        return Err(CodegenError::Lost { insertion, address: plan.insertions[insertion].address, what });
    }
    report.rejected.sort_by_key(|r| r.address);
    Ok(violations)
}
