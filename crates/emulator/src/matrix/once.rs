//! Operations that take long enough for what they make to be kept for other waves ([`crate::repeated`]).

use crate::op::{Flow, Op};
use crate::repeated::Answer;
use crate::wave::Wave;

pub trait Long {
    /// Registers of the result.
    fn results(w: &Wave) -> usize;

    /// Asks with all that `make` reads.
    fn ask(w: &mut Wave, op: &Op) -> Answer;

    /// To be inlined, always.
    fn make(w: &mut Wave, op: &Op) -> Flow;
}

/// Does an operation, unless what it makes is kept.
#[inline(always)]
pub fn once<L: Long>(w: &mut Wave, op: &Op) -> Flow {
    let answer = if w.repeated.are_several() { L::ask(w, op) } else { Answer::Make };
    if answer == Answer::Done {
        return Flow::Next;
    }
    let flow = L::make(w, op);
    if answer == Answer::MakeAndKeep && flow == Flow::Next {
        w.repeated.keep(&w.rows[..], op, (op.dst, L::results(w)));
    }
    flow
}
