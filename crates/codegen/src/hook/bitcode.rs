//! Hooks that are LLVM IR already: a function in a module of text or bitcode.

use inkwell::{
    context::Context,
    memory_buffer::MemoryBuffer,
    types::{AsTypeRef, BasicMetadataTypeEnum, PointerType},
};
use llvm_sys::core::LLVMGetPointerAddressSpace;
use luthier_isa::{Mode, Part};

use super::{
    analyse,
    ast::{At, Scalar, Space, Type},
    compile::{self as pipeline, Library},
    llvm,
    lower::{
        entry::{self, Formal},
        ll,
    },
};
use crate::template::{ArgSpec, HookError, Template};

/// Compiles the function `function` of a module in IR text or bitcode.
pub fn compile(bytes: &[u8], function: &str, mode: Mode, args: &[ArgSpec]) -> Result<Template, HookError> {
    let at: At = (0, 0);
    let fail = |message| HookError::new(function, at, message);
    let library = Library { bytes: bytes.to_vec(), function: function.to_owned() };
    let first = pipeline::first_argument(mode).map_err(fail)?;
    let formals = formals(library.clone(), args.to_vec()).map_err(fail)?;
    let part = entry::Part { file: function, at, callee: "luthier.hook", is_located: false, first, mode };
    let entry = entry::entry(&part, &formals, args, false)?;
    // The hook goes by its own name; an alias in the text keeps odd names out of it.
    let quoted: String = function.bytes().map(|b| format!("\\{b:02x}")).collect();
    let types: Vec<_> = formals
        .iter()
        .map(|f| if matches!(f.ty, Type::Counter | Type::InOut(_)) { "ptr addrspace(5)" } else { ll(f.ty) })
        .collect();
    let declaration = format!("declare void @\"{quoted}\"({})\n", types.join(", "));
    let text = entry.text.replace("@luthier.hook(", &format!("@\"{quoted}\"("));
    let globals: String = (0..entry.variables.len())
        .map(|i| format!("@{} = external hidden addrspace(1) global [0 x i8]\n", entry::variable_name(i)))
        .collect();
    let calls: String = entry.calls.iter().map(|(_, signature)| format!("{signature}\n")).collect();
    let text =
        format!("{globals}{calls}{declaration}{text}attributes #1 = {{ nounwind \"amdgpu-agpr-alloc\"=\"0\" }}\n");
    let input = pipeline::Input { text, library: Some(library), variables: entry.variables, lines: Vec::new() };
    let code = pipeline::compile(input, mode).map_err(fail)?;
    analyse::template(function, mode, code, &entry.places, args).map_err(fail)
}

/// The parameters of a function in IR. A `ptr addrspace(5)` is what its argument makes it.
fn formals(library: Library, args: Vec<ArgSpec>) -> Result<Vec<Formal>, String> {
    llvm::run(move || read_formals(&library.bytes, &library.function, &args))
}

fn read_formals(bytes: &[u8], function: &str, args: &[ArgSpec]) -> Result<Vec<Formal>, String> {
    let cx = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, function);
    let module = cx.create_module_from_ir(buffer).map_err(|e| e.to_string())?;
    let hook = module.get_function(function).ok_or_else(|| format!("the module has no function {function}"))?;
    if hook.get_type().get_return_type().is_some() {
        return Err(format!("{function} returns a value: a hook returns nothing"));
    }
    let params = hook.get_type().get_param_types().into_iter().enumerate();
    params
        .map(|(i, ty)| {
            let ty = match ty {
                BasicMetadataTypeEnum::IntType(t) if t.get_bit_width() == 64 => Type::U64,
                BasicMetadataTypeEnum::IntType(t) if t.get_bit_width() == 32 => Type::U32,
                BasicMetadataTypeEnum::IntType(t) if t.get_bit_width() == 16 => Type::U16,
                BasicMetadataTypeEnum::IntType(t) if t.get_bit_width() == 8 => Type::U8,
                BasicMetadataTypeEnum::IntType(t) if t.get_bit_width() == 1 => Type::Bool,
                BasicMetadataTypeEnum::FloatType(t) => match t.get_bit_width() {
                    16 => Type::F16,
                    32 => Type::F32,
                    _ => Type::F64,
                },
                BasicMetadataTypeEnum::PointerType(t) => match address_space(t) {
                    1 => Type::Ptr { to: Scalar::U8, space: Space::Global },
                    3 => Type::Ptr { to: Scalar::U8, space: Space::Lds },
                    4 => Type::Ptr { to: Scalar::U8, space: Space::Const },
                    5 => match args.get(i) {
                        Some(ArgSpec::Value { part: Part::Low | Part::High, .. }) => Type::InOut(Scalar::U16),
                        Some(ArgSpec::Value { units: 1, .. }) => Type::InOut(Scalar::U32),
                        Some(ArgSpec::Value { .. }) => Type::InOut(Scalar::U64),
                        _ => Type::Counter,
                    },
                    n => return Err(format!("{function}: parameter {i} points to address space {n}")),
                },
                other => return Err(format!("{function}: parameter {i} has type {other}, which no argument has")),
            };
            Ok(Formal { name: format!("parameter {i}"), ty, at: (0, 0) })
        })
        .collect()
}

fn address_space(ty: PointerType<'_>) -> u32 {
    // SAFETY: the type is a pointer type of a live context.
    unsafe { LLVMGetPointerAddressSpace(ty.as_type_ref()) }
}
