//! Metadata notes of objects that were linked from several: one list of kernels, whichever way the notes lie in the file.

mod support;

use luthier_loader::*;
use support::{link_all, llvm_tool, output, scratch_dir};

const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// A module with one kernel that takes `pointers` pointers, and formats of printf.
fn module(linkage: &str, kernel: &str, pointers: usize, formats: &[&str]) -> String {
    let parameters: Vec<String> = (0..pointers).map(|n| format!("ptr addrspace(1) %p{n}")).collect();
    let mut text = format!(
        "define {linkage} amdgpu_kernel void @{kernel}({}) {{\n  store i32 {pointers}, ptr addrspace(1) %p0\n  ret void\n}}\n",
        parameters.join(", ")
    );
    if !formats.is_empty() {
        let list: Vec<String> = (0..formats.len()).map(|n| format!("!{n}")).collect();
        text += &format!("!llvm.printf.fmts = !{{{}}}\n", list.join(", "));
        formats.iter().enumerate().for_each(|(n, format)| text += &format!("!{n} = !{{!\"{format}\"}}\n"));
    }
    text
}

fn linked(modules: &[String]) -> Option<Vec<u8>> {
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    link_all(&modules, TRIPLE, "gfx90a", &[])
}

fn names(object: &CodeObject) -> Vec<&str> {
    object.kernels().iter().map(|kernel| kernel.name.as_str()).collect()
}

fn pointers(kernel: &KernelMetadata) -> usize {
    kernel.explicit_args().count()
}

#[luthier_needs::needs(llvm)]
#[test]
fn an_object_linked_from_several_has_the_metadata_of_all() {
    let modules: Vec<String> = (1..=7).map(|n| module("", &format!("k{n}"), n, &[])).collect();
    let Some(bytes) = linked(&modules) else { return };
    let object = CodeObject::parse(bytes.clone()).unwrap();
    assert_eq!(object.notes().iter().filter(|note| note.kind == 32).count(), 7);
    assert_eq!(names(&object), ["k1", "k2", "k3", "k4", "k5", "k6", "k7"]);
    for (kernel, wanted) in object.kernels().iter().zip(1..) {
        assert_eq!(kernel.metadata().map(pointers), Some(wanted), "{}", kernel.name);
    }
    let whole = object.metadata().unwrap();
    assert_eq!(whole.kernels.iter().map(pointers).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(Metadata::decode(&whole.encode()).unwrap().kernels, whole.kernels);
    assert_eq!(whole.to_json()["amdhsa.kernels"].as_array().unwrap().len(), 7);
    // What LLVM reads.
    let Some(readelf) = llvm_tool("llvm-readelf") else { return };
    let file = scratch_dir("notes").join("linked");
    std::fs::write(&file, &bytes).unwrap();
    let text = output(&readelf, &["--notes", file.to_str().unwrap()]);
    assert_eq!(text.matches(".symbol:").count(), whole.kernels.len());
    assert_eq!(text.matches(".value_kind:").count(), whole.kernels.iter().map(|k| k.args.len()).sum::<usize>());
}

#[luthier_needs::needs(llvm)]
#[test]
fn formats_of_printf_are_those_of_all_notes() {
    let modules =
        [module("", "a", 1, &["1:1:4:a%d"]), module("", "b", 1, &["2:0:b", "1:1:4:a%d"]), module("", "c", 1, &[])];
    let Some(bytes) = linked(&modules) else { return };
    let object = CodeObject::parse(bytes).unwrap();
    let formats = object.metadata().unwrap().printf.clone().unwrap();
    assert_eq!(formats, ["1:1:4:a%d", "2:0:b"]);
    let again = Metadata::decode(&object.metadata().unwrap().encode()).unwrap();
    assert_eq!((again.printf.clone(), again.kernels.len()), (Some(formats), 3));

    let modules = [module("", "a", 1, &["1:1:4:a%d"]), module("", "b", 1, &["1:1:4:b%d"])];
    let error = CodeObject::parse(linked(&modules).unwrap()).unwrap_err();
    assert!(matches!(&error, LoadError::NotesDisagree { what, .. } if what.contains("printf")), "{error}");
}

/// An instance of a template is in each object that needs it; the linker keeps the first.
#[luthier_needs::needs(llvm)]
#[test]
fn a_kernel_that_several_objects_define_is_told_of_once() {
    let weak = |pointers| module("weak", "shared", pointers, &[]);
    let Some(bytes) = linked(&[module("", "a", 1, &[]), weak(2), module("", "b", 3, &[]), weak(2)]) else { return };
    let object = CodeObject::parse(bytes).unwrap();
    assert_eq!(names(&object), ["a", "shared", "b"]);
    assert_eq!(object.metadata().unwrap().kernels.len(), 3);

    let error = CodeObject::parse(linked(&[weak(2), weak(3)]).unwrap()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LoadError::NotesDisagree { first, second, .. } if first < second), "{text}");
    assert!(text.contains("the arguments of kernel shared"), "{text}");
}

/// The description of each metadata note.
fn descriptions(bytes: &[u8]) -> Vec<Vec<u8>> {
    let notes = Note::read_all(bytes).unwrap();
    notes.iter().filter(|note| note.kind == 32).map(|note| bytes[note.description.clone()].to_vec()).collect()
}

fn note(name: &str, kind: u32, description: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    [name.len() as u32 + 1, description.len() as u32, kind].iter().for_each(|n| out.extend(n.to_le_bytes()));
    out.extend(name.bytes());
    out.resize((out.len() + 1).next_multiple_of(4), 0);
    out.extend(description);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// The file with other note segments: a list of notes each. What its sections say stays.
fn with_segments(bytes: &[u8], segments: &[Vec<Vec<u8>>], kind: u32) -> Vec<u8> {
    let object = CodeObject::parse(bytes.to_vec()).unwrap();
    let mut headers: Vec<Vec<u8>> = (0..object.segments().len())
        .filter(|&n| object.segments()[n].kind != SegmentKind::Note)
        .map(|n| bytes[64 + 56 * n..][..56].to_vec())
        .collect();
    let mut file = bytes.to_vec();
    for notes in segments {
        file.resize(file.len().next_multiple_of(8), 0);
        let (at, content) = (file.len() as u64, notes.concat());
        file.extend(&content);
        let size = content.len() as u64;
        let mut header: Vec<u8> = [kind, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
        header.extend([at, at, at, size, size, 4].iter().flat_map(|n| n.to_le_bytes()));
        headers.push(header);
    }
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file.extend(headers.concat());
    file[0x20..0x28].copy_from_slice(&table.to_le_bytes());
    file[0x38..0x3a].copy_from_slice(&(headers.len() as u16).to_le_bytes());
    file
}

#[luthier_needs::needs(llvm)]
#[test]
fn notes_count_in_whatever_segments_they_are() {
    const NOTE: u32 = 4;
    let modules: Vec<String> = (1..=4).map(|n| module("", &format!("k{n}"), n, &[])).collect();
    let Some(bytes) = linked(&modules) else { return };
    let of: Vec<Vec<u8>> = descriptions(&bytes).iter().map(|description| note("AMDGPU", 32, description)).collect();
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| of[n].clone());
    let vendor = || note("GNU", 3, b"sixteen bytes in");
    let other = || note("AMDGPU", 33, b"a core's state");
    for segments in [
        vec![vec![a.clone()], vec![b.clone()], vec![c.clone()], vec![d.clone()]],
        vec![vec![vendor(), a.clone(), vendor(), b.clone()], vec![], vec![other(), c.clone(), d.clone(), vendor()]],
        vec![vec![vendor()], vec![a.clone(), b.clone(), c.clone(), d.clone()]],
    ] {
        let object = CodeObject::parse(with_segments(&bytes, &segments, NOTE)).unwrap();
        let args: Vec<_> = object.kernels().iter().map(|k| k.metadata().map(pointers)).collect();
        assert_eq!((names(&object), args), (vec!["k1", "k2", "k3", "k4"], vec![Some(1), Some(2), Some(3), Some(4)]));
    }
    // A section that no segment covers counts where segments have no metadata, and only there.
    for (segments, wanted) in [(vec![vec![vendor()]], 4), (vec![], 4), (vec![vec![b.clone()]], 1)] {
        let object = CodeObject::parse(with_segments(&bytes, &segments, NOTE)).unwrap();
        assert_eq!(object.kernels().iter().filter(|k| k.metadata().is_some()).count(), wanted);
        assert_eq!(object.kernels().len(), 4);
    }
    // Two segments over the same notes tell each once; the same note twice is a kernel defined by two.
    let mut twice = with_segments(&bytes, &[of.clone(), of.clone()], NOTE);
    assert_eq!(CodeObject::parse(twice.clone()).unwrap().kernels().len(), 4);
    let table = u64::from_le_bytes(twice[0x20..0x28].try_into().unwrap()) as usize;
    let last = table + 56 * (usize::from(twice[0x38]) - 1);
    let fields = twice[last - 56..last].to_vec();
    twice[last..last + 56].copy_from_slice(&fields);
    let object = CodeObject::parse(twice).unwrap();
    assert_eq!(object.notes().iter().filter(|note| note.kind == 32).count(), 4 + 4);
    assert_eq!(object.metadata().unwrap().kernels.len(), 4);
}

#[luthier_needs::needs(llvm)]
#[test]
fn notes_that_contradict_each_other_are_refused() {
    let Some(bytes) = linked(&[module("", "a", 1, &[]), module("", "b", 1, &[])]) else { return };
    let all = descriptions(&bytes);
    let version = |number: u8| {
        let mut changed = Metadata::decode(&all[1]).unwrap();
        changed.fields.version = Some(vec![1, number.into()]);
        note("AMDGPU", 32, &changed.encode())
    };
    let first = note("AMDGPU", 32, &all[0]);
    let minor = Metadata::decode(&all[0]).unwrap().version.clone().unwrap()[1] as u8;
    let parse = |second: Vec<u8>| CodeObject::parse(with_segments(&bytes, &[vec![first.clone()], vec![second]], 4));
    assert_eq!(parse(version(minor)).unwrap().kernels().len(), 2);
    let text = parse(version(minor + 1)).unwrap_err().to_string();
    assert!(text.contains("contradict") && text.contains("amdhsa.version: [1, "), "{text}");
    // Each note is checked, not the first alone.
    let mut other = Metadata::decode(&all[1]).unwrap();
    other.fields.target = Some("amdgcn-amd-amdhsa--gfx1100".to_owned());
    let error = parse(note("AMDGPU", 32, &other.encode())).unwrap_err();
    assert!(matches!(error, LoadError::TargetMismatch { .. }), "{error}");
    let error = parse(note("AMDGPU", 32, &all[1][..40])).unwrap_err();
    assert!(matches!(error, LoadError::BadMetadata { .. }), "{error}");
    let error = parse(note("AMDGPU", 32, &[0xc1])).unwrap_err();
    assert!(matches!(error, LoadError::BadMetadata { .. }), "{error}");
}

/// Unknown keys survive, whichever note they are in.
#[luthier_needs::needs(llvm)]
#[test]
fn unknown_keys_of_every_note_survive() {
    let Some(bytes) = linked(&[module("", "a", 1, &[]), module("", "b", 1, &[])]) else { return };
    let all = descriptions(&bytes);
    let with_key = |description: &[u8], key: &str, value: u8| {
        let rmpv::Value::Map(mut pairs) = rmpv::decode::read_value(&mut &description[..]).unwrap() else { panic!() };
        pairs.push((key.into(), value.into()));
        let mut out = Vec::new();
        rmpv::encode::write_value(&mut out, &rmpv::Value::Map(pairs)).unwrap();
        note("AMDGPU", 32, &out)
    };
    let notes = vec![with_key(&all[0], "vendor.one", 1), with_key(&all[1], "vendor.two", 2)];
    let object = CodeObject::parse(with_segments(&bytes, &[notes], 4)).unwrap();
    let metadata = object.metadata().unwrap();
    let others =
        |metadata: &Metadata| metadata.others().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
    assert_eq!(others(metadata), ["vendor.one=1", "vendor.two=2"]);
    assert_eq!(others(&Metadata::decode(&metadata.encode()).unwrap()), ["vendor.one=1", "vendor.two=2"]);
}
