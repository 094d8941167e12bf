//! Page faults that Linux leaves to the process: userfaultfd.

use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::memory::PAGE;

/// `UFFD_API`, and what of it is needed: pages of files that are missing, or are there and not mapped; threads' numbers;
/// addresses to the byte.
const API: u64 = 0xaa;
const FEATURES: u64 = 1 << 5 | 1 << 8 | 1 << 10 | 1 << 11;
/// `UFFDIO_API`, `_REGISTER`, `_WAKE`, `_ZEROPAGE`, `_CONTINUE`.
const SET_API: u64 = 0xc018_aa3f;
const REGISTER: u64 = 0xc020_aa00;
const WAKE: u64 = 0x8010_aa02;
const ZERO_PAGE: u64 = 0xc020_aa04;
const CONTINUE: u64 = 0xc020_aa07;
/// `UFFDIO_REGISTER_MODE_MISSING`, `_MINOR`.
const MODES: u64 = 1 | 4;
/// `UFFD_EVENT_PAGEFAULT`.
const PAGE_FAULT: u8 = 0x12;
/// `UFFD_PAGEFAULT_FLAG_WRITE`.
const WRITE: u64 = 1;

/// `struct uffdio_api`.
#[repr(C)]
struct ApiRequest {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register`, `uffdio_zeropage` and `uffdio_continue`.
#[repr(C)]
struct Request {
    start: u64,
    len: u64,
    mode: u64,
    result: u64,
}

/// `struct uffd_msg`, of a page fault.
#[repr(C)]
#[derive(Default)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u32,
    padding: u32,
}

/// An access that waits.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub address: u64,
    pub write: bool,
    pub thread: u32,
}

pub struct Faults(OwnedFd);

impl Faults {
    /// # Errors
    /// The system has none of it, or does not let this process have it.
    pub fn new() -> Result<Faults, Error> {
        // SAFETY: makes a new file handle.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: just made, and nothing else has it.
        let faults = Faults(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        faults.request(SET_API, &mut ApiRequest { api: API, features: FEATURES, ioctls: 0 })?;
        Ok(faults)
    }

    fn request<T>(&self, which: u64, request: &mut T) -> Result<(), Error> {
        // SAFETY: each number goes with the structure that its caller passes.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), which as libc::Ioctl, std::ptr::from_mut(request)) };
        if done == 0 { Ok(()) } else { Err(Error::last_os_error()) }
    }

    /// # Errors
    /// The system does not do this there.
    pub fn watch(&self, pages: &Range<u64>) -> Result<(), Error> {
        let (start, len) = (pages.start, pages.end - pages.start);
        self.request(REGISTER, &mut Request { start, len, mode: MODES, result: 0 })
    }

    /// The next access, if one comes in time.
    ///
    /// # Errors
    /// The system gives none any more.
    pub fn next(&self, patience: Duration) -> Result<Option<Fault>, Error> {
        let mut waits = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which is ours.
        if unsafe { libc::poll(&raw mut waits, 1, patience.as_millis() as i32) } < 1 {
            return Ok(None);
        }
        let mut message = Message::default();
        // SAFETY: at most as many bytes as it has; any bytes are a message.
        let read = unsafe { libc::read(waits.fd, (&raw mut message).cast(), size_of::<Message>()) };
        if read < 0 {
            let error = Error::last_os_error();
            let again = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
            return if again { Ok(None) } else { Err(error) };
        }
        let Message { event, flags, address, thread, .. } = message;
        Ok((event == PAGE_FAULT).then_some(Fault { address, write: flags & WRITE != 0, thread }))
    }

    /// Lets the access go on.
    pub fn resolve(&self, fault: &Fault) {
        let page = || Request { start: fault.address & !(PAGE - 1), len: PAGE, mode: 0, result: 0 };
        // One of them fits, unless another thread's access has come first, or the memory is gone: then all that is left is
        // to wake it.
        if self.request(CONTINUE, &mut page()).is_err() && self.request(ZERO_PAGE, &mut page()).is_err() {
            self.request(CONTINUE, &mut page()).or_else(|_| self.request(WAKE, &mut page())).unwrap_or(());
        }
    }
}

/// Takes pages from the host; the file keeps their bytes.
pub fn take(pages: &Range<u64>) {
    let start = std::ptr::with_exposed_provenance_mut(pages.start as usize);
    // SAFETY: the pages show a file's bytes, and do so again at the next access.
    unsafe { libc::madvise(start, (pages.end - pages.start) as usize, libc::MADV_DONTNEED) };
}
