//! Vector clocks: how much of each queue's work somebody knows to be done.

/// By the queue's number here, the last of its packets that is known of.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Clock(Vec<u64>);

impl Clock {
    /// Gives whether there was something new.
    pub fn join(&mut self, other: &Clock) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut is_news = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            is_news |= *own < *other;
            *own = (*own).max(*other);
        }
        is_news
    }

    /// Packets of a queue up to this number are known from now on.
    pub fn learn(&mut self, queue: usize, number: u64) {
        if self.0.len() <= queue {
            self.0.resize(queue + 1, 0);
        }
        self.0[queue] = self.0[queue].max(number);
    }

    /// Whether a packet, numbered from 1, is known to be done.
    pub fn knows(&self, queue: usize, number: u64) -> bool {
        self.0.get(queue).is_some_and(|last| *last >= number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_joined_know_what_either_knew() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.learn(0, 3);
        b.learn(2, 5);
        b.learn(0, 1);
        assert!(a.join(&b) && !a.join(&b));
        assert!(a.knows(0, 3) && a.knows(2, 5) && !a.knows(0, 4) && !a.knows(1, 1) && !b.knows(0, 2));
    }
}
