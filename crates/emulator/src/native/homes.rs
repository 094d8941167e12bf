//! Scalar registers that a kernel does not use, for what is done once for a workgroup ([`super::alike`]).

use super::phase::Phase;
use super::touched::{for_each_source, written};

/// SGPRs that all processors have.
pub const SGPRS: usize = 102;
/// The first home: waves begin with something in lower ones.
const FIRST_HOME: usize = 40;

/// Registers that the kernel does not use.
pub struct Homes {
    taken: [bool; SGPRS],
    /// Where the contents of a register went last.
    latest: [Option<u8>; 256],
}

impl Homes {
    pub fn of(phases: &[Phase], wave64: bool) -> Homes {
        let mut taken = [false; SGPRS];
        taken[..FIRST_HOME].fill(true);
        let mut note = |code: u8, count: u8| {
            let end = usize::from(code) + usize::from(count);
            (usize::from(code)..end.min(SGPRS)).for_each(|code| taken[code] = true);
        };
        for phase in phases {
            written(&phase.what, wave64).into_iter().for_each(|(code, count)| note(code, count));
            for_each_source(&mut phase.what.clone(), wave64, &mut |code, count| note(*code, count));
        }
        Homes { taken, latest: [None; 256] }
    }

    /// Some in a row for the contents of as many.
    pub fn take(&mut self, code: u8, count: u8) -> Option<u8> {
        let home = self.beside(code, count).or_else(|| self.anywhere(code, count))?;
        for k in 0..count {
            self.taken[usize::from(home + k)] = true;
            self.latest[usize::from(code + k)] = Some(home + k);
        }
        Some(home)
    }

    fn is_free(&self, first: usize, count: usize) -> bool {
        self.taken.get(first..first + count).is_some_and(|taken| !taken.contains(&true))
    }

    /// Next to where the other half of a pair is: it is mostly both that are read.
    fn beside(&self, code: u8, count: u8) -> Option<u8> {
        let other = |code: u8| self.latest[usize::from(code)];
        let home = match (code % 2, count) {
            (1, 1) => other(code - 1)?.checked_add(1)?,
            (0, 1) => other(code + 1)?.checked_sub(1)?,
            _ => return None,
        };
        self.is_free(home.into(), 1).then_some(home)
    }

    /// The first place with room for the other half of a pair, or else any.
    fn anywhere(&self, code: u8, count: u8) -> Option<u8> {
        let before = usize::from(code % 2);
        let whole = (before + usize::from(count)).next_multiple_of(2);
        let pairs = (FIRST_HOME..SGPRS).step_by(2).find(|&first| self.is_free(first, whole));
        let alone = || (FIRST_HOME..SGPRS).find(|&first| self.is_free(first, count.into()));
        pairs.map(|first| first + before).or_else(alone).map(|home| home as u8)
    }
}
