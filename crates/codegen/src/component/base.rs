//! What everything starts from.

use luthier_loader::CodeObject;

use super::Endings;
use crate::splice::Given;

/// An object, and what was made of it and of the plan.
pub struct Base<'a> {
    pub object: &'a CodeObject,
    pub given: Given<'a>,
    /// Hooks that end what waves carry, as they are made.
    pub endings: Endings,
}
