//! Every intrinsic that LLVM has for AMD GPUs, in a hook: it becomes a template or is refused with a sentence, and never
//! ends the process. `intrinsics.txt` has LLVM 22's names.

use std::collections::BTreeMap;

use inkwell::{
    attributes::{Attribute, AttributeLoc},
    context::Context,
    intrinsics::Intrinsic,
    module::Module,
    types::BasicMetadataTypeEnum,
    values::FunctionValue,
};

use super::*;

/// All of them for all processors: `LUTHIER_INTRINSICS=all`.
const EVERY: usize = 24;

#[test]
fn every_intrinsic_works_or_is_refused_with_a_sentence() {
    let all = std::env::var("LUTHIER_INTRINSICS").is_ok_and(|which| which == "all");
    let names = include_str!("intrinsics.txt").lines();
    let (mut works, mut refused, mut tried) = (0, 0, 0);
    for (number, name) in names.enumerate() {
        if !all && number % EVERY != 0 {
            continue;
        }
        let Some(text) = hook_of(name) else { continue };
        tried += 1;
        eprintln!("{name}");
        for mode in modes().filter(|mode| all || mode.target() == Target::Gfx90a || mode.target() == Target::Gfx1250) {
            let source = HookSource::Bitcode {
                bytes: text.clone().into_bytes(),
                function: "f".to_owned(),
                symbols: BTreeMap::new(),
            };
            match compile_for(&source, mode, &[]) {
                Ok(template) => {
                    check(&template);
                    works += 1;
                }
                Err(error) => {
                    assert!(error.message.len() > 10 && !error.message.contains('\n'), "{name}: {}", error.message);
                    refused += 1;
                }
            }
        }
    }
    println!("{tried} intrinsics: {works} templates, {refused} refusals");
    assert!(tried > 20 && works > 20 && refused > 10, "{tried} {works} {refused}");
}

/// A hook that calls it with values from memory, zero where it wants a constant. None for one that there is not, or that
/// has several types of which none here is one.
fn hook_of(name: &str) -> Option<String> {
    let found = Intrinsic::find(name)?;
    let cx = Context::create();
    if !found.is_overloaded() {
        let module = cx.create_module("hook");
        let function = found.get_declaration(&module, &[])?;
        return call(&module, function);
    }
    ["i32", "float", "i64", "half", "<2 x half>"].iter().find_map(|ty| {
        [1, 2, 3].iter().find_map(|count| {
            let params = vec![*ty; *count].join(", ");
            let suffix = match *ty {
                "float" => "f32",
                "half" => "f16",
                "<2 x half>" => "v2f16",
                ty => ty,
            };
            let args: Vec<String> = (0..*count).map(|n| format!("{ty} %v{n}")).collect();
            let loads: String =
                (0..*count).map(|n| format!("  %v{n} = load volatile {ty}, ptr addrspace(1) @p\n")).collect();
            let text = format!(
                "target triple = \"amdgcn-amd-amdhsa\"\n@p = external addrspace(1) global i64\n\
                 declare {ty} @{name}.{suffix}({params})\ndefine void @f() {{\n{loads}  %r = call {ty} \
                 @{name}.{suffix}({})\n  store volatile {ty} %r, ptr addrspace(1) @p\n  ret void\n}}\n",
                args.join(", ")
            );
            super::super::contents(text.as_bytes()).is_ok().then_some(text)
        })
    })
}

fn call(module: &Module<'_>, callee: FunctionValue<'_>) -> Option<String> {
    let mut body = String::new();
    let constant = Attribute::get_named_enum_kind_id("immarg");
    let mut args = Vec::new();
    for (n, ty) in callee.get_type().get_param_types().into_iter().enumerate() {
        let text = ty.to_string().trim_matches('"').to_owned();
        if !matches!(
            ty,
            BasicMetadataTypeEnum::IntType(_)
                | BasicMetadataTypeEnum::FloatType(_)
                | BasicMetadataTypeEnum::VectorType(_)
                | BasicMetadataTypeEnum::PointerType(_)
        ) {
            return None;
        }
        if callee.get_enum_attribute(AttributeLoc::Param(n as u32), constant).is_some() {
            args.push(format!("{text} {}", if text == "i1" { "false" } else { "0" }));
        } else {
            body += &format!("  %v{n} = load volatile {text}, ptr addrspace(1) @p\n");
            args.push(format!("{text} %v{n}"));
        }
    }
    let name = callee.get_name().to_string_lossy().into_owned();
    let returns = callee.get_type().get_return_type();
    let args = args.join(", ");
    match returns.map(|ty| ty.to_string().trim_matches('"').to_owned()) {
        None => body += &format!("  call void @{name}({args})\n"),
        Some(ty) if ty == "token" => return None,
        Some(ty) => {
            body += &format!("  %r = call {ty} @{name}({args})\n  store volatile {ty} %r, ptr addrspace(1) @p\n");
        }
    }
    let declaration = module.print_to_string().to_string();
    let declaration: String =
        declaration.lines().filter(|line| line.starts_with("declare")).collect::<Vec<_>>().join("\n");
    let declaration = declaration.split(" #").next()?.to_owned();
    Some(format!(
        "target triple = \"amdgcn-amd-amdhsa\"\n@p = external addrspace(1) global i64\n{declaration}\ndefine void @f() \
         {{\n{body}  ret void\n}}\n"
    ))
}
