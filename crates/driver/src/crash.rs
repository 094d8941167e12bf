//! Why HIP has crashed, where the code that it was asked for is not there.
//!
//! HIP 5 says `hipErrorNoBinaryForGpu` of a program without code for the GPU, and aborts. HIP 7 looks for a kernel's code when
//! the kernel is launched, does not look at the error that it gets of itself then, and ends with SIGSEGV and without a word. So
//! a handler of that signal looks at where the process stopped: in HIP, called by a program or library with code for other
//! processors only. It says so, puts back what handled the signal before, and has the instruction run again.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::Duration;

use luthier_isa::Target;
use luthier_loader::{Container, TargetId};

use crate::code;
use crate::log::say;
use crate::queue;

const HIP: &str = "libamdhip64.so";
/// LLVM's name for code that HIP compiles for any GPU.
const ANY: &str = "amdgcnspirv";
/// Bytes of the stack in which the caller is looked for: what HIP's functions have there when they launch is 2 KB.
const STACK: u64 = 64 << 10;
/// How long the process is held up at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the handler has to know.
struct Before {
    target: TargetId,
    handler: libc::sigaction,
}
static BEFORE: OnceLock<Before> = OnceLock::new();

/// Looks at crashes from now on, in a process that has HIP, on GPUs of this processor.
pub fn watch(libraries: &[PathBuf], target: Target) {
    if !libraries.iter().any(|path| is_hip(path)) {
        return;
    }
    // SAFETY: zeros are a structure of the system's, which is filled in; the handler is a function of the type that it is said
    // to be, and what it reads is there before it can be called.
    unsafe {
        let mut handler: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, std::ptr::null(), &raw mut handler);
        if BEFORE.set(Before { target: id_of(target), handler }).is_err() {
            return; // the handler of now may be one that the program has set since
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = stopped as *const () as usize;
        // Where the program has a stack for handlers, this one must not need room on the other.
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGSEGV, &raw const new, std::ptr::null_mut());
    }
}

/// What ROCr calls a GPU of this processor.
fn id_of(target: Target) -> TargetId {
    let id = TargetId::of_processor(target.name());
    let (sramecc, xnack) = (id.supports_sramecc().then_some(true), id.supports_xnack().then_some(false));
    TargetId { sramecc, xnack, ..id }
}

fn is_hip(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(HIP))
}

extern "C" fn stopped(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else { return };
    // SAFETY: the structures that the system hands to handlers of this type, and a handler that was the process's.
    unsafe {
        libc::sigaction(signal, &raw const before.handler, std::ptr::null_mut());
        if (*info).si_code <= 0 {
            // Somebody has sent it: nothing would raise it again.
            let (process, thread) = (libc::getpid(), libc::syscall(libc::SYS_gettid));
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info);
            return;
        }
        let registers = (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        explain(registers[libc::REG_RIP as usize] as u64, registers[libc::REG_RSP as usize] as u64, &before.target);
    }
}

/// A file of the process's, and the addresses of its code.
struct Loaded {
    path: PathBuf,
    code: Vec<Range<u64>>,
}

impl Loaded {
    fn has(&self, address: u64) -> bool {
        self.code.iter().any(|range| range.contains(&address))
    }
}

/// Says why the code at an address has crashed, with this stack, if that is known. A thread that stops in HIP has no lock of the
/// C library's, so memory and threads can be had; its own stack may be small.
fn explain(at: u64, stack: u64, target: &TargetId) {
    let mut files: Vec<Loaded> = Vec::new();
    // SAFETY: `note` takes what this passes on, and is done when it returns.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut files).cast()) };
    let Some(hip) = files.iter().find(|file| file.has(at)).map(|file| file.path.clone()).filter(|path| is_hip(path))
    else {
        return;
    };
    let target = target.clone();
    let (done, waits) = mpsc::channel();
    let body = move || {
        if let Some((caller, available)) = caller_without_code(&files, stack, &target) {
            let hip = hip.canonicalize().unwrap_or(hip);
            say(&format!(
                "SIGSEGV in {}, called by {}, which has code for {available} and none for {target}",
                hip.display(),
                caller.display()
            ));
        }
        done.send(()).unwrap_or(());
    };
    if queue::quietly(|| std::thread::Builder::new().name("luthier-crash".into()).spawn(body)).is_ok() {
        waits.recv_timeout(PATIENCE).unwrap_or(());
    }
}

/// The last file with code for GPUs that has called what is on a stack, and what it has code for, if none is for this GPU.
fn caller_without_code(files: &[Loaded], stack: u64, target: &TargetId) -> Option<(PathBuf, String)> {
    let mut seen: Vec<&Path> = Vec::new();
    for address in (stack..stack.checked_add(STACK)?).step_by(8) {
        let word = code::word(address)?;
        let Some(file) = files.iter().find(|file| file.has(word)) else { continue };
        if seen.contains(&file.path.as_path()) {
            continue;
        }
        seen.push(&file.path);
        let Ok(container) = Container::open(&file.path) else { continue };
        let available = container.targets();
        let suits = container.select(target).is_ok() || available.iter().any(|one| one.processor == ANY);
        let names: Vec<String> = available.iter().map(TargetId::to_string).collect();
        return (!suits && !names.is_empty()).then(|| (file.path.clone(), names.join(", ")));
    }
    None
}

unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader's structure, and the list of `explain`.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Loaded>>()) };
    // SAFETY: a text of the loader's, or null.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy());
    let path = match name {
        Some(name) if !name.is_empty() => PathBuf::from(&*name),
        _ => code::program(),
    };
    // SAFETY: there are that many.
    let headers = (0..usize::from(info.dlpi_phnum)).map(|i| unsafe { &*info.dlpi_phdr.add(i) });
    let is_code = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
    let range = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr + header.p_vaddr;
        start..start + header.p_memsz
    };
    found.push(Loaded { path, code: headers.filter(is_code).map(range).collect() });
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_called_what_rocr_calls_them() {
        for (target, id) in
            [("gfx942", "gfx942:sramecc+:xnack-"), ("gfx1010", "gfx1010:xnack-"), ("gfx1100", "gfx1100")]
        {
            assert_eq!(id_of(Target::from_name(target).expect("a processor")).to_string(), id);
        }
    }

    #[test]
    fn a_crash_that_is_not_in_hip_is_not_explained() {
        let stack = [a_crash_that_is_not_in_hip_is_not_explained as *const () as u64; 64];
        let target = TargetId::of_processor("gfx942");
        let mut files: Vec<Loaded> = Vec::new();
        // SAFETY: as in `explain`.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut files).cast()) };
        let own = files.iter().find(|file| file.has(stack[0])).expect("this program is loaded");
        assert_eq!(own.path, std::env::current_exe().expect("it has a path"));
        // It has no code for GPUs.
        let address = std::ptr::from_ref(&stack).expose_provenance() as u64;
        assert_eq!(caller_without_code(&files, address, &target), None);
    }
}
