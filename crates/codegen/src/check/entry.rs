//! What a kernel's waves start with, by the checker's own account of it, and what of that is to be where the code expects
//! it when the prologue has run. (Placement reads the loader's table; a test compares the two.)
//!
//! Source: LLVM's usage page, "Initial Kernel Execution State".

use luthier_isa::{Generation, Reg, RegRange};
use luthier_loader::KernelDescriptor;

use super::value::Value;
use crate::plan::{Axis, EntryValue};

/// The registers that a wave starts with: how many of each kind, in the hardware's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Resource, dispatch, queue, arguments, number, scratch, its size, preloaded dwords.
    user: [u16; 8],
    count: u16,
    /// The workgroup's dimensions, its facts, the offset of scratch.
    system: [u16; 5],
    /// Dimensions of the work-item's place.
    dimensions: u32,
    /// Bytes in front of the preloaded arguments.
    skipped: u32,
    generation: Generation,
}

impl Layout {
    pub fn of(d: &KernelDescriptor, generation: Generation) -> Layout {
        let bit = |on: bool, n: u16| if on { n } else { 0 };
        let preloads = matches!(generation, Generation::Gfx90a | Generation::Gfx940 | Generation::Gfx1250);
        let ttmps = matches!(generation, Generation::Gfx12 | Generation::Gfx1250);
        let offset = matches!(generation, Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx10);
        let id = |on: bool| bit(on && !ttmps, 1);
        Layout {
            user: [
                bit(d.enable_sgpr_private_segment_buffer(), 4),
                bit(d.enable_sgpr_dispatch_ptr(), 2),
                bit(d.enable_sgpr_queue_ptr(), 2),
                bit(d.enable_sgpr_kernarg_segment_ptr(), 2),
                bit(d.enable_sgpr_dispatch_id(), 2),
                bit(d.enable_sgpr_flat_scratch_init(), 2),
                bit(d.enable_sgpr_private_segment_size(), 1),
                if preloads { d.kernarg_preload_length() as u16 } else { 0 },
            ],
            count: match generation {
                Generation::Gfx1250 => d.user_sgpr_count_gfx125() as u16,
                _ => d.user_sgpr_count() as u16,
            },
            system: [
                id(d.enable_sgpr_workgroup_id_x()),
                id(d.enable_sgpr_workgroup_id_y()),
                id(d.enable_sgpr_workgroup_id_z()),
                bit(d.enable_sgpr_workgroup_info(), 1),
                bit(d.enable_private_segment() && offset, 1),
            ],
            dimensions: d.enable_vgpr_workitem_id().min(2),
            skipped: 4 * d.kernarg_preload_offset(),
            generation,
        }
    }

    /// The same with values that are asked for.
    pub fn with(self, values: impl IntoIterator<Item = EntryValue>) -> Layout {
        let before = self;
        let mut all = self;
        all.ask(&before, values);
        all
    }

    fn ask(&mut self, before: &Layout, values: impl IntoIterator<Item = EntryValue>) {
        for value in values {
            let kind = match value {
                EntryValue::DispatchPtr => 1,
                EntryValue::QueuePtr => 2,
                EntryValue::KernargPtr => 3,
                EntryValue::DispatchId => 4,
                EntryValue::PrivateSegmentSize => 6,
                EntryValue::WorkgroupId(axis) => {
                    if !matches!(self.generation, Generation::Gfx12 | Generation::Gfx1250) {
                        self.system[axis.index()] = 1;
                    }
                    continue;
                }
                EntryValue::WorkitemIds => {
                    self.dimensions = 2;
                    continue;
                }
                EntryValue::PlaceInCluster | EntryValue::Registers(_) => continue,
            };
            self.user[kind] = if kind == 6 { 1 } else { 2 };
            // Arguments are preloaded only as long as there is room, and where code can load them instead.
            let most = if self.generation == Generation::Gfx1250 { 32 } else { 16 };
            if self.user.iter().sum::<u16>() > most && before.user[3] > 0 {
                self.user[7] = 0;
            }
            self.count = before.count.max(self.user.iter().sum());
        }
    }

    /// What code loads that the other layout has preloaded and this one has not: to where, and what.
    pub fn loaded(&self, before: &Layout) -> Vec<(Reg, Value)> {
        if self.user[7] >= before.user[7] {
            return Vec::new();
        }
        let (first, of) = (before.user(7), Reg::sgpr(self.user(3)));
        let offset = |n: u16| before.skipped + 4 * u32::from(n);
        (0..before.user[7]).map(|n| (Reg::sgpr(first + n), Value::Loaded { of, offset: offset(n) })).collect()
    }

    fn user(&self, kind: usize) -> u16 {
        self.user[..kind].iter().sum()
    }

    fn system(&self, kind: usize) -> u16 {
        self.count + self.system[..kind].iter().sum::<u16>()
    }

    fn is_packed(&self) -> bool {
        !matches!(self.generation, Generation::Gfx9 | Generation::Gfx10)
    }

    /// Where this layout's SGPRs are in another one that has more: pairs of registers, here and there.
    pub fn in_other(&self, other: &Layout) -> Vec<(Reg, Reg)> {
        let both = |kind: &usize| other.user[*kind] >= self.user[*kind];
        let user = (0..8).filter(both).map(|kind| (self.user(kind), other.user(kind), self.user[kind]));
        let system = (0..5).map(|kind| (self.system(kind), other.system(kind), self.system[kind]));
        let runs = user.chain(system).filter(|(here, _, count)| here + count <= 102);
        runs.flat_map(|(here, there, count)| (0..count).map(move |n| (Reg::sgpr(here + n), Reg::sgpr(there + n))))
            .collect()
    }

    /// What has to be in a value's `n`th unit, or the register that it stays in.
    pub fn value(&self, value: EntryValue, before: &Layout, n: u16) -> Value {
        let at = |number: u16| Value::Own(Reg::sgpr(number + n));
        match value {
            EntryValue::Registers(range) => {
                let reg = range.first.offset(n);
                let moved = before.in_other(self).into_iter().find(|(here, _)| *here == reg);
                Value::Own(moved.map_or(reg, |(_, there)| there))
            }
            EntryValue::DispatchPtr => at(self.user(1)),
            EntryValue::QueuePtr => at(self.user(2)),
            EntryValue::KernargPtr => at(self.user(3)),
            EntryValue::DispatchId => at(self.user(4)),
            EntryValue::PrivateSegmentSize => at(self.user(6)),
            EntryValue::WorkgroupId(axis) => at(self.system(axis.index())),
            EntryValue::PlaceInCluster => Value::Own(Reg::ttmp(6)),
            EntryValue::WorkitemIds if self.is_packed() => Value::Own(Reg::vgpr(0)),
            EntryValue::WorkitemIds => Value::Packed(3),
        }
    }

    /// What has to be in v0, if the code expects less of it than this layout has.
    pub fn masked(&self, before: &Layout) -> Option<Value> {
        let bits = |dimensions: u32| (1u32 << (10 * (dimensions + 1))) - 1;
        let more = self.is_packed() && self.dimensions != before.dimensions;
        more.then(|| Value::Bits { of: Reg::vgpr(0), mask: bits(before.dimensions) })
    }

    /// The registers that it has something in.
    pub fn registers(&self) -> RegRange {
        RegRange::new(Reg::sgpr(0), self.system(5).min(102) as u8)
    }
}

/// Where the hardware keeps a value for the whole life of a wave.
pub fn kept(value: EntryValue, generation: Generation) -> Option<Reg> {
    if !matches!(generation, Generation::Gfx12 | Generation::Gfx1250) {
        return None;
    }
    match value {
        EntryValue::WorkgroupId(Axis::X) => Some(Reg::ttmp(9)),
        EntryValue::WorkgroupId(_) => Some(Reg::ttmp(7)),
        EntryValue::PlaceInCluster => Some(Reg::ttmp(6)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use luthier_isa::{Mode, Target};

    use super::super::tests::descriptors::asking;
    use super::*;
    use crate::machine::entry::{Begins, Found};

    const VALUES: [EntryValue; 9] = [
        EntryValue::DispatchPtr,
        EntryValue::QueuePtr,
        EntryValue::KernargPtr,
        EntryValue::DispatchId,
        EntryValue::PrivateSegmentSize,
        EntryValue::WorkgroupId(Axis::X),
        EntryValue::WorkgroupId(Axis::Y),
        EntryValue::WorkgroupId(Axis::Z),
        EntryValue::WorkitemIds,
    ];

    fn descriptor(bits: u32, target: Target) -> KernelDescriptor {
        let mut d = asking(bits);
        d.set_enable_private_segment(bits >> 11 & 1 != 0);
        d.set_kernarg_preload_length(bits / 5 % 6).expect("it fits");
        let layout = Layout::of(&d, target.generation());
        let user: u32 = layout.user.iter().map(|n| u32::from(*n)).sum();
        // Some compilers ask for more than there are values.
        let user = if bits.is_multiple_of(7) { user.max(15) } else { user };
        let set = match target.generation() {
            Generation::Gfx1250 => d.set_user_sgpr_count_gfx125(user),
            _ => d.set_user_sgpr_count(user),
        };
        set.expect("it fits");
        d.set_enable_vgpr_workitem_id(bits % 3).expect("at most 2");
        d
    }

    #[test]
    fn the_checkers_layout_and_the_table_agree_on_every_descriptor_and_value() {
        let targets = [
            Target::Gfx908,
            Target::Gfx90a,
            Target::Gfx942,
            Target::Gfx1030,
            Target::Gfx1100,
            Target::Gfx1201,
            Target::Gfx1250,
        ];
        let mut refused = 0;
        for target in targets {
            for bits in 0..1 << 12 {
                let d = descriptor(bits, target);
                let values: Vec<EntryValue> = VALUES
                    .into_iter()
                    .enumerate()
                    .filter(|(n, _)| ((bits * 0x9e37) >> 3) >> n & 1 != 0)
                    .map(|(_, v)| v)
                    .collect();
                let Ok(begins) = Begins::of(&d, Mode::from(target), values.iter().copied()) else {
                    refused += 1;
                    continue;
                };
                let before = Layout::of(&d, target.generation());
                let after = before.with(values.iter().copied());
                assert_eq!(after, Layout::of(&begins.descriptor, target.generation()));
                let moves = begins.moves().into_iter().flat_map(|(to, from)| to.units().zip(from.units()));
                let mine = before.in_other(&after).into_iter().filter(|(here, there)| here != there);
                assert!(moves.eq(mine), "{target:?} {bits:#b}");
                let mask = begins.mask().map(|mask| Value::Bits { of: Reg::vgpr(0), mask });
                assert_eq!(after.masked(&before), mask, "{target:?} {bits:#b}");
                for value in values {
                    if let Some(kept) = kept(value, target.generation()) {
                        assert_eq!(begins.find(value), Some(Found::Registers(RegRange::new(kept, 1))));
                        continue;
                    }
                    let found = match begins.find(value).expect("it was asked for") {
                        Found::Registers(range) => Value::Own(range.first),
                        Found::Apart(_) => Value::Packed(3),
                    };
                    assert_eq!(after.value(value, &before, 0), found, "{target:?} {bits:#b} {value:?}");
                }
            }
        }
        // Those for which giving up preloading leaves no room either.
        assert!((200..8000).contains(&refused), "{refused}");
    }
}
