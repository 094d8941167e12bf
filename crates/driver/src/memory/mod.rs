//! The memory of all nodes: what was allocated and registered, and which GPU sees it.
//!
//! A GPU's address is the host's, but for registered memory, which GPUs find elsewhere, as with the real driver: HIP counts
//! on the two being different. What is freed while kernels run stays where it is until the last of them has ended that
//! may know of it: a wild access is then a wrong result or an error of the kernel's, never one of the host's.

mod apart;
mod describe;
mod map;
mod process;
mod share;
mod view;
mod vram;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::{IntoRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use luthier_emulator::FindingKind;
use luthier_emulator::memory::{Span, unwritten};

use crate::abi::{PointerInfo, SharedHandle, Status, flags, pointer};
use crate::config::Config;
use crate::topology::host_memory;
use crate::touches::Touches;
use apart::Apart;
use map::Mapping;
use vram::{Place, Vram};

pub use view::{Access, View};
pub use vram::Note;

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Freed blocks that are remembered, and whose addresses nothing else gets.
const FREED: usize = 1024;

/// Something that was allocated here, or imported.
struct Block {
    mapping: Arc<Mapping>,
    len: u64,
    /// Bytes that the program asked its runtime for, which gives out whole pages.
    asked: u64,
    node: u32,
    flags: u32,
    kind: u32,
    /// Nodes whose GPU has it in its page tables.
    mapped: u64,
    nodes: Box<[u32]>,
    user_data: usize,
    /// Whether it counts as used memory of its node.
    counted: bool,
}

/// The host's own memory that GPUs may see, registered this many times.
struct Registered {
    len: u64,
    /// Where GPUs find its pages: addresses that nothing else has.
    pages: Mapping,
    flags: u32,
    mapped: u64,
    /// How often it was mapped; the last who takes that back ends it.
    maps: u32,
    nodes: Box<[u32]>,
    user_data: usize,
    count: u32,
}

#[derive(Default)]
struct Table {
    blocks: BTreeMap<u64, Block>,
    apart: Apart,
    registered: BTreeMap<u64, Registered>,
    freed: VecDeque<(u64, u64)>,
    used: BTreeMap<u32, u64>,
    /// What each node's GPU sees, until something changes.
    spans: BTreeMap<u32, Arc<[Span]>>,
    /// Work under way, by the number that it got.
    under_way: BTreeSet<u64>,
    next: u64,
    /// What was freed when the next work would have had this number.
    graveyard: VecDeque<(u64, Arc<Mapping>)>,
    /// The addresses of what was freed, so that a stale pointer stays wild for a while.
    stale: VecDeque<Mapping>,
}

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

fn span(at: u64, host: u64, len: u64, flags: u32) -> Span {
    // SAFETY: `Pin`s keep blocks where they are; registered memory is the program's, which promises the same. All are
    // whole pages.
    unsafe { Span::of_host(at, std::ptr::with_exposed_provenance(host as usize), len, flags & flags::READ_ONLY == 0) }
}

impl Block {
    fn span(&self, start: u64) -> Span {
        span(start, self.mapping.inner(), self.len, self.flags).asked(start..start + self.asked)
    }
}

impl Registered {
    /// Where GPUs find what the host has at `start`.
    fn gpu_address(&self, start: u64) -> u64 {
        self.pages.start() + start % PAGE
    }

    fn unmap(&mut self) {
        self.maps = self.maps.saturating_sub(1);
        if self.maps == 0 {
            (self.mapped, self.nodes) = (0, Box::default());
        }
    }

    fn span(&self, start: u64) -> Span {
        let first = start & !(PAGE - 1);
        let whole = span(self.pages.start(), first, (start + self.len).next_multiple_of(PAGE) - first, self.flags);
        let begin = self.gpu_address(start);
        whole.asked(begin..begin + self.len)
    }
}

impl Table {
    fn block_at(&self, address: u64) -> Option<(u64, &Block)> {
        self.blocks.range(..=address).next_back().filter(|(start, b)| address - **start < b.len).map(|(s, b)| (*s, b))
    }

    /// By the host's address or a GPU's.
    fn registered_at(&self, address: u64) -> Option<(u64, &Registered)> {
        let holds = |&(&start, r): &(&u64, &Registered)| address.wrapping_sub(start) < r.len;
        let here = self.registered.range(..=address).rev().find(holds);
        let there = || self.registered.iter().find(|(start, r)| address.wrapping_sub(r.gpu_address(**start)) < r.len);
        here.or_else(there).map(|(start, r)| (*start, r))
    }

    /// What a node sees, by address.
    fn spans_of(&mut self, node: u32) -> Arc<[Span]> {
        if let Some(spans) = self.spans.get(&node) {
            return Arc::clone(spans);
        }
        let bit = 1u64 << node;
        let blocks = self.blocks.iter().filter(|(_, b)| b.mapped & bit != 0).map(|(start, b)| b.span(*start));
        let registered = self.registered.iter().filter(|(_, r)| r.mapped & bit != 0).map(|(start, r)| r.span(*start));
        let placed = self.apart.placed.iter().filter(|(_, p)| p.mapped & bit != 0).map(|(start, p)| p.span(*start));
        let mut spans: Vec<Span> = blocks.chain(registered).chain(placed).collect();
        spans.sort_unstable_by_key(Span::start);
        let spans: Arc<[Span]> = spans.into();
        self.spans.insert(node, Arc::clone(&spans));
        spans
    }

    fn bury(&mut self) {
        let oldest = self.under_way.first().copied().unwrap_or(u64::MAX);
        while self.graveyard.front().is_some_and(|(since, _)| *since <= oldest) {
            let Some((_, mapping)) = self.graveyard.pop_front() else { return };
            // A queue that was not destroyed may have it still.
            if let Ok(mut mapping) = Arc::try_unwrap(mapping)
                && mapping.empty()
            {
                self.stale.push_back(mapping);
            }
            if self.stale.len() > FREED {
                self.stale.pop_front();
            }
        }
    }
}

fn node_list(set: u64) -> Box<[u32]> {
    (0..64).filter(|node| set >> node & 1 != 0).collect()
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
    fn forget(&self, start: u64, len: u64) {
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

    /// Free bytes of a GPU's memory; on an APU the host's.
    pub fn available(&self, node: u32) -> u64 {
        let used = lock(&self.table).used.get(&node).copied().unwrap_or(0);
        let all = if self.config.apu { host_memory() } else { self.config.memory };
        all.saturating_sub(used)
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

    /// What holds an address stays where it is, even if it is freed, until this is dropped.
    pub fn keep(&self, address: u64) -> Option<Kept> {
        lock(&self.table).block_at(address).map(|(_, block)| Kept { _mapping: Arc::clone(&block.mapping) })
    }

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

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let mut table = lock(&self.0.table);
        table.under_way.remove(&self.1);
        table.bury();
    }
}

#[cfg(test)]
mod tests;
