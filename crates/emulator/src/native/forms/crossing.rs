//! DPP: lanes that read others of their vector, and results that only some lanes get.

use super::super::nodes::{Binary, Crossing, Node};
use super::{Foreign, Form};
use crate::lower::dpp_source;

impl Form<'_> {
    /// By a control value; lanes that are left out keep what they have, until EXEC is restored.
    pub(super) fn permuted(&mut self) -> Result<(), Foreign> {
        let control = (self.op.imm & 0xffff) as u32;
        let (bound_zero, fetches) = (self.op.imm >> 16 & 1 != 0, self.op.imm >> 17 & 1 != 0);
        let how = self.crossing(fetches, |lane| dpp_source(control, lane))?;
        self.crossed(how)?;
        if self.op.sdst == 0 {
            return Ok(());
        }
        let all = self.all();
        let enabled = (self.op.imm2 as u16) & all;
        if (0..64).step_by(self.graph.lanes).any(|first| (self.op.imm2 >> first) as u16 & all != enabled) {
            return Err(Foreign);
        }
        let mut masks = Vec::new();
        if enabled != all {
            masks.push(self.graph.node(Node::Lanes(enabled)));
        }
        let all_are_readable = fetches && how.valid == all;
        if !bound_zero && !all_are_readable {
            masks.push(self.graph.node(Node::Readable(how)));
        }
        self.graph.narrowed = masks.into_iter().reduce(|a, b| self.graph.binary(Binary::And, a, b));
        Ok(())
    }

    /// Within each eight lanes, by three bits each; nothing is left out.
    pub(super) fn permuted_eight(&mut self) -> Result<(), Foreign> {
        let places = self.op.imm as usize;
        let how = self.crossing(self.op.imm2 != 0, |lane| Some(lane & !7 | places >> (3 * (lane & 7)) & 7))?;
        self.crossed(how)
    }

    /// The lanes of a vector.
    fn all(&self) -> u16 {
        if self.graph.lanes == 16 { !0 } else { 0xff }
    }

    fn crossed(&mut self, how: Crossing) -> Result<(), Foreign> {
        let source = self.source(0);
        // What the run has computed or moved for lanes that are off is not what they hold.
        if how.fetches && self.graph.of(source) != Node::Row(self.op.src[0]) {
            return Err(Foreign);
        }
        let value = self.graph.node(Node::Crossed { source, how });
        self.temporary(value)
    }

    /// How lanes read others, if that is the same in each vector, and none reads one of another vector.
    fn crossing(&self, fetches: bool, from: impl Fn(usize) -> Option<usize>) -> Result<Crossing, Foreign> {
        let lanes = self.graph.lanes;
        if lanes != 8 && lanes != 16 {
            return Err(Foreign);
        }
        let mut how = Crossing { from: [0; 16], valid: 0, fetches };
        for lane in 0..64 {
            let (first, at) = (lane & !(lanes - 1), lane & (lanes - 1));
            let source = match from(lane) {
                Some(source) => Some(source.checked_sub(first).filter(|&source| source < lanes).ok_or(Foreign)?),
                None => None,
            };
            if first == 0 {
                how.from[at] = source.unwrap_or(0) as u8;
                how.valid |= u16::from(source.is_some()) << at;
            } else if source != (how.valid >> at & 1 != 0).then_some(usize::from(how.from[at])) {
                return Err(Foreign);
            }
        }
        // Narrow vectors have no masks for the others.
        if lanes == 8 && how.valid != 0xff { Err(Foreign) } else { Ok(how) }
    }
}
