//! Kernels compiled by clang-22 at -O0 and -O3, in both modes, against what Rust computes.

mod support;

use luthier_emulator::{DeviceConfig, Launch, LaunchReport, Strict};
use support::{Loaded, hip, load, load_with};

const LEVELS: [&str; 2] = ["-O0", "-O3"];

/// Runs a kernel in strict mode, which must find nothing, and again without it, which must take as many instructions.
fn run(loaded: &Loaded, kernel: &str, grid: [u32; 3], group: [u32; 3], args: &[u64]) -> LaunchReport {
    let report = loaded.launch(kernel, grid, group, args, Strict::On).expect("runs");
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert_eq!(report.instructions, report.histogram.iter().map(|h| h.1).sum::<u64>());
    report
}

#[test]
fn ids_and_partial_workgroups() {
    let source = "
KERNEL ids(u32 *out, u32 w, u32 h) {
    u32 bx = __builtin_amdgcn_workgroup_size_x(), by = __builtin_amdgcn_workgroup_size_y();
    u32 bz = __builtin_amdgcn_workgroup_size_z();
    u32 gx = __builtin_amdgcn_grid_size_x(), gy = __builtin_amdgcn_grid_size_y();
    u32 x = group_x * 8 + local_x, y = group_y * 4 + local_y, z = group_z * 2 + local_z;
    u32 at = (z * h + y) * w + x;
    out[at] = x | y << 8 | z << 16 | (bx + by * 3 + bz * 5 + gx + gy) << 24;
}";
    for level in LEVELS {
        let loaded = load(&hip(source, level));
        let (w, h, d) = (19, 7, 5);
        let out = loaded.buffer(&vec![0; (w * h * d) as usize]);
        let args = [out, u64::from(w) | u64::from(h) << 32];
        let report = run(&loaded, "ids", [w, h, d], [8, 4, 2], &args);
        assert_eq!(report.workgroups, 3 * 2 * 3);
        for (at, got) in loaded.words(out, (w * h * d) as usize).into_iter().enumerate() {
            let at = at as u32;
            let (x, y, z) = (at % w, at / w % h, at / w / h);
            // HIP takes all workgroups to be whole: the size is the one asked for.
            let sizes = 8 + 4 * 3 + 2 * 5;
            assert_eq!(got, x | y << 8 | z << 16 | (sizes + w + h) << 24, "{level} {x} {y} {z}");
        }
    }
}

#[test]
fn atomics_of_all_widths_and_spaces() {
    let source = "
KERNEL atoms(u32 *out, u64 *wide, f32 *sum, double *dsum, u32 n) {
    SHARED static u32 counts[4];
    SHARED static u64 big;
    u32 i = group_x * 64 + local_x;
    if (local_x < 4) counts[local_x] = 0;
    if (local_x == 0) big = 0;
    sync();
    __atomic_fetch_add(&counts[i & 3], i, __ATOMIC_RELAXED);
    __atomic_fetch_or(&big, 1ul << local_x, __ATOMIC_RELAXED);
    sync();
    if (local_x < 4) __atomic_fetch_add(&out[local_x], counts[local_x], __ATOMIC_RELAXED);
    if (local_x == 0) __atomic_fetch_and(&wide[1], big, __ATOMIC_RELAXED);
    __atomic_fetch_max(&out[4], i * 7 % 1001, __ATOMIC_RELAXED);
    __atomic_fetch_min((i32 *)&out[5], (i32)i - 50, __ATOMIC_RELAXED);
    __atomic_fetch_xor(&out[6], i, __ATOMIC_RELAXED);
    __atomic_fetch_add(&wide[0], (u64)i << 30, __ATOMIC_RELAXED);
    u32 old = out[7];
    while (!__atomic_compare_exchange_n(&out[7], &old, old + 3, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    __atomic_fetch_add(sum, 0.5f, __ATOMIC_RELAXED);
    __atomic_fetch_add(dsum, 0.25, __ATOMIC_RELAXED);
}";
    for level in LEVELS {
        let loaded = load(&hip(source, level));
        let n = 512u32;
        let out = loaded.buffer(&[0; 8]);
        let wide = loaded.buffer(&[0, 0, !0, !0]);
        let (sum, dsum) = (loaded.buffer(&[0; 2]), loaded.buffer(&[0; 2]));
        run(&loaded, "atoms", [n, 1, 1], [64, 1, 1], &[out, wide, sum, dsum, n.into()]);
        let all = || 0..n;
        let got = loaded.words(out, 8);
        for k in 0..4 {
            assert_eq!(got[k as usize], all().filter(|i| i & 3 == k).sum::<u32>(), "{level}");
        }
        let max = all().map(|i| i * 7 % 1001).max().unwrap_or(0);
        let xor = all().fold(0, |x, i| x ^ i);
        assert_eq!(got[4..], [max, -50i32 as u32, xor, 3 * n], "{level}");
        let total: u64 = all().map(|i| u64::from(i) << 30).sum();
        assert_eq!(loaded.words(wide, 4), [total as u32, (total >> 32) as u32, !0, !0], "{level}");
        assert_eq!(loaded.words(sum, 1), [(0.5 * n as f32).to_bits()], "{level}");
        let dsum = loaded.words(dsum, 2);
        assert_eq!(u64::from(dsum[0]) | u64::from(dsum[1]) << 32, (0.25 * f64::from(n)).to_bits(), "{level}");
    }
}

#[test]
fn narrow_and_wide_accesses() {
    let source = "
typedef u32 v4 __attribute__((ext_vector_type(4)));
typedef u32 v3 __attribute__((ext_vector_type(3)));
KERNEL widths(const unsigned char *in, u32 *out) {
    u32 i = local_x;
    SHARED static v4 quads[64];
    SHARED static unsigned char bytes[256];
    quads[i] = ((const v4 *)in)[i];
    bytes[i * 3] = in[i];
    bytes[i * 3 + 1] = in[i + 1];
    bytes[i * 3 + 2] = (unsigned char)i;
    sync();
    v4 q = quads[63 - i];
    i32 sbyte = ((const signed char *)in)[i * 2 + 1];
    i32 sshort = ((const short *)in)[i * 2 + 1];
    u32 odd = *(const u32 __attribute__((aligned(1))) *)(in + i * 5 + 3);
    out[i] = q.x + q.y * 3 + q.z * 5 + q.w * 7 + sbyte + sshort + odd + bytes[i * 2] + bytes[i + 17];
    ((unsigned short *)(out + 64))[i] = (unsigned short)sshort;
    ((unsigned char *)(out + 96))[i] = (unsigned char)odd;
}";
    let input: Vec<u8> = (0..1024u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let word = |at: usize| u32::from_le_bytes([input[at], input[at + 1], input[at + 2], input[at + 3]]);
    for level in LEVELS {
        let loaded = load(&hip(source, level));
        let words: Vec<u32> = (0..256).map(|i| word(4 * i)).collect();
        let (from, out) = (loaded.buffer(&words), loaded.buffer(&[0; 112]));
        run(&loaded, "widths", [64, 1, 1], [64, 1, 1], &[from, out]);
        let mut bytes = [0u8; 256];
        for i in 0..64 {
            bytes[i * 3] = input[i];
            bytes[i * 3 + 1] = input[i + 1];
            bytes[i * 3 + 2] = i as u8;
        }
        let got = loaded.words(out, 112);
        for i in 0..64usize {
            let q = 16 * (63 - i);
            let quads = [1u32, 3, 5, 7]
                .iter()
                .enumerate()
                .fold(0u32, |sum, (k, f)| sum.wrapping_add(word(q + 4 * k).wrapping_mul(*f)));
            let short = i16::from_le_bytes([input[4 * i + 2], input[4 * i + 3]]);
            let odd = word(5 * i + 3);
            let parts = [input[2 * i + 1] as i8 as u32, short as u32, odd, bytes[2 * i].into(), bytes[i + 17].into()];
            assert_eq!(got[i], parts.iter().fold(quads, |sum, p| sum.wrapping_add(*p)), "{level} {i}");
            assert_eq!((got[64 + i / 2] >> (i % 2 * 16)) as u16, short as u16, "{level} {i}");
            assert_eq!((got[96 + i / 4] >> (i % 4 * 8)) as u8, odd as u8, "{level} {i}");
        }
    }
}

#[test]
fn private_memory_by_flat_pointers_and_recursion() {
    let source = "
DEVICE __attribute__((noinline)) u32 fold(const u32 *p, u32 n) {
    u32 sum = 0;
    for (u32 i = 0; i < n; i++) sum = sum * 31 + p[i];
    return sum;
}
DEVICE __attribute__((noinline)) u32 fib(u32 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
KERNEL stack(u32 *out, const u32 *in) {
    u32 local[16];
    SHARED static u32 lds[16];
    u32 i = group_x * 64 + local_x;
    for (u32 k = 0; k < 16; k++) local[(k * 7 + i) & 15] = in[k] + i;
    if (local_x < 16) lds[local_x] = in[local_x];
    sync();
    const u32 *which = i % 3 == 0 ? local : i % 3 == 1 ? lds : in;
    out[i] = fold(which, 16) + fib(i % 7);
}";
    for level in LEVELS {
        let loaded = load(&hip(source, level));
        let input: Vec<u32> = (0..16).map(|i| i * i + 3).collect();
        let (out, from) = (loaded.buffer(&[0; 192]), loaded.buffer(&input));
        run(&loaded, "stack", [192, 1, 1], [64, 1, 1], &[out, from]);
        for (i, got) in (0u32..).zip(loaded.words(out, 192)) {
            let mut local = [0; 16];
            (0..16u32).for_each(|k| local[((k * 7 + i) & 15) as usize] = input[k as usize] + i);
            let values = if i % 3 == 0 { local.to_vec() } else { input.clone() };
            let sum = values.iter().fold(0u32, |sum, v| sum.wrapping_mul(31).wrapping_add(*v));
            let fib = [0, 1, 1, 2, 3, 5, 8][(i % 7) as usize];
            assert_eq!(got, sum.wrapping_add(fib), "{level} {i}");
        }
    }
}

#[test]
fn locks_between_workgroups_and_waiting_for_later_ones() {
    let source = "
KERNEL lock(u32 *word, u32 *count) {
    if (local_x != 0) return;
    u32 zero = 0;
    while (!__atomic_compare_exchange_n(word, &zero, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) zero = 0;
    u32 old = __atomic_load_n(count, __ATOMIC_RELAXED);
    __builtin_amdgcn_s_sleep(1);
    __atomic_store_n(count, old + 1, __ATOMIC_RELAXED);
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}
KERNEL wait_for_last(u32 *flag, u32 *count, u32 groups) {
    if (local_x != 0) return;
    if (group_x == groups - 1) __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {}
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}";
    for threads in [1, 0] {
        let loaded = load_with(&hip(source, "-O3"), DeviceConfig { threads, ..DeviceConfig::default() });
        let (word, count) = (loaded.buffer(&[0]), loaded.buffer(&[0]));
        run(&loaded, "lock", [64 * 20, 1, 1], [64, 1, 1], &[word, count]);
        assert_eq!(loaded.words(count, 1), [20]);
        run(&loaded, "wait_for_last", [64 * 6, 1, 1], [64, 1, 1], &[word, count, 6]);
        assert_eq!(loaded.words(count, 1), [26]);
    }
}

#[test]
fn a_cooperative_grid_meets_at_a_barrier_of_its_own() {
    let source = "
KERNEL meet(u32 *arrived, u32 *sums, u32 groups) {
    if (local_x != 0) return;
    for (u32 round = 1; round <= 3; round++) {
        __atomic_fetch_add(&sums[group_x], round, __ATOMIC_RELAXED);
        __atomic_fetch_add(arrived, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < round * groups) {}
        u32 next = (group_x + 1) % groups;
        if (__atomic_load_n(&sums[next], __ATOMIC_RELAXED) < round * (round + 1) / 2) sums[next] = 1u << 31;
    }
}";
    const GROUPS: usize = 150;
    for threads in [1, 0] {
        let loaded = load_with(&hip(source, "-O3"), DeviceConfig { threads, ..DeviceConfig::default() });
        let (arrived, sums) = (loaded.buffer(&[0]), loaded.buffer(&[0; GROUPS]));
        let launch = |groups: usize| {
            let kernarg = [arrived, sums, groups as u64];
            let launch = loaded.prepared("meet", [64 * groups as u32, 1, 1], [64, 1, 1], &kernarg, Strict::Off);
            loaded.device.launch(&Launch { cooperative: true, ..launch })
        };
        launch(GROUPS).unwrap();
        assert_eq!(loaded.words(sums, GROUPS), [6; GROUPS]);
        let refused = launch(5000).unwrap_err().to_string();
        assert!(refused.contains("cooperative launch of 5000 workgroups") && refused.contains("4096"), "{refused}");
    }
}

#[test]
fn every_wait_of_a_good_kernel_is_needed() {
    let source = "
KERNEL sums(const u32 *a, const u32 *b, u32 *out) {
    SHARED static u32 lds[64];
    u32 i = local_x;
    lds[i] = a[i] + b[i * 2];
    sync();
    out[i] = lds[63 - i] * a[i + 1];
}";
    let object = hip(source, "-O3");
    let args = |loaded: &Loaded| [loaded.buffer(&[1; 128]), loaded.buffer(&[2; 128]), loaded.buffer(&[0; 64])];
    let good = load(&object);
    let report = run(&good, "sums", [64, 1, 1], [64, 1, 1], &args(&good));
    assert!(report.histogram.iter().any(|(name, _)| *name == "s_waitcnt"));

    let kernel = object.kernel("sums").expect("the kernel");
    let code = object.read(kernel.entry, kernel.code_size).expect("its code").to_vec();
    let file_offset = object.bytes().windows(code.len()).position(|w| w == code).expect("the code is in the file");
    let mut waits = 0;
    let mut at = 0;
    while at < code.len() {
        let inst = luthier_isa::Inst::decode(luthier_isa::Target::Gfx90a, &code[at..]).expect("an instruction");
        if inst.info().base == "s_waitcnt" {
            waits += 1;
            let mut bytes = object.bytes().to_vec();
            bytes[file_offset + at..file_offset + at + 4].copy_from_slice(&0xbf80_0000u32.to_le_bytes()); // s_nop 0
            let loaded = load(&luthier_loader::CodeObject::parse(bytes).expect("still a code object"));
            let args = args(&loaded);
            let report = loaded.launch("sums", [64, 1, 1], [64, 1, 1], &args, Strict::On).expect("runs");
            // The one wait that is not for a register: before the barrier, for the LDS write.
            let next = luthier_isa::Inst::decode(luthier_isa::Target::Gfx90a, &code[at + 4..]).expect("one more");
            if next.info().base != "s_barrier" {
                assert!(!report.findings.is_empty(), "without the wait at {at:#x} nothing was found");
            }
        }
        if inst.info().base == "s_endpgm" {
            break;
        }
        at += inst.size();
    }
    assert!(waits >= 3, "the kernel has {waits} waits");
}
