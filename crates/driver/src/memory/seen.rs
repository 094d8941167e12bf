//! What GPUs see: blocks that are mapped for them, and the program's own memory that is registered.

use super::map::Mapping;
use super::table::{Registered, node_list};
use super::{Memory, PAGE, lock, process};
use crate::abi::{Status, flags, pointer};

impl Memory {
    /// `hsaKmtRegisterMemory...`; no GPU sees it yet.
    pub fn register(&self, address: u64, len: u64, flags: u32) -> Result<(), Status> {
        if self.config.apu {
            return Ok(());
        }
        let end = address.checked_add(len).filter(|end| *end < 1 << 47 && len != 0 && address != 0);
        let end = end.ok_or(Status::InvalidParameter)?;
        if !process::is_mapped(address & !(PAGE - 1), end.next_multiple_of(PAGE)) {
            return Err(Status::Error);
        }
        let mut table = lock(&self.table);
        if let Some(registered) = table.registered.get_mut(&address) {
            // Again, as a part of what it was: another size is another thing, which this cannot be at the same time.
            registered.count += 1;
            return if len <= registered.len { Ok(()) } else { Err(Status::InvalidParameter) };
        }
        let whole = end.next_multiple_of(PAGE) - (address & !(PAGE - 1));
        let pages = Mapping::addresses(whole, PAGE).ok_or(Status::NoMemory)?;
        let new = Registered { len, pages, flags, mapped: 0, maps: 0, nodes: Box::default(), user_data: 0, count: 1 };
        table.registered.insert(address, new);
        Ok(())
    }

    /// `hsaKmtDeregisterMemory`, for imported memory as well.
    pub fn deregister(&self, address: u64) -> Result<(), Status> {
        if self.config.apu {
            return Ok(());
        }
        let mut table = lock(&self.table);
        if table.block_at(address).is_some_and(|(start, b)| start == address && b.kind == pointer::SHARED) {
            drop(table);
            return self.free(address);
        }
        let start = table.registered_at(address).map(|(start, _)| start).ok_or(Status::NotRegistered)?;
        let registered = table.registered.get_mut(&start).ok_or(Status::NotRegistered)?;
        registered.count -= 1;
        if registered.count == 0 {
            table.registered.remove(&start);
            table.spans.clear();
        }
        Ok(())
    }

    /// Lets GPUs see something: these nodes' and no others', or all. Gives the address that it has there.
    pub fn map(&self, address: u64, nodes: Option<&[u32]>) -> Result<u64, Status> {
        if self.config.apu {
            return Ok(address);
        }
        let set = match nodes {
            None => self.config.gpu_nodes(),
            Some(nodes) if nodes.iter().all(|&n| n < self.config.nodes()) => nodes.iter().fold(0, |s, n| s | 1 << n),
            Some(_) => return Err(Status::InvalidParameter),
        } & self.config.gpu_nodes();
        let mut table = lock(&self.table);
        let mut gpu_address = address;
        let registered = table.registered_at(address).map(|(start, _)| start);
        if let Some(block) = table.blocks.get_mut(&address) {
            (block.mapped, block.nodes) = (set, node_list(set));
        } else if let Some((start, registered)) = registered.and_then(|s| Some((s, table.registered.get_mut(&s)?))) {
            // A program that registers it once more maps it once more, perhaps for another GPU.
            registered.mapped |= set;
            registered.maps += 1;
            registered.nodes = node_list(registered.mapped);
            gpu_address = registered.gpu_address(start);
        } else {
            // A piece of the scratch pool; its GPU may see all of it.
            let scratch =
                table.block_at(address).filter(|(_, b)| b.flags & flags::SCRATCH != 0).map(|(start, _)| start);
            let block = scratch.and_then(|start| table.blocks.get_mut(&start)).ok_or(Status::InvalidParameter)?;
            let own = 1 << block.node;
            (block.mapped, block.nodes) = (own, node_list(own));
        }
        table.spans.clear();
        Ok(gpu_address)
    }

    /// `hsaKmtUnmapMemoryToGPU`.
    pub fn unmap(&self, address: u64) -> Result<(), Status> {
        if self.config.apu {
            return Ok(());
        }
        let mut table = lock(&self.table);
        if let Some(block) = table.blocks.get_mut(&address) {
            (block.mapped, block.nodes) = (0, Box::default());
        } else if let Some(start) = table.registered_at(address).map(|(start, _)| start) {
            table.registered.entry(start).and_modify(Registered::unmap);
        } else if table.block_at(address).is_none() && !table.apart.pieces.contains_key(&address) {
            return Err(Status::Error);
        }
        table.spans.clear();
        Ok(())
    }
}
