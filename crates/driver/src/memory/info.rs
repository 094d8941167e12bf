//! What the runtime asks about an address, and what it has noted there.

use super::{Memory, lock};
use crate::abi::{PointerInfo, Status, flags, pointer};

impl Memory {
    /// `hsaKmtQueryPointerInfo`; the lists in it live as long as the memory is not mapped anew.
    pub fn info(&self, address: u64) -> Option<PointerInfo> {
        let table = lock(&self.table);
        let describe = |start: u64, gpu: u64, kind, node, flags, size, nodes: &[u32], user_data: usize| PointerInfo {
            kind,
            node,
            flags,
            cpu_address: start,
            gpu_address: gpu,
            size,
            registered_nodes: 0,
            mapped_nodes: nodes.len() as u32,
            registered: std::ptr::null(),
            mapped: nodes.as_ptr(),
            user_data: std::ptr::with_exposed_provenance_mut(user_data),
        };
        if let Some((start, b)) = table.block_at(address).filter(|(_, b)| b.flags & flags::SCRATCH == 0) {
            return Some(describe(start, start, b.kind, b.node, b.flags, b.len, &b.nodes, b.user_data));
        }
        if let Some(piece) = table.apart.pieces.get(&address) {
            let (node, len) = (piece.node(), piece.len());
            return Some(describe(address, address, pointer::ALLOCATED, node, piece.flags, len, &[], 0));
        }
        if let Some((start, reserved)) = table.apart.reserved_at(address) {
            return Some(describe(start, start, pointer::RESERVED, 0, flags::ONLY_ADDRESS, reserved.len, &[], 0));
        }
        let (start, r) = table.registered_at(address)?;
        let gpu = r.gpu_address(start);
        Some(describe(start, gpu, pointer::REGISTERED, 0, r.flags, r.len, &r.nodes, r.user_data))
    }

    /// `hsaKmtSetMemoryUserData`.
    pub fn set_user_data(&self, address: u64, data: usize) -> Result<(), Status> {
        let mut table = lock(&self.table);
        if let Some(start) = table.block_at(address).map(|(start, _)| start) {
            table.blocks.entry(start).and_modify(|b| b.user_data = data);
        } else {
            let start = table.registered_at(address).map(|(start, _)| start).ok_or(Status::Error)?;
            table.registered.entry(start).and_modify(|r| r.user_data = data);
        }
        Ok(())
    }
}
