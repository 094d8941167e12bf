//! What counters count: an operation in flight, what it will still write, and what an instruction waits for.

use luthier_isa::Reg;

use super::order::AccessId;

/// Counters, one bit each.
pub type Counters = u8;
/// vmcnt, or loadcnt.
pub const LOADS: Counters = 1;
/// lgkmcnt, or dscnt.
pub const LDS: Counters = 2;
/// vscnt, or storecnt.
pub const STORES: Counters = 4;
/// kmcnt.
pub const SCALAR: Counters = 8;
/// asynccnt.
pub const ASYNC: Counters = 16;
/// tensorcnt.
pub const TENSOR: Counters = 32;
/// samplecnt.
pub const SAMPLES: Counters = 64;
/// bvhcnt.
pub const BVH: Counters = 128;
pub const COUNTERS: usize = 8;

/// The most that each counter of a processor can stand at, by the counter's bit.
pub type Most = [u8; COUNTERS];
/// Asynchronous stores complete in order among themselves, but not with asynchronous loads.
pub const OWN_ORDER: u8 = 1;
pub const ORDERS: u8 = 2;

/// What an instruction lets remain of each counter's operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    pub counters: Counters,
    /// By the counter's bit.
    pub limits: [u16; COUNTERS],
    /// The counters that count no operation any more.
    pub none_left: Counters,
}

impl Wait {
    /// At most this many of one counter's.
    pub fn of(counter: Counters, limit: u32) -> Wait {
        let mut wait = Wait { counters: counter, ..Wait::default() };
        wait.limits[counter.trailing_zeros() as usize % COUNTERS] = limit.min(0xffff) as u16;
        wait.none_left = if limit == 0 { counter } else { 0 };
        wait
    }
    pub fn and(self, other: Wait) -> Wait {
        let limit = |k: usize| if other.counters >> k & 1 != 0 { other.limits[k] } else { self.limits[k] };
        Wait {
            counters: self.counters | other.counters,
            limits: std::array::from_fn(limit),
            none_left: self.none_left & !other.counters | other.none_left,
        }
    }
}

/// The units that a load fills: a few runs of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Loaded([(u16, u16); 4]);

impl Loaded {
    /// Adds neighbouring units. No instruction has more results than there is room for.
    pub fn add(&mut self, first: Reg, count: u8) {
        let free = self.0.iter_mut().find(|(_, count)| *count == 0);
        debug_assert!(free.is_some());
        if let Some(free) = free {
            *free = (first.index() as u16, count.into());
        }
    }
    pub fn is_empty(&self) -> bool {
        self.0[0].1 == 0
    }
    pub fn contains(&self, unit: u16) -> bool {
        self.0.iter().any(|&(first, count)| unit.wrapping_sub(first) < count)
    }
    #[inline(always)]
    pub fn for_each(&self, mut f: impl FnMut(usize)) {
        for &(first, count) in &self.0 {
            if count == 0 {
                break;
            }
            (first..first + count).for_each(|unit| f(unit.into()));
        }
    }
    pub fn units(self) -> impl Iterator<Item = usize> {
        let some = self.0.into_iter().take_while(|(_, count)| *count != 0);
        some.flat_map(|(first, count)| usize::from(first)..usize::from(first) + usize::from(count))
    }
}

/// An operation in flight.
pub struct InFlight {
    pub loaded: Loaded,
    /// Bits of each of them.
    pub filled: u32,
    /// The counters that still count it.
    pub counters: Counters,
    /// Those of them that guarantee that it is done.
    pub needs: Counters,
    /// Completes in any order.
    pub unordered: bool,
    /// Those of one order complete in it.
    pub order: u8,
    /// The access to memory shared with other waves that it makes; zero for none.
    pub access: AccessId,
    /// Its number among the wave's accesses to device memory; zero for none, or if it is done.
    pub seq: u32,
    /// Which of the wave's streams of accesses that is in.
    pub stream: u8,
}

impl InFlight {
    pub fn stream(&self) -> u8 {
        match () {
            () if self.unordered => 2,
            () if self.counters & STORES != 0 => 1,
            () => 0,
        }
    }
}
