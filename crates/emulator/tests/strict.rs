//! What strict mode sees of memory: undefined bits that go through LDS and scratch, waves that do not wait for each
//! other, barriers that not all come to.

mod support;

use luthier_emulator::{Finding, FindingKind, Kinds, Strict};
use support::{Asm, assemble, hip, load};

/// The findings of a kernel on two waves and a zeroed buffer.
fn findings_of(body: &str, asm: Asm, strict: Strict) -> Vec<Finding> {
    let loaded = load(&assemble(&format!("{SETUP}{body}"), asm));
    let out = loaded.buffer(&[0; 1024]);
    loaded.launch("k", [128, 1, 1], [128, 1, 1], &[out], strict).expect("strict mode goes on").findings
}

fn kinds(body: &str) -> Vec<FindingKind> {
    // Both waves may well store to the same places here.
    let kinds = Kinds::USUAL.difference(FindingKind::MemoryRace.into());
    let findings = findings_of(body, Asm { lds: 1024, ..Asm::default() }, Strict::Only(kinds));
    findings.iter().map(|f| f.kind).collect()
}

/// s[2:3] the buffer, v1 the work-item's own word, v2 that of its counterpart in the other wave, s8 the wave.
const SETUP: &str = "
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
  v_readfirstlane_b32 s8, v0
  s_lshr_b32 s8, s8, 6
  s_waitcnt lgkmcnt(0)
";

const WRITE: &str = "ds_write_b32 v1, v0\n";
const READ_OTHER: &str = "ds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n";
const WAIT: &str = "s_waitcnt lgkmcnt(0)\n";
const BARRIER: &str = "s_barrier\n";

#[test]
fn waves_that_meet_in_lds_need_a_wait_and_a_barrier() {
    assert_eq!(kinds(&[WRITE, WAIT, BARRIER, READ_OTHER].concat()), []);
    assert_eq!(kinds(&[WRITE, BARRIER, READ_OTHER].concat()), [FindingKind::MissingWait]);
    let race = kinds(&[WRITE, WAIT, READ_OTHER].concat());
    assert!(race.contains(&FindingKind::LdsRace), "{race:?}");
    // Writing over what others may still read is a race, too.
    let initialise = [WRITE, WAIT, BARRIER].concat();
    let overwrite = "ds_write_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n";
    assert_eq!(kinds(&[&initialise, "ds_read_b32 v3, v1\n", WAIT, BARRIER, overwrite].concat()), []);
    // Found twice, where the second wave reads and where it writes.
    let race = kinds(&[&initialise, "ds_read_b32 v3, v1\n", WAIT, overwrite].concat());
    assert_eq!(race, [FindingKind::LdsRace, FindingKind::LdsRace]);
    let late = [&initialise, "ds_read_b32 v3, v1\n", BARRIER, overwrite].concat();
    assert_eq!(kinds(&late), [FindingKind::MissingWait]);
}

#[test]
fn a_race_names_both_parties() {
    let body = [WRITE, WAIT, BARRIER, "ds_write_b32 v2, v1\n", WAIT, "ds_read_b32 v3, v1\n", WAIT].concat();
    let findings = findings_of(&body, Asm { lds: 1024, ..Asm::default() }, Strict::On);
    let race = findings.iter().find(|f| f.kind == FindingKind::LdsRace).expect("a race");
    let other = race.other.as_ref().expect("another wave");
    assert_ne!(other.wave, race.wave);
    assert!(other.text.starts_with("ds_") && race.text.starts_with("ds_"), "{race:?}");
    assert_ne!(other.pc, race.pc);
    assert!(race.lane.is_some() && race.address.is_some());
}

#[test]
fn bytes_side_by_side_and_equal_values_and_atomics_are_no_race() {
    // Each wave writes its own byte of the same words.
    let bytes = "v_and_b32_e32 v4, 63, v0\nv_lshlrev_b32_e32 v4, 2, v4\nv_add_u32_e32 v4, s8, v4\nds_write_b8 v4, v0\n";
    assert_eq!(kinds(&[bytes, WAIT].concat()), []);
    let same = "v_and_b32_e32 v4, 63, v0\nv_lshlrev_b32_e32 v4, 2, v4\nv_mov_b32_e32 v5, 7\nds_write_b32 v4, v5\n";
    assert_eq!(kinds(&[same, WAIT].concat()), []);
    let different = same.replace("v_mov_b32_e32 v5, 7", "v_mov_b32_e32 v5, v0");
    assert_eq!(kinds(&[&different, WAIT].concat()), [FindingKind::LdsRace]);
    let count = "v_and_b32_e32 v4, 0xfc, v1\nv_mov_b32_e32 v5, 1\nds_add_u32 v4, v5\n";
    assert_eq!(kinds(&[WRITE, WAIT, BARRIER, count, WAIT].concat()), []);
    assert_eq!(kinds(&[WRITE, WAIT, BARRIER, count, "ds_read_b32 v3, v1\n", WAIT].concat()), [FindingKind::LdsRace]);
}

#[test]
fn a_lock_in_lds_orders_what_it_guards() {
    // One lane of each wave takes a lock, counts, and gives it back.
    let body = "
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v6, 1
  ds_write_b32 v1, v4
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_mov_b64 exec, 1
take:
  ds_cmpst_rtn_b32 v7, v4, v5, v6
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s9, v7
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 take
  ds_read_b32 v8, v4 offset:4
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v8, 1, v8
  ds_write_b32 v4, v8 offset:4
  s_waitcnt lgkmcnt(0)
  ds_wrxchg_rtn_b32 v7, v4, v5
  s_waitcnt lgkmcnt(0)
";
    assert_eq!(kinds(body), []);
}

#[test]
fn undefined_bits_survive_lds() {
    let store =
        |value: &str| format!("v_mov_b32_e32 v5, {value}\nds_write_b32 v1, v5\n{WAIT}ds_read_b32 v3, v1\n{WAIT}");
    let decide = "v_and_b32_e32 v3, 0xffc, v3\nglobal_store_dword v3, v0, s[2:3]\n";
    assert_eq!(kinds(&store("v30")), [], "copying an undefined value is no mistake");
    assert_eq!(kinds(&format!("{}{decide}", store("v30"))), [FindingKind::UndefinedRegister]);
    assert_eq!(kinds(&format!("{}{decide}", store("v1"))), []);
    // Only the bits that are undefined: the low byte was written.
    let low = format!("{}ds_write_b8 v1, v0\n{WAIT}ds_read_u8 v3, v1\n{WAIT}{decide}", store("v30"));
    assert_eq!(kinds(&low), []);
    let next = format!("{}ds_write_b8 v1, v0\n{WAIT}ds_read_u8 v3, v1 offset:1\n{WAIT}{decide}", store("v30"));
    assert_eq!(kinds(&next), [FindingKind::UndefinedRegister]);
    let read = format!("ds_read_b32 v3, v1\n{WAIT}");
    assert_eq!(kinds(&read), [], "a read by itself is no mistake");
    assert_eq!(kinds(&format!("{read}{decide}")), [FindingKind::UndefinedLds]);
}

#[test]
fn undefined_bits_survive_scratch() {
    let source = "
KERNEL k(u32 *out, u32 which) {
    u32 a[4];
    a[1] = 5;
    out[local_x] = a[which];
}";
    for level in ["-O0", "-O1"] {
        let loaded = load(&hip(source, level));
        let out = loaded.buffer(&[0; 64]);
        let launch = |which| {
            let report = loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out, which], Strict::On).expect("runs");
            report.findings.iter().map(|f| f.kind).collect::<Vec<_>>()
        };
        assert_eq!(launch(1), [], "{level}");
        if level == "-O0" {
            assert_eq!(launch(2), [FindingKind::UndefinedRegister]);
        }
    }
}

#[test]
fn undefined_data_may_not_reach_memory() {
    for store in ["global_store_dword v1, v30, s[2:3]", "flat_store_dword v[4:5], v30"] {
        let body = format!(
            "v_add_co_u32_e32 v4, vcc, s2, v1\nv_mov_b32_e32 v5, s3\nv_addc_co_u32_e32 v5, vcc, 0, v5, vcc\n{store}\n"
        );
        assert_eq!(kinds(&body), [FindingKind::UndefinedRegister], "{store}");
        assert_eq!(kinds(&body.replace("v30", "v0")), [], "{store}");
    }
}

#[test]
fn device_memory_needs_a_wait_only_where_a_workgroup_is_split_over_compute_units() {
    let body = "global_store_dword v1, v0, s[2:3]\ns_barrier\nglobal_load_dword v3, v2, s[2:3]\ns_waitcnt vmcnt(0)\n";
    let waiting = body.replace("s_barrier", "s_waitcnt vmcnt(0)\ns_barrier");
    let split = Asm { extra: ".amdhsa_tg_split 1", ..Asm::default() };
    let kinds = |body: &str, asm| findings_of(body, asm, Strict::On).iter().map(|f| f.kind).collect::<Vec<_>>();
    assert_eq!(kinds(body, Asm::default()), []);
    assert_eq!(kinds(body, split), [FindingKind::MissingWait]);
    // The other wave's compute unit has a cache of its own.
    assert_eq!(kinds(&waiting, split), [FindingKind::MemoryRace]);
    assert_eq!(kinds(&waiting.replace("s_barrier\n", "s_barrier\nbuffer_wbinvl1_vol\n"), split), []);
}

#[test]
fn all_waves_come_to_the_barrier() {
    let early = "s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 over\ns_barrier\nover:\n";
    assert_eq!(kinds(early), [FindingKind::BarrierDivergence]);
    let apart = "s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 other\ns_barrier\ns_branch over\nother:\ns_barrier\nover:\n";
    // Which instruction it is does not matter, unless a caller asks for that.
    assert_eq!(kinds(apart), []);
    let place = Strict::Only(FindingKind::BarrierPlace.into());
    let found = findings_of(apart, Asm::default(), place);
    assert_eq!(
        found.iter().map(|f| (f.kind, f.other.is_some())).collect::<Vec<_>>(),
        [(FindingKind::BarrierPlace, true)]
    );
    assert_eq!(kinds("s_barrier\ns_barrier\n"), []);
}

#[test]
fn only_the_kinds_asked_for_are_reported() {
    let body = [WRITE, BARRIER, READ_OTHER, "global_store_dword v30, v0, s[2:3]\n"].concat();
    let asm = Asm { lds: 1024, ..Asm::default() };
    let kinds = |strict| findings_of(&body, asm, strict).iter().map(|f| f.kind).collect::<Vec<_>>();
    let all = kinds(Strict::On);
    assert!(all.contains(&FindingKind::MissingWait) && all.contains(&FindingKind::UndefinedRegister), "{all:?}");
    assert_eq!(kinds(Strict::Only(Kinds::from(FindingKind::MissingWait))), [FindingKind::MissingWait]);
    assert_eq!(kinds(Strict::Only(Kinds::empty())), []);
}

#[test]
fn every_kind_has_a_name_of_its_own() {
    for kind in FindingKind::ALL {
        assert_eq!(FindingKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(FindingKind::from_name("strange"), None);
}

#[test]
fn a_full_counter_lets_nothing_more_begin() {
    // vmcnt has six bits: when the 64th load has begun, the first is done.
    for (loads, expected) in [(63, vec![FindingKind::MissingWait]), (64, vec![])] {
        let issue: String =
            (0..loads).map(|n| format!("global_load_b32 v{}, v1, s[2:3]\n", 10 + n % 20 + n / 20)).collect();
        let text = format!(
            "s_load_b64 s[2:3], s[0:1], 0x0\nv_mov_b32_e32 v1, 0\ns_waitcnt lgkmcnt(0)\n{issue}\
             v_mov_b32_e32 v2, v10\ns_waitcnt vmcnt(0)\n"
        );
        let loaded = load(&support::assemble_rdna("gfx1100", 32, &text));
        let buffer = loaded.buffer(&[7; 64]);
        let report = loaded.launch("k", [32, 1, 1], [32, 1, 1], &[buffer], Strict::On).expect("it runs");
        let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, expected, "{loads} loads");
    }
}

#[test]
fn an_atomic_that_memory_refuses_returns_zero() {
    const ATOMICS: [&str; 8] = [
        "global_atomic_add v5, v1, v7, s[2:3] offset:2 glc",
        "global_atomic_add_x2 v[4:5], v1, v[8:9], s[2:3] offset:1 glc",
        "global_atomic_cmpswap v5, v[10:11], v[8:9], off glc",
        "global_atomic_add_x2 v[4:5], v[10:11], v[8:9], off glc",
        "flat_atomic_swap v5, v[10:11], v7 glc",
        "buffer_atomic_add v5, v1, s[12:15], 0 offen offset:1 glc",
        "buffer_atomic_add v5, v10, s[12:15], 0 offen glc",
        "ds_add_rtn_u32 v5, v10, v7",
    ];
    for atomic in ATOMICS {
        let body = format!(
            "{SETUP}
            s_mov_b32 s12, s2
            s_and_b32 s13, s3, 0xffff
            s_mov_b32 s14, -1
            s_mov_b32 s15, 0x27000
            v_mov_b32_e32 v10, 0x7fffff00
            v_mov_b32_e32 v11, 0x70
            v_mov_b32_e32 v5, 77
            v_mov_b32_e32 v4, 77
            v_mov_b32_e32 v7, 77
            v_mov_b32_e32 v8, 77
            v_mov_b32_e32 v9, 77
            {atomic}
            s_waitcnt vmcnt(0) lgkmcnt(0)
            global_store_dword v1, v5, s[2:3]
            "
        );
        let loaded = load(&assemble(&body, Asm { lds: 1024, ..Asm::default() }));
        let out = loaded.buffer(&[5; 64]);
        let report = loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], Strict::On).expect("strict mode goes on");
        assert_eq!(report.findings.len(), 1, "{atomic}: {:?}", report.findings);
        assert_eq!(loaded.words(out, 64), [0; 64], "{atomic}");
    }
}

#[test]
fn a_scalar_atomic_that_memory_refuses_returns_zero_and_changes_nothing() {
    // Addresses that are nowhere, that have the wrong alignment, and behind a buffer's end, which is no mistake.
    const ATOMICS: [(&str, usize); 8] = [
        ("s_atomic_add s20, s[10:11], 0x0 glc", 1),
        ("s_atomic_umax_x2 s[20:21], s[10:11], 0x0 glc", 1),
        ("s_atomic_cmpswap s[20:21], s[10:11], 0x0 glc", 1),
        ("s_atomic_swap_x2 s[20:21], s[2:3], 0x4 glc", 1),
        ("s_atomic_cmpswap_x2 s[20:23], s[2:3], 0xc glc", 1),
        ("s_buffer_atomic_add s20, s[12:15], 0x100 glc", 0),
        ("s_buffer_atomic_dec_x2 s[20:21], s[12:15], 0xfc glc", 0),
        ("s_buffer_atomic_cmpswap_x2 s[20:23], s[12:15], 0x104 glc", 0),
    ];
    for (atomic, findings) in ATOMICS {
        let second = if atomic.contains("_x2") { "s21" } else { "0" };
        let body = format!(
            "{SETUP}
            s_mov_b32 s10, 0x7fffff00
            s_mov_b32 s11, 0x70
            s_mov_b64 s[12:13], s[2:3]
            s_and_b32 s13, s13, 0xffff
            s_movk_i32 s14, 0x100
            s_mov_b32 s15, 0x27000
            s_mov_b64 s[20:21], 5
            s_mov_b64 s[22:23], 5
            s_mov_b32 s21, 5
            {atomic}
            s_waitcnt lgkmcnt(0)
            s_or_b32 s20, s20, {second}
            v_mov_b32_e32 v3, s20
            v_cmp_eq_u32_e32 vcc, 3, v0
            s_and_b64 exec, exec, vcc
            global_store_dword v1, v3, s[2:3]
            "
        );
        let loaded = load(&assemble(&body, Asm::default()));
        let out = loaded.buffer(&[5; 64]);
        let report = loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], Strict::On).expect("strict mode goes on");
        assert_eq!(report.findings.len(), findings, "{atomic}: {:?}", report.findings);
        let mut expected = [5; 64];
        expected[3] = 0;
        assert_eq!(loaded.words(out, 64), expected, "{atomic}");
    }
}

#[test]
fn a_wide_atomic_on_scratch_that_memory_refuses_returns_zero() {
    // gfx1250 alone has atomics of 64 bits there. What each adds to a lane's address, and what comes back.
    for (offset, findings, back) in [(0u32, 0, 9), (4, 1, 0), (0x40_0000, 1, 0)] {
        let body = format!(
            "
            s_load_b64 s[2:3], s[0:1], 0x0
            s_mov_b64 s[4:5], src_flat_scratch_base_lo
            v_and_b32_e32 v0, 0x3ff, v0
            v_lshlrev_b32_e32 v1, 2, v0
            v_lshlrev_b32_e32 v11, {lane}, v0
            v_add_nc_u32_e32 v11, s5, v11
            v_mov_b32_e32 v10, s4
            v_mov_b32_e32 v6, 9
            v_mov_b32_e32 v7, 0
            v_mov_b32_e32 v8, 1
            v_mov_b32_e32 v9, 0
            v_mov_b32_e32 v4, 77
            v_mov_b32_e32 v5, 77
            scratch_store_b64 off, v[6:7], off
            s_wait_storecnt 0x0
            v_add_nc_u32_e32 v10, 0x{offset:x}, v10
            flat_atomic_add_u64 v[4:5], v[10:11], v[8:9] th:TH_ATOMIC_RETURN
            s_wait_loadcnt_dscnt 0x0
            v_or_b32_e32 v4, v4, v5
            s_wait_kmcnt 0x0
            global_store_b32 v1, v4, s[2:3]
            ",
            lane = 52 - 32
        );
        let extra = ".amdhsa_private_segment_fixed_size 16\n  .amdhsa_enable_private_segment 1";
        let loaded = load(&support::assemble_rdna_with("gfx1250", 32, &body, extra));
        let out = loaded.buffer(&[5; 32]);
        let report = loaded.launch("k", [32, 1, 1], [32, 1, 1], &[out], Strict::On).expect("strict mode goes on");
        assert_eq!(report.findings.len(), findings, "{offset:#x}: {:?}", report.findings);
        assert_eq!(loaded.words(out, 32), [back; 32], "{offset:#x}");
    }
}
