//! Every object of the corpus parses, loads, and its metadata note comes back byte for byte.

mod support;

use luthier_loader::{
    CodeObject, Container, ContainerKind, Generation, KernelDescriptor, LoadError, MockLoader, TargetId,
};
use support::{corpus, files};

#[luthier_needs::needs(corpus)]
#[test]
fn every_object_parses_loads_and_round_trips() {
    let corpus = corpus();
    let objects = files(&corpus, "hsaco");
    assert!(objects.len() > 300, "the corpus has only {} objects", objects.len());
    let mut kernels = 0;
    for path in &objects {
        let bytes = std::fs::read(path).unwrap();
        if path.to_string_lossy().ends_with("_v2.hsaco") {
            let error = CodeObject::parse(bytes).unwrap_err();
            assert!(matches!(error, LoadError::UnsupportedVersion { found: 0 }), "{error}");
            continue;
        }
        let object = CodeObject::parse(bytes.clone()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(bytes, object.bytes()[..]);
        kernels += object.kernels().len();
        // The folder is named for the processor.
        let processor = path.parent().and_then(|dir| dir.file_name()).unwrap().to_string_lossy();
        assert_eq!(object.target().processor, processor, "{}", path.display());
        for kernel in object.kernels() {
            let metadata = kernel.metadata().expect("listed in the note");
            assert_eq!(kernel.name, metadata.name);
            assert_eq!(object.read(kernel.descriptor_vaddr, 64).unwrap(), kernel.descriptor.to_bytes());
            assert!(object.read(kernel.entry, kernel.code_size).is_some(), "{}: {}", path.display(), kernel.name);
            assert!(kernel.code_size >= 4);
        }
        if let Some(metadata) = object.metadata() {
            let note = object.notes().iter().find(|n| n.kind == 32).unwrap();
            let description = &bytes[note.description.clone()];
            assert!(metadata.encode() == *description, "{}: note differs", path.display());
            // Arguments are written from their fields once they are built.
            assert!(object.kernels().is_empty() || metadata.kernels.iter().map(|k| k.args.len()).sum::<usize>() > 0);
            assert!(metadata.encode() == *description, "{}: note differs, arguments built", path.display());
        }
        // Read, taken apart, written: the same file.
        if let Some(kernel) = object.kernels().last() {
            let fields = kernel.descriptor.fields_for(Generation::of(&processor).unwrap());
            let mut descriptor = KernelDescriptor::from_bytes([0; 64]);
            for (name, value) in fields {
                descriptor.set(Generation::of(&processor).unwrap(), name, value.into()).unwrap();
            }
            let written = object.with_descriptor(&kernel.name, &descriptor).unwrap().unwrap();
            assert!(written.bytes()[..] == bytes[..], "{}: written it differs", path.display());
        }
        let loader = MockLoader::single(object, 0x7f00_0000_0000);
        let loader = loader.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(loader.objects()[0].segments().iter().any(|s| s.executable), "{}", path.display());
    }
    println!("{} objects, {kernels} kernels", objects.len());
}

#[luthier_needs::needs(corpus)]
#[test]
fn fat_binaries_hold_the_extracted_objects() {
    let corpus = corpus();
    let mut compared = 0;
    for path in files(&corpus.join("bitsandbytes"), "so") {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let container = Container::open(&path).unwrap();
        assert_eq!(container.kind(), ContainerKind::FatBinary);
        for extracted in files(&corpus.join("bitsandbytes"), "hsaco") {
            let name = extracted.file_stem().unwrap().to_string_lossy().into_owned();
            let Some(number) = name.strip_prefix(&format!("{stem}_")) else { continue };
            let processor = extracted.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
            let selected = container.select(&TargetId::of_processor(processor.as_str())).unwrap();
            let entry = selected[number.parse::<usize>().unwrap()];
            assert_eq!(entry.target.as_ref().unwrap().processor, processor);
            assert!(container.read(entry.index).unwrap()[..] == std::fs::read(&extracted).unwrap()[..], "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 16, "only {compared} entries compared");
}
