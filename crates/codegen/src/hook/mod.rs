//! Hooks: from the typed tree that the Python front end makes, or from LLVM IR, to a [`Template`].
//!
//! A hook is compiled once for a target and a shape of its arguments, as a *shader part*: code that begins with its
//! arguments in registers and ends by falling through, results in registers too. LLVM believes that nothing else is
//! alive, so it uses registers from the bottom up; placement renames them.
//!
//! | module | one idea |
//! |---|---|
//! | [`ast`] | the tree, and its JSON |
//! | `uniform` | which values are the same in all lanes |
//! | `lower` | tree to LLVM IR |
//! | `wave_add`, `scalar_atomic` | one atomic add for a wave, by a lane of it; atomics by scalar instructions |
//! | `first_lane` | what all lanes share, where LLVM has it in a vector register |
//! | `tables` | arrays in registers without register indexing |
//! | `signs` | zeros keep their signs |
//! | `offsets` | constant offsets become relocation addends |
//! | `bitcode`, `library`, `inline_asm` | hooks that are LLVM IR already, and what they may not ask for |
//! | `calls` | a function's instructions, what its calls call |
//! | `given` | what they ask the processor for, as arguments |
//! | `globals`, [`contents`](mod@contents) | a module's variables and constants; what it has |
//! | `stack`, `constants`, `scratch_base` | memory of each lane, and read-only memory |
//! | `llvm`, `compile`, `own_process` | LLVM: IR to object; of code of others in a process of its own |
//! | `jobs` | what LLVM is at work on when the process ends |
//! | `place`, `refusal` | where in a module's source something is; what is said of it |
//! | `kept` | objects that LLVM has made, in files |
//! | `object`, `code` | object to instructions and relocations |
//! | `processor` | what differs between processors |
//! | `guard` | registers that LLVM leaves undefined, waves without lanes |
//! | `widen`, `stale` | encodings that reach all registers; SGPRs that the application has read |
//! | `apart` | wait states that LLVM has miscounted |
//! | `assemble` | assembly text to instructions |
//! | `edit` | putting instructions into code |
//! | `analyse` | which registers the code touches, and how |

mod analyse;
mod apart;
mod assemble;
pub mod ast;
mod bitcode;
mod calls;
mod code;
mod compile;
mod constants;
mod contents;
mod edit;
mod first_lane;
mod given;
mod globals;
mod guard;
mod inline_asm;
mod jobs;
mod kept;
mod library;
mod llvm;
mod lower;
mod object;
mod offsets;
mod own_process;
mod place;
mod processor;
mod refusal;
mod scalar_atomic;
mod scratch_base;
mod signs;
mod stack;
mod stale;
mod tables;
#[cfg(test)]
mod tests;
mod uniform;
mod wave_add;
mod widen;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use luthier_isa::Mode;

pub use assemble::assemble;
pub use compile::first_argument as warm_up;
pub use contents::{Contents, LibraryVariable, Signature, contents};
pub use jobs::finish;
pub use kept::keep_in;

use self::{
    ast::Unit,
    lower::{
        ModuleText, NoLanes,
        entry::{self, Part},
    },
    refusal::Refusal,
};
use crate::template::{ArgSpec, HookError, Place, Template, TemplateSource};

/// What a hook is made from.
#[derive(Clone, Debug)]
pub enum HookSource {
    /// A typed tree in JSON (see [`ast`]).
    Tree(String),
    Bitcode(Bitcode),
}

/// LLVM IR, as text or bitcode, and the function in it that is the hook: it returns nothing and takes integers, floats and
/// pointers. A `ptr addrspace(5)` parameter is a place of a counter, or of a register, which the function reads and writes.
/// It may use its arguments, EXEC, what they point to, a stack, constants of its module, and the module's variables. Behind
/// the arguments of its source it is given what it asks the processor for ([`Signature::given`]), if anything is.
#[derive(Clone, Debug, Default)]
pub struct Bitcode {
    pub bytes: Vec<u8>,
    pub function: String,
    /// Other names of the module's variables.
    pub symbols: BTreeMap<String, String>,
    /// Parameters, from 0, whose arguments are distances from where the hooks' LDS begins.
    pub shared: Vec<usize>,
}

/// A hook, ready to be compiled for any shape of arguments. Each shape is compiled once, different ones side by side.
#[derive(Debug)]
pub struct HookModule {
    source: Parsed,
    compiled: Mutex<HashMap<Shape, Arc<Compiled>>>,
}

/// Shapes whose templates a hook has at hand: a module may live as long as its process.
const MOST_SHAPES: usize = 1 << 12;

/// What a hook is compiled for.
type Shape = (Mode, Vec<ArgSpec>);
/// What came of it, once it has.
type Compiled = OnceLock<Result<Arc<Template>, HookError>>;

#[derive(Debug)]
enum Parsed {
    Tree(Unit),
    Bitcode(Bitcode),
}

impl HookModule {
    /// Reads the source; a tree is checked for its schema only.
    ///
    /// # Errors
    /// The tree cannot be read.
    pub fn new(source: &HookSource) -> Result<HookModule, HookError> {
        let source = match source {
            HookSource::Tree(json) => {
                let unit = ast::read(json)
                    .map_err(|e| HookError::new("hook", (0, 0), format!("the hook's tree cannot be read: {e}")))?;
                if unit.schema != ast::SCHEMA || unit.functions.is_empty() {
                    let message =
                        format!("the hook's tree has schema {}, this version reads {}", unit.schema, ast::SCHEMA);
                    return Err(HookError::new("hook", (0, 0), message));
                }
                Parsed::Tree(unit)
            }
            HookSource::Bitcode(bitcode) => Parsed::Bitcode(bitcode.clone()),
        };
        Ok(HookModule { source, compiled: Mutex::default() })
    }
}

impl TemplateSource for HookModule {
    fn name(&self) -> &str {
        match &self.source {
            Parsed::Tree(unit) => &unit.name,
            Parsed::Bitcode(bitcode) => &bitcode.function,
        }
    }

    fn template(&self, mode: Mode, args: &[ArgSpec]) -> Result<Arc<Template>, HookError> {
        let shape = (mode, args.to_vec());
        let known = {
            let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
            if compiled.len() >= MOST_SHAPES {
                compiled.clear();
            }
            compiled.entry(shape).or_default().clone()
        };
        let compile = || match &self.source {
            Parsed::Tree(unit) => compile_tree(unit, mode, args),
            Parsed::Bitcode(bitcode) => bitcode::compile(bitcode, mode, args),
        };
        known.get_or_init(|| compile().map(Arc::new)).clone()
    }
}

fn compile_tree(unit: &Unit, mode: Mode, args: &[ArgSpec]) -> Result<Template, HookError> {
    let hook = &unit.functions[0];
    let place = Place::new(&hook.file, hook.at);
    let fail = |refusal: Refusal| refusal.of_hook(place.as_ref());
    let first = compile::first_argument(mode).map_err(fail)?;
    let formals = entry::formals(unit);
    let part = Part { file: &hook.file, at: hook.at, callee: "f0", is_located: true, first, mode };
    let lower = |no_lanes: NoLanes<'_>| {
        let keep_exec = matches!(no_lanes, NoLanes::OneLane(_));
        let entry = entry::entry(&part, &formals, args, keep_exec)?;
        let (text, lines) = ModuleText::new(unit, mode, no_lanes)?.finish(&entry);
        let input = compile::Input { text, library: None, variables: entry.variables.clone(), lines };
        let code = compile::compile(input, mode).map_err(fail)?;
        Ok::<_, HookError>((entry, code))
    };
    // First: that a hook gets arguments of the wrong kind says more than what it does with them.
    let as_it_comes = if unit.needs_a_lane {
        entry::entry(&part, &formals, args, true)?;
        None
    } else {
        Some(lower(NoLanes::AsItComes)?)
    };
    let loads = uniform::check(unit, args)?;
    // What a wave without lanes does is right while nothing but scalar instructions decides it; else it needs a lane.
    let is_right = |(entry, code): &(entry::Entry, code::Code)| {
        !guard::acts_for_the_wave(code, analyse::results(&entry.places, args)) || !analyse::vectors_set_scalars(code)
    };
    let (entry, code) = match as_it_comes.filter(is_right) {
        Some(right) => right,
        None => {
            let (entry, mut code) = lower(NoLanes::OneLane(&loads))?;
            if let Some(exec) = entry.exec {
                guard::one_lane(&mut code, mode, exec).map_err(|said| fail(said.into()))?;
            }
            (entry, code)
        }
    };
    analyse::template(&unit.name, mode, code, &entry, args).map_err(|said| fail(said.into()))
}
