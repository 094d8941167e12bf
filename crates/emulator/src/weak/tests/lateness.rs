//! Loads and atomics that are put off: behind which stores, and what they bring.

use super::*;
use crate::mem::access;
use crate::op::Flow;

/// Two waves that load one place and store to the other one: how often both see what the other one has stored, with and
/// without a wait in between.
fn buffered(generation: Generation, waits: bool, within: bool) -> usize {
    let waves = [WaveId { group: 0, wave: 0 }, WaveId { group: u64::from(!within), wave: 1 }];
    let wait = Mark::Wait { stores: true, loads: true };
    let crossed = |seed: &u64| {
        let device = Device::new(*seed, generation, false);
        let mut seen = Vec::new();
        for (number, wave) in waves.into_iter().enumerate() {
            let (own, other) = (128 * number as u64, 128 * (1 - number as u64));
            let (now, _) = device.issue(wave, Mark::Load(ALL), own, 1 + number as u64, 0);
            seen.extend(now);
            if waits {
                seen.extend(device.mark(wave, wait).into_iter().map(|(_, value)| value));
            }
            device.store(wave, Mark::Store { through: true }, other, 1);
        }
        for wave in waves.into_iter().rev() {
            seen.extend(device.mark(wave, wait).into_iter().map(|(_, value)| value));
        }
        assert_eq!(seen.len(), 2, "{generation:?} {seed}: {seen:?}");
        seen == [1, 1]
    };
    (0..200).filter(crossed).count()
}

#[test]
fn a_load_is_done_behind_a_store_that_follows_unless_its_wave_waits_or_shares_a_cache_with_the_other_one() {
    for generation in GENERATIONS {
        assert!(buffered(generation, false, false) > 10, "{generation:?}");
        assert_eq!(buffered(generation, true, false), 0, "{generation:?}: waited for");
        assert_eq!(buffered(generation, false, true), 0, "{generation:?}: in one workgroup");
    }
}

/// A wave of lanes that lie at odd distances, on a device whose loads are late if they may be.
fn wave(caches: Option<&Arc<Caches>>, memory: &Arc<Memory>) -> Wave {
    let mut w = Wave::new();
    w.memory = Arc::clone(memory);
    w.kept = !0;
    (0..8).for_each(|row| {
        w.row_mut(row).0 = std::array::from_fn(|lane| 0x1234_5678_u32.wrapping_mul(row as u32 + lane as u32))
    });
    w.weak = caches.map(|caches| Box::new(caches.part(WaveId { group: 0, wave: 0 })));
    w.is_watched = caches.is_some();
    w
}

#[test]
fn late_loads_and_atomics_leave_in_registers_and_memory_what_those_at_once_do() {
    use Transfer::*;
    let loads = [Words, U8, I8, U16, I16, U8Lo, I8Lo, B16Lo, U8Hi, I8Hi, B16Hi].map(Action::Load);
    let atomics =
        [Atomic::Swap, Atomic::CmpSwap, Atomic::Add, Atomic::FAdd, Atomic::PkAddF16, Atomic::SMax, Atomic::Dec];
    let atomics = atomics.into_iter().flat_map(|atomic| [true, false].map(|returns| Action::Atomic(atomic, returns)));
    let bytes: Vec<u8> = (0..4096u32).map(|at| ((at * 37) >> 2) as u8).collect();
    let caching = Caching::new(Generation::Gfx90a, Within::default());
    let mut late = 0;
    for action in loads.into_iter().chain(atomics) {
        let is_atomic = matches!(action, Action::Atomic(..));
        let forms = [(1, 4, 4), (2, 4, 8), (4, 4, 16), (3, 256, 4), (2, 4, 36), (1, 4, 0)];
        for (words, stride, apart) in forms.into_iter().filter(|form| !is_atomic || form.0 < 3 && form.2 != 36) {
            for mask in [!0, 0x5a5a_0000_ffff_1234] {
                let words = if is_atomic || action == Action::Load(Words) { words } else { 1 };
                let rows = Rows { dst: 4, data: 0, words };
                let run = |is_late: bool| {
                    let mut memory = Memory::new();
                    let start = memory.allocate(4096, true).expect("room");
                    memory.write(start, &bytes).expect("there");
                    let memory = Arc::new(memory);
                    let caches = Arc::new(Caches::new(32, caching, Arc::clone(&memory), 0..0));
                    let mut w = wave(is_late.then_some(&caches), &memory);
                    let lane = std::array::from_fn(|lane| start + lane as u64 * apart);
                    super::before(&mut w, if is_atomic { Mark::Atomic } else { Mark::Load(0) }, 0);
                    let flow = access::issue(&mut w, action, rows, &Addresses { lane, mask, stride });
                    assert_eq!(flow, Flow::Next);
                    let is_done = caches.lock().is_done();
                    super::before(&mut w, Mark::Wait { stores: true, loads: true }, 0);
                    caches.flush();
                    let mut left = vec![0; 4096];
                    memory.read(start, &mut left).expect("there");
                    (is_done, left, w.rows[..8].iter().map(|row| row.0).collect::<Vec<_>>())
                };
                let ((_, left, registers), then) = (run(false), run(true));
                late += usize::from(!then.0);
                assert!((&left, &registers) == (&then.1, &then.2), "{action:?} {words} {stride} {apart} {mask:#x}");
            }
        }
    }
    assert!(late > 100, "{late} were late");
}
