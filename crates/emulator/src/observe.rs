//! Watching a launch: streams of events, snapshots of registers, counts.
//!
//! What a launch is watched for decides what it costs: an event for each instruction is a micro-op and 32 bytes, one
//! for each lane of a memory access another 32 bytes; counts by address cost nothing, the device keeps them anyway.
//! Events of a wave come in the order in which they happened; waves come one after the other, in the order of their
//! workgroups.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use luthier_isa::{Flags, Inst};

use crate::masks::lanes;
use crate::mem::access::{Addresses, Rows};
use crate::mem::{Action, Transfer};
use crate::registers::{rows, scalar};
use crate::report::LaunchReport;
use crate::wave::Wave;

/// What is watched.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    pub instructions: bool,
    pub memory: bool,
    /// Addresses of basic blocks whose beginnings make events.
    pub blocks: BTreeSet<u64>,
    /// Addresses before whose instruction all registers of each wave are copied.
    pub snapshots: BTreeSet<u64>,
    /// Only instructions at these addresses make events; empty for all.
    pub only: BTreeSet<u64>,
    /// Events of one kind that each worker keeps; the rest is counted as dropped.
    pub limit: usize,
    /// Who hears of events while the launch runs, so that none are kept.
    pub listener: Option<Listener>,
}

/// Hears some events of one wave, in the order in which they happened, and is called by the worker that runs the wave. The
/// wave goes on when it returns.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(Observation) + Send + Sync>);

impl Listener {
    pub fn new(hears: impl Fn(Observation) + Send + Sync + 'static) -> Listener {
        Listener(Arc::new(hears))
    }

    /// The same that is told other addresses of instructions.
    pub(crate) fn relocated(self, address: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Listener {
        Listener::new(move |mut seen| {
            seen.relocate(&address);
            self.0(seen);
        })
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Events of a wave that its listener is told at once.
const TOLD_AT_ONCE: usize = 4096;
/// Of snapshots, which are large.
const SNAPSHOTS_AT_ONCE: usize = 16;

impl Watch {
    /// The same with its addresses changed, and `back` those that its listener is told.
    pub(crate) fn relocated(
        self,
        address: impl Fn(u64) -> u64,
        back: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> Watch {
        let move_all = |set: BTreeSet<u64>| set.into_iter().map(&address).collect();
        let listener = self.listener.map(|listener| listener.relocated(back));
        let (snapshots, only, blocks) = (move_all(self.snapshots), move_all(self.only), move_all(self.blocks));
        Watch { snapshots, only, blocks, listener, ..self }
    }
}

/// A wave is about to execute an instruction, or the first one of a basic block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct InstructionEvent {
    /// Number of the workgroup, x fastest.
    pub workgroup: u64,
    pub pc: u64,
    pub exec: u64,
    /// Of its workgroup.
    pub wave: u32,
    /// Zero; it makes the size a multiple of eight, and is not shown.
    pub padding: u32,
}

/// A lane accesses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct MemoryEvent {
    pub workgroup: u64,
    pub pc: u64,
    /// In global memory or, for scratch, where the lane's bytes are on the device; an offset in LDS.
    pub address: u64,
    pub wave: u32,
    /// Bytes.
    pub size: u16,
    pub lane: u8,
    /// The lowest two bits: 0 a load, 1 a store, 2 an atomic. From bit 4 on: 0 global, 1 LDS, 2 scratch, 3 scalar.
    pub kind: u8,
}

/// Where a [`MemoryEvent`] was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Space {
    Global,
    Lds,
    Scratch,
    Scalar,
}

/// A wave that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct WaveEvent {
    pub workgroup: u64,
    /// Instructions that it has retired.
    pub instructions: u64,
    pub wave: u32,
    /// Lanes that it began with.
    pub lanes: u32,
}

/// All registers of a wave before an instruction, and its workgroup's LDS.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub workgroup: u64,
    pub wave: u32,
    pub pc: u64,
    pub registers: Registers,
    pub lds: Vec<u8>,
}

/// A wave's registers.
#[derive(Clone, Debug)]
pub struct Registers {
    /// s0 to s101; from RDNA1 on to s105.
    pub sgprs: Vec<u32>,
    /// 64 lanes of each VGPR, and of each AGPR.
    pub vgprs: Vec<[u32; 64]>,
    pub agprs: Vec<[u32; 64]>,
    pub exec: u64,
    /// All 64 bits, in either wave size.
    pub vcc: u64,
    pub m0: u32,
    pub scc: bool,
    pub mode: u32,
    pub flat_scratch: u64,
}

impl Registers {
    /// Those of a wave whose kernel has `vgprs` VGPRs and `agprs` AGPRs.
    pub fn of(w: &Wave, vgprs: u16, agprs: u16) -> Registers {
        let file = |first: u16, count: u16| {
            (first..first + count.min(1024)).map(|row| w.rows[usize::from(row)].0).collect::<Vec<_>>()
        };
        let sgprs = if w.generation.is_gfx9_family() { 102 } else { 106 };
        Registers {
            sgprs: w.s[..sgprs].to_vec(),
            vgprs: file(rows::VGPR, vgprs),
            agprs: file(w.first_agpr, agprs),
            exec: w.exec(),
            vcc: w.s64(scalar::VCC),
            m0: w.s[usize::from(scalar::M0)],
            scc: w.scc(),
            mode: w.mode.0,
            flat_scratch: w.s64(w.scratch_base),
        }
    }

    /// Makes them those of a wave.
    pub(crate) fn put(&self, w: &mut Wave) {
        let sgprs = self.sgprs.len().min(if w.generation.is_gfx9_family() { 102 } else { 106 });
        w.s[..sgprs].copy_from_slice(&self.sgprs[..sgprs]);
        let files = [(rows::VGPR, &self.vgprs), (w.first_agpr, &self.agprs)];
        for (row, value) in files.iter().flat_map(|(first, file)| (*first..).zip(file.iter())) {
            w.row_mut(row).0 = *value;
        }
        w.note_written(&[u64::MAX; rows::TEMP as usize / 64]);
        w.set_exec(self.exec & w.all_lanes());
        w.set_s64(scalar::VCC, self.vcc);
        w.s[usize::from(scalar::M0)] = self.m0;
        w.set_scc(self.scc);
        w.mode.0 = self.mode;
        w.set_s64(w.scratch_base, self.flat_scratch);
    }
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    pub instructions: Vec<InstructionEvent>,
    pub blocks: Vec<InstructionEvent>,
    pub memory: Vec<MemoryEvent>,
    pub waves: Vec<WaveEvent>,
    pub snapshots: Vec<Snapshot>,
    /// Events beyond the limit.
    pub dropped: u64,
}

/// What a watched launch did. Addresses are the code object's.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    pub report: LaunchReport,
    pub observation: Observation,
    /// Addresses, and how often the instruction there was retired by any wave; by address.
    pub counts: Vec<(u64, u64)>,
}

impl Observation {
    /// Adds what a wave has seen, as far as the limit allows.
    pub fn collect(&mut self, wave: Observation, limit: usize) {
        fn take<T>(into: &mut Vec<T>, from: Vec<T>, limit: usize) -> u64 {
            let room = limit.saturating_sub(into.len());
            let over = from.len().saturating_sub(room);
            if into.is_empty() && over == 0 {
                *into = from;
            } else {
                into.extend(from.into_iter().take(room));
            }
            over as u64
        }
        self.dropped += wave.dropped
            + take(&mut self.instructions, wave.instructions, limit)
            + take(&mut self.blocks, wave.blocks, limit)
            + take(&mut self.memory, wave.memory, limit)
            + take(&mut self.waves, wave.waves, limit)
            + take(&mut self.snapshots, wave.snapshots, limit);
    }

    fn is_empty(&self) -> bool {
        self.instructions.is_empty() && self.blocks.is_empty() && self.memory.is_empty() && self.snapshots.is_empty()
    }

    /// Changes the addresses of instructions.
    pub(crate) fn relocate(&mut self, address: impl Fn(u64) -> u64) {
        self.instructions.iter_mut().chain(&mut self.blocks).for_each(|e| e.pc = address(e.pc));
        self.memory.iter_mut().for_each(|e| e.pc = address(e.pc));
        self.snapshots.iter_mut().for_each(|s| s.pc = address(s.pc));
    }

    /// Adds another worker's, and puts the waves in order.
    pub fn merge(mut parts: Vec<Observation>) -> Observation {
        let mut all = parts.pop().unwrap_or_default();
        for part in parts {
            all.instructions.extend(part.instructions);
            all.blocks.extend(part.blocks);
            all.memory.extend(part.memory);
            all.waves.extend(part.waves);
            all.snapshots.extend(part.snapshots);
            all.dropped += part.dropped;
        }
        all.instructions = in_order(all.instructions, |e| (e.workgroup, e.wave));
        all.blocks = in_order(all.blocks, |e| (e.workgroup, e.wave));
        all.memory = in_order(all.memory, |e| (e.workgroup, e.wave));
        all.waves.sort_by_key(|e| (e.workgroup, e.wave));
        all.snapshots.sort_by_key(|e| (e.workgroup, e.wave));
        all
    }
}

/// The same events by wave. Those of one wave are neighbours already, so it is waves that are put in order.
fn in_order<T: Copy>(events: Vec<T>, wave: impl Fn(&T) -> (u64, u32)) -> Vec<T> {
    let mut waves: Vec<&[T]> = events.chunk_by(|one, next| wave(one) == wave(next)).collect();
    if waves.is_sorted_by_key(|events| wave(&events[0])) {
        return events;
    }
    waves.sort_by_key(|events| wave(&events[0]));
    waves.concat()
}

/// A wave's watcher. It travels with the wave; what it has seen is collected when the wave ends.
pub struct Observer {
    watch: Arc<Watch>,
    pub seen: Observation,
    workgroup: u64,
    wave: u32,
    pc: u64,
    /// Whether the instruction under way makes events.
    wanted: bool,
    registers: (u16, u16),
}

/// What an observer is to see of an instruction.
pub struct Seen {
    pc: u64,
    starts_block: bool,
    wanted: bool,
    snapshot: bool,
}

impl Seen {
    /// `None` if nothing is to be seen of the instruction.
    pub fn of(watch: &Watch, inst: &Inst, pc: u64) -> Option<Seen> {
        let starts_block = watch.blocks.contains(&pc);
        let wanted = watch.only.is_empty() || watch.only.contains(&pc);
        let snapshot = watch.snapshots.contains(&pc);
        // Accesses to memory look at the instruction that was seen last.
        let matters = watch.memory && !computes(inst) || watch.instructions && wanted || starts_block || snapshot;
        matters.then_some(Seen { pc, starts_block, wanted, snapshot })
    }

    /// The wave's observer hears that it is about to execute the instruction.
    pub fn tell(&self, w: &mut Wave) {
        if let Some(mut observer) = w.observer.take() {
            observer.instruction(w, self);
            w.observer = Some(observer);
        }
    }
}

/// Whether an instruction surely accesses no memory.
fn computes(inst: &Inst) -> bool {
    let flags = inst.info().flags;
    let accesses = Flags::LOAD | Flags::STORE | Flags::ATOMIC | Flags::SMEM | Flags::VMEM | Flags::FLAT | Flags::DS;
    let others = Flags::BARRIER | Flags::WAIT | Flags::END | Flags::TRAP | Flags::VINTERP | Flags::EXPORT;
    flags.intersects(Flags::VALU | Flags::SALU | Flags::MFMA | Flags::WMMA) && !flags.intersects(accesses | others)
}

/// Keeps an event unless there are too many.
fn keep<T>(list: &mut Vec<T>, event: T, limit: usize, dropped: &mut u64) {
    if list.len() < limit {
        list.push(event);
    } else {
        *dropped += 1;
    }
}

impl Observer {
    /// For a wave whose kernel has `registers` VGPRs and AGPRs.
    pub fn new(watch: Arc<Watch>, workgroup: u64, wave: u32, registers: (u16, u16)) -> Observer {
        Observer { watch, seen: Observation::default(), workgroup, wave, pc: 0, wanted: false, registers }
    }

    fn instruction(&mut self, w: &Wave, now: &Seen) {
        (self.pc, self.wanted) = (now.pc, now.wanted);
        let limit = self.watch.limit;
        let event =
            InstructionEvent { workgroup: self.workgroup, pc: now.pc, exec: w.exec(), wave: self.wave, padding: 0 };
        let seen = &mut self.seen;
        if self.watch.instructions && now.wanted {
            keep(&mut seen.instructions, event, limit, &mut seen.dropped);
        }
        if now.starts_block {
            keep(&mut seen.blocks, event, limit, &mut seen.dropped);
        }
        if now.snapshot {
            let registers = Registers::of(w, self.registers.0, self.registers.1);
            let (workgroup, wave, lds) = (self.workgroup, self.wave, w.lds.bytes());
            let snapshot = Snapshot { workgroup, wave, pc: now.pc, registers, lds };
            keep(&mut seen.snapshots, snapshot, limit, &mut seen.dropped);
        }
        self.tell_if_many();
    }

    /// Tells the listener, if there is one, once there is much to tell.
    #[inline(always)]
    fn tell_if_many(&mut self) {
        let seen = &self.seen;
        let many = seen.memory.len().max(seen.instructions.len()).max(seen.blocks.len()) >= TOLD_AT_ONCE
            || seen.snapshots.len() >= SNAPSHOTS_AT_ONCE;
        if many && self.watch.listener.is_some() {
            self.tell();
        }
    }

    /// Tells the listener, if there is one, what it has not heard yet.
    #[cold]
    #[inline(never)]
    pub fn tell(&mut self) {
        if let Some(listener) = &self.watch.listener
            && !self.seen.is_empty()
        {
            (listener.0)(std::mem::take(&mut self.seen));
        }
    }

    fn access(&mut self, action: u8, space: Space, lane: usize, address: u64, size: u64) {
        self.accesses(action, space, 1 << (lane & 63), size, |_| address);
    }

    /// An event for each lane of the mask.
    #[inline(always)]
    fn accesses(&mut self, action: u8, space: Space, mask: u64, size: u64, address: impl Fn(usize) -> u64) {
        let event = MemoryEvent {
            workgroup: self.workgroup,
            pc: self.pc,
            address: 0,
            wave: self.wave,
            size: size as u16,
            lane: 0,
            kind: action | (space as u8) << 4,
        };
        let (seen, count) = (&mut self.seen, mask.count_ones() as usize);
        let room = self.watch.limit.saturating_sub(seen.memory.len()).min(count);
        seen.dropped += (count - room) as u64;
        seen.memory.reserve(room);
        let events = lanes(mask).map(|lane| MemoryEvent { address: address(lane), lane: lane as u8, ..event });
        seen.memory.extend(events.take(room));
        self.tell_if_many();
    }

    /// Whether it wants to hear of accesses to memory.
    pub fn hears_memory(&self) -> bool {
        self.watch.memory
    }

    fn is_wanted(&self) -> bool {
        self.watch.memory && self.wanted
    }
}

fn code(action: Action) -> u8 {
    match action {
        Action::Load(_) => 0,
        Action::Store(_) => 1,
        Action::Atomic(..) => 2,
    }
}

fn bytes_of(action: Action, rows: Rows) -> u64 {
    match action {
        Action::Load(t) | Action::Store(t) => t.bytes(rows.words),
        Action::Atomic(..) => Transfer::Words.bytes(rows.words),
    }
}

/// Before an access to LDS, one offset a lane.
pub fn lds(w: &mut Wave, action: Action, rows: Rows, offsets: &[u32; 64], mask: u64) {
    let Some(observer) = w.observer.as_mut().filter(|o| o.is_wanted()) else { return };
    let size = bytes_of(action, rows);
    observer.accesses(code(action), Space::Lds, mask, size, |lane| offsets[lane & 63].into());
}

/// Before an access to device memory. Only scratch lies in pieces.
pub fn device(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) {
    let Some(observer) = w.observer.as_mut().filter(|o| o.is_wanted()) else { return };
    let space = if at.stride == 4 { Space::Global } else { Space::Scratch };
    observer.accesses(code(action), space, at.mask, bytes_of(action, rows), |lane| at.lane[lane & 63]);
}

/// Before an access whose bytes lie apart, in scratch or a swizzled buffer: `place` gives each one's address.
pub fn bytes(w: &mut Wave, action: Action, rows: Rows, mask: u64, place: &dyn Fn(usize, u32) -> u64) {
    let Some(observer) = w.observer.as_mut().filter(|o| o.is_wanted()) else { return };
    observer.accesses(code(action), Space::Scratch, mask, bytes_of(action, rows), |lane| place(lane, 0));
}

/// Before some bytes move between LDS and memory by no lane's doing.
pub fn piece(w: &mut Wave, loads: bool, lds: u64, global: Option<u64>, len: u64) {
    let Some(observer) = w.observer.as_mut().filter(|o| o.is_wanted()) else { return };
    // An event has room for 16 bits of size.
    for done in (0..len).step_by(0x8000) {
        let size = (len - done).min(0x8000);
        if let Some(global) = global {
            observer.access((!loads).into(), Space::Global, 0, global + done, size);
        }
        if loads || global.is_some() {
            observer.access(loads.into(), Space::Lds, 0, lds + done, size);
        }
    }
}

/// Before a scalar load or store.
pub fn scalar(w: &mut Wave, stores: bool, address: u64, size: u64) {
    if let Some(observer) = w.observer.as_mut().filter(|o| o.is_wanted()) {
        observer.access(stores.into(), Space::Scalar, 0, address, size);
    }
}

const _: () = assert!(size_of::<InstructionEvent>() == 32 && size_of::<MemoryEvent>() == 32);
const _: () = assert!(size_of::<WaveEvent>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_put_in_order_and_their_events_stay_so() {
        let event = |(workgroup, wave, pc)| InstructionEvent { workgroup, pc, exec: 0, wave, padding: 0 };
        let all = [(3, 0, 1), (3, 0, 9), (1, 1, 8), (1, 0, 7), (1, 0, 2), (2, 5, 3)].map(event);
        let found = in_order(all.to_vec(), |e| (e.workgroup, e.wave));
        let mut wanted = all.to_vec();
        wanted.sort_by_key(|e| (e.workgroup, e.wave));
        assert_eq!(found, wanted);
        assert_eq!(in_order(wanted.clone(), |e| (e.workgroup, e.wave)), wanted);
    }
}
