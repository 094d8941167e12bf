//! Symbolic values of register units.

use std::collections::HashMap;

use luthier_isa::{Reg, RegSet};

/// What a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// What this unit held when the inserted code began.
    Own(Reg),
    /// The unit's rounding and denormal bits, or SCC as 0 or 1: enough to put it back.
    Copy(Reg),
    /// Unit `unit` of argument `arg`, as the template that is `hook`th at the point left it.
    Result { hook: u16, arg: u16, unit: u8 },
    /// What a lane of a vector unit held when the inserted code began.
    Lane(Reg, u8),
    /// Anything else; each time another thing.
    Other,
}

/// All units. A vector unit has one value in the lanes that EXEC turns on, and one in the others.
#[derive(Clone)]
pub struct State {
    active: Vec<Value>,
    inactive: Vec<Value>,
    /// Single lanes that were written on their own.
    lanes: HashMap<(Reg, u8), Value>,
    /// Vector units of which more than that was written.
    spoilt: RegSet,
}

fn all() -> Vec<Value> {
    (0..Reg::COUNT).map(|i| Reg::from_index(i).map_or(Value::Other, Value::Own)).collect()
}

impl State {
    pub fn at_start() -> State {
        State { active: all(), inactive: all(), lanes: HashMap::new(), spoilt: RegSet::EMPTY }
    }
    pub fn get(&self, reg: Reg) -> Value {
        self.active[reg.index()]
    }
    pub fn get_inactive(&self, reg: Reg) -> Value {
        self.inactive[reg.index()]
    }
    /// By an instruction that obeys EXEC, if the unit is a vector one.
    pub fn set(&mut self, reg: Reg, value: Value) {
        self.active[reg.index()] = value;
        self.spoilt.insert(reg);
        self.lanes.retain(|(r, _), _| *r != reg);
        if !reg.is_vgpr() && !reg.is_agpr() {
            self.inactive[reg.index()] = value;
        }
    }
    pub fn lane(&self, reg: Reg, lane: u8) -> Value {
        let old = if self.spoilt.contains(reg) { Value::Other } else { Value::Lane(reg, lane) };
        self.lanes.get(&(reg, lane)).copied().unwrap_or(old)
    }
    /// One lane, whatever EXEC says.
    pub fn set_lane(&mut self, reg: Reg, lane: u8, value: Value) {
        self.lanes.insert((reg, lane), value);
        self.active[reg.index()] = Value::Other;
        self.inactive[reg.index()] = Value::Other;
    }
    pub fn spoil_inactive(&mut self, reg: Reg) {
        self.inactive[reg.index()] = Value::Other;
    }
}

/// What each unit has to hold when the inserted code ends, as far as that is not its own old value.
#[derive(Default)]
pub struct Promised(Vec<(Reg, Value)>, Vec<((Reg, u8), Value)>);

impl Promised {
    pub fn of_lane(&self, reg: Reg, lane: u8) -> Value {
        let last = self.1.iter().rev().find(|(at, _)| *at == (reg, lane));
        last.map_or(Value::Lane(reg, lane), |(_, v)| *v)
    }
    pub fn set_lane(&mut self, reg: Reg, lane: u8, value: Value) {
        self.1.push(((reg, lane), value));
    }
    pub fn of(&self, reg: Reg) -> Value {
        self.0.iter().rev().find(|(r, _)| *r == reg).map_or(Value::Own(reg), |(_, v)| *v)
    }
    pub fn set(&mut self, reg: Reg, value: Value) {
        self.0.push((reg, value));
    }
}

/// Units that the state does not hold the promised value for.
pub fn broken(state: &State, promised: &Promised, active: &RegSet, inactive: &RegSet) -> Vec<(Reg, Value)> {
    let wrong_active = active.iter().filter(|r| state.get(*r) != promised.of(*r)).map(|r| (r, state.get(r)));
    let vector = |r: &Reg| r.is_vgpr() || r.is_agpr();
    let off = inactive.iter().filter(vector).filter(|r| state.get_inactive(*r) != Value::Own(*r));
    wrong_active.chain(off.map(|r| (r, state.get_inactive(r)))).collect()
}
