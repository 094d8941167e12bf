//! What everything starts from.

use std::collections::HashMap;

use luthier_lifter::Program;
use luthier_loader::CodeObject;

use crate::layout::chunk::Place;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::plan::selection::Selection;
use crate::template::prepared::Prepared;

/// An object, a plan, and what was made of both before anything is placed.
pub struct Base<'a> {
    pub object: &'a CodeObject,
    pub program: &'a Program,
    pub plan: &'a Plan,
    pub machine: &'a Machine,
    pub templates: &'a [Prepared],
    pub template_of: &'a [Option<u32>],
    pub symbols: &'a HashMap<String, Place>,
    pub selection: &'a Selection,
}
