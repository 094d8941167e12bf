//! The splice checker: proof, for one place, that what was inserted there is invisible to the application.

use luthier_isa::{Inst, RegRange};

use crate::splice::emit::Span;
use crate::splice::{Env, Site};

/// A placement that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Violation {
    /// Of the application's instruction.
    pub address: u64,
    pub reason: String,
}

/// What is to be proven of one place.
pub struct Question<'a> {
    pub env: &'a Env<'a>,
    pub site: &'a Site<'a>,
    /// Values from before the instruction, and where they are kept.
    pub olds: &'a [(RegRange, RegRange)],
    /// The application's instruction that the place belongs to.
    pub inst: &'a Inst,
    pub insts: &'a [Inst],
    /// Position of the first of them, which the spans count from.
    pub base: usize,
    pub spans: &'a [Span],
}

/// All that is wrong at one place.
pub fn splice(_question: &Question) -> Vec<Violation> {
    Vec::new()
}
