//! Names: who sees whose symbols, and which definition wins.
//!
//! A *scope* is an executable on an agent: the objects in it see each other's exported symbols, and the externals that
//! were defined for the executable and for that agent or for all. Of several definitions the first in this list wins:
//!
//! 1. the object's own, unless it is weak and others may take its place (default visibility). Own strong definitions
//!    are never replaced: device code calls and addresses them without a GOT, as ROCm's loader takes for granted;
//! 2. an external for the agent;
//! 3. an external for all agents;
//! 4. a strong symbol of another object; there can be only one;
//! 5. the object's own weak definition;
//! 6. a weak definition of another object, the one loaded first;
//! 7. nothing, which is address 0, for a weak reference. A strong one is an error.
//!
//! The type of a symbol plays no part. Exported are global and weak symbols of default or protected visibility in
//! .dynsym; in an object without dynamic symbols, those of .symtab.

use std::collections::HashMap;

use super::loader::MockLoader;
use super::object::{LoadedObject, is_reference};
use super::{AgentId, ExecutableId, ObjectId};
use crate::types::*;

/// Index of a loaded object, and of one of its symbols.
pub(super) type Export = (u32, u32);

/// The exports of the objects of a scope under one name.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Exports {
    pub strong: Option<Export>,
    pub weak: Option<Export>,
}

/// The objects of one executable on one agent.
#[derive(Default, Debug)]
pub(super) struct Scope {
    pub objects: Vec<u32>,
    /// How many of the objects, from the first on, are indexed. Indexing waits until there are two, or a name is looked for.
    pub indexed: usize,
    pub names: HashMap<Box<str>, Exports>,
}

/// A variable that is somewhere else, or that the loader keeps.
#[derive(Clone, Debug)]
pub struct External {
    pub name: String,
    pub address: u64,
    /// In bytes.
    pub size: u64,
    /// `None`: for all agents.
    pub agent: Option<AgentId>,
    pub executable: ExecutableId,
    /// Its memory, if the loader keeps it.
    pub(super) data: Option<Vec<u8>>,
}

impl External {
    /// The contents, of an external whose memory the loader keeps.
    pub fn data(&self) -> Option<&[u8]> {
        self.data.as_deref()
    }
}

/// What stands for a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// The object's own definition.
    Own(u64),
    /// An external, by its number.
    External(usize, u64),
    /// Another object's.
    Other(ObjectId, u64),
    /// A weak reference that nothing meets: address 0.
    Absent,
}

impl Resolution {
    pub fn address(self) -> u64 {
        match self {
            Resolution::Own(address) | Resolution::External(_, address) | Resolution::Other(_, address) => address,
            Resolution::Absent => 0,
        }
    }
}

/// Whether other objects see a symbol. `has_dynamic`: the object has dynamic symbols.
pub(super) fn is_exported(symbol: &Symbol, has_dynamic: bool) -> bool {
    !is_reference(symbol)
        && !matches!(symbol.binding, SymbolBinding::Local)
        && matches!(symbol.visibility, SymbolVisibility::Default | SymbolVisibility::Protected)
        && !matches!(symbol.kind, SymbolKind::Section | SymbolKind::File)
        && (symbol.dynamic || !has_dynamic)
        && !symbol.name.is_empty()
}

impl Scope {
    /// Adds the exports of objects that are not in the index yet. Gives the first pair of strong definitions of one
    /// name; the last object has to be taken out again then.
    pub fn index(&mut self, objects: &[LoadedObject]) -> Option<(Export, Export)> {
        let mut twice = None;
        for &number in &self.objects[self.indexed..] {
            let object = &objects[number as usize].object;
            let dynamic = object.has_dynamic_symbols();
            for (index, symbol) in object.symbols().iter().enumerate() {
                if !is_exported(symbol, dynamic) {
                    continue;
                }
                let export = (number, index as u32);
                let exports = match self.names.get_mut(symbol.name.as_str()) {
                    Some(exports) => exports,
                    None => self.names.entry(symbol.name.as_str().into()).or_default(),
                };
                if symbol.binding == SymbolBinding::Weak {
                    exports.weak.get_or_insert(export);
                } else if let Some(first) = exports.strong.filter(|first| *first != export) {
                    twice.get_or_insert((first, export));
                } else {
                    exports.strong = Some(export);
                }
            }
        }
        self.indexed = self.objects.len();
        twice
    }

    /// Takes the last object out again.
    pub fn pop(&mut self) {
        if let Some(number) = self.objects.pop() {
            for exports in self.names.values_mut() {
                exports.strong = exports.strong.filter(|e| e.0 != number);
                exports.weak = exports.weak.filter(|e| e.0 != number);
            }
            self.indexed = self.indexed.min(self.objects.len());
        }
    }
}

impl MockLoader {
    /// The external that objects of a scope see under a name.
    pub(super) fn external_for(&self, name: &str, agent: AgentId, executable: ExecutableId) -> Option<usize> {
        let candidates = self.external_names.get(name)?;
        let find = |agent: Option<AgentId>| {
            let fits = |&&index: &&usize| {
                let external: &External = &self.externals[index];
                external.executable == executable && external.agent == agent
            };
            candidates.iter().find(fits).copied()
        };
        find(Some(agent)).or_else(|| find(None))
    }

    /// The definition that an object's symbol stands for; `None` for a strong reference that nothing meets. The
    /// object's scope has to be indexed.
    pub(super) fn resolve(&self, object: &LoadedObject, symbol: &Symbol) -> Option<Resolution> {
        let own = (!is_reference(symbol)).then(|| Resolution::Own(object.address_of(symbol)));
        let replaceable = symbol.binding == SymbolBinding::Weak && symbol.visibility == SymbolVisibility::Default;
        if own.is_some() && !replaceable {
            return own;
        }
        if let Some(index) = self.external_for(&symbol.name, object.agent, object.executable) {
            return Some(Resolution::External(index, self.externals[index].address));
        }
        let scope = self.scopes.get(&(object.executable, object.agent));
        let exports = scope.and_then(|s| s.names.get(symbol.name.as_str())).copied().unwrap_or_default();
        let other = |export: Export| {
            let owner = &self.objects[export.0 as usize];
            Resolution::Other(ObjectId(export.0), owner.address_of(&owner.object.symbols()[export.1 as usize]))
        };
        let weak = || exports.weak.map(other);
        let absent = (symbol.binding == SymbolBinding::Weak).then_some(Resolution::Absent);
        exports.strong.map(other).or(own).or_else(weak).or(absent)
    }
}
