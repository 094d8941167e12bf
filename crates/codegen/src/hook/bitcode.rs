//! Hooks that are LLVM IR already: a function in a module of text or bitcode.

use inkwell::{
    attributes::{Attribute, AttributeLoc},
    context::Context,
    memory_buffer::MemoryBuffer,
    types::{AsTypeRef, BasicMetadataTypeEnum, PointerType},
    values::FunctionValue,
};
use llvm_sys::core::LLVMGetPointerAddressSpace;
use luthier_isa::{Mode, Part};

use super::{
    Bitcode, analyse,
    ast::{At, Scalar, Space, Type},
    compile::{self as pipeline, Library},
    given, library, llvm,
    lower::{
        entry::{self, Formal},
        ll, locations,
    },
    place,
    refusal::Refusal,
};
use crate::template::{ArgSpec, HookError, Place, Template};

/// Compiles a hook for arguments of these kinds.
pub fn compile(source: &Bitcode, mode: Mode, args: &[ArgSpec]) -> Result<Template, HookError> {
    let Bitcode { bytes, function, symbols, shared } = source;
    let function = function.as_str();
    let at: At = (0, 0);
    let fail = |refusal: Refusal| refusal.of_hook(None);
    let mut library =
        Library { bytes: bytes.clone(), function: function.to_owned(), symbols: symbols.clone(), given: Vec::new() };
    let first = pipeline::first_argument(mode).map_err(fail)?;
    let (mut formals, asked, begins) = formals(library.clone(), args.to_vec()).map_err(fail)?;
    let fail = |refusal: Refusal| refusal.of_hook(begins.as_ref());
    // Who asks for more than the source's arguments gives what the hook asks for.
    let own = formals.len();
    if args.len() > own {
        library.given = given::of(asked.iter().map(String::as_str), mode.target(), !shared.is_empty());
        let more = library.given.iter().map(|given| Formal { name: given.name().to_owned(), ty: given.ty(), at });
        formals.extend(more);
    }
    let part = entry::Part { file: function, at, callee: "luthier.hook", is_located: true, first, mode };
    let entry = entry::entry(&part, &formals, args, false)?;
    // The hook goes by its own name; an alias in the text keeps odd names out of it.
    let quoted: String = function.bytes().map(|b| format!("\\{b:02x}")).collect();
    let types: Vec<_> = formals[..own]
        .iter()
        .map(|f| if matches!(f.ty, Type::Counter | Type::InOut(_)) { "ptr addrspace(5)" } else { ll(f.ty) })
        .collect();
    let declaration = format!("declare void @\"{quoted}\"({})\n", types.join(", "));
    let (around, callee) = match library.given.is_empty() {
        true => (String::new(), format!("@\"{quoted}\"(")),
        false => (given::around(&quoted, &types, &library.given, shared), format!("@{}(", given::AROUND)),
    };
    let text = entry.text.replace("@luthier.hook(", &callee);
    let globals: String = (0..entry.variables.len())
        .map(|i| format!("@{} = external hidden addrspace(1) global [0 x i8]\n", entry::variable_name(i)))
        .collect();
    let calls: String = entry.calls.iter().map(|(_, signature)| format!("{signature}\n")).collect();
    let text = format!(
        "{globals}{calls}{declaration}{around}{text}attributes #1 = {{ nounwind \"amdgpu-agpr-alloc\"=\"0\" }}\n{}",
        locations::frame()
    );
    let input = pipeline::Input { text, library: Some(library), variables: entry.variables.clone(), lines: Vec::new() };
    let mut code = pipeline::compile(input, mode).map_err(fail)?;
    code.lines.iter_mut().for_each(|line| line.function = function.to_owned());
    library::check_code(&code).map_err(fail)?;
    analyse::template(function, mode, code, &entry, args).map_err(|said| fail(said.into()))
}

/// The parameters of a function in IR, what it asks the processor for, and where it begins. A `ptr addrspace(5)` is what
/// its argument makes it.
fn formals(library: Library, args: Vec<ArgSpec>) -> Result<Read, Refusal> {
    llvm::run(move || read_formals(&library.bytes, &library.function, &args))
}

type Read = (Vec<Formal>, Vec<String>, Option<Place>);

fn read_formals(bytes: &[u8], function: &str, args: &[ArgSpec]) -> Result<Read, Refusal> {
    let cx = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, function);
    let module = cx.create_module_from_ir(buffer).map_err(|e| e.to_string())?;
    let hook = module.get_function(function).ok_or_else(|| library::no_function(&module, function))?;
    if hook.get_type().get_return_type().is_some() {
        return Err(format!("{function} returns a value: a hook returns nothing").into());
    }
    let params = hook.get_type().get_param_types().into_iter().enumerate();
    let formals: Result<Vec<Formal>, String> = params
        .map(|(i, ty)| {
            let what = |problem: String| format!("{function}: parameter {} {problem}", i + 1);
            if is_by_value(hook, i) {
                return Err(what("is passed in memory".to_owned()));
            }
            let ty = parameter(ty, args.get(i)).ok_or_else(|| {
                let text = ty.to_string();
                what(format!("has type {}, which no argument has", text.trim_matches('"')))
            })?;
            Ok(Formal { name: format!("parameter {}", i + 1), ty, at: (0, 0) })
        })
        .collect();
    Ok((formals?, library::asked(&module, hook), place::of_function(hook)))
}

/// A parameter's type. A pointer to scratch is what its argument makes it.
pub fn parameter(ty: BasicMetadataTypeEnum<'_>, arg: Option<&ArgSpec>) -> Option<Type> {
    Some(match ty {
        BasicMetadataTypeEnum::IntType(t) => match t.get_bit_width() {
            64 => Type::U64,
            32 => Type::U32,
            16 => Type::U16,
            8 => Type::U8,
            1 => Type::Bool,
            _ => return None,
        },
        BasicMetadataTypeEnum::FloatType(t) => match ty.to_string().trim_matches('"') {
            "half" => Type::F16,
            _ if t.get_bit_width() == 32 => Type::F32,
            _ if t.get_bit_width() == 64 => Type::F64,
            _ => return None,
        },
        BasicMetadataTypeEnum::PointerType(t) => match address_space(t) {
            0 => Type::Ptr { to: Scalar::U8, space: Space::Flat },
            1 => Type::Ptr { to: Scalar::U8, space: Space::Global },
            3 => Type::Ptr { to: Scalar::U8, space: Space::Lds },
            4 => Type::Ptr { to: Scalar::U8, space: Space::Const },
            5 => match arg {
                Some(ArgSpec::Value { part: Part::Low | Part::High, .. }) => Type::InOut(Scalar::U16),
                Some(ArgSpec::Value { units: 1, .. }) => Type::InOut(Scalar::U32),
                Some(ArgSpec::Value { .. }) => Type::InOut(Scalar::U64),
                _ => Type::Counter,
            },
            _ => return None,
        },
        _ => return None,
    })
}

/// The parameter is a structure that the caller has put into memory, or a place for the result.
pub fn is_by_value(function: FunctionValue<'_>, index: usize) -> bool {
    ["byval", "byref", "sret", "inalloca", "preallocated"].iter().any(|name| {
        let kind = Attribute::get_named_enum_kind_id(name);
        function.get_enum_attribute(AttributeLoc::Param(index as u32), kind).is_some()
    })
}

fn address_space(ty: PointerType<'_>) -> u32 {
    // SAFETY: the type is a pointer type of a live context.
    unsafe { LLVMGetPointerAddressSpace(ty.as_type_ref()) }
}
