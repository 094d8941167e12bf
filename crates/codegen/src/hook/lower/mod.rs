//! From the typed tree to LLVM IR, as text.
//!
//! The IR is written as text and parsed by LLVM, which costs some 0.1 ms a hook. In return nothing here can crash on a
//! malformed tree: what does not fit together is a parse error with a message. Every function becomes an internal,
//! always inlined one; variables are allocas, which LLVM turns into values.
//!
//! | module | one idea |
//! |---|---|
//! | [`stmt`] | variables and control flow |
//! | [`expr`] | values |
//! | [`arith`] | Python's arithmetic on fixed widths |
//! | [`intrinsic`] | what a hook asks of the machine |
//! | [`across`] | values across the lanes of a wave |
//! | [`constants`] | tables of constants |
//! | [`record`] | records for the host |
//! | [`entry`] | the shader part around the hook, and where its arguments are |
//! | [`address`] | the address that an instruction accesses |
//! | [`locations`] | where each instruction comes from |

mod across;
mod address;
mod arith;
mod constants;
pub(super) mod entry;
mod expr;
mod intrinsic;
pub(super) mod locations;
mod record;
mod stmt;

use std::{collections::BTreeMap, fmt::Write};

use luthier_isa::Mode;
use luthier_loader::HookLine;

use self::{entry::Entry, locations::Locations};
use super::{
    ast::{At, Function, Scalar, Space, Type, Unit},
    processor,
    uniform::OfLanes,
};
use crate::template::HookError;

/// Declared, called, and replaced by machine code after optimisation (see `wave_add`).
pub const WAVE_ADD: &str = "luthier.wave_add.";

/// How code has to behave in a wave without active lanes.
#[derive(Clone, Copy)]
pub(super) enum NoLanes<'u> {
    /// As it comes: what LLVM computes in scalar registers is right, and vector instructions do nothing.
    AsItComes,
    /// It runs with one lane, so that what the wave computes with vector instructions is right as well; that lane must
    /// not do what lanes do each by itself. The EXEC of the hook's beginning is `%exec` in every function.
    OneLane(&'u OfLanes),
}

/// The IR of a whole module, growing.
pub(super) struct ModuleText<'u> {
    unit: &'u Unit,
    mode: Mode,
    no_lanes: NoLanes<'u>,
    functions: String,
    declarations: BTreeMap<String, String>,
    locations: Locations,
}

impl<'u> ModuleText<'u> {
    pub fn new(unit: &'u Unit, mode: Mode, no_lanes: NoLanes<'u>) -> Result<ModuleText<'u>, HookError> {
        let (functions, declarations, locations) = (String::new(), BTreeMap::new(), Locations::default());
        let mut module = ModuleText { unit, mode, no_lanes, functions, declarations, locations };
        for index in 0..unit.functions.len() {
            module.function(index)?;
        }
        Ok(module)
    }

    /// Notes that `name` is called; `signature` is its declaration, attributes included.
    pub fn declare(&mut self, name: &str, signature: String) {
        self.declarations.entry(name.to_owned()).or_insert(signature);
    }

    /// The finished text, with `entry` as the shader part, and what the lines of its debug information stand for.
    pub fn finish(mut self, entry: &Entry) -> (String, Vec<HookLine>) {
        let mut out = String::new();
        for (name, signature) in &entry.calls {
            self.declare(name, (*signature).to_owned());
        }
        for i in 0..entry.variables.len() {
            // Hidden: resolved in the code object that the template is placed in, so addressed relative to the PC.
            let _ = writeln!(out, "@{} = external hidden addrspace(1) global [0 x i8]", entry::variable_name(i));
        }
        for (number, table) in self.unit.tables.iter().enumerate() {
            out.push_str(&constants::definition(number, table));
        }
        for signature in self.declarations.values() {
            let _ = writeln!(out, "{signature}");
        }
        out.push_str(&self.functions);
        out.push_str(&entry.text);
        out.push_str("attributes #0 = { nounwind convergent alwaysinline }\n");
        out.push_str("attributes #1 = { nounwind \"amdgpu-agpr-alloc\"=\"0\" }\n");
        out.push_str("attributes #2 = { nounwind convergent willreturn memory(argmem: readwrite) }\n");
        out.push_str("attributes #3 = { nounwind convergent }\n");
        let _ = writeln!(out, "!0 = !{{!\"{}\"}}", processor::exec(self.mode).0);
        out.push_str(&self.locations.metadata(self.unit));
        (out, self.locations.lines(self.unit))
    }

    /// What every function takes besides its own parameters.
    fn exec_argument(&self) -> Option<String> {
        matches!(self.no_lanes, NoLanes::OneLane(_)).then(|| "i64 %exec".to_owned())
    }

    fn function(&mut self, index: usize) -> Result<(), HookError> {
        let function = &self.unit.functions[index];
        let mut body = Body::new(self, index, function)?;
        body.run()?;
        let (allocas, code, mut params) = (body.allocas, body.code, body.params);
        params.extend(self.exec_argument());
        let returns = function.returns.map_or("void".to_owned(), |t| ll(t).to_owned());
        let _ = write!(
            self.functions,
            "define internal {returns} @f{index}({params}) #0 !dbg !{subprogram} {{\nentry:\n{allocas}{code}}}\n",
            params = params.join(", "),
            subprogram = locations::function(index)
        );
        Ok(())
    }
}

/// The LLVM type of a value.
pub(super) fn ll(ty: Type) -> &'static str {
    match ty.value() {
        Type::Bool => "i1",
        Type::U8 | Type::I8 => "i8",
        Type::U16 | Type::I16 => "i16",
        Type::U32 | Type::I32 => "i32",
        Type::F16 => "half",
        Type::F32 => "float",
        Type::F64 => "double",
        Type::Ptr { space, .. } => ll_pointer(space),
        // Arrays never are values; their places are made by hand.
        _ => "i64",
    }
}

fn ll_pointer(space: Space) -> &'static str {
    match space {
        Space::Global => "ptr addrspace(1)",
        Space::Lds => "ptr addrspace(3)",
        Space::Scratch => "ptr addrspace(5)",
        Space::Const => "ptr addrspace(4)",
        Space::Flat => "ptr",
    }
}

/// The LLVM type of an element in memory: a bool takes a byte.
fn ll_memory(scalar: Scalar) -> &'static str {
    if scalar == Scalar::Bool { "i8" } else { ll(scalar.into()) }
}

/// A value: its LLVM type and the operand's text.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub ty: Type,
    pub text: String,
}

impl Val {
    fn typed(&self) -> String {
        format!("{} {}", ll(self.ty), self.text)
    }
}

/// A variable's place.
#[derive(Clone, Debug)]
struct Var {
    ty: Type,
    place: String,
}

/// One function's body, growing.
pub(super) struct Body<'m, 'u> {
    module: &'m mut ModuleText<'u>,
    function: &'u Function,
    /// The function's number.
    index: usize,
    /// What is being translated.
    at: At,
    vars: BTreeMap<&'u str, Var>,
    params: Vec<String>,
    allocas: String,
    code: String,
    next: u32,
    /// The labels of `continue` and `break`, innermost last.
    loops: Vec<(String, String)>,
    /// What an update finds in memory.
    old: Option<Val>,
    /// The block has its branch already: what follows cannot be reached.
    ended: bool,
}

impl<'m, 'u> Body<'m, 'u> {
    fn new(module: &'m mut ModuleText<'u>, index: usize, function: &'u Function) -> Result<Body<'m, 'u>, HookError> {
        let mut body = Body {
            module,
            function,
            index,
            at: function.at,
            vars: BTreeMap::new(),
            params: Vec::new(),
            allocas: String::new(),
            code: String::new(),
            next: 0,
            loops: Vec::new(),
            old: None,
            ended: false,
        };
        for (i, param) in function.params.iter().enumerate() {
            let place = match param.ty {
                // The entry owns the place and reads it when the hook is done.
                Type::Counter | Type::InOut(_) => {
                    body.params.push(format!("ptr addrspace(5) %p{i}"));
                    format!("%p{i}")
                }
                Type::Array { .. } => return body.fail(param.at, "an array cannot be a parameter"),
                ty => {
                    body.params.push(format!("{} %p{i}", ll(ty)));
                    let place = body.alloca(ll(ty));
                    body.line(format!("store {} %p{i}, ptr addrspace(5) {place}", ll(ty)));
                    place
                }
            };
            body.vars.insert(&param.name, Var { ty: param.ty, place });
        }
        for local in &function.locals {
            let place = match local.ty {
                Type::Array { of, len } => body.alloca(&format!("[{len} x {}]", ll_memory(of))),
                ty => body.alloca(ll(ty)),
            };
            body.vars.insert(&local.name, Var { ty: local.ty, place });
        }
        Ok(body)
    }

    fn fail<T>(&self, at: At, message: impl Into<String>) -> Result<T, HookError> {
        Err(HookError::new(&self.function.file, at, message))
    }

    fn alloca(&mut self, ty: &str) -> String {
        let name = format!("%v{}", self.fresh());
        let _ = writeln!(self.allocas, "  {name} = alloca {ty}, addrspace(5)");
        name
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn line(&mut self, text: impl AsRef<str>) {
        let location = self.module.locations.of(self.module.unit, self.index, self.at);
        let _ = writeln!(self.code, "  {}, !dbg !{location}", text.as_ref());
    }

    /// An instruction with a result.
    fn op(&mut self, text: impl AsRef<str>) -> String {
        let name = format!("%t{}", self.fresh());
        self.line(format!("{name} = {}", text.as_ref()));
        name
    }

    fn labels<const N: usize>(&mut self, what: [&str; N]) -> [String; N] {
        let n = self.fresh();
        what.map(|w| format!("{w}{n}"))
    }

    fn begin(&mut self, label: &str) {
        let _ = writeln!(self.code, "{label}:");
        self.ended = false;
    }

    fn jump(&mut self, label: &str) {
        if !self.ended {
            self.line(format!("br label %{label}"));
            self.ended = true;
        }
    }

    fn branch(&mut self, cond: &Val, then: &str, otherwise: &str) {
        self.line(format!("br i1 {}, label %{then}, label %{otherwise}", cond.text));
        self.ended = true;
    }

    /// Runs `effect` only if some lane is active. Its value is zero otherwise.
    fn with_lanes(
        &mut self,
        effect: impl FnOnce(&mut Self) -> Result<Option<Val>, HookError>,
    ) -> Result<Option<Val>, HookError> {
        if matches!(self.module.no_lanes, NoLanes::AsItComes) {
            return effect(self);
        }
        let some = Val { ty: Type::Bool, text: self.op("icmp ne i64 %exec, 0") };
        let [yes, no, out] = self.labels(["lanes", "nolanes", "anyway"]);
        self.branch(&some, &yes, &no);
        self.begin(&yes);
        let value = effect(self)?;
        let place = value.as_ref().map(|v| (self.alloca(ll(v.ty)), v.ty));
        if let (Some(value), Some((place, _))) = (&value, &place) {
            self.line(format!("store {}, ptr addrspace(5) {place}", value.typed()));
        }
        self.jump(&out);
        self.begin(&no);
        if let Some((place, ty)) = &place {
            self.line(format!("store {} zeroinitializer, ptr addrspace(5) {place}", ll(*ty)));
        }
        self.jump(&out);
        self.begin(&out);
        Ok(place.map(|(place, ty)| Val { ty, text: self.op(format!("load {}, ptr addrspace(5) {place}", ll(ty))) }))
    }

    /// Whether something is among what lanes do each by itself.
    fn is_of_lanes(&self, which: impl FnOnce(&OfLanes) -> bool) -> bool {
        match self.module.no_lanes {
            NoLanes::AsItComes => false,
            NoLanes::OneLane(found) => which(found),
        }
    }

    fn var(&self, name: &str, at: At) -> Result<Var, HookError> {
        match self.vars.get(name) {
            Some(var) => Ok(var.clone()),
            None => self.fail(at, format!("no variable {name}")),
        }
    }
}
