//! Calls of the application's that tools want to hear of: one wrapper for every function there is.
//!
//! A wrapper passes on what the System V ABI has in the six registers for integers and on the stack, so that it needs to
//! know of a function only how many words are on the stack. Which functions are wanted, and when, is in memory that the
//! controller writes: a wrapper that is in place and not wanted costs a look at it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::{functions, session};

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the wrappers know the ABI of x86-64 only");

/// A function that can be wrapped.
pub struct Function {
    pub name: &'static str,
    pub wrapper: *const (),
}

// SAFETY: the address of a function.
unsafe impl Sync for Function {}

/// Arguments on the stack. All registers are taken, so that a structure of any size lies there.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Stack<const K: usize>(pub [u64; K]);

/// A function of integers and pointers.
pub type Raw<const K: usize> = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, Stack<K>) -> u64;

/// Words of arguments in registers.
const REGISTERS: usize = 6;
/// Words of arguments of any function that can be wrapped.
const MOST: usize = REGISTERS + 8;
/// All of them.
pub const COUNT: usize = functions::CORE.len() + functions::AMD.len() + functions::IMAGE.len() + functions::HIP.len();

/// What the controller wants of a function, in the low bits of its word.
pub mod wanted {
    /// An answer before the call.
    pub const ASK_BEFORE: u32 = 1;
    /// An answer after it.
    pub const ASK_AFTER: u32 = 2;
    /// To be told of it afterwards, without an answer.
    pub const TELL: u32 = 4;
    /// With what is said of it, the return addresses of the thread's stack.
    pub const STACK: u32 = 8;
    /// From here on: a bit for each word that is a pointer to 8 bytes which are wanted after the call.
    pub const POINTEES: u32 = 16;
}

/// What a wrapper calls.
static NEXT: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];
/// A word for each function, in memory that the controller writes; null without a controller.
static WANTED: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

thread_local! {
    /// This thread is in the agent: what it calls is not the application's.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in the agent.
pub fn is_inside() -> bool {
    INSIDE.get()
}

/// Runs something of the agent's.
pub fn inside<T>(run: impl FnOnce() -> T) -> T {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _back = Back(INSIDE.replace(true));
    run()
}

/// Takes the controller's wishes from memory that stays mapped; or none, with null.
pub fn obey(words: *mut AtomicU32) {
    WANTED.store(words, Ordering::Release);
}

/// What is wanted of a function.
fn wishes(function: usize) -> u32 {
    let words = WANTED.load(Ordering::Acquire);
    // SAFETY: there are `COUNT` words.
    if words.is_null() { 0 } else { unsafe { (*words.add(function)).load(Ordering::Relaxed) } }
}

/// What a function's wrapper calls is this from now on.
pub fn set_next(function: usize, address: usize) {
    NEXT[function].store(address, Ordering::Release);
}

/// What a function's wrapper calls.
pub fn next(function: usize) -> usize {
    NEXT[function].load(Ordering::Acquire)
}

/// The entry of a function that stands in the API table.
pub const fn function<const F: usize, const K: usize>(name: &'static str) -> Function {
    Function { name, wrapper: wrapper::<F, K> as *const () }
}

/// A function that takes words as C has them and hands them on. `$next` is the original's address, if there is one.
macro_rules! forwards {
    ($(#[$attribute:meta])* $name:ident $(<$(const $generic:ident),*>)?, $number:expr, $stack:expr, $next:expr) => {
        $(#[$attribute])*
        /// # Safety
        /// Called as its original would be.
        pub unsafe extern "C" fn $name$(<$(const $generic: usize),*>)?(
            a: u64,
            b: u64,
            c: u64,
            d: u64,
            e: u64,
            f: u64,
            rest: $crate::calls::Stack<{ $stack }>,
        ) -> u64 {
            match $next {
                // SAFETY: the original of this number takes what its callers pass.
                Some(next) => unsafe {
                    $crate::calls::through::<{ $number }, { $stack }>(next, [a, b, c, d, e, f], rest)
                },
                None => $crate::hip::NOT_SUPPORTED,
            }
        }
    };
}

// What it calls was set before it was put in place.
forwards!(wrapper<const F, const K>, F, K, Some(next(F)));

/// A call of function `F`, whose original is at `next`.
///
/// # Safety
/// It is a function of integers and pointers, with `K` words on the stack, and these are its arguments.
#[inline(always)]
pub(crate) unsafe fn through<const F: usize, const K: usize>(
    next: usize,
    registers: [u64; REGISTERS],
    rest: Stack<K>,
) -> u64 {
    // SAFETY: the caller's promise.
    let original = unsafe { std::mem::transmute::<usize, Raw<K>>(next) };
    let call = |[a, b, c, d, e, f]: [u64; REGISTERS], rest| {
        // SAFETY: the arguments as they came, or as a tool wants them.
        unsafe { original(a, b, c, d, e, f, rest) }
    };
    let wishes = wishes(F);
    if wishes & (wanted::ASK_BEFORE | wanted::ASK_AFTER | wanted::TELL) == 0 {
        return call(registers, rest);
    }
    let mut words = [0; MOST];
    words[..REGISTERS].copy_from_slice(&registers);
    words[REGISTERS..][..K].copy_from_slice(&rest.0);
    let mut run = |words: &[u64; MOST]| {
        call(std::array::from_fn(|i| words[i]), Stack(std::array::from_fn(|i| words[REGISTERS + i])))
    };
    watched(F, wishes, &mut words, REGISTERS + K, &mut run)
}

/// A call that tools hear of.
fn watched(
    function: usize,
    wishes: u32,
    words: &mut [u64; MOST],
    count: usize,
    run: &mut dyn FnMut(&[u64; MOST]) -> u64,
) -> u64 {
    let Some(session) = session::current().filter(|s| s.is_active() && !is_inside()) else { return run(words) };
    let number = session.next_call();
    let mut room = [std::ptr::null_mut(); FRAMES];
    let stack = if wishes & wanted::STACK != 0 { inside(|| stack(&mut room)) } else { Vec::new() };
    if wishes & wanted::ASK_BEFORE != 0 {
        match inside(|| session.before(number, function, &words[..count], &stack)) {
            Some(Before::Run(Some(changed))) if changed.len() == count => words[..count].copy_from_slice(&changed),
            Some(Before::Run(_)) | None => {}
            Some(Before::Skip(result)) => return result,
        }
    }
    let result = run(words);
    if wishes & (wanted::ASK_AFTER | wanted::TELL) == 0 {
        return result;
    }
    inside(|| {
        let pointees = pointees(wishes >> wanted::POINTEES, &words[..count]);
        let answer = wishes & wanted::ASK_AFTER != 0;
        let call = Made { number, function, words: &words[..count], result, pointees: &pointees, stack: &stack };
        session.after(&call, answer).unwrap_or(result)
    })
}

/// A call that was made.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    pub number: u64,
    pub function: usize,
    pub words: &'a [u64],
    pub result: u64,
    /// What marked words point to.
    pub pointees: &'a [u64],
    /// Return addresses, the innermost first.
    pub stack: &'a [u64],
}

/// Return addresses of a stack that are told.
const FRAMES: usize = 32;

/// The return addresses of this thread, the innermost first; our own are among them.
fn stack(room: &mut [*mut c_void; FRAMES]) -> Vec<u64> {
    // SAFETY: it writes at most as many addresses as there is room for.
    let count = unsafe { libc::backtrace(room.as_mut_ptr(), FRAMES as c_int) };
    room.iter().take(usize::try_from(count).unwrap_or(0)).map(|address| address.addr() as u64).collect()
}

/// What is to be done with a call.
pub enum Before {
    /// With other arguments, perhaps.
    Run(Option<Vec<u64>>),
    /// The function is not called; this is its result.
    Skip(u64),
}

/// What the marked words point to; 0 for what cannot be read.
fn pointees(mask: u32, words: &[u64]) -> Vec<u64> {
    let marked = words.iter().enumerate().filter(|(i, _)| mask >> i & 1 != 0);
    marked
        .map(|(_, address)| {
            let mut value = [0; 8];
            if session::read(*address, &mut value) { u64::from_le_bytes(value) } else { 0 }
        })
        .collect()
}

/// HIP's functions, which this library exports: where it is loaded before HIP's own, programs call them.
macro_rules! exported {
    (pub static $table:ident: [Function; $len:literal]; $($number:literal, $stack:literal, $ident:ident, $name:literal;)*) => {
        /// HIP's functions.
        pub static $table: [Function; $len] = [
            $(Function { name: $name, wrapper: exported::$ident as *const () },)*
        ];

        mod exported {
            $($crate::calls::forwards!(
                #[unsafe(no_mangle)]
                $ident,
                $number,
                $stack,
                $crate::hip::original($number, $name)
            );)*
        }
    };
}
pub(crate) use {exported, forwards};
