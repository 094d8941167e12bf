//! Where this module's memory comes from: jemalloc, in huge pages where Linux grants them.
//!
//! A lifted program of a big object takes hundreds of megabytes in small pieces, and each new page of 4 KB is a fault: a
//! seventh of the time it took to count every block of a 12 MB object. Python and LLVM keep the C library's allocator.

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static MEMORY: Jemalloc = Jemalloc;

/// jemalloc reads this when it begins, before anything is allocated. With one arena for each core, and large pieces in them,
/// memory is taken again that was given back, and Linux clears less.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8; 68] = b"thp:always,metadata_thp:always,narenas_ratio:1,oversize_threshold:0\0";
