//! Atomics of 8 and 16 bits, which compilers widen to the word around them, at the end of an allocation.

mod support;

use luthier_emulator::{FindingKind, LaunchReport, Strict};
use luthier_isa::Target;
use support::{Asm, assemble_for, assemble_rdna, load};

const CDNA: [Target; 3] = [Target::Gfx90a, Target::Gfx942, Target::Gfx950];
const RDNA: [&str; 4] = ["gfx1030", "gfx1100", "gfx1201", "gfx1250"];

/// What came of a processor's runs.
type Runs<const N: usize> = (&'static str, [(LaunchReport, Vec<u8>); N]);

/// One lane runs a body on buffers of these sizes in bytes, all 0x11; each one's report, and the buffer with the rest of its words.
/// In the assembly of RDNA4, which is put into older words.
fn run<const N: usize>(sizes: [u64; N], body: &str) -> Vec<Runs<N>> {
    let text = format!("s_load_b64 s[2:3], s[0:1], 0x0\nv_mov_b32_e32 v1, 0\nKM\ns_mov_b32 exec_lo, 1\n{body}\n");
    let older = |text: &str| {
        let words = [
            ("load_b64", "load_dwordx2"),
            ("load_b32", "load_dword"),
            ("store_b32", "store_dword"),
            ("load_u16", "load_ushort"),
            ("cmpswap_b32", "cmpswap"),
            ("atomic_add_u32", "atomic_add"),
            ("atomic_or_b32", "atomic_or"),
            ("th:TH_ATOMIC_RETURN", "glc"),
            ("atomic_and_b32", "atomic_and"),
        ];
        words.iter().fold(text.to_owned(), |text, (new, old)| text.replace(new, old))
    };
    let waits = |text: &str, km: &str, load: &str| text.replace("KM", km).replace("LOAD", load);
    let mut all = Vec::new();
    for target in CDNA {
        let text = waits(&older(&text), "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)")
            .replace("exec_lo, 1", "exec_lo, 1\ns_mov_b32 exec_hi, 0")
            .replace("VCC", "vcc");
        let glc = if matches!(target, Target::Gfx942 | Target::Gfx950) { "sc0" } else { "glc" };
        all.push((target.name(), assemble_for(target, &text.replace("glc", glc), Asm::default())));
    }
    let text = text.replace("VCC", "vcc_lo");
    for name in RDNA {
        let is_new = name.starts_with("gfx12");
        let text = if name == "gfx1030" { older(&text) } else { text.clone() };
        let text = match is_new {
            true => waits(&text, "s_wait_kmcnt 0x0", "s_wait_loadcnt 0x0"),
            false => waits(&text, "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)").replace("th:TH_ATOMIC_RETURN", "glc"),
        };
        all.push((name, assemble_rdna(name, 32, &text)));
    }
    let run = |name: &'static str, loaded: &support::Loaded, bytes: u64| {
        let buffer = loaded.device.alloc(bytes).expect("memory");
        let whole = bytes.next_multiple_of(4) as usize;
        loaded.device.write(buffer, &vec![0x11; whole]).expect("a valid address");
        let plain = loaded.launch("k", [32, 1, 1], [32, 1, 1], &[buffer], Strict::Off);
        plain.unwrap_or_else(|error| panic!("{name}: {error}"));
        loaded.device.write(buffer, &vec![0x11; whole]).expect("a valid address");
        let report = loaded.launch("k", [32, 1, 1], [32, 1, 1], &[buffer], Strict::On).expect("strict mode goes on");
        let mut out = vec![0; whole];
        loaded.device.read(buffer, &mut out).expect("a valid address");
        (report, out)
    };
    let each = |(name, object)| {
        let loaded = load(&object);
        (name, sizes.map(|bytes| run(name, &loaded, bytes)))
    };
    all.into_iter().map(each).collect()
}

fn kinds(report: &LaunchReport) -> Vec<FindingKind> {
    report.findings.iter().map(|finding| finding.kind).collect()
}

/// Adds 5 to the 16 bits at the end of six bytes, as LLVM does it.
const LOOP: &str = "
global_load_b32 v3, v1, s[2:3] offset:4
loop:
LOAD
v_mov_b32_e32 v5, v3
v_mov_b32_e32 v6, 0xffff0000
v_and_b32_e32 v6, v6, v5
v_mov_b32_e32 v4, 0x1116
v_or_b32_e32 v4, v4, v6
global_atomic_cmpswap_b32 v3, v1, v[4:5], s[2:3] offset:4 th:TH_ATOMIC_RETURN
LOAD
v_cmp_ne_u32_e32 VCC, v3, v5
s_and_b32 vcc_lo, vcc_lo, exec_lo
s_cmp_lg_u32 vcc_lo, 0
s_cbranch_scc1 loop
";

#[test]
fn an_atomic_on_the_word_around_its_halves_reaches_behind_the_end() {
    for (name, [(report, bytes)]) in run([6], LOOP) {
        assert_eq!(kinds(&report), [], "{name}: {:?}", report.findings);
        assert_eq!(bytes[4..], [0x16, 0x11, 0x11, 0x11], "{name}");
    }
    for plain in [
        "v_mov_b32_e32 v4, 0x4400\nglobal_atomic_or_b32 v1, v4, s[2:3] offset:4",
        "v_mov_b32_e32 v4, 0xffff2222\nglobal_atomic_and_b32 v1, v4, s[2:3] offset:4",
    ] {
        for (name, [(report, bytes)]) in run([6], plain) {
            assert_eq!((kinds(&report), &bytes[6..]), (vec![], &[0x11, 0x11][..]), "{name}");
            assert_ne!(bytes[4..6], [0x11, 0x11], "{name}");
        }
    }
}

#[test]
fn what_changes_or_keeps_bytes_behind_the_end_is_found() {
    let beyond = [
        // It is not given back as it was.
        LOOP.replace("0xffff0000", "0x1000000"),
        "v_mov_b32_e32 v4, 0x10000\nglobal_atomic_add_u32 v1, v4, s[2:3] offset:4".to_owned(),
        // A load that no atomic explains; a load of a half behind the end; a store.
        "global_load_b32 v3, v1, s[2:3] offset:4\nLOAD\nglobal_store_b32 v1, v3, s[2:3]".to_owned(),
        "global_load_u16 v3, v1, s[2:3] offset:6\nLOAD\nglobal_store_b32 v1, v3, s[2:3]".to_owned(),
        "global_store_b32 v1, v1, s[2:3] offset:4".to_owned(),
        "s_load_b32 s4, s[2:3], 0x4\nKM\nv_mov_b32_e32 v3, s4\nglobal_store_b32 v1, v3, s[2:3]".to_owned(),
    ];
    for body in &beyond {
        for (name, [(report, _), (whole, _)]) in run([6, 8], body) {
            let found = kinds(&report);
            let is_right = !found.is_empty() && found.iter().all(|kind| *kind == FindingKind::OutOfBounds);
            assert!(is_right, "{name}: {body}: {:?}", report.findings);
            assert!(report.findings[0].message.contains("of an allocation that ends at"), "{:?}", report.findings[0]);
            // There is no such thing with whole words.
            assert_eq!(kinds(&whole), [], "{name}: {body}");
        }
    }
}
