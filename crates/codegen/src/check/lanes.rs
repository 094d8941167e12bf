//! In which lanes a hook's instructions run: in those that the application has on, or in others too.
//!
//! EXEC is followed through the hook, with the masks in scalars that it is made of. Of each scalar it is known whether all
//! of its bits are of lanes that the application has on; a constant, or what is not followed, may have any. What a lane is
//! given by (a wave without lanes) is not asked: from then on EXEC has a lane of its own, until it is made of the
//! application's again.

use luthier_isa::{Flags, Inst, Op, Operand, Reg, Wave};

/// Scalars whose bits are all of lanes that the application has on: as the lower half of a mask, and as the upper one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Masks([u128; 2]);

/// By half: whether a unit is such a one.
type Within = [bool; 2];

const LOW: usize = Reg::EXEC_LO.index();

impl Masks {
    fn at_start() -> Masks {
        Masks([1 << LOW, 1 << (LOW + 1)])
    }

    fn meet(self, other: Masks) -> Masks {
        Masks([self.0[0] & other.0[0], self.0[1] & other.0[1]])
    }

    fn of_unit(&self, reg: Reg) -> Within {
        self.0.map(|known| reg.index() < 128 && known >> reg.index() & 1 != 0)
    }

    /// A unit of an operand.
    fn of(&self, operand: Operand, unit: usize) -> Within {
        match operand {
            Operand::Reg(range) if unit < usize::from(range.count) => self.of_unit(range.first.offset(unit as u16)),
            // Zero.
            Operand::Inline(128) => [true; 2],
            _ => [false; 2],
        }
    }

    fn set(&mut self, reg: Reg, within: Within) {
        if reg.index() < 128 {
            for (known, within) in self.0.iter_mut().zip(within) {
                *known = *known & !(1 << reg.index()) | u128::from(within) << reg.index();
            }
        }
    }

    /// EXEC has no lane that the application has off.
    fn is_own(&self, wave: Wave) -> bool {
        let [low, high] = self.0;
        low >> LOW & 1 != 0 && (wave == Wave::W32 || high >> (LOW + 1) & 1 != 0)
    }

    fn step(&mut self, inst: &Inst) {
        let before = *self;
        let op = inst.info().op();
        let exec = |unit: usize| before.of_unit(Reg::EXEC_LO.offset(unit as u16));
        let mut written = Vec::new();
        inst.for_each_access(|a| {
            if a.access.writes() && a.reg.index() < 128 {
                written.push(a.reg);
            }
        });
        written.iter().for_each(|reg| self.set(*reg, [false; 2]));
        if op.is_compare() {
            // EXEC keeps its old bits at most, and so does what else is written.
            let unit = |reg: Reg| match reg {
                Reg::VCC_LO | Reg::EXEC_LO => 0,
                Reg::VCC_HI | Reg::EXEC_HI => 1,
                other => written.iter().position(|r| *r == other).unwrap_or(0) & 1,
            };
            written.iter().for_each(|reg| self.set(*reg, exec(unit(*reg))));
            return;
        }
        if !inst.info().flags.contains(Flags::SALU) {
            return;
        }
        // Comparisons and the like have no result in a scalar.
        if !inst.operands().next().is_some_and(|(operand, _)| operand.access.writes()) {
            return;
        }
        let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
        let either = |a: Within, b: Within| [a[0] | b[0], a[1] | b[1]];
        let both = |a: Within, b: Within| [a[0] & b[0], a[1] & b[1]];
        let saves = op.is_saveexec();
        let (to, a, b) = match operands[..] {
            [Operand::Reg(to), a] => (to, a, None),
            [Operand::Reg(to), a, b] => (to, a, Some(b)),
            _ => return,
        };
        for unit in 0..usize::from(to.count) {
            let (a, b) = (before.of(a, unit), b.map_or([false; 2], |b| before.of(b, unit)));
            let result = match op {
                Op::SMovB32 | Op::SMovB64 => a,
                Op::SAndB32 | Op::SAndB64 => either(a, b),
                Op::SAndn2B32 | Op::SAndn2B64 => a,
                Op::SOrB32 | Op::SOrB64 | Op::SXorB32 | Op::SXorB64 | Op::SCselectB32 | Op::SCselectB64 => both(a, b),
                _ if saves => exec(unit),
                _ => [false; 2],
            };
            self.set(to.first.offset(unit as u16), result);
            let narrowed = match op {
                Op::SAndSaveexecB32 | Op::SAndSaveexecB64 => either(a, exec(unit)),
                Op::SAndn1SaveexecB32 | Op::SAndn1SaveexecB64 => exec(unit),
                Op::SAndn2SaveexecB32 | Op::SAndn2SaveexecB64 => a,
                Op::SOrSaveexecB32 | Op::SOrSaveexecB64 | Op::SXorSaveexecB32 | Op::SXorSaveexecB64 => {
                    both(a, exec(unit))
                }
                _ => continue,
            };
            self.set(Reg::EXEC_LO.offset(unit as u16), narrowed);
        }
    }
}

/// Of each instruction whether it may run in lanes that the application has off; what EXEC does not hold back does.
pub fn beyond(code: &[Inst]) -> Vec<bool> {
    let free = |inst: &Inst| inst.info().flags.contains(Flags::IGNORES_EXEC);
    let Some(first) = code.first() else { return Vec::new() };
    let wave = first.info().mode.wave();
    let mut before: Vec<Option<Masks>> = vec![None; code.len()];
    before[0] = Some(Masks::at_start());
    let starts: Vec<u64> = code
        .iter()
        .scan(0, |at, inst| {
            let start = *at;
            *at += inst.size() as u64;
            Some(start)
        })
        .collect();
    let mut work = vec![0];
    while let Some(at) = work.pop() {
        let Some(mut masks) = before[at] else { continue };
        masks.step(&code[at]);
        for next in successors(&code[at], at, starts[at], &starts).into_iter().flatten() {
            let Some(known) = before.get_mut(next) else { continue };
            let met = known.map_or(masks, |known| known.meet(masks));
            if *known != Some(met) {
                *known = Some(met);
                work.push(next);
            }
        }
    }
    let strays = |masks: Option<Masks>| masks.is_some_and(|masks| !masks.is_own(wave));
    code.iter().zip(before).map(|(inst, masks)| free(inst) || strays(masks)).collect()
}

/// What may run behind an instruction; one past the end where the hook ends.
fn successors(inst: &Inst, at: usize, start: u64, starts: &[u64]) -> [Option<usize>; 2] {
    let flags = inst.info().flags;
    let target = inst.branch_target(start).map(|to| starts.partition_point(|start| *start < to));
    match () {
        () if flags.contains(Flags::END) => [None, None],
        () if flags.contains(Flags::COND_BRANCH) => [Some(at + 1), target],
        () if flags.contains(Flags::BRANCH) => [None, target],
        () => [Some(at + 1), None],
    }
}

#[cfg(test)]
mod tests {
    use luthier_isa::{Mode, RegRange, Target};

    use super::*;

    fn beyond_in(source: &[&[Operand]], ops: &[Op], mode: Mode) -> Vec<bool> {
        let insts: Vec<Inst> = ops
            .iter()
            .zip(source)
            .map(|(op, operands)| Inst::build(mode.plain(*op).expect("the operation"), operands).expect("operands"))
            .collect();
        beyond(&insts)
    }

    /// A wave is given a lane, and what narrows EXEC from then on narrows that, until the application's is put back.
    #[test]
    fn a_lane_that_is_given_stays_one_until_exec_is_put_back() {
        let mode = Mode::new(Target::Gfx90a, Wave::W64).expect("a mode");
        let exec = Operand::Reg(RegRange::new(Reg::EXEC_LO, 2));
        let pair = |n| Operand::Reg(RegRange::new(Reg::sgpr(n), 2));
        let (one, zero) = (Operand::Inline(129), Operand::Inline(128));
        let vector = [Operand::Reg(RegRange::new(Reg::vgpr(1), 1)), zero];
        let code: [&[Operand]; 12] = [
            &[exec, zero],
            &[pair(4), exec],
            &[pair(6), exec],
            &vector,
            &[exec, exec, one],
            &vector,
            &[pair(8), pair(6)],
            &vector,
            &[exec, pair(8)],
            &vector,
            &[exec, pair(4)],
            &vector,
        ];
        use Op::*;
        let ops = [
            SCmpEqU64,
            SMovB64,
            SAndSaveexecB64,
            VMovB32,
            SCselectB64,
            VMovB32,
            SAndSaveexecB64,
            VMovB32,
            SMovB64,
            VMovB32,
            SMovB64,
            VMovB32,
        ];
        let found = beyond_in(&code, &ops, mode);
        // Behind the constant, and where what it gave is put back; not where it was narrowed by the application's own.
        let vectors: Vec<bool> = found.iter().zip(ops).filter(|(_, op)| *op == VMovB32).map(|(b, _)| *b).collect();
        assert_eq!(vectors, [false, true, false, true, false]);
    }
}
