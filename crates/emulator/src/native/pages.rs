//! Memory for code: written first, then executable, and never both.

use std::io;
use std::ptr::NonNull;

/// Pages with code, given back when this is dropped.
pub struct Pages {
    start: NonNull<u8>,
    len: usize,
}

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
        let len = code.len().max(1).next_multiple_of(page);
        // SAFETY: new pages of no file, wherever there is room.
        let start = unsafe {
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), len, access, kind, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let pages = Pages { start, len };
        // SAFETY: the pages have room for the code, and are writable.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), pages.start.as_ptr(), code.len()) };
        // SAFETY: the pages are ours.
        if unsafe { libc::mprotect(pages.start.as_ptr().cast(), len, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(pages)
    }

    /// The address of a byte of the code.
    pub fn at(&self, offset: usize) -> *const u8 {
        self.start.as_ptr().wrapping_add(offset)
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
