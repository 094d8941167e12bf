//! In which order waves take turns shows where a kernel leaves it open, and only there.

mod support;

use luthier_emulator::{DeviceConfig, Launch, Schedule, Strict};
use support::{Loaded, hip, load_with};

/// One wave of a workgroup, and one workgroup, writes late what another one reads at once.
const SOURCE: &str = "
DEVICE static inline void dawdle() { for (u32 k = 0; k < 300; k++) asm volatile(\"s_nop 0\"); }
KERNEL waves(volatile u32 *data, u32 *out) {
    if (local_x < 64) { dawdle(); data[local_x] = local_x + 1; }
    else out[local_x - 64] = data[local_x - 64];
}
KERNEL groups(volatile u32 *data, u32 *out) {
    if (group_x == 0) { dawdle(); data[local_x] = local_x + 1; }
    else out[local_x] = data[local_x];
}
KERNEL met(volatile u32 *data, u32 *out) {
    if (local_x < 64) { dawdle(); data[local_x] = local_x + 1; }
    sync();
    if (local_x >= 64) out[local_x - 64] = data[local_x - 64];
}
KERNEL locked(u32 *lock, u32 *count) {
    if (local_x % 64 != 0) return;
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {}
    u32 before = *(volatile u32 *)count;
    dawdle();
    *(volatile u32 *)count = before + 1;
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}";

fn run(loaded: &Loaded, kernel: &str, schedule: Schedule, grid: u32, group: u32) -> Vec<u32> {
    let (data, out) = (loaded.buffer(&[0; 64]), loaded.buffer(&[0; 64]));
    let launch = loaded.prepared(kernel, [grid, 1, 1], [group, 1, 1], &[data, out], Strict::Off);
    loaded.device.launch(&Launch { schedule, ..launch }).expect("it runs");
    loaded.words(out, 64)
}

#[test]
fn what_is_left_open_depends_on_the_schedule_and_comes_again() {
    let loaded = load_with(&hip(SOURCE, "-O1"), DeviceConfig { threads: 1, ..DeviceConfig::default() });
    let written: Vec<u32> = (1..=64).collect();
    for (kernel, grid, group) in [("waves", 128, 128), ("groups", 128, 64)] {
        let of = |schedule| run(&loaded, kernel, schedule, grid, group);
        assert_eq!(of(Schedule::Fair), written, "{kernel}");
        assert_eq!(of(Schedule::Alternate), [0; 64], "{kernel}");
        let random: Vec<_> = (0..20).map(|seed| of(Schedule::Random(seed))).collect();
        assert!(random.contains(&vec![0; 64]), "{kernel}: no seed shows it");
        assert_eq!(random, (0..20).map(|seed| of(Schedule::Random(seed))).collect::<Vec<_>>(), "{kernel}");
    }
}

#[test]
fn what_is_in_order_is_so_on_every_schedule() {
    let loaded = load_with(&hip(SOURCE, "-O1"), DeviceConfig::default());
    let written: Vec<u32> = (1..=64).collect();
    for schedule in [Schedule::Fair, Schedule::Alternate].into_iter().chain((0..10).map(Schedule::Random)) {
        assert_eq!(run(&loaded, "met", schedule, 128, 128), written, "{schedule}");
        // 20 workgroups of two waves, more than are under way together.
        assert_eq!(run(&loaded, "locked", schedule, 20 * 128, 128)[0], 40, "{schedule}");
    }
}
