//! The process that the agent is in: its memory, its variables, its program.

use std::ffi::{CString, c_void};
use std::os::fd::OwnedFd;

use crate::memory::Shared;

type Transfer = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> libc::ssize_t;

/// Between memory of ours and an address that may be wrong, by way of the kernel.
fn transfer(how: Transfer, ours: *mut c_void, address: u64, size: usize) -> bool {
    let local = libc::iovec { iov_base: ours, iov_len: size };
    let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address as usize), iov_len: size };
    // SAFETY: our memory has this size, and the kernel looks after the other one.
    let done = unsafe { how(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    done == size.cast_signed()
}

/// Reads this process's memory, wherever that may be; false if it is not there.
pub fn read(address: u64, to: &mut [u8]) -> bool {
    transfer(libc::process_vm_readv, to.as_mut_ptr().cast(), address, to.len())
}

/// A file with what is there.
pub fn contents(address: u64, size: u64) -> Result<OwnedFd, String> {
    let size = usize::try_from(size).ok().filter(|n| *n > 0 && *n <= 1 << 30).ok_or("a read of more than a GB")?;
    let (memory, file) = Shared::new(size).map_err(|e| e.to_string())?;
    if !transfer(libc::process_vm_readv, memory.start(), address, size) {
        return Err(format!("{size} bytes at {address:#x} cannot be read"));
    }
    Ok(file)
}

pub fn write(address: u64, file: OwnedFd) -> Result<(), String> {
    let memory = Shared::of_file(&file).map_err(|e| e.to_string())?;
    if !transfer(libc::process_vm_writev, memory.start(), address, memory.len()) {
        return Err(format!("{} bytes at {address:#x} cannot be written", memory.len()));
    }
    Ok(())
}

pub fn set_variable(name: &str, value: &str) -> Result<(), String> {
    let text = |text: &str| CString::new(text).map_err(|e| e.to_string());
    let (name, value) = (text(name)?, text(value)?);
    // SAFETY: two strings. Other threads that look at the environment now are in a race that C gives no way out of.
    if unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) } == 0 { Ok(()) } else { Err("setenv fails".into()) }
}

/// The kernel's number of this thread.
pub fn thread() -> u64 {
    // SAFETY: has no conditions.
    u64::from(unsafe { libc::gettid() }.cast_unsigned())
}

/// The program that a dynamic loader was told to run (`ld.so PROGRAM`), if one was; `luthier trace --rocm` says which.
const LOADED_PROGRAM: &str = "LUTHIER_LOADED_PROGRAM";

fn executable() -> Option<String> {
    std::fs::read_link("/proc/self/exe").ok().map(|path| path.to_string_lossy().into_owned())
}

/// The process's program.
pub fn program() -> Option<String> {
    let found = executable();
    let is_loader =
        found.as_deref().and_then(|path| path.rsplit('/').next()).is_some_and(|n| n.starts_with("ld-linux"));
    std::env::var(LOADED_PROGRAM).ok().filter(|_| is_loader).or(found)
}

/// The URI of a code object in the program itself, which the runtime takes the loader for, if one runs it.
pub fn of_program(uri: String) -> String {
    match (executable(), program()) {
        (Some(loader), Some(program)) if loader != program => {
            uri.replacen(&format!("file://{loader}"), &format!("file://{program}"), 1)
        }
        _ => uri,
    }
}
