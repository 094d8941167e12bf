//! The memory of all nodes: what was allocated and registered, and which GPU sees it.
//!
//! A GPU's address is the host's, but for registered memory, which GPUs find elsewhere, as with the real driver: HIP counts
//! on the two being different. What is freed while kernels run stays where it is until the last of them has ended that
//! may know of it: a wild access is then a wrong result or an error of the kernel's, never one of the host's.

mod apart;
mod blocks;
mod describe;
mod exchange;
mod info;
mod map;
mod pieces;
mod process;
mod seen;
mod share;
mod table;
mod view;
mod vram;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::config::Config;
use crate::topology::host_memory;
use crate::touches::Touches;
use map::Mapping;
use table::Table;
use vram::Vram;

pub use view::{Access, View};
pub use vram::Note;

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Freed blocks that are remembered, and whose addresses nothing else gets.
const FREED: usize = 1024;

pub struct Memory {
    table: Mutex<Table>,
    vram: OnceLock<Vram>,
    config: Config,
    /// Sees what the host does to its own memory that GPUs have, if strict mode wants to know.
    touches: Option<Arc<Touches>>,
    code_epoch: AtomicU64,
}

/// Work that accesses memory; what is freed meanwhile stays until this is dropped.
pub struct Pin<'a>(&'a Memory, u64);

/// A block that a queue needs.
pub struct Kept {
    _mapping: Arc<Mapping>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single insertion or removal.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    pub fn new(config: Config, touches: Option<Arc<Touches>>) -> Memory {
        Memory { table: Mutex::default(), vram: OnceLock::new(), config, touches, code_epoch: AtomicU64::new(1) }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Work begins.
    pub fn pin(&self) -> Pin<'_> {
        let mut table = lock(&self.table);
        table.next += 1;
        let number = table.next;
        table.under_way.insert(number);
        Pin(self, number)
    }

    /// Code may have changed.
    pub fn code_changed(&self) {
        self.code_epoch.fetch_add(1, Relaxed);
    }

    /// Counts how often code has changed.
    pub fn code_epoch(&self) -> u64 {
        self.code_epoch.load(Relaxed)
    }

    /// Free bytes of a GPU's memory; on an APU the host's.
    pub fn available(&self, node: u32) -> u64 {
        let used = lock(&self.table).used.get(&node).copied().unwrap_or(0);
        let all = if self.config.apu { host_memory() } else { self.config.memory };
        all.saturating_sub(used)
    }

    /// What holds an address stays where it is, even if it is freed, until this is dropped.
    pub fn keep(&self, address: u64) -> Option<Kept> {
        lock(&self.table).block_at(address).map(|(_, block)| Kept { _mapping: Arc::clone(&block.mapping) })
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let mut table = lock(&self.0.table);
        table.under_way.remove(&self.1);
        table.bury();
    }
}

#[cfg(test)]
mod tests;
