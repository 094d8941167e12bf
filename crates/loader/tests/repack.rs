//! Containers written back with other code objects in them.

mod support;

use std::collections::BTreeMap;

use luthier_loader::*;
use support::{bundle, compressed, small_object};

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const MINE: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a";
const OTHER: &str = "hipv4-amdgcn-amd-amdhsa--gfx1100";

/// The object, and one that is larger.
fn objects() -> Option<(Vec<u8>, Vec<u8>)> {
    let small = small_object(&[])?;
    let large = [&small[..], &[7; 100_000]].concat();
    Some((small, large))
}

fn one(index: usize, bytes: &[u8]) -> BTreeMap<usize, Bytes> {
    BTreeMap::from([(index, bytes.into())])
}

#[luthier_needs::needs(llvm)]
#[test]
fn every_bundle_format_takes_a_larger_object_and_keeps_the_rest() {
    let Some((small, large)) = objects() else { return };
    let other: Vec<u8> = (0..50_000u32).flat_map(|i| (i / 5).to_le_bytes()).collect();
    let plain = bundle(&[(HOST, b""), (MINE, &small), (OTHER, &other)]);
    let mut forms = vec![plain.clone()];
    for version in 1..=3 {
        forms.extend((0..=1).map(|method| compressed(&plain, version, method)));
    }
    for (number, form) in forms.iter().enumerate() {
        let old = Container::from_bytes(form.clone()).unwrap();
        let written = old.with_entries(&one(1, &large)).unwrap();
        assert_eq!(written[..6], form[..6], "form {number}: magic and version");
        let new = Container::from_bytes(written.clone()).unwrap();
        let ids = |c: &Container| c.entries().iter().map(|e| e.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&new), ids(&old), "form {number}");
        assert_eq!(new.read(0).unwrap().len(), 0);
        assert!(new.read(1).unwrap()[..] == large[..], "form {number}");
        assert!(new.read(2).unwrap()[..] == other[..], "form {number}");
        // With the old object again it is what it was, up to compression.
        let back = Container::from_bytes(new.with_entries(&one(1, &small)).unwrap()).unwrap();
        assert!(back.read(1).unwrap()[..] == small[..] && back.read(2).unwrap()[..] == other[..], "form {number}");
    }
}

#[luthier_needs::needs(corpus)]
#[test]
fn a_compressed_bundle_has_the_hash_and_the_sizes_that_clang_writes() {
    // Of a library that clang 18 or later has made, with nothing changed but the compression.
    let corpus = support::corpus();
    for name in ["libbitsandbytes_rocm64.so", "libbitsandbytes_rocm714.so"] {
        let path = corpus.join("bitsandbytes").join(name);
        let old = std::fs::read(&path).unwrap();
        let container = Container::open(&path).unwrap();
        let index = container.entries().iter().find(|e| e.id.ends_with("gfx90a")).unwrap().index;
        let same = container.read(index).unwrap();
        let new = container.with_entries(&BTreeMap::from([(index, same)])).unwrap();
        let start = |bytes: &[u8]| memchr::memmem::find(bytes, b"CCOB").unwrap();
        let (old_at, new_at) = (start(&old), start(&new));
        let version = old[old_at + 4];
        let (sizes, hash) = if version == 2 { (4, 16) } else { (8, 24) };
        let field = |bytes: &[u8], at: usize, size: usize| bytes[at..at + size].to_vec();
        assert_eq!(field(&old, old_at + 4, 4), field(&new, new_at + 4, 4), "{name}: version and method");
        assert_eq!(
            field(&old, old_at + 8 + sizes, sizes),
            field(&new, new_at + 8 + sizes, sizes),
            "{name}: plain size"
        );
        assert_eq!(field(&old, old_at + hash, 8), field(&new, new_at + hash, 8), "{name}: hash");
        let (a, b) = (Container::open(&path).unwrap(), Container::from_bytes(new).unwrap());
        assert_eq!(a.entries().len(), b.entries().len());
        for entry in a.entries() {
            assert!(a.read(entry.index).unwrap()[..] == b.read(entry.index).unwrap()[..], "{name}: {}", entry.id);
        }
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn bundles_without_a_new_entry_stay_byte_for_byte() {
    let Some((small, large)) = objects() else { return };
    let plain = bundle(&[(HOST, b""), (MINE, &small)]);
    let packed = compressed(&plain, 2, 0);
    let mut file = packed.clone();
    file.resize(file.len().next_multiple_of(4096), 0);
    let second = file.len();
    file.extend(&plain);
    let container = Container::from_bytes(file).unwrap();
    let written = container.with_entries(&one(3, &large)).unwrap();
    assert!(written[..packed.len()] == packed[..]);
    assert!(written[second..].starts_with(b"__CLANG_OFFLOAD_BUNDLE__"));
    let new = Container::from_bytes(written).unwrap();
    assert!(new.read(1).unwrap()[..] == small[..] && new.read(3).unwrap()[..] == large[..]);
}

#[luthier_needs::needs(llvm)]
#[test]
fn what_does_not_fit_an_entry_is_refused_by_name() {
    let Some((small, _)) = objects() else { return };
    let container = Container::from_bytes(bundle(&[(HOST, b""), (MINE, &small), (OTHER, b"x")])).unwrap();
    let refused = |index: usize, bytes: &[u8]| container.with_entries(&one(index, bytes)).unwrap_err();
    assert!(matches!(refused(0, &small), LoadError::EntryMismatch { .. }));
    assert!(matches!(refused(2, &small), LoadError::EntryMismatch { entry, .. } if entry == OTHER));
    assert!(matches!(refused(9, &small), LoadError::NoSuchEntry { index: 9, count: 3 }));
    assert!(!matches!(refused(1, b"no code object"), LoadError::EntryMismatch { .. }));
}
