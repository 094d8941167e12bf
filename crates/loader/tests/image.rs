//! Layout and relocation, symbol addresses, metadata edits.

mod support;

use luthier_loader::link::ExecutableId;
use luthier_loader::*;
use support::{small_object, undefined_object};

fn word(image: &LoadedObject, name: &str) -> u64 {
    let bytes = image.read(image.symbol_address(name).unwrap(), 8).unwrap();
    u64::from_le_bytes(bytes.try_into().unwrap())
}

#[luthier_needs::needs(llvm)]
#[test]
fn relocations_are_applied_at_the_base() {
    let Some(bytes) = small_object(&[]) else { return };
    let object = CodeObject::parse(bytes).unwrap();
    assert_eq!(object.relocations().len(), 3);
    for base in [0, 0x7000_0000_0000] {
        let loader = MockLoader::single(object.clone(), base).unwrap();
        let image = &loader.objects()[0];
        let shared = image.symbol_address("shared_var").unwrap();
        assert_eq!(shared, base + object.symbol("shared_var").unwrap().value);
        assert_eq!(image.read(shared, 4).unwrap(), [7, 0, 0, 0]);
        // R_AMDGPU_ABS64 and R_AMDGPU_RELATIVE64: the latter's place is zero-filled memory, three ints in.
        assert_eq!(word(image, "shared_ptr"), shared);
        let big = object.symbols().iter().find(|s| s.name == "big").unwrap();
        assert_eq!(word(image, "big_ptr"), base + big.value + 12);
        assert_eq!(image.read(base + big.value, big.size).unwrap(), vec![0; 4000]);
        // Permissions as in the file; code is not writable.
        let entry = base + object.kernel("work").unwrap().entry;
        let code = image.segments().iter().find(|s| s.range().contains(&entry)).unwrap();
        assert!(code.executable && !code.writable);
        let data = image.segments().iter().find(|s| s.range().contains(&shared)).unwrap();
        assert!(data.writable && !data.executable);
        assert_eq!(image.vaddr(entry), Some(entry - base));
        assert_eq!(image.read(image.span().end, 1), None);
        assert_eq!(image.read(u64::MAX, 8), None);
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn externals_and_weak_symbols() {
    let Some(bytes) = undefined_object() else { return };
    let object = CodeObject::parse(bytes).unwrap();
    let mut loader = MockLoader::new();
    let id = loader.load(object, &LoadOptions::default()).unwrap();
    loader.define("missing_one", 0x1000, 4, None, ExecutableId::default()).unwrap();
    loader.define("missing_two", 0x2000, 4, None, ExecutableId::default()).unwrap();
    loader.finalize().unwrap();
    let image = loader.object(id).unwrap();
    assert_eq!([word(image, "one"), word(image, "two"), word(image, "three")], [0x1000, 0x2000, 0]);
}

#[luthier_needs::needs(llvm)]
#[test]
fn an_object_says_what_it_is() {
    for (version, number) in [("4", 4), ("5", 5), ("6", 6)] {
        let flag = format!("-mcode-object-version={version}");
        let Some(bytes) = small_object(&[&flag]) else { return };
        let object = CodeObject::parse(bytes).unwrap();
        assert_eq!(object.version(), number);
        assert_eq!(object.os_abi(), OsAbi::AmdHsa);
        assert_eq!(object.target().to_string(), "gfx90a");
        assert_eq!((object.sramecc(), object.xnack()), (FeatureSetting::Any, FeatureSetting::Any));
        assert_eq!(object.kernels().iter().map(|k| k.name.as_str()).collect::<Vec<_>>(), ["work", "other"]);
        let work = object.kernel("work.kd").unwrap();
        assert_eq!(work.entry, object.symbol("work").unwrap().value);
        assert_eq!(work.code_size, object.symbol("work").unwrap().size);
        let metadata = work.metadata().unwrap();
        let explicit: Vec<(u64, u64)> =
            metadata.explicit_args().map(|arg| (arg.offset.unwrap(), arg.size.unwrap())).collect();
        assert_eq!(explicit, [(0, 8), (8, 4)]);
        assert!(object.functions().windows(2).all(|pair| pair[0].vaddr < pair[1].vaddr));
        assert!(object.origin_map().unwrap().is_none());
    }
    let Some(bytes) = small_object(&["-mcpu=gfx90a:sramecc+:xnack-"]) else { return };
    let target = CodeObject::parse(bytes).unwrap().target().clone();
    assert_eq!((target.sramecc, target.xnack), (Some(true), Some(false)));
    assert_eq!(target.to_string(), "gfx90a:sramecc+:xnack-");
}
