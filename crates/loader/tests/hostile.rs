//! Damaged input: whatever the bytes, the answer is a value or an error.
//!
//! `LUTHIER_FUZZ_SECONDS` makes the mutation loops longer than the second they take by default.

mod support;

use std::time::{Duration, Instant};

use luthier_loader::{CodeObject, Container, LoadOptions, Metadata, MockLoader, OriginMap};
use support::{Random, bundle, compressed, small_object};

/// Everything that the crate does with a code object.
fn exercise(bytes: &[u8]) -> bool {
    let Ok(object) = CodeObject::parse(bytes) else { return false };
    for kernel in object.kernels() {
        kernel.descriptor.fields();
        object.read(kernel.entry, kernel.code_size);
    }
    for section in object.sections() {
        object.section_bytes(section);
    }
    object.code_ranges();
    if let Some(metadata) = object.metadata() {
        let encoded = metadata.encode();
        assert_eq!(Metadata::decode(&encoded).unwrap().encode(), encoded);
        metadata.to_json();
    }
    let _ = object.origin_map();
    // A small limit stands in for memory: an image of 4 GiB is allowed, but not here, a thousand times a second.
    let size: u64 = object.segments().iter().map(|s| s.memsz.min(1 << 40)).sum();
    if size < 1 << 20 {
        let object = std::sync::Arc::new(object);
        for base in [None, Some(0), Some(u64::MAX)] {
            let mut loader = MockLoader::new();
            if let Ok(id) = loader.load(object.clone(), &LoadOptions { base, ..LoadOptions::default() }) {
                let span = loader.object(id).unwrap().span();
                let _ = loader.finalize();
                assert!(loader.locate(span.end).is_none() && loader.memory(span.end, 1).is_err());
            }
        }
    }
    true
}

fn open(bytes: &[u8]) -> bool {
    let Ok(container) = Container::from_bytes(bytes) else { return false };
    for entry in container.entries() {
        let _ = container.read(entry.index);
    }
    for target in container.targets() {
        container.select(&target).unwrap();
    }
    true
}

/// Changes a few bytes, words or ranges.
fn mutate(random: &mut Random, original: &[u8]) -> Vec<u8> {
    const INTERESTING: [u64; 10] =
        [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(4) {
        // Half of the damage goes where the headers are.
        let limit = if random.below(2) == 0 { bytes.len().min(0x900) } else { bytes.len() };
        let at = random.below(limit);
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => {
                let value = INTERESTING[random.below(INTERESTING.len())].to_le_bytes();
                let size = [2, 4, 8][random.below(3)].min(bytes.len() - at);
                bytes[at..at + size].copy_from_slice(&value[..size]);
            }
            3 => {
                let size = random.below(64).min(bytes.len() - at);
                let from = random.below(bytes.len() - size);
                bytes.copy_within(from..from + size, at);
            }
            4 => bytes.truncate(at.max(1)),
            _ => {
                let size = 8.min(bytes.len() - at);
                let value = (random.next() >> random.below(64)).to_le_bytes();
                bytes[at..at + size].copy_from_slice(&value[..size]);
            }
        }
    }
    bytes
}

fn fuzz(name: &str, seeds: &[Vec<u8>], run: impl Fn(&[u8]) -> bool) {
    let seconds = std::env::var("LUTHIER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut runs, mut accepted) = (0u64, 0u64);
    while Instant::now() < end {
        for seed in seeds {
            let state = random.0;
            let bytes = mutate(&mut random, seed);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&bytes)));
            match result {
                Ok(ok) => accepted += u64::from(ok),
                Err(_) => panic!("{name}: panics on run {runs}, generator state {state:#x}"),
            }
            runs += 1;
        }
    }
    println!("{name}: {runs} runs, {accepted} accepted");
    assert!(
        accepted > 0 && accepted < runs,
        "{name}: {accepted} of {runs} accepted: the mutations are too tame or wild"
    );
}

#[test]
fn every_truncation_is_answered() {
    let Some(bytes) = small_object(&[]) else { return };
    assert!(exercise(&bytes));
    for length in 0..bytes.len() {
        assert!(!exercise(&bytes[..length]), "cut at {length} of {} it still parses", bytes.len());
        open(&bytes[..length]);
    }
    let plain = bundle(&[("host-x86_64-unknown-linux--", b""), ("hipv4-amdgcn-amd-amdhsa--gfx90a", &bytes[..3000])]);
    for form in [plain.clone(), compressed(&plain, 1, 0), compressed(&plain, 2, 1), compressed(&plain, 3, 1)] {
        assert!(open(&form));
        for length in 0..form.len() {
            open(&form[..length]);
        }
    }
}

#[test]
fn mutated_code_objects() {
    let Some(bytes) = small_object(&[]) else { return };
    // The same without section headers: other ways to find things.
    let mut stripped = bytes.clone();
    stripped[0x28..0x30].fill(0);
    stripped[0x3c..0x40].fill(0);
    assert!(exercise(&stripped), "an object without section headers loads");
    fuzz("code objects", &[bytes, stripped], exercise);
}

#[test]
fn mutated_bundles() {
    let plain = bundle(&[("host-x86_64-unknown-linux--", b""), ("hipv4-amdgcn-amd-amdhsa--gfx90a", &[7; 3000])]);
    let mut seeds = vec![plain.clone()];
    for version in 1..=3 {
        seeds.extend([0, 1].map(|method| compressed(&plain, version, method)));
    }
    fuzz("bundles", &seeds, open);
}

#[test]
fn mutated_metadata() {
    let Some(bytes) = small_object(&[]) else { return };
    let object = CodeObject::parse(bytes).unwrap();
    let note = object.metadata().unwrap().encode();
    fuzz("metadata", &[note], |bytes| {
        let Ok(metadata) = Metadata::decode(bytes) else { return false };
        let encoded = metadata.encode();
        assert_eq!(Metadata::decode(&encoded).unwrap().encode(), encoded);
        metadata.to_json();
        true
    });
}

#[test]
fn mutated_origin_maps() {
    let mut builder = OriginMap::builder();
    builder.range(0x1000, 0x3000).range(0x10000, 0x10100);
    for index in 0..500u64 {
        builder.push(0x1000 + index * 12, 0x100 + index * 4);
    }
    builder.push(0x10000, 0x80).push(0x10010, 0x70);
    let seed = builder.finish().unwrap().encode();
    fuzz("origin maps", &[seed], |bytes| match OriginMap::decode(bytes) {
        Ok(map) => {
            assert_eq!(OriginMap::decode(&map.encode()).unwrap(), map);
            map.covers(u64::MAX);
            true
        }
        Err(_) => false,
    });
}

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
