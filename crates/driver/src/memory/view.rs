//! Memory as one GPU sees it.

use std::sync::Arc;

use luthier_emulator::memory::{Host, Span};

use super::{Memory, lock, process};
use crate::events::Events;

/// What one GPU sees, and whom it can wake.
pub struct View {
    pub memory: Arc<Memory>,
    pub events: Arc<Events>,
    pub node: u32,
}

/// Why an address is none of a GPU's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub address: u64,
    pub write: bool,
}

impl View {
    /// Where the host has `size` bytes that the GPU may access.
    ///
    /// # Errors
    /// It may not, or not in one piece.
    pub fn resolve(&self, address: u64, size: u64, write: bool) -> Result<*mut u8, Access> {
        let missing = Access { address, write };
        let span = self.find(address).ok_or(missing)?;
        let inside = span.end() - address >= size && (!write || span.writable());
        if inside { Ok(span.host(address).cast_mut()) } else { Err(missing) }
    }

    /// The same for something whose address is a multiple of its alignment.
    ///
    /// # Errors
    /// As [`View::resolve`].
    pub fn place<T>(&self, address: u64, write: bool) -> Result<*mut T, Access> {
        if !address.is_multiple_of(align_of::<T>() as u64) {
            return Err(Access { address, write });
        }
        Ok(self.resolve(address, size_of::<T>() as u64, write)?.cast())
    }

    /// The pieces in which the host has `size` bytes, with their sizes.
    ///
    /// # Errors
    /// The first address that the GPU may not access.
    pub fn pieces(&self, address: u64, size: u64, write: bool) -> Result<Vec<(*mut u8, usize)>, Access> {
        let (mut at, end) = (address, address.checked_add(size).ok_or(Access { address, write })?);
        let mut pieces = Vec::new();
        while at < end {
            let missing = Access { address: at, write };
            let span = self.find(at).filter(|span| !write || span.writable()).ok_or(missing)?;
            let next = span.end().min(end);
            pieces.push((span.host(at).cast_mut(), (next - at) as usize));
            at = next;
        }
        Ok(pieces)
    }
}

impl Host for View {
    fn spans(&self) -> Arc<[Span]> {
        if self.memory.config().apu {
            return process::spans().into();
        }
        lock(&self.memory.table).spans_of(self.node)
    }

    fn find(&self, address: u64) -> Option<Span> {
        if self.memory.config().apu {
            return process::spans().into_iter().find(|span| (span.start()..span.end()).contains(&address));
        }
        let table = lock(&self.memory.table);
        let bit = 1u64 << self.node;
        if let Some((start, block)) = table.block_at(address).filter(|(_, b)| b.mapped & bit != 0) {
            return Some(block.span(start));
        }
        if let Some((start, placed)) = table.apart.placed_at(address).filter(|(_, p)| p.mapped & bit != 0) {
            return Some(placed.span(start));
        }
        let mut seen = table.registered.iter().filter(|(_, r)| r.mapped & bit != 0).map(|(start, r)| r.span(*start));
        seen.find(|span| (span.start()..span.end()).contains(&address))
    }

    fn was_freed(&self, address: u64) -> bool {
        let table = lock(&self.memory.table);
        table.freed.iter().any(|&(start, len)| address.wrapping_sub(start) < len)
    }

    fn code_epoch(&self) -> u64 {
        if self.memory.config().apu {
            // There the runtime copies code without telling the driver.
            self.memory.code_changed();
        }
        self.memory.code_epoch()
    }

    fn interrupt(&self) {
        self.events.interrupt();
    }
}
