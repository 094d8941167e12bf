//! What waves have written back of their caches, where a release has to (CDNA3, gfx1250).
//!
//! A write-back takes what its wave has stored, and what it knows of its workgroup's other waves, and is done when the wave
//! has waited for it, as for a store. What was read needs none, nor what was stored past the caches; so a wave that has
//! stored nothing else has nothing to wait for, and what it has acquired from others they have written back. What a wave
//! tells by its next write is what its own write-backs took, and those of the waves that it has met since: all of them may
//! release, then meet at a barrier, and one tells.

use std::sync::Arc;

use super::group::Watched;
use super::known::{Done, Told};
use crate::strict::order::Order;

type Mates = Arc<[Done]>;

/// A wave's stores and write-backs.
#[derive(Default)]
pub(super) struct Backing {
    /// The first store into caches behind each write-back, and before any, by number and stream.
    dirty: Vec<(u32, usize)>,
    /// The number of the last write-back.
    begun: u32,
    /// Begun and not waited for: the number, its stream, and what it takes of the other waves'.
    under_way: Vec<(u32, usize, Mates)>,
    /// By the wave's own time: what is done and not in its caches alone; what its write-backs took of the other waves'.
    done: Vec<(u32, Done)>,
    taken: Vec<(u32, Mates)>,
    /// What it knows of the others, by the clock and the number of changes in the workgroup that it is of.
    mates: Option<(Box<[u32]>, usize, Mates)>,
}

fn join(into: &mut Done, from: &Done) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

/// The last value up to a time.
fn by<T>(history: &[(u32, T)], time: u32) -> Option<&T> {
    let later = history.partition_point(|(at, _)| *at <= time);
    later.checked_sub(1).map(|at| &history[at].1)
}

fn put<T>(history: &mut Vec<(u32, T)>, time: u32, value: T) {
    match history.last_mut() {
        Some(last) if last.0 == time => last.1 = value,
        _ => history.push((time, value)),
    }
}

impl Backing {
    /// The wave has issued a store that may stay in its caches.
    pub fn stored(&mut self, seq: u32, stream: usize) {
        if !self.dirty.iter().any(|&(first, of)| of == stream && first > self.begun) {
            self.dirty.push((seq, stream));
        }
    }

    /// What is done, as far as others can see it.
    fn seen(&self, mut done: Done) -> Done {
        for &(first, stream) in &self.dirty {
            done[stream] = done[stream].min(first - 1);
        }
        done
    }

    /// The wave's waits guarantee this now. Gives whether others can see more.
    pub fn settle(&mut self, time: u32, done: Done) -> bool {
        while let Some((seq, stream, _)) = self.under_way.first()
            && *seq <= done[*stream]
        {
            let (seq, _, mates) = self.under_way.remove(0);
            self.dirty.retain(|(first, _)| *first > seq);
            let mut taken: Vec<Done> = self.taken.last().map(|(_, taken)| taken.to_vec()).unwrap_or_default();
            taken.resize(taken.len().max(mates.len()), [0; 3]);
            taken.iter_mut().zip(mates.iter()).for_each(|(taken, mate)| join(taken, mate));
            put(&mut self.taken, time, taken.into());
        }
        let seen = self.seen(done);
        let changed = self.done.last().is_none_or(|(_, last)| *last != seen);
        if changed {
            put(&mut self.done, time, seen);
        }
        changed
    }
}

impl Watched {
    /// A wave has issued a store that may stay in its caches.
    pub fn store(&mut self, wave: u16, seq: u32, stream: usize) {
        if self.races.writes_back {
            self.waves[usize::from(wave)].backing.stored(seq, stream);
        }
    }

    /// A wave begins to write its caches back: an access of this number, in this stream.
    pub fn write_back(&mut self, order: &Order, wave: u16, seq: u32, stream: usize) {
        if self.races.writes_back {
            let Told { mates, .. } = self.all_told(order, wave, [seq; 3]);
            let backing = &mut self.waves[usize::from(wave)].backing;
            backing.begun = seq;
            backing.under_way.push((seq, stream, mates));
        }
    }

    /// What a wave knows that others can see; `done` is what its waits guarantee.
    pub(super) fn backed_told(&mut self, order: &Order, wave: u16, done: Done) -> Told {
        let at = usize::from(wave);
        let now = self.all_told(order, wave, done);
        let clock = order.clock(wave);
        let is_known =
            |(as_of, changes, _): &(Box<[u32]>, usize, Mates)| **as_of == *clock && *changes == self.backings;
        let known = self.waves[at].backing.mates.as_ref().filter(|known| is_known(known));
        let mates = match known {
            Some((.., mates)) => Arc::clone(mates),
            None => {
                let mates = self.seen_of_mates(order, wave);
                self.waves[at].backing.mates = Some((clock.into(), self.backings, Arc::clone(&mates)));
                mates
            }
        };
        Told { done: self.waves[at].backing.seen(done), mates, ..now }
    }

    /// What others can see of what the other waves have done, as far as a wave has met them.
    fn seen_of_mates(&self, order: &Order, wave: u16) -> Mates {
        let mut mates = vec![[0; 3]; self.waves.len()];
        for (mate, clock) in order.clock(wave).iter().enumerate() {
            let backing = &self.waves[mate].backing;
            if let Some(done) = by(&backing.done, *clock) {
                join(&mut mates[mate], done);
            }
            let taken = by(&backing.taken, *clock).into_iter().flat_map(|taken| taken.iter());
            mates.iter_mut().zip(taken).for_each(|(known, taken)| join(known, taken));
        }
        mates[usize::from(wave)] = [0; 3];
        if mates.iter().all(|done| *done == [0; 3]) { Arc::default() } else { mates.into() }
    }
}
