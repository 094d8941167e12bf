//! One operation has one [`Op`], whatever it is called.

use std::collections::{BTreeMap, BTreeSet};

use luthier_isa::{Flags, Format, Mode, Op, OpcodeInfo, Target};

fn opcodes() -> impl Iterator<Item = &'static OpcodeInfo> {
    Mode::all().flat_map(|mode| mode.opcodes().iter())
}

/// LLVM's pseudo opcode without what tells its encoding, or says how LLVM keeps halves of registers.
fn pseudo(info: &OpcodeInfo) -> String {
    const ENCODINGS: [&str; 6] = ["_e32", "_e64", "_dpp", "_sdwa", "_dpp8", "_dpp_gfx90a"];
    let mut name = info.pseudo.replace("_t16", "").replace("_fake16", "");
    while let Some(rest) = ENCODINGS.iter().find_map(|end| name.strip_suffix(end)) {
        name = rest.into();
    }
    name
}

/// Names of one pseudo that are two operations: the data go to LDS, or the result is another part of the register.
fn is_apart(name: &str) -> bool {
    name.contains("_load_lds_") || name == "v_interp_p2_legacy_f16"
}

#[test]
fn names_that_llvm_has_one_pseudo_for_are_one_operation() {
    let mut ops: BTreeMap<String, BTreeSet<Op>> = BTreeMap::new();
    for info in opcodes().filter(|info| !info.flags.contains(Flags::DUAL) && !is_apart(info.base)) {
        ops.entry(pseudo(info)).or_default().insert(info.op());
    }
    let several: Vec<_> = ops.iter().filter(|(_, ops)| ops.len() > 1).collect();
    assert!(several.is_empty(), "{several:?}");
}

#[test]
fn operations_of_several_names_have_a_pseudo_in_common_but_for_the_listed() {
    // LLVM has two where a result has 16 bits, an operand is tied, or MODE matters, and for some atomics; the manuals
    // say that they are one.
    const OTHERS: [&str; 12] = [
        "buffer_atomic_csub",
        "buffer_atomic_fmax",
        "buffer_atomic_fmin",
        "buffer_atomic_max_f64",
        "buffer_atomic_min_f64",
        "image_atomic_fmax",
        "image_atomic_fmin",
        "v_add_u16",
        "v_max_f64",
        "v_min_f64",
        "v_mul_lo_u32",
        "v_sub_u16",
    ];
    let mut names: BTreeMap<Op, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for info in opcodes().filter(|info| !info.flags.contains(Flags::DUAL)) {
        names.entry(info.op()).or_default().entry(info.base).or_default().insert(pseudo(info));
    }
    let apart = names.iter().filter(|(_, names)| {
        let first = names.values().next().unwrap();
        names.values().any(|pseudos| pseudos.is_disjoint(first))
    });
    let apart: Vec<&str> = apart.map(|(op, _)| op.name()).collect();
    assert_eq!(apart, OTHERS);
}

#[test]
fn every_name_is_found_again() {
    for info in opcodes().filter(|info| !info.flags.contains(Flags::DUAL)) {
        assert_eq!(Op::from_name(info.base), Some(info.op()), "{}", info.base);
    }
    for &op in Op::all() {
        assert_eq!(Op::from_name(op.name()), Some(op));
    }
    assert_eq!(Op::from_name("s_add_co_u32"), Some(Op::SAddU32));
    assert_eq!(Op::from_name("v_no_such"), None);
}

#[test]
fn an_operations_encodings_are_all_its_opcodes_the_plainest_first() {
    for mode in Mode::all() {
        let mut seen = 0;
        for &op in Op::all() {
            let encodings: Vec<_> = mode.encodings(op).collect();
            assert!(encodings.iter().all(|info| info.op() == op && info.mode == mode));
            let special = |info: &OpcodeInfo| info.flags.intersects(Flags::SDWA | Flags::DPP);
            assert!(encodings.is_sorted_by_key(|info| (special(info), info.size)));
            assert_eq!(mode.plain(op), encodings.first().copied());
            seen += encodings.len();
        }
        assert_eq!(seen, mode.opcodes().len());
    }
    let plain = |target: Target, op| Mode::from(target).plain(op).map(|info| info.mnemonic);
    assert_eq!(plain(Target::Gfx90a, Op::VMovB32), Some("v_mov_b32_e32"));
    assert_eq!(plain(Target::Gfx1250, Op::SSetpcB64), Some("s_set_pc_i64"));
    assert_eq!(plain(Target::Gfx1100, Op::VAccvgprReadB32), None);
    let long = Mode::from(Target::Gfx1100).encoded(Op::VAddU32, Format::Vop3a);
    assert_eq!(long.map(|info| info.mnemonic), Some("v_add_nc_u32_e64"));
}
