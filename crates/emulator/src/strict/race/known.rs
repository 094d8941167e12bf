//! What is known to have happened: of some waves, how many of their accesses.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

/// A wave's accesses complete in order within each stream: loads, stores where the processor counts them apart, scalar
/// loads. The number of the last one that is done.
pub type Done = [u32; 3];

/// What is known of one wave.
#[derive(Clone, Default, Debug)]
struct Happened {
    done: Done,
    /// Writes that told this, in their order. They have happened as well, whatever else of their streams has not.
    writes: SmallVec<[u32; 2]>,
}

/// Writes of a wave, beyond what is done, that are remembered.
const MOST_WRITES: usize = 16;

impl Happened {
    fn join(&mut self, other: &Happened) {
        let before = self.done;
        self.done.iter_mut().zip(other.done).for_each(|(own, new)| *own = (*own).max(new));
        // Mostly both know the same.
        if self.writes[..] != other.writes[..] {
            self.writes = merged(&self.writes, &other.writes);
        } else if self.done == before {
            return;
        }
        let all_done = self.done.into_iter().min().unwrap_or(0);
        let past = self.writes.partition_point(|&write| write <= all_done);
        self.writes.drain(..past.max(self.writes.len().saturating_sub(MOST_WRITES)));
    }
}

/// Numbers of either, in their order.
fn merged(mut one: &[u32], mut two: &[u32]) -> SmallVec<[u32; 2]> {
    let mut all: SmallVec<[u32; 2 * MOST_WRITES]> = SmallVec::new();
    while let (Some((a, behind_a)), Some((b, behind_b))) = (one.split_first(), two.split_first()) {
        all.push(*a.min(b));
        (one, two) = (if a <= b { behind_a } else { one }, if b <= a { behind_b } else { two });
    }
    all.extend_from_slice(one);
    all.extend_from_slice(two);
    SmallVec::from_slice(&all)
}

/// The accesses of waves, by the wave's number: all of a launch's waves may be in it, and joining two is what takes time where
/// they all wait for each other.
#[derive(Clone, Default, Debug)]
pub struct Known(Vec<(u32, Happened)>);

impl Known {
    fn of(&self, who: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&who, |(it, _)| *it)
    }
    pub fn covers(&self, who: u32, stream: usize, seq: u32) -> bool {
        self.of(who).is_ok_and(|at| {
            let it = &self.0[at].1;
            seq <= it.done[stream] || it.writes.contains(&seq)
        })
    }
    fn add(&mut self, who: u32, happened: &Happened) {
        match self.of(who) {
            Ok(at) => self.0[at].1.join(happened),
            Err(at) => self.0.insert(at, (who, happened.clone())),
        }
    }
    pub fn join(&mut self, other: &Known) {
        if self.0.is_empty() {
            return self.0.clone_from(&other.0);
        }
        let (mut at, before) = (0, self.0.len());
        for (who, happened) in &other.0 {
            while at < before && self.0[at].0 < *who {
                at += 1;
            }
            match self.0[..before].get_mut(at) {
                Some((it, own)) if it == who => own.join(happened),
                _ => self.0.push((*who, happened.clone())),
            }
        }
        if self.0.len() > before {
            self.0.sort_by_key(|(who, _)| *who);
        }
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a wave tells those who read what it writes: what it has done, what it knows of its workgroup's waves, from the
/// first on, and of others.
#[derive(Clone, Debug)]
pub struct Told {
    pub who: u32,
    pub done: Done,
    /// The accesses of each wave of the workgroup, from wave `first` on.
    pub first: u32,
    pub mates: Arc<[Done]>,
    pub others: Arc<Known>,
}

impl Told {
    /// `write` is the number of the access that told it.
    pub fn join_into(&self, known: &mut Known, write: u32) {
        known.join(&self.others);
        for (who, &done) in (self.first..).zip(self.mates.iter()) {
            if who != self.who && done != [0; 3] {
                known.add(who, &Happened { done, writes: SmallVec::new() });
            }
        }
        known.add(self.who, &Happened { done: self.done, writes: smallvec![write] });
    }
    /// At most this many waves are named.
    pub fn waves(&self) -> usize {
        1 + self.mates.len() + self.others.0.len()
    }
    pub fn is_same(&self, other: &Told) -> bool {
        self.done == other.done && Arc::ptr_eq(&self.mates, &other.mates) && Arc::ptr_eq(&self.others, &other.others)
    }
}

/// What a wave told, from which access on.
#[derive(Default, Debug)]
pub struct History(Vec<(u32, Told)>);

/// Changes that are remembered. Who reads what was written before them learns a little too much.
const MOST: usize = 16;

impl History {
    /// From the access `seq` on, the wave tells this.
    pub fn push(&mut self, seq: u32, told: Told) {
        match self.0.len() {
            // Most waves tell one thing.
            0 => self.0.reserve_exact(1),
            MOST => drop(self.0.remove(0)),
            _ => {}
        }
        self.0.push((seq, told));
    }
    /// What the access `seq` tells.
    pub fn at(&self, seq: u32) -> Option<&Told> {
        let later = self.0.partition_point(|(from, _)| *from <= seq);
        let dropped = self.0.len() == MOST;
        let at = match later.checked_sub(1) {
            Some(at) => at,
            None if dropped => 0,
            None => return None,
        };
        self.0.get(at).map(|(_, told)| told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(done: u32) -> Told {
        Told { who: 7, done: [done; 3], first: 5, mates: Arc::from([[3; 3], [0; 3]]), others: Arc::default() }
    }

    #[test]
    fn what_is_told_is_known_wave_by_wave_and_stream_by_stream() {
        let mut known = Known::default();
        Told { done: [4, 9, 0], ..told(0) }.join_into(&mut known, 1);
        assert!(known.covers(7, 0, 4) && !known.covers(7, 0, 5) && known.covers(7, 1, 9) && !known.covers(7, 2, 2));
        assert!(known.covers(5, 2, 3) && !known.covers(5, 0, 4) && !known.covers(6, 0, 1));
        told(2).join_into(&mut known, 2);
        assert!(known.covers(7, 1, 9) && known.covers(7, 2, 2));
        // The write that told it has happened, and what was not waited for before it has not.
        told(2).join_into(&mut known, 30);
        told(2).join_into(&mut known, 32);
        assert_eq!([29, 30, 31, 32, 33].map(|seq| known.covers(7, 2, seq)), [false, true, false, true, false]);
        for seq in 100..200 {
            told(2).join_into(&mut known, seq);
        }
        let writes = |known: &Known| known.0[known.of(7).expect("it is known")].1.writes.clone();
        assert!(known.covers(7, 2, 199) && writes(&known).len() == MOST_WRITES);
        told(198).join_into(&mut known, 198);
        assert_eq!(writes(&known)[..], [199]);
    }

    #[test]
    fn what_is_joined_covers_what_either_did_and_nothing_else() {
        let of = |waves: &[u32]| {
            let mut known = Known::default();
            waves.iter().for_each(|&who| Told { who, done: [who; 3], ..told(0) }.join_into(&mut known, 1000 + who));
            known
        };
        for (one, two) in
            [(&[1, 4, 9][..], &[4][..]), (&[], &[2, 3]), (&[2, 3], &[]), (&[5, 6], &[1, 6, 7, 20]), (&[8], &[3])]
        {
            let mut both = of(one);
            both.join(&of(two));
            assert!(both.0.is_sorted_by(|(a, _), (b, _)| a < b), "{both:?}");
            for who in 0..25 {
                let expected = one.contains(&who) || two.contains(&who);
                assert_eq!(both.covers(who, 1, 1000 + who), expected, "{one:?}, {two:?}: {who}");
                assert!(!both.covers(who, 1, 2000));
            }
        }
    }

    #[test]
    fn an_access_tells_what_was_true_when_it_was_made() {
        let mut history = History::default();
        assert!(history.at(3).is_none());
        for n in 1..=4 {
            history.push(10 * n, told(n));
        }
        assert!(history.at(9).is_none());
        assert_eq!([10, 19, 20, 99].map(|seq| history.at(seq).unwrap().done[0]), [1, 1, 2, 4]);
        for n in 5..=40 {
            history.push(10 * n, told(n));
        }
        assert_eq!(history.at(10).unwrap().done[0], 25);
    }
}
