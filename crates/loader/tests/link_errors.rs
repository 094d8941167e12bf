//! Every error of the mock loader is produced here, and says what it has to say.

mod support;

use luthier_loader::link::{AgentId, ExecutableId, ObjectId};
use luthier_loader::*;
use support::bundle;
use support::elf::{At, Elf, Reloc, Sym};

const EXE: ExecutableId = ExecutableId(0);

fn parsed(elf: &Elf) -> CodeObject {
    CodeObject::parse(elf.build()).unwrap()
}

fn named(name: &str) -> LoadOptions {
    LoadOptions { name: Some(name.to_owned()), ..LoadOptions::default() }
}

/// The variant's name, from its Debug text.
fn variant(error: &LinkError) -> String {
    format!("{error:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

fn with_reloc(symbol: Sym, place: At, kind: u32, addend: Option<i64>, is_static: bool) -> Elf {
    let reloc = Reloc { place, kind, symbol: Some(0), addend, is_static };
    Elf { symbols: vec![symbol], relocs: vec![reloc], ..Elf::default() }
}

/// Loads one object called "a.so" and finalizes.
fn finalize(elf: &Elf) -> LinkError {
    let mut loader = MockLoader::new();
    loader.load(parsed(elf), &named("a.so")).unwrap();
    loader.finalize().unwrap_err()
}

fn finalized() -> MockLoader {
    let mut loader = MockLoader::new();
    loader
        .load(parsed(&Elf { symbols: vec![Sym::global("x", At::Data(0))], ..Elf::default() }), &named("a.so"))
        .unwrap();
    loader.finalize().unwrap();
    loader
}

fn load_bytes(bytes: Vec<u8>) -> LinkError {
    MockLoader::new().load_bytes(bytes, &named("a.so")).unwrap_err()
}

fn patch(mut bytes: Vec<u8>, at: usize, new: &[u8]) -> Vec<u8> {
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

/// File offset of a section header's field.
fn section_field(bytes: &[u8], name: &str, field: usize) -> usize {
    let object = CodeObject::parse(bytes.to_vec()).unwrap();
    let index = object.sections().iter().position(|s| s.name == name).unwrap();
    u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize + 64 * index + field
}

#[test]
fn every_variant_is_produced_and_says_where() {
    let undefined = |name| Sym { kind: 0, size: 0, ..Sym::global(name, At::Undefined) };
    let x = || Sym::global("x", At::Data(0x20));
    let x_object = || Elf { symbols: vec![x()], ..Elf::default() };
    let plain = Elf::default().build();
    let two_targets = bundle(&[
        ("hipv4-amdgcn-amd-amdhsa--gfx90a", &plain),
        ("hipv4-amdgcn-amd-amdhsa--gfx1100", &Elf { flags: 0x41, ..Elf::default() }.build()),
    ]);
    let segment = |index: usize, field: usize| 64 + 56 * index + field;
    let mut done = finalized();
    let mut two = MockLoader::new();
    two.load(parsed(&x_object()), &named("first.so")).unwrap();
    let duplicate = two.load(parsed(&x_object()), &named("second.so")).unwrap_err();
    assert_eq!(two.objects().len(), 1);
    two.define("e", 0x1000, 8, None, EXE).unwrap();
    let mut several = MockLoader::new();
    let agents =
        [several.add_agent(TargetId::of_processor("gfx90a")), several.add_agent(TargetId::of_processor("gfx90a"))];
    for agent in agents {
        let options = LoadOptions { agent: Some(agent), ..named(&format!("on-{}", agent.0)) };
        several.load(parsed(&x_object()), &options).unwrap();
    }
    let static_x = with_reloc(x(), At::Text(8), 3, Some(0), true).build();
    let rela =
        |field, bytes: &[u8]| load_bytes(patch(static_x.clone(), section_field(&static_x, ".rela.text", field), bytes));
    let mut unresolved = with_reloc(undefined("one"), At::Data(8), 3, Some(0), false);
    unresolved.symbols.extend([undefined("two"), undefined("three")]);
    unresolved.relocs.push(Reloc { place: At::Text(4), kind: 11, symbol: Some(2), addend: Some(0), is_static: true });
    let at_base = |base| {
        let options = LoadOptions { base: Some(base), ..named("a.so") };
        MockLoader::new().load(parsed(&Elf::default()), &options).unwrap_err()
    };

    let cases: Vec<(&str, LinkError, &[&str])> = vec![
        ("LoadAfterFinalize", done.load(parsed(&x_object()), &named("b.so")).unwrap_err(), &["b.so", "finalized"]),
        ("LoadAfterFinalize", done.load_bytes(vec![], &named("b.so")).unwrap_err(), &["b.so"]),
        ("LoadAfterFinalize", done.load_path("/none", &LoadOptions::default()).unwrap_err(), &["/none"]),
        ("DefineAfterFinalize", done.define("v", 0, 0, None, EXE).unwrap_err(), &["symbol v", "finalized"]),
        ("DefineAfterFinalize", done.define_data("v", [0; 4], None, EXE).unwrap_err(), &["symbol v"]),
        ("AlreadyFinalized", done.finalize().unwrap_err(), &["already"]),
        ("NotFinalized", two.resolution(ObjectId(0), "x").unwrap_err(), &["not finalized"]),
        ("NoSuchAgent", two.define("v", 0, 0, Some(AgentId(7)), EXE).unwrap_err(), &["agent 7", "has 1"]),
        (
            "NoSuchAgent",
            two.load(parsed(&x_object()), &LoadOptions { agent: Some(AgentId(3)), ..named("c") }).unwrap_err(),
            &["3"],
        ),
        ("NoSuchExecutable", two.define("v", 0, 0, None, ExecutableId(2)).unwrap_err(), &["executable 2", "has 1"]),
        ("NoSuchObject", two.object(ObjectId(5)).unwrap_err(), &["object 5", "has 1"]),
        ("AgentNeeded", load_bytes(two_targets), &["a.so", "gfx90a, gfx1100"]),
        (
            "WrongAgent",
            several
                .load(
                    parsed(&Elf { flags: 0x41, ..Elf::default() }),
                    &LoadOptions { agent: Some(agents[1]), ..named("b.so") },
                )
                .unwrap_err(),
            &["b.so", "gfx1100", "agent 1", "gfx90a"],
        ),
        ("Object", load_bytes(patch(plain.clone(), 8, &[0])), &["a.so", "EI_ABIVERSION", "version 2 or older"]),
        ("Object", load_bytes(patch(plain.clone(), 8, &[5])), &["a.so", "newer than 6"]),
        ("Object", load_bytes(patch(plain.clone(), 18, &[62, 0])), &["a.so", "x86-64"]),
        ("Object", load_bytes(patch(plain.clone(), 16, &[1])), &["a.so", "ET_REL", "ld.lld"]),
        ("Object", load_bytes(patch(plain.clone(), 56, &[0, 0])), &["a.so", "e_phnum", "0x38"]),
        (
            "Object",
            load_bytes(patch(plain.clone(), segment(0, 40), &0x3000u64.to_le_bytes())),
            &["a.so", "overlap at vaddr 0x2000"],
        ),
        ("Object", load_bytes(patch(plain.clone(), segment(2, 40), &[0xff; 8])), &["segment 2", "overflow"]),
        (
            "Object",
            load_bytes(patch(plain.clone(), segment(2, 32), &0x200u64.to_le_bytes())),
            &["segment 2", "larger than p_memsz"],
        ),
        (
            "Object",
            MockLoader::new().load_path("/no/such/file", &LoadOptions::default()).unwrap_err(),
            &["/no/such/file"],
        ),
        (
            "NoLoadSegment",
            load_bytes((0..4).fold(plain.clone(), |bytes, index| patch(bytes, segment(index, 0), &[6]))),
            &["a.so", "PT_LOAD"],
        ),
        (
            "TooLarge",
            load_bytes(patch(plain.clone(), segment(2, 40), &(1u64 << 60).to_le_bytes())),
            &["a.so", "0x100000000"],
        ),
        ("BaseTooHigh", at_base(u64::MAX - 0xfff), &["a.so", "0xfffffffffffff000"]),
        ("BaseTooHigh", load_bytes(patch(plain.clone(), segment(0, 48), &(1u64 << 63).to_le_bytes())), &["a.so"]),
        ("BaseMisaligned", at_base(0x1234), &["a.so", "0x1234", "0x1000"]),
        (
            "AddressTaken",
            two.load(parsed(&Elf::default()), &LoadOptions { base: Some(MockLoader::BASE + 0x1000), ..named("b.so") })
                .unwrap_err(),
            &["b.so", "first.so", "0x200000001000"],
        ),
        ("DuplicateSymbol", duplicate, &["symbol x", "first.so, section .data, vaddr 0x4020", "second.so"]),
        ("ExternalWithoutName", two.define("", 0, 0, None, EXE).unwrap_err(), &["name"]),
        ("DuplicateExternal", two.define("e", 0x2000, 8, None, EXE).unwrap_err(), &["external e", "all agents"]),
        (
            "ExternalTooLarge",
            two.define("f", u64::MAX, 8, None, EXE).unwrap_err(),
            &["external f", "0xffffffffffffffff", "0x8"],
        ),
        ("BadRelocationSection", rela(40, &[99]), &["a.so, section .rela.text", "sh_link is 99"]),
        ("BadRelocationSection", rela(44, &[99]), &["a.so, section .rela.text", "sh_info is 99"]),
        ("BadRelocationSection", rela(56, &[25]), &["a.so, section .rela.text", "sh_entsize is 25, not 24"]),
        (
            "BadRelocationSection",
            load_bytes({
                let at = section_field(&static_x, ".rela.text", 24);
                let offset = u64::from_le_bytes(static_x[at..at + 8].try_into().unwrap()) as usize;
                patch(static_x.clone(), offset + 12, &[77])
            }),
            &["a.so, section .rela.text", "symbol number 77", ".symtab has 2"],
        ),
        (
            "Unresolved",
            finalize(&unresolved),
            &[
                "one (R_AMDGPU_ABS64 in a.so, section .data, offset 0x8 (vaddr 0x4008), symbol one)",
                "three (R_AMDGPU_REL32_HI in a.so, section .text, offset 0x4",
                "define them",
            ],
        ),
        (
            "UnknownRelocation",
            finalize(&with_reloc(x(), At::Data(8), 12, Some(0), false)),
            &["R_AMDGPU type 12 in a.so, section .data, offset 0x8 (vaddr 0x4008), symbol x"],
        ),
        (
            "UnknownRelocation",
            finalize(&with_reloc(x(), At::Text(8), 15, Some(0), true)),
            &["type 15", "section .text"],
        ),
        (
            "RelocationOutside",
            finalize(&with_reloc(x(), At::Data(0x13c), 3, Some(0), false)),
            &["R_AMDGPU_ABS64 in a.so, vaddr 0x413c (in no section), symbol x", "8 bytes"],
        ),
        (
            "RelocationOutside",
            finalize(&with_reloc(x(), At::Absolute(u64::MAX), 2, Some(0), true)),
            &["0xffffffffffffffff"],
        ),
        (
            "Overflow",
            finalize(&with_reloc(x(), At::Data(8), 6, Some(0), false)),
            &["R_AMDGPU_ABS32 in a.so, section .data, offset 0x8", "symbol x", "0x200000004020", "32 bits"],
        ),
        (
            "MisalignedBranch",
            finalize(&with_reloc(x(), At::Data(8), 14, Some(2), false)),
            &["R_AMDGPU_REL16 in a.so, section .data, offset 0x8", "multiple of 4"],
        ),
        (
            "ThreadLocal",
            finalize(&with_reloc(Sym { kind: 6, ..x() }, At::Data(8), 3, Some(0), false)),
            &["symbol x", "thread-local"],
        ),
        (
            "AmbiguousAddend",
            finalize(&with_reloc(Sym::global("k", At::Absolute(5)), At::Data(8), 3, None, true)),
            &["R_AMDGPU_ABS64 in a.so, section .data, offset 0x8", "symbol k", "absolute"],
        ),
        ("NoSuchAddress", done.memory(0x10, 4).unwrap_err(), &["0x10", "0x4"]),
        ("NoSuchAddress", done.write(0x10, &[1]).unwrap_err(), &["0x10"]),
        ("NoSuchSymbol", done.symbol("nope", None).unwrap_err(), &["symbol nope"]),
        ("NoSuchSymbol", done.read_variable("nope", Some(ObjectId(0))).unwrap_err(), &["symbol nope"]),
        ("AmbiguousSymbol", several.symbol("x", None).unwrap_err(), &["symbol x", "on-0, on-1"]),
        ("WrongSize", done.write_variable("x", None, &[1; 5]).unwrap_err(), &["variable x", "8 bytes, not 5"]),
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
    let source = include_str!("../src/link/error.rs");
    let declared = source.lines().skip_while(|line| !line.starts_with("pub enum LinkError")).filter_map(|line| {
        let name: String = line.strip_prefix("    ")?.chars().take_while(char::is_ascii_alphanumeric).collect();
        (name.len() > 1 && name.starts_with(|c: char| c.is_ascii_uppercase())).then_some(name)
    });
    let mut count = 0;
    for name in declared {
        assert!(produced.contains(name.as_str()), "no case produces {name}");
        count += 1;
    }
    assert_eq!(count, produced.len());
}
