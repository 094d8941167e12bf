//! DPP: lanes that read others of their vector, and results that only some lanes get.

use luthier_isa::op::Op as IsaOp;

use super::super::nodes::{Binary, Crossing, Node, Value};
use super::{Foreign, Form};
use crate::lower::dpp_source;
use crate::op::RawMods;

impl Form<'_> {
    /// By a control value; lanes that are left out keep what they have, until EXEC is restored.
    pub(super) fn permuted(&mut self) -> Result<(), Foreign> {
        let control = (self.op.imm & 0xffff) as u32;
        let (bound_zero, fetches) = (self.op.imm >> 16 & 1 != 0, self.op.imm >> 17 & 1 != 0);
        let Ok(how) = self.crossing(fetches, |lane| dpp_source(control, lane)) else {
            return self.permuted_beyond(fetches, bound_zero, |lane| dpp_source(control, lane));
        };
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

    /// The same where lanes read those of other vectors.
    fn permuted_beyond(
        &mut self,
        fetches: bool,
        bound_zero: bool,
        from: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), Foreign> {
        // A wave of 32 lanes has no others.
        if !self.wave64 && (0..32).any(|lane| from(lane).is_some_and(|from| from >= 32)) {
            return Err(Foreign);
        }
        let enabled = self.op.imm2;
        let lanes = |lane: usize| from(lane).unwrap_or(lane) as u8;
        let mask = |form: &mut Self, is_in: &dyn Fn(usize) -> bool| {
            let table = std::array::from_fn(|lane| u8::from(is_in(lane)));
            let (table, one) = (form.graph.node(Node::Table(table)), form.graph.constant(1));
            form.graph.binary(Binary::Equal, table, one)
        };
        let numbers = self.graph.node(Node::Table(std::array::from_fn(lanes)));
        let mut value = self.elsewhere(self.op.src[0], numbers, fetches)?;
        let mut masks = Vec::new();
        if (0..64).any(|lane| from(lane).is_none()) {
            let valid = mask(self, &|lane| from(lane).is_some());
            value = self.graph.binary(Binary::And, value, valid);
            masks.extend((!bound_zero).then_some(valid));
        }
        if !bound_zero && !fetches {
            masks.push(self.graph.node(Node::Reached(numbers)));
        }
        if enabled != !0 {
            masks.push(mask(self, &|lane| enabled >> lane & 1 != 0));
        }
        self.temporary(value)?;
        if self.op.sdst != 0 {
            self.graph.narrowed = masks.into_iter().reduce(|a, b| self.graph.binary(Binary::And, a, b));
        }
        Ok(())
    }

    /// What a row holds in other lanes of the wave.
    fn elsewhere(&mut self, row: u16, lanes: Value, fetches: bool) -> Result<Value, Foreign> {
        let source = self.row(row);
        // What the phase has computed is in no place where all lanes find it.
        if self.graph.of(source) != Node::Row(row) {
            return Err(Foreign);
        }
        self.graph.is_whole = true;
        Ok(self.graph.node(Node::Elsewhere { row, lanes, fetches }))
    }

    /// Whether the operation is one in which lanes read others; then it is done.
    pub(super) fn lanes_apart(&mut self, operation: IsaOp) -> Result<bool, Foreign> {
        use Binary::{Add, And, Equal, Or, Shl, Shr, Xor};
        let (lane, mods) = (self.graph.node(Node::LaneNumbers), RawMods(self.op.imm));
        match operation {
            IsaOp::VPermlane16B32 | IsaOp::VPermlanex16B32 => {
                // Lane numbers of four bits each, the same for all rows.
                let [_, low, high] = self.three();
                let is_uniform = |value: Value| matches!(self.graph.of(value), Node::Constant(_) | Node::Scalar(_));
                if !is_uniform(low) || !is_uniform(high) {
                    return Err(Foreign);
                }
                let (upper, zero) = (self.with_constant(And, lane, 8, !0), self.graph.constant(0));
                let mask = self.graph.binary(Equal, upper, zero);
                let word = self.graph.node(Node::Select { mask, yes: low, no: high });
                let by = self.with_constant(And, lane, 7, !0);
                let by = self.shifted(Shl, by, 2);
                let number = self.graph.binary(Shr, word, by);
                let number = self.with_constant(And, number, 15, !0);
                let own = self.with_constant(And, lane, 48, !0);
                let other = if operation == IsaOp::VPermlanex16B32 { 16 } else { 0 };
                let row = self.with_constant(Xor, own, other, 0);
                let lanes = self.graph.binary(Or, row, number);
                let (fetches, zeros, old) = (mods.op_sel(0), mods.op_sel(1), self.row(self.op.dst));
                let value = self.elsewhere(self.op.src[0], lanes, fetches)?;
                let value = if fetches || zeros {
                    value
                } else {
                    let mask = self.graph.node(Node::Reached(lanes));
                    self.graph.node(Node::Select { mask, yes: value, no: old })
                };
                self.result(value)?;
            }
            IsaOp::VPermlane64B32 if self.wave64 => {
                let lanes = self.with_constant(Xor, lane, 32, 0);
                let value = self.elsewhere(self.op.src[0], lanes, true)?;
                self.result(value)?;
            }
            // The lowering says so only where all lanes of the wave are in reach.
            IsaOp::DsBpermuteB32 | IsaOp::DsBpermuteFiB32 => {
                let address = self.source(0);
                let address = self.with_constant(Add, address, self.op.imm as u32, 0);
                let lanes = self.shifted(Shr, address, 2);
                let lanes = self.with_constant(And, lanes, if self.wave64 { 63 } else { 31 }, !0);
                let value = self.elsewhere(self.op.src[1], lanes, operation == IsaOp::DsBpermuteFiB32)?;
                self.result(value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
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
