//! Device memory: allocations in a flat 64-bit address space, with guard gaps between them.
//!
//! An address is valid inside an allocation and nowhere else; addresses are never given out twice, so a stale
//! pointer stays wild. Only memory of the process's may lie at the process's own addresses ([`in_place`]), which it uses
//! again. Each wave remembers the allocations that it touched last ([`Recent`]), which makes translation
//! a subtraction and a comparison.
//!
//! The bytes are shared by all workers. Every access from a kernel is an atomic one, relaxed where the kernel's is
//! not, so that a kernel's data race is no undefined behaviour of ours. (Accesses of several sizes to the same bytes are
//! something that Rust's model of memory does not speak of; the host's processor does.) What orders them is in
//! [`crate::scalar`]: a wait for stores.

mod in_place;
mod places;
mod recent;
mod shorts;
pub mod unwritten;
mod wide;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::buffer::Buffer;
use crate::hostcall::{HostCalls, heap::Heap};
use crate::level::at_best;
use places::Offsets;
pub use places::{HostPtr, Words};
pub use recent::Recent;

/// Distance between allocations: an overrun by less than this is caught for certain.
const GUARD: u64 = 1 << 16;
/// Allocations start at multiples of this.
const ALIGN: u64 = 1 << 12;
/// Freed allocations that are remembered, so that using one can be told from any other wild access.
const FREED: usize = 1 << 12;
/// What kernels may access of an allocation ends at a multiple of this: compilers widen atomics of 8 and 16 bits to the
/// word around them. (Real allocations end with a page.)
const WORD: u64 = 4;
/// The first address given out.
const FIRST: u64 = 0x10_0000_0000;
/// Flat addresses with these upper halves are LDS and scratch.
pub const SHARED_BASE: u64 = 1 << 48;
pub const PRIVATE_BASE: u64 = 2 << 48;
/// On gfx1250 a flat address with these six upper bits is scratch memory of the lane that bits 52 to 56 say, below them
/// an address from FLAT_SCRATCH_BASE on, which has the same upper bits (LLVM's lowering of casts from private pointers).
pub const SCRATCH_APERTURE: u64 = 1 << 58;
/// Where the lane's number begins.
pub const SCRATCH_LANE: u32 = 52;

/// An allocation: where it is and what backs it.
#[derive(Clone)]
pub struct Allocation {
    pub start: u64,
    /// What kernels may access.
    pub len: u64,
    /// What was asked for.
    asked: u64,
    pub writable: bool,
    pub buffer: Arc<Buffer>,
}

impl Allocation {
    /// Where the bytes end that were asked for.
    fn asked_end(&self) -> u64 {
        self.start + self.asked
    }
}

/// The allocations at one moment, sorted by address. Cloning shares the bytes.
#[derive(Clone, Default)]
pub struct Memory {
    allocations: Vec<Allocation>,
    next: u64,
    /// Some allocation has more bytes than were asked for, or bytes that belong to nothing.
    has_tails: bool,
    /// Bytes within allocations that belong to nothing, by address.
    red_zones: Arc<[Range<u64>]>,
    /// Where the host takes part while kernels run, so that it, and nothing that kernels do, orders their accesses.
    rings: Arc<[Range<u64>]>,
    /// Start and length, the latest last.
    freed: Arc<Mutex<VecDeque<(u64, u64)>>>,
    host: Option<Hosted>,
    /// What kernels have allocated themselves.
    heap: Arc<Heap>,
    /// Who serves the kernel's calls of its host.
    calls: Option<Arc<HostCalls>>,
    /// The first bad access of a launch that strict mode has let go on.
    ended: Arc<OnceLock<u64>>,
}

/// A host, and what it had when it was last asked.
type Hosted = (Arc<dyn Host>, Arc<[Span]>);

/// The host process in which a device runs packets ([`crate::packet`]): what its memory has where, which may change while
/// kernels run, and who listens to them. Its GPUs have one pipe and one bank, by which images are laid out in tiles: what
/// makes the resources has to be told that.
pub trait Host: Send + Sync {
    /// What kernels may access now, sorted by address.
    fn spans(&self) -> Arc<[Span]>;
    /// The span that holds an address, though it may be newer than the last [`Host::spans`].
    fn find(&self, address: u64) -> Option<Span>;
    /// Whether the address was in a span that has been freed (not too long ago).
    fn was_freed(&self, address: u64) -> bool;
    /// Changes whenever code may have changed: caches of instructions are invalid then.
    fn code_epoch(&self) -> u64;
    /// A wave sends an interrupt (`s_sendmsg`).
    fn interrupt(&self);
}

/// Some bytes in a row: an allocation, or what a [`Host`] has.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    start: u64,
    len: u64,
    /// The bytes at which accesses to it may begin: the last ones of its last word may be another allocation's.
    own: u64,
    ptr: *const u8,
    writable: bool,
    /// The addresses that were asked for: within whole pages; the rest belongs to nothing.
    asked: (u64, u64),
}

/// Where bytes begin or end that were asked for, next to an access that reaches others of the same allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    Start(u64),
    End(u64),
}

// SAFETY: the code that makes a span promises that all threads access its bytes through atomics only.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

impl Span {
    /// Holds no address.
    pub const NONE: Span = Span { start: 0, len: 0, own: 0, ptr: std::ptr::null(), writable: false, asked: (0, 0) };

    /// `len` bytes of the host's at `ptr`, which kernels find at `start`.
    ///
    /// # Safety
    /// The bytes stay where they are until every launch has ended that was under way when the span's [`Host`] last had it.
    /// `ptr` and `start` are multiples of [`Buffer::HOST_ALIGN`].
    pub unsafe fn of_host(start: u64, ptr: *const u8, len: u64, writable: bool) -> Span {
        Span { start, len, own: len, ptr, writable, asked: (start, start + len) }
    }
    /// The same, where only these addresses were asked for: strict mode has findings for accesses to others.
    #[must_use]
    pub fn asked(self, addresses: Range<u64>) -> Span {
        Span { asked: (addresses.start.max(self.start), addresses.end.min(self.end())), ..self }
    }
    /// Where the host has the byte at an address of the span's.
    pub fn host(&self, address: u64) -> *const u8 {
        self.ptr.wrapping_add(address.wrapping_sub(self.start) as usize)
    }
    pub fn start(&self) -> u64 {
        self.start
    }
    pub fn end(&self) -> u64 {
        self.start + self.len
    }
    pub fn writable(&self) -> bool {
        self.writable
    }
}

/// Why an address cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadAddress {
    /// In no allocation, or across an allocation's end.
    Unmapped,
    /// A write into a code object's read-only segment.
    ReadOnly,
}

impl Memory {
    pub fn new() -> Memory {
        Memory { next: FIRST, ..Memory::default() }
    }
    /// What a host has now, with room for allocations of our own.
    pub fn of_host(host: Arc<dyn Host>) -> Memory {
        let spans = host.spans();
        Memory { host: Some((host, spans)), ..Memory::new() }
    }
    /// The same with what the host has by now.
    pub fn renewed(mut self) -> Memory {
        if let Some((host, spans)) = &mut self.host {
            *spans = host.spans();
        }
        self.ended = Arc::default();
        self
    }
    /// Without strict mode the launch would have ended at this access.
    pub fn note_end(&self, address: u64) {
        self.ended.get_or_init(|| address);
    }
    /// The address at which it would have ended first, if so.
    pub fn end_noted(&self) -> Option<u64> {
        self.ended.get().copied()
    }
    pub fn host(&self) -> Option<&dyn Host> {
        self.host.as_ref().map(|(host, _)| &**host)
    }
    pub fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }
    pub fn calls(&self) -> Option<&HostCalls> {
        self.calls.as_deref()
    }
    /// Has kernels served by these from now on.
    pub fn set_calls(&mut self, calls: HostCalls) {
        self.calls = Some(Arc::new(calls));
    }
    /// What is there, by address, but for the host's memory and what kernels have allocated.
    pub(crate) fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }
    /// Where `len` bytes have room.
    pub fn next_address(&self, len: u64) -> u64 {
        let mut start = self.next;
        // Memory of the process's may lie anywhere.
        let first = self.allocations.partition_point(|a| a.start + a.len <= start);
        for a in &self.allocations[first..] {
            if start.saturating_add(len).saturating_add(GUARD) <= a.start {
                break;
            }
            start = (a.start + a.len + GUARD).next_multiple_of(ALIGN);
        }
        start
    }
    /// Adds `len` zero bytes and returns their address; `None` if the host has no memory for them.
    pub fn allocate(&mut self, len: u64, writable: bool) -> Option<u64> {
        let whole = len.checked_next_multiple_of(WORD)?;
        self.place(Buffer::zeroed(whole)?, whole, len, writable)
    }
    /// Adds the first `len` bytes of a buffer; `None` if there are no addresses left.
    pub fn add(&mut self, buffer: Buffer, len: u64, writable: bool) -> Option<u64> {
        self.place(buffer, len, len, writable)
    }
    fn place(&mut self, buffer: Buffer, len: u64, asked: u64, writable: bool) -> Option<u64> {
        debug_assert!(buffer.len() >= len);
        let start = self.next_address(len);
        let end = start.checked_add(len)?.checked_add(GUARD + ALIGN)?;
        if end >= SHARED_BASE {
            return None;
        }
        let after = self.allocations.partition_point(|a| a.start < start);
        self.allocations.insert(after, Allocation { start, len, asked, writable, buffer: Arc::new(buffer) });
        self.has_tails |= asked != len;
        self.next = (start + len + GUARD).next_multiple_of(ALIGN);
        Some(start)
    }
    /// Adds bytes at a chosen address, without the guard's distance: a code object's segments. False if another
    /// allocation has one of these addresses, or if they are none of memory's.
    pub fn insert_exact(&mut self, start: u64, len: u64, writable: bool, buffer: Arc<Buffer>) -> bool {
        debug_assert!(buffer.len() >= len);
        let Some(end) = start.checked_add(len).filter(|end| *end < SHARED_BASE - GUARD - ALIGN) else { return false };
        let after = self.allocations.partition_point(|a| a.start < start);
        let before = after.checked_sub(1).map(|i| &self.allocations[i]);
        let next = self.allocations.get(after).map(|a| a.start);
        if before.is_some_and(|a| a.asked_end() > start) || next.is_some_and(|next| next < end) {
            return false;
        }
        let (asked, whole) = (len, end.next_multiple_of(WORD) - start);
        let len = if buffer.len() >= whole && next.is_none_or(|next| next >= start + whole) { whole } else { len };
        self.allocations.insert(after, Allocation { start, len, asked, writable, buffer });
        self.has_tails |= asked != len;
        self.next = self.next.max((end + GUARD).next_multiple_of(ALIGN));
        true
    }
    /// Forgets the allocation at `start`; false if there is none.
    pub fn free(&mut self, start: u64) -> bool {
        match self.allocations.binary_search_by_key(&start, |a| a.start) {
            Ok(i) => {
                let gone = self.allocations.remove(i);
                let mut freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
                if freed.len() == FREED {
                    freed.pop_front();
                }
                freed.push_back((gone.start, gone.len));
                true
            }
            Err(_) => false,
        }
    }
    /// Whether an address that is in no allocation lies in the red zone of one, on either side: a quarter of the
    /// allocation's length, 64 bytes at least and 64 KB at most.
    fn is_beside_one(&self, address: u64) -> bool {
        let near = |start: u64, end: u64| {
            let zone = ((end - start) / 4).clamp(1 << 6, GUARD);
            address.wrapping_sub(end) < zone || start.wrapping_sub(address) <= zone
        };
        let at = self.allocations.partition_point(|a| a.start <= address);
        let own = &self.allocations[at.saturating_sub(1)..self.allocations.len().min(at + 1)];
        let spans = self.host.as_ref().map_or(&[][..], |(_, spans)| spans);
        let at = spans.partition_point(|s| s.start <= address);
        let hosts = &spans[at.saturating_sub(1)..spans.len().min(at + 1)];
        own.iter().any(|a| near(a.start, a.asked_end())) || hosts.iter().any(|s| near(s.start(), s.end()))
    }
    /// Whether the address was in an allocation that has been freed (not too long ago), and is in none now, nor beside one:
    /// what a process gives back may lie anywhere, and an access just behind an array is the same mistake wherever it does.
    pub fn was_freed(&self, address: u64) -> bool {
        let freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        let was = freed.iter().any(|&(start, len)| address.wrapping_sub(start) < len)
            || self.heap.was_freed(address)
            || self.host().is_some_and(|host| host.was_freed(address));
        was && self.find(address).is_none() && !self.is_beside_one(address)
    }
    /// Whether there is any [`Memory::tail`].
    pub fn has_tails(&self) -> bool {
        self.has_tails || self.host.is_some()
    }
    /// Takes accesses there for ordered by the host.
    pub fn add_ring(&mut self, ring: Range<u64>) {
        // What is at the same addresses now has taken the place of what was there.
        let others = self.rings.iter().filter(|known| known.end <= ring.start || ring.end <= known.start);
        self.rings = others.cloned().chain([ring.clone()]).collect();
    }

    pub fn rings(&self) -> &Arc<[Range<u64>]> {
        &self.rings
    }

    /// These bytes belong to nothing, although they lie in allocations: strict mode has findings for accesses to them.
    pub fn add_red_zones(&mut self, zones: impl IntoIterator<Item = Range<u64>>) {
        let mut all = self.red_zones.to_vec();
        all.extend(zones);
        all.sort_unstable_by_key(|zone| zone.start);
        self.has_tails |= !all.is_empty();
        self.red_zones = all.into();
    }
    /// Those among these addresses are none any more.
    pub fn remove_red_zones(&mut self, addresses: Range<u64>) {
        self.red_zones = self.red_zones.iter().filter(|zone| !addresses.contains(&zone.start)).cloned().collect();
    }
    /// The red zone that some of these bytes are in.
    pub fn red_zone(&self, address: u64, size: u64) -> Option<&Range<u64>> {
        let before = self.red_zones.partition_point(|zone| zone.start < address.saturating_add(size));
        self.red_zones[..before].last().filter(|zone| zone.end > address)
    }
    /// Where an allocation ends, or a red zone begins, if these bytes begin in it or behind its end, and reach bytes that
    /// the program has not asked for: of an allocation's last word, or of a host's pages.
    pub fn tail(&self, address: u64, size: u64) -> Option<Edge> {
        if let Some(zone) = self.red_zone(address, size) {
            return Some(Edge::End(zone.start));
        }
        if let Some(a) = self.allocation_before(address).filter(|a| address - a.start < a.len) {
            let end = a.asked_end();
            return (a.asked != a.len && address + size > end).then_some(Edge::End(end));
        }
        let span = self.host_span(address)?;
        let end = address.checked_add(size).filter(|end| *end <= span.end())?;
        let (first, behind) = span.asked;
        if end > behind {
            return Some(Edge::End(behind));
        }
        (address < first).then_some(Edge::Start(first))
    }
    /// Whether there is plainly no [`Memory::tail`] from one address to another: both are in what was asked for of one
    /// allocation, and there is no red zone in between.
    pub fn is_clear(&self, start: u64, end: u64) -> bool {
        let is_asked = match self.allocation_before(start).filter(|a| start - a.start < a.len) {
            Some(a) => end <= a.asked_end(),
            None => self.host_span(start).is_some_and(|span| span.asked.0 <= start && end <= span.asked.1),
        };
        is_asked && end.checked_sub(start).is_some_and(|size| self.red_zone(start, size).is_none())
    }
    fn allocation_before(&self, address: u64) -> Option<&Allocation> {
        self.allocations.partition_point(|a| a.start <= address).checked_sub(1).map(|i| &self.allocations[i])
    }
    /// What the host has there, perhaps since a moment ago.
    fn host_span(&self, address: u64) -> Option<Span> {
        let (host, spans) = self.host.as_ref()?;
        let known = spans.partition_point(|s| s.start <= address).checked_sub(1).map(|i| spans[i]);
        known.filter(|s| address - s.start < s.len).or_else(|| host.find(address))
    }
    /// The allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<Span> {
        let behind = self.allocations.partition_point(|a| a.start <= address);
        let before = behind.checked_sub(1).map(|at| &self.allocations[at]);
        if let Some(a) = before.filter(|a| address - a.start < a.len) {
            let (start, len, asked) = (a.start, a.len, (a.start, a.asked_end()));
            let own = self.allocations.get(behind).map_or(len, |next| len.min(next.start - start));
            return Some(Span { start, len, own, ptr: a.buffer.ptr(), writable: a.writable, asked });
        }
        if let Some(block) = self.heap.find(address) {
            return Some(block);
        }
        self.host_span(address)
    }
    /// Offsets into one allocation for all lanes of the mask, if each lane's `size` bytes are aligned words of it, or one
    /// aligned part of a word: into `words`, so that they need not be moved. False, and nothing of use, if they are not.
    /// Inactive lanes get an active one's offset, but not the second 32 if all of those are inactive.
    #[inline]
    pub fn resolve_all(
        &self,
        recent: &mut Recent,
        lanes: &[u64; 64],
        mask: u64,
        size: u64,
        write: bool,
        words: &mut Words,
    ) -> bool {
        let at = lanes[mask.trailing_zeros() as usize & 63];
        let Ok(span) = self.span_of(recent, at, size, write) else { return false };
        let Some(limit) = span.len.checked_sub(size) else { return false };
        let limit = limit.min(span.own - 1);
        let (start, spare, out) = (span.start, at - span.start, &mut words.offsets);
        let (bits, most) = if mask >> 32 == 0 {
            at_best(Offsets::<32> { lanes, mask, start, spare, out })
        } else {
            at_best(Offsets::<64> { lanes, mask, start, spare, out })
        };
        (words.first, words.size, words.bits) = (HostPtr::new(span.ptr, span.writable), size, bits);
        bits & (size.min(4) - 1) == 0 && most <= limit
    }
    /// Copies bytes out; `Err` holds the first bad address.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), u64> {
        if out.is_empty() {
            return Ok(());
        }
        let mut recent = Recent::NONE;
        let p = self.resolve(&mut recent, address, out.len() as u64, false).map_err(|_| self.first_bad(address))?;
        p.read(out);
        Ok(())
    }
    /// Copies bytes in, read-only allocations included (the host may write anything).
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), u64> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut recent = Recent::NONE;
        let p = self.resolve(&mut recent, address, bytes.len() as u64, false).map_err(|_| self.first_bad(address))?;
        p.write(bytes);
        Ok(())
    }
    fn first_bad(&self, address: u64) -> u64 {
        self.find(address).map_or(address, |a| a.start + a.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_any_length_from_anywhere() {
        let mut m = Memory::new();
        let at = m.allocate(64, true).unwrap();
        let bytes: Vec<u8> = (1..=40).collect();
        for (offset, len) in [(0, 40), (3, 21), (8, 16), (5, 0), (16, 7)] {
            m.write(at, &[0; 64]).unwrap();
            m.write(at + offset, &bytes[..len]).unwrap();
            let mut all = [0; 64];
            m.read(at, &mut all).unwrap();
            let first = offset as usize;
            assert!(all[..first].iter().chain(&all[first + len..]).all(|&b| b == 0));
            let mut out = vec![0; len];
            m.read(at + offset, &mut out).unwrap();
            assert_eq!((&out[..], &all[first..first + len]), (&bytes[..len], &bytes[..len]));
        }
    }

    #[test]
    fn addresses_are_valid_inside_allocations_only() {
        let mut m = Memory::new();
        let a = m.allocate(10, true).unwrap();
        let b = m.allocate(100, false).unwrap();
        let mut recent = Recent::NONE;
        assert!(m.resolve(&mut recent, a + 8, 4, true).is_ok());
        assert_eq!(m.resolve(&mut recent, a + 9, 4, true).err(), Some(BadAddress::Unmapped));
        // Ten bytes were asked for.
        assert_eq!(
            [(a + 6, 4), (a + 7, 4), (a + 8, 4), (a + 11, 1), (b, 4)].map(|(at, n)| m.tail(at, n)),
            [None, Some(Edge::End(a + 10)), Some(Edge::End(a + 10)), Some(Edge::End(a + 10)), None]
        );
        assert_eq!(m.resolve(&mut recent, a.wrapping_sub(1), 1, false).err(), Some(BadAddress::Unmapped));
        assert!(m.resolve(&mut recent, b, 100, false).is_ok());
        assert_eq!(m.resolve(&mut recent, b, 1, true).err(), Some(BadAddress::ReadOnly));
        m.write(b, &[1, 2, 3]).unwrap();
        let mut out = [0; 3];
        m.read(b, &mut out).unwrap();
        assert_eq!(out, [1, 2, 3]);
        assert!(m.free(a) && !m.free(a));
        assert_eq!(m.read(a, &mut out), Err(a));
        assert!(m.was_freed(a + 9) && !m.was_freed(a + 12) && !m.was_freed(b));
    }

    #[test]
    fn what_is_beside_an_allocation_is_not_called_freed() {
        let mut words = vec![0u64; 512].into_boxed_slice();
        let at = words.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the bytes outlive the memory, and nothing else uses them.
        let part = |from: u64, len: u64| unsafe {
            Buffer::in_place(std::ptr::with_exposed_provenance_mut((at + from) as usize), len)
        };
        let mut m = Memory::new();
        // 800 bytes between two pieces that have been freed, and the same with these first.
        for (from, len) in [(0, 400), (1200, 1600)] {
            assert!(m.add_in_place(part(from, len), len, true) && m.free(at + from));
        }
        let freed = |m: &Memory| [0, 350, 1200, 1208, 1399, 1400, 2000].map(|by| m.was_freed(at + by));
        assert_eq!(freed(&m), [true; 7]);
        assert!(m.add_in_place(part(400, 800), 800, true));
        // Two hundred bytes on either side are its own.
        assert_eq!(freed(&m), [true, false, false, false, false, true, true]);
        assert!(m.free(at + 400));
        assert_eq!(freed(&m), [true; 7]);
    }
}
