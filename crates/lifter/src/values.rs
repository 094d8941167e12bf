//! What scalar registers are known to hold: constants, addresses of the object, values of the function's entry.
//!
//! Addresses are those of the file; where the object is loaded they are all moved by the same amount, which is why the
//! two halves of an address are kept as "low half of the address of x" and "high half of the address of x".

/// Number of an instruction in its function, or of none.
pub(crate) type Source = u32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Const(u32),
    /// The low half of the run-time address of a vaddr with these low 32 bits.
    Low {
        vaddr: u32,
        source: Source,
    },
    /// The high half of the run-time address of this vaddr.
    High {
        vaddr: u64,
        source: Source,
    },
    /// In SCC: the carry (borrow) of adding (subtracting) `by` to the low half of an address with these low 32 bits.
    Carry {
        vaddr: u32,
        by: u32,
        minus: bool,
    },
    /// What a unit held at the function's entry.
    Entry(u16),
}

impl Value {
    /// Same value, wherever it came from.
    fn same(self, other: Value) -> bool {
        match (self, other) {
            (Value::Low { vaddr: a, .. }, Value::Low { vaddr: b, .. }) => a == b,
            (Value::High { vaddr: a, .. }, Value::High { vaddr: b, .. }) => a == b,
            (a, b) => a == b,
        }
    }
}

/// A place that a value can be tracked in: a scalar unit or one lane of a VGPR.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slot(u32);

impl Slot {
    pub const fn unit(index: usize) -> Slot {
        Slot(index as u32)
    }
    pub const fn lane(vgpr_index: usize, lane: u32) -> Slot {
        Slot((vgpr_index as u32) << 8 | 1 << 31 | lane & 63)
    }
    const fn lanes_of(vgpr_index: usize) -> std::ops::Range<Slot> {
        Slot::lane(vgpr_index, 0)..Slot((vgpr_index as u32 + 1) << 8 | 1 << 31)
    }
}

/// The known values at a point; whatever is not in it is unknown.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Values(Vec<(Slot, Value)>);

impl Values {
    pub fn get(&self, slot: Slot) -> Option<Value> {
        self.0.binary_search_by_key(&slot, |e| e.0).ok().map(|i| self.0[i].1)
    }
    pub fn set(&mut self, slot: Slot, value: Option<Value>) {
        match (self.0.binary_search_by_key(&slot, |e| e.0), value) {
            (Ok(i), Some(value)) => self.0[i].1 = value,
            (Ok(i), None) => {
                self.0.remove(i);
            }
            (Err(i), Some(value)) => self.0.insert(i, (slot, value)),
            (Err(_), None) => {}
        }
    }
    /// Forgets every lane of a VGPR.
    pub fn forget_lanes(&mut self, vgpr_index: usize) {
        let range = Slot::lanes_of(vgpr_index);
        let from = self.0.partition_point(|e| e.0 < range.start);
        if self.0.get(from).is_some_and(|e| e.0 < range.end) {
            let to = self.0.partition_point(|e| e.0 < range.end);
            self.0.drain(from..to);
        }
    }
    pub fn retain(&mut self, keep: impl Fn(Slot) -> bool) {
        self.0.retain(|e| keep(e.0));
    }
    pub fn clear(&mut self) {
        self.0.clear();
    }
    /// The unit behind a slot: a scalar unit, or the VGPR whose lane it is.
    pub fn unit_of(slot: Slot) -> usize {
        if slot.0 >> 31 == 0 { slot.0 as usize } else { (slot.0 << 1 >> 9) as usize }
    }
    /// Keeps what both agree on. True if something was lost.
    pub fn meet(&mut self, other: &Values) -> bool {
        let before = self.0.len();
        self.0.retain(|&(slot, value)| other.get(slot).is_some_and(|o| o.same(value)));
        self.0.len() != before
    }
    /// The address in a register pair, and the instruction that the value started at.
    pub fn address(&self, low: usize) -> Option<(u64, Source)> {
        match (self.get(Slot::unit(low)), self.get(Slot::unit(low + 1))) {
            (Some(Value::Low { vaddr: low, .. }), Some(Value::High { vaddr, source })) if vaddr as u32 == low => {
                Some((vaddr, source))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_one_register_are_forgotten_together() {
        let mut v = Values::default();
        v.set(Slot::lane(260, 0), Some(Value::Const(1)));
        v.set(Slot::lane(260, 63), Some(Value::Const(2)));
        v.set(Slot::lane(261, 0), Some(Value::Const(3)));
        v.set(Slot::unit(4), Some(Value::Const(4)));
        v.forget_lanes(260);
        assert_eq!(v.get(Slot::lane(260, 63)), None);
        assert_eq!(v.get(Slot::lane(261, 0)), Some(Value::Const(3)));
        assert_eq!(v.get(Slot::unit(4)), Some(Value::Const(4)));
        assert_eq!(Values::unit_of(Slot::lane(261, 7)), 261);
    }

    #[test]
    fn an_address_needs_both_halves_of_the_same_sum() {
        let mut v = Values::default();
        v.set(Slot::unit(4), Some(Value::Low { vaddr: 0x1000, source: 0 }));
        v.set(Slot::unit(5), Some(Value::High { vaddr: 0x1_0000_1000, source: 3 }));
        assert_eq!(v.address(4), Some((0x1_0000_1000, 3)));
        v.set(Slot::unit(4), Some(Value::Low { vaddr: 0x1004, source: 0 }));
        assert_eq!(v.address(4), None);
    }

    #[test]
    fn meeting_keeps_what_agrees() {
        let mut a = Values::default();
        a.set(Slot::unit(1), Some(Value::Const(1)));
        a.set(Slot::unit(2), Some(Value::Low { vaddr: 8, source: 1 }));
        let mut b = Values::default();
        b.set(Slot::unit(1), Some(Value::Const(2)));
        b.set(Slot::unit(2), Some(Value::Low { vaddr: 8, source: 9 }));
        assert!(a.meet(&b));
        assert_eq!(a.get(Slot::unit(1)), None);
        assert!(a.get(Slot::unit(2)).is_some());
        assert!(!a.meet(&b));
    }
}
