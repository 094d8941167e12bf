//! A run of native code, and the interpreter on the same wave: what they leave is compared.

use super::random::Random;
use super::waves::{HELD, held, wave};
use crate::level::{Level, level};
use crate::mode::Mode;
use crate::native::machine::Machine;
use crate::native::native_with;
use crate::native::phase::{Skip, Terms};
use crate::op::{Flow, Op};
use crate::wave::Wave;

pub const HOST: u32 = 0xf0;
/// MODE.FP16_OVFL
pub const OVERFLOWS: u32 = 1 << 23;

/// Machines that this host can be.
pub fn machines() -> Vec<Machine> {
    let levels = [Level::Avx2, Level::Avx512];
    let reach = match level() {
        Level::Base => 0,
        Level::Avx2 => 1,
        Level::Avx512 => 2,
    };
    levels[..reach].iter().filter_map(|&level| Machine::of(level)).collect()
}

pub fn run(w: &mut Wave, ops: &[Op]) {
    for op in ops {
        // SAFETY: handlers of this host, on rows that there are.
        assert_eq!(unsafe { (op.run)(w, op) }, Flow::Next);
    }
}

/// The same where one is a branch onwards, if there is one.
pub fn run_past(w: &mut Wave, ops: &[Op], skip: Option<Skip>) {
    let Some(skip) = skip else { return run(w, ops) };
    run(w, &ops[..skip.at]);
    // SAFETY: as in `run`.
    match unsafe { (ops[skip.at].run)(w, &ops[skip.at]) } {
        Flow::Taken => w.skipped = true,
        flow => {
            assert_eq!(flow, Flow::Fall);
            run(w, &ops[skip.at + 1..skip.to]);
        }
    }
    run(w, &ops[skip.to..]);
}

/// Runs both, and says how many micro-ops fewer there are with native code.
pub(super) fn compare(machine: Machine, ops: &[Op], wave64: bool, seed: u64, mode: u32, rare: usize) -> usize {
    compare_past(machine, ops, None, wave64, seed, mode, rare)
}

/// The same where one of them is a branch onwards.
pub(super) fn compare_past(
    machine: Machine,
    ops: &[Op],
    skip: Option<Skip>,
    wave64: bool,
    seed: u64,
    mode: u32,
    rare: usize,
) -> usize {
    let terms = Terms { skip, ..Terms::new(machine, wave64, Mode(mode), false) };
    let Some(native) = native_with(machine, ops, terms) else { return 0 };
    let mut random = Random::new(seed ^ 0x1234_5678);
    let some = u64::from(random.next()) << 32 | u64::from(random.next());
    for exec in [!0, some, 0, 0x8000_0001, 0x00ff_0000_ff00_00ff] {
        let [mut ours, mut theirs] = [0; 2].map(|_| wave(seed, wave64, exec, mode, rare));
        run(&mut ours, &native.ops);
        run_past(&mut theirs, ops, skip);
        assert_eq!(ours.skipped, theirs.skipped, "{machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        assert_eq!(ours.s[..], theirs.s[..], "scalars: {machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        assert!(held(&ours) == held(&theirs), "memory: {machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        assert_eq!(ours.has_stored, theirs.has_stored, "{machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        assert_eq!(ours.mode, theirs.mode, "{machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        for row in 0..=HELD {
            let (ours, theirs) = (ours.row(row).0, theirs.row(row).0);
            let lane = (0..64).find(|&lane| ours[lane] != theirs[lane]);
            if let Some(lane) = lane {
                let names: Vec<_> = ops.iter().map(|op| (op.kind.operation(), op.dst, op.src)).collect();
                panic!(
                    "v{row} lane {lane}: {:#x}, not {:#x}: {machine:?} wave64 {wave64} exec {exec:#x} seed {seed} {names:?}",
                    ours[lane], theirs[lane]
                );
            }
        }
    }
    ops.len() - native.ops.len()
}
