//! From IR to a template's code: LLVM's passes, its code generator, and what comes out of them.

use std::{collections::BTreeMap, sync::OnceLock};

use inkwell::{
    context::Context,
    memory_buffer::MemoryBuffer,
    module::Module,
    passes::PassBuilderOptions,
    targets::{FileType, TargetMachine, TargetTriple},
};
use luthier_isa::{Mode, Operand};
use luthier_loader::HookLine;

use super::{
    code::Code,
    first_lane::From,
    given::{self, Given},
    globals, kept, library,
    llvm::{self, TRIPLE},
    lower::{
        WAVE_ADD,
        entry::{ENTRY, variable_name},
    },
    object::{self, Unreadable},
    offsets,
    own_process::{self, Failure},
    processor,
    refusal::Refusal,
    scalar_atomic::{self, SCALAR_ATOMIC},
    signs, stack, tables, wave_add,
};
use crate::template::RelocTarget;

/// The IR and the variables that it names.
#[derive(Clone)]
pub struct Input {
    /// A module with the shader part [`ENTRY`].
    pub text: String,
    /// A module that is linked in: what the part calls.
    pub library: Option<Library>,
    /// The argument that is each of the variables.
    pub variables: Vec<usize>,
    /// What the lines of the text's debug information stand for; those of a library are its own.
    pub lines: Vec<HookLine>,
}

/// LLVM IR, as text or bitcode, and the function in it that the part calls.
#[derive(Clone)]
pub struct Library {
    pub bytes: Vec<u8>,
    pub function: String,
    /// Other names of what it refers to.
    pub symbols: BTreeMap<String, String>,
    /// What the function around it is given besides its arguments.
    pub given: Vec<Given>,
}

/// Compiles the part.
pub fn compile(input: Input, mode: Mode) -> Result<Code, Refusal> {
    let (variables, lines) = (input.variables.clone(), input.lines.clone());
    let none = BTreeMap::new();
    let symbols = input.library.as_ref().map_or(&none, |library| &library.symbols);
    let object = |from| {
        let (name, features) = (mode.target().name(), processor::features(mode));
        let library = input.library.as_ref();
        let (function, bytes) = library.map_or(("", &[][..]), |library| (library.function.as_str(), &library.bytes));
        let how = if from == From::FirstLane { "first lane" } else { "" };
        let parts = [name, &features, &input.text, function, how].map(str::as_bytes);
        let parts = [&parts[..], &[bytes]].concat();
        let work = input.clone();
        let object = kept::object(&parts, || {
            let is_foreign = work.library.is_some();
            let made = move |machine: &TargetMachine| {
                let cx = Context::create();
                llvm::stop_at_errors(&cx);
                build(&cx, &work, machine, mode, from)
            };
            if !is_foreign {
                return llvm::run_for(mode, made);
            }
            own_process::run(mode, made).map_err(|failure| match failure {
                Failure::Refused(refusal) => refusal,
                Failure::GaveUp(reason) => Refusal::from(reason).and(&may_not_have(bytes, mode)),
                Failure::Crash => format!("LLVM crashes on it: {}", may_not_have(bytes, mode)).into(),
            })
        })?;
        object::read(&object, mode, lines.clone(), |name| refers(name, &variables, symbols)).map_err(
            |error| match error {
                Unreadable::Instruction(what) if input.library.is_some() => {
                    Refusal::from(what).and(&may_not_have(bytes, mode))
                }
                Unreadable::Instruction(what) | Unreadable::Said(what) => what.into(),
            },
        )
    };
    let code = object(From::Scalars);
    // The assembler takes no VGPR as an address, or as a scalar: that is an error.
    let fits = code.as_ref().is_ok_and(|code| !wave_add::reads_what_changes(&code.insts));
    let acts = [WAVE_ADD, SCALAR_ATOMIC].iter().any(|name| input.text.contains(name)) || input.library.is_some();
    if fits || !acts { code } else { object(From::FirstLane) }
}

/// What a module that LLVM makes nothing of may ask for in vain. It can be read: that has been done before.
fn may_not_have(module: &[u8], mode: Mode) -> String {
    const MOST: usize = 6;
    let bytes = module.to_vec();
    let called = llvm::run(move || Ok::<_, String>(library::intrinsics(&bytes))).unwrap_or_default();
    let some = called.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    let what = match called.len() {
        0 => "one of its operations".to_owned(),
        1..=MOST => format!("one of the operations that it asks for: {some}"),
        n => format!("one of the operations that it asks for: {some} and {} more", n - MOST),
    };
    format!("{} may not have {what}", mode.target().name())
}

/// The first SGPR that LLVM passes an argument in, after those it keeps for itself. The first call for a processor has LLVM
/// made ready, if that has not been done in an earlier process.
///
/// # Errors
/// A sentence about the processor.
pub fn first_argument(mode: Mode) -> Result<u16, Refusal> {
    type Probed = OnceLock<Result<u16, Refusal>>;
    static FIRST: OnceLock<Vec<(Mode, Probed)>> = OnceLock::new();
    if !mode.target().has_tables() {
        let name = mode.target().name();
        return Err(format!("hooks cannot be compiled for {name}: its instructions are not known").into());
    }
    let all = FIRST.get_or_init(|| Mode::all().map(|mode| (mode, OnceLock::new())).collect());
    let known = all.iter().find(|(m, _)| *m == mode.usual()).ok_or("there is no such wave size")?;
    known.1.get_or_init(|| probe(mode)).clone()
}

fn probe(mode: Mode) -> Result<u16, Refusal> {
    let text = format!(
        "define amdgpu_cs i32 @{ENTRY}(i32 inreg %a) nounwind {{\n  %b = xor i32 %a, 305419896\n  ret i32 %b\n}}\n"
    );
    let code = compile(Input { text, library: None, variables: Vec::new(), lines: Vec::new() }, mode)?;
    let mut sgprs = code.insts.iter().flat_map(|i| i.operands().skip(1)).filter_map(|(_, value)| match value {
        Operand::Reg(range) if range.first.is_sgpr() => Some(range.first.number()),
        _ => None,
    });
    sgprs.next().ok_or_else(|| "LLVM's first argument register was not found".into())
}

fn build(cx: &Context, input: &Input, machine: &TargetMachine, mode: Mode, from: From) -> Result<Vec<u8>, Refusal> {
    let text = MemoryBuffer::create_from_memory_range_copy(input.text.as_bytes(), "hook");
    let module = cx.create_module_from_ir(text).map_err(|e| e.to_string())?;
    prepare(&module, machine);
    if let Some(Library { bytes, function, given, .. }) = &input.library {
        let library = MemoryBuffer::create_from_memory_range_copy(bytes, "library");
        let library = cx.create_module_from_ir(library).map_err(|e| e.to_string())?;
        prepare(&library, machine);
        library::check(&library, function, mode, given)?;
        globals::forget_uses(&library);
        globals::settle_managed(&library);
        globals::declare_variables(&library);
        module.link_in_module(library).map_err(|e| e.to_string())?;
        // Linking has put a handler of its own in the place of ours, which writes to where its caller was.
        llvm::stop_at_errors(cx);
        library::inline(cx, &module);
    }
    module.verify().map_err(|e| e.to_string())?;
    module.run_passes("default<O2>", machine, PassBuilderOptions::create()).map_err(|e| e.to_string())?;
    if let Some(library) = &input.library {
        given::settle(cx, &module, &library.given, mode.target())?;
        library::check_rest(&module)?;
    }
    tables::expand(cx, &module).map_err(|e| e.to_string())?;
    signs::keep(cx, &module).map_err(|e| e.to_string())?;
    wave_add::expand(cx, &module, mode, from).map_err(|e| e.to_string())?;
    scalar_atomic::expand(cx, &module, mode, from)?;
    offsets::fold(&module);
    stack::lower(cx, &module, &machine.get_target_data())?;
    module.verify().map_err(|e| e.to_string())?;
    let object = machine.write_to_memory_buffer(&module, FileType::Object).map_err(|e| e.to_string())?;
    Ok(object.as_slice().to_vec())
}

pub fn prepare(module: &Module<'_>, machine: &TargetMachine) {
    module.set_triple(&TargetTriple::create(TRIPLE));
    module.set_data_layout(&machine.get_target_data().get_data_layout());
}

/// What a name in the IR stands for, and the offset in it.
fn refers(name: &str, variables: &[usize], symbols: &BTreeMap<String, String>) -> (RelocTarget, i64) {
    let (base, offset) = offsets::split(name);
    match (0..variables.len()).find(|i| variable_name(*i) == base) {
        Some(index) => (RelocTarget::Arg(variables[index]), offset),
        None => (RelocTarget::Symbol(symbols.get(base).map_or(base, String::as_str).to_owned()), offset),
    }
}
