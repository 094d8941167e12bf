//! The metadata note: edits, unknown keys, encodings that are not the shortest, and what is refused.

mod support;

use luthier_loader::*;
use support::small_object;

#[luthier_needs::needs(llvm)]
#[test]
fn edited_metadata_keep_everything_else() {
    let Some(bytes) = small_object(&[]) else { return };
    let object = CodeObject::parse(bytes).unwrap();
    let before = object.metadata().unwrap();
    let mut after = before.clone();
    let kernel = after.kernel_mut("work").unwrap();
    kernel.vgpr_count = Some(300);
    kernel.agpr_count = None;
    kernel.cluster_dims = Some(vec![1, 2, 3]);
    kernel.args[0].name = Some("renamed".to_owned());
    let decoded = Metadata::decode(&after.encode()).unwrap();
    let kernel = decoded.kernel("work").unwrap();
    assert_eq!(kernel.vgpr_count, Some(300));
    assert_eq!(kernel.agpr_count, None);
    assert_eq!(kernel.cluster_dims.as_deref(), Some(&[1, 2, 3][..]));
    assert_eq!(kernel.args[0].name.as_deref(), Some("renamed"));
    assert_eq!(kernel.args[1..], before.kernel("work").unwrap().args[1..]);
    assert_eq!(decoded.kernel("other"), before.kernel("other"));
    assert_eq!(decoded.target, before.target);
    // Taken back, the bytes are the old ones.
    let kernel = after.kernel_mut("work").unwrap();
    let old = before.kernel("work").unwrap();
    kernel.fields.vgpr_count = old.vgpr_count;
    kernel.fields.agpr_count = old.agpr_count;
    kernel.fields.cluster_dims = None;
    kernel.args[0].name = old.args[0].name.clone();
    assert_eq!(after.encode(), before.encode());
}

#[test]
fn unknown_metadata_keys_survive() {
    use rmpv::Value;
    let kernel = Value::Map(vec![
        (".zeta".into(), Value::Array(vec![1.into(), Value::Nil])),
        (".name".into(), "k".into()),
        (".symbol".into(), "k.kd".into()),
        (".vgpr_count".into(), 5.into()),
    ]);
    let root = Value::Map(vec![
        ("vendor.key".into(), Value::Binary(vec![1, 2, 3])),
        ("amdhsa.kernels".into(), Value::Array(vec![kernel])),
    ]);
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &root).unwrap();
    let mut metadata = Metadata::decode(&bytes).unwrap();
    assert_eq!(metadata.encode(), bytes);
    assert_eq!(metadata.kernels[0].others().map(|(key, _)| key).collect::<Vec<_>>(), [".zeta"]);
    metadata.kernels[0].vgpr_count = Some(6);
    let text = metadata.to_json().to_string();
    assert!(text.contains(r#"".vgpr_count":6"#) && text.contains(r#""vendor.key":[1,2,3]"#), "{text}");
}

/// Every choice that msgpack leaves to the writer: long strings, arrays, maps and numbers, keys twice, zeros behind.
#[test]
fn any_encoding_comes_back_byte_for_byte() {
    let string = |text: &str| [&[0xda, 0, text.len() as u8], text.as_bytes()].concat();
    let mut bytes = vec![0xdf, 0, 0, 0, 4];
    bytes.extend(string("amdhsa.target"));
    bytes.extend(string("amdgcn-amd-amdhsa--gfx90a"));
    bytes.extend(string("amdhsa.kernels"));
    bytes.extend([0xdd, 0, 0, 0, 1, 0xde, 0, 5]);
    for (key, value) in [
        (".name", string("k")),
        (".symbol", string("k.kd")),
        (".vgpr_count", vec![0xcf, 0, 0, 0, 0, 0, 0, 0, 7]),
        (".vgpr_count", vec![0xcd, 0, 8]),
        (".args", vec![0xdc, 0, 1, 0x81, 0xa5, b'.', b's', b'i', b'z', b'e', 0xd0, 4]),
    ] {
        bytes.extend(string(key));
        bytes.extend(value);
    }
    // Keys that are no strings, and one that is not UTF-8.
    bytes.extend([0x05, 0xc0, 0xa1, 0xff, 0x93, 1, 2, 0xcb, 0x40, 9, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18]);
    let whole = [&bytes[..], &[0; 3]].concat();
    let metadata = Metadata::decode(&whole).unwrap();
    assert_eq!(metadata.encode(), whole);
    let kernel = &metadata.kernels[0];
    assert_eq!((kernel.name.as_str(), kernel.vgpr_count, kernel.args[0].size), ("k", Some(7), Some(4)));
    // Now that its arguments are built, they are written from their fields.
    assert_eq!(metadata.encode(), whole);
    assert_eq!(metadata.target.as_deref(), Some("amdgcn-amd-amdhsa--gfx90a"));
    // One number changed: it alone has other bytes, and the zeros, which only meant the old size, are gone.
    let mut changed = metadata.clone();
    changed.kernels[0].vgpr_count = Some(9);
    let encoded = changed.encode();
    let long = bytes.windows(9).position(|w| w == [0xcf, 0, 0, 0, 0, 0, 0, 0, 7]).unwrap();
    assert_eq!(encoded, [&bytes[..long], &[9], &bytes[long + 9..]].concat());
    // A key taken away is gone in both its places.
    changed.kernels[0].vgpr_count = None;
    assert_eq!(Metadata::decode(&changed.encode()).unwrap().kernels[0].vgpr_count, None);
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let refused = |bytes: &[u8]| Metadata::decode(bytes).unwrap_err().to_string();
    // {"amdhsa.kernels": [{".name": 1}]}
    let kernels = [&[0x81, 0xae], &b"amdhsa.kernels"[..]].concat();
    let text = refused(&[&kernels[..], &[0x91, 0x81, 0xa5], b".name", &[1]].concat());
    assert!(
        text.contains("amdhsa.kernels[0].name") && text.contains("a string") && text.contains("offset 0x18"),
        "{text}"
    );
    let text = refused(&[&kernels[..], &[0x91, 0x80]].concat());
    assert!(text.contains("found nothing") && text.contains("offset 0x11"), "{text}");
    let text = refused(&[&kernels[..], &[0xa1, b'x']].concat());
    assert!(text.contains("expected an array, found a string"), "{text}");
    // An array that promises four thousand million elements, nesting without end, a byte that msgpack does not have.
    let text = refused(&[&kernels[..], &[0xdd, 0xff, 0xff, 0xff, 0xff]].concat());
    assert!(text.contains("passes the end"), "{text}");
    let text = refused(&[&[0x81, 0xa1, b'x'], &[0x91; 100][..], &[0]].concat());
    assert!(text.contains("nested too deeply"), "{text}");
    let text = refused(&[0x81, 0xa1, b'x', 0xc1]);
    assert!(text.contains("c1") && text.contains("offset 0x3"), "{text}");
    assert!(refused(&[0x80, 0, 1]).contains("bytes after the end"), "{}", refused(&[0x80, 0, 1]));
    assert!(refused(&[]).contains("passes the end"));
}

#[test]
fn pal_metadata_are_checked_too() {
    let pipelines = [&[0x81, 0xb0], &b"amdpal.pipelines"[..]].concat();
    let stages = [&pipelines[..], &[0x91, 0x81, 0xb0], b".hardware_stages"].concat();
    let refused = |bytes: &[u8]| PalMetadata::decode(bytes).unwrap_err().to_string();
    assert!(refused(&[&pipelines[..], &[1]].concat()).contains("expected an array"));
    assert!(refused(&[&stages[..], &[1]].concat()).contains("amdpal.pipelines[0].hardware_stages: expected a map"));
    let text = refused(&[&stages[..], &[0x81, 0xa3], b".cs", &[0x81, 0xab], b".vgpr_count", &[0xc2]].concat());
    assert!(text.contains("hardware_stages.cs.vgpr_count: expected an unsigned integer, found a boolean"), "{text}");
    let good = [&stages[..], &[0x81, 0xa3], b".cs", &[0x81, 0xab], b".vgpr_count", &[12]].concat();
    let pal = PalMetadata::decode(&good).unwrap();
    assert_eq!(pal.pipelines[0].hardware_stages[0].1.vgpr_count, Some(12));
}
