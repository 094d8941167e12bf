//! Bundles in every format, selection by target, target ids.

mod support;

use luthier_loader::*;
use support::{bundle, compressed};

fn target(text: &str) -> TargetId {
    text.parse().unwrap()
}

#[test]
fn every_bundle_format_gives_the_same_entries() {
    let big: Vec<u8> = (0..100_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    let entries: [(&str, &[u8]); 3] = [
        ("host-x86_64-unknown-linux--", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", b"first"),
        ("hipv4-amdgcn-amd-amdhsa--gfx1100", &big),
    ];
    let plain = bundle(&entries);
    let mut forms = vec![plain.clone()];
    for version in 1..=3 {
        for method in 0..=1 {
            forms.push(compressed(&plain, version, method));
        }
    }
    // All of them behind each other, padded as a linker does.
    let mut all = Vec::new();
    for form in &forms {
        all.extend(form);
        all.resize(all.len().next_multiple_of(4096), 0);
    }
    forms.push(all);
    for (number, form) in forms.iter().enumerate() {
        let container = Container::from_bytes(form.clone()).unwrap_or_else(|error| panic!("form {number}: {error}"));
        assert_eq!(container.kind(), ContainerKind::Bundle);
        for (index, entry) in container.entries().iter().enumerate() {
            let (id, bytes) = entries[index % 3];
            assert_eq!((entry.id.as_str(), entry.size, entry.index), (id, bytes.len() as u64, index));
            assert_eq!(entry.bundle, index / 3);
            assert!(container.read(index).unwrap()[..] == *bytes, "form {number}, entry {index}");
        }
        let bundles = container.entries().len() / 3;
        assert_eq!(bundles, if number == forms.len() - 1 { 7 } else { 1 });
        assert_eq!(container.select(&target("gfx1100")).unwrap().len(), bundles);
        assert_eq!(container.targets(), [target("gfx90a:sramecc+:xnack-"), target("gfx1100")]);
    }
}

#[test]
fn the_best_entry_is_selected() {
    let ids = ["gfx90a", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-", "gfx9-generic", "gfx906:sramecc-:xnack-"];
    let ids: Vec<String> = ids.iter().map(|id| format!("hipv4-amdgcn-amd-amdhsa--{id}")).collect();
    let entries: Vec<(&str, &[u8])> = ids.iter().map(|id| (id.as_str(), id.as_bytes())).collect();
    let container = Container::from_bytes(bundle(&entries)).unwrap();
    let chosen = |wanted: &str| container.select(&target(wanted)).map(|found| found[0].target.clone().unwrap());
    for (wanted, expected) in [
        ("gfx90a", "gfx90a"),
        ("gfx90a:xnack+", "gfx90a:xnack+"),
        ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("gfx90a:sramecc-:xnack-", "gfx90a"),
        ("gfx906:sramecc-:xnack-", "gfx906:sramecc-:xnack-"),
        ("gfx906:sramecc+:xnack-", "gfx9-generic"),
        ("gfx900", "gfx9-generic"),
    ] {
        assert_eq!(chosen(wanted).unwrap(), target(expected), "{wanted}");
    }
    assert!(matches!(chosen("gfx942"), Err(LoadError::NoMatchingEntry { .. })));
}

#[test]
fn target_ids_parse_and_print() {
    for text in ["gfx90a", "gfx90a:sramecc+:xnack-", "gfx9-4-generic:sramecc-", "gfx1100"] {
        assert_eq!(target(text).to_string(), text);
        assert_eq!(target(&format!("amdgcn-amd-amdhsa--{text}")).to_string(), text);
        assert_eq!(target(&format!("hip-amdgcn-amd-amdhsa-unknown-{text}")).to_string(), text);
    }
    assert_eq!(target("gfx90a:xnack-:sramecc+").to_string(), "gfx90a:sramecc+:xnack-");
    for bad in ["", ":xnack+", "gfx90a:xnack", "gfx90a:xnack+:xnack+", "gfx90a:other+", "gfx 90a", "a--"] {
        assert!(bad.parse::<TargetId>().is_err(), "{bad:?}");
    }
}
