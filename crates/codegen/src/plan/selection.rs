//! Which functions run for the kernels that a plan is about, and which of them for others as well.
//!
//! Kernels that are not selected run the code that they ran. A function that both run is copied for those selected; its
//! original stays as it is, and the copies call the copy. Only a call through a pointer cannot tell the two apart: what
//! it may reach runs as the original, so that nothing can be inserted there.

use std::collections::BTreeSet;

use luthier_lifter::{FuncId, Program, Terminator};
use luthier_loader::{CodeObject, Kernel};

use super::Plan;

/// By function.
#[derive(Debug)]
pub struct Selection {
    /// A selected kernel may run it.
    copied: Vec<bool>,
    /// Its original stays as it is.
    apart: Vec<bool>,
    /// A selected kernel may run its original, through a pointer.
    as_it_is: Vec<bool>,
}

impl Selection {
    pub fn of(object: &CodeObject, program: &Program, plan: &Plan) -> Selection {
        let count = program.functions().len();
        let beside = plan.beside.is_some();
        let Some(names) = plan.kernels.as_ref().filter(|_| object.kernels().iter().any(|k| !is_selected(plan, k)))
        else {
            return Selection { copied: vec![true; count], apart: vec![beside; count], as_it_is: vec![false; count] };
        };
        let reached = |selected: bool| -> BTreeSet<FuncId> {
            let kernels = object.kernels().iter().filter(|k| names.contains(&k.name) == selected);
            kernels.filter_map(|k| program.function_at(k.entry)).flat_map(|f| program.reachable(f)).collect()
        };
        let (own, others) = (reached(true), reached(false));
        let by = |set: &BTreeSet<FuncId>| program.function_ids().map(|f| set.contains(&f)).collect::<Vec<bool>>();
        let apart = if beside { vec![true; count] } else { by(&others) };
        let mut selection = Selection { copied: by(&own), apart, as_it_is: vec![false; count] };
        if !beside {
            // Beside the original, what calls through pointers is not copied at all.
            selection.follow_pointers(program, &own);
        }
        selection
    }

    /// What these functions may reach through pointers that lead to originals.
    fn follow_pointers(&mut self, program: &Program, own: &BTreeSet<FuncId>) {
        if !own.iter().any(|f| program.has_unresolved(*f)) {
            return;
        }
        let taken = own.iter().filter(|f| program.is_address_taken(**f) && self.apart[f.index()]);
        for f in taken.flat_map(|f| program.reachable(*f)).collect::<BTreeSet<FuncId>>() {
            // From an original that leads to its copy on, all are copies.
            self.as_it_is[f.index()] |= self.apart[f.index()];
        }
    }

    /// All functions are copied, and none runs as it is.
    pub fn is_everything(&self) -> bool {
        self.copied.iter().all(|copied| *copied) && !self.as_it_is.contains(&true)
    }

    pub fn is_copied(&self, func: FuncId) -> bool {
        self.copied[func.index()]
    }

    /// Its original stays as it is: whatever is to run the copy has to go there.
    pub fn is_apart(&self, func: FuncId) -> bool {
        self.apart[func.index()]
    }

    /// A function that may run as it is, through a pointer, and ends waves there.
    pub fn ends_as_it_is(&self, program: &Program, functions: &[FuncId]) -> Option<FuncId> {
        let ends =
            |f: &FuncId| program.function(*f).blocks.iter().any(|b| program.block(b).terminator == Terminator::End);
        functions.iter().copied().find(|f| self.as_it_is[f.index()] && ends(f))
    }

    /// It may run as it is, through a pointer.
    pub fn runs_as_it_is(&self, func: FuncId) -> bool {
        self.as_it_is[func.index()]
    }
}

/// The plan is about this kernel.
pub fn is_selected(plan: &Plan, kernel: &Kernel) -> bool {
    plan.kernels.as_ref().is_none_or(|names| names.contains(&kernel.name))
}

/// The functions of a component that are copied.
pub fn copied(program: &Program, selection: &Selection, root: FuncId) -> Vec<FuncId> {
    program.component(root).iter().copied().filter(|f| selection.is_copied(*f)).collect()
}
