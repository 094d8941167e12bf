//! What `luthier inspect` shows, as data.

use luthier_lifter::Program;
use luthier_loader::descriptor::Generation;
use luthier_loader::{CodeObject, Kernel, Note, NoteContent};
use pyo3::{PyResult, pyfunction};
use serde_json::{Map, Value, json};

use crate::error::Class;

/// Target, kernels, metadata, symbols, sections, segments, relocations.
pub fn everything(object: &CodeObject) -> PyResult<Value> {
    let instrumented = object.origin_map().map_err(|e| Class::Load.error(e))?.is_some();
    let program = instrumented.then(|| Program::lift(object).map_err(|e| Class::Lift.error(e))).transpose()?;
    let generation = Generation::of(&object.target().processor).unwrap_or(Generation::Gfx90a);
    let symbol_name = |index: usize| object.symbols().get(index).map(|s| s.name.as_str());
    Ok(json!({
        "target": object.target().to_string(),
        "processor": object.target().processor,
        "sramecc": object.sramecc(),
        "xnack": object.xnack(),
        "code_object_version": object.version(),
        "generic_version": object.generic_version(),
        "os_abi": object.os_abi().to_string(),
        "flags": object.flags(),
        "size": object.bytes().len(),
        "instrumented": instrumented,
        "kernels": object.kernels().iter().map(|k| kernel(k, generation, program.as_ref())).collect::<Vec<_>>(),
        "functions": object.functions().iter()
            .map(|f| json!({"name": f.name, "address": f.vaddr, "size": f.size})).collect::<Vec<_>>(),
        "metadata": object.metadata().map(|m| m.to_json()),
        "notes": notes(object),
        "mesa_kernels": object.mesa_kernels().iter().map(|k| json!({
            "name": k.name, "address": k.vaddr, "entry": k.entry, "code_size": k.code_size,
            "header": k.header.fields().into_iter().map(|(name, value)| (name.to_owned(), number(value))).collect::<Map<_, _>>(),
        })).collect::<Vec<_>>(),
        "symbols": object.symbols().iter().map(|s| json!({
            "name": s.name, "address": s.value, "size": s.size, "kind": s.kind.to_string(),
            "binding": s.binding.to_string(), "visibility": s.visibility.to_string(),
            "section": s.section.and_then(|i| object.sections().get(i)).map(|s| s.name.as_str()), "dynamic": s.dynamic,
        })).collect::<Vec<_>>(),
        "sections": object.sections().iter().map(|s| json!({
            "name": s.name, "kind": s.kind.to_string(), "flags": s.flags, "address": s.vaddr, "offset": s.offset,
            "size": s.size, "align": s.align,
        })).collect::<Vec<_>>(),
        "segments": object.segments().iter().map(|s| json!({
            "kind": format!("{:?}", s.kind).to_uppercase(), "flags": s.flags, "offset": s.offset, "address": s.vaddr, "file_size": s.filesz,
            "memory_size": s.memsz, "align": s.align,
        })).collect::<Vec<_>>(),
        "relocations": object.relocations().iter().map(|r| json!({
            "offset": r.offset, "kind": r.kind.to_string(), "symbol": r.symbol.and_then(symbol_name), "addend": r.addend,
        })).collect::<Vec<_>>(),
    }))
}

/// Of a kernel whose instrumented copy runs: where its original is, and whose the instructions are.
fn instrumented(program: &Program, kernel: &Kernel) -> Option<Value> {
    let function = program.function_at(kernel.entry)?;
    let original = program.copied_from(function)?;
    let inserted = program.inserted_in(function);
    let application = program.function_instrs(function).len() - inserted;
    Some(json!({ "original": original, "application_instructions": application, "inserted_instructions": inserted }))
}

/// Owner, kind and content of each note; the metadata are elsewhere.
pub fn notes(object: &CodeObject) -> Value {
    let note = |note: &Note| {
        let content = match note.content(object.bytes()) {
            NoteContent::Metadata | NoteContent::Other => None,
            other => Some(other.to_string()),
        };
        json!({
            "owner": note.name, "kind": note.kind, "kind_name": note.kind_name(), "offset": note.description.start,
            "size": note.description.len(), "content": content,
        })
    };
    object.notes().iter().map(note).collect()
}

fn number(value: i128) -> Value {
    match u64::try_from(value) {
        Ok(value) => value.into(),
        Err(_) => i64::try_from(value).unwrap_or(i64::MIN).into(),
    }
}

fn kernel(kernel: &Kernel, generation: Generation, program: Option<&Program>) -> Value {
    let fields: Map<String, Value> = kernel
        .descriptor
        .fields_for(generation)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    json!({
        "name": kernel.name,
        "entry": kernel.entry,
        "code_size": kernel.code_size,
        "instrumented": program.and_then(|program| instrumented(program, kernel)),
        "descriptor_address": kernel.descriptor_vaddr,
        "descriptor": fields,
        "launch": launch_facts(kernel),
    })
}

/// What has to be known to launch the kernel.
pub fn launch_facts(kernel: &Kernel) -> Value {
    let metadata = kernel.metadata();
    let args = metadata.map(|m| {
        m.args
            .iter()
            .map(|a| {
                json!({
                    "name": a.name, "type": a.type_name, "offset": a.offset, "size": a.size, "kind": a.value_kind,
                    "address_space": a.address_space, "hidden": a.is_hidden(),
                })
            })
            .collect::<Vec<_>>()
    });
    json!({
        "args": args,
        // Descriptors may leave it at zero, which means that they do not say.
        "kernarg_size": u64::from(kernel.descriptor.kernarg_size())
            .max(metadata.and_then(|m| m.kernarg_segment_size).unwrap_or(0)),
        "group_segment": kernel.descriptor.group_segment_fixed_size(),
        "private_segment": kernel.descriptor.private_segment_fixed_size(),
        "wavefront_size": metadata.and_then(|m| m.wavefront_size),
        "max_workgroup_size": metadata.and_then(|m| m.max_flat_workgroup_size),
        "required_workgroup_size": metadata.and_then(|m| m.reqd_workgroup_size.clone()),
    })
}

/// One line of a list of kernels.
pub fn summary(kernel: &Kernel) -> Value {
    let metadata = kernel.metadata();
    json!({
        "name": kernel.name,
        "demangled": demangled(&kernel.name),
        "code_size": kernel.code_size,
        "sgprs": metadata.and_then(|m| m.sgpr_count),
        "vgprs": metadata.and_then(|m| m.vgpr_count),
        "agprs": metadata.and_then(|m| m.agpr_count),
        "lds": kernel.descriptor.group_segment_fixed_size(),
        "scratch": kernel.descriptor.private_segment_fixed_size(),
        "arguments": metadata.map(|m| m.args.iter().filter(|a| !a.is_hidden()).count()),
    })
}

/// A name as the source has it, with its parameters' types; the same name where it is not a C++ one.
#[pyfunction]
pub fn demangled(name: &str) -> String {
    let symbol = cpp_demangle::Symbol::new(name).ok();
    symbol.and_then(|symbol| symbol.demangle().ok()).unwrap_or_else(|| name.to_owned())
}
