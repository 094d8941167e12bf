//! Hooks: from the typed tree that the Python front end makes, or from LLVM IR, to a [`Template`].
//!
//! A hook is compiled once for a target and a shape of its arguments, as a *shader part*: code that begins with its
//! arguments in registers and ends by falling through, results in registers too. LLVM believes that nothing else is
//! alive, so it uses registers from the bottom up; placement renames them.
//!
//! | module | one idea |
//! |---|---|
//! | [`ast`] | the tree, and its JSON |
//! | [`uniform`] | which values are the same in all lanes |
//! | [`lower`] | tree to LLVM IR |
//! | [`wave_add`] | one atomic add for a wave |
//! | [`offsets`] | constant offsets become relocation addends |
//! | [`bitcode`] | hooks that are LLVM IR already |
//! | [`compile`] | LLVM: IR to object |
//! | [`object`] | object to instructions and relocations |
//! | [`guard`] | registers that LLVM leaves undefined, waves without lanes |
//! | [`analyse`] | which registers the code touches, and how |

mod analyse;
pub mod ast;
mod bitcode;
mod compile;
mod error;
mod guard;
mod lower;
mod object;
mod offsets;
#[cfg(test)]
mod tests;
mod uniform;
mod wave_add;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use luthier_isa::Target;

pub use error::HookError;

use self::{
    ast::Unit,
    lower::{ModuleText, NoLanes, entry},
};
use crate::{ArgSpec, Template};

/// What a hook is made from.
#[derive(Clone, Debug)]
pub enum HookSource {
    /// A typed tree in JSON (see [`ast`]).
    Tree(String),
    /// LLVM IR, as text or bitcode, and the function in it that is the hook: it returns nothing and takes integers,
    /// floats and pointers. A `ptr addrspace(5)` parameter is a place of a counter, or of a 32-bit register, which the
    /// function reads and writes.
    Bitcode { bytes: Vec<u8>, function: String },
}

/// A hook, ready to be compiled for any shape of arguments. Each shape is compiled once.
#[derive(Debug)]
pub struct HookModule {
    source: Parsed,
    compiled: Mutex<HashMap<Shape, Arc<Template>>>,
}

/// What a hook is compiled for.
type Shape = (Target, Vec<ArgSpec>);

#[derive(Debug)]
enum Parsed {
    Tree(Unit),
    Bitcode { bytes: Vec<u8>, function: String },
}

impl HookModule {
    /// Reads the source; a tree is checked for its schema only.
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
            HookSource::Bitcode { bytes, function } => {
                Parsed::Bitcode { bytes: bytes.clone(), function: function.clone() }
            }
        };
        Ok(HookModule { source, compiled: Mutex::default() })
    }

    /// The template for these arguments, compiled unless it has been before.
    pub fn template(&self, target: Target, args: &[ArgSpec]) -> Result<Arc<Template>, HookError> {
        let key = (target, args.to_vec());
        let known = self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(template) = known {
            return Ok(template);
        }
        let template = Arc::new(match &self.source {
            Parsed::Tree(unit) => compile_tree(unit, target, args)?,
            Parsed::Bitcode { bytes, function } => bitcode::compile(bytes, function, target, args)?,
        });
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).insert(key, template.clone());
        Ok(template)
    }

    /// Compiles a source once, without keeping anything.
    pub fn compile(source: &HookSource, target: Target, args: &[ArgSpec]) -> Result<Template, HookError> {
        HookModule::new(source)?.template(target, args).map(|t| Template::clone(&t))
    }
}

fn compile_tree(unit: &Unit, target: Target, args: &[ArgSpec]) -> Result<Template, HookError> {
    let hook = &unit.functions[0];
    let fail = |message| HookError::new(&hook.file, hook.at, message);
    let first = compile::first_argument(target).map_err(fail)?;
    let formals = entry::formals(unit);
    let lower = |no_lanes: NoLanes<'_>| {
        let keep_exec = matches!(no_lanes, NoLanes::OneLane(_));
        let entry = entry::entry(&hook.file, hook.at, "f0", &formals, args, first, keep_exec)?;
        let text = ModuleText::new(unit, no_lanes)?.finish(&entry.text, &entry.variables);
        let input = compile::Input { text: &text, library: None, variables: &entry.variables };
        let code = compile::compile(&input, target).map_err(fail)?;
        Ok::<_, HookError>((entry, code))
    };
    // First: that a hook gets arguments of the wrong kind says more than what it does with them.
    let (mut entry, mut code) = lower(NoLanes::AsItComes)?;
    let loads = uniform::check(unit, args)?;
    // What a wave without lanes does is right while nothing but scalar instructions decides it; else it needs a lane.
    let written = written(args);
    let results = entry.places.iter().zip(&written).filter(|(_, w)| **w).filter_map(|(p, _)| *p);
    if guard::acts_for_the_wave(&code, results) && analyse::vectors_set_scalars(&code) {
        (entry, code) = lower(NoLanes::OneLane(&loads))?;
        if let Some(exec) = entry.exec {
            guard::one_lane(&mut code, target, exec).map_err(fail)?;
        }
    }
    analyse::template(&unit.name, target, code, &entry.places, &written).map_err(fail)
}

fn written(args: &[ArgSpec]) -> Vec<bool> {
    args.iter().map(|a| matches!(a, ArgSpec::Counter | ArgSpec::RegInOut(_))).collect()
}
