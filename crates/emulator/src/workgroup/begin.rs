//! How workgroups begin: on new waves, or on those of one of the same launch that has ended.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::{Running, State, Workgroup};
use crate::barrier::{Barriers, Cluster};
use crate::choose::WaveId;
use crate::code::Place;
use crate::lds::Lds;
use crate::lower::Limits;
use crate::observe::Observer;
use crate::program::{Cursor, Program};
use crate::repeated::Repeated;
use crate::shared::{Shared, Slots};
use crate::start;
use crate::strict::race::Watched;
use crate::strict::{self, Looks, Strict};
use crate::wave::Wave;

impl Workgroup {
    /// Starts the workgroups of the next cluster, where one worker has all of the launch; none if there is no other, or no
    /// room for it.
    #[allow(clippy::vec_box)] // as below
    pub fn start_next(
        shared: &Shared,
        slots: &mut Slots,
        limits: Limits,
        free: &mut Vec<Box<Wave>>,
    ) -> Option<Vec<Workgroup>> {
        let (number, size) = (shared.next_cluster.load(Relaxed), shared.dispatch.cluster_size());
        if number >= shared.clusters {
            return None;
        }
        let taken: Vec<usize> = (0..size).map_while(|_| slots.take()).collect();
        if taken.len() < size as usize {
            taken.into_iter().for_each(|slot| slots.give(slot));
            return None;
        }
        shared.next_cluster.store(number + 1, Relaxed);
        let cluster = (size > 1).then(|| Cluster::new(size));
        let start = |(rank, slot)| {
            let id = shared.dispatch.group_in_cluster(number, rank);
            let cluster = (number, cluster.as_ref().map(|cluster| (Rc::clone(cluster), rank)));
            Workgroup::start(shared, id, cluster, slot, limits, free)
        };
        Some((0..).zip(taken).map(start).collect())
    }

    /// The launch's workgroup with this id, in its initial state. Waves that have ended are used again. `cluster` is the
    /// number of its cluster and, if that has more workgroups, their barrier and which of them it is.
    #[allow(clippy::vec_box)] // a wave is large, and moves between lists
    pub fn start(
        shared: &Shared,
        id: [u32; 3],
        cluster: (u64, Option<(Rc<Cluster>, u32)>),
        slot: usize,
        limits: Limits,
        free: &mut Vec<Box<Wave>>,
    ) -> Workgroup {
        let d = &shared.dispatch;
        let number = d.group_number(id);
        let size = d.group_size(id);
        let items = size.iter().product::<u32>();
        let lds = d.lds.next_multiple_of(4) as usize;
        let count = d.waves(items);
        let checks = shared.strict.map(|kinds| {
            let watched = |races| Watched::new(Arc::clone(races), number, cluster.0, count as usize);
            let races = shared.races.as_ref().map(watched);
            (kinds, strict::Group::new(count as usize, lds, d.has_engines(), races, Looks::of(kinds)))
        });
        let lds = Rc::new(Lds::new(lds));
        let barriers = Barriers::new(count, d.facts.named_barriers(&d.descriptor), cluster.1);
        let barriers = Rc::new(barriers.with_global(Arc::clone(&shared.global)));
        let repeated = Rc::new(Repeated::of(count as usize));
        let group = Self::beginning(shared, id, slot);
        let start = |wave_number: u32| {
            let mut wave = free.pop().unwrap_or_else(|| {
                let mut wave = Box::new(Wave::with_file(shared.spare.take()));
                wave.memory = Arc::clone(&shared.memory);
                wave
            });
            wave.lds = Rc::clone(&lds);
            wave.barrier = Rc::clone(&barriers);
            wave.repeated = Rc::clone(&repeated);
            wave.strict = checks.as_ref().map(|(kinds, checks)| {
                let own = Self::scratch_of(shared, &group, wave_number);
                match wave.strict.take() {
                    Some(mut strict) => {
                        strict.restart(*kinds, Rc::clone(checks), wave_number as u16, own);
                        strict
                    }
                    None => Box::new(Strict::new(*kinds, Rc::clone(checks), wave_number as u16, own)),
                }
            });
            wave.observer = shared.watch.as_ref().map(|watch| {
                let registers = (limits.vgprs, limits.agprs);
                Box::new(Observer::new(Arc::clone(watch), number, wave_number, registers))
            });
            let id_of_wave = WaveId { group: number, wave: wave_number };
            wave.weak = shared.caches.as_ref().map(|caches| Box::new(caches.part(id_of_wave)));
            let listens = wave.observer.as_ref().is_some_and(|observer| observer.hears_memory());
            wave.is_watched = listens || wave.must_hear();
            shared.start.put(d, &mut wave, &group, wave_number);
            Running {
                wave,
                cursor: Cursor::Place(Place { pc: d.entry, mode: 0 }),
                state: State::Ready,
                instructions: 0,
            }
        };
        let waves = (0..count).map(start).collect();
        Workgroup { id, number, slot, waves, cluster: cluster.0, barriers, instructions: 0 }
    }

    /// What its waves begin with.
    fn beginning(shared: &Shared, id: [u32; 3], slot: usize) -> start::Group {
        let scratch = shared.scratch + shared.scratch_slot * slot as u64;
        start::Group { id, size: shared.dispatch.group_size(id), scratch, scratch_len: shared.scratch_slot }
    }

    /// The scratch memory of a wave of a group.
    fn scratch_of(shared: &Shared, group: &start::Group, wave: u32) -> Range<u64> {
        let size = shared.dispatch.wave_scratch();
        let start = group.scratch + u64::from(wave) * size;
        start..start + size
    }

    /// Whether another workgroup of the launch can begin in its waves, LDS and barriers, as nothing but strict mode looks at
    /// what they do.
    pub fn can_begin_again(&self) -> bool {
        let looked_at = |wave: &Wave| wave.observer.is_some() || wave.weak.is_some();
        !self.barriers.has_cluster() && !self.waves.iter().any(|running| looked_at(&running.wave))
    }

    /// Makes a workgroup that has ended another one of the same launch with as many waves, in its initial state.
    pub fn begin_again(&mut self, shared: &Shared, id: [u32; 3], cluster: u64, slot: usize) {
        let d = &shared.dispatch;
        let group = self.take_place(shared, (id, d.group_number(id)), cluster, slot);
        self.barriers.begin_again();
        for (number, running) in (0..).zip(&mut self.waves) {
            if let Some(strict) = &mut running.wave.strict {
                if number == 0 {
                    strict.begin_group_again(self.number, cluster);
                }
                strict.begin_again(Self::scratch_of(shared, &group, number));
            }
            shared.start.put(d, &mut running.wave, &group, number);
            running.cursor = Cursor::Place(Place { pc: d.entry, mode: 0 });
            (running.state, running.instructions) = (State::Ready, 0);
        }
    }

    /// The same, but for its waves and barriers; what the waves begin with.
    #[inline(always)]
    pub fn take_place(
        &mut self,
        shared: &Shared,
        (id, number): ([u32; 3], u64),
        cluster: u64,
        slot: usize,
    ) -> start::Group {
        (self.id, self.number, self.slot, self.cluster, self.instructions) = (id, number, slot, cluster, 0);
        if let Some(running) = self.waves.first() {
            running.wave.lds.clear();
        }
        Self::beginning(shared, id, slot)
    }

    /// Whether all waves, which are at their beginning, may do the first block and the next one at once.
    pub fn begin_together(&mut self, program: &mut Program, shared: &Shared) -> bool {
        let place = Place { pc: shared.dispatch.entry, mode: 0 };
        let Some(begin) = program.begin(place, &shared.start.constants) else { return false };
        self.waves.iter_mut().for_each(|running| running.cursor = begin);
        true
    }
}
