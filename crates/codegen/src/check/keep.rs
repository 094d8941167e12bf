//! Values from before an instruction, kept over it for hooks behind it.

use luthier_isa::{Inst, Reg, RegRange};

use super::state::is_vector;
use super::value::Value;
use super::{Checker, Question, Violation, Wrong};

/// All that is wrong with the code that keeps values. `question.olds` are the values and where they are kept;
/// `question.inst` is the instruction that they are kept over.
pub fn keep(question: &Question) -> Vec<Violation> {
    // The keepers hold nothing of their own yet.
    let plain = Question { olds: &[], ..*question };
    let mut checker = Checker::new(&plain);
    checker.run();
    let mut moves_lanes = false;
    question.inst.for_each_access(|a| {
        moves_lanes |= a.access.writes() && matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI);
    });
    for (range, kept) in question.olds {
        if range.count != kept.count {
            checker.wrong(Wrong::NoArgument { hook: range.to_string(), arg: 0 });
        }
        for (of, reg) in range.units().zip(kept.units()) {
            let (holds, wanted) = (checker.state.get(reg), Value::Own(of));
            let is_mode = matches!(holds, Value::Mode(bits) if of == Reg::MODE && bits.is_own_copy());
            if holds != wanted && !is_mode {
                checker.wrong(Wrong::Value { reg, holds, wanted });
            }
            let inactive = checker.state.both(reg).inactive;
            if moves_lanes && is_vector(reg) && inactive != wanted {
                checker.wrong(Wrong::Inactive { reg, holds: inactive, wanted });
            }
        }
    }
    let mut violations = checker.finish();
    let address = question.site.address;
    violations.extend(overwritten(question.inst, question.olds).map(|kind| Violation { address, kind }));
    violations
}

/// Keepers that the instruction writes, or that keep two values.
fn overwritten<'a>(inst: &'a Inst, olds: &'a [(RegRange, RegRange)]) -> impl Iterator<Item = Wrong> + 'a {
    let keeps = |reg: Reg| olds.iter().filter(|(_, kept)| kept.units().any(|u| u == reg)).count();
    let mut found = Vec::new();
    inst.for_each_access(|a| {
        if a.access.writes() && keeps(a.reg) > 0 {
            found.push(a.reg);
        }
    });
    let twice = olds.iter().flat_map(|(_, kept)| kept.units()).filter(move |reg| keeps(*reg) > 1);
    found.extend(twice);
    found.into_iter().map(|reg| Wrong::Keeper { inst: Box::new(*inst), reg })
}
