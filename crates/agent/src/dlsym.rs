//! `dlsym`, for programs that take HIP's functions from its library themselves, as Python's ctypes does: where this library
//! is loaded before HIP's, they get the functions that tools can hear of, as those programs do that are linked with HIP.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::functions::HIP;
use crate::{hip, session};

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The C library's own, once it was asked for.
static REAL: AtomicUsize = AtomicUsize::new(0);

/// As the C library has it. What `RTLD_DEFAULT` and `RTLD_NEXT` find depends on who calls: there it is as if this were not here.
///
/// # Safety
/// As the C library says.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    std::arch::naked_asm!(
        "mov rax, [rip + {real}]",
        "test rax, rax",
        "jnz 2f",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {find}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "2:",
        // RTLD_NEXT is -1, RTLD_DEFAULT is 0.
        "lea rcx, [rdi + 1]",
        "cmp rcx, 1",
        "ja {of_library}",
        "jmp rax",
        real = sym REAL,
        find = sym find,
        of_library = sym of_library,
    )
}

/// Asks for the C library's own, which this library does not find by its name alone.
extern "C" fn find() -> usize {
    // SAFETY: looks a name up; the version is that of the ABI's beginning.
    let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), c"GLIBC_2.2.5".as_ptr()) };
    if found.is_null() {
        std::process::abort();
    }
    REAL.store(found.expose_provenance(), Ordering::Relaxed);
    found.expose_provenance()
}

/// The C library's own.
pub fn real() -> Dlsym {
    let known = REAL.load(Ordering::Relaxed);
    let address = if known == 0 { find() } else { known };
    // SAFETY: the function of that name.
    unsafe { std::mem::transmute::<usize, Dlsym>(address) }
}

/// A name in a library.
unsafe extern "C" fn of_library(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the caller's arguments.
    let found = unsafe { real()(handle, name) };
    if found.is_null() {
        return found;
    }
    // SAFETY: it has been found.
    let wrapper = wrapper(unsafe { CStr::from_ptr(name) }, found.expose_provenance());
    wrapper.map_or(found, |wrapper| wrapper.cast_mut().cast())
}

/// What tools can hear of, in the place of a function of HIP's.
fn wrapper(name: &CStr, address: usize) -> Option<*const ()> {
    let name = name.to_str().ok().filter(|name| name.trim_start_matches('_').starts_with("hip"))?;
    let index = HIP.iter().position(|function| function.name == name)?;
    (session::has_controller() && hip::is_original(index, name, address)).then_some(HIP[index].wrapper)
}
