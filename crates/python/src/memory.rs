//! Where this module's memory comes from: jemalloc, in huge pages where Linux grants them.
//!
//! A lifted program of a big object takes hundreds of megabytes in small pieces, and each new page of 4 KB is a fault: a
//! seventh of the time it took to count every block of a 12 MB object. Python and LLVM keep the C library's allocator.

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static MEMORY: Jemalloc = Jemalloc;

/// jemalloc reads this when it begins, before anything is allocated.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8; 31] = b"thp:always,metadata_thp:always\0";
