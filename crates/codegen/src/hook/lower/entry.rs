//! The shader part around the hook: where each argument is when it begins, and its new value when it ends.
//!
//! LLVM numbers a part's uniform (`inreg`) arguments upward from a first SGPR, the others from v0, and its results from
//! s0 and v0. Arguments that are read and written come first, and the results begin with as many undefined SGPRs as
//! LLVM keeps for itself before the arguments: so each of these has its new value where it had the old one.

use std::fmt::Write;

use luthier_isa::{Reg, RegRange};

use super::{
    super::{
        ArgSpec, HookError,
        ast::{At, Type, Unit},
        uniform::is_per_lane,
    },
    ll,
};

/// The most that LLVM passes in registers.
const MAX_SGPRS: u16 = 40;
const MAX_VGPRS: u16 = 136;

/// The symbol of the shader part.
pub const ENTRY: &str = "luthier.part";

/// The IR name of the `index`th variable; its real name may hold anything.
pub fn variable_name(index: usize) -> String {
    format!("luthier.variable.{index}")
}

/// A hook's parameter, as the entry sees it.
pub struct Formal {
    pub name: String,
    pub ty: Type,
    pub at: At,
}

/// The entry's IR and its arguments' places.
pub struct Entry {
    pub text: String,
    /// One for each argument; `None` for those that are baked in.
    pub places: Vec<Option<RegRange>>,
    /// Symbols of the variables, by index.
    pub variables: Vec<String>,
    /// Where the EXEC of the beginning is, all the time; only if that was asked for.
    pub exec: Option<RegRange>,
}

/// How one argument travels.
struct Slot {
    arg: usize,
    bits: u32,
    per_lane: bool,
    written: bool,
}

impl Slot {
    fn units(&self) -> u16 {
        if self.bits > 32 { 2 } else { 1 }
    }
    /// The raw value's LLVM type.
    fn ty(&self) -> &'static str {
        if self.bits > 32 { "i64" } else { "i32" }
    }
}

/// The parameters of the unit's hook.
pub fn formals(unit: &Unit) -> Vec<Formal> {
    let params = unit.functions[0].params.iter();
    params.map(|p| Formal { name: p.name.clone(), ty: p.ty, at: p.at }).collect()
}

/// The part that calls `callee` (`@f0`), whose parameters are `formals`, bound to `args`. The first uniform argument is
/// in SGPR `first`. With `keep_exec` the callee has one more parameter, the EXEC of the beginning.
pub fn entry(
    file: &str,
    at: At,
    callee: &str,
    formals: &[Formal],
    args: &[ArgSpec],
    first: u16,
    keep_exec: bool,
) -> Result<Entry, HookError> {
    let error = |at: At, message: String| HookError::new(file, at, message);
    if formals.len() != args.len() {
        return Err(error(at, format!("the hook takes {} arguments, {} given", formals.len(), args.len())));
    }
    // It travels like a counter that nobody changes: at the end it is still there.
    let exec = args.len();
    let exec_formal = keep_exec.then(|| Formal { name: "exec".to_owned(), ty: Type::Counter, at });
    let formals: Vec<&Formal> = formals.iter().chain(&exec_formal).collect();
    let args: Vec<&ArgSpec> = args.iter().chain(keep_exec.then_some(&ArgSpec::Counter)).collect();
    let mut slots = Vec::new();
    for (index, (formal, arg)) in formals.iter().zip(&args).enumerate() {
        if let Some(slot) = slot(index, formal, arg).map_err(|message| error(formal.at, message))? {
            slots.push(slot);
        }
    }
    // Written ones first, then pairs before singles so that pairs start even.
    slots.sort_by_key(|s| (!s.written, std::cmp::Reverse(s.bits > 32)));

    let mut places = vec![None; args.len()];
    let mut params = Vec::new();
    let (mut sgpr, mut vgpr) = (first, 0);
    for per_lane in [false, true] {
        for slot in slots.iter().filter(|s| s.per_lane == per_lane) {
            let next = if per_lane { &mut vgpr } else { &mut sgpr };
            if *next + slot.units() > if per_lane { MAX_VGPRS } else { MAX_SGPRS } {
                return Err(error(at, "the hook has more arguments than registers can hold".to_owned()));
            }
            let reg = if per_lane { Reg::vgpr(*next) } else { Reg::sgpr(*next) };
            places[slot.arg] = Some(RegRange::new(reg, slot.units() as u8));
            *next += slot.units();
            params.push(format!("{}{} %a{}", slot.ty(), if per_lane { "" } else { " inreg" }, slot.arg));
        }
    }

    let mut variables = Vec::new();
    // An empty statement that may write memory: later loads must not come through the scalar cache, which does not see
    // what other hooks have stored.
    let mut body = "  call void asm sideeffect \"\", \"~{memory}\"()\n".to_owned();
    let mut list = Vec::new();
    for (index, (formal, arg)) in formals.iter().zip(&args).enumerate() {
        let bits = formal.ty.bits();
        let value = match arg {
            ArgSpec::Const(value) => {
                let wide = if bits > 32 { 64 } else { 32 };
                let value = (*value << (128 - wide)) >> (128 - wide);
                from_raw(&mut body, index, formal.ty, &value.to_string(), wide)
            }
            ArgSpec::Variable { symbol } => {
                let at = variables.iter().position(|v| v == symbol).unwrap_or_else(|| {
                    variables.push(symbol.clone());
                    variables.len() - 1
                });
                let global = format!("@{}", variable_name(at));
                match formal.ty {
                    Type::Ptr { space: super::Space::Const, .. } => {
                        format!("addrspacecast (ptr addrspace(1) {global} to ptr addrspace(4))")
                    }
                    Type::Ptr { .. } => global,
                    _ => format!("ptrtoint (ptr addrspace(1) {global} to i64)"),
                }
            }
            ArgSpec::Counter | ArgSpec::RegInOut(_) => {
                let int = if bits > 32 { "i64" } else { "i32" };
                let ty = ll(formal.ty);
                let value =
                    from_raw(&mut body, index, formal.ty, &format!("%a{index}"), if int == "i64" { 64 } else { 32 });
                let _ = writeln!(body, "  %s{index} = alloca {ty}, addrspace(5)");
                let _ = writeln!(body, "  store {ty} {value}, ptr addrspace(5) %s{index}");
                list.push(if index == exec { format!("i64 {value}") } else { format!("ptr addrspace(5) %s{index}") });
                continue;
            }
            ArgSpec::Reg(_) => {
                from_raw(&mut body, index, formal.ty, &format!("%a{index}"), if bits > 32 { 64 } else { 32 })
            }
        };
        list.push(format!("{} {value}", ll(formal.ty)));
    }
    let _ = writeln!(body, "  call void @{callee}({})", list.join(", "));
    let returns = results(&mut body, &formals, &slots, first, keep_exec.then_some(exec));
    let text = format!("define amdgpu_cs {returns} @{ENTRY}({}) #1 {{\n{body}}}\n", params.join(", "));
    let exec = if keep_exec { places.pop().flatten() } else { None };
    Ok(Entry { text, places, variables, exec })
}

/// Where the argument has to travel; `None` if it is known at compile time. An error is a sentence about the parameter.
fn slot(arg: usize, formal: &Formal, spec: &ArgSpec) -> Result<Option<Slot>, String> {
    let (name, bits) = (&formal.name, formal.ty.bits());
    let written = matches!(formal.ty, Type::Counter | Type::InOut(_));
    match spec {
        ArgSpec::Counter if formal.ty == Type::Counter => {
            Ok(Some(Slot { arg, bits: 64, per_lane: false, written: true }))
        }
        _ if formal.ty == Type::Counter => Err(format!("{name} is a counter: it needs one, nothing else")),
        ArgSpec::Counter => Err(format!("a counter needs a parameter of type lt.counter, {name} is none")),
        ArgSpec::Const(_) | ArgSpec::Variable { .. } if written => {
            Err(format!("{name} is written back: it needs a register"))
        }
        ArgSpec::Const(_) => Ok(None),
        ArgSpec::Variable { .. } => match formal.ty {
            Type::Ptr { space: super::Space::Global | super::Space::Const, .. } | Type::U64 | Type::I64 => Ok(None),
            _ => Err(format!("{name} cannot hold the address of a device variable: declare it lt.ptr[...]")),
        },
        ArgSpec::Reg(_) if written => Err(format!("{name} is written back: bind it to a register that may change")),
        ArgSpec::RegInOut(_) if !written => {
            Err(format!("{name} is not written by the hook: declare it lt.inout[...] if it should be"))
        }
        ArgSpec::Reg(range) | ArgSpec::RegInOut(range) => {
            let need = bits.div_ceil(32).max(1);
            if u32::from(range.count) != need {
                return Err(format!("{name} takes {need} register(s), {range} is {}", range.count));
            }
            Ok(Some(Slot { arg, bits, per_lane: is_per_lane(spec), written }))
        }
    }
}

/// Turns the raw i32 or i64 into a value of the parameter's type; returns its text.
fn from_raw(body: &mut String, index: usize, ty: Type, raw: &str, raw_bits: u32) -> String {
    let bits = ty.bits();
    let mut value = raw.to_owned();
    if bits < raw_bits {
        let _ = writeln!(body, "  %n{index} = trunc i{raw_bits} {value} to i{bits}");
        value = format!("%n{index}");
    }
    let convert = match ty.value() {
        Type::F16 | Type::F32 | Type::F64 => "bitcast",
        Type::Ptr { .. } => "inttoptr",
        _ => return value,
    };
    let _ = writeln!(body, "  %c{index} = {convert} i{bits} {value} to {}", ll(ty));
    format!("%c{index}")
}

/// Reads the written arguments' places and returns them; gives the return type. `exec` is the argument that holds EXEC:
/// where that is zero, vector registers keep their values.
fn results(body: &mut String, formals: &[&Formal], slots: &[Slot], first: u16, exec: Option<usize>) -> String {
    let mut types = Vec::new();
    let mut values = Vec::new();
    if slots.iter().any(|s| s.written && !s.per_lane) {
        for _ in 0..first {
            types.push("i32");
            values.push("poison".to_owned());
        }
    }
    let mut lanes = Vec::new();
    for slot in slots.iter().filter(|s| s.written) {
        let i = slot.arg;
        let ty = formals[i].ty;
        let _ = writeln!(body, "  %r{i} = load {}, ptr addrspace(5) %s{i}", ll(ty));
        let mut value = format!("%r{i}");
        if ty.is_float() || matches!(ty, Type::InOut(of) if Type::from(of).is_float()) {
            let _ = writeln!(body, "  %b{i} = bitcast {} {value} to i{}", ll(ty), ty.bits());
            value = format!("%b{i}");
        }
        if !slot.per_lane {
            types.push(slot.ty());
            values.push(value);
            continue;
        }
        if let Some(exec) = exec {
            let _ = writeln!(body, "  %e{i} = icmp ne i64 %a{exec}, 0");
            let _ = writeln!(body, "  %k{i} = select i1 %e{i}, {int} {value}, {int} %a{i}", int = slot.ty());
            value = format!("%k{i}");
        }
        // Floats are what LLVM returns in VGPRs.
        let parts = if slot.units() == 1 {
            vec![value]
        } else {
            let _ = writeln!(body, "  %l{i} = trunc i64 {value} to i32");
            let _ = writeln!(body, "  %m{i} = lshr i64 {value}, 32");
            let _ = writeln!(body, "  %h{i} = trunc i64 %m{i} to i32");
            vec![format!("%l{i}"), format!("%h{i}")]
        };
        for (part, value) in parts.into_iter().enumerate() {
            let _ = writeln!(body, "  %f{i}.{part} = bitcast i32 {value} to float");
            lanes.push(format!("%f{i}.{part}"));
        }
    }
    types.extend(lanes.iter().map(|_| "float"));
    values.extend(lanes);
    if types.is_empty() {
        // A part that returns something ends by falling through, one that returns nothing by ending the wave.
        body.push_str("  ret i32 poison\n");
        return "i32".to_owned();
    }
    let returns = format!("{{ {} }}", types.join(", "));
    let mut whole = "poison".to_owned();
    for (i, (ty, value)) in types.iter().zip(&values).enumerate() {
        let _ = writeln!(body, "  %w{i} = insertvalue {returns} {whole}, {ty} {value}, {i}");
        whole = format!("%w{i}");
    }
    let _ = writeln!(body, "  ret {returns} {whole}");
    returns
}
