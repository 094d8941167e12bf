//! Accesses of a workgroup's waves to device memory, on both sides of a barrier: what clang makes of the fences around it
//! is enough, and each part of it is missed where LLVM has it for the sake of the fences.

mod support;

use luthier_emulator::{Finding, FindingKind, Strict};
use support::{clang, clang_text, load};

const TARGETS: [(&str, &str); 17] = [
    ("gfx906", "-mno-tgsplit"),
    ("gfx908", "-mno-tgsplit"),
    ("gfx90a", "-mno-tgsplit"),
    ("gfx90a", "-mtgsplit"),
    ("gfx942", "-mno-tgsplit"),
    ("gfx942", "-mtgsplit"),
    ("gfx950", "-mno-tgsplit"),
    ("gfx950", "-mtgsplit"),
    ("gfx1010", "-mno-cumode"),
    ("gfx1010", "-mcumode"),
    ("gfx1030", "-mno-cumode"),
    ("gfx1100", "-mno-cumode"),
    ("gfx1100", "-mcumode"),
    ("gfx1151", "-mno-cumode"),
    ("gfx1201", "-mno-cumode"),
    ("gfx1201", "-mcumode"),
    ("gfx1250", ""),
];

/// Read, overwritten and written again by another wave.
const SOURCE: &str = r#"
typedef unsigned u32;
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(128, 128))) void
#define local_x __builtin_amdgcn_workitem_id_x()
#ifdef FENCES
#define fence(order) __builtin_amdgcn_fence(order, "workgroup")
#else
#define fence(order)
#endif
#define sync() fence(__ATOMIC_RELEASE); __builtin_amdgcn_s_barrier(); fence(__ATOMIC_ACQUIRE)
KERNEL read(u32 *data, u32 *out) {
    data[local_x] = local_x;
    sync();
    out[local_x] = data[local_x ^ 64];
}
KERNEL overwritten(u32 *data, u32 *out) {
    u32 old = data[local_x];
    sync();
    data[local_x ^ 64] = 5;
    out[local_x] = old;
}
KERNEL written_again(u32 *data, u32 *out) {
    data[local_x] = local_x;
    sync();
    data[local_x ^ 64] = 5;
    out[local_x] = 7;
}
"#;
const KERNELS: [&str; 3] = ["read", "overwritten", "written_again"];

/// What clang makes of the source, line by line.
fn compiled(processor: &str, flag: &str, fences: bool) -> Vec<String> {
    let arch = format!("--offload-arch={processor}");
    let mut options = vec!["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", &arch, "-S", "-O2"];
    options.extend(["--no-gpu-bundle-output"]);
    options.extend((!flag.is_empty()).then_some(flag));
    options.extend(fences.then_some("-DFENCES"));
    clang_text(SOURCE, &options).lines().map(str::to_owned).collect()
}

/// The lines of a kernel from its first access to device memory on, and where among them the barrier is.
fn part(lines: &[String], kernel: &str) -> (usize, usize, usize) {
    let start = lines.iter().position(|line| line.starts_with(&format!("{kernel}:"))).expect("the kernel");
    let after = |from: usize, what: &str| from + lines[from..].iter().position(|line| line.contains(what)).expect("it");
    let (first, barrier) = (after(start, "\tglobal_"), after(start, "s_barrier"));
    (first, barrier, after(start, "s_endpgm"))
}

/// Takes out of a line what waits for device memory; gives that.
fn take_wait(line: &mut String) -> Option<String> {
    let old = line.clone();
    let wait = ["vmcnt(0)", "s_waitcnt_vscnt null, 0x0", "s_wait_storecnt 0x0", "s_wait_loadcnt 0x0"];
    let both = [("s_wait_storecnt_dscnt", "s_wait_storecnt"), ("s_wait_loadcnt_dscnt", "s_wait_loadcnt")];
    if let Some((_, single)) = both.iter().find(|(name, _)| old.contains(name)) {
        *line = "\ts_wait_dscnt 0x0".into();
        return Some(format!("\t{single} 0x0"));
    }
    let found = wait.iter().find(|wait| old.contains(**wait))?;
    *line = line.replace(found, "");
    if line.trim() == "s_waitcnt" {
        line.clear();
    }
    Some(if *found == "vmcnt(0)" { "\ts_waitcnt vmcnt(0)".into() } else { format!("\t{found}") })
}

fn waits(lines: &[String], kernel: &str) -> usize {
    let (first, barrier, _) = part(lines, kernel);
    lines[first..barrier].iter().filter(|line| take_wait(&mut line.to_string()).is_some()).count()
}

fn invalidates(line: &str) -> bool {
    ["buffer_gl0_inv", "buffer_inv", "buffer_wbinvl1", "global_inv"].iter().any(|name| line.contains(name))
}

/// The waits in front of the barriers come behind them.
fn wait_later(lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    for kernel in KERNELS {
        let (first, barrier, end) = part(&lines, kernel);
        let waits: Vec<String> = lines[first..barrier].iter_mut().filter_map(take_wait).collect();
        let last = end - lines[..end].iter().rev().position(|line| line.contains("\tglobal_")).expect("the end") - 1;
        lines.splice(last..last, waits);
    }
    lines
}

fn findings(processor: &str, flag: &str, lines: &[String], kernel: &str) -> Vec<Finding> {
    let cpu = format!("-mcpu={processor}");
    let mut options = vec!["-target", "amdgcn-amd-amdhsa", &cpu, "-x", "assembler"];
    options.extend((!flag.is_empty()).then_some(flag));
    let loaded = load(&clang(&lines.join("\n"), &options));
    let (data, out) = (loaded.buffer(&[0; 128]), loaded.buffer(&[0; 128]));
    loaded.launch(kernel, [128, 1, 1], [128, 1, 1], &[data, out], Strict::On).expect("it runs").findings
}

#[test]
fn strict_mode_asks_of_a_workgroup_what_llvm_makes_of_its_fences() {
    let (mut asked_to_wait, mut asked_to_invalidate) = (0, 0);
    for (processor, flag) in TARGETS {
        let (right, bare) = (compiled(processor, flag, true), compiled(processor, flag, false));
        let late = wait_later(&right);
        let stale: Vec<String> = right.iter().filter(|line| !invalidates(line)).cloned().collect();
        for kernel in KERNELS {
            let title = format!("{processor} {flag}: {kernel}");
            let found = |lines: &[String]| findings(processor, flag, lines, kernel);
            let kinds = |lines: &[String]| found(lines).iter().map(|f| f.kind).collect::<Vec<_>>();
            assert_eq!(kinds(&right), [], "{title}: {:?}", found(&right));
            // Some processors wait at every barrier, as they cannot turn back from one.
            let waits = waits(&right, kernel) > waits(&bare, kernel);
            let expected = if waits { vec![FindingKind::MissingWait] } else { vec![] };
            assert_eq!(kinds(&late), expected, "{title} waits late: {:?}", found(&late));
            // Who writes need not look into a cache.
            let invalidates = kernel == "read" && right.len() > stale.len();
            let expected = if invalidates { vec![FindingKind::MemoryRace] } else { vec![] };
            assert_eq!(kinds(&stale), expected, "{title} invalidates nothing: {:?}", found(&stale));
            (asked_to_wait, asked_to_invalidate) =
                (asked_to_wait + u32::from(waits), asked_to_invalidate + u32::from(invalidates));
        }
    }
    assert_eq!((asked_to_wait, asked_to_invalidate), (3 * 12, 8));
}

/// NVIDIA's threadFenceReduction: the last workgroup adds up what the others have left, overwrites it and sets the counter
/// back. `volatile` reads pass by the caches.
const REDUCTION: &str = r#"
typedef unsigned u32;
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(128, 128))) void
#define local_x __builtin_amdgcn_workitem_id_x()
#define group_x __builtin_amdgcn_workgroup_id_x()
#define GROUPS 4
__attribute__((device)) static inline void sync() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define BODY(QUALIFIER, FENCE) { \
    static __attribute__((shared)) bool last; \
    static __attribute__((shared)) u32 sum; \
    if (local_x == 0) sum = 0; \
    sync(); \
    __atomic_fetch_add(&sum, data[group_x * 128 + local_x], __ATOMIC_RELAXED); \
    sync(); \
    if (local_x == 0) { \
        partial[group_x] = sum; \
        FENCE; \
        u32 ticket = __hip_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
        last = ticket == GROUPS - 1; \
    } \
    sync(); \
    if (last) { \
        if (local_x == 64) { \
            u32 total = 0; \
            for (u32 n = 0; n < GROUPS; n++) total += ((QUALIFIER u32 *)partial)[n]; \
            partial[0] = total; \
            *count = 0; \
        } \
    } \
}
KERNEL fenced(u32 *data, u32 *partial, u32 *count) BODY(volatile, __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"))
KERNEL unfenced(u32 *data, u32 *partial, u32 *count) BODY(, )
KERNEL cached(u32 *data, u32 *partial, u32 *count) BODY(, __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"))
"#;

#[test]
fn who_overwrites_what_others_wrote_needs_their_releases_and_no_acquire() {
    for processor in ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
        let arch = format!("--offload-arch={processor}");
        let options =
            ["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", &arch, "-O2", "--no-gpu-bundle-output"];
        let loaded = load(&clang(REDUCTION, &options));
        let run = |kernel: &str| {
            let data = loaded.buffer(&(0..512).collect::<Vec<u32>>());
            let (partial, count) = (loaded.buffer(&[0; 8]), loaded.buffer(&[0; 8]));
            let launched = loaded.launch(kernel, [512, 1, 1], [128, 1, 1], &[data, partial, count], Strict::On);
            (launched.expect("it runs").findings, loaded.words(partial, 1)[0])
        };
        let (found, total) = run("fenced");
        assert!(found.is_empty(), "{processor}: {found:?}");
        assert_eq!(total, 511 * 256, "{processor}");
        // What is read past the caches may be atomic, and so may a small store, where stores do not say: not so here.
        for kernel in ["unfenced", "cached"] {
            let (found, _) = run(kernel);
            let is_race = |f: &Finding| matches!(f.kind, FindingKind::MemoryRace);
            assert!(!found.is_empty() && found.iter().all(is_race), "{processor}: {kernel}: {found:?}");
        }
    }
}
