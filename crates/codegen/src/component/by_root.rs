//! The insertions of an object, by component.

use std::collections::{BTreeMap, HashMap};

use luthier_isa::EncodeError;
use luthier_lifter::FuncId;
use luthier_loader::Kernel;
use rayon::prelude::*;

use super::{Base, Component, Wishes};
use crate::plan::{Spot, selection};

/// For each component with insertions its first function, and the insertions of each of its functions.
pub struct ByRoot<'b, 'a> {
    base: &'b Base<'a>,
    spots: BTreeMap<FuncId, Vec<&'a [Spot]>>,
    /// Several descriptors may name the same code.
    kernels_at: HashMap<u64, Vec<&'a Kernel>>,
}

impl<'b, 'a> ByRoot<'b, 'a> {
    /// `spots` are sorted.
    pub fn of(base: &'b Base<'a>, spots: &'a [Spot]) -> ByRoot<'b, 'a> {
        let program = base.given.program;
        let mut by_root: BTreeMap<FuncId, Vec<&[Spot]>> = BTreeMap::new();
        let mut rest = spots;
        while let Some(first) = rest.first() {
            let func = program.func_of(first.instr);
            let instrs = program.function_instrs(func);
            let of_function;
            (of_function, rest) = rest.split_at(rest.partition_point(|s| instrs.contains(s.instr)));
            let root = program.component(func).first().copied().unwrap_or(func);
            by_root.entry(root).or_default().push(of_function);
        }
        let mut kernels_at: HashMap<u64, Vec<&Kernel>> = HashMap::new();
        let selected = base.object.kernels().iter().filter(|k| selection::is_selected(base.given.plan, k));
        selected.for_each(|k| kernels_at.entry(k.entry).or_default().push(k));
        ByRoot { base, spots: by_root, kernels_at }
    }

    /// All of the components, each with its environment.
    pub fn components(&self) -> Result<Vec<Component<'a>>, EncodeError> {
        self.spots.par_iter().map(|(root, spots)| self.component(*root, spots, false)).collect()
    }

    /// The same component with scratch of ours behind stacks that have no known end. That costs each wave a few instructions
    /// at its start and two registers, so that it is done only where something finds no place otherwise.
    pub fn floating(&self, component: &Component<'a>) -> Result<Component<'a>, EncodeError> {
        let program = self.base.given.program;
        let of_it = |f: &FuncId| program.component(*f).first().and_then(|root| self.spots.get_key_value(root));
        match component.functions.iter().find_map(of_it) {
            Some((root, spots)) => self.component(*root, spots, true),
            None => unreachable!("the component was made from its insertions"),
        }
    }

    fn component(&self, root: FuncId, spots: &[&'a [Spot]], floats: bool) -> Result<Component<'a>, EncodeError> {
        let (base, program) = (self.base, self.base.given.program);
        let mut wishes = Wishes::default();
        spots.iter().for_each(|of_function| wishes.note(base, of_function));
        let functions = selection::copied(program, base.given.selection, root);
        let at = |f: &FuncId| self.kernels_at.get(&program.function(*f).vaddr);
        let kernels: Vec<&Kernel> = functions.iter().filter_map(at).flatten().copied().collect();
        Component::of(base, functions, kernels, program.used_registers(root), &wishes, spots.to_vec(), floats)
    }
}
