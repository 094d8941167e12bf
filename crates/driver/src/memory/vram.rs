//! The file that has the bytes of memory without an address (`hipMemCreate`): one for the process, so that the runtime, which
//! maps such memory for the host through the device's one file and an offset, finds all of it there.
//!
//! Each piece lies behind a page that says how large it is and whose. A file handle that is opened for one piece stands at its
//! offset; so another process that gets the handle knows all that it needs, and keeps the bytes alive.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::PAGE;
use crate::abi::Status;

/// The first word of the page in front of a piece.
const MAGIC: u64 = 0x6d61_7276_6874_756c;

pub struct Vram {
    file: Arc<OwnedFd>,
    /// Bytes that were ever given out. Offsets are never used again: the file is sparse.
    end: AtomicU64,
    growing: Mutex<()>,
}

/// Where a piece lies, as the page in front of it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub inode: u64,
    pub offset: u64,
    pub len: u64,
    pub node: u32,
}

impl Vram {
    pub fn new() -> Result<Vram, Status> {
        // SAFETY: makes a new file.
        let fd = unsafe { libc::memfd_create(c"luthier-vram".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(Status::NoMemory);
        }
        // SAFETY: just opened, and nothing else has it.
        let file = Arc::new(unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(Vram { file, end: AtomicU64::new(0), growing: Mutex::new(()) })
    }

    pub fn file(&self) -> &Arc<OwnedFd> {
        &self.file
    }

    /// A new piece of `len` zero bytes.
    pub fn piece(&self, len: u64, node: u32) -> Result<Place, Status> {
        let _one = super::lock(&self.growing);
        let offset = self.end.load(Relaxed) + PAGE;
        let end = offset.checked_add(len).ok_or(Status::NoMemory)?;
        let file = File::from(self.file.try_clone().map_err(|_| Status::NoMemory)?);
        file.set_len(end).map_err(|_| Status::NoMemory)?;
        let inode = file.metadata().map_err(|_| Status::Error)?.ino();
        let words = [MAGIC, len, node.into()].map(u64::to_le_bytes);
        file.write_all_at(words.as_flattened(), offset - PAGE).map_err(|_| Status::NoMemory)?;
        self.end.store(end, Relaxed);
        Ok(Place { inode, offset, len, node })
    }

    /// Gives a piece's bytes back to the host.
    pub fn release(&self, place: &Place) {
        let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (start, len) = (place.offset - PAGE, place.len + PAGE);
        // SAFETY: our file. If the host refuses, the bytes stay until the process ends.
        unsafe { libc::fallocate(self.file.as_raw_fd(), how, start as libc::off_t, len as libc::off_t) };
    }
}

/// What the runtime notes of a buffer (libdrm's `amdgpu_bo_metadata`), for all that have it.
pub type Note = [u8; 280];
/// Where that is in the page in front of a piece.
const NOTE: u64 = 64;

/// # Errors
/// The host has no memory.
pub fn set_note(file: &OwnedFd, place: &Place, note: &Note) -> Result<(), Status> {
    let file = File::from(file.try_clone().map_err(|_| Status::NoMemory)?);
    file.write_all_at(note, place.offset - PAGE + NOTE).map_err(|_| Status::NoMemory)
}

/// Zeros if there is none.
///
/// # Errors
/// The file cannot be read.
pub fn note(file: &OwnedFd, place: &Place) -> Result<Note, Status> {
    let mut note = [0; 280];
    let file = File::from(file.try_clone().map_err(|_| Status::NoMemory)?);
    file.read_exact_at(&mut note, place.offset - PAGE + NOTE).map_err(|_| Status::Error)?;
    Ok(note)
}

/// A file handle of its own for one piece, as a DMA-BUF is.
pub fn export(file: &OwnedFd, place: &Place) -> Result<OwnedFd, Status> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut file = File::options().read(true).write(true).open(path).map_err(|_| Status::NoMemory)?;
    file.seek(SeekFrom::Start(place.offset)).map_err(|_| Status::Error)?;
    Ok(file.into())
}

/// What a file handle names, which a program gives us, and a handle of the file for us.
///
/// # Errors
/// It is none that [`export`] has made, here or in another process.
pub fn import(fd: RawFd) -> Result<(OwnedFd, Place), Status> {
    // SAFETY: the kernel says if there is no such handle.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Err(Status::InvalidHandle);
    }
    // SAFETY: just made, and nothing else has it.
    let mut file = unsafe { File::from_raw_fd(copy) };
    let mut words = [[0; 8]; 3];
    let offset = file.stream_position().map_err(|_| Status::InvalidHandle)?;
    let first = offset.checked_sub(PAGE).ok_or(Status::InvalidHandle)?;
    file.read_exact_at(words.as_flattened_mut(), first).map_err(|_| Status::InvalidHandle)?;
    let [magic, len, node] = words.map(u64::from_le_bytes);
    let metadata = file.metadata().map_err(|_| Status::InvalidHandle)?;
    let inside = offset.checked_add(len).is_some_and(|end| end <= metadata.len());
    if magic != MAGIC || !inside || len == 0 {
        return Err(Status::InvalidHandle);
    }
    let node = u32::try_from(node).map_err(|_| Status::InvalidHandle)?;
    Ok((file.into(), Place { inode: metadata.ino(), offset, len, node }))
}
