//! A hook that is called instead of copied to its places.

use luthier_isa::Inst;

use super::emit::Literal;

/// A hook with its registers, and the return behind it.
#[derive(PartialEq, Eq, Debug)]
pub struct Body {
    pub template: u32,
    pub insts: Vec<Inst>,
    /// By the instructions' numbers in the body.
    pub literals: Vec<Literal>,
}
