//! What every unit, lane and scratch slot holds, and what each is to hold in the end.
//!
//! A vector unit has one value in the lanes that the application's EXEC turns on, one in the others, and single lanes
//! that were written on their own. Units that nothing has written hold what they held.

use std::ops::Range;

use luthier_isa::{Mode, Reg, RegSet, Wave};

use super::mode::ModeBits;
use super::value::Value;
use crate::splice::slots::Cell;

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

/// A vector unit: what it holds, and lanes that were written on their own since.
#[derive(Clone, Debug)]
pub struct Held {
    pub both: Both,
    lanes: Vec<(u8, Value)>,
}

impl Held {
    pub fn of(both: Both) -> Held {
        Held { both, lanes: Vec::new() }
    }

    pub fn same(value: Value) -> Held {
        Held { both: Both::same(value), lanes: Vec::new() }
    }

    /// As far as that can be said of all lanes at once.
    pub fn whole(&self) -> Both {
        let strayed = self.lanes.iter().any(|(lane, value)| *value != self.of_all(*lane));
        if strayed { Both::UNKNOWN } else { self.both }
    }

    /// What a lane holds that was not written on its own.
    fn of_all(&self, lane: u8) -> Value {
        if self.both.active == self.both.inactive { self.both.active.in_lane(lane) } else { Value::Unknown }
    }

    pub fn lane(&self, lane: u8) -> Value {
        let alone = self.lanes.iter().find(|(at, _)| *at == lane).map(|(_, value)| *value);
        alone.unwrap_or_else(|| self.of_all(lane))
    }

    fn set_lane(&mut self, lane: u8, value: Value) {
        match self.lanes.iter_mut().find(|(at, _)| *at == lane) {
            Some((_, old)) => *old = value,
            None => self.lanes.push((lane, value)),
        }
    }

    /// Of old and new what a write under a mask leaves.
    fn under(self, mask: Mask, new: Held) -> Held {
        if mask == Mask::Full {
            return new;
        }
        let mut lanes = self.lanes;
        lanes.iter_mut().for_each(|(_, value)| *value = Value::Unknown);
        Held { both: self.both.under(mask, new.whole()), lanes }
    }

    fn is_own(&self, reg: Reg) -> bool {
        self.both == Both::same(Value::Own(reg)) && self.lanes.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct State {
    mode: Mode,
    changed: RegSet,
    values: Vec<(Reg, Held)>,
    scratch: Vec<(u32, Held)>,
    /// Bytes of scratch that hold what the wave carries.
    carried: Range<u32>,
    /// Values that are addresses of scratch of our own, by the offset that counts for them.
    bases: Vec<(Value, u32)>,
    /// The MODE register.
    pub bits: ModeBits,
    /// The hook's result that it was set to; what `bits` says of the upper bits of VGPR numbers goes for them.
    pub mode_result: Option<Value>,
}

impl State {
    pub fn at_start(mode: Mode, bits: ModeBits, carried: Range<u32>) -> State {
        State {
            mode,
            changed: RegSet::EMPTY,
            values: Vec::with_capacity(32),
            scratch: Vec::new(),
            carried,
            bases: Vec::new(),
            bits,
            mode_result: None,
        }
    }

    /// These are addresses of scratch of our own.
    pub fn set_bases(&mut self, bases: impl Iterator<Item = (Value, u32)>) {
        self.bases = bases.collect();
    }

    /// The offset that counts for such an address.
    pub fn base(&self, value: Value) -> Option<u32> {
        self.bases.iter().find(|(base, _)| *base == value).map(|(_, at)| *at)
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

    /// With lanes that were written on their own.
    pub fn held(&self, reg: Reg) -> Held {
        if !self.changed.contains(reg) {
            return Held::same(Value::Own(reg));
        }
        let found = self.values.iter().find(|(r, _)| *r == reg);
        found.map_or_else(|| Held::same(Value::Own(reg)), |(_, held)| held.clone())
    }

    /// In all lanes.
    pub fn both(&self, reg: Reg) -> Both {
        if !self.changed.contains(reg) {
            return Both::same(Value::Own(reg));
        }
        let found = self.values.iter().find(|(r, _)| *r == reg);
        found.map_or(Both::same(Value::Own(reg)), |(_, held)| held.whole())
    }

    /// In the lanes that are on.
    pub fn get(&self, reg: Reg) -> Value {
        match reg {
            Reg::MODE => Value::Mode(self.bits),
            _ => self.both(reg).active,
        }
    }

    fn put(&mut self, reg: Reg, held: Held) {
        if held.is_own(reg) {
            self.changed.remove(reg);
            self.values.retain(|(r, _)| *r != reg);
            return;
        }
        self.changed.insert(reg);
        match self.values.iter_mut().find(|(r, _)| *r == reg) {
            Some((_, old)) => *old = held,
            None => self.values.push((reg, held)),
        }
    }

    /// A scalar unit.
    pub fn set(&mut self, reg: Reg, value: Value) {
        match reg {
            Reg::MODE => {
                self.bits.lose(u32::MAX);
                self.mode_result = Some(value);
            }
            _ => self.put(reg, Held::same(value)),
        }
    }

    /// A vector unit, by an instruction that obeys EXEC.
    pub fn set_vector(&mut self, reg: Reg, value: Held) {
        let new = self.held(reg).under(self.mask(), value);
        self.put(reg, new);
    }

    /// A vector unit in all lanes.
    pub fn set_whole(&mut self, reg: Reg, value: Held) {
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
                let spoiled = self.held(reg).under(Mask::Own, Held::same(Value::Unknown));
                self.put(reg, spoiled);
            }
            _ => self.put(reg, Held::same(Value::Unknown)),
        }
    }

    pub fn lane(&self, reg: Reg, lane: u8) -> Value {
        self.held(reg).lane(lane)
    }

    /// One lane, whatever EXEC says.
    pub fn set_lane(&mut self, reg: Reg, lane: u8, value: Value) {
        let mut held = self.held(reg);
        held.set_lane(lane, value);
        self.put(reg, held);
    }

    /// Stores a register's lanes that are on.
    pub fn store(&mut self, offset: u32, reg: Reg) {
        let new = self.slot(offset).under(self.mask(), self.held(reg));
        self.scratch.iter_mut().filter(|(at, _)| at.abs_diff(offset) < 4).for_each(|(_, held)| {
            *held = Held::same(Value::Unknown);
        });
        self.scratch.retain(|(at, _)| *at != offset);
        self.scratch.push((offset, new));
    }

    /// What four bytes of scratch hold.
    pub fn slot(&self, offset: u32) -> Held {
        let near = self.scratch.iter().find(|(at, _)| at.abs_diff(offset) < 4);
        match near {
            Some((at, held)) if *at == offset => held.clone(),
            None if self.carried.contains(&offset) => Held::same(Value::Stored(offset)),
            _ => Held::same(Value::Unknown),
        }
    }
}

/// What units, lanes and scratch have to hold when the inserted code ends, as far as that is not their own old value.
#[derive(Clone, Debug, Default)]
pub struct Promised {
    units: Vec<(Reg, Both)>,
    lanes: Vec<((Cell, u8), Value)>,
    scratch: Vec<(u32, Both)>,
}

impl Promised {
    fn both(&self, reg: Reg) -> Both {
        self.units.iter().find(|(r, _)| *r == reg).map_or(Both::same(Value::Own(reg)), |(_, both)| *both)
    }
    pub fn of(&self, reg: Reg) -> Value {
        self.both(reg).active
    }
    pub fn of_inactive(&self, reg: Reg) -> Value {
        self.both(reg).inactive
    }
    pub fn set(&mut self, reg: Reg, value: Value) {
        self.set_both(reg, Both { active: value, ..self.both(reg) });
    }
    pub fn set_both(&mut self, reg: Reg, both: Both) {
        match self.units.iter_mut().find(|(r, _)| *r == reg) {
            Some((_, old)) => *old = both,
            None => self.units.push((reg, both)),
        }
    }
    /// `at`: where our own scratch begins in each lane's.
    pub fn of_lane(&self, cell: Cell, lane: u8, at: u32) -> Value {
        let own = match cell {
            Cell::Register(reg) => Value::Lane(reg, lane),
            Cell::Scratch(offset) => Value::StoredLane(at + offset, lane),
        };
        self.lanes.iter().find(|(at, _)| *at == (cell, lane)).map_or(own, |(_, value)| *value)
    }
    pub fn set_lane(&mut self, cell: Cell, lane: u8, value: Value) {
        match self.lanes.iter_mut().find(|(at, _)| *at == (cell, lane)) {
            Some((_, old)) => *old = value,
            None => self.lanes.push(((cell, lane), value)),
        }
    }
    /// By the offset in each lane's scratch.
    pub fn of_scratch(&self, offset: u32) -> Both {
        let own = Both::same(Value::Stored(offset));
        self.scratch.iter().find(|(at, _)| *at == offset).map_or(own, |(_, both)| *both)
    }
    pub fn set_scratch(&mut self, offset: u32, both: Both) {
        match self.scratch.iter_mut().find(|(at, _)| *at == offset) {
            Some((_, old)) => *old = both,
            None => self.scratch.push((offset, both)),
        }
    }
    /// Units that something was promised of.
    pub fn units(&self) -> impl Iterator<Item = Reg> + '_ {
        self.units.iter().map(|(reg, _)| *reg)
    }
}
