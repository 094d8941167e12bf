//! How undefinedness goes through vector arithmetic, once for all lanes if they agree.

use super::Log;
use super::checked::{Checked, Place, Rule};
use super::flow::{demand_exec, down, logic, up};
use super::shadow::{Shadow, value};
use crate::mem::lanes;
use crate::wave::{Wave, scalar};

/// The undefined bits that one lane reads.
struct Inputs {
    /// The first two words of each source.
    words: [[u32; 2]; 4],
    /// A bit that is used is undefined.
    any: bool,
    /// So is the bit of the carry.
    carried: bool,
}

/// The undefined bits that one lane writes: those of its words (a single one stands for all), and whether its bit of
/// a lane mask is undefined.
struct Outcome {
    words: [u32; 2],
    mask: bool,
}

/// What DPP brings to each lane from the first source; `None` where it brings nothing.
type Moved = Option<[Option<u32>; 64]>;

impl Inputs {
    fn wide(&self, source: usize) -> u64 {
        u64::from(self.words[source][0]) | u64::from(self.words[source][1]) << 32
    }

    /// By the rules for which values do not matter.
    fn outcome(&self, inst: &Checked) -> Outcome {
        let all = |undefined: bool| if undefined { [!0; 2] } else { [0; 2] };
        let split = |wide: u64| [wide as u32, (wide >> 32) as u32];
        let any = self.any || self.carried;
        let words = match inst.rule {
            Rule::Up(_) if inst.shifts && self.words[0][0] != 0 => all(true),
            Rule::Up(_) => {
                let read = (0..inst.sources.len().min(4)).fold(u64::from(self.carried), |read, n| read | self.wide(n));
                split(up(read))
            }
            // The value shifted is the second source.
            Rule::Down if self.words[0][0] != 0 => all(true),
            Rule::Down => split(down(self.wide(1))),
            Rule::Move => self.words[0],
            Rule::Reverse => [self.words[0][0].reverse_bits(); 2],
            Rule::Shift { left: true, by } => [self.words[1][0] << by; 2],
            Rule::Shift { left: false, by } => [self.words[1][0] >> by; 2],
            _ => all(any),
        };
        Outcome { words, mask: any }
    }
}

impl Shadow {
    pub(super) fn vector(&mut self, w: &Wave, inst: &Checked, exec: u64, log: &mut Log) {
        let Some(&target) = inst.results.first() else { return };
        let mask = match self.common_inputs(inst, exec) {
            Some(inputs) => {
                let outcome = inputs.outcome(inst);
                if matches!(target, Place::Rows(..)) {
                    (0..target.words())
                        .for_each(|k| self.set_common(target, k, exec, outcome.words[usize::from(k & 1)]));
                }
                if outcome.mask { exec } else { 0 }
            }
            None => self.lane_by_lane(w, inst, target, exec),
        };
        let mask_result = inst.results.iter().copied().find(|r| matches!(r, Place::Scalars(..)));
        if let Some(Place::Scalars(code, words)) = mask_result {
            if code == scalar::EXEC {
                demand_exec(mask, log);
            } else {
                self.set_scalars(code, words, mask);
            }
        }
    }

    /// What every active lane reads, if that is the same, and the values in the lanes do not matter.
    fn common_inputs(&self, inst: &Checked, exec: u64) -> Option<Inputs> {
        if matches!(inst.rule, Rule::Logic { .. } | Rule::VectorSelect(_))
            || inst.dpp.is_some()
            || inst.kept != 0
            || inst.sources.len() > 4
        {
            return None;
        }
        let mut inputs = Inputs { words: [[0; 2]; 4], any: false, carried: false };
        for (words, source) in inputs.words.iter_mut().zip(&inst.sources) {
            for k in 0..source.place.words() {
                let word = self.common_word(source.place, k, exec)?;
                inputs.any |= word & source.used != 0;
                if let Some(place) = words.get_mut(usize::from(k)) {
                    *place = word;
                }
            }
        }
        if let Rule::Carry(Some(code)) | Rule::Up(Some(code)) = inst.rule {
            let carried = self.scalar64(code) & exec;
            if carried != 0 && carried != exec {
                return None;
            }
            inputs.carried = carried != 0;
        }
        Some(inputs)
    }

    /// Gives the lanes whose bit of a lane mask is undefined.
    fn lane_by_lane(&mut self, w: &Wave, inst: &Checked, target: Place, exec: u64) -> u64 {
        let moved = self.moved_source(inst, exec);
        let mut mask = 0;
        for lane in lanes(exec) {
            if let (Some(moved), Some(dpp)) = (&moved, inst.dpp)
                && moved[lane].is_none()
                && !dpp.bound_zero()
            {
                continue;
            }
            let inputs = self.lane_inputs(inst, &moved, lane);
            let mut outcome = inputs.outcome(inst);
            let [a, b] = [inputs.words[0][0], inputs.words[1][0]];
            match inst.rule {
                Rule::Logic { op, .. } if inst.dpp.is_none() && inst.sources.len() == 2 => {
                    let value = |n: usize| u64::from(value(w, inst.sources[n].place, 0, lane));
                    outcome.words = [logic(op, value(0), a.into(), value(1), b.into()) as u32; 2];
                }
                Rule::VectorSelect(code) => {
                    let second = w.s64(code) >> lane & 1 != 0;
                    let chosen = match () {
                        () if self.scalar64(code) >> lane & 1 != 0 => a | b,
                        () if second => b,
                        () => a,
                    };
                    outcome.words = [chosen; 2];
                }
                _ => {}
            }
            if inst.kept != 0 {
                let new = if outcome.mask { !inst.kept } else { 0 };
                outcome.words = [self.word(target, 0, lane) & inst.kept | new; 2];
            }
            mask |= u64::from(outcome.mask) << lane;
            if matches!(target, Place::Rows(..)) {
                (0..target.words()).for_each(|k| self.set(target, k, lane, outcome.words[usize::from(k & 1)]));
            }
        }
        mask
    }

    fn lane_inputs(&self, inst: &Checked, moved: &Moved, lane: usize) -> Inputs {
        let mut inputs = Inputs { words: [[0; 2]; 4], any: false, carried: false };
        for (n, source) in inst.sources.iter().enumerate() {
            for k in 0..source.place.words() {
                let word = match moved {
                    Some(moved) if n == 0 && k == 0 => moved[lane].unwrap_or(0),
                    _ => self.word(source.place, k, lane),
                };
                inputs.any |= word & source.used != 0;
                if let Some(place) = inputs.words.get_mut(n).and_then(|words| words.get_mut(usize::from(k))) {
                    *place = word;
                }
            }
        }
        if let Rule::Carry(Some(code)) | Rule::Up(Some(code)) = inst.rule {
            inputs.carried = self.scalar64(code) >> lane & 1 != 0;
        }
        inputs
    }

    /// Whether a lane mask that the instruction reads is undefined in an active lane.
    pub(super) fn mask_undefined(&self, inst: &Checked, exec: u64) -> bool {
        match inst.rule {
            Rule::VectorSelect(code) | Rule::Carry(Some(code)) | Rule::Up(Some(code)) => {
                self.scalar64(code) & exec != 0
            }
            _ => false,
        }
    }

    fn moved_source(&self, inst: &Checked, exec: u64) -> Moved {
        let dpp = inst.dpp?;
        let source = inst.sources.first()?;
        Some(std::array::from_fn(|lane| Some(self.word(source.place, 0, dpp.source(lane, exec)?))))
    }
}
