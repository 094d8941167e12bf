#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    luthier_loader::fuzz::check_metadata(bytes);
});
