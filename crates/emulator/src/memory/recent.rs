//! The allocations that a wave touched last: kernels mostly turn between a few.

use std::mem::offset_of;

use super::{BadAddress, HostPtr, Memory, Span};

/// Allocations that are remembered.
const COUNT: usize = 4;

/// Where a wave has found memory, so that finding it again is a subtraction and a comparison each.
#[derive(Clone, Debug)]
pub struct Recent {
    spans: [Span; COUNT],
    /// The one that is forgotten next.
    oldest: usize,
}

/// Where native code finds what is remembered, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub count: usize,
    /// The first allocation, and how far it is to the next one.
    pub first: usize,
    pub size: usize,
    /// Within one. Of the bytes at which accesses may begin, those of an access are all: the other ones of its last word may
    /// be another allocation's.
    pub start: usize,
    pub own: usize,
    pub ptr: usize,
    pub writable: usize,
}

impl Recent {
    pub const LAYOUT: Layout = Layout {
        count: COUNT,
        first: offset_of!(Recent, spans),
        size: size_of::<Span>(),
        start: offset_of!(Span, start),
        own: offset_of!(Span, own),
        ptr: offset_of!(Span, ptr),
        writable: offset_of!(Span, writable),
    };

    /// None yet.
    pub const NONE: Recent = Recent { spans: [Span::NONE; COUNT], oldest: 0 };

    /// Which of them has all these bytes.
    #[inline(always)]
    fn holding(&self, address: u64, size: u64, write: bool) -> Option<&Span> {
        self.spans.iter().find(|span| span.holds(address, size, write))
    }

    fn keep(&mut self, span: Span) -> &Span {
        let at = self.oldest;
        self.oldest = (at + 1) % COUNT;
        self.spans[at] = span;
        &self.spans[at]
    }
}

impl Span {
    #[inline(always)]
    fn holds(&self, address: u64, size: u64, write: bool) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset < self.own && self.len - offset >= size && (!write || self.writable)
    }
}

impl Memory {
    /// A host pointer to `size` bytes at `address`, valid as long as this `Memory` (or a clone of it) lives.
    #[inline(always)]
    pub fn resolve(&self, recent: &mut Recent, address: u64, size: u64, write: bool) -> Result<HostPtr, BadAddress> {
        let first = &recent.spans[0];
        let span = if first.holds(address, size, write) { first } else { self.other(recent, address, size, write)? };
        let offset = address.wrapping_sub(span.start);
        // SAFETY: offset is inside the span's buffer.
        Ok(HostPtr::new(unsafe { span.ptr.add(offset as usize) }, span.writable))
    }

    /// Where the host has bytes that are to be read, as [`Memory::resolve`] finds them.
    pub fn readable(&self, recent: &mut Recent, address: u64, size: u64) -> Option<*const u8> {
        self.span_of(recent, address, size, false).ok().map(|span| span.host(address))
    }

    /// Where the host has a byte, at how many from there on accesses may begin, and where those must end.
    pub fn room(&self, recent: &mut Recent, address: u64, write: bool) -> Option<(*const u8, u64, u64)> {
        let span = self.span_of(recent, address, 1, write).ok()?;
        let offset = address.wrapping_sub(span.start);
        Some((span.host(address), span.own - offset, span.len - offset))
    }

    /// The allocation that has these bytes.
    pub(super) fn span_of<'a>(
        &self,
        recent: &'a mut Recent,
        address: u64,
        size: u64,
        write: bool,
    ) -> Result<&'a Span, BadAddress> {
        if recent.spans[0].holds(address, size, write) {
            return Ok(&recent.spans[0]);
        }
        self.other(recent, address, size, write)
    }

    #[inline(never)]
    fn other<'a>(&self, recent: &'a mut Recent, address: u64, size: u64, write: bool) -> Result<&'a Span, BadAddress> {
        if recent.holding(address, size, write).is_some() {
            return recent.holding(address, size, write).ok_or(BadAddress::Unmapped);
        }
        let found = self.find(address).ok_or(BadAddress::Unmapped)?;
        if found.len - (address - found.start) < size {
            return Err(BadAddress::Unmapped);
        }
        if write && !found.writable {
            return Err(BadAddress::ReadOnly);
        }
        Ok(recent.keep(found))
    }
}
