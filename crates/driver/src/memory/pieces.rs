//! What the table has of addresses without memory, and of memory without addresses.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use luthier_emulator::memory::Span;

use super::map::{Mapping, span};
use super::vram::Place;
use crate::abi::Status;

/// Addresses that the program has for itself.
pub struct Reserved {
    pub mapping: Arc<Mapping>,
    pub len: u64,
}

/// Memory without an address. Its handle is where the driver has it.
pub struct Piece {
    pub mapping: Arc<Mapping>,
    pub file: Arc<OwnedFd>,
    pub place: Place,
    pub flags: u32,
    pub counted: bool,
    /// File handles of it that were made and did not come back: others may have it.
    pub exported: u32,
    /// Of another process.
    pub foreign: bool,
    /// Nothing but buffers holds it: it goes with the last of them.
    pub of_buffers: bool,
}

/// A piece at an address.
pub struct Placed {
    pub mapping: Arc<Mapping>,
    pub host: u64,
    pub len: u64,
    pub node: u32,
    pub mapped: u64,
}

/// What one GPU has of a piece: libdrm's `amdgpu_bo`.
pub struct Buffer {
    pub node: u32,
    pub piece: u64,
}

#[derive(Default)]
pub struct Apart {
    pub reserved: BTreeMap<u64, Reserved>,
    pub pieces: BTreeMap<u64, Piece>,
    pub placed: BTreeMap<u64, Placed>,
    pub buffers: BTreeMap<u64, Buffer>,
    pub next: u64,
}

impl Piece {
    pub fn len(&self) -> u64 {
        self.place.len
    }

    pub fn node(&self) -> u32 {
        self.place.node
    }
}

impl Placed {
    pub fn span(&self, start: u64) -> Span {
        span(start, self.host, self.len, 0)
    }
}

impl Apart {
    pub fn placed_at(&self, address: u64) -> Option<(u64, &Placed)> {
        self.placed.range(..=address).next_back().filter(|(s, p)| address - **s < p.len).map(|(s, p)| (*s, p))
    }

    pub fn reserved_at(&self, address: u64) -> Option<(u64, &Reserved)> {
        self.reserved.range(..=address).next_back().filter(|(s, r)| address - **s < r.len).map(|(s, r)| (*s, r))
    }

    pub fn buffer(&self, buffer: u64) -> Result<(&Buffer, &Piece), Status> {
        let found = self.buffers.get(&buffer).ok_or(Status::InvalidHandle)?;
        Ok((found, self.pieces.get(&found.piece).ok_or(Status::InvalidHandle)?))
    }

    /// The handle of a piece that is here already.
    pub fn known(&self, place: &Place) -> Option<u64> {
        let same = |piece: &Piece| (piece.place.inode, piece.place.offset) == (place.inode, place.offset);
        self.pieces.iter().find(|(_, piece)| same(piece)).map(|(handle, _)| *handle)
    }
}
