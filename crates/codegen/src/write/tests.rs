//! What LLVM's tools, the `object` crate's reader and our own loader say of what is written.

use luthier_loader::MockLoader;
use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, VersionTable};

use super::*;
use crate::testing;

fn additions(object: &CodeObject) -> Additions {
    let text_vaddr = end_of_segments(object);
    let data_vaddr = text_vaddr + PAGE;
    let variable = |name: &str, vaddr, zero| PlacedVariable { name: name.into(), vaddr, size: 16, zero };
    Additions {
        text_vaddr,
        text: 0xbf81_0000u32.to_le_bytes().repeat(3),
        constants_vaddr: data_vaddr,
        constants: Vec::new(),
        data_vaddr,
        data: vec![7; 16],
        bss_size: 4096,
        variables: vec![variable("tool.filled", data_vaddr, false), variable("tool.zero", data_vaddr + 16, true)],
        code_symbols: vec![CodeSymbol { name: "k.instrumented".into(), vaddr: text_vaddr, size: 12 }],
        patches: vec![],
        metadata: object.metadata().map(|m| {
            let mut m = m.clone();
            m.kernels.iter_mut().for_each(|k| k.fields.vgpr_count = Some(300));
            m
        }),
        origin: luthier_loader::OriginMap::default().encode(),
        hooks: luthier_loader::HookMap::default().encode(),
        debug: vec![],
    }
}

#[luthier_needs::needs(corpus, llvm)]
#[test]
fn llvm_and_our_loader_accept_what_is_written() {
    let corpus = testing::corpus();
    let mut count = 0;
    for path in
        ["clang/gfx90a", "triton/gfx90a", "bitsandbytes/gfx90a"].iter().flat_map(|d| testing::objects(&corpus.join(d)))
    {
        let bytes = std::fs::read(&path).unwrap();
        let object = CodeObject::parse(bytes.clone()).unwrap();
        let new = additions(&object);
        let written = write(&object, &new).unwrap();

        let again = CodeObject::parse(written.clone()).unwrap();
        for variable in &new.variables {
            let symbol = again.symbol(&variable.name).unwrap();
            assert_eq!((symbol.value, symbol.size), (variable.vaddr, 16), "{path:?}");
        }
        assert!(object.symbols().iter().all(|s| again.symbol(&s.name).is_some_and(|t| t.value == s.value)), "{path:?}");
        assert_eq!(again.kernels().len(), object.kernels().len());
        assert!(again.kernels().iter().all(|k| k.metadata().is_none_or(|m| m.vgpr_count == Some(300))));
        // Relocations still name the same symbols, and the image is the old one with more behind it.
        let symbol = |o: &CodeObject, r: &luthier_loader::Relocation| r.symbol.map(|s| o.symbols()[s].name.clone());
        for (old, new) in object.relocations().iter().zip(again.relocations()) {
            assert_eq!(symbol(&object, old), symbol(&again, new), "{path:?}");
        }
        let loader = MockLoader::single(again, 0x10_0000).unwrap();
        assert_eq!(loader.objects()[0].symbol_address("tool.zero"), Some(0x10_0000 + new.data_vaddr + 16));

        let file = testing::scratch("writer.hsaco", &written);
        let Some(text) = testing::llvm("llvm-readelf", &["-a", "-W", file.to_str().unwrap()]) else { return };
        assert!(!text.contains("warning") && text.contains("tool.zero"), "{path:?}: {text}");
        let text = testing::llvm("llvm-objdump", &["-d", file.to_str().unwrap()]).unwrap();
        assert!(!text.contains("warning") && text.contains("<k.instrumented>:"), "{path:?}: {text}");
        count += 1;
    }
    assert!(count > 20);
}

#[luthier_needs::needs(corpus, llvm)]
#[test]
fn an_object_beside_the_original_has_the_new_code_and_nothing_of_the_original() {
    let corpus = testing::corpus();
    let (mut count, mut with_lines) = (0, 0);
    for path in ["clang/gfx90a", "triton/gfx90a"].iter().flat_map(|d| testing::objects(&corpus.join(d))) {
        let object = CodeObject::parse(std::fs::read(&path).unwrap()).unwrap();
        let Some(kernel) = object.kernels().last() else { continue };
        let text_vaddr = start_beside(&object);
        let mut descriptor = kernel.descriptor;
        descriptor.set_kernel_code_entry_byte_offset(text_vaddr.wrapping_sub(kernel.descriptor_vaddr) as i64);
        let new = Additions {
            text_vaddr,
            code_symbols: vec![CodeSymbol { name: "k.instrumented".into(), vaddr: text_vaddr, size: 12 }],
            patches: vec![(kernel.descriptor_vaddr, descriptor.to_bytes().to_vec())],
            variables: vec![],
            ..additions(&object)
        };
        let written = write_beside(&object, &new).unwrap();
        let has_lines = object.section(".debug_info").is_some();
        with_lines += usize::from(has_lines);
        assert!(
            written.len() < 0x4000 + if has_lines { text_vaddr as usize } else { 0 },
            "{path:?}: {}",
            written.len()
        );

        let again = CodeObject::parse(written.clone()).unwrap();
        let [only] = again.kernels() else { panic!("{path:?}: {:?}", again.kernels().len()) };
        assert_eq!((&only.name, only.entry), (&kernel.name, text_vaddr), "{path:?}");
        assert!(only.metadata().is_none_or(|m| m.vgpr_count == Some(300)), "{path:?}");
        let same = |d: &luthier_loader::KernelDescriptor| (d.as_bytes()[..16].to_vec(), d.as_bytes()[24..].to_vec());
        assert_eq!(same(&only.descriptor), same(&kernel.descriptor), "{path:?}");
        assert!(again.relocations().is_empty());
        let loader = MockLoader::single(again, 0x10_0000).unwrap();
        assert_eq!(loader.memory(0x10_0000 + text_vaddr, 12).unwrap(), new.text, "{path:?}");

        let file = testing::scratch("beside.hsaco", &written);
        let Some(text) = testing::llvm("llvm-readelf", &["-a", "-W", file.to_str().unwrap()]) else { return };
        assert!(!text.contains("warning") && text.contains(&format!("{}.kd", kernel.name)), "{path:?}: {text}");
        let text = testing::llvm("llvm-objdump", &["-d", file.to_str().unwrap()]).unwrap();
        assert!(!text.contains("warning") && text.contains("<k.instrumented>:"), "{path:?}: {text}");
        count += 1;
    }
    assert!(count > 20 && with_lines > 0, "{count} and {with_lines}");
}

#[luthier_needs::needs(corpus)]
#[test]
fn every_dynamic_symbol_is_found_through_both_hash_tables() {
    let corpus = testing::corpus();
    let mut count = 0;
    for path in testing::objects(&corpus.join("clang/gfx90a")) {
        let object = CodeObject::parse(std::fs::read(&path).unwrap()).unwrap();
        let mut new = additions(&object);
        let variable =
            |i: u64| PlacedVariable { name: format!("v{i}"), vaddr: new.data_vaddr + i, size: 1, zero: false };
        new.variables = (0..100).map(variable).collect();
        let written = write(&object, &new).unwrap();

        let (endian, data) = (LittleEndian, written.as_slice());
        let header = FileHeader64::<LittleEndian>::parse(data).unwrap();
        let sections = header.sections(endian, data).unwrap();
        let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).unwrap();
        let versions = VersionTable::default();
        let (gnu, _) = sections.gnu_hash(endian, data).unwrap().unwrap();
        let (sysv, _) = sections.hash(endian, data).unwrap().unwrap();
        let old =
            object.symbols().iter().filter(|s| s.dynamic && !s.is_undefined()).map(|s| (s.name.as_str(), s.value));
        let new = new.variables.iter().map(|v| (v.name.as_str(), v.vaddr));
        for (name, value) in old.chain(new) {
            let bytes = name.as_bytes();
            let by_gnu = gnu.find(endian, bytes, elf::gnu_hash(bytes), None, &symbols, &versions);
            let by_sysv = sysv.find(endian, bytes, elf::hash(bytes), None, &symbols, &versions);
            for found in [by_gnu, by_sysv] {
                assert_eq!(found.map(|(_, s)| s.st_value.get(endian)), Some(value), "{path:?}: {name}");
            }
            count += 1;
        }
        assert!(gnu.find(endian, b"absent", elf::gnu_hash(b"absent"), None, &symbols, &versions).is_none());
    }
    assert!(count > 500, "{count}");
}
