//! What every unit, lane and scratch slot holds, and what each is to hold in the end.
//!
//! A vector unit has one value in the lanes that the application's EXEC turns on, one in the others, and single lanes
//! that were written on their own. Units that nothing has written hold what they held.

use luthier_isa::{Mode, Reg, RegSet, Wave};

use super::mode::ModeBits;
use super::value::Value;

pub fn is_vector(reg: Reg) -> bool {
    reg.is_vgpr() || reg.is_agpr()
}

/// What EXEC is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mask {
    /// The application's.
    Own,
    Full,
    /// Lane 0.
    First,
    Other,
}

/// A value in the lanes that are on and one in those that are off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Both {
    pub active: Value,
    pub inactive: Value,
}

impl Both {
    pub const UNKNOWN: Both = Both { active: Value::Unknown, inactive: Value::Unknown };

    pub fn same(value: Value) -> Both {
        Both { active: value, inactive: value }
    }

    /// Of old and new what a write under a mask leaves.
    fn under(self, mask: Mask, new: Both) -> Both {
        match mask {
            Mask::Own => Both { active: new.active, inactive: self.inactive },
            Mask::Full => new,
            // The rest of the lanes is not looked at where EXEC is one lane.
            Mask::First => Both { active: new.active, inactive: Value::Unknown },
            Mask::Other => Both::UNKNOWN,
        }
    }
}

#[derive(Clone, Debug)]
pub struct State {
    mode: Mode,
    changed: RegSet,
    values: Vec<(Reg, Both)>,
    /// Lanes written on their own since their register was last written as a whole.
    lanes: Vec<((Reg, u8), Value)>,
    scratch: Vec<(u32, Both)>,
    /// The MODE register.
    pub bits: ModeBits,
    /// The hook's result that it was set to; what `bits` says of the upper bits of VGPR numbers goes for them.
    pub mode_result: Option<Value>,
}

impl State {
    pub fn at_start(mode: Mode, bits: ModeBits) -> State {
        State {
            mode,
            changed: RegSet::EMPTY,
            values: Vec::with_capacity(32),
            lanes: Vec::new(),
            scratch: Vec::new(),
            bits,
            mode_result: None,
        }
    }

    /// Units that are not, or not surely, what they were.
    pub fn changed(&self) -> &RegSet {
        &self.changed
    }

    pub fn mask(&self) -> Mask {
        let units: &[Reg] = match self.mode.wave() {
            Wave::W32 => &[Reg::EXEC_LO],
            Wave::W64 => &[Reg::EXEC_LO, Reg::EXEC_HI],
        };
        let is = |want: &dyn Fn(Reg) -> Value| units.iter().all(|r| self.get(*r) == want(*r));
        if is(&Value::Own) {
            Mask::Own
        } else if is(&|_| Value::Number(u32::MAX)) {
            Mask::Full
        } else if is(&|r| Value::Number(u32::from(r == Reg::EXEC_LO))) {
            Mask::First
        } else {
            Mask::Other
        }
    }

    fn raw(&self, reg: Reg) -> Both {
        if !self.changed.contains(reg) {
            return Both::same(Value::Own(reg));
        }
        self.values.iter().find(|(r, _)| *r == reg).map_or(Both::same(Value::Own(reg)), |(_, both)| *both)
    }

    /// In all lanes.
    pub fn both(&self, reg: Reg) -> Both {
        if !self.changed.contains(reg) {
            return Both::same(Value::Own(reg));
        }
        let strayed = self.lanes.iter().any(|((r, lane), value)| *r == reg && *value != Value::Lane(*r, *lane));
        if strayed { Both::UNKNOWN } else { self.raw(reg) }
    }

    /// In the lanes that are on.
    pub fn get(&self, reg: Reg) -> Value {
        match reg {
            Reg::MODE => Value::Mode(self.bits),
            _ => self.both(reg).active,
        }
    }

    fn put(&mut self, reg: Reg, both: Both) {
        if both == Both::same(Value::Own(reg)) {
            self.changed.remove(reg);
            self.values.retain(|(r, _)| *r != reg);
            return;
        }
        self.changed.insert(reg);
        match self.values.iter_mut().find(|(r, _)| *r == reg) {
            Some((_, old)) => *old = both,
            None => self.values.push((reg, both)),
        }
    }

    /// A scalar unit.
    pub fn set(&mut self, reg: Reg, value: Value) {
        match reg {
            Reg::MODE => {
                self.bits.lose(u32::MAX);
                self.mode_result = Some(value);
            }
            _ => self.put(reg, Both::same(value)),
        }
    }

    /// A vector unit, by an instruction that obeys EXEC.
    pub fn set_vector(&mut self, reg: Reg, value: Both) {
        let mask = self.mask();
        let new = self.raw(reg).under(mask, value);
        if mask == Mask::Full {
            self.lanes.retain(|((r, _), _)| *r != reg);
        } else {
            self.lanes.iter_mut().filter(|((r, _), _)| *r == reg).for_each(|(_, value)| *value = Value::Unknown);
        }
        self.put(reg, new);
        self.mark_lanes(reg);
    }

    /// A vector unit in all lanes.
    pub fn set_whole(&mut self, reg: Reg, value: Both) {
        self.lanes.retain(|((r, _), _)| *r != reg);
        self.put(reg, value);
    }

    /// Anything may be in the unit: in the lanes that are on, or in all.
    pub fn spoil(&mut self, reg: Reg, whole: bool) {
        match reg {
            Reg::MODE => {
                self.bits.lose(u32::MAX);
                self.mode_result = None;
            }
            _ if is_vector(reg) && !whole => {
                let old = self.raw(reg);
                self.put(reg, Both { active: Value::Unknown, ..old });
                self.lanes.iter_mut().filter(|((r, _), _)| *r == reg).for_each(|(_, value)| *value = Value::Unknown);
            }
            _ => {
                self.put(reg, Both::UNKNOWN);
                self.lanes.retain(|((r, _), _)| *r != reg);
            }
        }
    }

    fn mark_lanes(&mut self, reg: Reg) {
        if self.lanes.iter().any(|((r, _), _)| *r == reg) {
            self.changed.insert(reg);
        }
    }

    pub fn lane(&self, reg: Reg, lane: u8) -> Value {
        if let Some((_, value)) = self.lanes.iter().find(|(at, _)| *at == (reg, lane)) {
            return *value;
        }
        let Both { active, inactive } = self.raw(reg);
        match active {
            _ if active != inactive => Value::Unknown,
            Value::Own(r) if is_vector(r) => Value::Lane(r, lane),
            uniform => uniform,
        }
    }

    /// One lane, whatever EXEC says.
    pub fn set_lane(&mut self, reg: Reg, lane: u8, value: Value) {
        match self.lanes.iter_mut().find(|(at, _)| *at == (reg, lane)) {
            Some((_, old)) => *old = value,
            None => self.lanes.push(((reg, lane), value)),
        }
        if !self.changed.contains(reg) {
            self.changed.insert(reg);
            self.values.push((reg, Both::same(Value::Own(reg))));
        }
    }

    /// Stores a register's lanes that are on.
    pub fn store(&mut self, offset: u32, reg: Reg) {
        let (mask, value) = (self.mask(), self.both(reg));
        let old = self.slot(offset);
        self.scratch.retain(|(at, _)| at.abs_diff(offset) >= 4);
        self.scratch.push((offset, old.under(mask, value)));
    }

    /// What four bytes of scratch hold.
    pub fn slot(&self, offset: u32) -> Both {
        self.scratch.iter().find(|(at, _)| *at == offset).map_or(Both::UNKNOWN, |(_, both)| *both)
    }
}

/// What units and lanes have to hold when the inserted code ends, as far as that is not their own old value.
#[derive(Clone, Debug, Default)]
pub struct Promised {
    units: Vec<(Reg, Value)>,
    lanes: Vec<((Reg, u8), Value)>,
}

impl Promised {
    pub fn of(&self, reg: Reg) -> Value {
        self.units.iter().find(|(r, _)| *r == reg).map_or(Value::Own(reg), |(_, value)| *value)
    }
    pub fn set(&mut self, reg: Reg, value: Value) {
        match self.units.iter_mut().find(|(r, _)| *r == reg) {
            Some((_, old)) => *old = value,
            None => self.units.push((reg, value)),
        }
    }
    pub fn of_lane(&self, reg: Reg, lane: u8) -> Value {
        self.lanes.iter().find(|(at, _)| *at == (reg, lane)).map_or(Value::Lane(reg, lane), |(_, value)| *value)
    }
    pub fn set_lane(&mut self, reg: Reg, lane: u8, value: Value) {
        match self.lanes.iter_mut().find(|(at, _)| *at == (reg, lane)) {
            Some((_, old)) => *old = value,
            None => self.lanes.push(((reg, lane), value)),
        }
    }
    /// Units that something was promised of.
    pub fn units(&self) -> impl Iterator<Item = Reg> + '_ {
        self.units.iter().map(|(reg, _)| *reg)
    }
}
