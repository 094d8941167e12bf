//! Operations that take long enough for what they make to be kept for other waves ([`crate::repeated`]).

use crate::op::{Flow, Op};
use crate::wave::Wave;

pub trait Long {
    /// Registers of the result.
    fn results(w: &Wave) -> usize;

    /// Asks [`Wave::repeated`] with all that `make` reads whether it is kept.
    fn take(w: &mut Wave, op: &Op) -> bool;

    /// To be inlined, always.
    fn make(w: &mut Wave, op: &Op) -> Flow;
}

/// Does an operation, unless what it makes is kept. (What is asked is not what is looked at behind it: the compiler would have
/// an operation for each answer.)
#[inline(always)]
pub fn once<L: Long>(w: &mut Wave, op: &Op) -> Flow {
    if w.repeated.are_several() && L::take(w, op) {
        return Flow::Next;
    }
    let flow = L::make(w, op);
    if w.repeated.keeps() && flow == Flow::Next {
        w.repeated.keep(&w.rows[..], op, (op.dst, L::results(w)));
    }
    flow
}
