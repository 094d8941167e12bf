//! HIP's functions, where the agent is loaded before HIP (`LD_PRELOAD`): programs then call ours, which find HIP's here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::calls;
use crate::dlsym::real;
use crate::session::{self, complain};

/// `hipErrorNotSupported`.
pub const NOT_SUPPORTED: u64 = 801;

/// HIP's own function of a number and name. The first call of all makes the agent known to the controller.
pub fn original(function: usize, name: &str) -> Option<usize> {
    match calls::next(function) {
        0 => resolve(function, name),
        known => Some(known),
    }
}

#[cold]
fn resolve(function: usize, name: &str) -> Option<usize> {
    calls::inside(session::current_or_new);
    let Some(address) = find(name) else {
        complain(&format!("{name} is called, and HIP does not have it"));
        return None;
    };
    calls::set_next(function, address);
    Some(address)
}

/// Whether an address is HIP's own function of a number and name.
pub fn is_original(function: usize, name: &str, address: usize) -> bool {
    let known = calls::next(function);
    if known != 0 { known == address } else { find(name) == Some(address) }
}

/// HIP's own function of a name.
fn find(name: &str) -> Option<usize> {
    let text = CString::new(name).ok()?;
    // SAFETY: looks a name up in what was loaded after this library.
    let mut found = unsafe { real()(libc::RTLD_NEXT, text.as_ptr()) };
    if found.is_null() {
        // Loaded by `dlopen`, for itself.
        let library = library()?;
        // SAFETY: as above.
        found = unsafe { real()(library, text.as_ptr()) };
    }
    (!found.is_null()).then(|| found.expose_provenance())
}

/// HIP's library, if it is loaded.
fn library() -> Option<*mut c_void> {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, to: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker's record, and the place that `library` gives.
        let (name, to) = unsafe { ((*info).dlpi_name, &mut *to.cast::<*const c_char>()) };
        // SAFETY: a string of the dynamic linker's.
        let is_hip = !name.is_null() && unsafe { CStr::from_ptr(name) }.to_string_lossy().contains("libamdhip64");
        if is_hip {
            *to = name;
        }
        c_int::from(is_hip)
    }
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: `look` gets the place.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut name).cast()) };
    if name.is_null() {
        return None;
    }
    // SAFETY: a library that is there already.
    let library = unsafe { libc::dlopen(name, libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    (!library.is_null()).then_some(library)
}
