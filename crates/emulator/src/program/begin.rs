//! The block at which the waves of a launch begin: as a rule it loads arguments, which no wave writes.

use super::{Cursor, Program};
use crate::code::{Block, Place};
use crate::mem::smem::WordLoad;

/// Bytes of arguments that a kernel has at most.
const MOST_ARGUMENTS: i64 = 4096;

impl Program {
    /// Where waves of a launch begin that have run before, if each may go on from that block into the next one at once:
    /// what they do there no other wave sees. `constants`: see [`Start::constants`](crate::start::Start::constants).
    #[inline(always)]
    pub fn begin(&mut self, place: Place, constants: &[u8]) -> Option<Cursor> {
        match self.beginning {
            Some((known, begin)) if known == place => begin,
            _ => self.find_begin(place, constants),
        }
    }

    #[cold]
    fn find_begin(&mut self, place: Place, constants: &[u8]) -> Option<Cursor> {
        let &at = self.by_place.get(&place)?;
        let entry = &self.blocks[at as usize];
        let is_alone = entry.block.is_alone() && entry.block.taken.is_some();
        let is_private = entry.is_private || is_alone && self.reads_constants(&entry.block, constants);
        let begin = is_private.then_some(Cursor::Block(at));
        self.beginning = Some((place, begin));
        begin
    }

    /// Whether waves meet in a block nowhere but where they load through these pairs of scalar registers, as they begin with them.
    pub(super) fn reads_constants(&self, block: &Block, constants: &[u8]) -> bool {
        let mut left = constants.to_vec();
        block.insts.iter().zip(0..).all(|((_, inst), number)| {
            let load = || block.ops.iter().find(|op| op.inst == number).and_then(WordLoad::of);
            let is_one = |load: WordLoad| {
                load.offset.is_none() && (0..MOST_ARGUMENTS).contains(&load.imm) && left.contains(&load.base)
            };
            let is_right = !self.code.meets(inst) || load().is_some_and(is_one);
            inst.for_each_access(|access| {
                if access.access.writes() {
                    left.retain(|&base| ![base, base + 1].map(u32::from).contains(&(access.reg.index() as u32)));
                }
            });
            is_right
        })
    }
}
