//! Damaged input: whatever the bytes, the answer is a value or an error, and memory is bounded by the input.
//!
//! `LUTHIER_FUZZ_SECONDS` makes the mutation loops longer than the second they take by default; the long run is
//! `cargo run --release -p luthier-loader --example fuzz`.

#[path = "support/alloc.rs"]
mod alloc;
#[path = "support/seeds.rs"]
mod seeds;
mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use luthier_loader::fuzz::{Random, check_container, check_object};
use luthier_loader::{CodeObject, Container};
use support::{bundle, compressed, small_object};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

fn targets() -> Vec<seeds::Target> {
    seeds::targets(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds"))
}

#[test]
fn seeds_are_good_input() {
    for target in targets() {
        for seed in &target.seeds {
            assert!((target.check)(seed), "a seed of {} is refused", target.name);
        }
    }
}

#[test]
fn damaged_input_of_every_kind() {
    let seconds = std::env::var("LUTHIER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let targets = targets();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for target in &targets {
        let name = target.name;
        let end = Instant::now() + Duration::from_secs_f64(seconds / targets.len() as f64);
        let (mut runs, mut accepted) = (0u64, 0u64);
        let mut input = Vec::new();
        // A slow machine still does a few.
        while runs < 500 || Instant::now() < end {
            let state = random.0;
            target.input(&mut random, &mut input);
            let result = std::panic::catch_unwind(|| alloc::peak(|| (target.check)(&input)));
            let Ok((ok, peak)) = result else { panic!("{name}: panics on run {runs}, generator state {state:#x}") };
            let limit = target.memory_limit(input.len());
            assert!(peak <= limit, "{name}: {peak} bytes for {}, generator state {state:#x}", input.len());
            accepted += u64::from(ok);
            runs += 1;
        }
        println!("{name}: {runs} runs, {accepted} accepted");
        assert!(accepted > 0 && accepted < runs, "{name}: {accepted} of {runs} accepted: too tame or too wild");
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn every_truncation_is_answered() {
    let Some(bytes) = small_object(&[]) else { return };
    assert!(check_object(&bytes));
    for length in 0..bytes.len() {
        assert!(!check_object(&bytes[..length]), "cut at {length} of {} it still parses", bytes.len());
        check_container(&bytes[..length]);
    }
    let plain = bundle(&[("host-x86_64-unknown-linux--", b""), ("hipv4-amdgcn-amd-amdhsa--gfx90a", &bytes[..3000])]);
    for form in [plain.clone(), compressed(&plain, 1, 0), compressed(&plain, 2, 1), compressed(&plain, 3, 1)] {
        assert!(check_container(&form));
        for length in 0..form.len() {
            check_container(&form[..length]);
        }
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn small_files_cannot_ask_for_much_memory() {
    // Ids of nothing but zeros compress a thousandfold: a file of a few KB with tables of many MB.
    let id = "\0".repeat(4000);
    let bomb = bundle(&vec![(id.as_str(), &b""[..]); 2000]);
    let packed = compressed(&bomb, 3, 1);
    assert!(packed.len() < bomb.len() / 100);
    let error = Container::from_bytes(packed.repeat(10)).unwrap_err().to_string();
    assert!(error.contains("absurdly large"), "{error}");

    // An entry that decompresses to far more than its bundle could hold.
    let mut huge = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", b"x")]);
    huge[40..48].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let mut packed = compressed(&huge, 3, 1);
    packed[16..24].copy_from_slice(&(1u64 << 41).to_le_bytes());
    let error = Container::from_bytes(packed).unwrap().read(0).unwrap_err().to_string();
    assert!(error.contains("cannot come out"), "{error}");

    // One string of half a megabyte, and every symbol of a table named by it.
    let Some(mut bytes) = small_object(&[]) else { return };
    let object = CodeObject::parse(bytes.clone()).unwrap();
    let header = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
    let find = |name: &str| header + 64 * object.sections().iter().position(|s| s.name == name).unwrap();
    let place = |bytes: &mut Vec<u8>, header: usize, content: &[u8]| {
        let (at, size) = (bytes.len() as u64, content.len() as u64);
        bytes[header + 24..header + 32].copy_from_slice(&at.to_le_bytes());
        bytes[header + 32..header + 40].copy_from_slice(&size.to_le_bytes());
        bytes.extend(content);
    };
    let symbol: Vec<u8> = [1, 0, 0, 0].into_iter().chain([0; 20]).collect();
    let (strings, symbols) = ([&[0][..], &[b'a'; 500_000], &[0]].concat(), symbol.repeat(20_000));
    let (symtab, strtab) = (find(".symtab"), find(".strtab"));
    place(&mut bytes, symtab, &symbols);
    place(&mut bytes, strtab, &strings);
    let error = CodeObject::parse(bytes).unwrap_err().to_string();
    assert!(error.contains("absurdly long"), "{error}");
}
