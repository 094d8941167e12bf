//! What ROCr asks for since ROCm 6 and 7: the renderer's device behind a node, and a thunk that it loads by name.

use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int, c_void};

use super::buffers::node_of;
use super::with;
use crate::abi::Status;
use crate::{clock, queue};

/// ROCr has loaded us as `libdtif.so`, so it is one with the structures of ROCm 7.
static DTIF: AtomicBool = AtomicBool::new(false);

pub fn has_newer_structures() -> bool {
    DTIF.load(Ordering::Relaxed)
}

/// Called once, before all else, by a ROCr that was told `HSA_ENABLE_DTIF=1`. What is returned need only not be null.
#[unsafe(no_mangle)]
pub extern "C" fn DtifCreate(_name: *const c_char) -> *const c_void {
    DTIF.store(true, Ordering::Relaxed);
    (&raw const DTIF).cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn DtifDestroy() {}

/// There is no software model of the thunk's own: ours takes its place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtModelEnabled(enabled: *mut bool) -> Status {
    if enabled.is_null() {
        return Status::InvalidParameter;
    }
    // SAFETY: hsakmt.h's contract, here and below.
    unsafe { enabled.write(false) };
    Status::Success
}

/// As `libdtif.so`, doorbells are calls. Queues go by their write index; this only has them look sooner.
#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtQueueRingDoorbell(id: u64, _index: u64) -> Status {
    with(|s| {
        s.queues.exists(id)?;
        queue::look();
        Ok(())
    })
}

/// Bytes of libdrm's `struct amdgpu_gpu_info` that come before `gpu_counter_freq`, in kHz.
const COUNTER_FREQUENCY: usize = 72;

/// libdrm's, for our device; any other one is passed on to libdrm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn amdgpu_query_gpu_info(device: *const c_void, info: *mut c_void) -> c_int {
    if node_of(device).is_none() {
        // SAFETY: asks for a name.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"amdgpu_query_gpu_info".as_ptr()) };
        if next.is_null() {
            return -libc::ENODEV;
        }
        type Query = unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int;
        // SAFETY: libdrm's function of this name has this type.
        return unsafe { std::mem::transmute::<*mut c_void, Query>(next)(device, info) };
    }
    // SAFETY: the caller has the structure; ROCr reads nothing else of it.
    unsafe { info.byte_add(COUNTER_FREQUENCY).cast::<u32>().write_unaligned((clock::FREQUENCY / 1000) as u32) };
    0
}
