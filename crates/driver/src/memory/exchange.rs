//! Blocks that other processes get, and those that come from them: the calls. How a block's bytes get into a file is
//! [`share`]'s.

use std::os::fd::{IntoRawFd, RawFd};
use std::sync::Arc;

use super::map::Mapping;
use super::table::Block;
use super::vram::Place;
use super::{Memory, PAGE, lock, share};
use crate::abi::{SharedHandle, Status, flags, pointer};

impl Memory {
    /// `hsaKmtShareMemory`: from now on another process can have it too.
    pub fn share(&self, address: u64, size: u64) -> Result<SharedHandle, Status> {
        let table = lock(&self.table);
        let (start, block) = table.block_at(address).ok_or(Status::InvalidHandle)?;
        if start != address {
            return Err(Status::InvalidHandle);
        }
        if size.next_multiple_of(PAGE) > block.len {
            return Err(Status::InvalidParameter);
        }
        share::name(&block.mapping, block.len, block.node)
    }

    /// `hsaKmtExportDMABufHandle` of memory with or without an address: a file handle by which it can be had, here and in other
    /// processes, and where in the file's memory the address is.
    pub fn export(&self, address: u64, size: u64) -> Result<(RawFd, u64), Status> {
        if let Some(file) = self.export_piece(address, size)? {
            return Ok((file, 0));
        }
        let table = lock(&self.table);
        let found = table.block_at(address).filter(|(_, block)| block.flags & flags::SCRATCH == 0);
        let (start, block) = found.ok_or(Status::NotSupported)?;
        if address.checked_add(size).is_none_or(|end| end > start + block.len) {
            return Err(Status::InvalidParameter);
        }
        let file = share::export(&block.mapping, block.len, block.node)?;
        Ok((file.into_raw_fd(), address - start))
    }

    /// `hsaKmtRegisterSharedHandle`: where another process's memory is here, and its size.
    pub fn import(&self, handle: &SharedHandle) -> Result<(u64, u64), Status> {
        self.settle(share::import(handle)?).map(|(start, len, _)| (start, len))
    }

    /// The same by a file handle; gives the node, too.
    pub fn import_file(&self, fd: RawFd) -> Result<(u64, u64, u32), Status> {
        self.settle(share::adopt(fd)?)
    }

    fn settle(&self, (mapping, place): (Mapping, Place)) -> Result<(u64, u64, u32), Status> {
        let Place { len, node, .. } = place;
        if node >= self.config.nodes() {
            return Err(Status::InvalidHandle);
        }
        let start = mapping.start();
        let block = Block {
            mapping: Arc::new(mapping),
            len,
            asked: len,
            node,
            flags: flags::HOST_ACCESS,
            kind: pointer::SHARED,
            mapped: 0,
            nodes: Box::default(),
            user_data: 0,
            counted: false,
        };
        lock(&self.table).blocks.insert(start, block);
        Ok((start, len, node))
    }
}
