//! What code can ask of its workgroup's barrier on RDNA4: how many waves have signalled since it was last complete.
//!
//! Waiting is the workgroup's business ([`crate::workgroup`]): it lets all waves pass when all have come to their wait.

use std::cell::Cell;

/// The barrier of one workgroup, number -1.
#[derive(Debug, Default)]
pub struct Barrier {
    members: Cell<u32>,
    signals: Cell<u32>,
}

impl Barrier {
    /// That of so many waves.
    pub fn new(members: u32) -> Barrier {
        Barrier { members: Cell::new(members), signals: Cell::new(0) }
    }
    /// A wave signals; whether it is the first. (The only wave of a workgroup never is.)
    pub fn signal(&self) -> bool {
        let (first, counts) = (self.signals.get() == 0, self.members.get() > 1);
        self.signals.set(self.signals.get() + 1);
        self.settle();
        first && counts
    }
    /// A wave has ended: it no longer takes part.
    pub fn leave(&self) {
        self.members.set(self.members.get().saturating_sub(1));
        self.settle();
    }
    /// As `s_get_barrier_state` has it: signals [22:16], members [10:4], valid 0.
    pub fn state(&self) -> u32 {
        self.signals.get() << 16 | self.members.get() << 4 | 1
    }
    fn settle(&self) {
        if self.signals.get() >= self.members.get() {
            self.signals.set(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Barrier;

    #[test]
    fn the_first_of_each_round_is_told() {
        let barrier = Barrier::new(3);
        assert_eq!([barrier.signal(), barrier.signal()], [true, false]);
        assert_eq!(barrier.state(), 2 << 16 | 3 << 4 | 1);
        assert_eq!([barrier.signal(), barrier.signal()], [false, true]);
        barrier.leave();
        assert_eq!(barrier.state(), 1 << 16 | 2 << 4 | 1);
        barrier.leave();
        assert_eq!(barrier.state(), 1 << 4 | 1);
        assert!(!barrier.signal());
    }
}
