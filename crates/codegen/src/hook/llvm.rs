//! LLVM itself: started once, asked from any thread, and kept from ending the process.
//!
//! Where LLVM gives up on a piece of code (an operation that the processor does not have), it calls a handler and ends
//! the process if that returns; where it only reports an error (assembly that it cannot read), it goes on with what it has,
//! not always to a good end. So it works on threads of its own: at the first error the handler tells the one that waits,
//! and its thread rests for good.

use std::{
    cell::RefCell,
    collections::HashMap,
    ffi::{CStr, c_char, c_void},
    sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockWriteGuard, mpsc},
};

use inkwell::{
    OptimizationLevel,
    context::Context,
    targets::{CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple},
};
use llvm_sys::{
    LLVMDiagnosticSeverity,
    core::{
        LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
        LLVMGetVersion,
    },
    error_handling::LLVMInstallFatalErrorHandler,
    prelude::LLVMDiagnosticInfoRef,
    support::LLVMParseCommandLineOptions,
};
use luthier_isa::Mode;

use super::{jobs::Job, processor};

/// No operating system: shader parts are allowed, and global addresses are taken relative to the PC.
pub const TRIPLE: &str = "amdgcn--";
/// Dual instructions have register banks, which renaming would break.
const OPTIONS: [&CStr; 2] = [c"luthier", c"-amdgpu-enable-vopd=false"];
/// Of a thread that LLVM works on: it calls itself as deep as code is nested.
pub const STACK: usize = 16 << 20;

/// Held by each thread that is inside of LLVM.
static INSIDE: RwLock<()> = RwLock::new(());

/// While this is held no thread is inside of LLVM.
pub fn nobody_inside() -> RwLockWriteGuard<'static, ()> {
    INSIDE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the reason for which LLVM gives up.
type Report = Box<dyn FnOnce(String)>;

thread_local! {
    static WAITING: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// Does `work` on a thread of LLVM's.
pub fn run<T: Send + 'static, E: From<String> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let job = Job::start().ok_or_else(|| E::from("nothing is compiled any more, as the process ends".to_owned()))?;
    start();
    let (sender, receiver) = mpsc::channel();
    let thread = move || {
        let to = sender.clone();
        let inside = INSIDE.read().unwrap_or_else(PoisonError::into_inner);
        // Goes with the thread's work, or when LLVM gives up: a thread that rests is no work.
        WAITING.set(Some(Box::new(move |reason| {
            drop(to.send(Err(reason.into())));
            drop(inside);
            drop(job);
        })));
        let answer = work();
        WAITING.set(None);
        drop(sender.send(answer));
    };
    let spawned = std::thread::Builder::new().name("llvm".to_owned()).stack_size(STACK).spawn(thread);
    spawned.map_err(|e| E::from(format!("no thread could be started: {e}")))?;
    receiver.recv().unwrap_or_else(|_| Err("LLVM gave no answer".to_owned().into()))
}

/// The same with a target machine.
pub fn run_for<T: Send + 'static, E: From<String> + Send + 'static>(
    mode: Mode,
    work: impl FnOnce(&TargetMachine) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    run(move || with_machine(mode, work))
}

/// Does `work` in a process that has been copied from this one for it, and has no other thread. Where LLVM gives up,
/// `gives_up` takes the reason.
pub fn on_this_thread<T, E: From<String>>(
    mode: Mode,
    gives_up: impl FnOnce(String) + 'static,
    work: impl FnOnce(&TargetMachine) -> Result<T, E>,
) -> Result<T, E> {
    WAITING.set(Some(Box::new(gives_up)));
    let answer = with_machine(mode, work);
    WAITING.set(None);
    answer
}

fn with_machine<T, E: From<String>>(mode: Mode, work: impl FnOnce(&TargetMachine) -> Result<T, E>) -> Result<T, E> {
    let machine = Machine::take(mode)?;
    let answer = work(&machine.0);
    machine.give_back(mode);
    answer
}

/// LLVM's version, and the options it is started with.
pub fn version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: writes three numbers.
    unsafe { LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch} {TRIPLE} {OPTIONS:?}")
}

/// Makes LLVM ready, once.
pub fn start() {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        LlvmTarget::initialize_amd_gpu(&InitializationConfig::default());
        let options = OPTIONS.map(CStr::as_ptr);
        // SAFETY: the options are C strings that live for ever, as many as is said; the handler never returns on a
        // thread of ours.
        unsafe {
            LLVMParseCommandLineOptions(options.len() as i32, options.as_ptr(), std::ptr::null());
            LLVMInstallFatalErrorHandler(Some(fatal));
        }
    });
}

/// Has errors that LLVM reports in this context end the work.
pub fn stop_at_errors(cx: &Context) {
    // SAFETY: the context is alive, and the handler needs nothing that could go away.
    unsafe { LLVMContextSetDiagnosticHandler(cx.raw(), Some(diagnostic), std::ptr::null_mut()) };
}

extern "C" fn diagnostic(info: LLVMDiagnosticInfoRef, _: *mut c_void) {
    // SAFETY: LLVM passes a valid diagnostic; its description is a C string that we own.
    let text = unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        copy
    };
    give_up(&text);
}

extern "C" fn fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a C string.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    give_up(&reason);
}

/// Tells the one who waits, and does not return. (On a thread that is not ours it does.)
fn give_up(reason: &str) {
    if let Some(report) = WAITING.take() {
        report(format!("LLVM cannot compile it: {}", reason.lines().next().unwrap_or_default()));
        loop {
            std::thread::park();
        }
    }
}

/// A target machine, which one thread at a time works with.
struct Machine(TargetMachine);

// SAFETY: a target machine has no ties to the thread that made it, and is not shared.
unsafe impl Send for Machine {}

impl Machine {
    fn idle() -> &'static Mutex<HashMap<Mode, Vec<Machine>>> {
        static IDLE: OnceLock<Mutex<HashMap<Mode, Vec<Machine>>>> = OnceLock::new();
        IDLE.get_or_init(Mutex::default)
    }

    fn take(mode: Mode) -> Result<Machine, String> {
        let known = Machine::idle().lock().unwrap_or_else(PoisonError::into_inner).get_mut(&mode).and_then(Vec::pop);
        known.map_or_else(|| Machine::new(mode), Ok)
    }

    fn give_back(self, mode: Mode) {
        Machine::idle().lock().unwrap_or_else(PoisonError::into_inner).entry(mode).or_default().push(self);
    }

    fn new(mode: Mode) -> Result<Machine, String> {
        let triple = TargetTriple::create(TRIPLE);
        let llvm = LlvmTarget::from_triple(&triple).map_err(|e| e.to_string())?;
        let (name, features) = (mode.target().name(), processor::features(mode));
        let level = OptimizationLevel::Default;
        llvm.create_target_machine(&triple, name, &features, level, RelocMode::PIC, CodeModel::Default)
            .map(Machine)
            .ok_or_else(|| format!("LLVM has no target machine for {name}"))
    }
}
