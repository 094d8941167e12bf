//! The initial state of waves.
//!
//! A launch may have millions that do little each, so what all of them begin with is found once.

mod again;

pub use again::Again;
use luthier_isa::Generation;
use luthier_loader::EntryValue;
use luthier_loader::entry::EntryField;

use crate::dispatch::Dispatch;
use crate::facts::ScratchBase;
use crate::level::{Work, at_best};
use crate::lower::Limits;
use crate::masks::lanes;
use crate::memory::SCRATCH_APERTURE;
use crate::mode::Mode;
use crate::registers::{Registers, Row, rows, scalar};
use crate::strict::ALWAYS_DEFINED;
use crate::wave::{Place, Wave};

/// Scalar registers that are no constants.
const SCALARS: usize = scalar::FIRST_CONST as usize;

/// What the waves of a launch start with.
pub struct Start {
    limits: Limits,
    mode: Mode,
    generation: Generation,
    /// See [`Wave::kept`].
    kept: u32,
    lanes: u32,
    /// Bytes of scratch.
    scratch: u64,
    /// Scalar registers, without those that differ from wave to wave.
    scalars: [u32; SCALARS],
    /// All scalar registers that are set, one bit each.
    set: u128,
    /// What differs: scalar registers with the workgroup's number in a dimension, and all else.
    numbers: Vec<(u8, usize)>,
    fields: Vec<EntryField>,
    /// Pairs of scalar registers that lead to what no wave is to write while others may read it: arguments and the packet.
    pub constants: Vec<u8>,
    /// The work-item's ids that the kernel asks for: the row, the bits and the dimension.
    ids: Vec<(usize, u8, usize)>,
    /// Rows of these.
    used: usize,
    /// The rows of all waves of a whole workgroup, where there are many such.
    whole: Vec<Row>,
    workgroup: [u32; 3],
}

/// Workgroups of a launch from which on it is worth while to have the rows of [`Start::whole`].
const MANY: u64 = 64;

/// What the waves of a workgroup have in common.
pub struct Group {
    pub id: [u32; 3],
    /// Work-items.
    pub size: [u32; 3],
    /// Where its scratch begins, and how many bytes there are.
    pub scratch: u64,
    pub scratch_len: u64,
}

impl Start {
    pub fn of(d: &Dispatch) -> Start {
        let limits = d.facts.registers(&d.descriptor);
        let all = d.entry_state.fields.iter();
        let (ids, others): (Vec<&EntryField>, Vec<&EntryField>) = all.partition(|field| field.range.first.is_vgpr());
        let ids = ids.into_iter().filter_map(|field| match field.value {
            EntryValue::WorkitemId(axis) => Some((usize::from(field.range.first.number()), field.shift, axis.index())),
            _ => None,
        });
        let ids: Vec<_> = ids.collect();
        let mut start = Start {
            mode: mode(d),
            generation: d.facts.generation(),
            kept: if d.facts.clears_halves() { 0 } else { !0 },
            lanes: d.lanes(),
            scratch: d.wave_scratch(),
            scalars: [0; SCALARS],
            set: others.iter().flat_map(|field| field.range.units()).fold(0, |set, reg| set | 1 << reg.index()),
            constants: others.iter().filter(|field| leads_to_constants(field.value)).map(|field| code(field)).collect(),
            numbers: others.iter().filter_map(|field| number(d, field)).collect(),
            fields: others
                .iter()
                .filter(|field| differs(field.value) && number(d, field).is_none())
                .map(|&&field| field)
                .collect(),
            used: ids.iter().map(|(row, ..)| row + 1).max().unwrap_or(0),
            whole: Vec::new(),
            workgroup: d.workgroup,
            ids,
            limits,
        };
        let group = Group { id: [0; 3], size: d.workgroup, scratch: 0, scratch_len: 0 };
        for field in others.into_iter().filter(|field| !differs(field.value)) {
            put(field, start.value(d, field.value, &group, 0), &mut start.scalars);
        }
        if d.groups().iter().map(|&n| u64::from(n)).product::<u64>() >= MANY {
            start.whole = start.rows_of_whole();
        }
        start
    }

    /// The rows of all waves of a whole workgroup.
    fn rows_of_whole(&self) -> Vec<Row> {
        let items: u32 = self.workgroup.iter().product();
        let firsts = (0..items).step_by(self.lanes as usize);
        let rows = firsts.map(|first| {
            let mut rows = vec![Row::ZERO; self.used];
            self.put_ids(&mut rows, self.workgroup, first, (items - first).min(self.lanes) as usize);
            rows
        });
        rows.flatten().collect()
    }

    /// Puts the wave with this number in a workgroup into its initial state.
    pub fn put(&self, d: &Dispatch, w: &mut Wave, group: &Group, number: u32) {
        w.set_lanes(self.lanes);
        w.scratch_base = d.facts.scratch_code;
        let limits = &self.limits;
        (w.vgpr_block, w.allocated) = (limits.vgpr_block, limits.vgpr_block);
        w.first_agpr = limits.first_agpr;
        w.vgprs = if limits.vgpr_block != 0 { limits.vgprs } else { limits.vgprs.max(rows::AGPR) };
        w.mode = self.mode;
        (w.generation, w.kept) = (self.generation, self.kept);
        w.fault = None;
        self.put_registers(d, w, group, number);
        let exec = w.exec();
        if let Some(strict) = &mut w.strict {
            for (first, half) in [(0, self.set as u64), (64, (self.set >> 64) as u64)] {
                lanes(half).for_each(|code| strict.define_scalar(first + code as u8));
            }
            (0..self.used).for_each(|row| strict.define_lanes(row, exec));
            if d.facts.scratch == ScratchBase::Set {
                [w.scratch_base, w.scratch_base + 1].into_iter().for_each(|c| strict.define_scalar(c));
            }
            ALWAYS_DEFINED.iter().for_each(|&code| strict.define_scalar(code));
        }
    }

    fn put_registers(&self, d: &Dispatch, w: &mut Wave, group: &Group, number: u32) {
        w.place = Place { workgroup: group.id, wave_in_group: number };
        w.set_scc(false);
        // What the wave before it has stored is in no order with this one's loads.
        w.has_stored = false;

        let (first, active) = self.items(group, number);
        at_best(Bulk { start: self, w, size: group.size, first, active: active as usize });
        for &(code, axis) in &self.numbers {
            w.s[usize::from(code)] = group.id[axis];
        }
        for field in &self.fields {
            put(field, self.value(d, field.value, group, number), &mut w.s);
        }
        self.put_scratch(d, w, group, number);
        w.set_exec(if active == 64 { !0 } else { (1u64 << active) - 1 });
    }

    /// The first work-item of a wave, and how many it has.
    #[inline(always)]
    fn items(&self, group: &Group, number: u32) -> (u32, u32) {
        let first = number * self.lanes;
        (first, (group.size.iter().product::<u32>() - first).min(self.lanes))
    }

    /// Where the wave's scratch begins, if the processor sets that.
    #[inline(always)]
    fn put_scratch(&self, d: &Dispatch, w: &mut Wave, group: &Group, number: u32) {
        if d.facts.scratch == ScratchBase::Set {
            let aperture = if w.generation == Generation::Gfx1250 { SCRATCH_APERTURE } else { 0 };
            w.set_s64(w.scratch_base, (group.scratch + u64::from(number) * self.scratch) | aperture);
        }
    }

    /// Puts the ids of a wave's work-items into their rows. The wave has this number in its workgroup; its lanes have the
    /// `active` work-items that begin with `first`.
    #[inline(always)]
    fn put_all_ids(&self, w: &mut Wave, size: [u32; 3], (number, first): (u32, u32), active: usize) {
        let ids = &mut w.rows[usize::from(rows::VGPR)..][..self.used];
        let at = number as usize * self.used;
        match (self.whole.get(at..at + self.used), &mut *ids) {
            // The usual way, which takes no call.
            (Some([known]), [id]) if size == self.workgroup => *id = *known,
            (Some(known), ids) if size == self.workgroup => ids.copy_from_slice(known),
            _ => {
                ids.fill(Row::ZERO);
                self.put_ids(ids, size, first, active);
            }
        }
    }

    /// Adds the ids of a wave's work-items to rows of zeros: lane 0 has the workgroup's work-item `first`, and `active` lanes are on.
    #[inline(always)]
    fn put_ids(&self, ids: &mut [Row], size: [u32; 3], first: u32, active: usize) {
        let (mut x, mut y, mut z) = match size {
            [_, 1, 1] => (first, 0, 0),
            [in_x, in_y, _] => (first % in_x, first / in_x % in_y, first / in_x / in_y),
        };
        // A run of work-items that follow one another in x at a time.
        let mut lane = 0;
        while lane < active {
            let end = active.min(lane + (size[0] - x) as usize);
            for &(row, shift, axis) in &self.ids {
                let (from, step) = ([x, y, z][axis], u32::from(axis == 0));
                for (id, value) in ids[row].0[lane..end].iter_mut().zip(0..) {
                    *id |= (from + step * value) << shift;
                }
            }
            (lane, x, y) = (end, 0, y + 1);
            if y == size[1] {
                (y, z) = (0, z + 1);
            }
        }
    }

    /// The registers of a value that is the same in all lanes.
    fn value(&self, d: &Dispatch, value: EntryValue, group: &Group, number: u32) -> [u32; 4] {
        let pair = |value: u64| [value as u32, (value >> 32) as u32, 0, 0];
        let one = |value: u32| [value, 0, 0, 0];
        match value {
            EntryValue::PrivateSegmentBuffer => {
                // Base; swizzled; all of the scratch; 32-bit data, elements of 4 bytes, index stride a wave, lane added.
                let stride = if self.lanes == 32 { 2 } else { 3 };
                let gfx9 = self.generation.is_gfx9_family();
                let data = if gfx9 { 4 << 15 | 1 << 19 } else { 22 << 12 | 3 << 28 };
                let high = (group.scratch >> 32) as u32 & 0xffff | 1 << 31;
                [group.scratch as u32, high, group.scratch_len as u32, data | stride << 21 | 1 << 23]
            }
            EntryValue::DispatchPtr => pair(d.packet),
            EntryValue::QueuePtr => pair(d.queue),
            EntryValue::KernargPtr => pair(d.kernarg),
            EntryValue::DispatchId => pair(1),
            EntryValue::FlatScratchInit => pair(group.scratch),
            EntryValue::PrivateSegmentSize => one(d.private),
            EntryValue::Argument(at) => {
                let word = d.kernarg_bytes.get(at as usize..at as usize + 4);
                one(word.and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes))
            }
            // Of a cluster of several, what goes into the workgroup's place is the cluster's.
            EntryValue::WorkgroupId(axis) if d.cluster_size() == 1 => one(group.id[axis.index()]),
            EntryValue::WorkgroupId(axis) => one(group.id[axis.index()] / d.cluster[axis.index()]),
            EntryValue::WorkgroupInfo => {
                // The first wave, and how many there are; in between, what orders appends.
                let waves = d.waves(group.size.iter().product());
                one(u32::from(number == 0) << 31 | waves & 63)
            }
            EntryValue::ScratchOffset => one((u64::from(number) * self.scratch) as u32),
            EntryValue::WaveInGroup => one(number),
            EntryValue::PlaceInCluster => {
                let within = (0..3).map(|i| group.id[i] % d.cluster[i]);
                let last = d.cluster.map(|n| n - 1).into_iter().chain([d.cluster_size() - 1]);
                one(within.chain(last).enumerate().fold(0, |word, (i, field)| word | (field & 15) << (4 * i)))
            }
            // In VGPRs.
            EntryValue::WorkitemId(_) => [0; 4],
        }
    }
}

/// What is most of a wave that begins: its vector registers, and scalar ones that all waves have.
struct Bulk<'a> {
    start: &'a Start,
    w: &'a mut Wave,
    size: [u32; 3],
    first: u32,
    active: usize,
}

impl Work for Bulk<'_> {
    type Result = ();
    #[inline(always)]
    fn run(self) {
        let Bulk { start, w, size, first, active } = self;
        w.s[..SCALARS].copy_from_slice(&start.scalars);
        w.clear_registers();
        w.set_s64(w.scratch_base, 0);
        start.put_all_ids(w, size, (first / start.lanes, first), active);
        let mut written = Registers::default();
        written[0] = 7;
        w.note_written(&written);
    }
}

/// Whether not all waves of a launch have the same.
fn differs(value: EntryValue) -> bool {
    !value.is_user() || matches!(value, EntryValue::PrivateSegmentBuffer | EntryValue::FlatScratchInit)
}

/// The register that a field is all of, and the dimension, if it is a workgroup's number.
fn number(d: &Dispatch, field: &EntryField) -> Option<(u8, usize)> {
    match field.value {
        EntryValue::WorkgroupId(axis) if d.cluster_size() == 1 && field.bits == 32 && field.shift == 0 => {
            Some((code(field), axis.index()))
        }
        _ => None,
    }
}

fn leads_to_constants(value: EntryValue) -> bool {
    matches!(value, EntryValue::KernargPtr | EntryValue::DispatchPtr)
}

/// Of the first scalar register of a field.
fn code(field: &EntryField) -> u8 {
    field.range.first.index() as u8
}

/// Writes the registers, or the bits of one, that a field has.
fn put(field: &EntryField, words: [u32; 4], scalars: &mut [u32]) {
    let mask = u32::MAX >> (32 - field.bits) << field.shift;
    for (reg, word) in field.range.units().zip(words) {
        let register = &mut scalars[usize::from(reg.index() as u8)];
        *register = *register & !mask | word << field.shift & mask;
    }
}

/// MODE: rounding and denormals are the descriptor's.
fn mode(d: &Dispatch) -> Mode {
    let bits = d.descriptor.compute_pgm_rsrc1();
    let float = bits >> 12 & 0xff;
    let fp16_overflow = (bits >> 26 & 1) << 23;
    match d.facts.generation() {
        // Nothing chooses here: clamping makes zeros of NaNs.
        Generation::Gfx12 | Generation::Gfx1250 => Mode(float | 1 << 8 | fp16_overflow),
        _ => Mode(float | (bits >> 21 & 1) << 8 | (bits >> 23 & 1) << 9 | fp16_overflow),
    }
}

#[cfg(test)]
mod tests {
    use luthier_isa::Target;
    use luthier_loader::{EntryState, KernelDescriptor};

    use super::*;
    use crate::facts::Facts;

    /// A launch whose waves start with arguments, their workgroup's numbers and their work-items'.
    fn launch(target: Target) -> Dispatch {
        let facts = Facts::of(target);
        let mut descriptor = KernelDescriptor::from_bytes([0; 64]);
        let family = luthier_loader::descriptor::Generation::of(target.name()).expect("it is known");
        for (name, value) in [
            ("enable_sgpr_kernarg_segment_ptr", 1),
            ("user_sgpr_count", 2),
            ("enable_sgpr_workgroup_id_x", 1),
            ("enable_sgpr_workgroup_id_y", 1),
            ("enable_vgpr_workitem_id", 1),
        ] {
            descriptor.set(family, name, value).expect("it has the field");
        }
        Dispatch {
            entry_state: EntryState::of(&descriptor, facts.mode(&descriptor)),
            descriptor,
            facts,
            grid: [100, 20, 1],
            workgroup: [50, 4, 1],
            cluster: [1; 3],
            entry: 0,
            packet: 0,
            queue: 0,
            kernarg: 0x1234_5678_9abc,
            kernarg_bytes: Vec::new(),
            lds: 0,
            private: 0,
        }
    }

    /// The scalar registers, the first rows, EXEC and whether something is to be waited for.
    fn state(w: &Wave) -> (Vec<u32>, Vec<[u32; 64]>, u64, bool) {
        (
            w.s[..SCALARS].to_vec(),
            w.rows[usize::from(rows::VGPR)..][..40].iter().map(|row| row.0).collect(),
            w.exec(),
            w.has_stored,
        )
    }

    #[test]
    fn a_wave_begins_with_nothing_of_the_one_before_it() {
        for target in [Target::Gfx90a, Target::Gfx1100, Target::Gfx1201] {
            let d = launch(target);
            let start = Start::of(&d);
            let group = |id: [u32; 3]| Group { id, size: d.group_size(id), scratch: 0, scratch_len: 0 };
            let mut used = Wave::new();
            start.put(&d, &mut used, &group([0, 1, 0]), 2);
            used.s[..SCALARS].fill(7);
            used.rows[usize::from(rows::VGPR)..][..30].fill(Row([9; 64]));
            let mut written = Registers::default();
            written[0] = (1 << 30) - 1;
            used.note_written(&written);
            used.has_stored = true;
            start.put(&d, &mut used, &group([1, 3, 0]), 1);
            let mut fresh = Wave::new();
            start.put(&d, &mut fresh, &group([1, 3, 0]), 1);
            assert_eq!(state(&used), state(&fresh), "{target:?}");
            assert!(!used.has_stored);
        }
    }

    #[test]
    fn waves_of_many_workgroups_begin_as_those_of_few_do() {
        for target in [Target::Gfx90a, Target::Gfx1100] {
            for (workgroup, grid) in
                [([50, 4, 1], [1000, 20, 1]), ([7, 3, 5], [70, 300, 5]), ([200, 1, 1], [20_050, 1, 1])]
            {
                let d = Dispatch { workgroup, grid, ..launch(target) };
                let (many, few) = (Start::of(&d), Start { whole: Vec::new(), ..Start::of(&d) });
                assert!(!many.whole.is_empty());
                // The last one of some is at an edge, and smaller.
                for id in [[0; 3], d.groups().map(|n| n - 1)] {
                    let group = Group { id, size: d.group_size(id), scratch: 0, scratch_len: 0 };
                    for number in 0..d.waves(group.size.iter().product()) {
                        let [mut one, mut other] = [Wave::new(), Wave::new()];
                        many.put(&d, &mut one, &group, number);
                        few.put(&d, &mut other, &group, number);
                        assert_eq!(state(&one), state(&other), "{target:?} {workgroup:?} {id:?} {number}");
                    }
                }
            }
        }
    }

    #[test]
    fn waves_have_the_numbers_of_their_workgroups_and_work_items() {
        let d = launch(Target::Gfx90a);
        let start = Start::of(&d);
        let mut w = Wave::new();
        let id = [1, 3, 0];
        start.put(&d, &mut w, &Group { id, size: d.group_size(id), scratch: 0, scratch_len: 0 }, 1);
        assert_eq!((w.s[0], w.s[1], w.s[2], w.s[3]), (0x5678_9abc, 0x1234, 1, 3));
        // 50 work-items in a row: the second wave begins with number 64.
        let ids = &w.rows[usize::from(rows::VGPR)].0;
        assert_eq!([ids[0], ids[35], ids[36], ids[63]], [64, 99, 100, 127].map(|n| n % 50 + 1024 * (n / 50)));
    }
}
