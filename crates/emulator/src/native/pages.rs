//! Memory for code: written first, then executable, and never both.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Pages with code, given back when this is dropped.
pub struct Pages {
    start: NonNull<u8>,
    len: usize,
    /// Where the code begins.
    first: usize,
}

/// From where one block's code begins in its page to where the next one's does in its own, in bytes: whole lines of the cache.
const STEP: usize = 29 * 64;

// SAFETY: the pages are this value's own, and nothing writes them any more.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// # Errors
    /// The operating system gives no memory, or none that is executable.
    pub fn new(code: &[u8]) -> io::Result<Pages> {
        // SAFETY: asks for the size of a page.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
        // Not all at the beginning of a page, or what is executed in turns has the same few sets of the host's caches.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let first = NEXT.fetch_add(STEP, Relaxed) % page;
        let len = (first + code.len().max(1)).next_multiple_of(page);
        // SAFETY: new pages of no file, wherever there is room.
        let start = unsafe {
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), len, access, kind, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let pages = Pages { start, len, first };
        // SAFETY: the pages have room for the code, and are writable.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), pages.start.as_ptr().add(first), code.len()) };
        // SAFETY: the pages are ours.
        if unsafe { libc::mprotect(pages.start.as_ptr().cast(), len, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(pages)
    }

    /// The address of a byte of the code.
    pub fn at(&self, offset: usize) -> *const u8 {
        self.start.as_ptr().wrapping_add(self.first + offset)
    }

    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the pages are ours, and who runs the code holds this value.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
