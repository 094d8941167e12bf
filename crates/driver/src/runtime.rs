//! The runtime above: which of AMD's libraries the process has, and what can be told of them by looking into their files.

use std::ffi::{CStr, c_int, c_void};
use std::path::{Path, PathBuf};

/// The library that calls this one.
const ROCR: &str = "libhsa-runtime64.so";
/// Libraries of AMD's whose versions tell people what ran.
const LIBRARIES: [&str; 4] = [ROCR, "libamdhip64.so", "libhiprtc.so", "libamd_comgr.so"];

/// The files of AMD's libraries that are loaded now, as links lead to them: their names have versions.
pub fn libraries() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    // SAFETY: `note` takes what this passes on, and is done when it returns.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
}

unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader's structure, and the list of `libraries`.
    let (name, found) = unsafe { ((*info).dlpi_name, &mut *found.cast::<Vec<PathBuf>>()) };
    if !name.is_null() {
        // SAFETY: a text of the loader's.
        let path = PathBuf::from(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
        if is_one_of(&path, &LIBRARIES) {
            found.push(path);
        }
    }
    0
}

fn is_one_of(path: &Path, names: &[&str]) -> bool {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    names.iter().any(|name| file.starts_with(name))
}

/// The runtime that has no such processor, if it is one: it would leave the GPUs out without a word.
pub fn lacks(libraries: &[PathBuf], processor: &str) -> Option<PathBuf> {
    let rocr = libraries.iter().find(|path| is_one_of(path, &[ROCR]))?;
    let bytes = std::fs::read(rocr).ok()?;
    // Its list of processors has the names as C has texts.
    (!contains(&bytes, format!("{processor}\0").as_bytes())).then(|| rocr.clone())
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    // SAFETY: both are as long as they say.
    let found = unsafe { libc::memmem(bytes.as_ptr().cast(), bytes.len(), text.as_ptr().cast(), text.len()) };
    !found.is_null()
}

/// The first and the last address of the runtime's code.
pub fn code() -> Option<(u64, u64)> {
    let mut found = (0, 0);
    // SAFETY: as in `libraries`.
    unsafe { libc::dl_iterate_phdr(Some(note_code), (&raw mut found).cast()) };
    (found != (0, 0)).then_some(found)
}

unsafe extern "C" fn note_code(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader's structure, and the range of `code`.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<(u64, u64)>()) };
    // SAFETY: a text of the loader's, or null.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy());
    if !name.is_some_and(|name| is_one_of(Path::new(&*name), &[ROCR])) {
        return 0;
    }
    for i in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: there are that many.
        let header = unsafe { &*info.dlpi_phdr.add(i) };
        if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
            let start = info.dlpi_addr + header.p_vaddr;
            *found = (start, start + header.p_memsz);
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_without_a_processor_is_named() {
        let path = std::env::temp_dir().join(format!("libhsa-runtime64.so.{}", std::process::id()));
        std::fs::write(&path, b"amdgcn-amd-amdhsa--gfx90a\0gfx9420\0").expect("written");
        let all = [PathBuf::from("/lib/libamdhip64.so.7"), path.clone()];
        assert_eq!(lacks(&all, "gfx90a"), None);
        assert_eq!(lacks(&all, "gfx942"), Some(path.clone()));
        assert_eq!(lacks(&all[..1], "gfx942"), None);
        std::fs::remove_file(&path).expect("removed");
    }
}
