//! How undefinedness goes through an instruction, and where it decides something.

use luthier_isa::Reg;

use super::Log;
use super::checked::Checked;
use super::elements::Elements;
use super::origin::kind_of;
use super::shadow::{Shadow, value};
use super::spread::moved;
use super::terms::{Logic, Place, Rule, Source};
use crate::crossing::group_width;
use crate::masks::lanes;
use crate::registers::scalar;
use crate::report::FindingKind;
use crate::wave::Wave;

/// The undefined bits of `a op b`, given both sides' values and undefined bits: a defined zero decides an AND, a
/// defined one an OR.
pub(super) fn logic(op: Logic, a: u64, ua: u64, b: u64, ub: u64) -> u64 {
    let any = ua | ub;
    match op {
        Logic::And => any & !(!a & !ua) & !(!b & !ub),
        Logic::Or => any & !(a & !ua) & !(b & !ub),
        Logic::Xor => any,
    }
}

/// Undefined bits spread to all above the lowest.
pub(super) fn up(undefined: u64) -> u64 {
    undefined | undefined.wrapping_neg()
}

fn combine(op: Logic, a: u64, b: u64) -> u64 {
    match op {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}

fn name(inst: &Checked, place: Place) -> String {
    match place {
        Place::Rows(row, _) => {
            let mut touched = inst.touched.iter().filter_map(|&(unit, _)| Reg::from_index(unit.into()));
            touched.find(|&reg| inst.limits.row_of(reg) == Some(row)).map_or(String::new(), |reg| reg.to_string())
        }
        Place::Scalars(code, _) => Reg::from_index(code.into()).map_or(String::new(), |r| r.to_string()),
        Place::Constant(_) => "a constant".into(),
    }
}

impl Shadow {
    /// Reports a source that is undefined in a lane of the mask.
    fn demand(&self, inst: &Checked, source: &Source, mask: u64, what: &str, log: &mut Log) {
        let Some(first) = self.first_undefined(source, mask) else { return };
        let vector = matches!(source.place, Place::Rows(..));
        let found = |lane: usize| (vector.then_some(lane as u32), None, self.origin(source, lane));
        // The first lane of each kind.
        let mut kinds = vec![kind_of(self.origin(source, first))];
        let others = lanes(if vector && !self.origins.is_empty() { mask & (!1 << first) } else { 0 });
        let others: Vec<usize> = others
            .filter(|&lane| self.undefined(source, lane))
            .filter(|&lane| {
                let kind = kind_of(self.origin(source, lane));
                let is_new = !kinds.contains(&kind);
                kinds.extend(is_new.then_some(kind));
                is_new
            })
            .collect();
        let what = format!("{} decides {what}, and its value", name(inst, source.place));
        log.undefined(&what, [first].into_iter().chain(others).map(found));
    }

    /// Undefined bits decide which lanes are active.
    pub(super) fn demand_exec(&self, undefined: u64, log: &mut Log) {
        let origin = |lane: usize| self.origins.carried.as_ref().and_then(|carried| carried[lane]);
        for kind in [FindingKind::UndefinedRegister, FindingKind::UndefinedLds, FindingKind::UndefinedMemory] {
            let mut those = lanes(undefined).filter(|&lane| kind_of(origin(lane)) == kind);
            let Some(first) = those.next() else { continue };
            let mut message = "undefined bits decide which lanes are active".to_string();
            let Some(found) = origin(first) else {
                log.report(kind, Some(first as u32), None, message);
                log.report_more(kind, those.map(|lane| (lane as u32, None)));
                continue;
            };
            message += &format!(": {found}");
            log.report_pair(kind, Some(first as u32), Some(found.address), message, Some(found.read()));
            let address = |lane: usize| origin(lane).map(|origin| origin.address);
            log.report_more(kind, those.map(|lane| (lane as u32, address(lane))));
        }
    }

    /// Moves undefinedness through an instruction that is about to be executed.
    pub fn check(&mut self, w: &Wave, inst: &Checked, log: &mut Log) {
        if !inst.halves.is_empty() {
            return inst.halves.iter().for_each(|half| self.check(w, half, log));
        }
        let (exec, all) = (w.exec(), w.all_lanes());
        if self.only_defines(inst, exec, all) {
            return self.define_results(inst, if inst.ignores_exec { all } else { exec });
        }
        self.carry_origins(w, inst, exec);
        self.apply(w, inst, exec, all, log);
        self.settle_origins(w, inst, exec);
    }

    fn apply(&mut self, w: &Wave, inst: &Checked, exec: u64, all: u64, log: &mut Log) {
        match inst.rule {
            Rule::Defines => self.define_results(inst, exec),
            Rule::Decides(what) => {
                let mask = if inst.ignores_exec { all } else { exec };
                inst.sources.iter().for_each(|s| self.demand(inst, s, mask, what, log));
                self.define_results(inst, mask);
            }
            Rule::Memory { data_matters, keeps_half } => {
                inst.sources.iter().for_each(|s| self.demand(inst, s, exec, "an address", log));
                if data_matters {
                    inst.data.iter().for_each(|s| self.demand(inst, s, exec, "what memory gets", log));
                }
                match keeps_half {
                    None => self.define_results(inst, exec),
                    Some(kept) => {
                        for &result in &inst.results {
                            for lane in lanes(exec) {
                                let old = self.word(result, 0, lane);
                                self.set(result, 0, lane, old & kept);
                            }
                        }
                    }
                }
            }
            Rule::SaveExec { op, invert_source, invert_exec } => {
                let Some(source) = inst.sources.first() else { return };
                let (value, undefined) = self.scalar_source(w, source);
                let (value, exec_value) =
                    (if invert_source { !value } else { value }, if invert_exec { !exec } else { exec });
                let result = logic(op, value, undefined, exec_value, 0) & all;
                self.define_results(inst, exec);
                self.demand_exec(result, log);
            }
            Rule::ReadLane | Rule::ReadFirstLane => {
                let Some(from) = inst.sources.first() else { return };
                let lane = match (&inst.rule, inst.sources.get(1)) {
                    (Rule::ReadLane, Some(select)) => {
                        self.demand(inst, select, !0, "a lane", log);
                        value(w, select.place, 0, 0) as usize & (w.lanes() as usize - 1)
                    }
                    _ => exec.trailing_zeros() as usize & 63,
                };
                let undefined = self.word(from.place, 0, lane);
                for &result in &inst.results {
                    match result {
                        Place::Scalars(scalar::EXEC, _) => self.demand_exec(undefined.into(), log),
                        Place::Scalars(code, _) if code == scalar::EXEC + 1 => {
                            self.demand_exec(u64::from(undefined) << 32, log);
                        }
                        _ => self.set(result, 0, 0, undefined),
                    }
                }
            }
            Rule::Swap => {
                let [a, b] = inst.results[..] else { return };
                for lane in lanes(exec) {
                    let (old, new) = (self.word(a, 0, lane), self.word(b, 0, lane));
                    self.set(a, 0, lane, new);
                    self.set(b, 0, lane, old);
                }
            }
            Rule::SwapGroups { by, fetches, bound_zero } => {
                let [a, b] = inst.results[..] else { return };
                let by = usize::from(by);
                let before = [a, b].map(|place| std::array::from_fn::<u32, 64, _>(|lane| self.word(place, 0, lane)));
                for (to, from, place, other) in lanes(exec)
                    .map(|to| if to & by == 0 { (to, to + by, b, before[0]) } else { (to, to - by, a, before[1]) })
                {
                    if exec >> from & 1 != 0 || fetches {
                        self.set(place, 0, to, other[from & 63]);
                    } else if bound_zero {
                        self.set(place, 0, to, 0);
                    }
                }
            }
            Rule::WriteLane => {
                let [written, select] = &inst.sources[..] else { return };
                self.demand(inst, select, !0, "a lane", log);
                let lane = value(w, select.place, 0, 0) as usize & (w.lanes() as usize - 1);
                let undefined = self.word(written.place, 0, 0);
                inst.results.iter().for_each(|&r| self.set(r, 0, lane, undefined));
            }
            Rule::Permlane { crosses, fetches, bound_zero } => {
                let [moved, low, high] = &inst.sources[..] else { return };
                [low, high].into_iter().for_each(|select| self.demand(inst, select, exec, "a lane", log));
                let word = |s: &Source| u64::from(value(w, s.place, 0, 0));
                let select = word(low) | word(high) << 32;
                let row = if crosses { 16 } else { 0 };
                let from = |i: usize| (i & !15) ^ row | (select >> (4 * (i & 15)) & 15) as usize;
                self.move_lanes(inst, moved, exec, |lane| {
                    let from = Some(from(lane)).filter(|&from| fetches || exec >> from & 1 != 0);
                    if from.is_none() && !bound_zero { None } else { Some(from) }
                });
            }
            Rule::Permlane64 => {
                let Some(moved) = inst.sources.first() else { return };
                if !w.is_wave32() {
                    self.move_lanes(inst, moved, exec, |lane| Some(Some(lane ^ 32)));
                }
            }
            Rule::Within(within) => {
                let [moved, by, width] = &inst.sources[..] else { return };
                [by, width].into_iter().for_each(|s| self.demand(inst, s, exec, "a lane", log));
                let (by, width) = (value(w, by.place, 0, 0), group_width(value(w, width.place, 0, 0)));
                self.move_lanes(inst, moved, exec, |lane| Some(Some(within.source(lane, by, width.unwrap_or(1)))));
            }
            Rule::Elements(elements) => self.convert(inst, elements, exec),
            Rule::AnyOfAll => {
                for lane in lanes(exec) {
                    let any = inst.sources.iter().any(|s| self.undefined(s, lane));
                    let undefined = if any { !0 } else { 0 };
                    for &result in &inst.results {
                        (0..result.words()).for_each(|k| self.set(result, k, lane, undefined));
                    }
                }
            }
            _ if matches!(inst.results.first(), Some(Place::Rows(..))) || matches!(inst.rule, Rule::Compare) => {
                self.vector(w, inst, exec, log)
            }
            _ => self.scalar(w, inst, log),
        }
    }

    /// Whether all that the instruction depends on is defined, and it writes every active lane: true as a rule.
    #[inline]
    fn only_defines(&self, inst: &Checked, exec: u64, all: u64) -> bool {
        let data = match inst.rule {
            Rule::WriteLane
            | Rule::Permlane { .. }
            | Rule::ScalarKeep
            | Rule::Permlane64
            | Rule::SwapGroups { .. }
            | Rule::Memory { keeps_half: Some(_), .. } => return false,
            Rule::Memory { data_matters: true, .. } => &inst.data[..],
            _ => &[],
        };
        // DPP keeps the lanes that it has no source for, and it and the lane reads look at inactive lanes.
        let mask = match inst.rule {
            Rule::ReadLane | Rule::ReadFirstLane | Rule::Permlane64 | Rule::Within(_) => all,
            Rule::Elements(Elements { select: Some(_), .. }) => all,
            _ if inst.ignores_exec || inst.dpp.is_some() => all,
            _ => exec,
        };
        inst.sources.iter().chain(data).all(|s| self.fully_defined(s, mask))
            && !self.mask_undefined(inst, exec)
            && (inst.dpp.is_none()
                || inst.results.iter().all(|&r| self.fully_defined(&Source { place: r, used: !0, shift: 0 }, exec)))
    }

    /// The undefined bits of lanes move: `from` gives what each lane reads, if it is written, and if there is such a
    /// lane.
    fn move_lanes(&mut self, inst: &Checked, moved: &Source, exec: u64, from: impl Fn(usize) -> Option<Option<usize>>) {
        let Some(&target) = inst.results.first() else { return };
        let before: [u32; 64] = std::array::from_fn(|lane| self.word(moved.place, 0, lane));
        for lane in lanes(exec) {
            if let Some(from) = from(lane) {
                self.set(target, 0, lane, from.map_or(0, |from| before[from & 63]));
            }
        }
    }

    fn define_results(&mut self, inst: &Checked, mask: u64) {
        if inst.kept != 0 {
            for &result in &inst.results {
                if let Place::Scalars(code, 1) = result {
                    self.scalars[usize::from(code)] &= if result == Place::SCC { 0 } else { inst.kept };
                }
                let some = match result {
                    Place::Rows(row, words) => self.undefined_lanes(row, words.into()) & mask,
                    _ => 0,
                };
                lanes(some).for_each(|lane| self.set(result, 0, lane, self.word(result, 0, lane) & inst.kept));
            }
            return;
        }
        inst.results.iter().for_each(|&result| self.define(result, mask));
    }

    /// Value and undefined bits of a scalar source, 64 bits.
    fn scalar_source(&self, w: &Wave, source: &Source) -> (u64, u64) {
        match source.place {
            Place::Scalars(code, 1) => {
                (w.s[usize::from(code)].into(), (self.scalars[usize::from(code)] & source.used).into())
            }
            Place::Scalars(code, _) => (w.s64(code), self.scalar64(code)),
            Place::Constant(value) => (i64::from(value as i32) as u64, 0),
            Place::Rows(..) => (0, 0),
        }
    }

    fn scalar(&mut self, w: &Wave, inst: &Checked, log: &mut Log) {
        let source = |k: usize| inst.sources.get(k).map_or((0, 0), |s| self.scalar_source(w, s));
        let ((a, ua), (b, ub)) = (source(0), source(1));
        let undefined = match inst.rule {
            Rule::Logic { op, invert, .. } => logic(op, a, ua, if invert { !b } else { b }, ub),
            Rule::Move => ua,
            Rule::Up(_) => up(ua | ub),
            Rule::Placed(placed) if placed.places().iter().all(|&n| source(n).1 == 0) => {
                moved(&placed.rule(|n| source(n).0 as u32), |n| source(n).1).unwrap_or(!0)
            }
            Rule::Equal => ua | ub,
            Rule::ScalarSelect if self.scalars[usize::from(scalar::SCC)] != 0 => ua | ub | (a ^ b),
            Rule::ScalarSelect if w.scc() => ua,
            Rule::ScalarSelect => ub,
            Rule::ScalarKeep => {
                let Some(&place) = inst.results.first() else { return };
                let (old, before) = self.scalar_source(w, &Source { place, used: !0, shift: 0 });
                match w.scc() {
                    _ if self.scalars[usize::from(scalar::SCC)] != 0 => ua | before | (a ^ old),
                    true => ua,
                    false => before,
                }
            }
            ref rule => match moved(rule, |n| source(n).1) {
                Some(undefined) => undefined,
                None if inst.sources.iter().any(|s| self.undefined(s, 0)) => !0,
                None => 0,
            },
        };
        let undefined = match inst.results.first() {
            Some(&first @ Place::Scalars(_, 1)) if inst.kept != 0 => {
                u64::from(self.word(first, 0, 0) & inst.kept) | undefined & u64::from(inst.written)
            }
            _ => undefined,
        };
        // It says that the result is not zero, what carries out of it, or how the sources compare.
        let decided = match inst.rule {
            Rule::Equal => {
                let wide = inst.sources.iter().any(|source| source.place.words() > 1);
                (a ^ b) & !undefined & if wide { !0 } else { 0xffff_ffff } != 0
            }
            Rule::Logic { op, invert, negate } => {
                let value = combine(op, a, if invert { !b } else { b });
                let wide = inst.results.first().is_some_and(|result| result.words() > 1);
                let bits = if wide { !0 } else { 0xffff_ffff };
                (if negate { !value } else { value }) & !undefined & bits != 0
            }
            _ => false,
        };
        for &result in &inst.results {
            match result {
                Place::SCC => self.set(result, 0, 0, u32::from(undefined != 0 && !decided)),
                Place::Scalars(scalar::EXEC, words) => {
                    self.demand_exec(if words == 1 { undefined & 0xffff_ffff } else { undefined }, log)
                }
                Place::Scalars(code, _) if code == scalar::EXEC + 1 => self.demand_exec(undefined << 32, log),
                Place::Scalars(code, 1) => self.scalars[usize::from(code)] = undefined as u32,
                Place::Scalars(code, 2) => self.set_scalars(code, 2, undefined),
                other => self.set(other, 0, 0, undefined as u32),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defined_bits_decide_logic() {
        // 0 & undefined is 0; 1 & undefined is undefined.
        assert_eq!(logic(Logic::And, 0b01, 0, 0b00, 0b11), 0b01);
        assert_eq!(logic(Logic::Or, 0b01, 0, 0b00, 0b11), 0b10);
        assert_eq!(logic(Logic::Xor, 0b01, 0, 0b00, 0b10), 0b10);
    }

    #[test]
    fn sums_carry_upwards() {
        assert_eq!([up(0), up(0b100), up(!0)], [0, !0b11, !0]);
    }
}
