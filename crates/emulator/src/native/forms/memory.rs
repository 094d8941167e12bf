//! Loads and stores of words.

use super::super::nodes::{Base, Node, Offsets, Place, Rest};
use super::{Foreign, Form, is_temporary};
use crate::mem::flat::{Encoded, NO_BASE};
use crate::mem::smem::WordLoad;
use crate::op::{Kind, Op};
use crate::registers::scalar;

/// Bytes behind an address of LDS that an instruction can name.
const MOST_OFFSET: u32 = 1 << 17;

impl Form<'_> {
    /// Loads of whole words from LDS, which change nothing but registers. (Stores end a run.)
    pub(super) fn lds_words(&mut self, accesses: u16) -> Result<(), Foreign> {
        let encoded = Encoded(self.op.imm2);
        let words = u16::from(encoded.words());
        if !encoded.is_load() {
            return Err(Foreign);
        }
        let address = self.source(0);
        for access in 0..accesses {
            let first = (self.op.imm >> (32 * access)) as u32;
            if !first.is_multiple_of(4) || first > MOST_OFFSET {
                return Err(Foreign);
            }
            for word in 0..words {
                let offset = first + 4 * u32::from(word);
                let value = self.graph.node(Node::Lds { address, offset });
                self.graph.rows.insert(self.op.dst + access * words + word, value);
            }
        }
        Ok(())
    }

    /// A load of a word from device memory, which changes nothing but registers.
    pub(super) fn global_word(&mut self) -> Result<(), Foreign> {
        let encoded = Encoded(self.op.imm2);
        let offset = i32::try_from(self.op.imm as i64).map_err(|_| Foreign)?;
        if !encoded.is_load() || encoded.words() != 1 {
            return Err(Foreign);
        }
        let low = self.source(0);
        let rest = if self.op.ssrc == NO_BASE {
            Rest::High(self.row(self.op.src[0] + 1))
        } else {
            let base = base(self.op).ok_or(Foreign)?;
            // Neither is part of a mask that is being written.
            if base.code >= 126 || self.is_written(base.code) || self.is_written(base.code + 1) {
                return Err(Foreign);
            }
            Rest::Base(base)
        };
        let value = self.graph.node(Node::Global { place: Place { low, rest }, offset });
        self.result(value)
    }
}

/// The scalar base of an access to a word a lane.
fn base(op: &Op) -> Option<Base> {
    let offsets = match (op.kind, op.src[2]) {
        (Kind::GLOBAL_WORDS, _) => Offsets::Unsigned,
        (Kind::GLOBAL_WORDS_SIGNED, 1) => Offsets::Signed,
        (Kind::GLOBAL_WORDS_SIGNED, 4) => Offsets::Words,
        _ => return None,
    };
    Some(Base { code: op.ssrc, offsets })
}

/// The highest code that a scalar load writes in native code: what lies above is M0, EXEC and no register.
const LAST_LOADED: u8 = 123;

/// The scalar load that a micro-op is, if it has a native form.
pub fn scalar_load(op: &Op) -> Option<WordLoad> {
    let load = WordLoad::of(op)?;
    let fits = i32::try_from(load.imm).is_ok() && load.base < scalar::SCC - 1;
    (fits && load.dst <= LAST_LOADED && load.words <= LAST_LOADED + 1 - load.dst).then_some(load)
}

/// A store of words, which is a phase by itself: all lanes have done what comes before it.
#[derive(Clone)]
pub struct Store {
    pub space: Space,
    /// The row of addresses.
    pub address: u16,
    pub accesses: Vec<Access>,
    /// Words of a lane.
    pub words: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Lds,
    /// Device memory; addresses' upper halves are in the next row, or else a pair of scalar registers is added.
    Global {
        base: Option<Base>,
    },
}

/// From which row, and how far from the address.
#[derive(Clone)]
pub struct Access {
    pub offset: i32,
    pub data: u16,
}

/// The store that an instruction of one micro-op is, if it has a native form. `scatters`: any addresses will do.
pub fn store(op: &Op, scatters: bool) -> Option<Store> {
    let encoded = Encoded(op.imm2);
    let words = u16::from(encoded.words());
    let is_twice = op.kind == Kind::DS_WORDS_TWICE;
    let space = match op.kind {
        Kind::DS_WORDS | Kind::DS_WORDS_TWICE => Space::Lds,
        Kind::GLOBAL_WORDS if op.ssrc == NO_BASE => Space::Global { base: None },
        Kind::GLOBAL_WORDS | Kind::GLOBAL_WORDS_SIGNED => Space::Global { base: Some(base(op)?) },
        _ => return None,
    };
    if encoded.is_load() || is_temporary(op.src[0]) || words != 1 && (space != Space::Lds || !scatters) {
        return None;
    }
    let mut accesses = Vec::new();
    if space == Space::Lds {
        for (number, &data) in op.src[1..2 + usize::from(is_twice)].iter().enumerate() {
            let offset = (op.imm >> (32 * number)) as u32;
            if !offset.is_multiple_of(4) || offset > MOST_OFFSET {
                return None;
            }
            accesses.push(Access { offset: offset as i32, data });
        }
    } else {
        accesses.push(Access { offset: i32::try_from(op.imm as i64).ok()?, data: op.src[1] });
    }
    Some(Store { space, address: op.src[0], accesses, words })
}
