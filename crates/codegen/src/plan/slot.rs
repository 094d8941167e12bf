//! State of a wave's own: values that live from the wave's start to its end, in registers that the application does not
//! use or in scratch above its own.

use super::{Arg, Variable};
use crate::entry_value::EntryValue;

/// One value that each wave carries, or each of its lanes.
///
/// It has its initial value before anything else runs in the wave, hooks at the kernel's entry included, and is ended
/// behind everything else, hooks at the wave's end included. Hooks are given it as [`crate::Arg::Slot`].
#[derive(Clone, Debug)]
pub struct Slot {
    pub name: String,
    /// Units of 32 bits, 1 to [`Slot::MOST_UNITS`].
    pub units: u8,
    /// Each lane has a value of its own; otherwise the wave has one.
    pub per_lane: bool,
    pub init: Init,
    pub end: End,
}

/// What a slot holds when a wave starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Init {
    Zero,
    /// Something that the hardware puts into registers.
    Entry(EntryValue),
}

/// What becomes of a slot when the wave ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    Nothing,
    /// The wave's 64 bits are added to those at this byte offset of a [`crate::Variable`].
    AddTo {
        symbol: String,
        offset: u64,
    },
}

impl Slot {
    /// Why there can be no such slot in a plan with these variables.
    pub(crate) fn refused(&self, variables: &[Variable]) -> Option<String> {
        if !(1..=Slot::MOST_UNITS).contains(&self.units) {
            return Some(format!("it has {} units, and may have 1 to {}", self.units, Slot::MOST_UNITS));
        }
        if let Init::Entry(EntryValue::Registers(range)) = self.init {
            let per_lane = range.first.is_vgpr();
            if range.count != self.units || per_lane != self.per_lane || !per_lane && !range.first.is_sgpr() {
                return Some(format!("{range} does not fit its shape"));
            }
        }
        let End::AddTo { symbol, offset } = &self.end else { return None };
        if self.units != 2 || self.per_lane {
            return Some("only 64 bits of the wave are added to memory".to_owned());
        }
        let inside = |v: &Variable| v.name == *symbol && offset.checked_add(8).is_some_and(|end| end <= v.size);
        let where_to = || format!("{symbol}+{offset:#x}, which it is added to, is not inside a variable of the plan");
        (!variables.iter().any(inside)).then(where_to)
    }

    /// What a wave started with, kept for hooks that ask for it ([`crate::Arg::Entry`]).
    pub fn entry(value: EntryValue) -> Slot {
        let (units, per_lane, init) = (value.units(), value.is_per_lane(), Init::Entry(value));
        Slot { name: format!("{value:?}"), units, per_lane, init, end: End::Nothing }
    }

    /// One for each value that one of these arguments asks for.
    pub fn for_arguments<'a>(args: impl IntoIterator<Item = &'a Arg>) -> Vec<Slot> {
        let mut values: Vec<EntryValue> = Vec::new();
        for arg in args {
            match arg {
                Arg::Entry(value) if !values.contains(value) => values.push(*value),
                _ => {}
            }
        }
        values.into_iter().map(Slot::entry).collect()
    }

    /// A hook is given all of a slot in registers.
    pub const MOST_UNITS: u8 = 16;

    /// A 64-bit counter of each wave, zero when the wave starts, added to memory when it ends.
    pub fn counter(name: impl Into<String>, symbol: impl Into<String>, offset: u64) -> Slot {
        let end = End::AddTo { symbol: symbol.into(), offset };
        Slot { name: name.into(), units: 2, per_lane: false, init: Init::Zero, end }
    }
}
