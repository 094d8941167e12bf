//! Addresses without memory, memory without addresses, and putting the one behind the other: what `hipMemAddressReserve`,
//! `hipMemCreate` and `hipMemMap` come to, and HIP's memory pools.
//!
//! The driver has each piece mapped for itself, and what GPUs access is there. At the program's address is nothing for the
//! host, unless the runtime maps the piece there too, as it does when the program lets the host access it.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use super::map::Mapping;
use super::pieces::{Buffer, Piece, Placed, Reserved};
use super::table::Table;
use super::vram::{self, Note, Place, Vram};
use super::{Memory, PAGE, lock};
use crate::abi::{Status, flags};
use luthier_emulator::memory::unwritten;

impl Memory {
    /// The file of all pieces.
    pub fn vram(&self) -> Result<&Vram, Status> {
        if let Some(vram) = self.vram.get() {
            return Ok(vram);
        }
        let new = Vram::new()?;
        Ok(self.vram.get_or_init(|| new))
    }

    /// Addresses alone, at one that is wanted or anywhere.
    pub fn reserve(&self, len: u64, alignment: u64, wanted: Option<u64>) -> Result<u64, Status> {
        if len == 0 || len > 1 << 46 || !alignment.is_power_of_two() || wanted == Some(0) {
            return Err(Status::InvalidParameter);
        }
        let len = len.next_multiple_of(PAGE);
        let mut table = lock(&self.table);
        if wanted.is_some() {
            table.stale.clear();
        }
        let mapping = match wanted {
            Some(address) if !address.is_multiple_of(alignment.max(PAGE)) => return Err(Status::InvalidParameter),
            Some(address) => Mapping::addresses_at(address, len),
            None => Mapping::addresses(len, alignment),
        };
        let mapping = mapping.ok_or(Status::NoMemory)?;
        let start = mapping.start();
        table.apart.reserved.insert(start, Reserved { mapping: Arc::new(mapping), len });
        Ok(start)
    }

    /// Memory alone; gives its handle.
    pub fn create(&self, node: u32, size: u64, flags: u32) -> Result<u64, Status> {
        let len = size.next_multiple_of(PAGE);
        let vram = self.vram()?;
        let mut table = lock(&self.table);
        let counted = self.config.is_gpu(node);
        if counted && table.used.get(&node).copied().unwrap_or(0) + len > self.config.memory {
            return Err(Status::NoMemory);
        }
        let place = vram.piece(len, node)?;
        let piece = Piece::of(Arc::clone(vram.file()), place, flags, counted, false)?;
        if counted {
            *table.used.entry(node).or_default() += len;
        }
        let handle = table.adopt(piece);
        if counted {
            self.forget(handle, len);
        }
        Ok(handle)
    }

    /// Frees addresses or memory that were made apart from each other; `None` if neither starts there.
    pub fn free_apart(&self, address: u64) -> Option<Result<(), Status>> {
        let mut table = lock(&self.table);
        let mapping = if let Some(reserved) = table.apart.reserved.get(&address) {
            let end = address + reserved.len;
            if table.apart.placed.range(address..end).next().is_some() {
                return Some(Err(Status::Error));
            }
            table.apart.reserved.remove(&address)?.mapping
        } else {
            let piece = table.apart.pieces.remove(&address)?;
            unwritten::remove(std::ptr::without_provenance(address as usize), piece.len());
            if piece.counted
                && let Some(used) = table.used.get_mut(&piece.node())
            {
                *used -= piece.len();
            }
            if piece.exported == 0
                && !piece.foreign
                && let Some(vram) = self.vram.get()
            {
                vram.release(&piece.place);
            }
            table.apart.buffers.retain(|_, buffer| buffer.piece != address);
            piece.mapping
        };
        table.spans.clear();
        table.next += 1;
        let now = table.next;
        table.graveyard.push_back((now, mapping));
        table.bury();
        Some(Ok(()))
    }

    /// A file handle by which a piece can be had; `None` if this is no piece's handle.
    pub(super) fn export_piece(&self, handle: u64, size: u64) -> Result<Option<RawFd>, Status> {
        let mut table = lock(&self.table);
        let Some(piece) = table.apart.pieces.get_mut(&handle) else { return Ok(None) };
        if size > piece.len() {
            return Err(Status::InvalidParameter);
        }
        let file = vram::export(&piece.file, &piece.place)?;
        piece.exported += 1;
        Ok(Some(file.into_raw_fd()))
    }

    /// What a file handle names, which the program has from a process or from itself: handle, size and node.
    pub fn adopt(&self, fd: RawFd) -> Result<(u64, u64, u32), Status> {
        let (file, place) = vram::import(fd)?;
        if place.node >= self.config.nodes() {
            return Err(Status::InvalidHandle);
        }
        let mut table = lock(&self.table);
        let handle = table.adopt_file(file, place, false)?;
        Ok((handle, place.len, place.node))
    }

    /// libdrm's import: a node's GPU gets what a file handle names, as a buffer. Gives the buffer and its size.
    pub fn open_buffer(&self, node: u32, fd: RawFd) -> Result<(u64, u64), Status> {
        let (file, place) = vram::import(fd)?;
        let mut table = lock(&self.table);
        let piece = table.adopt_file(file, place, true)?;
        if let Some(piece) = table.apart.pieces.get_mut(&piece) {
            piece.exported = piece.exported.saturating_sub(1);
        }
        table.apart.next += 1;
        let buffer = table.apart.next;
        table.apart.buffers.insert(buffer, Buffer { node, piece });
        Ok((buffer, place.len))
    }

    pub fn close_buffer(&self, buffer: u64) -> Result<(), Status> {
        let mut table = lock(&self.table);
        let Buffer { piece, .. } = table.apart.buffers.remove(&buffer).ok_or(Status::InvalidHandle)?;
        let is_held = table.apart.buffers.values().any(|other| other.piece == piece);
        if !is_held && table.apart.pieces.get(&piece).is_some_and(|piece| piece.of_buffers) {
            // Where it is mapped it stays until it is taken from there.
            table.apart.pieces.remove(&piece);
        }
        Ok(())
    }

    /// The file that a buffer lies in, and where.
    pub fn place_of(&self, buffer: u64) -> Result<(RawFd, u64), Status> {
        let table = lock(&self.table);
        let (_, piece) = table.apart.buffer(buffer)?;
        Ok((piece.file.as_raw_fd(), piece.place.offset))
    }

    /// Notes something of what a buffer is, which all that have it can ask for.
    pub fn set_note(&self, buffer: u64, note: &Note) -> Result<(), Status> {
        let table = lock(&self.table);
        let (_, piece) = table.apart.buffer(buffer)?;
        vram::set_note(&piece.file, &piece.place, note)
    }

    /// What was noted, and how large what the buffer is of is.
    pub fn note(&self, buffer: u64) -> Result<(u64, Note), Status> {
        let table = lock(&self.table);
        let (_, piece) = table.apart.buffer(buffer)?;
        Ok((piece.len(), vram::note(&piece.file, &piece.place)?))
    }

    /// Where the host has a buffer.
    pub fn host_of(&self, buffer: u64) -> Result<u64, Status> {
        let table = lock(&self.table);
        let (_, piece) = table.apart.buffer(buffer)?;
        Ok(piece.mapping.start())
    }

    /// Puts a part of a buffer at an address, for its GPU.
    pub fn put_buffer(&self, buffer: u64, offset: u64, size: u64, address: u64) -> Result<(), Status> {
        let mut table = lock(&self.table);
        let (found, piece) = table.apart.buffer(buffer)?;
        let (node, mapping, len) = (found.node, Arc::clone(&piece.mapping), size.next_multiple_of(PAGE));
        let inside = offset.checked_add(len).is_some_and(|end| end <= piece.len());
        let host = mapping.start() + offset;
        let new = Placed { mapping, host, len, node: piece.node(), mapped: 1 << node };
        if !inside || len == 0 || !offset.is_multiple_of(PAGE) || !address.is_multiple_of(PAGE) {
            return Err(Status::InvalidParameter);
        }
        let end = address.checked_add(len).ok_or(Status::InvalidParameter)?;
        if let Some(placed) = table.apart.placed.get_mut(&address).filter(|p| (p.host, p.len) == (host, len)) {
            placed.mapped |= 1 << node;
        } else {
            let reserved = table.apart.reserved_at(address).is_some_and(|(start, r)| end <= start + r.len);
            let taken =
                table.apart.placed_at(address).is_some() || table.apart.placed.range(address..end).next().is_some();
            if !reserved || taken {
                return Err(Status::InvalidParameter);
            }
            table.apart.placed.insert(address, new);
        }
        table.spans.clear();
        // What is there may be code, and something else was.
        self.code_changed();
        Ok(())
    }

    /// Takes a buffer from an address again.
    pub fn take_buffer(&self, buffer: u64, address: u64) -> Result<(), Status> {
        let mut table = lock(&self.table);
        let node = table.apart.buffer(buffer)?.0.node;
        let placed = table.apart.placed.get_mut(&address).ok_or(Status::InvalidParameter)?;
        placed.mapped &= !(1 << node);
        if placed.mapped == 0
            && let Some(placed) = table.apart.placed.remove(&address)
        {
            table.next += 1;
            let now = table.next;
            // A kernel that still accesses it finds the bytes.
            table.graveyard.push_back((now, placed.mapping));
        }
        table.spans.clear();
        table.bury();
        Ok(())
    }
}

impl Piece {
    fn of(file: Arc<OwnedFd>, place: Place, flags: u32, counted: bool, foreign: bool) -> Result<Piece, Status> {
        let mapping = Mapping::of_piece(&file, place.offset, place.len).ok_or(Status::NoMemory)?;
        Ok(Piece { mapping: Arc::new(mapping), file, place, flags, counted, exported: 0, foreign, of_buffers: false })
    }
}

impl Table {
    /// The handle of what a file handle names: of what is here already, or of another process's, or of memory that has an address
    /// in this one. If it is for a buffer only, it lives as long as buffers of it.
    fn adopt_file(&mut self, file: OwnedFd, place: Place, for_buffer: bool) -> Result<u64, Status> {
        if let Some(handle) = self.apart.known(&place) {
            if let Some(piece) = self.apart.pieces.get_mut(&handle) {
                piece.of_buffers &= for_buffer;
            }
            return Ok(handle);
        }
        let piece = Piece::of(Arc::new(file), place, flags::NO_ADDRESS, false, true)?;
        Ok(self.adopt(Piece { of_buffers: for_buffer, ..piece }))
    }

    fn adopt(&mut self, piece: Piece) -> u64 {
        let handle = piece.mapping.start();
        self.apart.pieces.insert(handle, piece);
        handle
    }
}
