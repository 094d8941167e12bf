#![no_main]
//! Code in a good object.

#[path = "../exercise.rs"]
mod exercise;

const SEED: &[u8] = include_bytes!("../../../loader/fuzz/seeds/object-gfx90a.hsaco");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut object = SEED.to_vec();
    let text = exercise::text_range(SEED);
    let size = bytes.len().min(text.len());
    object[text.start..text.start + size].copy_from_slice(&bytes[..size]);
    exercise::object(object);
});
