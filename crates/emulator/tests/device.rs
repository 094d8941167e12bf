//! What the device refuses, and how it stops.

mod support;

use luthier_emulator::{DeviceConfig, EmuError, FindingKind, Strict};
use support::{Asm, assemble, assemble_rdna, assemble_with, load, load_with};

const STORE: &str = "
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s4, 7
  s_store_dword s4, s[2:3], 0x0
";

#[test]
fn bad_launches_are_refused() {
    let loaded = load(&assemble(STORE, Asm::default()));
    let out = loaded.buffer(&[0; 4]);
    let launch = |kernel: &str, grid, block, args: &[u64]| loaded.launch(kernel, grid, block, args, Strict::Off);
    let one = [1, 1, 1];
    assert!(matches!(launch("none", one, one, &[out]), Err(EmuError::NoKernel { known, .. }) if known == "k"));
    assert!(matches!(launch("k", [0, 1, 1], one, &[out]), Err(EmuError::Geometry { .. })));
    assert!(matches!(launch("k", one, [1, 0, 1], &[out]), Err(EmuError::Geometry { .. })));
    assert!(matches!(launch("k", one, [2048, 1, 1], &[out]), Err(EmuError::Geometry { .. })));
    assert!(matches!(launch("k", one, one, &[]), Err(EmuError::Arguments { given: 0, wanted: 8, .. })));
    let report = launch("k", one, one, &[out]).expect("a good launch");
    assert_eq!((report.instructions, report.app_instructions, report.waves), (5, 5, 1));
    assert_eq!(loaded.words(out, 1), [7]);
    assert!(report.histogram.contains(&("s_store_dword", 1)));
}

#[test]
fn workgroups_have_numbers_of_16_bits_in_y_and_z_where_these_share_a_register() {
    let body = "
  s_load_b64 s[2:3], s[0:1], 0x0
  s_wait_kmcnt 0x0
  s_and_b32 s4, ttmp7, 0xffff
  v_mov_b32_e32 v1, s4
  v_mov_b32_e32 v2, 0
  global_atomic_max_u32 v2, v1, s[2:3]
";
    for processor in ["gfx1201", "gfx1250"] {
        let loaded = load(&assemble_rdna(processor, 32, body));
        let out = loaded.buffer(&[0; 4]);
        let launch = |grid| loaded.launch("k", grid, [1, 1, 1], &[out], Strict::Off);
        for grid in [[1, 0x1_0001, 1], [1, 1, 0x1_0001], [2, 0x1_0000, 0x1_0001]] {
            let error = launch(grid).expect_err("too many").to_string();
            assert!(error.contains(&format!("{grid:?} workgroups is not possible: {processor} numbers")), "{error}");
        }
        launch([1, 0x1_0000, 1]).expect("as many as there are numbers");
        assert_eq!(loaded.words(out, 1), [0xffff], "{processor}");
    }
}

#[test]
fn bad_addresses_stop_a_launch_and_are_findings_in_strict_mode() {
    let loaded = load(&assemble(STORE, Asm::default()));
    let out = loaded.buffer(&[0; 4]);
    let launch = |at: u64, strict| loaded.launch("k", [1, 1, 1], [1, 1, 1], &[at], strict);
    match launch(out + 16, Strict::Off) {
        Err(EmuError::Fault { address, text, message, .. }) => {
            assert_eq!(address, Some(out + 16));
            assert!(text.starts_with("s_store_dword s4"), "{text}");
            assert!(message.contains("not all writable"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    let report = launch(out + 16, Strict::On).expect("strict mode goes on");
    assert_eq!(report.findings.len(), 1);
    assert_eq!(
        (report.findings[0].kind, report.findings[0].pc),
        (FindingKind::OutOfBounds, {
            // load 8, wait 4, move 4
            let kernel = assemble(STORE, Asm::default());
            kernel.kernel("k").expect("k").entry + 16
        })
    );
    assert!(launch(out, Strict::On).expect("a good launch").findings.is_empty());
}

#[test]
fn missing_waits_and_undefined_registers_are_found() {
    let body = STORE.replace("  s_waitcnt lgkmcnt(0)\n", "");
    let loaded = load(&assemble(&body, Asm::default()));
    let out = loaded.buffer(&[0; 4]);
    let report = loaded.launch("k", [1, 1, 1], [1, 1, 1], &[out], Strict::On).expect("runs");
    assert!(report.findings.iter().any(|f| f.kind == FindingKind::MissingWait), "{:?}", report.findings);

    let body = STORE.replace("  s_mov_b32 s4, 7\n", "  s_add_u32 s4, s30, 7\n");
    let loaded = load(&assemble(&body, Asm::default()));
    let out = loaded.buffer(&[0; 4]);
    let report = loaded.launch("k", [1, 1, 1], [1, 1, 1], &[out], Strict::On).expect("runs");
    let kinds: Vec<_> = report.findings.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [FindingKind::UndefinedRegister]);
}

#[test]
fn endless_loops_end_at_the_watchdog() {
    let loaded = load_with(
        &assemble("loop:\n s_branch loop\n", Asm::default()),
        DeviceConfig { watchdog: 1_000_000, ..DeviceConfig::default() },
    );
    let result = loaded.launch("k", [1, 1, 1], [1, 1, 1], &[0], Strict::Off);
    assert!(matches!(result, Err(EmuError::Watchdog { .. })), "{result:?}");
}

#[test]
fn unknown_instructions_are_named() {
    let loaded = load(&assemble("s_setvskip s0, s1\n", Asm::default()));
    match loaded.launch("k", [1, 1, 1], [1, 1, 1], &[0], Strict::Off) {
        Err(EmuError::Fault { text, message, .. }) => {
            assert!(text.contains("s_setvskip") && message.contains("skipped"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn grids_and_scratch_beyond_the_hardware_are_refused_with_their_limits() {
    let loaded = load(&assemble(STORE, Asm::default()));
    let out = loaded.buffer(&[0; 4]);
    let refused = |loaded: &support::Loaded, grid| {
        loaded.launch("k", grid, [1, 1, 1], &[out], Strict::Off).expect_err("too much").to_string()
    };
    let text = refused(&loaded, [1 << 31, 1 << 31, 4]);
    assert!(text.contains("[2147483648, 2147483648, 4] work-items") && text.contains("2^64"), "{text}");
    for bytes in ["0xffffffff", "0xfffffff0", "131057"] {
        let extra = format!(".amdhsa_private_segment_fixed_size {bytes}").leak();
        let loaded = load(&assemble(STORE, Asm { extra, ..Asm::default() }));
        let text = refused(&loaded, [1, 1, 1]);
        assert!(text.contains("scratch") && text.contains("131056 bytes"), "{text}");
    }
    let most = Asm { extra: ".amdhsa_private_segment_fixed_size 131056", ..Asm::default() };
    let loaded = load(&assemble(STORE, most));
    let out = loaded.buffer(&[0; 4]);
    loaded.launch("k", [1, 1, 1], [1, 1, 1], &[out], Strict::Off).expect("all the scratch that there is");
}

#[test]
fn a_watchdog_stops_soon_after_its_number_of_instructions() {
    for waves in [1, 4] {
        let config = DeviceConfig { watchdog: 1000, ..DeviceConfig::default() };
        let loaded = load_with(&assemble("loop:\n  s_nop 0\n  s_branch loop\n", Asm::default()), config);
        let group = [64 * waves, 1, 1];
        match loaded.launch("k", group, group, &[0], Strict::Off) {
            Err(EmuError::Watchdog { instructions, .. }) => {
                assert!((1001..1100).contains(&instructions), "{instructions} instructions of {waves} waves");
            }
            other => panic!("{other:?}"),
        }
    }
    // What ends in time is not given up.
    let config = DeviceConfig { watchdog: 5, ..DeviceConfig::default() };
    let loaded = load_with(&assemble(STORE, Asm::default()), config);
    let out = loaded.buffer(&[0; 4]);
    loaded.launch("k", [1, 1, 1], [1, 1, 1], &[out], Strict::Off).expect("five instructions");
}

/// Bytes of memory that this process has had at a time.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux host");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the high-water mark");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn zeros_that_a_file_only_asks_for_take_no_memory_until_they_are_used() {
    let object = assemble_with("k", STORE, ".bss\n.globl big\nbig: .zero 3221225472\n.size big, . - big\n", &[]);
    assert!(object.bytes().len() < 20_000);
    let loaded = load(&object);
    let (big, size) = loaded.device.symbol(loaded.module, "big").expect("the variable");
    assert_eq!(size, 3 << 30);
    let launched =
        loaded.launch("k", [1; 3], [1; 3], &[big + (3 << 30) - 4], Strict::On).expect("the last word is there");
    assert!(launched.findings.is_empty(), "{:?}", launched.findings);
    assert_eq!(loaded.words(big + (3 << 30) - 8, 2), [0, 7]);
    // Of the whole process, this file's other tests included. Differences would not do: the kernel's counts are not exact.
    assert!(most_memory() < 1 << 30, "{} MB", most_memory() >> 20);
}
