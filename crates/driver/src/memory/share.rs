//! Memory that several processes have: a handle names an open file of the process that owns it, which other processes of
//! the same user can open through /proc. Nothing of it outlives the processes.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use super::map::Mapping;
use crate::abi::{SharedHandle, Status};

/// The first word of a handle.
const MAGIC: u32 = 0x6c75_7468;

/// Makes a block one that others can have, and names it.
pub fn export(mapping: &Mapping, len: u64) -> Result<SharedHandle, Status> {
    if mapping.file.get().is_none() {
        // SAFETY: makes a new file.
        let fd = unsafe { libc::memfd_create(c"luthier-mock".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(Status::NoMemory);
        }
        // SAFETY: just opened, and not shared.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut file = File::from(fd);
        file.set_len(len).map_err(|_| Status::NoMemory)?;
        copy(mapping.start(), len, &mut file).map_err(|_| Status::NoMemory)?;
        if !mapping.attach(file.into(), len) {
            return Err(Status::NoMemory);
        }
    }
    let Some(file) = mapping.file.get() else { return Err(Status::Error) };
    let fd = file.as_raw_fd();
    let copy = file.try_clone().map_err(|_| Status::NoMemory)?;
    let inode = File::from(copy).metadata().map_err(|_| Status::Error)?.ino();
    Ok([MAGIC, std::process::id(), fd as u32, len as u32, (len >> 32) as u32, inode as u32, (inode >> 32) as u32, 0])
}

/// Writes what was ever touched of the bytes at an address.
fn copy(start: u64, len: u64, file: &mut File) -> std::io::Result<()> {
    let mut memory = File::open("/proc/self/mem")?;
    std::io::Seek::seek(&mut memory, std::io::SeekFrom::Start(start))?;
    let mut buffer = vec![0; 1 << 20];
    let mut left = len;
    while left > 0 {
        let piece = left.min(buffer.len() as u64) as usize;
        memory.read_exact(&mut buffer[..piece])?;
        if buffer[..piece].iter().all(|&b| b == 0) {
            std::io::Seek::seek(file, std::io::SeekFrom::Current(piece as i64))?;
        } else {
            file.write_all(&buffer[..piece])?;
        }
        left -= piece as u64;
    }
    Ok(())
}

/// What a handle names, mapped here.
pub fn import(handle: &SharedHandle) -> Result<(Mapping, u64), Status> {
    let [magic, pid, fd, low, high, inode_low, inode_high, _] = *handle;
    let (len, inode) = (u64::from(low) | u64::from(high) << 32, u64::from(inode_low) | u64::from(inode_high) << 32);
    if magic != MAGIC {
        return Err(Status::InvalidHandle);
    }
    let opened = File::options().read(true).write(true).open(format!("/proc/{pid}/fd/{fd}"));
    let file = opened.map_err(|_| Status::InvalidHandle)?;
    let metadata = file.metadata().map_err(|_| Status::InvalidHandle)?;
    // Another file by now, or never ours.
    if metadata.ino() != inode || metadata.len() != len {
        return Err(Status::InvalidHandle);
    }
    let mapping = Mapping::of_file(file.into(), len).ok_or(Status::NoMemory)?;
    Ok((mapping, len))
}
