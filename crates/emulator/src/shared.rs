//! What the workers of a launch share, made in one place for every kind of launch.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::device::Device;
use crate::dispatch::Dispatch;
use crate::error::EmuError;
use crate::gws::{self, Gws};
use crate::hostcall::buffered::PrintBuffer;
use crate::memory::Memory;
use crate::observe::Watch;
use crate::report::{FindingKind, Kinds};
use crate::schedule::Schedule;
use crate::spare::Spare;
use crate::start::Start;
use crate::strict::race::Races;
use crate::strict::race::coherence::{Within, writes_back};
use crate::watchdog::{Done, Watchdog};
use crate::weak::{Caches, Caching};

/// Workgroups that a worker has under way at most, unless all have to be.
pub const RESIDENT: usize = 32;
/// Waves that a cooperative launch may have: about as many as the largest of these processors holds at a time.
pub(crate) const COOPERATIVE_WAVES: u64 = 4096;
/// Bytes of scratch for workgroups that are begun while all others wait for global wave sync.
const MORE_SCRATCH: u64 = 256 << 20;

/// What the workers of a launch share.
pub struct Shared {
    pub dispatch: Dispatch,
    /// What its waves start with.
    pub start: Start,
    pub memory: Arc<Memory>,
    pub next_cluster: AtomicU64,
    pub clusters: u64,
    pub workers: usize,
    /// Workgroups that a worker may have under way.
    pub resident: usize,
    /// All of them are, from the beginning.
    pub cooperative: bool,
    pub schedule: Schedule,
    pub stop: Arc<AtomicBool>,
    /// What strict mode looks for, if it is on.
    pub strict: Option<Kinds>,
    /// Who touched device memory, if strict mode looks for races there.
    pub races: Option<Arc<Races>>,
    /// What the launch is watched for.
    pub watch: Option<Arc<Watch>>,
    /// When it is given up.
    pub watchdog: Watchdog,
    pub done: Arc<Done>,
    /// Where scratch begins, and the bytes of one workgroup's.
    pub scratch: u64,
    pub scratch_slot: u64,
    /// Where waves get their vector files.
    pub spare: Arc<Spare>,
    /// Workgroups that may be under way once some have waited for global wave sync.
    pub most: u64,
    /// Pieces of scratch memory that are no worker's own.
    pub more_slots: Mutex<Slots>,
    /// How many pieces there are.
    pub slots: usize,
    /// Global wave sync.
    pub global: Arc<gws::View>,
    /// Where the kernel prints, if it does so into a buffer.
    pub prints: Option<PrintBuffer>,
    /// What caches hold, and which stores are under way, where that is modelled.
    pub caches: Option<Arc<Caches>>,
}

/// What tells launches apart, however they are made.
pub struct Terms {
    pub dispatch: Dispatch,
    pub memory: Memory,
    pub cooperative: bool,
    pub schedule: Schedule,
    pub stop: Arc<AtomicBool>,
    pub strict: Option<Kinds>,
    /// It is to be told what the launch touches of device memory.
    pub footprint: bool,
    pub watch: Option<Watch>,
    pub prints: Option<PrintBuffer>,
    pub gws: Arc<Gws>,
    /// One worker runs it.
    pub alone: bool,
}

impl Shared {
    /// Scratch memory for all workgroups that may be under way is allocated here.
    ///
    /// # Errors
    /// A cooperative launch has too many workgroups, or there is no memory left.
    pub fn new(device: &Device, terms: Terms) -> Result<Shared, EmuError> {
        let Terms { dispatch, mut memory, cooperative, schedule, stop, strict, footprint, watch, prints, gws, alone } =
            terms;
        // What is not compared with other launches need not tell what it touches.
        let compared = FindingKind::LaunchRace.into();
        let strict = strict.map(|kinds: Kinds| if footprint { kinds } else { kinds - compared });
        let waves = u64::from(dispatch.waves(dispatch.workgroup.iter().product::<u32>())).max(1);
        let scratch_slot = dispatch.wave_scratch() * waves;
        let groups: u64 = dispatch.groups().iter().map(|&n| u64::from(n)).product();
        let in_cluster = dispatch.cluster_size() as usize;
        let clusters = groups / in_cluster as u64;
        // What is to be done again in the same order, one has to do.
        let most = if schedule == Schedule::Fair && !alone { device.workers()? } else { 1 };
        let workers = most.min(clusters.min(1 << 16) as usize).max(1);
        // Workgroups that may be under way at a time while they wait for one another.
        let most = COOPERATIVE_WAVES / waves;
        let mut resident = RESIDENT;
        if cooperative {
            if groups > most {
                return Err(EmuError::Cooperative { groups, most });
            }
            resident = resident.max(clusters.div_ceil(workers as u64) as usize * in_cluster);
        }
        // Workers have room of their own; more of it is for workgroups that are begun while all others wait.
        let own_slots = workers * resident;
        let affordable = MORE_SCRATCH.checked_div(scratch_slot).unwrap_or(u64::MAX);
        let more = if in_cluster == 1 { groups.min(most).saturating_sub(resident as u64).min(affordable) } else { 0 };
        let slots = own_slots as u64 + more;
        let scratch = match scratch_slot.checked_mul(slots).ok_or(EmuError::OutOfMemory(u64::MAX))? {
            0 => 0,
            total => memory.allocate(total, true).ok_or(EmuError::OutOfMemory(total))?,
        };
        let races = races(&dispatch, strict, footprint, workers, &memory);
        let together = cooperative.then(|| (groups, dispatch.all_waves()));
        let memory = Arc::new(memory);
        let caches = caches(&schedule, &dispatch, &memory, scratch..scratch + scratch_slot * slots);
        Ok(Shared {
            start: Start::of(&dispatch),
            dispatch,
            memory,
            caches,
            next_cluster: AtomicU64::new(0),
            clusters,
            workers,
            resident,
            cooperative,
            schedule,
            stop,
            strict,
            races,
            watch: watch.map(Arc::new),
            watchdog: device.watchdog(),
            done: Arc::default(),
            scratch,
            scratch_slot,
            spare: device.spare(),
            most,
            slots: slots as usize,
            more_slots: Mutex::new(Slots::new(own_slots..own_slots + more as usize)),
            global: Arc::new(gws::View::new(gws, together, workers)),
            prints,
        })
    }

    /// The same launch once more, from its beginning, in memory as it is. It is alone, and `gws` are its own. The schedule is
    /// another one of its kind.
    #[must_use]
    pub fn again(&mut self, gws: Arc<Gws>, schedule: &Schedule) -> Shared {
        let scratch = self.scratch..self.scratch + self.scratch_slot * self.slots as u64;
        let groups = self.clusters * u64::from(self.dispatch.cluster_size());
        let together = self.cooperative.then(|| (groups, self.dispatch.all_waves()));
        let own_slots = self.workers * self.resident;
        Shared {
            start: Start::of(&self.dispatch),
            dispatch: self.dispatch.clone(),
            memory: Arc::clone(&self.memory),
            next_cluster: AtomicU64::new(0),
            clusters: self.clusters,
            workers: self.workers,
            resident: self.resident,
            cooperative: self.cooperative,
            schedule: schedule.clone(),
            caches: caches(schedule, &self.dispatch, &self.memory, scratch),
            stop: Arc::default(),
            strict: self.strict,
            races: races(&self.dispatch, self.strict, false, self.workers, &self.memory),
            watch: self.watch.clone(),
            watchdog: self.watchdog.again(),
            done: Arc::default(),
            scratch: self.scratch,
            scratch_slot: self.scratch_slot,
            spare: Arc::clone(&self.spare),
            most: self.most,
            more_slots: Mutex::new(Slots::new(own_slots..self.slots)),
            slots: self.slots,
            global: Arc::new(gws::View::new(gws, together, self.workers)),
            prints: self.prints.take(),
        }
    }

    /// Shows what the kernel has printed into its buffer.
    pub fn show(&self, kernel: &str) -> Result<(), EmuError> {
        let Some(prints) = &self.prints else { return Ok(()) };
        prints.flush(&self.memory).map_err(|what| EmuError::Unsupported { kernel: kernel.to_owned(), what })
    }
}

/// The caches of a launch, where its schedule has them modelled.
fn caches(schedule: &Schedule, dispatch: &Dispatch, memory: &Arc<Memory>, private: Range<u64>) -> Option<Arc<Caches>> {
    let caching = Caching::new(dispatch.facts.generation(), within(dispatch));
    schedule.weak().map(|seed| Arc::new(Caches::new(seed, caching, Arc::clone(memory), private)))
}

/// What the waves of its workgroups have to do before they access what another one has accessed.
fn within(dispatch: &Dispatch) -> Within {
    let descriptor = &dispatch.descriptor;
    Within::of(dispatch.facts.generation(), descriptor.wgp_mode(), descriptor.tg_split())
}

/// What a launch on `threads` threads needs to look for races in device memory, if it is to.
fn races(
    dispatch: &Dispatch,
    strict: Option<Kinds>,
    footprint: bool,
    workers: usize,
    memory: &Memory,
) -> Option<Arc<Races>> {
    let (generation, within) = (dispatch.facts.generation(), within(dispatch));
    let waves = dispatch.waves(dispatch.workgroup.iter().product());
    let asks = |kind: FindingKind| strict.is_some_and(|kinds| kinds.contains(kind.into()));
    let wanted = asks(FindingKind::MemoryRace) || within.waits && waves > 1 && asks(FindingKind::MissingWait);
    (wanted && dispatch.all_waves() > 1 || footprint)
        .then(|| Races::new(dispatch.groups(), waves, writes_back(generation), within, workers))
        .map(|races| Arc::new(races.but_for(memory.rings())))
}

/// Numbers of pieces of scratch memory.
#[derive(Clone, Default)]
pub struct Slots {
    returned: Vec<usize>,
    fresh: Range<usize>,
}

impl Slots {
    pub fn new(all: Range<usize>) -> Slots {
        Slots { returned: Vec::new(), fresh: all }
    }
    pub fn take(&mut self) -> Option<usize> {
        self.returned.pop().or_else(|| self.fresh.next())
    }
    pub fn give(&mut self, slot: usize) {
        self.returned.push(slot);
    }
}
