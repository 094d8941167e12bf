//! In which order waves take turns shows where a kernel leaves it open, and only there.

mod support;

use std::collections::BTreeSet;

use luthier_emulator::explore::{By, Explored, explore};
use luthier_emulator::{DeviceConfig, EmuError, Launch, Pct, Schedule, Strict};
use support::{Loaded, hip, load_with};

/// One wave of a workgroup writes late what another one reads soon (the first branches they do side by side on any schedule),
/// and one workgroup what another one reads at once.
const SOURCE: &str = "
DEVICE static inline void dawdle() { for (u32 k = 0; k < 300; k++) asm volatile(\"s_nop 0\"); }
DEVICE static inline void linger() { for (u32 k = 0; k < 100; k++) asm volatile(\"s_nop 0\"); }
KERNEL waves(volatile u32 *data, u32 *out) {
    if (local_x < 64) { dawdle(); data[local_x] = local_x + 1; }
    else { linger(); out[local_x - 64] = data[local_x - 64]; }
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

fn pct(seed: u64) -> Schedule {
    Schedule::Pct(Pct { seed, depth: 4, steps: 400 })
}

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
    for schedule in
        [Schedule::Fair, Schedule::Alternate].into_iter().chain((0..10).map(Schedule::Random)).chain((0..10).map(pct))
    {
        assert_eq!(run(&loaded, "met", schedule.clone(), 128, 128), written, "{schedule}");
        // 20 workgroups of two waves, more than are under way together.
        assert_eq!(run(&loaded, "locked", schedule.clone(), 20 * 128, 128)[0], 40, "{schedule}");
    }
}

/// Two threads, workgroups or waves of one, which act in their first lanes.
const LITMUS: &str = "
#define LOAD(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
KERNEL buffering(u32 *x, u32 *out) {
    u32 me = group_x + __builtin_amdgcn_readfirstlane(local_x / 64);
    if (local_x % 64) return;
    if (me == 0) { STORE(x, 1); out[0] = LOAD(x + 16) + 1; }
    else { STORE(x + 16, 1); out[1] = LOAD(x) + 1; }
}
KERNEL counts(u32 *x, u32 *out) {
    if (local_x % 64) return;
    for (u32 k = 0; k < 2; k++) STORE(x, LOAD(x) + 1);
}
KERNEL apart(u32 *x, u32 *out) {
    u32 me = 2 * group_x + __builtin_amdgcn_readfirstlane(local_x / 64);
    for (u32 k = 0; k < 3; k++) out[(me * 3 + k) & 63] = x[me] + k;
}
KERNEL locks(u32 *x, u32 *out) {
    u32 me = group_x + __builtin_amdgcn_readfirstlane(local_x / 64);
    if (local_x % 64) return;
    u32 *first = me ? x : x + 16, *second = me ? x + 16 : x;
    while (__atomic_exchange_n(first, 1, __ATOMIC_ACQUIRE)) __builtin_amdgcn_s_sleep(1);
    while (__atomic_exchange_n(second, 1, __ATOMIC_ACQUIRE)) __builtin_amdgcn_s_sleep(1);
    out[0] += 1;
    __atomic_store_n(second, 0, __ATOMIC_RELEASE);
    __atomic_store_n(first, 0, __ATOMIC_RELEASE);
}";

/// What is in two arrays of 64 words at the end, under each kind of schedules that was found.
fn outcomes(kernel: &str, grid: u32, by: By, most: u64) -> (Explored, BTreeSet<(u32, u32, u32)>) {
    let config = || DeviceConfig { watchdog: 20_000, ..DeviceConfig::default() };
    let loaded = load_with(&hip(LITMUS, "-O1"), config());
    let again = |schedule: Schedule| {
        let (data, out) = (loaded.buffer(&[0; 64]), loaded.buffer(&[0; 64]));
        let launch =
            loaded.prepared(kernel, [grid, 1, 1], [if grid > 128 { 128 } else { 64 }, 1, 1], &[data, out], Strict::Off);
        (data, out, Launch { schedule, ..launch })
    };
    let (_, _, launch) = again(Schedule::Choices([].into()));
    let mut stage = loaded.device.stage(&launch, true).expect("it begins");
    let explored = explore(&mut stage, by, most, &|| true).expect("it ends");
    let mut seen = BTreeSet::new();
    for outcome in &explored.outcomes {
        let (data, out, launch) = again(outcome.schedule.clone());
        let ended = loaded.device.launch(&launch);
        assert_eq!(ended.is_err(), outcome.error.is_some(), "{kernel}: {}", outcome.schedule);
        if ended.is_ok() {
            seen.insert((loaded.words(data, 1)[0], loaded.words(out, 1)[0], loaded.words(out, 2)[1]));
        }
    }
    (explored, seen)
}

#[test]
fn all_orders_of_what_conflicts_are_found_and_then_there_are_no_others() {
    // Store buffering: at least one thread sees what the other one has stored.
    let (explored, seen) = outcomes("buffering", 128, By::Order, 1000);
    assert!(explored.exhausted);
    assert_eq!(seen, BTreeSet::from([(1, 1, 2), (1, 2, 1), (1, 2, 2)]));
    assert!(explored.schedules <= 200, "{explored:?}");
    // Two that count to two without a lock.
    let (explored, seen) = outcomes("counts", 128, By::Order, 1000);
    assert!(explored.exhausted);
    assert_eq!(seen.iter().map(|found| found.0).collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn what_does_not_conflict_has_one_order() {
    let (explored, seen) = outcomes("apart", 256, By::Order, 1000);
    assert!(explored.exhausted);
    assert_eq!((explored.schedules, seen.len()), (1, 1));
}

#[test]
fn bounded_interruptions_find_what_needs_no_more() {
    let count = |most| outcomes("counts", 128, By::Preemptions(most), 2000);
    assert_eq!(count(0).1.len(), 1);
    let (explored, seen) = count(2);
    assert!(explored.exhausted);
    assert_eq!(seen.iter().map(|found| found.0).collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn priorities_find_two_locks_taken_crosswise() {
    let (explored, _) = outcomes("locks", 128, By::Pct { seed: 0, depth: 3 }, 128);
    let stopped = explored.outcomes.iter().filter(|o| matches!(o.error, Some(EmuError::Watchdog { .. })));
    assert_eq!(stopped.count(), 1, "{explored:?}");
    assert_eq!(explored.outcomes.len(), 2);
}
