//! Which counters an instruction is counted by, and which ones it waits for: isa's table, as strict mode needs it.

use luthier_isa::wait::{Kind, counted};
use luthier_isa::{Counter, Generation, Inst, Op};

use super::operations::{ASYNC, BVH, Counters, LDS, LOADS, Most, OWN_ORDER, SAMPLES, SCALAR, STORES, TENSOR, Wait};

/// Zero for those that no result waits for.
fn bit(counter: Counter) -> Counters {
    match counter {
        Counter::Vm => LOADS,
        Counter::Lgkm | Counter::Ds => LDS,
        Counter::Vs => STORES,
        Counter::Km => SCALAR,
        Counter::Sample => SAMPLES,
        Counter::Bvh => BVH,
        Counter::Async => ASYNC,
        Counter::Tensor => TENSOR,
        Counter::Exp | Counter::X => 0,
    }
}

/// The counters that an instruction raises. What messages answer nothing says.
pub fn counters(inst: &Inst) -> Counters {
    counted(inst).filter(|one| one.kind != Kind::Message).fold(0, |all, one| all | bit(one.counter))
}

/// The most that the counters of a processor can stand at.
pub fn most(generation: Generation) -> Most {
    let there = Counter::ALL.into_iter().filter(|&counter| bit(counter) != 0 && counter.name(generation).is_some());
    there.fold(Most::default(), |mut all, counter| {
        all[bit(counter).trailing_zeros() as usize] = counter.most(generation);
        all
    })
}

/// With fewer operations than this in flight none of these counters can be full.
pub fn room(counters: Counters, most: &Most) -> u8 {
    let raised = most.iter().enumerate().filter(|(k, most)| counters >> k & 1 != 0 && **most > 1);
    raised.map(|(_, &most)| most).min().unwrap_or(u8::MAX)
}

/// The order of completion among what one counter counts.
pub fn order(inst: &Inst) -> u8 {
    if counted(inst).any(|one| one.kind == Kind::AsyncStore) { OWN_ORDER } else { 0 }
}

/// Whether an instruction lets no DS operation remain.
pub fn waits_for_ds(inst: &Inst) -> bool {
    wait(inst).is_some_and(|wait| wait.counters & LDS != 0 && wait.limits[LDS.trailing_zeros() as usize] == 0)
}

/// What an instruction waits for.
pub fn wait(inst: &Inst) -> Option<Wait> {
    let wait = luthier_isa::Wait::of_instruction(inst);
    let bounds = wait.bounds().filter(|&(counter, _)| bit(counter) != 0);
    let some = bounds.fold(Wait::default(), |all, (counter, most)| all.and(Wait::of(bit(counter), most.into())));
    (some.counters != 0 || inst.info().op() == Op::SWaitcnt).then_some(some)
}
