//! Memory that several processes have: from when it is first shared, its bytes lie in a file of its own. Another process has
//! the file by a handle that names it, which a process of the same user can open through /proc, or by a file handle that was
//! sent to it (a DMA-BUF). Nothing of it outlives the processes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use super::map::Mapping;
use super::vram::{self, Place, Vram};
use crate::abi::{SharedHandle, Status};

/// The first word of a handle.
const MAGIC: u32 = 0x6c75_7468;

/// Makes a block of a node's one that others can have: puts its bytes into a file, unless they are in one.
fn lay_open(mapping: &Mapping, len: u64, node: u32) -> Result<&(OwnedFd, Place), Status> {
    if mapping.file.get().is_none() {
        let vram = Vram::new()?;
        let place = vram.piece(len, node)?;
        copy(mapping.inner(), &place, vram.file()).map_err(|_| Status::NoMemory)?;
        let file = vram.file().try_clone().map_err(|_| Status::NoMemory)?;
        if !mapping.attach(file, place) {
            return Err(Status::NoMemory);
        }
    }
    mapping.file.get().ok_or(Status::Error)
}

/// A name of a block by which another process can have it.
pub fn name(mapping: &Mapping, len: u64, node: u32) -> Result<SharedHandle, Status> {
    let (file, Place { offset, inode, .. }) = lay_open(mapping, len, node)?;
    let fd = file.as_raw_fd();
    // ROCr has marks of its own in the seventh word.
    Ok([
        MAGIC,
        std::process::id(),
        fd as u32,
        *offset as u32,
        (offset >> 32) as u32,
        *inode as u32,
        0,
        (inode >> 32) as u32,
    ])
}

/// A file handle of a block's.
pub fn export(mapping: &Mapping, len: u64, node: u32) -> Result<OwnedFd, Status> {
    let (file, place) = lay_open(mapping, len, node)?;
    vram::export(file, place)
}

/// Writes what was ever touched of the bytes at an address to where they are to be.
fn copy(start: u64, place: &Place, file: &OwnedFd) -> std::io::Result<()> {
    let mut memory = File::open("/proc/self/mem")?;
    memory.seek(SeekFrom::Start(start))?;
    let file = File::from(file.try_clone()?);
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    while done < place.len {
        let piece = (place.len - done).min(buffer.len() as u64) as usize;
        memory.read_exact(&mut buffer[..piece])?;
        if buffer[..piece].iter().any(|&b| b != 0) {
            file.write_all_at(&buffer[..piece], place.offset + done)?;
        }
        done += piece as u64;
    }
    Ok(())
}

/// What a handle names, mapped here.
pub fn import(handle: &SharedHandle) -> Result<(Mapping, Place), Status> {
    let [magic, pid, fd, low, high, inode_low, _, inode_high] = *handle;
    let (offset, inode) = (u64::from(low) | u64::from(high) << 32, u64::from(inode_low) | u64::from(inode_high) << 32);
    if magic != MAGIC {
        return Err(Status::InvalidHandle);
    }
    let opened = File::options().read(true).write(true).open(format!("/proc/{pid}/fd/{fd}"));
    let mut file = opened.map_err(|_| Status::InvalidHandle)?;
    let metadata = file.metadata().map_err(|_| Status::InvalidHandle)?;
    // Another file by now, or never ours.
    if metadata.ino() != inode {
        return Err(Status::InvalidHandle);
    }
    file.seek(SeekFrom::Start(offset)).map_err(|_| Status::InvalidHandle)?;
    adopt(file.as_raw_fd())
}

/// What a file handle names, mapped here.
pub fn adopt(fd: i32) -> Result<(Mapping, Place), Status> {
    let (file, place) = vram::import(fd)?;
    let mapping = Mapping::of_piece(&file, place.offset, place.len).ok_or(Status::NoMemory)?;
    mapping.file.set((file, place)).map_err(|_| Status::Error)?;
    Ok((mapping, place))
}
