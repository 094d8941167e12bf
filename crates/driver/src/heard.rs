//! What programs ask ROCr for.
//!
//! ROCr makes whole pages of the sizes that it is asked for, and the driver gets to know the pages. Strict mode has bounds of
//! single bytes, so the driver is a tool of ROCr's as well (`HSA_TOOLS_LIB`): it is handed the table through which ROCr calls
//! its own functions, and puts its own in front of the two that allocate. What the runtime allocates for itself does not go
//! through the table, and keeps its pages.

use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{c_char, c_void};

use crate::log::say;
use crate::state;

/// `HSA_STATUS_SUCCESS`, of ROCr's statuses.
const SUCCESS: u32 = 0;
/// The last major versions that are known here of the root (ROCr 7.2) and of its tables; in all of them the two functions
/// have the same places.
const ROOT_MAJOR: u32 = 3;
const TABLE_MAJOR: u32 = 2;
/// Bytes of a version, which every table begins with, and of what follows.
const HEADER: usize = 16;
const ENTRY: usize = 8;

/// `hsa_memory_allocate` and `hsa_amd_memory_pool_allocate` (hsa_api_trace.h): the table's place in the root, the function's
/// place in it.
const MEMORY_ALLOCATE: (usize, usize) = (0, 33);
const POOL_ALLOCATE: (usize, usize) = (1, 13);

type MemoryAllocate = unsafe extern "C" fn(u64, usize, *mut *mut c_void) -> u32;
type PoolAllocate = unsafe extern "C" fn(u64, usize, u32, *mut *mut c_void) -> u32;

/// ROCr's own functions, or those of tools before this one.
static ALLOCATE: AtomicUsize = AtomicUsize::new(0);
static ALLOCATE_FROM_POOL: AtomicUsize = AtomicUsize::new(0);

/// What ROCr calls of a tool.
///
/// # Safety
/// `table` is an `HsaApiTable`, and its tables are as large as their versions say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OnLoad(table: *mut c_void, _: u64, _: u64, _: *const *const c_char) -> bool {
    // SAFETY: the caller's promise.
    let heard = unsafe {
        replace(table.cast(), MEMORY_ALLOCATE, allocate as *const () as usize, &ALLOCATE)
            && replace(table.cast(), POOL_ALLOCATE, allocate_from_pool as *const () as usize, &ALLOCATE_FROM_POOL)
    };
    if !heard {
        say(
            "the runtime's table of functions is of another kind than is known here: allocations are bounded to whole pages",
        );
    }
    true
}

/// Puts a function into a table, and what was there into `before`; false if the table does not have it.
///
/// # Safety
/// As for [`OnLoad`].
unsafe fn replace(root: *mut u8, (part, index): (usize, usize), function: usize, before: &AtomicUsize) -> bool {
    /// Major version, and bytes of the whole table.
    unsafe fn version(table: *const u8) -> (u32, usize) {
        let words = table.cast::<u32>();
        // SAFETY: every table begins with its version.
        unsafe { (words.read(), words.add(1).read() as usize) }
    }
    let (of_part, of_entry) = (HEADER + ENTRY * part, HEADER + ENTRY * index);
    // SAFETY: what is read and written lies within the tables, by their own versions.
    unsafe {
        if root.is_null() || !(1..=ROOT_MAJOR).contains(&version(root).0) || version(root).1 < of_part + ENTRY {
            return false;
        }
        let table = root.add(of_part).cast::<*mut u8>().read();
        if table.is_null() || !(1..=TABLE_MAJOR).contains(&version(table).0) || version(table).1 < of_entry + ENTRY {
            return false;
        }
        let entry = table.add(of_entry).cast::<usize>();
        // It may be loaded by several names.
        if entry.read() != function {
            before.store(entry.read(), Ordering::Release);
            entry.write(function);
        }
        true
    }
}

unsafe extern "C" fn allocate(region: u64, size: usize, to: *mut *mut c_void) -> u32 {
    // SAFETY: `OnLoad` has put it there; it is the function that the type says.
    let before: MemoryAllocate = unsafe { std::mem::transmute(ALLOCATE.load(Ordering::Acquire)) };
    // SAFETY: with what the caller gives, here and below.
    unsafe { hear(before(region, size, to), size, to) }
}

unsafe extern "C" fn allocate_from_pool(pool: u64, size: usize, flags: u32, to: *mut *mut c_void) -> u32 {
    // SAFETY: as above.
    let before: PoolAllocate = unsafe { std::mem::transmute(ALLOCATE_FROM_POOL.load(Ordering::Acquire)) };
    // SAFETY: as above.
    unsafe { hear(before(pool, size, flags, to), size, to) }
}

/// # Safety
/// After a success there is an address at `to`.
unsafe fn hear(status: u32, size: usize, to: *mut *mut c_void) -> u32 {
    if status == SUCCESS
        && let Ok(state) = state::get()
    {
        // SAFETY: the caller's promise.
        state.memory.asked(unsafe { to.read() }.expose_provenance() as u64, size as u64);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(major: u64, entries: usize) -> Vec<u64> {
        let mut words = vec![major | ((HEADER + ENTRY * entries) as u64) << 32, 0];
        words.extend((0..entries as u64).map(|i| 0x1000 + i));
        words
    }

    #[test]
    fn a_function_is_put_into_its_table_once_and_only_where_the_table_has_it() {
        let before = AtomicUsize::new(0);
        let known = [(1, 1), (2, 2), (3, 2)].map(|(of_root, of_core)| (of_root, of_core, 34, true));
        let unknown = [(1, 1, 33, false), (1, 3, 34, false), (4, 2, 34, false), (0, 1, 34, false)];
        for (of_root, of_core, entries, done) in known.into_iter().chain(unknown) {
            let mut core = table(of_core, entries);
            let mut root = table(of_root, 1);
            root[2] = core.as_mut_ptr().expose_provenance() as u64;
            for _ in 0..2 {
                // SAFETY: the tables are as large as they say.
                assert_eq!(unsafe { replace(root.as_mut_ptr().cast(), MEMORY_ALLOCATE, 7, &before) }, done);
            }
            assert_eq!(core.iter().filter(|&&entry| entry == 7).count(), usize::from(done));
        }
        assert_eq!(before.load(Ordering::Relaxed), 0x1000 + 33);
    }
}
