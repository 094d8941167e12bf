//! Memory.

use libc::c_void;

use super::{address, list, put, with};
use crate::abi::{MemoryRange, PointerInfo, SharedHandle, Status, flags};
use crate::log::log;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtAllocMemory(node: u32, size: u64, flags: u32, to: *mut *mut c_void) -> Status {
    with(|s| {
        if to.is_null() {
            return Err(Status::InvalidParameter);
        }
        // SAFETY: hsakmt.h's contract, here and below. It may hold the address that is wanted.
        let wanted = address(unsafe { to.read_unaligned() });
        let start = s.memory.allocate(node, size, flags, wanted)?;
        log!(s.config, "{size} bytes on node {node}, flags {flags:#x}: {start:#x}");
        // SAFETY: as above.
        unsafe { put(to, std::ptr::with_exposed_provenance_mut(start as usize)) }
    })
}

/// Reserves addresses, or allocates memory. Memory is where it is: coarser alignment than it happens to have is not to be had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtAllocMemoryAlign(
    node: u32,
    size: u64,
    alignment: u64,
    flags: u32,
    to: *mut *mut c_void,
) -> Status {
    if flags & flags::ONLY_ADDRESS != 0 {
        return with(|s| {
            if to.is_null() {
                return Err(Status::InvalidParameter);
            }
            // SAFETY: as above.
            let wanted = (flags & flags::FIXED_ADDRESS != 0).then(|| address(unsafe { to.read_unaligned() }));
            let start = s.memory.reserve(size, alignment.max(1), wanted)?;
            log!(s.config, "{size} addresses are reserved: {start:#x}");
            // SAFETY: as above.
            unsafe { put(to, std::ptr::with_exposed_provenance_mut(start as usize)) }
        });
    }
    // SAFETY: as above.
    let done = unsafe { hsaKmtAllocMemory(node, size, flags, to) };
    if done != Status::Success || alignment == 0 {
        return done;
    }
    // SAFETY: as above; it was written.
    let start = unsafe { to.read_unaligned() };
    if !alignment.is_power_of_two() || !address(start).is_multiple_of(alignment) {
        hsaKmtFreeMemory(start, size);
        return Status::InvalidParameter;
    }
    done
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtAvailableMemory(node: u32, bytes: *mut u64) -> Status {
    // SAFETY: as above.
    with(|s| unsafe { put(bytes, s.memory.available(s.gpu(node)?.view.node)) })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtFreeMemory(memory: *mut c_void, size: u64) -> Status {
    with(|s| {
        log!(s.config, "{memory:?} is freed");
        if let Some(order) = s.order.as_ref() {
            order.freed(&(address(memory)..address(memory).saturating_add(size)));
        }
        s.memory.free(address(memory))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtRegisterMemory(memory: *mut c_void, size: u64) -> Status {
    with(|s| s.memory.register(address(memory), size, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtRegisterMemoryWithFlags(memory: *mut c_void, size: u64, flags: u32) -> Status {
    with(|s| {
        log!(s.config, "{size} bytes of the host's at {memory:?} are registered, flags {flags:#x}");
        s.memory.register(address(memory), size, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtRegisterMemoryToNodes(memory: *mut c_void, size: u64, _count: u64, _nodes: *mut u32) -> Status {
    with(|s| s.memory.register(address(memory), size, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtDeregisterMemory(memory: *mut c_void) -> Status {
    with(|s| s.memory.deregister(address(memory)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtMapMemoryToGPU(memory: *mut c_void, _size: u64, gpu_address: *mut u64) -> Status {
    with(|s| {
        let found = s.memory.map(address(memory), None)?;
        // SAFETY: as above.
        if gpu_address.is_null() { Ok(()) } else { unsafe { put(gpu_address, found) } }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtMapMemoryToGPUNodes(
    memory: *mut c_void,
    _size: u64,
    gpu_address: *mut u64,
    _flags: u32,
    count: u64,
    nodes: *mut u32,
) -> Status {
    with(|s| {
        // SAFETY: as above.
        let nodes = unsafe { list(nodes, count) }?;
        log!(s.config, "{memory:?} is mapped for nodes {nodes:?}");
        let found = s.memory.map(address(memory), Some(&nodes))?;
        // SAFETY: as above.
        if gpu_address.is_null() { Ok(()) } else { unsafe { put(gpu_address, found) } }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtUnmapMemoryToGPU(memory: *mut c_void) -> Status {
    with(|s| s.memory.unmap(address(memory)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtQueryPointerInfo(pointer: *const c_void, info: *mut PointerInfo) -> Status {
    with(|s| {
        let found = s.memory.info(address(pointer));
        // SAFETY: as above. An unknown pointer has type 0, and all else is 0 too.
        unsafe { put(info, found.unwrap_or_else(|| std::mem::zeroed())) }?;
        found.map(|_| ()).ok_or(Status::Error)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtSetMemoryUserData(pointer: *const c_void, data: *mut c_void) -> Status {
    with(|s| s.memory.set_user_data(address(pointer), data.expose_provenance()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtShareMemory(memory: *mut c_void, size: u64, handle: *mut SharedHandle) -> Status {
    // SAFETY: as above.
    with(|s| unsafe { put(handle, s.memory.share(address(memory), size)?) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtRegisterSharedHandle(
    handle: *const SharedHandle,
    memory: *mut *mut c_void,
    size: *mut u64,
) -> Status {
    with(|s| {
        if handle.is_null() || memory.is_null() || size.is_null() {
            return Err(Status::InvalidParameter);
        }
        // SAFETY: as above.
        let (start, len) = s.memory.import(&unsafe { handle.read_unaligned() })?;
        // SAFETY: as above.
        unsafe {
            put(memory, std::ptr::with_exposed_provenance_mut(start as usize))?;
            put(size, len)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtRegisterSharedHandleToNodes(
    handle: *const SharedHandle,
    memory: *mut *mut c_void,
    size: *mut u64,
    _count: u64,
    _nodes: *mut u32,
) -> Status {
    // SAFETY: as above.
    unsafe { hsaKmtRegisterSharedHandle(handle, memory, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtProcessVMRead(
    pid: u32,
    local: *mut MemoryRange,
    local_count: u64,
    remote: *mut MemoryRange,
    remote_count: u64,
    copied: *mut u64,
) -> Status {
    // SAFETY: as above.
    with(|_| unsafe { transfer(pid, (local, local_count), (remote, remote_count), copied, libc::process_vm_readv) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtProcessVMWrite(
    pid: u32,
    local: *mut MemoryRange,
    local_count: u64,
    remote: *mut MemoryRange,
    remote_count: u64,
    copied: *mut u64,
) -> Status {
    // SAFETY: as above.
    with(|_| unsafe { transfer(pid, (local, local_count), (remote, remote_count), copied, libc::process_vm_writev) })
}

type Transfer =
    unsafe extern "C" fn(libc::pid_t, *const libc::iovec, u64, *const libc::iovec, u64, u64) -> libc::ssize_t;

/// Copies between two processes, by way of the kernel.
///
/// # Safety
/// The lists have as many elements as is said beside them.
unsafe fn transfer(
    pid: u32,
    local: (*mut MemoryRange, u64),
    remote: (*mut MemoryRange, u64),
    copied: *mut u64,
    how: Transfer,
) -> Result<(), Status> {
    let vector = |range: &MemoryRange| libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(range.address as usize),
        iov_len: range.size as usize,
    };
    // SAFETY: the caller's promise; the kernel checks the addresses.
    unsafe {
        let local: Vec<_> = list(local.0, local.1)?.iter().map(vector).collect();
        let remote: Vec<_> = list(remote.0, remote.1)?.iter().map(vector).collect();
        let pid = libc::pid_t::try_from(pid).map_err(|_| Status::InvalidParameter)?;
        let done = how(pid, local.as_ptr(), local.len() as u64, remote.as_ptr(), remote.len() as u64, 0);
        let done = u64::try_from(done).map_err(|_| Status::Error)?;
        if copied.is_null() { Ok(()) } else { put(copied, done) }
    }
}
