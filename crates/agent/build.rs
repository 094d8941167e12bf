//! The library stays when ROCr closes it: what it has registered, and its threads, may be called later.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // As tools/backend/companions.py links the driver: threads of the agent's do not need the loader's lock.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=__cxa_thread_atexit_impl");
}
