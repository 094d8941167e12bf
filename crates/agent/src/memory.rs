//! Memory that another process can have too: a file without a name.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Mapped as long as this is there. The file is not needed for that: a process may have few open.
pub struct Shared {
    start: NonNull<c_void>,
    len: usize,
}

// SAFETY: plain memory; who reads and writes it says how.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// `len` bytes of zero, and the file for the other process, which relies on its never being cut short.
    pub fn new(len: usize) -> io::Result<(Shared, OwnedFd)> {
        // SAFETY: makes a file.
        let raw = unsafe { libc::memfd_create(c"luthier".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just made.
        let file = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: the file is ours.
        let done = unsafe {
            libc::ftruncate(raw, len as libc::off_t) == 0
                && libc::fcntl(raw, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) == 0
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
        Ok((Shared::map(&file, len)?, file))
    }

    /// A file that came from elsewhere, all of it, to be read.
    pub fn of_file(file: &OwnedFd) -> io::Result<Shared> {
        // SAFETY: `stat` is a plain structure that the call fills in.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        if unsafe { libc::fstat(file.as_raw_fd(), &raw mut stat) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Shared::map(file, stat.st_size as usize)
    }

    fn map(file: &OwnedFd, len: usize) -> io::Result<Shared> {
        if len == 0 {
            return Err(io::Error::other("a file of no bytes"));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: takes addresses that nothing has.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        match NonNull::new(at).filter(|_| at != libc::MAP_FAILED) {
            Some(start) => Ok(Shared { start, len }),
            None => Err(io::Error::last_os_error()),
        }
    }

    /// Puts memory of this process's own, of zero, in the place of some that another process has too: what a child after `fork`
    /// writes there stays its own. `start` and `len` are those of a [`Shared`] that is never dropped.
    pub fn replace(start: usize, len: usize) {
        let at = std::ptr::with_exposed_provenance_mut(start);
        let (access, how) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
        // SAFETY: a mapping of ours, whose addresses stay in use.
        unsafe { libc::mmap(at, len, access, how, -1, 0) };
    }

    pub fn start(&self) -> *mut c_void {
        self.start.as_ptr()
    }
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies bytes to the start.
    ///
    /// # Safety
    /// `from` can be read, as many bytes as there are here.
    pub unsafe fn fill(&self, from: *const u8) {
        // SAFETY: the caller's promise; the mapping is new, nothing else has it.
        unsafe { std::ptr::copy_nonoverlapping(from, self.start.as_ptr().cast(), self.len) };
    }

    /// The 64-bit number at an index.
    pub fn counter(&self, index: usize) -> Option<&std::sync::atomic::AtomicU64> {
        let inside = index.checked_mul(8).is_some_and(|at| at + 8 <= self.len);
        // SAFETY: within the mapping, which is aligned and lives as long as this.
        inside.then(|| unsafe { std::sync::atomic::AtomicU64::from_ptr(self.start.as_ptr().cast::<u64>().add(index)) })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours.
        unsafe { libc::munmap(self.start.as_ptr(), self.len) };
    }
}
