//! What backs device memory: bytes of our own, or the host's.

use std::any::Any;
use std::cell::UnsafeCell;

/// The bytes of one allocation.
pub struct Buffer {
    ptr: *const u8,
    len: u64,
    /// Keeps the bytes where they are.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: kernels and copies access the bytes through atomics only, and the owner can be sent and shared.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// Sixteen bytes that all threads access.
#[repr(transparent)]
struct Shared(UnsafeCell<u128>);

// SAFETY: as of Buffer.
unsafe impl Sync for Shared {}

// Sixteen bytes are moved at once where they are aligned.
const _: () = assert!(align_of::<Shared>() == Buffer::HOST_ALIGN);

impl Buffer {
    /// Bytes of the host's are shared if they begin at a multiple of this, so that what is aligned
    /// on the device is so on the host.
    pub const HOST_ALIGN: usize = 16;

    /// `len` bytes of zero, or `None` if the host has no such memory. They begin at a multiple of [`Buffer::HOST_ALIGN`].
    pub fn zeroed(len: u64) -> Option<Buffer> {
        Buffer::zeroed_for(0, len)
    }

    /// The same for an address on the device, which need not be a multiple: what is aligned there is aligned on the host.
    pub fn zeroed_for(address: u64, len: u64) -> Option<Buffer> {
        let lead = address % Buffer::HOST_ALIGN as u64;
        let count = usize::try_from(len.checked_add(lead)?.div_ceil(16).max(1)).ok()?;
        let layout = std::alloc::Layout::array::<u128>(count).ok()?.align_to(64).ok()?;
        if layout.size() > isize::MAX as usize / 2 {
            return None;
        }
        let mut words: Vec<u128> = Vec::new();
        words.try_reserve_exact(count).ok()?;
        drop(words);
        // `vec![0; n]` asks the allocator for zeroed memory, which for large sizes costs nothing until touched.
        let words = vec![0u128; count].into_boxed_slice();
        let raw = Box::into_raw(words) as *mut [Shared];
        // SAFETY: Shared has the size, alignment and bit validity of u128.
        let words = unsafe { Box::from_raw(raw) };
        Some(Buffer { ptr: words.as_ptr().cast::<u8>().wrapping_add(lead as usize), len, _owner: Box::new(words) })
    }

    /// `len` bytes of the host's at `ptr`.
    ///
    /// # Safety
    /// As long as `owner` lives, the bytes are there, and no Rust reference to them exists. `ptr` is a multiple of
    /// [`Buffer::HOST_ALIGN`].
    pub unsafe fn shared(ptr: *mut u8, len: u64, owner: Box<dyn Any + Send + Sync>) -> Buffer {
        assert!(ptr.addr().is_multiple_of(Buffer::HOST_ALIGN), "host memory at {ptr:?} is not aligned");
        Buffer { ptr, len, _owner: owner }
    }

    /// The process's own bytes at `ptr`, as many as asked for and those of the last word behind them, for
    /// [`crate::memory::Memory::add_in_place`].
    ///
    /// # Safety
    /// Until the allocation has been freed, and the launches have ended that were under way then, the bytes asked for are
    /// there, and no Rust reference to them exists. (The rest of an aligned word is on the same page.)
    pub unsafe fn in_place(ptr: *mut u8, asked: u64) -> Buffer {
        let start = ptr.addr() as u64;
        let end = start.saturating_add(asked).checked_next_multiple_of(4).unwrap_or(start);
        Buffer { ptr, len: end - start, _owner: Box::new(()) }
    }

    pub fn len(&self) -> u64 {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    pub fn ptr(&self) -> *const u8 {
        self.ptr
    }
}
