//! The mock loader: layout, agents, executables, which definition wins, and looking into what is loaded.

mod support;

use luthier_loader::link::{AgentId, ExecutableId, ObjectId, Resolution};
use luthier_loader::*;
use support::elf::{At, DATA, Elf, Reloc, Sym, TEXT};
use support::{bundle, small_object};

const EXE: ExecutableId = ExecutableId(0);

fn parsed(elf: &Elf) -> CodeObject {
    CodeObject::parse(elf.build()).unwrap()
}

fn plain() -> LoadOptions {
    LoadOptions::default()
}

fn on(agent: AgentId) -> LoadOptions {
    LoadOptions { agent: Some(agent), ..plain() }
}

fn word(loader: &MockLoader, address: u64) -> u64 {
    u64::from_le_bytes(loader.memory(address, 8).unwrap().try_into().unwrap())
}

/// An object with a pointer to a symbol at the start of its data.
fn pointer_to(symbol: Sym) -> Elf {
    let reloc = Reloc { place: At::Data(0), kind: 3, symbol: Some(0), addend: Some(0), is_static: false };
    Elf { symbols: vec![symbol], relocs: vec![reloc], ..Elf::default() }
}

fn undefined(name: &'static str) -> Sym {
    Sym { size: 0, kind: 0, ..Sym::global(name, At::Undefined) }
}

fn pointer(loader: &MockLoader, id: ObjectId) -> u64 {
    word(loader, loader.object(id).unwrap().address(DATA))
}

#[test]
fn nothing_is_relocated_before_finalize() {
    let mut loader = MockLoader::new();
    let elf =
        Elf { text: vec![7; 0x33], data: vec![9; 0x20], zeros: 0x1234, ..pointer_to(Sym::global("x", At::Text(4))) };
    let id = loader.load(parsed(&elf), &plain()).unwrap();
    let object = loader.object(id).unwrap();
    let (text, data) = (object.address(TEXT), object.address(DATA));
    assert_eq!(loader.memory(text, 0x33).unwrap(), [7; 0x33]);
    assert_eq!(loader.memory(data, 0x20).unwrap(), [9; 0x20]);
    assert_eq!(loader.memory(data + 0x20, 0x1234).unwrap(), [0; 0x1234]);
    assert!(loader.memory(data + 0x20, 0x1235).is_err() && loader.memory(text + 0x33, 1).is_err());
    let permissions = |s: &LoadedSegment| (s.readable, s.writable, s.executable);
    let found: Vec<_> = object.segments().iter().map(permissions).collect();
    assert_eq!(found, [(true, false, false), (true, false, true), (true, true, false)]);
    assert_eq!((object.base() & 0xfff, object.agent()), (0, AgentId(0)));
    assert!(!loader.is_finalized() && loader.agents()[0].to_string() == "gfx90a");
    loader.finalize().unwrap();
    assert_eq!(pointer(&loader, id), text + 4);
    assert_eq!(loader.memory(data + 8, 0x18).unwrap(), [9; 0x18]);
}

#[test]
fn an_object_linked_for_high_addresses_moves_down() {
    let elf = Elf { vaddr: 0x7000_0000_0000, ..pointer_to(Sym::global("x", At::Text(4))) };
    let mut loader = MockLoader::at(0x10_0000);
    let id = loader.load(parsed(&elf), &plain()).unwrap();
    loader.finalize().unwrap();
    let object = loader.object(id).unwrap();
    let (text, data) = (object.address(elf.address(At::Text(0))), object.address(elf.address(At::Data(0))));
    assert!(text < 0x20_0000 && object.span().contains(&text));
    assert_eq!(word(&loader, data), text + 4);
    assert_eq!(loader.locate(text + 8).unwrap().vaddr, Some(elf.vaddr + TEXT + 8));
}

#[test]
fn circles_and_chains() {
    // Each object points to the next one's pointer; the last one to the first's.
    let names = ["a", "b", "c", "d"];
    let objects: Vec<Elf> = (0..4)
        .map(|i| {
            let mut elf = pointer_to(undefined(names[(i + 1) % 4]));
            elf.symbols.push(Sym::global(names[i], At::Data(0)));
            elf
        })
        .collect();
    let mut loader = MockLoader::new();
    let ids: Vec<ObjectId> = objects.iter().map(|elf| loader.load(parsed(elf), &plain()).unwrap()).collect();
    loader.finalize().unwrap();
    let mut at = loader.symbol("a", None).unwrap().address;
    for i in [1, 2, 3, 0, 1] {
        at = word(&loader, at);
        assert_eq!(at, loader.object(ids[i]).unwrap().address(DATA));
    }
}

/// The precedence of the module `scope`, one step after the other: each definition taken away gives way to the next.
#[test]
fn which_definition_wins() {
    let strong = Elf { symbols: vec![Sym::global("x", At::Data(8))], ..Elf::default() };
    let weak = Elf { symbols: vec![Sym::weak("x", At::Data(0x10))], ..Elf::default() };
    let later_weak = Elf { symbols: vec![Sym::weak("x", At::Data(0x18))], ..Elf::default() };
    let own_weak = Sym::weak("x", At::Data(0x20));
    let cases = [
        (Sym::global("x", At::Data(0x20)), "own", [true; 5]),
        (Sym { visibility: 3, ..own_weak.clone() }, "own", [true; 5]),
        (Sym { visibility: 2, dynamic: false, ..own_weak.clone() }, "own", [true; 5]),
        (own_weak.clone(), "agent", [true, true, false, true, true]),
        (own_weak.clone(), "all", [false, true, true, true, true]),
        (own_weak.clone(), "strong", [false, false, true, true, true]),
        (own_weak, "own", [false, false, false, true, true]),
        (undefined("x"), "agent", [true, true, false, true, true]),
        (undefined("x"), "all", [false, true, true, true, true]),
        (undefined("x"), "strong", [false, false, true, true, true]),
        (undefined("x"), "weak", [false, false, false, true, true]),
        (undefined("x"), "later", [false, false, false, false, true]),
        (Sym { binding: 2, ..undefined("x") }, "strong", [false, false, true, true, true]),
        (Sym { binding: 2, ..undefined("x") }, "nothing", [false; 5]),
    ];
    for (symbol, winner, [agent, all, has_strong, has_weak, has_later]) in cases {
        let own_strong = symbol.binding == 1 && symbol.at != At::Undefined;
        for first in [true, false] {
            let mut loader = MockLoader::new();
            let device = loader.add_agent(TargetId::of_processor("gfx90a"));
            // A hidden symbol is no dynamic one: the record against it is a static one.
            let mut elf = pointer_to(symbol.clone());
            elf.relocs[0].is_static = !symbol.dynamic;
            let user = first.then(|| loader.load(parsed(&elf), &plain()).unwrap());
            let mut others = Vec::new();
            for (wanted, elf) in [(has_strong && !own_strong, &strong), (has_weak, &weak), (has_later, &later_weak)] {
                others.push(wanted.then(|| loader.load(parsed(elf), &plain()).unwrap()));
            }
            if agent {
                loader.define("x", 0x1000, 8, Some(device), EXE).unwrap();
            }
            if all {
                loader.define("x", 0x2000, 8, None, EXE).unwrap();
            }
            let user = user.unwrap_or_else(|| loader.load(parsed(&elf), &plain()).unwrap());
            loader.finalize().unwrap();
            let data = |id: Option<ObjectId>, at| loader.object(id.unwrap()).unwrap().address(DATA + at);
            let expected = match winner {
                "own" => data(Some(user), 0x20),
                "agent" => 0x1000,
                "all" => 0x2000,
                "strong" => data(others[0], 8),
                "weak" => data(others[1], 0x10),
                "later" => data(others[2], 0x18),
                _ => 0,
            };
            assert_eq!(pointer(&loader, user), expected, "{symbol:?} {winner} first {first}");
            assert_eq!(loader.resolution(user, "x").unwrap().unwrap().address(), expected);
        }
    }
}

#[test]
fn the_type_of_a_symbol_does_not_matter() {
    for kind in [0, 1, 2] {
        let mut loader = MockLoader::new();
        let id = loader.load(parsed(&pointer_to(Sym { kind, ..undefined("x") })), &plain()).unwrap();
        let other = Elf { symbols: vec![Sym { kind: 2 - kind, ..Sym::global("y", At::Text(0)) }], ..Elf::default() };
        loader.load(parsed(&other), &plain()).unwrap();
        let second = loader.load(parsed(&pointer_to(Sym { kind, ..undefined("y") })), &plain()).unwrap();
        loader.define("x", 0x1000, 0, None, EXE).unwrap();
        loader.finalize().unwrap();
        assert_eq!(pointer(&loader, id), 0x1000);
        assert!(matches!(loader.resolution(second, "y").unwrap(), Some(Resolution::Other(ObjectId(1), _))));
    }
}

#[test]
fn agents_and_executables_do_not_see_each_other() {
    let mut loader = MockLoader::new();
    let [first, second] = ["gfx90a", "gfx90a"].map(|name| loader.add_agent(TargetId::of_processor(name)));
    let other = loader.add_agent(TargetId::of_processor("gfx1100"));
    let gfx1100 = Elf { flags: 0x41, ..pointer_to(Sym::global("x", At::Data(8))) };
    let elf = pointer_to(Sym::global("x", At::Data(8)));
    let executable = loader.add_executable("second");
    let mut ids = Vec::new();
    for options in [on(first), on(second), LoadOptions { executable, ..on(first) }] {
        ids.push(loader.load(parsed(&elf), &options).unwrap());
    }
    ids.push(loader.load(parsed(&gfx1100), &plain()).unwrap());
    assert_eq!(loader.object(ids[3]).unwrap().agent(), other);
    // Users of x, each of its own scope's.
    let user = pointer_to(undefined("x"));
    let mut users = Vec::new();
    for options in [on(first), on(second), LoadOptions { executable, ..on(first) }] {
        users.push(loader.load(parsed(&user), &options).unwrap());
    }
    let stranger = loader.load(parsed(&pointer_to(undefined("only_here"))), &on(second)).unwrap();
    loader.define("only_here", 0x1000, 8, Some(first), EXE).unwrap();
    let error = loader.finalize().unwrap_err().to_string();
    assert!(error.contains("only_here") && error.contains("object 7"), "{error}");
    loader.define("only_here", 0x2000, 8, Some(second), EXE).unwrap();
    loader.finalize().unwrap();
    for (user, owner) in users.iter().zip(&ids) {
        assert_eq!(pointer(&loader, *user), loader.object(*owner).unwrap().address(DATA + 8));
    }
    assert_eq!(pointer(&loader, stranger), 0x2000);
    assert_eq!(loader.symbols().filter(|s| s.name == "x" && s.exported).count(), 4);
    assert_eq!(loader.executables(), ["default", "second"]);
    // No two objects share an address.
    let mut spans: Vec<_> = loader.objects().iter().map(|o| o.span()).collect();
    spans.sort_by_key(|s| s.start);
    assert!(spans.windows(2).all(|pair| pair[0].end < pair[1].start));
}

#[test]
fn features_decide_which_agent_takes_an_object() {
    let with = |flags: u32| parsed(&Elf { flags: 0x3f | flags, ..Elf::default() });
    let (any, xnack_on, xnack_off) = (with(0x500), with(0x700), with(0x600));
    let mut loader = MockLoader::new();
    let off = loader.add_agent("gfx90a:xnack-".parse().unwrap());
    let on_ = loader.add_agent("gfx90a:xnack+".parse().unwrap());
    for (object, agent) in [(any, off), (xnack_on.clone(), on_), (xnack_off, off)] {
        let id = loader.load(object, &plain()).unwrap();
        assert_eq!(loader.object(id).unwrap().agent(), agent);
    }
    assert!(matches!(loader.load(xnack_on, &on(off)), Err(LinkError::WrongAgent { agent: 0, .. })));
    // An object that suits no agent gets one.
    let id = loader.load(parsed(&Elf { flags: 0x41, ..Elf::default() }), &plain()).unwrap();
    assert_eq!(loader.object(id).unwrap().agent(), AgentId(2));
    assert_eq!(loader.agents()[2].to_string(), "gfx1100");
}

#[test]
fn every_version_and_system() {
    for (os_abi, abi_version, version, system) in [
        (64, 1, 3, OsAbi::AmdHsa),
        (64, 2, 4, OsAbi::AmdHsa),
        (64, 3, 5, OsAbi::AmdHsa),
        (64, 4, 6, OsAbi::AmdHsa),
        (65, 0, 3, OsAbi::AmdPal),
        (66, 0, 3, OsAbi::Mesa3d),
    ] {
        let elf = Elf { os_abi, abi_version, flags: 0x3f, ..pointer_to(Sym::global("x", At::Text(8))) };
        let object = parsed(&elf);
        assert_eq!((object.version(), object.os_abi()), (version, system));
        let loader = MockLoader::single(object, 0x1_0000).unwrap();
        assert_eq!(pointer(&loader, ObjectId(0)), 0x1_0000 + TEXT + 8, "{system}");
    }
}

#[test]
fn every_wrapping() {
    let object = Elf { symbols: vec![Sym::global("x", At::Data(0))], ..Elf::default() }.build();
    let second = Elf { symbols: vec![Sym::global("y", At::Data(0))], ..Elf::default() }.build();
    let other = Elf { flags: 0x41, ..Elf::default() }.build();
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = dir.join(format!("wrapped-{}", std::process::id()));
    std::fs::write(&path, &object).unwrap();
    let mut loader = MockLoader::new();
    let id = loader.load_path(&path, &plain()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(loader.object(id[0]).unwrap().name(), path.display().to_string());

    let mut loader = MockLoader::new();
    let memory = [&[0; 100][..], &object, &[1; 7]].concat();
    let range = 100..100 + object.len() as u64;
    let ids = loader.load_range(&memory, range, &plain()).unwrap();
    assert_eq!(ids, [ObjectId(0)]);
    let past = loader.load_range(&memory, 100..200 + object.len() as u64, &plain()).unwrap_err();
    assert!(past.to_string().contains("memory range"), "{past}");

    // A range of this process's memory, by the runtime's name for it.
    let uri =
        format!("memory://{}#offset={}&size={}", std::process::id(), &memory[100] as *const u8 as u64, object.len());
    let id = MockLoader::new().load_uri(&uri, &plain()).unwrap();
    assert_eq!(id, [ObjectId(0)]);

    let bundle = |objects: &[(&str, &[u8])]| bundle(objects);
    let plus = "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+";
    let first = bundle(&[
        ("host-x86_64-unknown-linux-gnu--", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a", &object),
        ("hipv4-amdgcn-amd-amdhsa--gfx1100", &other),
    ]);
    let two = [
        first.clone(),
        vec![0; 4096 - first.len() % 4096],
        bundle(&[(plus, &second), ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", &second)]),
    ]
    .concat();
    let mut loader = MockLoader::new();
    let available = loader.load_bytes(two.clone(), &plain()).unwrap_err();
    assert!(matches!(&available, LinkError::AgentNeeded { .. }), "{available}");
    let agent = loader.add_agent("gfx90a:xnack+".parse().unwrap());
    let ids = loader.load_bytes(two.clone(), &LoadOptions { name: Some("lib".into()), ..plain() }).unwrap();
    let names: Vec<&str> = ids.iter().map(|id| loader.object(*id).unwrap().name()).collect();
    assert_eq!(names, ["lib, entry 1", "lib, entry 3"]);
    assert!(loader.objects().iter().all(|o| o.agent() == agent));
    // A second time the second object's names are taken; the first one's, too, and nothing of it stays.
    let error = loader.load_bytes(two.clone(), &plain()).unwrap_err();
    assert!(matches!(error, LinkError::DuplicateSymbol { .. }), "{error}");
    assert_eq!(loader.objects().len(), 2);
    let container = Container::from_bytes(two).unwrap();
    let id = loader.load_entry(&container, 2, &plain()).unwrap();
    assert_eq!(loader.object(id).unwrap().object().target().processor, "gfx1100");
    loader.finalize().unwrap();
}

#[test]
fn variables_are_read_and_written() {
    let mut elf =
        Elf { symbols: vec![Sym::global("x", At::Data(0x10)), Sym::local("y", At::Data(0x18))], ..Elf::default() };
    elf.data[0x10..0x18].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut loader = MockLoader::new();
    let id = loader.load(parsed(&elf), &plain()).unwrap();
    let user = loader.load(parsed(&pointer_to(undefined("kept"))), &plain()).unwrap();
    let kept = loader.define_data("kept", [5; 12], None, EXE).unwrap();
    loader.finalize().unwrap();
    assert_eq!(loader.read_variable("x", None).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    loader.write_variable("x", None, &[9; 8]).unwrap();
    assert_eq!(loader.read_variable("x", Some(id)).unwrap(), [9; 8]);
    assert!(matches!(loader.read_variable("y", None), Err(LinkError::NoSuchSymbol { .. })), "local");
    loader.write_variable("y", Some(id), &[3; 8]).unwrap();
    assert_eq!(loader.read_variable("y", Some(id)).unwrap(), [3; 8]);
    assert_eq!(pointer(&loader, user), kept);
    loader.write(kept + 1, &[6, 7]).unwrap();
    assert_eq!(loader.read_variable("kept", None).unwrap()[..4], [5, 6, 7, 5]);
    assert_eq!(loader.externals()[0].data().unwrap()[..4], [5, 6, 7, 5]);
    assert!(loader.memory(kept, 13).is_err() && loader.memory(kept, u64::MAX).is_err());
    let total: usize = loader.regions().map(|r| r.bytes.len()).sum();
    let segments: usize = loader.objects().iter().flat_map(|o| o.segments()).map(|s| s.bytes.len()).sum();
    assert_eq!(total, segments + 12);
    assert!(loader.regions().is_sorted_by_key(|r| r.addr));
}

#[luthier_needs::needs(llvm)]
#[test]
fn an_address_leads_back_to_its_origin() {
    let Some(bytes) = small_object(&[]) else { return };
    let object = CodeObject::parse(bytes).unwrap();
    let mut loader = MockLoader::new();
    let options = LoadOptions { name: Some("small".into()), ..plain() };
    let id = loader.load(object.clone(), &options).unwrap();
    loader.load(parsed(&Elf::default()), &plain()).unwrap();
    let kept = loader.define_data("kept", [0; 4], None, EXE).unwrap();
    loader.finalize().unwrap();
    let base = loader.object(id).unwrap().base();
    // Every byte of every segment.
    for segment in loader.object(id).unwrap().segments() {
        for address in segment.range() {
            let found = loader.locate(address).unwrap();
            assert_eq!((found.object, found.name, found.vaddr), (Some(id), "small", Some(address - base)));
            assert_eq!(found.file_offset, object.file_offset(address - base));
            assert_eq!(found.executable, segment.executable);
        }
    }
    let work = object.kernel("work").unwrap();
    let inside = loader.locate(base + work.entry + 8).unwrap();
    assert_eq!((inside.section, inside.symbol), (Some(".text"), Some(("work", 8))));
    let big = object.symbols().iter().find(|s| s.name == "big").unwrap();
    let found = loader.locate(base + big.value + 100).unwrap();
    assert_eq!((found.section, found.symbol, found.file_offset), (Some(".bss"), Some(("big", 100)), None));
    let found = loader.locate(kept + 3).unwrap();
    assert_eq!((found.object, found.symbol), (None, Some(("kept", 3))));
    assert!(loader.locate(kept + 4).is_none() && loader.locate(base - 1).is_none() && loader.locate(0).is_none());
}

#[test]
fn a_failed_finalize_changes_nothing_and_can_be_repeated() {
    let mut elf = pointer_to(Sym::global("own", At::Text(0)));
    elf.symbols.push(undefined("later"));
    elf.relocs.push(Reloc { place: At::Data(8), kind: 3, symbol: Some(1), addend: Some(0), is_static: false });
    let mut loader = MockLoader::new();
    let id = loader.load(parsed(&elf), &plain()).unwrap();
    loader.finalize().unwrap_err();
    assert_eq!(pointer(&loader, id), 0);
    assert!(!loader.is_finalized());
    loader.define("later", 0x1000, 0, None, EXE).unwrap();
    loader.finalize().unwrap();
    assert_ne!(pointer(&loader, id), 0);
}

/// clang 14 leaves them with `-g` for LDS variables, and Tensile's assembly has one called UNDEF.
#[test]
fn a_name_that_no_record_uses_may_be_undefined() {
    let named = |name: &str| LoadOptions { name: Some(name.to_owned()), ..LoadOptions::default() };
    let record = |kind| Reloc { place: At::Data(8), kind, symbol: Some(0), addend: Some(0), is_static: false };
    for (symbols, relocs) in [
        (vec![undefined("UNDEF")], vec![]),
        (vec![undefined("UNDEF"), Sym::global("x", At::Data(0))], vec![]),
        (vec![Sym { dynamic: false, ..undefined("UNDEF") }], vec![]),
        // A record that does nothing uses nothing (R_AMDGPU_NONE).
        (vec![undefined("UNDEF")], vec![record(0)]),
    ] {
        let elf = Elf { symbols, relocs, ..Elf::default() };
        let mut loader = MockLoader::new();
        let id = loader.load(CodeObject::parse(elf.build()).unwrap(), &named("a.so")).unwrap();
        loader.finalize().unwrap();
        assert_eq!(loader.resolution(id, "UNDEF").ok().flatten(), None, "nothing stands for it");
    }
    // One that a record uses has to be defined, whatever else is undefined.
    let elf = Elf { symbols: vec![undefined("one"), undefined("UNDEF")], relocs: vec![record(3)], ..Elf::default() };
    let mut loader = MockLoader::new();
    loader.load(CodeObject::parse(elf.build()).unwrap(), &named("a.so")).unwrap();
    let Err(LinkError::Unresolved { symbols }) = loader.finalize() else { panic!("it is refused") };
    assert_eq!(symbols.iter().map(|s| s.symbol.as_str()).collect::<Vec<_>>(), ["one"]);
}
