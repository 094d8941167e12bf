//! What a module of LLVM IR has for a tool: functions that can be hooks, variables, and what it leaves to others.

use std::collections::HashMap;

use goblin::elf::Elf;
use inkwell::{
    context::Context,
    memory_buffer::MemoryBuffer,
    module::{Linkage, Module},
    targets::{FileType, TargetMachine},
    types::{AnyType, AnyTypeEnum, BasicMetadataTypeEnum, BasicTypeEnum},
    values::{AsValueRef, BasicValueEnum, FunctionValue, GlobalValue},
};
use llvm_sys::core::{LLVMDeleteFunction, LLVMDeleteGlobal, LLVMGetUndef, LLVMReplaceAllUsesWith, LLVMTypeOf};
use luthier_isa::{Mode, Target};

use super::{
    bitcode, compile, given,
    globals::{self, IDENTITY, LDS, address_space, is_variable, name_of},
    library::{self, C_CALL},
    llvm,
};

/// The ring of what is printed, and part of the names of the texts, as `luthier/hooks.h` has them.
pub const PRINTED: &str = "__lt_printed";
const TEXT: &str = "__lt_text";

/// A module's functions and variables, by their names in the IR.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub functions: Vec<Signature>,
    pub variables: Vec<LibraryVariable>,
    /// Variables that are used and not defined.
    pub externals: Vec<String>,
    /// What the compiler has marked the module with.
    pub identity: Option<String>,
    /// What it prints by the `printf` of `luthier/hooks.h`.
    pub texts: Vec<Vec<u8>>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Signature {
    pub name: String,
    /// Names, empty where none is known, and types: `i1` to `i64`, `half`, `float`, `double`, `ptr` and
    /// `ptr addrspace(1)`, `(3)`, `(4)` or `(5)`.
    pub params: Vec<(String, String)>,
    /// Why it cannot be a hook.
    pub refused: Option<String>,
    /// It prints into [`PRINTED`], or functions that it calls do.
    pub prints: bool,
    /// Intrinsics that it calls, or functions that it calls do, and that hooks are given arguments for.
    asks: Vec<String>,
}

impl Signature {
    /// What a hook of it is given on a processor besides its arguments: names of the hook language's facts, in order.
    /// `shared`: some of its arguments are LDS of the hooks' own.
    pub fn given(&self, target: Target, shared: bool) -> Vec<&'static str> {
        given::of(self.asks.iter().map(String::as_str), target, shared).into_iter().map(given::Given::name).collect()
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct LibraryVariable {
    pub name: String,
    /// What its source calls it.
    pub spoken: String,
    pub size: u64,
    pub align: u64,
    /// Empty if it is zero.
    pub init: Vec<u8>,
    /// The type of its elements, in LLVM's words, and how many there are; bytes for everything that is no array of numbers.
    pub element: String,
    pub count: u64,
    pub is_managed: bool,
    /// It begins with addresses, which are known only when it is loaded.
    pub has_addresses: bool,
}

/// Reads IR text or bitcode, which is verified.
///
/// # Errors
/// A sentence: it cannot be read, or it is not valid.
pub fn contents(bytes: &[u8]) -> Result<Contents, String> {
    let bytes = bytes.to_vec();
    let mode = Mode::all().find(|mode| mode.target() == Target::Gfx90a).ok_or("there is no processor")?;
    llvm::run_for(mode, move |machine| read(&bytes, machine))
}

fn read(bytes: &[u8], machine: &TargetMachine) -> Result<Contents, String> {
    let cx = Context::create();
    llvm::stop_at_errors(&cx);
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "library");
    let module = cx.create_module_from_ir(buffer).map_err(|e| first_line(&e.to_string()))?;
    module.verify().map_err(|e| first_line(&e.to_string()))?;
    compile::prepare(&module, machine);
    let mut texts: Vec<Vec<u8>> =
        module.get_globals().filter(|g| name_of(*g).contains(TEXT)).filter_map(text).collect();
    texts.sort();
    texts.dedup();
    globals::forget_uses(&module);
    globals::settle_managed(&module);
    let functions =
        module.get_functions().filter(|f| f.count_basic_blocks() > 0).map(|f| signature(&module, f)).collect();
    let identity = module.get_globals().map(name_of).find(|name| name.starts_with(IDENTITY));
    let externals = module.get_globals().filter(|g| g.is_declaration() && address_space(*g) != LDS);
    let externals = externals.map(name_of).filter(|name| !name.starts_with("llvm.")).collect();
    let mut variables: Vec<LibraryVariable> = Vec::new();
    for global in module.get_globals().filter(|g| is_variable(&module, *g)) {
        let name = name_of(global);
        let (spoken, is_managed) = globals::spoken(&name);
        let (element, count) = elements(global.get_value_type());
        let size = size_of(machine, global.get_value_type());
        variables.push(LibraryVariable {
            spoken: spoken.to_owned(),
            size,
            align: u64::from(global.get_alignment()).max(1),
            init: Vec::new(),
            count: if element == "i8" { size } else { count },
            element,
            is_managed,
            has_addresses: false,
            name,
        });
    }
    first_values(&module, machine, &mut variables)?;
    Ok(Contents { functions, variables, externals, identity, texts })
}

/// A constant text, without the zero at its end.
fn text(global: GlobalValue<'_>) -> Option<Vec<u8>> {
    match global.get_initializer()? {
        BasicValueEnum::ArrayValue(array) => Some(array.as_const_string()?.split(|byte| *byte == 0).next()?.to_vec()),
        _ => None,
    }
}

/// LLVM's message without what it quotes.
fn first_line(message: &str) -> String {
    message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}

fn signature<'c>(module: &Module<'c>, function: FunctionValue<'c>) -> Signature {
    let name = name_of(function.as_global_value());
    let mut params = Vec::new();
    let mut refused = None;
    if function.get_call_conventions() != C_CALL {
        refused = Some("it is a kernel or a shader: a hook is a plain function".to_owned());
    } else if function.get_type().get_return_type().is_some() {
        refused = Some("it returns a value: a hook returns nothing".to_owned());
    }
    for (index, (value, ty)) in function.get_param_iter().zip(function.get_type().get_param_types()).enumerate() {
        let known = match ty {
            BasicMetadataTypeEnum::IntType(_)
            | BasicMetadataTypeEnum::FloatType(_)
            | BasicMetadataTypeEnum::PointerType(_) => bitcode::parameter(ty, None).is_some(),
            _ => false,
        };
        let text = ty.to_string().trim_matches('"').to_owned();
        if !known || bitcode::is_by_value(function, index) {
            refused.get_or_insert(format!("its parameter {} is {text}, which no argument of a hook is", index + 1));
        }
        params.push((parameter_name(value), text));
    }
    let (asks, prints) = (library::asked(module, function), library::uses(module, function, PRINTED));
    Signature { name, params, refused, prints, asks }
}

fn parameter_name(value: BasicValueEnum<'_>) -> String {
    match value {
        BasicValueEnum::IntValue(v) => v.get_name().to_string_lossy().into_owned(),
        BasicValueEnum::FloatValue(v) => v.get_name().to_string_lossy().into_owned(),
        BasicValueEnum::PointerValue(v) => v.get_name().to_string_lossy().into_owned(),
        _ => String::new(),
    }
}

/// The number type that all of it is made of, and of how many.
fn elements(ty: AnyTypeEnum<'_>) -> (String, u64) {
    let bytes = || ("i8".to_owned(), 0);
    match ty {
        AnyTypeEnum::IntType(t) if matches!(t.get_bit_width(), 8 | 16 | 32 | 64) => {
            (format!("i{}", t.get_bit_width()), 1)
        }
        AnyTypeEnum::FloatType(t) if matches!(t.get_bit_width(), 16 | 32 | 64) => {
            (ty.to_string().trim_matches('"').to_owned(), 1)
        }
        AnyTypeEnum::PointerType(_) => ("i64".to_owned(), 1),
        AnyTypeEnum::ArrayType(t) => {
            let (element, count) = elements(t.get_element_type().as_any_type_enum());
            (element, count * u64::from(t.len()))
        }
        _ => bytes(),
    }
}

fn size_of(machine: &TargetMachine, ty: AnyTypeEnum<'_>) -> u64 {
    BasicTypeEnum::try_from(ty).map_or(0, |ty| machine.get_target_data().get_abi_size(&ty))
}

/// What the variables begin with, as LLVM writes it into an object of nothing but them.
fn first_values(module: &Module<'_>, machine: &TargetMachine, all: &mut [LibraryVariable]) -> Result<(), String> {
    if all.is_empty() {
        return Ok(());
    }
    for function in module.get_functions().collect::<Vec<_>>() {
        let name = name_of(function.as_global_value());
        if function.count_basic_blocks() > 0 {
            // A declaration takes its place, should a variable begin with its address.
            let declared = module.add_function(&format!("luthier.{name}"), function.get_type(), None);
            let (old, new) = (function.as_value_ref(), declared.as_value_ref());
            // SAFETY: both are functions of this module, of one type; nothing refers to the old one afterwards.
            unsafe {
                if LLVMTypeOf(old) != LLVMTypeOf(new) {
                    return Err(format!("the function {name} is in an address space of its own"));
                }
                LLVMReplaceAllUsesWith(old, new);
                LLVMDeleteFunction(old);
            }
        }
    }
    let kept: Vec<&str> = all.iter().map(|v| v.name.as_str()).collect();
    for global in module.get_globals().collect::<Vec<_>>() {
        if kept.contains(&name_of(global).as_str()) {
            global.set_linkage(Linkage::External);
        } else if address_space(global) == LDS || name_of(global).starts_with("llvm.") {
            let value = global.as_value_ref();
            // SAFETY: a global of this module, which nothing refers to afterwards.
            unsafe {
                LLVMReplaceAllUsesWith(value, LLVMGetUndef(LLVMTypeOf(value)));
                LLVMDeleteGlobal(value);
            }
        }
    }
    let object = machine.write_to_memory_buffer(module, FileType::Object).map_err(|e| e.to_string())?;
    let bytes = object.as_slice();
    let elf = Elf::parse(bytes).map_err(|e| format!("LLVM's object cannot be read: {e}"))?;
    let symbols: HashMap<&str, _> = elf.syms.iter().filter_map(|s| Some((elf.strtab.get_at(s.st_name)?, s))).collect();
    for variable in all {
        let Some(symbol) = symbols.get(variable.name.as_str()) else { continue };
        let Some(section) = elf.section_headers.get(symbol.st_shndx) else { continue };
        let (start, end) = (symbol.st_value, symbol.st_value + variable.size);
        if let Some(range) = section.file_range() {
            let found = bytes.get(range).and_then(|all| all.get(start as usize..end as usize));
            variable.init = found.map(<[u8]>::to_vec).unwrap_or_default();
            if variable.init.iter().all(|byte| *byte == 0) {
                variable.init = Vec::new();
            }
        }
        variable.has_addresses = elf.shdr_relocs.iter().any(|(relocs, list)| {
            let applies = elf.section_headers.get(*relocs).is_some_and(|h| h.sh_info as usize == symbol.st_shndx);
            applies && list.iter().any(|r| (start..end).contains(&r.r_offset))
        });
    }
    Ok(())
}
