//! Where undefined values decide something: each of them is a finding, whether nothing has written a register or a read of
//! LDS has brought what nothing has written there. A read by itself is none.

mod support;

use luthier_emulator::{Finding, FindingKind, Kinds, Strict};
use support::{Asm, assemble, load};

/// What an undefined v3, or s10 or s[10:11] made of it, decides. v4 is a small offset made of v3; s[2:3] is a buffer.
const DECIDERS: [(&str, &str); 38] = [
    ("load", "global_load_dword v5, v4, s[2:3]"),
    ("store", "global_store_dword v4, v0, s[2:3]"),
    ("stored", "global_store_dword v1, v3, s[2:3]"),
    ("stored byte", "global_store_byte v1, v3, s[2:3]"),
    ("atomic", "global_atomic_add v4, v0, s[2:3]"),
    ("atomically added", "global_atomic_add v1, v3, s[2:3]"),
    (
        "flat load",
        "v_mov_b32 v6, s2\nv_add_co_u32 v6, vcc, v6, v4\nv_mov_b32 v7, s3\nv_addc_co_u32 v7, vcc, 0, v7, vcc\nflat_load_dword v5, v[6:7]",
    ),
    ("flat stored", "v_mov_b32 v6, s2\nv_mov_b32 v7, s3\nflat_store_dword v[6:7], v3"),
    ("buffer load", "buffer_load_dword v5, v4, s[4:7], 0 offen"),
    ("buffer offset", "s_and_b32 s11, s10, 0xfc\ns_nop 4\nbuffer_load_dword v5, v1, s[4:7], s11 offen"),
    ("buffer stored", "buffer_store_dword v3, v1, s[4:7], 0 offen"),
    ("LDS load", "ds_read_b32 v5, v4"),
    ("LDS store", "ds_write_b32 v4, v0"),
    ("LDS atomic", "ds_add_u32 v4, v0"),
    ("added in LDS", "ds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nds_add_u32 v1, v3"),
    ("permuted", "ds_bpermute_b32 v5, v4, v0\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v5, s[2:3]"),
    ("scalar load", "s_and_b32 s11, s10, 0xfc\ns_load_dword s12, s[2:3], s11"),
    ("s_cmp", "s_cmp_lg_u32 s10, 0\ns_cbranch_scc1 NEXT\nNEXT:"),
    ("s_bitcmp", "s_bitcmp1_b32 s10, 0\ns_cbranch_scc1 NEXT\nNEXT:"),
    ("scc of s_and", "s_and_b32 s11, s10, 1\ns_cbranch_scc1 NEXT\nNEXT:"),
    ("scc of s_add", "s_add_u32 s11, s10, 1\ns_cbranch_scc0 NEXT\nNEXT:"),
    ("scc of s_lshl", "s_lshl_b32 s11, s10, 1\ns_cbranch_scc0 NEXT\nNEXT:"),
    (
        "selected by scc",
        "s_and_b32 s11, s10, 1\ns_cselect_b32 s11, 1, 2\nv_mov_b32 v5, s11\nglobal_store_dword v1, v5, s[2:3]",
    ),
    ("vcc of v_cmp", "v_cmp_ne_u32 vcc, 0, v3\ns_cbranch_vccnz NEXT\nNEXT:"),
    ("vcc, none", "v_cmp_ne_u32 vcc, 0, v3\ns_nop 4\ns_cbranch_vccz NEXT\nNEXT:"),
    ("vcc in another block", "v_cmp_ne_u32 vcc, 0, v3\ns_branch NEXT\nNEXT:\ns_cbranch_vccnz LAST\nLAST:"),
    ("vcc of s_mov", "s_mov_b64 vcc, s[10:11]\ns_cbranch_vccnz NEXT\nNEXT:"),
    ("vcc of s_and", "v_cmp_ne_u32 vcc, 0, v3\ns_and_b64 vcc, exec, vcc\ns_cbranch_vccnz NEXT\nNEXT:"),
    ("vcc of an exclusive or", "v_cmp_ne_u32 vcc, 0, v3\ns_xor_b64 vcc, vcc, -1\ns_cbranch_vccz NEXT\nNEXT:"),
    ("saveexec", "v_cmp_ne_u32 vcc, 0, v3\ns_and_saveexec_b64 s[12:13], vcc\ns_cbranch_execz NEXT\nNEXT:"),
    ("wrexec", "v_cmp_ne_u32 vcc, 0, v3\ns_andn1_wrexec_b64 s[12:13], vcc"),
    ("exec", "v_cmp_ne_u32 vcc, 0, v3\ns_and_b64 exec, exec, vcc"),
    ("half of exec", "s_mov_b32 exec_hi, s10"),
    ("exec of a lane", "s_nop 4\nv_readfirstlane_b32 exec_lo, v3"),
    ("v_cmpx", "v_cmpx_ne_u32 vcc, 0, v3"),
    ("a lane", "s_and_b32 s11, s10, 31\ns_nop 4\nv_readlane_b32 s12, v0, s11"),
    ("selected", "v_cmp_ne_u32 vcc, 0, v3\nv_cndmask_b32 v5, 1, v0, vcc\nglobal_store_dword v1, v5, s[2:3]"),
    (
        "a factor",
        "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 8\nv_mfma_f32_4x4x1f32 v[8:11], v3, v0, v[8:11]",
    ),
];

/// Ways to make v3 undefined, each but the first by a read of LDS that `WHERE` names, and one that leaves it defined.
const REGISTER: &str = "v_mov_b32 v3, v30";
const BROUGHT: [(&str, u64); 5] = [
    ("ds_read_b32 v3, v1 offset:512\ns_waitcnt lgkmcnt(0)", 512),
    // One byte of them.
    (
        "ds_write_b8 v1, v0 offset:512\nds_write_b16 v1, v0 offset:514\ns_waitcnt lgkmcnt(0)\nds_read_b32 v3, v1 offset:512\ns_waitcnt lgkmcnt(0)\nv_lshrrev_b32 v3, 8, v3\nv_mul_lo_u32 v3, v3, v3",
        513,
    ),
    // Copied through LDS.
    (
        "ds_read_b32 v3, v1 offset:512\ns_waitcnt lgkmcnt(0)\nds_write_b32 v1, v3 offset:256\ns_waitcnt lgkmcnt(0)\nds_read_b32 v3, v1 offset:256\ns_waitcnt lgkmcnt(0)",
        512,
    ),
    // Through scalars, and by way of other lanes.
    (
        "ds_read_b32 v3, v1 offset:512\ns_waitcnt lgkmcnt(0)\nv_readlane_b32 s14, v3, 0\nv_mov_b32 v3, s14\ns_nop 4\nv_mov_b32_dpp v3, v3 row_shr:1 row_mask:0xf bank_mask:0xf",
        512,
    ),
    ("ds_read_b64 v[8:9], v2 offset:512\ns_waitcnt lgkmcnt(0)\nv_add_u32 v3, v0, v9", 516),
];
const DEFINED: &str = "v_mov_b32 v3, 1";

fn findings(undefined: &str, decider: &str, strict: Strict) -> Vec<Finding> {
    let body = format!(
        "s_load_dwordx2 s[2:3], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\nv_lshlrev_b32 v2, 3, v0\ns_waitcnt lgkmcnt(0)\n\
         s_mov_b32 s4, s2\ns_mov_b32 s5, s3\ns_movk_i32 s6, 0x400\ns_mov_b32 s7, 0x24fac\n\
         {undefined}\nv_and_b32 v4, 0xfc, v3\nv_readfirstlane_b32 s10, v3\ns_mov_b32 s11, s10\n{decider}\n\
         s_mov_b64 exec, -1\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
    );
    // Every branch is to the next instruction, with a label of its own.
    let loaded = load(&assemble(&body, Asm { lds: 2048, ..Asm::default() }));
    let out = loaded.buffer(&[0; 256]);
    loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], strict).expect("strict mode goes on").findings
}

fn kinds(findings: &[Finding]) -> Vec<FindingKind> {
    findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn what_undefined_registers_decide_is_found_and_what_defined_ones_do_is_not() {
    for (name, decider) in DECIDERS {
        let initialised =
            |value: &str| format!("ds_write_b32 v1, v0\nds_write_b32 v1, v0 offset:256\ns_waitcnt lgkmcnt(0)\n{value}");
        let found = findings(&initialised(REGISTER), decider, Strict::On);
        assert!(kinds(&found).contains(&FindingKind::UndefinedRegister), "{name}: {found:?}");
        assert!(found.iter().all(|finding| finding.kind == FindingKind::UndefinedRegister), "{name}: {found:?}");
        assert_eq!(kinds(&findings(&initialised(DEFINED), decider, Strict::On)), [], "{name}");
    }
}

#[test]
fn what_undefined_lds_decides_is_found_and_names_the_read() {
    for (name, decider) in DECIDERS {
        // Their own accesses are to LDS that was written.
        for (brought, at) in BROUGHT {
            let brought =
                format!("ds_write_b32 v1, v0\nds_write_b32 v1, v0 offset:256\ns_waitcnt lgkmcnt(0)\n{brought}");
            let found = findings(&brought, decider, Strict::On);
            assert!(!found.is_empty(), "{name}: {brought}");
            for finding in found {
                assert_eq!(finding.kind, FindingKind::UndefinedLds, "{name}, {brought}: {finding:?}");
                let read = finding.other.expect("the read");
                assert!(read.text.starts_with("ds_read_b") && read.pc < finding.pc, "{name}: {read:?}");
                let byte = finding.address.expect("a byte of LDS");
                let apart = if at == 516 { 8 } else { 4 };
                assert!(byte >= at && (byte - at) % apart == 0 && byte - at < 64 * apart, "{name}: {byte} of {at}");
                assert!(finding.message.contains(&format!("{byte:#x}")), "{}", finding.message);
            }
        }
    }
}

#[test]
fn a_read_of_undefined_lds_is_found_by_name_only() {
    let read = "ds_read_b32 v3, v1 offset:512\ns_waitcnt lgkmcnt(0)";
    // Neither what it brings nor what is made of it matters here.
    let harmless = "v_lshlrev_b32 v5, v0, v3\nds_write_b32 v1, v5 offset:256";
    assert_eq!(kinds(&findings(read, harmless, Strict::On)), []);
    let only = |kind: FindingKind| Strict::Only(Kinds::from(kind));
    let found = findings(read, harmless, only(FindingKind::UndefinedLdsRead));
    assert_eq!(kinds(&found), [FindingKind::UndefinedLdsRead]);
    assert_eq!((found[0].address, found[0].extent.count), (Some(512), 64));
    assert!(found[0].text.starts_with("ds_read_b32"), "{}", found[0].text);
    // A launch that does not ask for the kind does not get it as another one.
    let decides = "global_store_dword v1, v3, s[2:3]";
    assert_eq!(kinds(&findings(read, decides, only(FindingKind::UndefinedRegister))), []);
    assert_eq!(kinds(&findings(read, decides, only(FindingKind::UndefinedLds))), [FindingKind::UndefinedLds]);
}

#[test]
fn where_both_meet_neither_is_lost() {
    // Even lanes have it from LDS, odd ones from nowhere.
    let mixed = "ds_read_b32 v3, v1 offset:512\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s12, 0xaaaaaaaa\ns_mov_b32 s13, s12\n\
                 v_cndmask_b32 v3, v3, v30, s[12:13]";
    for decider in ["global_store_dword v1, v3, s[2:3]", "global_load_dword v5, v4, s[2:3]", "v_cmpx_ne_u32 vcc, 0, v3"]
    {
        let found = findings(mixed, decider, Strict::On);
        let mut kinds = kinds(&found);
        kinds.sort();
        assert_eq!(kinds, [FindingKind::UndefinedRegister, FindingKind::UndefinedLds], "{decider}");
        let lane = |kind| found.iter().find(|finding| finding.kind == kind).and_then(|finding| finding.lane);
        assert_eq!([lane(FindingKind::UndefinedLds), lane(FindingKind::UndefinedRegister)], [Some(0), Some(1)]);
    }
    // A sum of both is of LDS.
    let sum = "ds_read_b32 v3, v1 offset:512\ns_waitcnt lgkmcnt(0)\nv_add_u32 v3, v30, v3";
    let found = findings(sum, "global_store_dword v1, v3, s[2:3]", Strict::On);
    assert_eq!(kinds(&found), [FindingKind::UndefinedLds]);
}

#[test]
fn atomics_on_undefined_lds_are_found() {
    assert_eq!(kinds(&findings(DEFINED, "ds_add_u32 v1, v0 offset:512", Strict::On)), [FindingKind::UndefinedLds]);
    let copied =
        "ds_read_b32 v3, v1 offset:512\ns_waitcnt lgkmcnt(0)\nds_write_b32 v1, v3 offset:256\ns_waitcnt lgkmcnt(0)";
    let found = findings(copied, "ds_add_u32 v1, v0 offset:256", Strict::On);
    assert_eq!(kinds(&found), [FindingKind::UndefinedLds]);
    assert!(found[0].text.starts_with("ds_add") && found[0].address == Some(512), "{found:?}");
    // What an exchange gives back may not matter.
    let exchange = "ds_wrxchg_rtn_b32 v5, v1, v0 offset:512\ns_waitcnt lgkmcnt(0)\n";
    assert_eq!(kinds(&findings(DEFINED, exchange, Strict::On)), []);
    let stored = [exchange, "global_store_dword v1, v5, s[2:3]"].concat();
    assert_eq!(kinds(&findings(DEFINED, &stored, Strict::On)), [FindingKind::UndefinedLds]);
}
