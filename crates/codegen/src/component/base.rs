//! What everything starts from.

use luthier_loader::CodeObject;

use crate::splice::Given;

/// An object, and what was made of it and of the plan.
#[derive(Clone, Copy)]
pub struct Base<'a> {
    pub object: &'a CodeObject,
    pub given: Given<'a>,
}
