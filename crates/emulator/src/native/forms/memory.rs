//! Loads and stores of words.

use super::super::addresses::{Address, Base, Buffer, Offsets, Place, Rest, Size};
use super::super::nodes::{Binary, Node, Value};
use super::{Foreign, Form, is_temporary};
use crate::mem::flat::{Encoded, NO_BASE};
use crate::mem::smem::WordLoad;
use crate::mem::{Action, Transfer};
use crate::op::{Kind, Op};
use crate::registers::{inline_constant32, scalar};

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
                let (offset, address) = (first + 4 * u32::from(word), Address { of: address, size: Size::Word });
                let value = self.graph.node(Node::Lds { address, offset });
                self.graph.rows.insert(self.op.dst + access * words + word, value);
            }
        }
        Ok(())
    }

    /// A load of a byte or a half from LDS.
    pub(super) fn lds_part(&mut self) -> Result<(), Foreign> {
        let Action::Load(transfer) = Encoded(self.op.imm2).action() else { return Err(Foreign) };
        let (offset, size) = (self.op.imm as u32, size_of(transfer, 1).ok_or(Foreign)?);
        if offset > MOST_OFFSET {
            return Err(Foreign);
        }
        // An address takes what an offset has of less than a word, so that a word around it is to be found from the address alone.
        let of = self.source(0);
        let of = self.with_constant(Binary::Add, of, offset & 3, 0);
        let loaded = self.graph.node(Node::Lds { address: Address { of, size }, offset: offset & !3 });
        let value = self.merged(transfer, loaded);
        self.result(value)
    }

    /// What a load of less than a word puts into a register, as [`Transfer::merge`] says.
    fn merged(&mut self, transfer: Transfer, loaded: Value) -> Value {
        let (is_low, is_high) = (
            matches!(transfer, Transfer::U8Lo | Transfer::I8Lo | Transfer::B16Lo),
            matches!(transfer, Transfer::U8Hi | Transfer::I8Hi | Transfer::B16Hi),
        );
        let up = match transfer {
            Transfer::I8 | Transfer::I8Lo | Transfer::I8Hi => 24,
            Transfer::I16 => 16,
            _ => 0,
        };
        let mut value = self.shifted(Binary::Shl, loaded, up);
        value = self.shifted(Binary::Sar, value, up);
        if !is_low && !is_high {
            return value;
        }
        if is_high {
            value = self.shifted(Binary::Shl, value, 16);
        } else if up != 0 {
            value = self.with_constant(Binary::And, value, 0xffff, !0);
        }
        let (old, kept) = (self.row(self.op.dst), self.graph.node(Node::Kept));
        let other = self.with_constant(Binary::And, old, if is_high { 0xffff } else { 0xffff_0000 }, !0);
        let other = self.graph.binary(Binary::And, other, kept);
        self.graph.binary(Binary::Or, other, value)
    }

    /// A load of a word, or a part of one, from device memory, which changes nothing but registers.
    pub(super) fn global(&mut self) -> Result<(), Foreign> {
        let encoded = Encoded(self.op.imm2);
        let offset = i32::try_from(self.op.imm as i64).map_err(|_| Foreign)?;
        let Action::Load(transfer) = encoded.action() else { return Err(Foreign) };
        let size = size_of(transfer, encoded.words()).ok_or(Foreign)?;
        let low = self.source(0);
        let rest = if self.op.ssrc == NO_BASE {
            Rest::High(self.row(self.op.src[0] + 1))
        } else {
            let base = base(self.op, size).ok_or(Foreign)?;
            // Neither is part of a mask that is being written.
            if base.code >= 126 || self.is_written(base.code) || self.is_written(base.code + 1) {
                return Err(Foreign);
            }
            Rest::Base(base)
        };
        let place = Place { low, rest, size };
        let words = (0..size.words()).map(|word| self.graph.node(Node::Global { place, offset, word }));
        for (loaded, dst) in words.collect::<Vec<Value>>().into_iter().zip(self.op.dst..) {
            let value = self.merged(transfer, loaded);
            self.graph.rows.insert(dst, value);
        }
        Ok(())
    }
}

impl Form<'_> {
    /// A load from a buffer.
    pub(super) fn buffer(&mut self) -> Result<(), Foreign> {
        let Action::Load(transfer) = Encoded(self.op.imm2).action() else { return Err(Foreign) };
        let at = buffer(self.op, transfer).ok_or(Foreign)?;
        let registers = (at.resource..at.resource + 4).chain(at.has_register().then_some(at.soffset));
        // None is part of a mask that is being written.
        if registers.into_iter().any(|code| self.is_written(code)) {
            return Err(Foreign);
        }
        // Narrow vectors have no loads that leave lanes out but of words.
        if at.size < Size::Word && self.graph.lanes < 16 {
            return Err(Foreign);
        }
        let offsets = self.source(0);
        let words = (0..at.size.words()).map(|word| self.graph.node(Node::Buffer { at, offsets, word }));
        for (loaded, dst) in words.collect::<Vec<Value>>().into_iter().zip(self.op.dst..) {
            let value = self.merged(transfer, loaded);
            self.graph.rows.insert(dst, value);
        }
        Ok(())
    }
}

/// What an instruction accesses of a buffer.
fn buffer(op: &Op, transfer: Transfer) -> Option<Buffer> {
    let (size, resource) = (size_of(transfer, Encoded(op.imm2).words())?, op.sdst);
    let (soffset, offset) = (u8::try_from(op.src[2]).ok()?, u32::try_from(op.imm).ok()?);
    let is_constant = inline_constant32(soffset).is_some();
    let is_possible = resource <= LAST_LOADED - 3 && (soffset <= LAST_LOADED || is_constant) && offset < 1 << 24;
    let is_aligned = offset & size.lowest() as u32 == 0;
    (is_possible && is_aligned).then_some(Buffer { resource, soffset, offset, size })
}

/// What a lane accesses, if there is a size for it.
fn size_of(transfer: Transfer, words: u8) -> Option<Size> {
    Some(match transfer.bytes(words) {
        1 => Size::Byte,
        2 => Size::Half,
        4 => Size::Word,
        8 => Size::Pair,
        16 => Size::Quad,
        _ => return None,
    })
}

/// The scalar base of an access.
fn base(op: &Op, size: Size) -> Option<Base> {
    let offsets = match (op.kind, op.src[2]) {
        (Kind::GLOBAL_WORDS | Kind::GLOBAL_PARTS, _) => Offsets::Unsigned,
        (Kind::GLOBAL_WORDS_SIGNED | Kind::GLOBAL_PARTS_SIGNED, 1) => Offsets::Signed,
        (Kind::GLOBAL_WORDS_SIGNED | Kind::GLOBAL_PARTS_SIGNED, unit) if i32::from(unit) == size.bytes() => {
            Offsets::Units
        }
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
    pub size: Size,
    /// Words of a lane.
    pub words: u16,
    /// What is stored is in the upper half of the row.
    pub is_high: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Lds,
    /// Device memory; addresses' upper halves are in the next row, or else a pair of scalar registers is added.
    Global {
        base: Option<Base>,
    },
    /// A buffer; addresses are offsets.
    Buffer(Buffer),
}

/// From which row, and how far from the address.
#[derive(Clone)]
pub struct Access {
    pub offset: i32,
    pub data: u16,
}

/// The store that an instruction of one micro-op is, if it has a native form.
pub fn store(op: &Op) -> Option<Store> {
    let encoded = Encoded(op.imm2);
    let is_twice = op.kind == Kind::DS_WORDS_TWICE;
    let is_lds = matches!(op.kind, Kind::DS_WORDS | Kind::DS_WORDS_TWICE | Kind::DS_PARTS);
    if !is_lds && !op.kind.is_of_memory() {
        return None;
    }
    let Action::Store(transfer) = encoded.action() else { return None };
    let words = u16::from(encoded.words());
    // What a lane has in LDS is stored word by word.
    let size = if is_lds { size_of(transfer, 1)? } else { size_of(transfer, encoded.words())? };
    let space = match op.ssrc {
        _ if is_lds => Space::Lds,
        _ if op.kind == Kind::BUFFER => Space::Buffer(buffer(op, transfer)?),
        NO_BASE => Space::Global { base: None },
        _ => Space::Global { base: Some(base(op, size)?) },
    };
    if is_temporary(op.src[0]) {
        return None;
    }
    let mut accesses = Vec::new();
    if space == Space::Lds {
        for (number, &data) in op.src[1..2 + usize::from(is_twice)].iter().enumerate() {
            let offset = (op.imm >> (32 * number)) as u32;
            if !offset.is_multiple_of(size as u32) || offset > MOST_OFFSET {
                return None;
            }
            accesses.push(Access { offset: offset as i32, data });
        }
    } else {
        accesses.push(Access { offset: i32::try_from(op.imm as i64).ok()?, data: op.src[1] });
    }
    let is_high = transfer.extract(0x1_0000) == 1;
    Some(Store { space, address: op.src[0], accesses, size, words, is_high })
}
