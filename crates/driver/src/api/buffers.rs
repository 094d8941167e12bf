//! Memory as libdrm has it: buffers that a GPU maps at addresses of the program's, and file handles that name them.
//!
//! ROCr asks for these through `libdtif.so`, which has them under libdrm's names; the functions here have names of ours, so
//! that a program's own libdrm stays what it is.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use libc::{c_int, c_void};

use super::{address, put, with};
use crate::abi::{GraphicsResource, Status};
use crate::log::log;
use crate::memory::{Note, PAGE};

/// libdrm's type of handle that is a DMA-BUF's file, and the one that is the kernel's number.
const OF_FILE: u32 = 2;
const OF_KERNEL: u32 = 1;
/// What `amdgpu_bo_va_op` is to do.
const MAP: u32 = 1;
const UNMAP: u32 = 2;
/// The bit of `HSA_REGISTER_MEM_FLAGS` that asks for an address.
const WITH_ADDRESS: u32 = 1;
/// `DRM_AMDGPU_GEM_MMAP`.
const WHERE_TO_MAP: u64 = 1;

/// libdrm's `amdgpu_device`, as far as its `amdgpu_device_get_fd` reads it: the handle of the file is behind a count and a
/// pointer. All else is -1, so that a libdrm which looks elsewhere finds no file.
#[repr(C)]
struct Drm {
    before: [AtomicI32; 4],
    file: AtomicI32,
    behind: [AtomicI32; 59],
}

/// More nodes than there can be.
const NODES: usize = 16;

static DEVICES: [Drm; NODES] = [const {
    Drm {
        before: [const { AtomicI32::new(-1) }; 4],
        file: AtomicI32::new(-1),
        behind: [const { AtomicI32::new(-1) }; 59],
    }
}; NODES];

/// The node that one of our devices stands for.
pub fn node_of(device: *const c_void) -> Option<u32> {
    (0..NODES).find(|&node| std::ptr::from_ref(&DEVICES[node]).cast() == device).map(|node| node as u32)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetAMDGPUDeviceHandle(node: u32, handle: *mut *const c_void) -> Status {
    with(|s| {
        s.gpu(node)?;
        let device = DEVICES.get(node as usize).ok_or(Status::InvalidNode)?;
        device.file.store(s.memory.vram()?.file().as_raw_fd(), Relaxed);
        // SAFETY: hsakmt.h's contract, here and below.
        unsafe { put(handle, std::ptr::from_ref(device).cast()) }
    })
}

/// A DMA-BUF of all of the memory that an address or a handle is in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtExportDMABufHandle(
    memory: *mut c_void,
    size: u64,
    file: *mut c_int,
    offset: *mut u64,
) -> Status {
    with(|s| {
        if file.is_null() || offset.is_null() {
            return Err(Status::InvalidParameter);
        }
        let (made, from) = s.memory.export(address(memory), size)?;
        // SAFETY: as above.
        unsafe {
            put(file, made)?;
            put(offset, from)
        }
    })
}

/// Memory that another process has exported, or this one. For no GPU it has no address, which is how the runtime asks for
/// memory that it maps later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtRegisterGraphicsHandleToNodes(
    file: u64,
    resource: *mut GraphicsResource,
    nodes: u64,
    _list: *const u32,
) -> Status {
    // SAFETY: hsakmt.h's contract.
    unsafe { import(file, resource, nodes != 0) }
}

/// The same, with an address if one is asked for. Which GPUs see it is told when it is mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtRegisterGraphicsHandleToNodesExt(
    file: u64,
    resource: *mut GraphicsResource,
    _nodes: u64,
    _list: *const u32,
    flags: u32,
) -> Status {
    // SAFETY: as above.
    unsafe { import(file, resource, flags & WITH_ADDRESS != 0) }
}

unsafe fn import(file: u64, resource: *mut GraphicsResource, with_address: bool) -> Status {
    with(|s| {
        let fd = c_int::try_from(file).map_err(|_| Status::InvalidHandle)?;
        let (address, size, node) = if with_address { s.memory.import_file(fd) } else { s.memory.adopt(fd) }?;
        log!(s.config, "{size} bytes of node {node} are imported: {address:#x}");
        // SAFETY: as above.
        unsafe { put(resource, GraphicsResource { address, size, metadata: 0, metadata_size: 0, node }) }
    })
}

/// What libdrm's functions give: 0, or an error of the system's with its sign turned.
fn drm(run: impl FnOnce(&'static crate::state::State) -> Result<(), Status>) -> c_int {
    match with(run) {
        Status::Success => 0,
        Status::NoMemory => -libc::ENOMEM,
        Status::NotOpened => -libc::ENODEV,
        Status::NotSupported => -libc::ENOSYS,
        _ => -libc::EINVAL,
    }
}

/// `amdgpu_bo_import`; the result is a buffer and its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierImport(device: *const c_void, kind: u32, file: u32, result: *mut [u64; 2]) -> c_int {
    drm(|s| {
        let node = node_of(device).filter(|_| kind == OF_FILE).ok_or(Status::NotSupported)?;
        let fd = c_int::try_from(file).map_err(|_| Status::InvalidHandle)?;
        let (buffer, size) = s.memory.open_buffer(node, fd)?;
        // The runtime asks next where the host can map it: another process's memory is in another file.
        DEVICES[node as usize].file.store(s.memory.place_of(buffer)?.0, Relaxed);
        // SAFETY: as above.
        unsafe { put(result, [buffer, size]) }
    })
}

/// `amdgpu_bo_export`: the number by which [`luthierCommand`] knows the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierExport(buffer: *const c_void, kind: u32, number: *mut u32) -> c_int {
    drm(|s| {
        if kind != OF_KERNEL {
            return Err(Status::NotSupported);
        }
        s.memory.place_of(address(buffer))?;
        // SAFETY: as above.
        unsafe { put(number, u32::try_from(address(buffer)).map_err(|_| Status::InvalidHandle)?) }
    })
}

/// libdrm's `amdgpu_bo_info`.
#[repr(C)]
pub struct Information {
    size: u64,
    alignment: u64,
    heap: u32,
    flags: u64,
    note: Note,
}

/// libdrm's number of a GPU's memory.
const VRAM: u32 = 4;

/// `amdgpu_bo_set_metadata`: ROCr notes a number by which another process knows that it has the right memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierNote(buffer: *const c_void, note: *const Note) -> c_int {
    drm(|s| {
        if note.is_null() {
            return Err(Status::InvalidParameter);
        }
        // SAFETY: the caller has the structure.
        s.memory.set_note(address(buffer), &unsafe { note.read_unaligned() })
    })
}

/// `amdgpu_bo_query_info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierQuery(buffer: *const c_void, information: *mut Information) -> c_int {
    drm(|s| {
        let (size, note) = s.memory.note(address(buffer))?;
        // SAFETY: as above.
        unsafe { put(information, Information { size, alignment: PAGE, heap: VRAM, flags: 0, note }) }
    })
}

/// `amdgpu_bo_free`.
#[unsafe(no_mangle)]
pub extern "C" fn luthierFree(buffer: *const c_void) -> c_int {
    drm(|s| s.memory.close_buffer(address(buffer)))
}

/// `amdgpu_bo_va_op`. As with libdrm, GPUs may read, write and execute what is mapped, whatever the flags say.
#[unsafe(no_mangle)]
pub extern "C" fn luthierMap(
    buffer: *const c_void,
    offset: u64,
    size: u64,
    at: u64,
    _flags: u64,
    operation: u32,
) -> c_int {
    drm(|s| {
        log!(s.config, "operation {operation}: {size} bytes at {offset:#x} of buffer {buffer:?}, at {at:#x}");
        match operation {
            MAP => s.memory.put_buffer(address(buffer), offset, size, at),
            UNMAP => s.memory.take_buffer(address(buffer), at),
            _ => Err(Status::NotSupported),
        }
    })
}

/// `amdgpu_bo_cpu_map`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierHostMap(buffer: *const c_void, to: *mut u64) -> c_int {
    // SAFETY: as above.
    drm(|s| unsafe { put(to, s.memory.host_of(address(buffer))?) })
}

/// `drmCommandWriteRead`, for the one command that ROCr gives: where in the device's file a buffer lies, for the host to map
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierCommand(file: c_int, command: u64, data: *mut u64, size: u64) -> c_int {
    drm(|s| {
        if command != WHERE_TO_MAP || data.is_null() || size < 8 {
            return Err(Status::NotSupported);
        }
        // SAFETY: the number in front, and the offset in its place.
        let number = unsafe { data.cast::<u32>().read_unaligned() };
        let (lies_in, offset) = s.memory.place_of(number.into())?;
        if file != lies_in {
            return Err(Status::InvalidHandle);
        }
        // SAFETY: as above.
        unsafe { put(data, offset) }
    })
}
