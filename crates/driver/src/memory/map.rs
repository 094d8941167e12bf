//! Pages of the host's.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use luthier_emulator::memory::Span;

use super::PAGE;
use super::vram::{Place, Vram};
use crate::abi::flags;

/// What is unmapped behind each block: an overrun by less is caught, the host's too.
const GUARD: u64 = 1 << 16;
const HUGE: u64 = 2 << 20;

/// Bytes that were mapped for us, and vanish with this.
pub struct Mapping {
    start: u64,
    /// With the guard.
    whole: u64,
    /// Where the same bytes are for GPUs and nothing else, if that is apart.
    twin: Option<Twin>,
    /// What backs them, if another process may have them too.
    pub file: OnceLock<(OwnedFd, Place)>,
}

/// Pages of the host's as GPUs see them at an address.
pub(super) fn span(at: u64, host: u64, len: u64, flags: u32) -> Span {
    // SAFETY: `Pin`s keep blocks where they are; registered memory is the program's, which promises the same. All are
    // whole pages.
    unsafe { Span::of_host(at, std::ptr::with_exposed_provenance(host as usize), len, flags & flags::READ_ONLY == 0) }
}

/// Pages that show the same bytes as others.
struct Twin {
    start: u64,
    len: u64,
}

impl Drop for Twin {
    fn drop(&mut self) {
        // SAFETY: ours, and nothing accesses them any more (`Pin`).
        unsafe { libc::munmap(raw(self.start), self.len as usize) };
    }
}

fn raw(address: u64) -> *mut libc::c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

impl Mapping {
    /// `len` bytes of zero, at an address if one is wanted; `None` if the host has none, or has others there.
    pub fn new(len: u64, fixed: Option<u64>) -> Option<Mapping> {
        let mapping = match fixed {
            Some(address) if address % PAGE == 0 => Mapping::reserve_at(address, len)?,
            Some(_) => return None,
            None => Mapping::reserve(len, PAGE)?,
        };
        // SAFETY: the pages are ours.
        let done = unsafe { libc::mprotect(raw(mapping.start), len as usize, libc::PROT_READ | libc::PROT_WRITE) };
        if done != 0 {
            return None;
        }
        // A child has no GPU; and copies should not wait for a page at a time. Neither matters if it is refused.
        // SAFETY: as above.
        unsafe {
            libc::madvise(raw(mapping.start), len as usize, libc::MADV_DONTFORK);
            if len >= HUGE {
                libc::madvise(raw(mapping.start), len as usize, libc::MADV_HUGEPAGE);
            }
        }
        Some(mapping)
    }

    /// The same, with pages of their own for what GPUs do: so it can be seen what the host does.
    pub fn doubled(len: u64, fixed: Option<u64>) -> Option<Mapping> {
        let vram = Vram::new().ok()?;
        let place = vram.piece(len, 0).ok()?;
        let mut mapping = Mapping::new(len, fixed)?;
        mapping.twin = Some(Twin { start: Mapping::map(0, len, 0)?, len });
        mapping.show(vram.file(), place.offset, len).then_some(mapping)
    }

    /// Addresses alone, with nothing there.
    pub fn addresses(len: u64, alignment: u64) -> Option<Mapping> {
        Mapping::reserve(len, alignment)
    }

    /// These addresses alone; `None` if something is there.
    pub fn addresses_at(address: u64, len: u64) -> Option<Mapping> {
        Mapping::reserve_at(address, len)
    }

    /// The bytes of a file from an offset on.
    pub fn of_piece(file: &OwnedFd, offset: u64, len: u64) -> Option<Mapping> {
        let mapping = Mapping::reserve(len, PAGE)?;
        mapping.show(file, offset, len).then_some(mapping)
    }

    /// Puts a file's bytes where the block's are.
    pub fn attach(&self, file: OwnedFd, place: Place) -> bool {
        self.show(&file, place.offset, place.len) && self.file.set((file, place)).is_ok()
    }

    fn show(&self, file: &OwnedFd, offset: u64, len: u64) -> bool {
        let shown_at = |start| Mapping::show_at(start, file, offset, len);
        shown_at(self.start) && self.twin.as_ref().is_none_or(|twin| shown_at(twin.start))
    }

    fn show_at(start: u64, file: &OwnedFd, offset: u64, len: u64) -> bool {
        let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: replaces pages that are ours, and held no Rust objects.
        let at = unsafe { libc::mmap(raw(start), len as usize, access, how, file.as_raw_fd(), offset as libc::off_t) };
        if at == libc::MAP_FAILED {
            return false;
        }
        // SAFETY: as above.
        unsafe { libc::madvise(raw(start), len as usize, libc::MADV_DONTFORK) };
        true
    }

    fn map(address: u64, len: u64, how: i32) -> Option<u64> {
        let how = how | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: takes addresses that nothing has.
        let at = unsafe { libc::mmap(raw(address), usize::try_from(len).ok()?, libc::PROT_NONE, how, -1, 0) };
        (at != libc::MAP_FAILED).then(|| at.expose_provenance() as u64)
    }

    fn reserve(len: u64, alignment: u64) -> Option<Mapping> {
        let align = alignment.max(if len >= HUGE { HUGE } else { GUARD });
        let whole = len + GUARD;
        let at = Mapping::map(0, whole + align, 0)?;
        let start = at.next_multiple_of(align);
        let (before, after) = (start - at, at + align - start);
        // SAFETY: the ends of what was just mapped.
        unsafe {
            if before != 0 {
                libc::munmap(raw(at), before as usize);
            }
            if after != 0 {
                libc::munmap(raw(start + whole), after as usize);
            }
        }
        Some(Mapping { start, whole, twin: None, file: OnceLock::new() })
    }

    fn reserve_at(address: u64, len: u64) -> Option<Mapping> {
        let start = Mapping::map(address, len, libc::MAP_FIXED_NOREPLACE)?;
        let mapping = Mapping { start, whole: len, twin: None, file: OnceLock::new() };
        // Kernels that do not know the flag give another place.
        (start == address).then_some(mapping)
    }

    /// Gives the bytes back and keeps the addresses; false if that fails.
    pub fn empty(&mut self) -> bool {
        self.twin = None;
        let how = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: ours, and nothing accesses them any more (`Pin`).
        let at = unsafe { libc::mmap(raw(self.start), self.whole as usize, libc::PROT_NONE, how, -1, 0) };
        at != libc::MAP_FAILED
    }

    pub fn start(&self) -> u64 {
        self.start
    }

    /// Where GPUs and the driver access the bytes.
    pub fn inner(&self) -> u64 {
        self.twin.as_ref().map_or(self.start, |twin| twin.start)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: ours, and nothing accesses them any more (`Pin`).
        unsafe { libc::munmap(raw(self.start), self.whole as usize) };
    }
}
