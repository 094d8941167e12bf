//! What a program knows of where waves are, and of what they ran.

use luthier_isa::Inst;

use super::{Cursor, Entry, Program, Stop};
use crate::code::Place;
use crate::lower::Limits;
use crate::registers::Registers;
use crate::wave::Wave;

/// The block that a wave comes to.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    pub place: Place,
    /// Instructions.
    pub length: u64,
    /// It begins with an instruction by which waves meet, ...
    pub meets: bool,
    /// ... one of a barrier with a number, or of global wave sync.
    pub syncs: bool,
}

impl Program {
    /// The place at which a wave goes on, how many instructions the block there has, and whether waves meet in it.
    ///
    /// # Errors
    /// There is no code.
    pub fn ahead(&mut self, w: &Wave, cursor: Cursor) -> Result<Ahead, Stop> {
        let at = match cursor {
            Cursor::Block(at) => at,
            Cursor::Place(place) => self.block_at(w, place)?,
        };
        let Entry { place, length, meets, syncs, .. } = self.blocks[at as usize];
        Ok(Ahead { place, length, meets, syncs })
    }

    /// The place at which a wave goes on.
    pub fn place(&self, cursor: Cursor) -> Place {
        match cursor {
            Cursor::Place(place) => place,
            Cursor::Block(at) => self.blocks[at as usize].place,
        }
    }

    /// Whether the block at which a wave goes on is private, as far as is known.
    pub fn is_private(&self, cursor: Cursor) -> bool {
        matches!(cursor, Cursor::Block(at) if self.blocks[at as usize].is_private)
    }

    /// Its instructions; 0 if they are not known.
    pub fn length(&self, cursor: Cursor) -> u64 {
        if let Cursor::Block(at) = cursor { self.blocks[at as usize].length } else { 0 }
    }

    /// Registers that the code which has run so far may have written.
    pub fn written(&self) -> &Registers {
        &self.written
    }

    /// Visits every instruction of every block that was executed, with its address and how often it was.
    pub fn visit_counts(&self, mut visit: impl FnMut(u64, &Inst, u64)) {
        for Entry { block, count, .. } in self.blocks.iter().filter(|entry| entry.count != 0) {
            block.insts.iter().for_each(|(pc, inst)| visit(*pc, inst, *count));
        }
    }

    pub fn limits(&self) -> Limits {
        self.code.limits()
    }

    /// The address at which a wave goes on.
    pub fn address(&self, cursor: Cursor) -> u64 {
        match cursor {
            Cursor::Place(place) => place.pc,
            Cursor::Block(at) => self.blocks.get(at as usize).map_or(0, |entry| entry.block.address()),
        }
    }

    /// The text of the instruction at an address that was run.
    pub fn text_at(&self, pc: u64) -> Option<String> {
        self.blocks.iter().find_map(|entry| entry.block.text_at(pc))
    }
}
