//! Data races in device memory.
//!
//! Two accesses to the same bytes by different waves race if one of them writes, not both are atomic, and nothing orders
//! them. Within a workgroup, barriers and atomics order (`Order`). Between workgroups it takes what LLVM's memory model
//! asks for: the writer waits for what it has done (and, on some processors, for its caches to be written back, `backing`),
//! then writes an atomic variable; the reader reads that with an access that reaches as far, waits for it, and invalidates
//! its caches. So a wave
//! that writes *tells* something ([`known::Told`]); one that reads with an atomic access has *looked*, and *acquires* what
//! the last writers told when it invalidates its caches. Caches matter to who reads: one that writes, or whose read does
//! not look into them, knows what it has looked at as soon as it has waited for that ([`learned`]).
//!
//! Words of memory remember who touched them last ([`cells`]), with the number of the access in its wave. There is no
//! clock of all waves in each wave: what is known of other workgroups is a map, empty for kernels that do not meet.

mod backing;
pub mod cells;
pub mod coherence;
pub mod footprint;
mod gate;
mod group;
pub mod known;
mod learned;
mod touch;
pub(super) mod wave;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cells::Pages;
use coherence::Within;
use gate::Gate;
pub use gate::Passage;
pub use group::Watched;
use known::{History, Known, Told};
pub use touch::{Access, Lack, Places, Race};

/// What a launch remembers, for all its waves. Who has a shard may lock what was told, not the other way round.
pub struct Races {
    shards: Vec<Mutex<Shard>>,
    told: Vec<Mutex<ByNumber<u32, History>>>,
    /// Of those who know nothing.
    nothing: Arc<Known>,
    /// What those knew who have come to a barrier of several workgroups.
    meetings: Mutex<HashMap<u64, Known>>,
    /// Of chains, so far.
    changes: AtomicU64,
    /// What atomics of several lanes that bring nothing back may still add to chains.
    room: AtomicU64,
    /// What may still be added to their logs.
    log_room: AtomicU64,
    /// Of several threads.
    gate: Option<Gate>,
    groups: [u32; 3],
    /// Waves of a whole workgroup.
    waves: u32,
    writes_back: bool,
    within: Within,
    /// Where the host orders accesses.
    rings: Arc<[Range<u64>]>,
}

#[derive(Default)]
struct Shard {
    pages: Pages,
    chains: Chains,
}

/// Words that atomics have changed since a store: what all of them told, and when that changed last.
type Chains = HashMap<u64, Chain>;

#[derive(Default)]
struct Chain {
    known: Known,
    changed: u64,
    log: Log,
}

/// What was told on a word, by the access with this number, in its order.
type Log = Arc<Mutex<Vec<(Told, u32)>>>;

const SHARDS: usize = 64;
/// The number of waves that are known of, for all words together: enough for signals, and little time for histograms.
const ROOM: u64 = 1 << 20;
/// Tellings that are remembered by when they were told.
const LOG_ROOM: u64 = 1 << 20;

/// A map whose keys count something: pages, waves.
type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// Spreads numbers in a row over all bits.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }
    fn write_u64(&mut self, n: u64) {
        // The fraction of the golden ratio.
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn finish(&self) -> u64 {
        // The table looks at the lowest bits and at the highest.
        self.0 ^ self.0 >> 32
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Races {
    /// For a launch: its workgroups, the waves of each, and the threads.
    pub fn new(groups: [u32; 3], waves: u32, writes_back: bool, within: Within, workers: usize) -> Races {
        Races {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            told: (0..SHARDS).map(|_| Mutex::default()).collect(),
            nothing: Arc::default(),
            meetings: Mutex::default(),
            changes: AtomicU64::new(0),
            room: AtomicU64::new(ROOM),
            log_room: AtomicU64::new(LOG_ROOM),
            gate: (workers > 1).then(Gate::default),
            groups,
            waves: waves.max(1),
            writes_back,
            within,
            rings: Arc::default(),
        }
    }

    /// The same, but for memory in which the host orders accesses.
    pub fn but_for(self, rings: &Arc<[Range<u64>]>) -> Races {
        Races { rings: Arc::clone(rings), ..self }
    }

    /// Whether workgroups run on several threads.
    fn has_threads(&self) -> bool {
        self.gate.is_some()
    }

    fn shard(&self, page: u64) -> MutexGuard<'_, Shard> {
        lock(&self.shards[page as usize % SHARDS])
    }

    fn histories(&self, who: u32) -> MutexGuard<'_, ByNumber<u32, History>> {
        lock(&self.told[who as usize % SHARDS])
    }

    fn tell(&self, seq: u32, told: Told) {
        self.histories(told.who).entry(told.who).or_default().push(seq, told);
    }

    /// Notes what was told on a word.
    fn note(&self, log: &Log, told: &Told, write: u32) {
        if self.log_room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(1)).is_ok() {
            lock(log).push((told.clone(), write));
        }
    }

    /// Whether there is room to remember what an atomic tells on this many words.
    fn affords(&self, told: &Told, words: usize) -> bool {
        let needed = (told.waves() * words) as u64;
        self.room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(needed)).is_ok()
    }

    fn told(&self, who: u32, seq: u32) -> Option<Told> {
        self.histories(who).get(&who)?.at(seq).cloned()
    }

    /// The number of a workgroup's first wave.
    pub fn first_wave(&self, group: u64) -> u32 {
        (group as u32).wrapping_mul(self.waves).wrapping_add(1)
    }

    /// A wave's workgroup, and its number there.
    pub fn place_of(&self, who: u32) -> ([u32; 3], u32) {
        let (group, wave) = ((who - 1) / self.waves, (who - 1) % self.waves);
        let [x, y, _] = self.groups.map(|n| n.max(1));
        ([group % x, group / x % y, group / x / y], wave)
    }
}
