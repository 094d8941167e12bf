//! Undefined bits of registers, and how they move.

use luthier_isa::Reg;

use super::Log;
use super::checked::{Checked, Logic, Place, Rule, Source};
use crate::lower::dpp_source;
use crate::mem::lanes;
use crate::report::FindingKind;
use crate::wave::{Row, Wave, scalar};

/// One set bit for each undefined bit of a register.
pub(super) struct Shadow {
    scalars: [u32; 256],
    rows: Box<[Row; 512]>,
}

impl Default for Shadow {
    fn default() -> Shadow {
        let mut scalars = [0; 256];
        scalars[..124].fill(!0);
        Shadow { scalars, rows: Box::new([Row([!0; 64]); 512]) }
    }
}

/// The undefined bits of `a op b`, given both sides' values and undefined bits: a defined zero decides an AND, a
/// defined one an OR.
fn logic(op: Logic, a: u64, ua: u64, b: u64, ub: u64) -> u64 {
    let any = ua | ub;
    match op {
        Logic::And => any & !(!a & !ua) & !(!b & !ub),
        Logic::Or => any & !(a & !ua) & !(b & !ub),
        Logic::Xor => any,
    }
}

/// Undefined bits spread to all above the lowest.
fn up(undefined: u64) -> u64 {
    if undefined == 0 { 0 } else { !0 << undefined.trailing_zeros() }
}

/// Undefined bits spread to all below the highest.
fn down(undefined: u64) -> u64 {
    if undefined == 0 { 0 } else { !0 >> undefined.leading_zeros() }
}

fn all_if(undefined: bool) -> u32 {
    if undefined { !0 } else { 0 }
}

fn name(place: Place) -> String {
    match place {
        Place::Rows(row, _) => Reg::from_index(usize::from(row) + 256).map_or(String::new(), |r| r.to_string()),
        Place::Scalars(code, _) => Reg::from_index(code.into()).map_or(String::new(), |r| r.to_string()),
        Place::Constant(_) => "a constant".into(),
    }
}

impl Shadow {
    pub fn define_scalar(&mut self, code: u8) {
        self.scalars[usize::from(code)] = 0;
    }
    pub fn define_lanes(&mut self, n: usize, mask: u64) {
        lanes(mask).for_each(|lane| self.rows[n & 511].0[lane] = 0);
    }

    /// Undefined bits of a row in a lane; rows that are no registers are defined.
    pub fn row(&self, row: u16, lane: usize) -> u32 {
        self.rows.get(usize::from(row)).map_or(0, |r| r.0[lane])
    }
    /// A load changes the undefined bits of a row in a lane.
    pub fn update(&mut self, row: u16, lane: usize, change: impl FnOnce(u32) -> u32) {
        if let Some(row) = self.rows.get_mut(usize::from(row)) {
            row.0[lane] = change(row.0[lane]);
        }
    }

    /// Undefined bits of word `k` of a place, in a lane.
    fn word(&self, place: Place, k: u8, lane: usize) -> u32 {
        match place {
            Place::Rows(row, units) => self.rows[(usize::from(row) + usize::from(k.min(units - 1))) & 511].0[lane],
            Place::Scalars(code, units) => self.scalars[usize::from(code.saturating_add(k.min(units - 1)))],
            Place::Constant(_) => 0,
        }
    }
    fn value(w: &Wave, place: Place, k: u8, lane: usize) -> u32 {
        match place {
            Place::Rows(row, _) => w.rows[(usize::from(row) + usize::from(k)) & 511].0[lane],
            Place::Scalars(code, _) => w.s[usize::from(code.saturating_add(k))],
            Place::Constant(value) => value,
        }
    }
    /// Whether any bit that is used is undefined in a lane.
    fn undefined(&self, source: &Source, lane: usize) -> bool {
        let units = match source.place {
            Place::Rows(_, n) | Place::Scalars(_, n) => n,
            Place::Constant(_) => return false,
        };
        (0..units).any(|k| self.word(source.place, k, lane) & source.used != 0)
    }
    fn set(&mut self, place: Place, k: u8, lane: usize, undefined: u32) {
        match place {
            Place::Rows(row, _) => self.rows[(usize::from(row) + usize::from(k)) & 511].0[lane] = undefined,
            Place::Scalars(code, _) => self.scalars[usize::from(code.saturating_add(k))] = undefined,
            Place::Constant(_) => {}
        }
    }
    fn scalar64(&self, code: u8) -> u64 {
        u64::from(self.scalars[usize::from(code)]) | u64::from(self.scalars[usize::from(code.saturating_add(1))]) << 32
    }
    fn set_scalar64(&mut self, code: u8, undefined: u64) {
        self.scalars[usize::from(code)] = undefined as u32;
        self.scalars[usize::from(code.saturating_add(1))] = (undefined >> 32) as u32;
    }

    /// Reports a source that is undefined in a lane of the mask.
    fn demand(&self, source: &Source, mask: u64, what: &str, log: &mut Log) {
        let lane = match source.place {
            Place::Rows(..) => lanes(mask).find(|&lane| self.undefined(source, lane)),
            _ => Some(0).filter(|_| self.undefined(source, 0)),
        };
        if let Some(lane) = lane {
            let vector = matches!(source.place, Place::Rows(..));
            let message =
                format!("{} decides {what}, and its value is undefined: nothing has written it", name(source.place));
            log.report(FindingKind::UndefinedRegister, vector.then_some(lane as u32), None, message);
        }
    }

    /// Moves undefinedness through an instruction that is about to be executed.
    pub fn check(&mut self, w: &Wave, inst: &Checked, log: &mut Log) {
        let exec = w.exec();
        match inst.rule {
            Rule::Defines => self.define_results(inst, exec),
            Rule::Decides(what) => {
                let mask = if inst.ignores_exec { !0 } else { exec };
                inst.sources.iter().for_each(|s| self.demand(s, mask, what, log));
                self.define_results(inst, mask);
            }
            Rule::Memory { data_matters, keeps_half } => {
                inst.sources.iter().for_each(|s| self.demand(s, exec, "an address", log));
                if data_matters {
                    inst.data.iter().for_each(|s| self.demand(s, exec, "what memory gets", log));
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
                let result = logic(op, value, undefined, exec_value, 0);
                self.define_results(inst, exec);
                self.demand_exec(result, log);
            }
            Rule::ReadLane | Rule::ReadFirstLane => {
                let Some(from) = inst.sources.first() else { return };
                let lane = match (&inst.rule, inst.sources.get(1)) {
                    (Rule::ReadLane, Some(select)) => {
                        self.demand(select, !0, "a lane", log);
                        Self::value(w, select.place, 0, 0) as usize & 63
                    }
                    _ => exec.trailing_zeros() as usize & 63,
                };
                let undefined = self.word(from.place, 0, lane);
                inst.results.iter().for_each(|&r| self.set(r, 0, 0, undefined));
            }
            Rule::WriteLane => {
                let [value, select] = &inst.sources[..] else { return };
                self.demand(select, !0, "a lane", log);
                let lane = Self::value(w, select.place, 0, 0) as usize & 63;
                let undefined = self.word(value.place, 0, 0);
                inst.results.iter().for_each(|&r| self.set(r, 0, lane, undefined));
            }
            _ if matches!(inst.results.first(), Some(Place::Rows(..))) || matches!(inst.rule, Rule::Compare) => {
                self.vector(w, inst, exec, log)
            }
            _ => self.scalar(w, inst, log),
        }
    }

    fn demand_exec(&self, undefined: u64, log: &mut Log) {
        if undefined != 0 {
            let message = "undefined bits decide which lanes are active".to_string();
            log.report(FindingKind::UndefinedRegister, Some(undefined.trailing_zeros()), None, message);
        }
    }

    fn define_results(&mut self, inst: &Checked, mask: u64) {
        for &result in &inst.results {
            match result {
                Place::Rows(row, units) => {
                    for k in 0..usize::from(units) {
                        let row = &mut self.rows[(usize::from(row) + k) & 511];
                        if mask == !0 {
                            *row = Row::ZERO;
                        } else {
                            lanes(mask).for_each(|lane| row.0[lane] = 0);
                        }
                    }
                }
                Place::Scalars(code, units) => (0..units).for_each(|k| self.define_scalar(code.saturating_add(k))),
                Place::Constant(_) => {}
            }
        }
    }

    /// Value and undefined bits of a scalar source, 64 bits.
    fn scalar_source(&self, w: &Wave, source: &Source) -> (u64, u64) {
        match source.place {
            Place::Scalars(code, 1) => (w.s[usize::from(code)].into(), self.scalars[usize::from(code)].into()),
            Place::Scalars(code, _) => (w.s64(code), self.scalar64(code)),
            Place::Constant(value) => (i64::from(value as i32) as u64, 0),
            Place::Rows(..) => (0, 0),
        }
    }

    fn scalar(&mut self, w: &Wave, inst: &Checked, log: &mut Log) {
        let source = |k: usize| inst.sources.get(k).map_or((0, 0), |s| self.scalar_source(w, s));
        let ((a, ua), (b, ub)) = (source(0), source(1));
        let undefined = match inst.rule {
            Rule::Logic { op, invert } => logic(op, a, ua, if invert { !b } else { b }, ub),
            Rule::Move => ua,
            // An undefined shift amount is no matter of places.
            Rule::Up(_) | Rule::Down if ub != 0 && inst.sources.len() == 2 && inst.shifts => !0,
            Rule::Up(_) => up(ua | ub),
            Rule::Down => down(ua),
            Rule::ScalarSelect => {
                if w.scc() {
                    ua
                } else {
                    ub
                }
            }
            _ => {
                if inst.sources.iter().any(|s| self.undefined(s, 0)) {
                    !0
                } else {
                    0
                }
            }
        };
        for &result in &inst.results {
            match result {
                Place::Scalars(scalar::EXEC, 2) => self.demand_exec(undefined, log),
                Place::Scalars(code, 1) => self.scalars[usize::from(code)] = undefined as u32,
                Place::Scalars(code, 2) => self.set_scalar64(code, undefined),
                other => self.set(other, 0, 0, undefined as u32),
            }
        }
    }

    fn vector(&mut self, w: &Wave, inst: &Checked, exec: u64, log: &mut Log) {
        let Some(&target) = inst.results.first() else { return };
        let mask_result = inst.results.iter().copied().find(|r| matches!(r, Place::Scalars(..)));
        let mut mask = 0u64;
        // All is defined as a rule, which is quickly seen.
        if inst.dpp.is_none()
            && inst.sources.iter().all(|s| self.fully_defined(s, exec))
            && !self.mask_undefined(inst, exec)
        {
            self.define_results(inst, exec);
            return;
        }
        let before = self.permuted_source(inst, exec);
        for lane in lanes(exec) {
            let mut written = true;
            let word = |shadow: &Shadow, n: usize, k: u8| match (&before, n) {
                (Some(permuted), 0) if k == 0 => permuted[lane].unwrap_or(0),
                _ => inst.sources.get(n).map_or(0, |s| shadow.word(s.place, k, lane)),
            };
            if let (Some(permuted), Some((.., bound_zero))) = (&before, inst.dpp) {
                written = permuted[lane].is_some() || bound_zero;
            }
            if !written {
                continue;
            }
            let any = (0..inst.sources.len()).any(|n| match (&before, n) {
                (Some(_), 0) => word(self, 0, 0) & inst.sources[0].used != 0,
                _ => self.undefined(&inst.sources[n], lane),
            });
            let carry_in = |code: u8| self.scalar64(code) >> lane & 1 != 0;
            match &inst.rule {
                Rule::Compare => mask |= u64::from(any) << lane,
                Rule::Carry(code) => {
                    let any = any || code.is_some_and(carry_in);
                    mask |= u64::from(any) << lane;
                    self.set_all(target, lane, all_if(any));
                }
                Rule::Up(code) => {
                    let carried = code.is_some_and(carry_in);
                    mask |= u64::from(any || carried) << lane;
                    let amount = if inst.shifts { word(self, 0, 0) } else { 0 };
                    let undefined = (0..inst.sources.len()).fold(u64::from(carried), |all, n| {
                        let wide = !matches!(inst.sources[n].place, Place::Rows(_, 1) | Place::Scalars(_, 1));
                        let high = if wide { word(self, n, 1) } else { 0 };
                        all | u64::from(word(self, n, 0)) | u64::from(high) << 32
                    });
                    let undefined = if amount != 0 { !0 } else { up(undefined) };
                    self.set(target, 0, lane, undefined as u32);
                    if matches!(target, Place::Rows(_, 2)) {
                        self.set(target, 1, lane, (undefined >> 32) as u32);
                    }
                }
                Rule::Down => {
                    // The value shifted is the second source.
                    let wide = matches!(target, Place::Rows(_, 2));
                    let high = if wide { word(self, 1, 1) } else { 0 };
                    let undefined = down(u64::from(word(self, 1, 0)) | u64::from(high) << 32);
                    let undefined = if word(self, 0, 0) != 0 { !0 } else { undefined };
                    self.set(target, 0, lane, undefined as u32);
                    if wide {
                        self.set(target, 1, lane, (undefined >> 32) as u32);
                    }
                }
                Rule::Move => {
                    let units = if let Place::Rows(_, n) = target { n } else { 1 };
                    for k in 0..units {
                        let undefined = word(self, 0, k);
                        self.set(target, k, lane, undefined);
                    }
                }
                Rule::Shift { left, by } => {
                    let u = word(self, 1, 0);
                    self.set(target, 0, lane, if *left { u << by } else { u >> by });
                }
                Rule::Logic { op, .. } if inst.dpp.is_none() && inst.sources.len() == 2 => {
                    let value = |n: usize| u64::from(Self::value(w, inst.sources[n].place, 0, lane));
                    let u = logic(*op, value(0), word(self, 0, 0).into(), value(1), word(self, 1, 0).into());
                    self.set(target, 0, lane, u as u32);
                }
                Rule::VectorSelect(code) => {
                    let u = if carry_in(*code) {
                        word(self, 0, 0) | word(self, 1, 0)
                    } else if w.s64(*code) >> lane & 1 != 0 {
                        word(self, 1, 0)
                    } else {
                        word(self, 0, 0)
                    };
                    self.set(target, 0, lane, u);
                }
                _ => self.set_all(target, lane, all_if(any)),
            }
        }
        if let Some(Place::Scalars(code, _)) = mask_result {
            if code == scalar::EXEC {
                self.demand_exec(mask, log);
            } else {
                self.set_scalar64(code, mask);
            }
        }
    }

    fn set_all(&mut self, place: Place, lane: usize, undefined: u32) {
        if let Place::Rows(_, units) = place {
            (0..units).for_each(|k| self.set(place, k, lane, undefined));
        }
    }

    fn mask_undefined(&self, inst: &Checked, exec: u64) -> bool {
        match inst.rule {
            Rule::VectorSelect(code) | Rule::Carry(Some(code)) | Rule::Up(Some(code)) => {
                self.scalar64(code) & exec != 0
            }
            _ => false,
        }
    }

    fn fully_defined(&self, source: &Source, exec: u64) -> bool {
        match source.place {
            Place::Rows(row, units) => (0..usize::from(units)).all(|k| {
                let row = &self.rows[(usize::from(row) + k) & 511].0;
                row.iter().fold(0, |all, u| all | u) == 0 || lanes(exec).all(|lane| row[lane] & source.used == 0)
            }),
            Place::Scalars(..) => !self.undefined(source, 0),
            Place::Constant(_) => true,
        }
    }

    /// What DPP brings to each lane from the first source; `None` where it brings nothing.
    fn permuted_source(&self, inst: &Checked, exec: u64) -> Option<[Option<u32>; 64]> {
        let (ctrl, row_mask, bank_mask, _) = inst.dpp?;
        let source = inst.sources.first()?;
        Some(std::array::from_fn(|lane| {
            let enabled = row_mask >> (lane / 16) & 1 != 0 && bank_mask >> (lane % 16 / 4) & 1 != 0;
            let from = dpp_source(ctrl, lane).filter(|&from| enabled && exec >> from & 1 != 0)?;
            Some(self.word(source.place, 0, from))
        }))
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
}
