//! The relocation matrix: every type, static and dynamic, RELA and REL, against every kind of symbol, in code, data and
//! zero-filled memory. The expected bytes are computed here, in 128-bit integers, from the formulas of LLVM's AMDGPU
//! usage page.

mod support;

use luthier_loader::link::{ExecutableId, ObjectId};
use luthier_loader::{CodeObject, LinkError, LoadOptions, MockLoader};
use support::elf::{At, Elf, Reloc, Sym};

const NONE: u32 = 0;
const ABS32_LO: u32 = 1;
const ABS32_HI: u32 = 2;
const ABS64: u32 = 3;
const REL32: u32 = 4;
const REL64: u32 = 5;
const ABS32: u32 = 6;
const GOTPCREL: u32 = 7;
const GOTPCREL32_LO: u32 = 8;
const GOTPCREL32_HI: u32 = 9;
const REL32_LO: u32 = 10;
const REL32_HI: u32 = 11;
const RELATIVE64: u32 = 13;
const REL16: u32 = 14;
const KINDS: [u32; 14] = [
    NONE,
    ABS32_LO,
    ABS32_HI,
    ABS64,
    REL32,
    REL64,
    ABS32,
    GOTPCREL,
    GOTPCREL32_LO,
    GOTPCREL32_HI,
    REL32_LO,
    REL32_HI,
    RELATIVE64,
    REL16,
];

/// The kinds of symbols; the number is the symbol's in [`object`].
#[derive(Clone, Copy, PartialEq, Debug)]
enum Target {
    None,
    Local,
    Global,
    Hidden,
    OwnWeak,
    Absolute,
    External,
    Other,
    OtherWeak,
    AbsentWeak,
}
use Target::*;
const TARGETS: [Target; 10] = [None, Local, Global, Hidden, OwnWeak, Absolute, External, Other, OtherWeak, AbsentWeak];

fn object() -> Elf {
    let undefined = |name| Sym { kind: 0, size: 0, ..Sym::global(name, At::Undefined) };
    Elf {
        symbols: vec![
            Sym::local("none", At::Text(0)),
            Sym::local("local", At::Data(0x18)),
            Sym::global("global", At::Text(0x20)),
            Sym { visibility: 2, dynamic: false, ..Sym::global("hidden", At::Data(0x30)) },
            Sym::weak("own_weak", At::Data(0x38)),
            Sym::global("absolute", At::Absolute(0x1234)),
            undefined("external"),
            undefined("other"),
            undefined("other_weak"),
            Sym { binding: 2, ..undefined("absent_weak") },
        ],
        ..Elf::default()
    }
}

/// What a place gets: the number and its width, or `Err` where it does not fit.
fn expected(kind: u32, s: u64, a: i64, p: u64, b: u64, g: u64) -> Result<(u64, usize), ()> {
    let [s, p, b, g, a] = [s as i128, p as i128, b as i128, g as i128, a as i128];
    let fits = |value: i128, low: i128, high: i128| if (low..high).contains(&value) { Ok(value) } else { Err(()) };
    let (value, width) = match kind {
        ABS32_LO => ((s + a) & 0xffff_ffff, 4),
        ABS32_HI => ((s + a) >> 32, 4),
        ABS64 => (s + a, 8),
        REL32 => (fits(s + a - p, -(1 << 31), 1 << 31)?, 4),
        REL64 => (s + a - p, 8),
        ABS32 => (fits(s + a, -(1 << 31), 1 << 32)?, 4),
        GOTPCREL => (fits(g + a - p, -(1 << 31), 1 << 31)?, 4),
        GOTPCREL32_LO => ((g + a - p) & 0xffff_ffff, 4),
        GOTPCREL32_HI => ((g + a - p) >> 32, 4),
        REL32_LO => ((s + a - p) & 0xffff_ffff, 4),
        REL32_HI => ((s + a - p) >> 32, 4),
        RELATIVE64 => (b + a, 8),
        REL16 => (fits((s + a - p - 4) / 4, -(1 << 15), 1 << 15)?, 2),
        _ => unreachable!(),
    };
    Ok((value as u64 & (u64::MAX >> (64 - 8 * width)), width))
}

/// Loads the object, its companion and the externals. Gives the loader, the object and S for each symbol.
fn load(elf: &Elf, base: u64, near: bool) -> (MockLoader, ObjectId, [u64; 10]) {
    let mut loader = MockLoader::at(base);
    let companion = Elf {
        symbols: vec![
            Sym::global("other", At::Data(0x48)),
            Sym::weak("other_weak", At::Text(0x50)),
            // None of these may win.
            Sym::global("global_", At::Data(0)),
            Sym::weak("own_weak", At::Data(0x58)),
            Sym { visibility: 2, dynamic: false, ..Sym::global("hidden", At::Data(0x60)) },
            Sym::local("local", At::Data(0x68)),
            Sym::local("absent_weak", At::Data(0x70)),
        ],
        ..Elf::default()
    };
    let options = LoadOptions::default();
    let other = loader.load(CodeObject::parse(companion.build()).unwrap(), &options).unwrap();
    let id = loader.load(CodeObject::parse(elf.build()).unwrap(), &options).unwrap();
    let external = if near { base + 0x4_0000 } else { 0x1_2345_6789_abc0 };
    loader.define("external", external, 16, Option::None, ExecutableId::default()).unwrap();
    let (b, o) = (loader.object(id).unwrap().base(), loader.object(other).unwrap().base());
    let at = |at| b + elf.address(at);
    let symbols = [
        0,
        at(At::Data(0x18)),
        at(At::Text(0x20)),
        at(At::Data(0x30)),
        at(At::Data(0x38)),
        0x1234,
        external,
        o + companion.address(At::Data(0x48)),
        o + companion.address(At::Text(0x50)),
        0,
    ];
    (loader, id, symbols)
}

#[test]
fn every_type_against_every_symbol() {
    let (mut right, mut overflows) = (0, 0);
    for base in [0x1_0000, 0x2000_0000_0000, 0x7fff_ffff_0000] {
        for near in [true, false] {
            for kind in KINDS {
                for target in TARGETS {
                    for is_static in [true, false] {
                        for rela in [true, false] {
                            for place in [At::Text(0x44), At::Data(0x80), At::Data(0x118)] {
                                match one(base, near, kind, target, is_static, rela, place) {
                                    Some(true) => right += 1,
                                    Some(false) => overflows += 1,
                                    Option::None => {}
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{right} places as expected, {overflows} overflows reported");
    assert!(right > 5000 && overflows > 500, "{right} {overflows}");
}

/// `Some(false)` is an overflow that was rightly reported, `None` a combination that cannot be.
fn one(base: u64, near: bool, kind: u32, target: Target, is_static: bool, rela: bool, place: At) -> Option<bool> {
    let mut elf = object();
    let symbol = TARGETS.iter().position(|t| *t == target)?;
    // Only dynamic symbols have a number that a dynamic record can name.
    if !is_static && symbol != 0 && !elf.symbols[symbol].dynamic {
        return Option::None;
    }
    let in_zeros = place == At::Data(0x118);
    let addend: i64 = if in_zeros && !rela { 0 } else { 0x24 };
    let width = match kind {
        ABS64 | REL64 | RELATIVE64 => 8,
        REL16 => 2,
        _ => 4,
    };
    let surroundings = if in_zeros { 0 } else { 0xeeee_eeee_eeee_eeee_u64 };
    for offset in [-8i64, 0, 8] {
        let moved = |at: u64| at.wrapping_add_signed(offset);
        let at = match place {
            At::Text(at) => At::Text(moved(at)),
            At::Data(at) => At::Data(moved(at)),
            other => other,
        };
        elf.fill(at, surroundings, 8);
    }
    if !rela {
        elf.fill(place, addend as u64, width);
    }
    let symbol = (symbol != 0).then_some(symbol);
    elf.relocs.push(Reloc { place, kind, symbol, addend: rela.then_some(addend), is_static });
    let (mut loader, id, s) = load(&elf, base, near);
    let p = loader.object(id).unwrap().address(elf.address(place));
    let before = loader.memory(p - 8, 24).unwrap().to_vec();

    let case = format!("{kind} {target:?} static {is_static} rela {rela} {place:?} base {base:#x} near {near}");
    let result = loader.finalize();
    if is_static && !rela && target == Absolute && kind == ABS64 {
        assert!(matches!(result, Err(LinkError::AmbiguousAddend { .. })), "{case}: {result:?}");
        return Option::None;
    }
    let object = loader.object(id).unwrap();
    let is_got = matches!(kind, GOTPCREL | GOTPCREL32_LO | GOTPCREL32_HI);
    let g = if is_got { object.got().unwrap().addr } else { 0 };
    let s = s[symbol.unwrap_or(0)];
    let mut bytes = before.clone();
    if kind != NONE {
        match expected(kind, s, addend, p, object.base(), g) {
            Ok((value, width)) => bytes[8..8 + width].copy_from_slice(&value.to_le_bytes()[..width]),
            Err(()) => {
                assert!(matches!(result, Err(LinkError::Overflow { .. })), "{case}: {result:?}");
                assert_eq!(loader.memory(p - 8, 24).unwrap(), before, "{case}");
                return Some(false);
            }
        }
    }
    result.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(loader.memory(p - 8, 24).unwrap(), bytes, "{case}");
    if is_got {
        assert_eq!(loader.memory(g, 8).unwrap(), s.to_le_bytes(), "{case}: the slot");
    } else {
        assert!(object.got().is_none(), "{case}");
    }
    Some(true)
}

#[test]
fn negative_addends_and_the_edges_of_32_and_16_bits() {
    let link = |kind, symbol: u64, addend: i64, rela: bool| {
        let mut elf = Elf { symbols: vec![Sym { size: 0, ..Sym::global("x", At::Undefined) }], ..Elf::default() };
        let place = At::Data(0x10);
        if !rela {
            elf.fill(place, addend as u64, if kind == REL16 { 2 } else { 4 });
        }
        elf.relocs.push(Reloc { place, kind, symbol: Some(0), addend: rela.then_some(addend), is_static: false });
        let mut loader = MockLoader::at(0x10_0000);
        let id = loader.load(CodeObject::parse(elf.build()).unwrap(), &LoadOptions::default()).unwrap();
        let p = loader.object(id).unwrap().address(elf.address(place));
        let s = if matches!(kind, ABS32 | ABS32_LO | ABS32_HI) { symbol } else { p.wrapping_add(symbol) };
        loader.define("x", s, 0, Option::None, ExecutableId::default()).unwrap();
        loader.finalize().map(|()| u32::from_le_bytes(loader.memory(p, 4).unwrap().try_into().unwrap()))
    };
    for rela in [true, false] {
        assert_eq!(link(ABS32, 0xffff_fff0, 15, rela).unwrap(), 0xffff_ffff);
        assert!(
            link(ABS32, 0xffff_fff0, 16, rela).unwrap_err().to_string().contains("0x100000000 does not fit 32 bits")
        );
        assert_eq!(link(ABS32, 4, -8, rela).unwrap(), 0xffff_fffc);
        assert_eq!(link(ABS32_HI, 3, -8, rela).unwrap(), 0xffff_ffff);
        assert_eq!(link(ABS32_LO, 0x5_0000_0003, -8, rela).unwrap(), 0xffff_fffb);
        assert_eq!(link(REL32, 0x7fff_ff00, 0xff, rela).unwrap(), 0x7fff_ffff);
        assert!(matches!(link(REL32, 0x7fff_ff00, 0x100, rela), Err(LinkError::Overflow { bits: 32, .. })));
        assert_eq!(link(REL32_HI, 0x7fff_ff00, 0x100, rela).unwrap(), 0);
        assert_eq!(link(REL32_HI, 4, -8, rela).unwrap(), 0xffff_ffff);
        // s_branch: words from the next instruction.
        assert_eq!(link(REL16, 4, 0, rela).unwrap() & 0xffff, 0);
        assert_eq!(link(REL16, 0, 0, rela).unwrap() & 0xffff, 0xffff);
        assert_eq!(link(REL16, 4 + 4 * 0x7fff, 0, rela).unwrap() & 0xffff, 0x7fff);
        assert_eq!(link(REL16, 4 + 4 * 0x7fff + 8, -8, rela).unwrap() & 0xffff, 0x7fff);
        assert!(matches!(link(REL16, 4 + 4 * 0x8000, 0, rela), Err(LinkError::Overflow { bits: 16, .. })));
        assert_eq!(link(REL16, (4 - 4 * 0x8000i64) as u64, 0, rela).unwrap() & 0xffff, 0x8000);
        assert!(matches!(link(REL16, (-4 * 0x8000i64) as u64, 0, rela), Err(LinkError::Overflow { bits: 16, .. })));
        assert!(matches!(link(REL16, 6, 0, rela), Err(LinkError::MisalignedBranch { value: 2, .. })));
    }
}

#[test]
fn a_dynamic_record_owns_its_place() {
    // The static records are what --emit-relocs keeps beside the dynamic one: applying both would add twice, in REL.
    for rela in [true, false] {
        let mut elf = object();
        elf.fill(At::Data(0x80), 0x10, 8);
        for (is_static, kind, offset) in [(true, ABS64, 0), (true, ABS32_HI, 4), (false, ABS64, 0)] {
            let addend = rela.then_some(if is_static { 0x999 } else { 0x10 });
            elf.relocs.push(Reloc { place: At::Data(0x80 + offset), kind, symbol: Some(2), addend, is_static });
        }
        let (mut loader, id, s) = load(&elf, 0x10_0000, true);
        loader.finalize().unwrap();
        let p = loader.object(id).unwrap().address(elf.address(At::Data(0x80)));
        assert_eq!(loader.memory(p, 8).unwrap(), (s[2] + 0x10).to_le_bytes());
    }
}

#[test]
fn one_slot_for_each_symbol() {
    let mut elf = object();
    for (index, symbol) in [7, 6, 7, 6, 7].into_iter().enumerate() {
        let place = At::Text(8 * index as u64);
        elf.relocs.push(Reloc { place, kind: GOTPCREL, symbol: Some(symbol), addend: Some(0), is_static: true });
    }
    let (mut loader, id, s) = load(&elf, 0x10_0000, true);
    loader.finalize().unwrap();
    let object = loader.object(id).unwrap();
    let got = object.got().unwrap();
    assert_eq!(got.bytes, [s[7].to_le_bytes(), s[6].to_le_bytes()].concat());
    assert!(got.readable && !got.writable && !got.executable);
    assert!(object.span().contains(&got.addr) && object.span().end == got.range().end);
    let found = loader.locate(got.addr).unwrap();
    assert_eq!((found.object, found.vaddr, found.file_offset), (Some(id), Option::None, Option::None));
}
