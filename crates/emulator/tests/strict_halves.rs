//! What strict mode makes of parts of registers and of pairs: a half that a load leaves alone, a register of a pair that
//! nothing selects.

mod support;

use luthier_emulator::{FindingKind, Strict};
use luthier_isa::Target;
use support::{Asm, assemble_for, assemble_rdna, load, load_for};

const RDNA: [(&str, bool); 4] = [("gfx1100", false), ("gfx1151", false), ("gfx1200", true), ("gfx1201", true)];

/// The findings of a body on one wave of RDNA; s[2:3] is a buffer, v1 the lane's number times 4.
fn on_rdna(processor: &str, is_rdna4: bool, body: &str) -> Vec<FindingKind> {
    let waits = [("WAIT_SCALAR", "s_waitcnt lgkmcnt(0)", "s_wait_kmcnt 0x0")];
    let loads = |n: u32| (format!("WAIT_LOADS{n}"), format!("s_waitcnt vmcnt({n})"), format!("s_wait_loadcnt {n:#x}"));
    let mut text = format!(
        "s_load_b64 s[2:3], s[0:1], 0x0\nv_and_b32_e32 v1, 0x3ff, v0\nv_lshlrev_b32_e32 v1, 2, v1\nWAIT_SCALAR\n{body}\n"
    );
    for (name, old, new) in waits {
        text = text.replace(name, if is_rdna4 { new } else { old });
    }
    for (name, old, new) in [loads(0), loads(1), loads(2)] {
        text = text.replace(&name, if is_rdna4 { &new } else { &old });
    }
    let loaded = load(&assemble_rdna(processor, 32, &text));
    let buffer = loaded.buffer(&[7; 64]);
    let report = loaded.launch("k", [32, 1, 1], [32, 1, 1], &[buffer], Strict::On).expect("it runs");
    report.findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn a_load_of_one_half_leaves_the_other_to_be_used() {
    let [low, high] = ["global_load_d16_b16 v17, v1, s[2:3]\n", "global_load_d16_hi_b16 v17, v1, s[2:3] offset:4\n"];
    let both = [low, high].concat();
    let stores = ["global_store_b16 v1, v17, s[2:3]\n", "global_store_d16_hi_b16 v1, v17, s[2:3]\n"];
    for (processor, is_rdna4) in RDNA {
        let kinds = |body: &str| on_rdna(processor, is_rdna4, body);
        // The older of the two is there.
        assert_eq!(kinds(&[&both, "WAIT_LOADS1\n", stores[0], "WAIT_LOADS0"].concat()), [], "{processor}");
        assert_eq!(kinds(&[&both, "WAIT_LOADS1\n", stores[1], "WAIT_LOADS0"].concat()), [FindingKind::MissingWait]);
        assert_eq!(
            kinds(&[&both, "WAIT_LOADS1\nv_mov_b32_e32 v18, v17\nWAIT_LOADS0"].concat()),
            [FindingKind::MissingWait]
        );
        assert_eq!(kinds(&[&both, stores[0], "WAIT_LOADS0"].concat()), [FindingKind::MissingWait]);
        if is_rdna4 {
            // LLVM 22 does not assemble halves for it unless it is told to.
            continue;
        }
        assert_eq!(kinds(&[&both, "WAIT_LOADS1\nv_add_f16_e32 v18.l, v17.l, v17.l\nWAIT_LOADS0"].concat()), []);
        let upper = "WAIT_LOADS1\nv_add_f16_e32 v18.l, v17.l, v17.h\nWAIT_LOADS0";
        assert_eq!(kinds(&[&both, upper].concat()), [FindingKind::MissingWait]);
        assert_eq!(kinds(&[&both, "WAIT_LOADS1\nv_mov_b16_e32 v17.l, 0\nWAIT_LOADS0"].concat()), []);
        assert_eq!(
            kinds(&[&both, "WAIT_LOADS1\nv_mov_b16_e32 v17.h, 0\nWAIT_LOADS0"].concat()),
            [FindingKind::MissingWait]
        );
    }
}

#[test]
fn a_register_of_a_pair_that_nothing_selects_is_not_read() {
    let targets = [Target::Gfx90a, Target::Gfx942, Target::Gfx950];
    for target in targets {
        let kinds = |operation: &str| {
            let body = format!(
                "s_load_dwordx2 s[2:3], s[0:1], 0x0\nv_and_b32_e32 v1, 0x3ff, v0\nv_lshlrev_b32_e32 v1, 2, v1\n\
                 v_mov_b32_e32 v16, 1.0\ns_mov_b32 s8, 2.0\ns_mov_b32 s9, 2.0\ns_waitcnt lgkmcnt(0)\n{operation}\n\
                 s_nop 4\nglobal_store_dword v1, v16, s[2:3]\ns_waitcnt vmcnt(0)"
            );
            let object = assemble_for(target, &body, Asm::default());
            let loaded = load_for(target, &object, Default::default());
            let buffer = loaded.buffer(&[7; 64]);
            let report = loaded.launch("k", [64, 1, 1], [64, 1, 1], &[buffer], Strict::On).expect("it runs");
            report.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>()
        };
        // v17 is written by nothing, or by a load that is not waited for.
        let multiply = "v_pk_mul_f32 v[16:17], v[16:17], s[8:9] op_sel_hi:[0,1]";
        let late = "global_load_dword v17, v1, s[2:3]\n";
        let and_upper = "\ns_nop 4\nglobal_store_dword v1, v17, s[2:3]";
        assert_eq!(kinds(&[multiply, and_upper].concat()), [], "{}", target.name());
        let upper = [&multiply.replace(" op_sel_hi:[0,1]", ""), and_upper].concat();
        assert_eq!(kinds(&upper), [FindingKind::UndefinedRegister]);
        assert_eq!(kinds(&multiply.replace("op_sel_hi:[0,1]", "op_sel:[1,0]")), [FindingKind::UndefinedRegister]);
        let apart = multiply.replace("v[16:17], v[16:17]", "v[18:19], v[16:17]");
        assert_eq!(kinds(&[late, &apart].concat()), []);
        let reading = apart.replace("op_sel_hi:[0,1]", "op_sel:[1,0] op_sel_hi:[0,1]");
        assert_eq!(kinds(&[late, &reading].concat()), [FindingKind::MissingWait]);
        assert_eq!(kinds("v_pk_mov_b32 v[16:17], v[16:17], v[16:17] op_sel:[0,0]"), []);
        assert_eq!(kinds("v_pk_mov_b32 v[16:17], v[16:17], v[16:17] op_sel:[1,0]"), [FindingKind::UndefinedRegister]);
    }
}

/// The findings of a body on one wave of 64 lanes; v16 is defined, v17, s20 and what else nothing writes are not.
fn on_cdna(target: Target, body: &str) -> Vec<FindingKind> {
    let body = format!(
        "s_load_dwordx2 s[2:3], s[0:1], 0x0\nv_and_b32_e32 v1, 0x3ff, v0\nv_lshlrev_b32_e32 v1, 2, v1\n\
         v_mov_b32_e32 v16, 1.0\nv_mov_b32_e32 v20, 8\nv_mov_b32_e32 v21, 8\ns_mov_b32 s8, 8\ns_waitcnt lgkmcnt(0)\n{body}\ns_nop 4"
    );
    let loaded = load_for(target, &assemble_for(target, &body, Asm::default()), Default::default());
    let buffer = loaded.buffer(&[7; 64]);
    let report = loaded.launch("k", [64, 1, 1], [64, 1, 1], &[buffer], Strict::On).expect("it runs");
    report.findings.iter().map(|finding| finding.kind).collect()
}

/// Stores a register, all of it or its lowest byte.
fn store(register: &str, byte: bool) -> String {
    let width = if byte { "byte" } else { "dword" };
    format!("\ns_nop 4\nglobal_store_{width} v1, {register}, s[2:3]\ns_waitcnt vmcnt(0)")
}

#[test]
fn words_of_packed_operations_are_undefined_by_themselves() {
    for target in [Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        for operation in [
            "v_pk_mov_b32 v[22:23], v[16:17], v[16:17] op_sel:[0,1]",
            "v_pk_add_f32 v[22:23], v[16:17], v[20:21]",
            "v_pk_mul_f32 v[22:23], v[16:17], v[20:21]",
            "v_pk_fma_f32 v[22:23], v[20:21], v[16:17], v[20:21]",
        ] {
            let kinds = |register| on_cdna(target, &format!("{operation}{}", store(register, false)));
            assert_eq!(kinds("v22"), [], "{operation}");
            assert_eq!(kinds("v23"), [FindingKind::UndefinedRegister], "{operation}");
        }
    }
}

#[test]
fn shifts_by_registers_bring_in_defined_zeros() {
    // By 8: the lowest byte is zeros, or what was the second one.
    for (operation, byte_is_undefined) in [
        ("v_lshlrev_b32_e32 v22, v20, v17", false),
        ("v_lshrrev_b32_e32 v22, v20, v17", true),
        ("v_lshlrev_b32_e32 v22, s8, v17", false),
        ("v_lshl_or_b32 v22, v17, v20, v16", false),
        ("v_lshl_add_u32 v22, v17, v20, v16", false),
        ("v_add_lshl_u32 v22, v17, v16, v20", false),
        ("v_alignbit_b32 v22, v17, v16, v20", false),
        ("v_alignbit_b32 v22, v16, v17, v20", true),
        ("v_bfe_u32 v22, v17, v20, v20", true),
        // An amount that is undefined leaves nothing defined.
        ("v_lshlrev_b32_e32 v22, v17, v16", true),
        ("s_lshl_b32 s9, s20, s8\nv_mov_b32_e32 v22, s9", false),
        ("s_lshr_b32 s9, s20, s8\nv_mov_b32_e32 v22, s9", true),
    ] {
        let kinds = |byte| on_cdna(Target::Gfx90a, &format!("{operation}{}", store("v22", byte)));
        let expected: &[FindingKind] = if byte_is_undefined { &[FindingKind::UndefinedRegister] } else { &[] };
        assert_eq!(kinds(true), expected, "{operation}");
        assert_eq!(kinds(false), [FindingKind::UndefinedRegister], "{operation}");
    }
}
