#![no_main]
//! Whole objects; the loader's seeds are good ones to start from.

#[path = "../exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    exercise::object(bytes.to_vec());
});
