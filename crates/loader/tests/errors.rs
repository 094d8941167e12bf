//! Every error variant is produced here, and says what it has to say.

mod support;

use luthier_loader::*;
use support::{bundle, compressed, small_object};

/// Little-endian bytes over a file.
fn patch(bytes: &[u8], at: u64, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at as usize..at as usize + new.len()].copy_from_slice(new);
    bytes
}

fn parse(bytes: Vec<u8>) -> LoadError {
    CodeObject::parse(bytes).expect_err("must not parse")
}

/// The variant's name, from its Debug text.
fn variant(error: &LoadError) -> String {
    format!("{error:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// File offset of program header `index`.
fn program_header(index: usize) -> u64 {
    64 + 56 * index as u64
}

struct Small {
    bytes: Vec<u8>,
    object: CodeObject,
}

impl Small {
    fn section_header(&self, name: &str) -> u64 {
        let index = self.object.sections().iter().position(|s| s.name == name).unwrap() as u64;
        u64::from_le_bytes(self.bytes[0x28..0x30].try_into().unwrap()) + 64 * index
    }
    /// File offset of the value of a dynamic entry.
    fn dynamic(&self, tag: u64) -> u64 {
        let segment = self.object.segments().iter().find(|s| s.kind == SegmentKind::Dynamic).unwrap();
        let index = self.object.dynamic().iter().position(|entry| entry.tag == tag).unwrap();
        segment.offset + 16 * index as u64 + 8
    }
    fn dynamic_symbol(&self, name: &str) -> u64 {
        let section = self.object.section(".dynsym").unwrap();
        let index = self.object.symbols().iter().position(|s| s.name == name).unwrap();
        section.offset + 24 * (index as u64 + 1)
    }
    fn note(&self) -> u64 {
        self.object.notes().iter().find(|n| n.kind == 32).unwrap().description.start as u64
    }
    /// The first place of `text` in the note.
    fn in_note(&self, text: &str) -> u64 {
        let from = self.note();
        let place = self.bytes[from as usize..].windows(text.len()).position(|w| w == text.as_bytes()).unwrap();
        from + place as u64
    }
    /// A second metadata note, of another version.
    fn two_versions(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let notes = bytes.len() as u64;
        let mut metadata = Metadata::decode(&[0x80]).unwrap();
        metadata.fields.version = Some(vec![7, 7]);
        let description = metadata.encode();
        let size = 20 + description.len() as u64;
        bytes.extend([7, description.len() as u32, 32].iter().flat_map(|field| field.to_le_bytes()));
        bytes.extend(b"AMDGPU\0\0");
        bytes.extend(description);
        let headers = bytes.len() as u64;
        let count = self.object.segments().len();
        bytes.extend_from_within(64..64 + 56 * count);
        bytes.extend([4u64 << 32 | 4, notes, notes, notes, size, size, 4].iter().flat_map(|field| field.to_le_bytes()));
        let bytes = patch(&bytes, 0x20, &headers.to_le_bytes());
        patch(&bytes, 0x38, &(count as u16 + 1).to_le_bytes())
    }
    /// A hundred note segments over the same hundred empty notes.
    fn many_notes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let (notes, size) = (bytes.len() as u64, 1200u64);
        bytes.resize(bytes.len() + size as usize, 0);
        let headers = bytes.len() as u64;
        for _ in 0..100 {
            let fields = [4u64, notes, notes, notes, size, size, 4];
            bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        }
        let bytes = patch(&bytes, 0x20, &headers.to_le_bytes());
        patch(&bytes, 0x38, &100u16.to_le_bytes())
    }
    fn put(&self, at: u64, new: &[u8]) -> Vec<u8> {
        patch(&self.bytes, at, new)
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn every_variant_is_produced_and_says_where() {
    let Some(bytes) = small_object(&[]) else { return };
    let small = Small { object: CodeObject::parse(bytes.clone()).unwrap(), bytes };
    let container = |bytes: Vec<u8>| Container::from_bytes(bytes).expect_err("must not open");
    let data_segment = small
        .object
        .segments()
        .iter()
        .rposition(|s| s.kind == SegmentKind::Load && s.memsz > s.filesz)
        .map(program_header)
        .unwrap();
    let text = small.object.segments().iter().position(|s| s.kind == SegmentKind::Load && s.executable()).unwrap();
    let rela = small.object.section(".rela.dyn").unwrap().offset;
    let kd = small.dynamic_symbol("work.kd");
    let kd_bytes = small.object.file_offset(small.object.symbol("work.kd").unwrap().value).unwrap();
    let plain = bundle(&[("host-x86_64-unknown-linux--", b""), ("hipv4-amdgcn-amd-amdhsa--gfx90a", &small.bytes)]);
    // A host library without device code: an empty x86-64 shared object header.
    let host = {
        let mut host = small.put(0x12, &62u16.to_le_bytes());
        host[7] = 0;
        host
    };
    // And one whose .hip_fatbin holds zeros only: another section's name is overwritten, and its place moved into the
    // padding of e_ident.
    let empty_fat = {
        let names = small.object.section(".shstrtab").unwrap().offset as usize;
        let name = small.bytes[names..].windows(14).position(|w| w == b".relro_padding").unwrap();
        let mut fat = patch(&host, (names + name) as u64, b".hip_fatbin\0");
        let header = small.section_header(".relro_padding");
        for (field, value) in [(4, 1), (24, 9), (32, 3)] {
            fat = patch(&fat, header + field, &[value, 0, 0, 0]);
        }
        fat
    };

    // And one that holds a bundle, to which nothing points.
    let lost_bundle = {
        let mut fat = [&empty_fat[..], &plain[..]].concat();
        let header = small.section_header(".relro_padding");
        for (field, value) in [(24, empty_fat.len()), (32, plain.len())] {
            fat = patch(&fat, header + field, &(value as u64).to_le_bytes());
        }
        Container::from_bytes(fat).unwrap()
    };
    let other = |index: usize, bytes: &[u8]| std::collections::BTreeMap::from([(index, Bytes::from(bytes))]);
    let larger = [&small.bytes[..], &[0; 4096]].concat();

    // The note with both kernels' descriptors the same, and zeros for the byte that this saves.
    let twice = {
        let mut metadata = small.object.metadata().unwrap().clone();
        metadata.kernels[1].symbol = "work.kd".to_owned();
        metadata.kernels[1].name = "work".to_owned();
        let mut bytes = metadata.encode();
        bytes.resize(small.object.metadata().unwrap().encode().len(), 0);
        bytes
    };

    let Some(bytes) = small_object(&["-g"]) else { return };
    let debug = Small { object: CodeObject::parse(bytes.clone()).unwrap(), bytes };
    let unit = debug.object.section(".debug_info").unwrap().offset;
    let lines = CodeObject::parse(debug.put(unit + 4, &[0xad, 0xde])).unwrap().source_map().unwrap_err();
    let mut work = small.object.kernel("work").unwrap().descriptor;

    let cases: Vec<(&str, LoadError, &[&str])> = vec![
        ("Io", Container::open("/nonexistent/file.hsaco").unwrap_err(), &["/nonexistent/file.hsaco"]),
        ("NotElf", parse(b"hello, world".to_vec()), &["not an ELF", "68, 65, 6c, 6c"]),
        ("Truncated", parse(Vec::new()), &["file ends at 0x0"]),
        ("Truncated", parse(small.bytes[..40].to_vec()), &["ELF header", "file ends at 0x28"]),
        ("Truncated", parse(small.bytes[..200].to_vec()), &["program headers", "0x40"]),
        ("NotElf64", parse(small.put(4, &[1])), &["EI_CLASS", "64-bit"]),
        ("NotLittleEndian", parse(small.put(5, &[2])), &["EI_DATA"]),
        ("WrongMachine", parse(host.clone()), &["x86-64", "EM_AMDGPU"]),
        ("UnsupportedOsAbi", parse(small.put(7, &[3])), &["EI_OSABI", "64"]),
        ("UnsupportedVersion", parse(small.put(8, &[0])), &["EI_ABIVERSION", "version 2 or older"]),
        ("UnsupportedVersion", parse(small.put(8, &[9])), &["EI_ABIVERSION", "newer than 6"]),
        ("ObjectFile", parse(small_object(&["-c"]).unwrap()), &["ET_REL", "link"]),
        ("NotSharedObject", parse(small.put(0x10, &[2, 0])), &["ET_DYN"]),
        ("NoProgramHeaders", parse(small.put(0x38, &[0, 0])), &["e_phnum"]),
        ("BadEntrySize", parse(small.put(0x36, &[55, 0])), &["e_phentsize", "55", "56"]),
        ("BadEntrySize", parse(small.put(small.dynamic(11), &[25])), &["DT_SYMENT"]),
        ("UnknownProcessor", parse(small.put(0x30, &[0xfe])), &["EF_AMDGPU_MACH", "0xfe"]),
        ("BadTargetId", "gfx90a:fast+".parse::<TargetId>().unwrap_err(), &["gfx90a:fast+", "sramecc"]),
        ("TargetMismatch", parse(small.put(0x30, &[0x30])), &["gfx908", "gfx90a"]),
        (
            "SegmentOutside",
            parse(small.put(data_segment + 32, &[0xff; 8])),
            &["segment", "+ 0xffffffffffffffff", "pass"],
        ),
        ("SegmentOverflow", parse(small.put(data_segment + 40, &[0xff; 8])), &["segment", "0xffffffffffffffff"]),
        ("SegmentSizes", parse(small.put(data_segment + 40, &[1, 0, 0, 0, 0, 0, 0, 0])), &["p_filesz", "p_memsz, 0x1"]),
        ("SegmentAlignment", parse(small.put(data_segment + 48, &[3, 0])), &["p_align is 0x3", "vaddr 0x"]),
        (
            "OverlappingSegments",
            parse(small.put(program_header(text) + 40, &0x10000u64.to_le_bytes())),
            &["overlap at vaddr"],
        ),
        (
            "SectionOutside",
            parse(small.put(small.section_header(".text") + 32, &[0xff; 8])),
            &["(.text)", "0xffffffffffffffff", "end of the file"],
        ),
        ("BadString", parse(small.put(kd, &u32::MAX.to_le_bytes())), &["dynamic symbol", "outside"]),
        ("BadDynamic", parse(small.put(small.dynamic(6), &[0xff; 8])), &["DT_SYMTAB", "0xffffffffffffffff"]),
        ("BadDynamic", parse(small.put(small.dynamic(9) - 8, &[36])), &["DT_RELR", "nopack"]),
        ("KernelTwice", parse(small.put(small.note(), &twice)), &["work is listed twice"]),
        ("NotesDisagree", parse(small.two_versions()), &["contradict", "amdhsa.version: [1, ", "[7, 7]"]),
        ("MetadataType", parse(small.put(small.in_note("other.kd"), &[0xff])), &["kernels[1].symbol", "not UTF-8"]),
        ("NoteName", parse(small.put(small.note() - 8, &[0xff])), &["not UTF-8", "offset 0x"]),
        ("NotesOverlap", parse(small.many_notes()), &["overlap", "number"]),
        ("NoteTooLarge", parse(small.put(small.note() - 16, &u32::MAX.to_le_bytes())), &["n_descsz"]),
        ("BadMetadata", parse(small.put(small.note(), &[0xc1])), &["metadata note at offset 0x"]),
        (
            "MetadataType",
            parse(small.put(small.in_note(".sgpr_count") + 11, &[0xc2])),
            &["amdhsa.kernels[0].sgpr_count", "unsigned integer", "a boolean"],
        ),
        ("MissingDescriptor", parse(small.put(kd + 6, &[0, 0])), &["work.kd", "work"]),
        ("BadDescriptor", parse(small.put(kd + 8, &[0xff; 8])), &["work", "0xffffffffffffffff"]),
        ("BadEntryPoint", parse(small.put(kd_bytes + 16, &[0xff; 7])), &["KERNEL_CODE_ENTRY_BYTE_OFFSET", "work"]),
        ("BadRelocationSymbol", parse(small.put(rela + 12, &[0xff; 4])), &["4294967295"]),
        ("NoFatBinary", container(host), &["x86-64", ".hip_fatbin"]),
        ("EmptyFatBinary", container(empty_fat), &[".hip_fatbin"]),
        ("BadBundle", container(patch(&plain, 24, &[0xff; 8])), &["entries"]),
        ("BadBundle", container(patch(&plain, 40, &[0xff; 8])), &["passes"]),
        ("BadBundle", container(plain[..60].to_vec()), &["offset 0x0", "end of the file"]),
        ("BadBundle", container([&plain[..], b"\0\0\0garbage"].concat()), &["67, 61, 72, 62"]),
        ("UnsupportedBundleVersion", container(compressed(&plain, 9, 1)), &["version 9"]),
        ("UnsupportedCompression", container(compressed(&plain, 3, 2)), &["method 2", "zstd"]),
        ("Decompression", container(patch(&compressed(&plain, 3, 1), 32, &[1, 2, 3, 4])), &["offset 0x0"]),
        (
            "NoMatchingEntry",
            Container::from_bytes(plain.clone()).unwrap().select(&TargetId::of_processor("gfx1100")).unwrap_err(),
            &["gfx1100", "gfx90a"],
        ),
        ("EntryMismatch", lost_bundle.with_entries(&other(0, &small.bytes)).unwrap_err(), &["host-x86_64", "gfx90a"]),
        (
            "HostBinary",
            lost_bundle.with_entries(&other(1, &larger)).unwrap_err(),
            &["nothing", "offload bundle at offset"],
        ),
        ("NoSuchEntry", Container::from_bytes(plain).unwrap().read(7).unwrap_err(), &["7", "2"]),
        ("BadDebugInfo", lines, &[".debug_info", "version: 57005"]),
        ("MemoryRange", Container::from_memory(None, 0x1000, u64::MAX).unwrap_err(), &["0x1000", "0xffffffffffffffff"]),
        ("Io", Container::from_memory(None, 0x10, 64).unwrap_err(), &["/proc/self/mem"]),
        ("BadUri", "memory://12".parse::<CodeObjectUri>().unwrap_err(), &["memory://12", "range"]),
        ("DescriptorField", work.set(Generation::Gfx6, "tg_split", 1).unwrap_err(), &["tg_split", "Gfx6"]),
        ("DescriptorValue", work.set_priority(4).unwrap_err(), &["priority", "4", "0 to 3"]),
        (
            "DescriptorValue",
            work.set(Generation::Gfx90a, "kernarg_size", -1).unwrap_err(),
            &["kernarg_size", "-1", "4294967295"],
        ),
        ("BadOriginMap", OriginMap::decode(b"nonsense").unwrap_err(), &[".luthier.origin"]),
        ("BadHookMap", HookMap::decode(b"nonsense").unwrap_err(), &[".luthier.hooks"]),
    ];
    let mut produced = std::collections::BTreeSet::new();
    for (expected, error, words) in &cases {
        let message = error.to_string();
        assert_eq!(variant(error), *expected, "{message}");
        assert!(!message.contains('\n'), "one line: {message}");
        for word in *words {
            assert!(message.contains(word), "{expected}: {message:?} does not say {word:?}");
        }
        produced.insert(*expected);
    }
    // The table is complete when every variant of the source is in it.
    let source = include_str!("../src/error.rs");
    let declared = source.lines().filter_map(|line| {
        let name: String = line.strip_prefix("    ")?.chars().take_while(char::is_ascii_alphanumeric).collect();
        (name.len() > 1 && name.starts_with(|c: char| c.is_ascii_uppercase())).then_some(name)
    });
    for name in declared {
        assert!(produced.contains(name.as_str()), "no case produces {name}");
    }
}
