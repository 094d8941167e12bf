//! Waves that take turns at barriers, in kernels that are short and hot: native code of several blocks, and turns that are
//! two in one, give what the interpreter gives in strict mode, and count what it counts.

mod support;

use luthier_emulator::{DeviceConfig, EmuError, LaunchReport, Strict};
use support::{Loaded, hip_for, load_with};

/// Groups of a launch that makes blocks hot, on one thread.
const MANY: u32 = 600;

const SOURCE: &str = "
KERNEL tree(const u32 *in, u32 *out) {
    SHARED static u32 sums[256];
    u32 lane = local_x;
    sums[lane] = in[group_x * 256 + lane];
    sync();
    for (u32 half = 128; half > 0; half /= 2) {
        if (lane < half) sums[lane] += sums[lane + half];
        sync();
    }
    if (lane == 0) out[group_x] = sums[0];
}
// Half of the waves round otherwise than the first ones.
KERNEL rounding(const u32 *in, u32 *out) {
    SHARED static f32 sums[2][256];
    u32 lane = local_x, wave = __builtin_amdgcn_readfirstlane(lane / 64);
    sums[0][lane] = sums[1][lane] = in[group_x * 256 + lane] * 0.1f;
    __builtin_amdgcn_s_setreg(0x801, wave < 2 ? 0 : wave - 1);
    sync();
    for (u32 k = 0; k < 8; k++) {
        if (lane % 64 < 33 + k) sums[1 - k % 2][lane] = sums[k % 2][lane] + sums[k % 2][(lane + 17) % 256] * 0.3f;
        sync();
    }
    out[group_x * 256 + lane] = __builtin_bit_cast(u32, sums[0][lane]);
}
// Waves end one after the other, and the others go on to meet.
KERNEL fewer(const u32 *in, u32 *out) {
    SHARED static u32 sums[256];
    u32 lane = local_x, sum = 0;
    sums[lane] = in[group_x * 256 + lane];
    sync();
    for (u32 wave = 0; wave < 4; wave++) {
        if (lane / 64 < wave) return;
        for (u32 k = 0; k < 4; k++) sum += sums[(lane + 64 * k + wave) % 256];
        if (lane % 64 < 60 - wave) sum ^= wave;
        out[group_x * 256 + lane] = sum;
        sync();
    }
}
// Halves of a workgroup come to other barriers, as often.
KERNEL apart(const u32 *in, u32 *out) {
    SHARED static u32 sums[256];
    u32 lane = local_x, sum = in[group_x * 256 + lane];
    if (__builtin_amdgcn_readfirstlane(lane) < 128) {
        for (u32 k = 0; k < 3; k++) { if (lane % 64 < 9 + k) sum += k; sums[lane] = sum; sync(); sum += sums[lane ^ 1]; }
    } else {
        for (u32 k = 0; k < 3; k++) { if (lane % 64 > 9 + k) sum ^= k; sums[lane] = sum; sync(); sum -= sums[lane ^ 3]; }
    }
    out[group_x * 256 + lane] = sum;
}
// Waves without a barrier read what the first one writes behind its next branch.
KERNEL beside(u32 *data, u32 *out) {
    u32 lane = local_x, *mine = data + group_x;
    u32 old = *(volatile u32 *)mine;
    if (lane == 0) *(volatile u32 *)mine = old + 1;
    out[group_x * 256 + lane] = old + (lane & 1 ? 5 : 3);
}
// One lane of the last workgroups is beyond the end of `in`, in the branch.
KERNEL beyond(const u32 *in, u32 *out, u64 last) {
    u32 lane = local_x, sum = lane;
    if (lane % 64 < 5) {
        u64 at = lane == 66 && group_x >= last ? 1ul << 40 : group_x * 256 + lane;
        sum += in[at];
    }
    out[group_x * 256 + lane] = sum;
}
// The same between two barriers.
KERNEL between(const u32 *in, u32 *out, u64 last) {
    SHARED static u32 sums[256];
    u32 lane = local_x;
    sums[lane] = lane;
    sync();
    for (u32 k = 0; k < 8; k++) {
        if (lane % 64 < 3 + k) {
            u64 at = k == 5 && lane == 66 && group_x >= last ? 1ul << 40 : group_x * 256 + lane;
            sums[lane] += in[at];
        }
        sync();
    }
    out[group_x * 256 + lane] = sums[lane];
}
KERNEL endless(u32 *data, u32 *out) {
    u32 lane = local_x;
    for (u32 k = 0;; k++) {
        if (lane < (k & 63)) data[group_x * 256 + lane] += k;
        sync();
    }
}
// The same, but nothing that others see comes between two barriers.
KERNEL circling(u32 *data, u32 *out) {
    SHARED static u32 sums[256];
    u32 lane = local_x;
    sums[lane] = 0;
    sync();
    for (u32 k = 0;; k++) {
        if (lane < (k & 63)) sums[lane] += k;
        sync();
    }
}";

/// Waves of 64 lanes, of 32, and those that signal before they wait.
const PROCESSORS: [&str; 3] = ["gfx90a", "gfx1100", "gfx1201"];

fn loaded(processor: &str, threads: usize, watchdog: u64) -> Loaded {
    load_with(&hip_for(processor, SOURCE, "-O2"), DeviceConfig { threads, watchdog, ..DeviceConfig::default() })
}

/// What a launch leaves, and what it has retired.
fn run(loaded: &Loaded, kernel: &str, groups: u32, strict: Strict) -> (Vec<u32>, LaunchReport) {
    let words: Vec<u32> = (0..groups * 256).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    let (data, out) = (loaded.buffer(&words), loaded.buffer(&vec![0; words.len()]));
    let report = loaded.launch(kernel, [groups * 256, 1, 1], [256, 1, 1], &[data, out], strict).expect("it runs");
    (loaded.words(out, words.len()), report)
}

#[test]
fn what_is_hot_computes_and_counts_what_the_interpreter_does() {
    for (processor, threads) in PROCESSORS.into_iter().flat_map(|processor| [(processor, 1), (processor, 3)]) {
        let loaded = loaded(processor, threads, 100_000_000_000);
        for kernel in ["tree", "rounding", "fewer", "apart", "beside"] {
            // Strict mode has races to tell of, which change nothing.
            let (want, judged) = run(&loaded, kernel, MANY, Strict::On);
            for round in 0..3 {
                let at = format!("{kernel}, {processor}, round {round}, {threads} threads");
                let (got, report) = run(&loaded, kernel, MANY, Strict::Off);
                assert!(got == want, "{at}");
                assert_eq!(report.histogram, judged.histogram, "{at}");
                assert_eq!(report.instructions, judged.instructions, "{at}");
                assert_eq!(report.waves, judged.waves, "{at}");
            }
        }
    }
}

#[test]
fn a_fault_behind_a_branch_is_told_as_before() {
    for (processor, kernel) in
        PROCESSORS.into_iter().flat_map(|processor| [(processor, "beyond"), (processor, "between")])
    {
        let loaded = loaded(processor, 1, 100_000_000_000);
        let words = vec![7; 256 * MANY as usize];
        let (data, out) = (loaded.buffer(&words), loaded.buffer(&words));
        let launch = |groups: u32, last: u32| {
            let args = [data, out, u64::from(last)];
            loaded.launch(kernel, [groups * 256, 1, 1], [256, 1, 1], &args, Strict::Off)
        };
        let told = |error: EmuError| error.to_string();
        let cold = told(launch(2, 1).expect_err("a lane is beyond"));
        assert!(cold.contains("global_load"), "{cold}");
        launch(MANY, MANY).expect("it runs");
        assert_eq!(told(launch(2, 1).expect_err("a lane is beyond")), cold, "{kernel}, {processor}");
        assert_eq!(told(launch(MANY, 1).expect_err("a lane is beyond")), cold, "{kernel}, {processor}");
    }
}

#[test]
fn a_limit_is_met_where_it_was() {
    let cases = PROCESSORS.into_iter().flat_map(|processor| [(processor, "endless"), (processor, "circling")]);
    for (processor, kernel) in cases {
        for limit in [1_000, 100_000, 1_000_003] {
            let told = |warm: bool| {
                let loaded = loaded(processor, 1, limit);
                let (data, out) = (loaded.buffer(&[0; 512]), loaded.buffer(&[0; 512]));
                let launch = || loaded.launch(kernel, [512, 1, 1], [256, 1, 1], &[data, out], Strict::Off);
                let first = launch().expect_err("it has no end").to_string();
                if warm { launch().expect_err("it has no end").to_string() } else { first }
            };
            assert_eq!(told(true), told(false), "{kernel}, {processor}, {limit}");
        }
    }
}
