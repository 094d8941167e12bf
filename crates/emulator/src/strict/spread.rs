//! How undefinedness goes through vector arithmetic, once for all lanes if they agree.

use super::Log;
use super::checked::Checked;
use super::flow::{logic, up};
use super::shadow::{Shadow, value};
use super::terms::{Place, Rule, Source, Way};
use crate::masks::lanes;
use crate::registers::scalar;
use crate::wave::Wave;

/// The undefined bits that one lane reads.
struct Inputs {
    /// The first two words of each source: what is used of them, brought down to bit 0.
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
pub(super) type Moved = Option<[Option<[u32; 2]>; 64]>;

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
            Rule::Up(_) => {
                let read = (0..inst.sources.len().min(4)).fold(u64::from(self.carried), |read, n| read | self.wide(n));
                split(up(read))
            }
            Rule::Move => self.words[0],
            Rule::Reverse => [self.words[0][0].reverse_bits(); 2],
            Rule::Words { moves, from } => from.map(|from| {
                let word = |(n, k): (usize, u8)| self.words[n].get(usize::from(k)).copied().unwrap_or(0);
                let bits = (0..).zip(from).fold(0, |bits, read| bits | word(read));
                if moves || bits == 0 { bits } else { !0 }
            }),
            Rule::Byte(byte) => {
                let mask = 0xff << (8 * byte);
                [self.words[2][0] & !mask | if self.words[0][0] != 0 { mask } else { 0 }; 2]
            }
            Rule::Pairs([low, high]) => {
                let half = |used: [u32; 3]| (0..3).any(|n| self.words[n][0] & used[n] != 0);
                let bits = |undefined: bool| if undefined { 0xffff } else { 0 };
                [bits(half(low)) | bits(half(high)) << 16; 2]
            }
            ref rule => match moved(rule, |n| self.wide(n)) {
                Some(bits) => split(bits),
                None => all(any),
            },
        };
        Outcome { words, mask: any }
    }
}

impl Source {
    /// The bits of a word that are used, from bit 0 on.
    pub(super) fn bits(&self, word: u32) -> u32 {
        (word & self.used) >> self.shift
    }
}

/// The undefined bits of what a truth table makes of sources with these values and undefined bits: those that may be
/// zeros and ones.
fn by_table(table: u8, sources: [(u64, u64); 3]) -> u64 {
    let may_be = |wanted: bool| {
        (0..8).filter(|n| (table >> n & 1 != 0) == wanted).fold(0, |all, n| {
            let has = |k: usize| {
                let (value, undefined) = sources[k];
                undefined | if n >> (2 - k) & 1 != 0 { value } else { !value }
            };
            all | has(0) & has(1) & has(2)
        })
    };
    may_be(false) & may_be(true)
}

/// Where it is known which bits an instruction takes: the undefined bits of what it makes of sources with these.
pub(super) fn moved(rule: &Rule, source: impl Fn(usize) -> u64) -> Option<u64> {
    let extend = |bits: u64, width: u32| (bits << (64 - width)) as i64 >> (64 - width);
    Some(match *rule {
        Rule::Shift { way, by, value, width } => {
            let bits = match way {
                Way::Left => source(value) << by,
                Way::Right => source(value) >> by,
                Way::Signed => (extend(source(value), width) >> by) as u64,
            };
            bits & (!0 >> (64 - width))
        }
        Rule::Beside(by) => source(0) << by | source(2),
        Rule::Sum { by, other } => up(source(0) << by | source(other)),
        Rule::SumShifted(by) => up(source(0) | source(1)) << by,
        Rule::Field { width: 0, .. } => 0,
        Rule::Field { from, width, signed: false, .. } => source(0) >> from & (!0 >> (64 - width)),
        // The sign comes down from above where a field goes beyond the source.
        Rule::Field { from, width, signed: true, bits } => {
            extend((extend(source(0), bits) >> from) as u64, width) as u64
        }
        Rule::Funnel(by) => (source(0) << 32 | source(1) & 0xffff_ffff) >> by,
        Rule::Bytes(selector) => (0..4).fold(0, |bits, k| {
            let both = source(0) << 32 | source(1) & 0xffff_ffff;
            let byte = match selector >> (8 * k) & 0xff {
                from @ 0..=7 => both >> (8 * from) & 0xff,
                sign @ 8..=11 => 0xff * (both >> (16 * (sign - 8) + 15) & 1),
                _ => 0,
            };
            bits | byte << (8 * k)
        }),
        _ => return None,
    })
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
            // GCN5's v_cmpx write another mask as well.
            if code == scalar::EXEC || inst.changes_exec {
                self.demand_exec(mask, log);
            }
            if code != scalar::EXEC {
                self.set_scalars(code, words, mask);
            }
        }
    }

    /// What every active lane reads, if that is the same, and the values in the lanes do not matter.
    fn common_inputs(&self, inst: &Checked, exec: u64) -> Option<Inputs> {
        if matches!(inst.rule, Rule::Logic { .. } | Rule::VectorSelect(_) | Rule::Table(_) | Rule::Placed(_))
            || inst.dpp.is_some()
            || inst.written != !0
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
                    *place = source.bits(word);
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
        let brought = self.moved_source(inst, exec);
        let mut mask = 0;
        for lane in lanes(exec) {
            if let (Some(brought), Some(dpp)) = (&brought, inst.dpp)
                && dpp.keeps(lane, brought[lane].is_some())
            {
                continue;
            }
            let inputs = self.lane_inputs(inst, &brought, lane);
            let mut outcome = inputs.outcome(inst);
            let [a, b] = [inputs.words[0][0], inputs.words[1][0]];
            let known = |n: usize| {
                let source = &inst.sources[n];
                (u64::from(source.bits(value(w, source.place, 0, lane))), u64::from(inputs.words[n][0]))
            };
            match inst.rule {
                Rule::Logic { op, .. } if inst.dpp.is_none() && inst.sources.len() == 2 => {
                    let ((x, ux), (y, uy)) = (known(0), known(1));
                    outcome.words = [logic(op, x, ux, y, uy) as u32; 2];
                }
                Rule::Table(table) if inst.dpp.is_none() => {
                    let source = |n: usize| if n < inst.sources.len() { known(n) } else { (0, 0) };
                    outcome.words = [by_table(table, [0, 1, 2].map(source)) as u32; 2];
                }
                // What DPP brings is at home in another lane.
                Rule::Placed(placed)
                    if placed.places().iter().all(|&n| inputs.words[n] == [0; 2] && (n != 0 || inst.dpp.is_none())) =>
                {
                    let bits = moved(&placed.rule(|n| known(n).0 as u32), |n| inputs.wide(n)).unwrap_or(!0);
                    outcome.words = [bits as u32, (bits >> 32) as u32];
                }
                Rule::VectorSelect(code) => {
                    let second = w.s64(code) >> lane & 1 != 0;
                    // Modifiers may change the signs.
                    let apart = |x: u64, y: u64| (x ^ y) as u32 | 0x8000_8000;
                    let chosen = match () {
                        () if self.scalar64(code) >> lane & 1 != 0 && inst.dpp.is_some() => !0,
                        () if self.scalar64(code) >> lane & 1 != 0 => a | b | apart(known(0).0, known(1).0),
                        () if second => b,
                        () => a,
                    };
                    outcome.words = [chosen; 2];
                }
                _ => {}
            }
            if inst.written != !0 {
                let new = outcome.words[0] << inst.written.trailing_zeros() & inst.written;
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
                    Some(moved) if n == 0 && k < 2 => moved[lane].map_or(0, |words| words[usize::from(k)]),
                    _ => self.word(source.place, k, lane),
                };
                inputs.any |= word & source.used != 0;
                if let Some(place) = inputs.words.get_mut(n).and_then(|words| words.get_mut(usize::from(k))) {
                    *place = source.bits(word);
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

    pub(super) fn moved_source(&self, inst: &Checked, exec: u64) -> Moved {
        let dpp = inst.dpp?;
        let source = inst.sources.first()?;
        Some(std::array::from_fn(|lane| {
            let from = dpp.source(lane, exec)?;
            Some([0, 1].map(|k| self.word(source.place, k, from)))
        }))
    }
}
