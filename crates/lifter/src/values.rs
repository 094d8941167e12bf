//! What scalar registers are known to hold: constants, addresses of the object, values of the function's entry.
//!
//! Addresses are those of the file; where the object is loaded they are all moved by the same amount, which is why the
//! two halves of an address are kept as "low half of the address of x" and "high half of the address of x".

use crate::scratch::Frame;

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
    /// What a unit held at the function's entry, and so much more.
    Entry {
        unit: u16,
        plus: u32,
    },
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

/// A place that a value can be tracked in: a scalar unit; one lane of a VGPR, or all lanes of it that are on; the same
/// of a dword of scratch memory; a fact about EXEC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slot(u64);

const LANES: u64 = 1 << 40;
const MEMORY: u64 = 1 << 60;
/// In place of a lane: every lane that is on.
const EVERY: u64 = 0x80;

impl Slot {
    /// Known if some lane is on.
    pub const SOME_LANE: Slot = Slot(1 << 20);
    /// Known if all lanes are on.
    pub const ALL_LANES: Slot = Slot(1 << 20 | 1);

    pub const fn unit(index: usize) -> Slot {
        Slot(index as u64)
    }
    pub const fn lane(vgpr_index: usize, lane: u32) -> Slot {
        Slot(LANES | (vgpr_index as u64) << 8 | (lane & 63) as u64)
    }
    pub const fn every_lane(vgpr_index: usize) -> Slot {
        Slot(LANES | (vgpr_index as u64) << 8 | EVERY)
    }
    const fn lanes_of(vgpr_index: usize) -> std::ops::Range<Slot> {
        Slot::lane(vgpr_index, 0)..Slot(LANES | (vgpr_index as u64 + 1) << 8)
    }
    /// The same lanes of another register, or of a dword of memory at an address of some 30 bits.
    fn moved(self, to: Slot) -> Slot {
        Slot(to.0 & !0xff | self.0 & 0xff)
    }
    fn is_every_lane(self) -> bool {
        self.0 >= LANES && self.0 & EVERY != 0
    }
}

/// The known values at a point; whatever is not in it is unknown.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Values {
    known: Vec<(Slot, Value)>,
    /// Of everything that is known of scratch memory.
    frame: Option<Frame>,
}

impl Values {
    pub fn get(&self, slot: Slot) -> Option<Value> {
        self.known.binary_search_by_key(&slot, |e| e.0).ok().map(|i| self.known[i].1)
    }
    pub fn set(&mut self, slot: Slot, value: Option<Value>) {
        match (self.known.binary_search_by_key(&slot, |e| e.0), value) {
            (Ok(i), Some(value)) => self.known[i].1 = value,
            (Ok(i), None) => {
                self.known.remove(i);
            }
            (Err(i), Some(value)) => self.known.insert(i, (slot, value)),
            (Err(_), None) => {}
        }
    }
    fn forget(&mut self, range: std::ops::Range<Slot>) {
        let from = self.known.partition_point(|e| e.0 < range.start);
        if self.known.get(from).is_some_and(|e| e.0 < range.end) {
            let to = self.known.partition_point(|e| e.0 < range.end);
            self.known.drain(from..to);
        }
    }
    /// Forgets every lane of a VGPR.
    pub fn forget_lanes(&mut self, vgpr_index: usize) {
        self.forget(Slot::lanes_of(vgpr_index));
    }
    /// Forgets what lies in scratch memory.
    pub fn forget_memory(&mut self) {
        self.forget(Slot(MEMORY)..Slot(u64::MAX));
    }
    /// Other lanes may be on now.
    pub fn forget_every_lane(&mut self) {
        self.known.retain(|e| !e.0.is_every_lane());
    }
    pub fn any_memory(&self) -> bool {
        self.known.last().is_some_and(|e| e.0 >= Slot(MEMORY))
    }
    /// From here on, memory is that of a frame; what is known of another, which may be the same memory, is lost.
    pub fn enter(&mut self, frame: Frame) {
        if self.frame.replace(frame) != Some(frame) {
            self.forget_memory();
        }
    }
    pub fn knows(&self, frame: Frame) -> bool {
        self.frame == Some(frame)
    }
    /// A VGPR goes to a dword of scratch memory: what all lanes are known to hold, and single lanes if they are all on.
    pub fn spill(&mut self, vgpr_index: usize, dword: u32) {
        let to = Slot(MEMORY | u64::from(dword) << 8);
        self.forget(to..Slot(to.0 + 0x100));
        self.copy_lanes(Slot::lanes_of(vgpr_index), to);
    }
    /// And back.
    pub fn reload(&mut self, vgpr_index: usize, dword: u32) {
        let from = Slot(MEMORY | u64::from(dword) << 8);
        self.forget_lanes(vgpr_index);
        self.copy_lanes(from..Slot(from.0 + 0x100), Slot::lane(vgpr_index, 0));
    }
    fn copy_lanes(&mut self, range: std::ops::Range<Slot>, to: Slot) {
        let all = self.get(Slot::ALL_LANES).is_some();
        let held = self.known.iter().filter(|e| range.contains(&e.0) && (all || e.0.is_every_lane()));
        let held: Vec<(Slot, Value)> = held.copied().collect();
        held.into_iter().for_each(|(slot, value)| self.set(slot.moved(to), Some(value)));
    }
    pub fn retain(&mut self, keep: impl Fn(Slot) -> bool) {
        self.known.retain(|e| keep(e.0));
    }
    pub fn clear(&mut self) {
        self.known.clear();
    }
    /// The unit behind a slot: a scalar unit, or the VGPR whose lane it is; `None` of memory and of facts.
    pub fn unit_of(slot: Slot) -> Option<usize> {
        match slot.0 {
            unit @ ..0x10000 => Some(unit as usize),
            lane if (LANES..MEMORY).contains(&lane) => Some(((lane & !LANES) >> 8) as usize),
            _ => None,
        }
    }
    /// Keeps what both agree on. True if something was lost.
    pub fn meet(&mut self, other: &Values) -> bool {
        let before = self.known.len();
        if self.frame != other.frame {
            self.forget_memory();
        }
        self.known.retain(|&(slot, value)| other.get(slot).is_some_and(|o| o.same(value)));
        self.known.len() != before
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
        assert_eq!(Values::unit_of(Slot::lane(261, 7)), Some(261));
        assert_eq!(Values::unit_of(Slot::unit(7)), Some(7));
    }

    #[test]
    fn memory_keeps_the_lanes_that_were_on() {
        let mut v = Values::default();
        v.set(Slot::lane(260, 3), Some(Value::Const(1)));
        v.set(Slot::every_lane(260), Some(Value::Const(2)));
        let mut w = v.clone();
        w.set(Slot::ALL_LANES, Some(Value::Const(1)));
        for (values, lane) in [(&mut v, None), (&mut w, Some(Value::Const(1)))] {
            values.spill(260, 16);
            values.forget_lanes(260);
            values.reload(300, 20);
            assert_eq!(values.get(Slot::every_lane(300)), None);
            values.reload(300, 16);
            assert_eq!(values.get(Slot::every_lane(300)), Some(Value::Const(2)));
            assert_eq!(values.get(Slot::lane(300, 3)), lane);
            assert!(values.any_memory());
            values.forget_memory();
            assert!(!values.any_memory());
            assert_eq!(Values::unit_of(Slot::ALL_LANES), None);
        }
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
