//! From IR to a template: LLVM's passes, its code generator, and what comes out of them.

use std::{
    ffi::{CStr, c_void},
    sync::OnceLock,
};

use inkwell::{
    OptimizationLevel,
    context::Context,
    memory_buffer::MemoryBuffer,
    module::Module,
    passes::PassBuilderOptions,
    targets::{
        CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple,
    },
};
use llvm_sys::{
    LLVMDiagnosticSeverity,
    core::{LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity},
    prelude::LLVMDiagnosticInfoRef,
};
use luthier_isa::{Operand, Target};

use super::{
    lower::entry::{ENTRY, variable_name},
    object::{self, Code},
    offsets, wave_add,
};

/// No operating system: shader parts are allowed, and global addresses are taken relative to the PC.
const TRIPLE: &str = "amdgcn--";
/// Scratch without a buffer resource, and no packed or dual instructions whose register banks renaming would break.
const FEATURES: &str = "+enable-flat-scratch";

/// The IR and the variables that it names.
pub struct Input<'a> {
    /// A module with the shader part [`ENTRY`].
    pub text: &'a str,
    /// A module in text or bitcode that is linked in: what the part calls.
    pub library: Option<(&'a [u8], &'a str)>,
    pub variables: &'a [String],
}

/// Compiles the part. An error is a sentence about the hook.
pub fn compile(input: &Input<'_>, target: Target) -> Result<Code, String> {
    let machine = machine(target)?;
    let cx = Context::create();
    let mut problems = Problems::default();
    // SAFETY: the context is alive, and `problems` outlives it: it is dropped after `cx` is no longer used, below.
    unsafe {
        LLVMContextSetDiagnosticHandler(cx.raw(), Some(note_diagnostic), (&raw mut problems).cast());
    }
    let object = build(&cx, input, &machine);
    drop(cx);
    if let Some(problem) = problems.0.into_iter().next() {
        return Err(problem);
    }
    object::read(&object?, target, |name| original(name, input.variables))
}

/// The first SGPR that LLVM passes an argument in, after those it keeps for itself.
pub fn first_argument(target: Target) -> Result<u16, String> {
    static FIRST: OnceLock<Result<u16, String>> = OnceLock::new();
    if target != Target::Gfx90a {
        return Err(format!("hooks cannot be compiled for {} yet", target.name()));
    }
    FIRST
        .get_or_init(|| {
            let text = format!(
                "define amdgpu_cs i32 @{ENTRY}(i32 inreg %a) nounwind {{\n  %b = add i32 %a, 4660\n  ret i32 %b\n}}\n"
            );
            let code = compile(&Input { text: &text, library: None, variables: &[] }, target)?;
            let mut sgprs = code.insts.iter().flat_map(|i| i.operands().skip(1)).filter_map(|(_, value)| match value {
                Operand::Reg(range) if range.first.is_sgpr() => Some(range.first.number()),
                _ => None,
            });
            sgprs.next().ok_or_else(|| "LLVM's first argument register was not found".to_owned())
        })
        .clone()
}

fn build(cx: &Context, input: &Input<'_>, machine: &TargetMachine) -> Result<Vec<u8>, String> {
    let text = MemoryBuffer::create_from_memory_range_copy(input.text.as_bytes(), "hook");
    let module = cx.create_module_from_ir(text).map_err(|e| e.to_string())?;
    prepare(&module, machine);
    if let Some((bytes, function)) = input.library {
        let library = MemoryBuffer::create_from_memory_range_copy(bytes, "library");
        let library = cx.create_module_from_ir(library).map_err(|e| e.to_string())?;
        prepare(&library, machine);
        if library.get_function(function).is_none_or(|f| f.count_basic_blocks() == 0) {
            return Err(format!("the module has no function {function}"));
        }
        module.link_in_module(library).map_err(|e| e.to_string())?;
        for function in module.get_functions().filter(|f| f.count_basic_blocks() > 0) {
            if function.get_name().to_bytes() != ENTRY.as_bytes() {
                function.set_linkage(inkwell::module::Linkage::Internal);
                let inline = inkwell::attributes::Attribute::get_named_enum_kind_id("alwaysinline");
                let outline = inkwell::attributes::Attribute::get_named_enum_kind_id("noinline");
                function.remove_enum_attribute(inkwell::attributes::AttributeLoc::Function, outline);
                let attribute = cx.create_enum_attribute(inline, 0);
                function.add_attribute(inkwell::attributes::AttributeLoc::Function, attribute);
            }
        }
    }
    module.verify().map_err(|e| e.to_string())?;
    module.run_passes("default<O2>", machine, PassBuilderOptions::create()).map_err(|e| e.to_string())?;
    wave_add::expand(cx, &module).map_err(|e| e.to_string())?;
    offsets::fold(&module);
    module.verify().map_err(|e| e.to_string())?;
    let object = machine.write_to_memory_buffer(&module, FileType::Object).map_err(|e| e.to_string())?;
    Ok(object.as_slice().to_vec())
}

fn prepare(module: &Module<'_>, machine: &TargetMachine) {
    module.set_triple(&TargetTriple::create(TRIPLE));
    module.set_data_layout(&machine.get_target_data().get_data_layout());
}

fn machine(target: Target) -> Result<TargetMachine, String> {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| LlvmTarget::initialize_amd_gpu(&InitializationConfig::default()));
    let triple = TargetTriple::create(TRIPLE);
    let llvm = LlvmTarget::from_triple(&triple).map_err(|e| e.to_string())?;
    let level = OptimizationLevel::Default;
    llvm.create_target_machine(&triple, target.name(), FEATURES, level, RelocMode::PIC, CodeModel::Default)
        .ok_or_else(|| format!("LLVM has no target machine for {}", target.name()))
}

/// The device variable, and the offset in it, that a symbol of the object stands for.
fn original(name: &str, variables: &[String]) -> (String, i64) {
    let (base, offset) = offsets::split(name);
    let index = (0..variables.len()).find(|i| variable_name(*i) == base);
    (index.map_or(base, |i| variables[i].as_str()).to_owned(), offset)
}

/// Errors that LLVM reports while it runs.
#[derive(Default)]
struct Problems(Vec<String>);

extern "C" fn note_diagnostic(info: LLVMDiagnosticInfoRef, problems: *mut c_void) {
    // SAFETY: LLVM passes a valid diagnostic, and the pointer that was registered with the handler, which points to a
    // `Problems` that nothing else touches while LLVM runs. The description is a C string that we own.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        (*problems.cast::<Problems>()).0.push(CStr::from_ptr(text).to_string_lossy().into_owned());
        LLVMDisposeMessage(text);
    }
}
