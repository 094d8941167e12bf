//! Blocks: what is allocated and freed.

use std::sync::Arc;

use luthier_emulator::FindingKind;
use luthier_emulator::memory::unwritten;

use super::map::Mapping;
use super::table::Block;
use super::{FREED, Memory, PAGE, lock};
use crate::abi::{Status, flags, pointer};

impl Memory {
    /// `hsaKmtAllocMemory`.
    pub fn allocate(&self, node: u32, size: u64, flags: u32, wanted: u64) -> Result<u64, Status> {
        if node >= self.config.nodes() {
            return Err(Status::InvalidNode);
        }
        if size == 0 || size > 1 << 46 {
            return Err(Status::InvalidParameter);
        }
        if flags & flags::NO_ADDRESS != 0 {
            return self.create(node, size, flags);
        }
        let len = size.next_multiple_of(PAGE);
        let counted = self.config.is_gpu(node) && !self.config.apu && flags & flags::SCRATCH == 0;
        let mut table = lock(&self.table);
        if counted && table.used.get(&node).copied().unwrap_or(0) + len > self.config.memory {
            return Err(Status::NoMemory);
        }
        let fixed = (flags & flags::FIXED_ADDRESS != 0).then_some(wanted);
        if fixed.is_some() {
            table.stale.clear();
        }
        // Code and queues are the runtime's.
        let is_the_runtimes = flags & (flags::SCRATCH | flags::EXECUTE | flags::AQL_QUEUE) != 0;
        let watches = self.touches.as_ref().filter(|_| !self.config.is_gpu(node) && !is_the_runtimes);
        let mapping = if watches.is_some() { Mapping::doubled(len, fixed) } else { Mapping::new(len, fixed) };
        let mapping = mapping.ok_or(Status::NoMemory)?;
        let start = mapping.start();
        if let Some(touches) = watches {
            touches.watch(start..start + len);
        }
        if counted && !is_the_runtimes {
            self.forget(start, len);
        }
        if counted {
            *table.used.entry(node).or_default() += len;
        }
        let block = Block {
            mapping: Arc::new(mapping),
            len,
            asked: len,
            node,
            flags,
            kind: pointer::ALLOCATED,
            mapped: 0,
            nodes: Box::default(),
            user_data: 0,
            counted,
        };
        table.blocks.insert(start, block);
        Ok(start)
    }

    /// The program has just got these bytes, and nothing has written them. Strict mode is to find what depends on them, if that is
    /// asked for. (What lies in the host's memory is often written by the host.)
    pub(super) fn forget(&self, start: u64, len: u64) {
        if self.config.strict.looks_for(FindingKind::UndefinedMemory) {
            // SAFETY: they are mapped.
            unsafe { unwritten::forget(std::ptr::with_exposed_provenance_mut(start as usize), len) };
        }
    }

    /// The program has got a block by asking for `size` bytes.
    pub fn asked(&self, address: u64, size: u64) {
        let mut table = lock(&self.table);
        if let Some(block) = table.blocks.get_mut(&address).filter(|block| (1..block.len).contains(&size)) {
            block.asked = size;
            table.spans.clear();
        }
    }

    /// Memory of the driver's own that all GPUs see.
    pub fn allocate_for_all(&self, size: u64) -> Result<u64, Status> {
        let start = self.allocate(0, size, flags::HOST_ACCESS, 0)?;
        self.map(start, None)?;
        Ok(start)
    }

    /// `hsaKmtFreeMemory`.
    pub fn free(&self, address: u64) -> Result<(), Status> {
        if let Some(done) = self.free_apart(address) {
            return done;
        }
        let mut table = lock(&self.table);
        let block = table.blocks.remove(&address).ok_or(Status::Error)?;
        if block.counted
            && let Some(used) = table.used.get_mut(&block.node)
        {
            *used -= block.len;
        }
        if table.freed.len() == FREED {
            table.freed.pop_front();
        }
        table.freed.push_back((address, block.len));
        if let Some(touches) = &self.touches {
            touches.forget(address);
        }
        unwritten::remove(std::ptr::without_provenance(address as usize), block.len);
        table.spans.clear();
        if block.flags & flags::EXECUTE != 0 {
            self.code_changed();
        }
        table.next += 1;
        let now = table.next;
        table.graveyard.push_back((now, block.mapping));
        table.bury();
        Ok(())
    }
}
