//! Threads of the agent's.

/// Starts one. The application's signals are not for it: their handlers may end the process, which it then would hold up.
pub fn start(run: impl FnOnce() + Send + 'static) {
    // SAFETY: two sets of signals, filled before they are read. What the thread has when it starts is its parent's.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        drop(std::thread::Builder::new().name("luthier".to_owned()).spawn(run));
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}
