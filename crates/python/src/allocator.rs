//! Where this module's Rust code has its memory from. Python's and LLVM's memory stays with the C library.
//!
//! Placing hooks makes and drops millions of small vectors on all threads: mimalloc finds free memory for them faster than
//! the C library.

use std::ffi::{c_int, c_long};

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_allow_thp` of mimalloc 2: whether huge pages are asked for.
const ALLOW_THP: c_int = 37;

unsafe extern "C" {
    fn mi_process_init();
    fn mi_option_set_default(option: c_int, value: c_long);
}

/// Runs when the module is loaded, before anything is allocated. What the environment says (`MIMALLOC_ALLOW_THP`) goes first.
extern "C" fn settle() {
    // SAFETY: the library that `MiMalloc` calls has these functions, which may be called at any time, with any number.
    unsafe {
        // Huge pages have to be cleared as a whole, though much of them is never used. Where mimalloc finds them refused when
        // it begins, it refuses them to the whole process; so it begins first.
        mi_process_init();
        mi_option_set_default(ALLOW_THP, 0);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static SETTLE: extern "C" fn() = settle;
