//! Whose code lies where: the list of loaded code objects that ROCr keeps for debuggers (`_amdgpu_r_debug`).

mod loaded;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use luthier_emulator::ModuleId;
use luthier_emulator::packet::Identity;
use luthier_loader::{CodeObject, Container, Kernel};

use crate::gpu::Gpu;
use crate::log::log;
use crate::queue::Blit;

/// Code objects that are looked at, so that a list that leads in a circle has an end.
const MOST: usize = 100_000;

/// The program that a loader was told to run, if one was.
const PROGRAM: &str = "LUTHIER_LOADED_PROGRAM";

/// A code object that was looked up.
struct Known {
    /// What ROCr calls it.
    uri: String,
    module: ModuleId,
    /// Its kernels that copy and fill for HIP, by the address of their descriptors.
    blits: HashMap<u64, Blit>,
}

/// The code objects that were looked up so far, by the address of their vaddr 0.
#[derive(Default)]
pub struct Codes(Mutex<HashMap<u64, Known>>);

impl Codes {
    /// Name and module of the kernel with this object (the address of its descriptor).
    pub fn identify(&self, gpu: &Gpu, object: u64) -> Identity {
        let unknown = || Identity { name: format!("at {object:#x}"), module: None };
        let Some((base, uri)) = loaded_below(object) else {
            return Identity { name: "of the runtime".into(), module: None };
        };
        let Some(module) = self.module(gpu, base, &uri) else { return unknown() };
        match gpu.device.kernel_at(module, object) {
            Some(name) => Identity { name: demangle(&name).unwrap_or(name), module: Some(module) },
            None => unknown(),
        }
    }

    /// Whether the kernel with this object copies or fills for HIP, by its name and arguments.
    pub fn blit(&self, gpu: &Gpu, object: u64) -> Option<Blit> {
        let (base, uri) = loaded_below(object)?;
        self.module(gpu, base, &uri)?;
        self.lock().get(&base)?.blits.get(&object).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn module(&self, gpu: &Gpu, base: u64, uri: &str) -> Option<ModuleId> {
        let mut all = self.lock();
        if let Some(known) = all.get(&base).filter(|known| known.uri == uri) {
            return Some(known.module);
        }
        if let Some(old) = all.remove(&base) {
            gpu.device.unload(old.module).unwrap_or(());
        }
        let object = read(uri, base).or_else(|| loaded::object(base, bytes));
        if object.is_none() {
            log!(gpu.config(), "the code object {uri} cannot be read: its kernels have no names");
        }
        let object = object?;
        let blit = |kernel: &Kernel| {
            Some((base.wrapping_add(kernel.descriptor_vaddr), Blit::of(&kernel.name, kernel.metadata()?)?))
        };
        let blits = object.kernels().iter().filter_map(blit).collect();
        let module = match gpu.device.attach(object, base) {
            Ok(module) => module,
            Err(error) => {
                log!(gpu.config(), "the code object {uri} at {base:#x} is not known to the device: {error}");
                return None;
            }
        };
        all.insert(base, Known { uri: uri.to_owned(), module, blits });
        Some(module)
    }
}

/// The code object that a URI names: `file://path#offset=..&size=..` or `memory://process#offset=address&size=..`, which has to
/// be there still.
fn read(uri: &str, base: u64) -> Option<CodeObject> {
    let (place, range) = uri.split_once('#').unwrap_or((uri, ""));
    let field = |name: &str| {
        let text = range.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?;
        text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
    };
    let container = if let Some(path) = place.strip_prefix("file://") {
        let path = of_program(unescape(path));
        match (field("offset"), field("size")) {
            (Some(offset), Some(size)) => Container::open_range(path, offset, size).ok()?,
            _ => Container::open(path).ok()?,
        }
    } else {
        place.strip_prefix("memory://")?;
        let (image, size) = (field("offset")?, field("size")?);
        if !loaded::is_of(image, base, bytes) {
            return None;
        }
        Container::from_memory(None, image, size).ok()?
    };
    container.code_object(0).ok()
}

/// The program itself, where the runtime names the loader that was told to run it (`ld.so PROGRAM`) instead.
fn of_program(path: String) -> String {
    let is_loader = path.rsplit('/').next().is_some_and(|name| name.starts_with("ld-linux"));
    if is_loader { std::env::var(PROGRAM).unwrap_or(path) } else { path }
}

/// The process's program.
pub fn program() -> PathBuf {
    let path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    path.to_str().map_or_else(|| path.clone(), |text| of_program(text.to_owned()).into())
}

/// Undoes `%20`.
fn unescape(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where the runtime has its list of code objects, and the C++ library what undoes its names; 0 where there is none. They are
/// looked for by the thread that opens the driver: others would wait for the loader.
static DEBUG: AtomicU64 = AtomicU64::new(0);
static DEMANGLE: AtomicU64 = AtomicU64::new(0);

/// Finds what is asked of the runtime later.
pub fn find_runtime() {
    for (place, name) in [(&DEBUG, c"_amdgpu_r_debug"), (&DEMANGLE, c"__cxa_demangle")] {
        place.store(symbol(name).unwrap_or(0), Ordering::Relaxed);
    }
}

fn found(place: &AtomicU64) -> Option<u64> {
    Some(place.load(Ordering::Relaxed)).filter(|&address| address != 0)
}

/// Base and URI of the loaded code object with the highest base up to an address.
fn loaded_below(address: u64) -> Option<(u64, String)> {
    // struct r_debug: version, the first link_map. struct link_map: address, name, dynamic section, next one.
    let debug = found(&DEBUG)?;
    let mut next = word(debug + 8)?;
    let mut best: Option<(u64, u64)> = None;
    for _ in 0..MOST {
        if next == 0 {
            break;
        }
        let (base, name) = (word(next)?, word(next + 8)?);
        if base <= address && best.is_none_or(|(other, _)| other <= base) {
            best = Some((base, name));
        }
        next = word(next + 24)?;
    }
    let (base, name) = best?;
    Some((base, text(name)?))
}

/// Where the process has a symbol.
fn symbol(name: &std::ffi::CStr) -> Option<u64> {
    // SAFETY: looks for names only; a library that is loaded already gets a reference more.
    let found = unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        if !found.is_null() {
            found
        } else {
            let runtime = libc::dlopen(c"libhsa-runtime64.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            if runtime.is_null() { runtime } else { libc::dlsym(runtime, name.as_ptr()) }
        }
    };
    (!found.is_null()).then(|| found.expose_provenance() as u64)
}

/// Copies bytes of the process's, which may be gone at any moment.
fn bytes(address: u64, out: &mut [u8]) -> Option<()> {
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
    let there = std::ptr::with_exposed_provenance_mut(address as usize);
    let remote = libc::iovec { iov_base: there, iov_len: out.len() };
    // SAFETY: the kernel copies, and checks the other side.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    (usize::try_from(copied) == Ok(out.len())).then_some(())
}

/// A word of the process's memory, if it has that.
pub fn word(address: u64) -> Option<u64> {
    let mut word = [0; 8];
    bytes(address, &mut word)?;
    Some(u64::from_le_bytes(word))
}

fn text(address: u64) -> Option<String> {
    let mut text = Vec::new();
    for at in address..address + 4096 {
        let mut byte = [0];
        bytes(at, &mut byte)?;
        if byte[0] == 0 {
            return String::from_utf8(text).ok();
        }
        text.push(byte[0]);
    }
    None
}

/// What a C++ compiler calls a kernel, if the process has a library that knows.
fn demangle(name: &str) -> Option<String> {
    type Demangle = unsafe extern "C" fn(*const i8, *mut i8, *mut usize, *mut i32) -> *mut i8;
    let name = std::ffi::CString::new(name).ok().filter(|name| name.as_bytes().starts_with(b"_Z"))?;
    let function = found(&DEMANGLE)?;
    let pointer: *const () = std::ptr::with_exposed_provenance(function as usize);
    // SAFETY: the function of that name, which the C++ ABI describes; what it gives is ours to free.
    unsafe {
        let demangle: Demangle = std::mem::transmute(pointer);
        let mut status = 0;
        let text = demangle(name.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut(), &raw mut status);
        if text.is_null() {
            return None;
        }
        let readable = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        Some(readable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_unescaped_and_what_is_no_escape_stays() {
        assert_eq!(unescape("/a%20b%2f%zz%4"), "/a b/%zz%4");
    }

    #[test]
    fn memory_that_is_not_there_is_nothing() {
        assert_eq!((word(8), text(16)), (None, None));
        let number = 77u64;
        assert_eq!(word(std::ptr::from_ref(&number).expose_provenance() as u64), Some(77));
    }
}
