//! The shader part around the hook: where each argument is when it begins, and its new value when it ends.
//!
//! LLVM numbers a part's uniform (`inreg`) arguments upward from a first SGPR, the others from v0, and its results from
//! s0 and v0. Arguments that are read and written come first, and the results begin with as many undefined SGPRs as
//! LLVM keeps for itself before the arguments: so each of these has its new value where it had the old one.

use std::fmt::Write;

use luthier_isa::{Mode, Part as Half, Reg, RegRange, Wave};

use super::{
    super::ast::{At, Scalar, Type, Unit},
    address, ll, locations,
};
use crate::template::{AddressPart, ArgSpec, HookError};

/// The most that LLVM passes in registers.
const MAX_SGPRS: u16 = 40;
const MAX_VGPRS: u16 = 136;

/// The IR name of the argument that says where the hook's stack begins in the lane's scratch.
pub const STACK: &str = "stack";

/// The symbol of the shader part.
pub const ENTRY: &str = "luthier.part";

/// The IR name of the `index`th variable.
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
    /// One for each input of each argument: none for those that are baked in.
    pub places: Vec<Vec<RegRange>>,
    /// The argument that is each of the variables.
    pub variables: Vec<usize>,
    /// What the text calls, by name.
    pub calls: Vec<(&'static str, &'static str)>,
    /// Where the EXEC of the beginning is, all the time; only if that was asked for.
    pub exec: Option<RegRange>,
    /// Where the number is that says where the hook's stack begins; read only if it has one.
    pub stack: RegRange,
}

/// What the entry is made for.
pub struct Part<'a> {
    /// Of the hook's source, for errors.
    pub file: &'a str,
    pub at: At,
    /// The function that is called, without its `@`.
    pub callee: &'a str,
    /// The callee has debug information ([`super::locations`]), which the call has to fit into.
    pub is_located: bool,
    /// The SGPR of the first uniform argument.
    pub first: u16,
    pub mode: Mode,
}

/// How one input of an argument travels.
struct Slot {
    arg: usize,
    input: usize,
    units: u16,
    per_lane: bool,
    written: bool,
}

impl Slot {
    /// The raw value's LLVM type.
    fn ty(&self) -> String {
        format!("i{}", 32 * self.units)
    }
    /// The raw value.
    fn name(&self) -> String {
        raw(self.arg, self.input)
    }
}

fn raw(arg: usize, input: usize) -> String {
    format!("%a{arg}.{input}")
}

/// The parameters of the unit's hook.
pub fn formals(unit: &Unit) -> Vec<Formal> {
    let params = unit.functions[0].params.iter();
    params.map(|p| Formal { name: p.name.clone(), ty: p.ty, at: p.at }).collect()
}

/// The part that calls the hook, whose parameters are `formals`, bound to `args`. With `keep_exec` the callee has one more
/// parameter, the EXEC of the beginning.
pub fn entry(part: &Part<'_>, formals: &[Formal], args: &[ArgSpec], keep_exec: bool) -> Result<Entry, HookError> {
    let error = |at: At, message: String| HookError::new(part.file, at, message);
    if formals.len() != args.len() {
        return Err(error(part.at, format!("the hook takes {} arguments, {} given", formals.len(), args.len())));
    }
    // It travels like a register that the hook does not change: at the end it is still there.
    let exec = args.len();
    let (exec_type, exec_units) = match part.mode.wave() {
        Wave::W64 => (Scalar::U64, 2),
        Wave::W32 => (Scalar::U32, 1),
    };
    let exec_spec = ArgSpec::Value { per_lane: false, units: exec_units, part: Half::Whole, written: true };
    let exec_formal = keep_exec.then(|| Formal { name: "exec".to_owned(), ty: Type::InOut(exec_type), at: part.at });
    let formals: Vec<&Formal> = formals.iter().chain(&exec_formal).collect();
    let args: Vec<&ArgSpec> = args.iter().chain(keep_exec.then_some(&exec_spec)).collect();
    let mut slots = Vec::new();
    for (index, (formal, arg)) in formals.iter().zip(&args).enumerate() {
        slots.extend(travel(index, formal, arg).map_err(|message| error(formal.at, message))?);
    }
    // Nothing is asked of it by a hook without a stack.
    let stack = formals.len();
    slots.push(Slot { arg: stack, input: 0, units: 1, per_lane: false, written: false });
    // Written ones first, then the wide before the narrow so that pairs start even.
    slots.sort_by_key(|s| (!s.written, std::cmp::Reverse(s.units)));

    let mut places: Vec<Vec<RegRange>> = vec![Vec::new(); args.len() + 1];
    let mut params = Vec::new();
    let (mut sgpr, mut vgpr) = (part.first, 0);
    for per_lane in [false, true] {
        for slot in slots.iter().filter(|s| s.per_lane == per_lane) {
            let next = if per_lane { &mut vgpr } else { &mut sgpr };
            if slot.arg != stack && *next + slot.units > if per_lane { MAX_VGPRS } else { MAX_SGPRS } {
                return Err(error(part.at, "the hook has more arguments than registers can hold".to_owned()));
            }
            let reg = if per_lane { Reg::vgpr(*next) } else { Reg::sgpr(*next) };
            let range = RegRange::new(reg, slot.units as u8);
            if places[slot.arg].len() <= slot.input {
                places[slot.arg].resize(slot.input + 1, range);
            }
            places[slot.arg][slot.input] = range;
            *next += slot.units;
            let name = if slot.arg == stack { format!("%{STACK}") } else { slot.name() };
            params.push(format!("{}{} {}", slot.ty(), if per_lane { "" } else { " inreg" }, name));
        }
    }

    let mut variables = Vec::new();
    // An empty statement that may write memory: later loads must not come through the scalar cache, which does not see
    // what other hooks have stored.
    let mut body = "  call void asm sideeffect \"\", \"~{memory}\"()\n".to_owned();
    let mut list = Vec::new();
    for (index, (formal, arg)) in formals.iter().zip(&args).enumerate() {
        let wide = if formal.ty.bits() > 32 { 64 } else { 32 };
        let own = raw(index, 0);
        let value = match arg {
            ArgSpec::Const(value) => {
                let value = (*value << (128 - wide)) >> (128 - wide);
                from_raw(&mut body, index, formal.ty, &value.to_string(), wide)
            }
            ArgSpec::Variable { slot } => {
                let same = |other: &usize| matches!(args[*other], ArgSpec::Variable { slot: s } if s == slot);
                let at = variables.iter().position(same).unwrap_or_else(|| {
                    variables.push(index);
                    variables.len() - 1
                });
                let global = format!("@{}", variable_name(at));
                match formal.ty {
                    Type::Ptr { space: super::Space::Const, .. } => {
                        format!("addrspacecast (ptr addrspace(1) {global} to ptr addrspace(4))")
                    }
                    Type::Ptr { space: super::Space::Flat, .. } => {
                        format!("addrspacecast (ptr addrspace(1) {global} to ptr)")
                    }
                    Type::Ptr { .. } => global,
                    _ => format!("ptrtoint (ptr addrspace(1) {global} to i64)"),
                }
            }
            ArgSpec::Slot { .. } | ArgSpec::Value { written: true, .. } => {
                let ty = ll(formal.ty);
                let own = half(&mut body, index, arg, own);
                let value = from_raw(&mut body, index, formal.ty, &own, wide);
                let _ = writeln!(body, "  %s{index} = alloca {ty}, addrspace(5)");
                let _ = writeln!(body, "  store {ty} {value}, ptr addrspace(5) %s{index}");
                list.push(match (index == exec, wide) {
                    (false, _) => format!("ptr addrspace(5) %s{index}"),
                    (true, 64) => format!("i64 {value}"),
                    (true, _) => {
                        let _ = writeln!(body, "  %exec = zext i{wide} {value} to i64");
                        "i64 %exec".to_owned()
                    }
                });
                continue;
            }
            ArgSpec::Literal => from_raw(&mut body, index, formal.ty, &own, wide),
            ArgSpec::Bits { shift, bits } => {
                let _ = writeln!(body, "  %d{index} = lshr i32 {own}, {shift}");
                let _ = writeln!(body, "  %q{index} = and i32 %d{index}, {}", u32::MAX >> (32 - bits));
                from_raw(&mut body, index, formal.ty, &format!("%q{index}"), wide)
            }
            ArgSpec::Value { .. } => {
                let own = half(&mut body, index, arg, own);
                from_raw(&mut body, index, formal.ty, &own, wide)
            }
            ArgSpec::Address(shape) => {
                let inputs: Vec<String> = (0..shape.parts.len()).map(|n| raw(index, n)).collect();
                let address = address::compute(&mut body, index, part.mode, shape, &inputs);
                from_raw(&mut body, index, formal.ty, &address, 64)
            }
            ArgSpec::InRange(shape) => {
                let inputs: Vec<String> = (0..shape.parts.len()).map(|n| raw(index, n)).collect();
                let in_range = address::in_range(&mut body, index, part.mode, shape, &inputs);
                from_raw(&mut body, index, formal.ty, &in_range, 32)
            }
        };
        list.push(format!("{} {value}", ll(formal.ty)));
    }
    let (own, call) = match part.is_located {
        true => (format!(" !dbg !{}", locations::ENTRY), format!(", !dbg !{}", locations::CALL)),
        false => (String::new(), String::new()),
    };
    let _ = writeln!(body, "  call void @{}({}){call}", part.callee, list.join(", "));
    let results = Results { formals: &formals, args: &args, first: part.first, exec: keep_exec.then_some(exec) };
    let returns = results.of(&mut body, &slots);
    let text = format!("define amdgpu_cs {returns} @{ENTRY}({}) #1{own} {{\n{body}}}\n", params.join(", "));
    let stack = places.pop().and_then(|p| p.first().copied()).unwrap_or(RegRange::new(Reg::sgpr(part.first), 1));
    let exec = if keep_exec { places.pop().and_then(|p| p.first().copied()) } else { None };
    let has_address = args.iter().any(|a| matches!(a, ArgSpec::Address(_) | ArgSpec::InRange(_)));
    let calls = if has_address { address::DECLARATIONS.to_vec() } else { Vec::new() };
    Ok(Entry { text, places, variables, calls, exec, stack })
}

/// How the argument travels: one slot for each input, none if it is known at compile time. An error is a sentence about
/// the parameter.
fn travel(arg: usize, formal: &Formal, spec: &ArgSpec) -> Result<Vec<Slot>, String> {
    let (name, bits) = (&formal.name, formal.ty.bits());
    let written = matches!(formal.ty, Type::Counter | Type::InOut(_));
    let need = bits.div_ceil(32).max(1) as u16;
    let one = |units, per_lane, written| vec![Slot { arg, input: 0, units, per_lane, written }];
    match spec {
        ArgSpec::Slot { per_lane: false, units: 2 } if formal.ty == Type::Counter => Ok(one(2, false, true)),
        _ if formal.ty == Type::Counter => Err(format!("{name} is a counter: it needs one, nothing else")),
        ArgSpec::Slot { .. } if !written => {
            Err(format!("{name} is not written by the hook: declare it lt.counter or lt.inout[...]"))
        }
        ArgSpec::Slot { units, .. } if u16::from(*units) != need => {
            Err(format!("{name} takes {need} register(s), it is given {units}"))
        }
        ArgSpec::Slot { per_lane, .. } => Ok(one(need, *per_lane, true)),
        ArgSpec::Const(_)
        | ArgSpec::Literal
        | ArgSpec::Bits { .. }
        | ArgSpec::Variable { .. }
        | ArgSpec::Address(_)
        | ArgSpec::InRange(_)
            if written =>
        {
            Err(format!("{name} is written back: it needs a register"))
        }
        ArgSpec::Const(_) => Ok(Vec::new()),
        ArgSpec::Literal => Ok(one(need, false, false)),
        ArgSpec::Bits { .. } if bits != 32 => Err(format!("{name} has {bits} bits, the number has 32")),
        ArgSpec::Bits { .. } => Ok(one(1, false, false)),
        ArgSpec::Variable { .. } => match formal.ty {
            Type::Ptr { space: super::Space::Global | super::Space::Const | super::Space::Flat, .. }
            | Type::U64
            | Type::I64 => Ok(Vec::new()),
            _ => Err(format!("{name} cannot hold the address of a device variable: declare it lt.ptr[...]")),
        },
        ArgSpec::Value { written: false, .. } if written => {
            Err(format!("{name} is written back: bind it to a register that may change"))
        }
        ArgSpec::Value { written: true, .. } if !written => {
            Err(format!("{name} is not written by the hook: declare it lt.inout[...] if it should be"))
        }
        ArgSpec::Value { units, .. } if u16::from(*units) != need => {
            Err(format!("{name} takes {need} register(s), it is given {units}"))
        }
        ArgSpec::Value { part: Half::Low | Half::High, .. } if bits > 16 => {
            Err(format!("{name} has {bits} bits, half of a register has 16"))
        }
        ArgSpec::Value { per_lane, .. } => Ok(one(need, *per_lane, written)),
        ArgSpec::Address(shape) => match formal.ty {
            Type::Ptr { space: super::Space::Global | super::Space::Const | super::Space::Flat, .. }
            | Type::U64
            | Type::I64 => Ok(computed(arg, &shape.parts)),
            _ => Err(format!("{name} cannot hold an address: declare it lt.u64")),
        },
        ArgSpec::InRange(shape) => match formal.ty {
            Type::Ptr { .. } | Type::F16 | Type::F32 | Type::F64 => {
                Err(format!("{name} cannot hold a truth value: declare it bool"))
            }
            _ if bits > 32 => Err(format!("{name} cannot hold a truth value: declare it bool")),
            _ => Ok(computed(arg, &shape.parts)),
        },
    }
}

/// One slot for each part of what is computed from an instruction's operands.
fn computed(arg: usize, parts: &[AddressPart]) -> Vec<Slot> {
    let slot = |(input, p): (usize, &AddressPart)| Slot {
        arg,
        input,
        units: p.units.into(),
        per_lane: p.per_lane,
        written: false,
    };
    parts.iter().enumerate().map(slot).collect()
}

/// The raw 32 bits with the half that the argument is lowest; its text.
fn half(body: &mut String, index: usize, spec: &ArgSpec, raw: String) -> String {
    if !matches!(spec, ArgSpec::Value { part: Half::High, .. }) {
        return raw;
    }
    let _ = writeln!(body, "  %d{index} = lshr i32 {raw}, 16");
    format!("%d{index}")
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

/// What the part returns.
struct Results<'a> {
    formals: &'a [&'a Formal],
    args: &'a [&'a ArgSpec],
    first: u16,
    /// The argument that holds EXEC: where that is zero, vector registers keep their values.
    exec: Option<usize>,
}

impl Results<'_> {
    /// Reads the written arguments' places and returns them; gives the return type.
    fn of(&self, body: &mut String, slots: &[Slot]) -> String {
        let mut types = Vec::new();
        let mut values = Vec::new();
        if slots.iter().any(|s| s.written && !s.per_lane) {
            for _ in 0..self.first {
                types.push("i32".to_owned());
                values.push("poison".to_owned());
            }
        }
        let mut lanes = Vec::new();
        for slot in slots.iter().filter(|s| s.written) {
            let i = slot.arg;
            let mut value = self.raw(body, slot);
            if !slot.per_lane {
                types.push(slot.ty());
                values.push(value);
                continue;
            }
            if let Some(exec) = self.exec {
                let (int, old) = (slot.ty(), slot.name());
                let _ = writeln!(body, "  %e{i} = icmp ne {} {}, 0", ll(self.formals[exec].ty), raw(exec, 0));
                let _ = writeln!(body, "  %k{i} = select i1 %e{i}, {int} {value}, {int} {old}");
                value = format!("%k{i}");
            }
            // Floats are what LLVM returns in VGPRs.
            let parts = if slot.units == 1 {
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
        types.extend(lanes.iter().map(|_| "float".to_owned()));
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

    /// The written argument's new value, as an integer of its slot's type: bits that are not the parameter's stay.
    fn raw(&self, body: &mut String, slot: &Slot) -> String {
        let (i, ty) = (slot.arg, self.formals[slot.arg].ty);
        let bits = ty.bits();
        let _ = writeln!(body, "  %r{i} = load {}, ptr addrspace(5) %s{i}", ll(ty));
        let mut value = format!("%r{i}");
        if ty.value().is_float() {
            let _ = writeln!(body, "  %b{i} = bitcast {} {value} to i{bits}", ll(ty));
            value = format!("%b{i}");
        }
        if bits >= 32 {
            return value;
        }
        let shift = if matches!(self.args[i], ArgSpec::Value { part: Half::High, .. }) { 16 } else { 0 };
        let others = !(((1u32 << bits) - 1) << shift);
        let _ = writeln!(body, "  %x{i} = zext i{bits} {value} to i32");
        let _ = writeln!(body, "  %y{i} = shl i32 %x{i}, {shift}");
        let _ = writeln!(body, "  %z{i} = and i32 {}, {}", slot.name(), others.cast_signed());
        let _ = writeln!(body, "  %o{i} = or i32 %y{i}, %z{i}");
        format!("%o{i}")
    }
}
