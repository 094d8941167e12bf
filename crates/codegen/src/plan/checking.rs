//! Which placements the splice checker proves.
//!
//! Proving costs about as much as placing. A small plan is proven whole, since that takes less than starting Python does;
//! of a large one a sample is, so that a mistake of placement that many places have does not go unnoticed.

/// What a plan asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Checking {
    Nothing,
    /// Everything if the plan is small, else one place in [`ONE_IN`].
    #[default]
    Sample,
    Everything,
}

/// A plan is small with at most this many insertions and this many copied instructions.
const SMALL: (usize, usize) = (1_000, 20_000);
/// Of the places of a large plan.
const ONE_IN: u64 = 64;

/// What that comes to for one plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {
    Nothing,
    Some,
    All,
}

impl Checking {
    /// `copied`: instructions of the application that are copied.
    pub fn of(self, insertions: usize, copied: usize) -> Checked {
        match self {
            // Debug builds are for finding mistakes.
            _ if cfg!(debug_assertions) => Checked::All,
            Checking::Nothing => Checked::Nothing,
            Checking::Sample if insertions <= SMALL.0 && copied <= SMALL.1 => Checked::All,
            Checking::Sample => Checked::Some,
            Checking::Everything => Checked::All,
        }
    }
}

impl Checked {
    /// Whether what stands at an address of the original is proven; the seams of a function at the function's address.
    /// The same places in each run, whatever the threads do.
    pub fn at(self, address: u64) -> bool {
        match self {
            Checked::Nothing => false,
            // Neighbours differ in few bits, and instructions begin at multiples of 4.
            Checked::Some => (address / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) < u64::MAX / ONE_IN,
            Checked::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_in_sixty_four_is_in_the_sample_wherever_code_lies() {
        for start in [0x1000_u64, 0x1900, 0x7f00_1234_5600] {
            for step in [4, 8, 12, 256, 4096] {
                let addresses = (0..64_000).map(|n| start + n * step);
                let count = addresses.filter(|a| Checked::Some.at(*a)).count();
                assert!((700..1300).contains(&count), "{count} of 64000 from {start:#x}, {step} apart");
            }
        }
    }

    #[test]
    fn small_plans_are_proven_whole_and_large_ones_in_part() {
        if cfg!(debug_assertions) {
            return assert_eq!(Checking::Nothing.of(1, 1), Checked::All);
        }
        assert_eq!(Checking::default().of(1_000, 20_000), Checked::All);
        assert_eq!(Checking::default().of(1_001, 20_000), Checked::Some);
        assert_eq!(Checking::default().of(1_000, 20_001), Checked::Some);
        assert_eq!(Checking::Everything.of(1 << 20, 1 << 20), Checked::All);
        assert_eq!(Checking::Nothing.of(1, 1), Checked::Nothing);
    }
}
