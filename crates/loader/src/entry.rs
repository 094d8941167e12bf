//! What a wave starts with: which value is in which register when a kernel's first instruction runs.
//!
//! The descriptor asks for values; the processor puts those into user SGPRs, system SGPRs, trap temporaries and VGPRs, each
//! in an order of its own. Who starts waves, who reads what they start with, and who has to give it back, all read this
//! table.
//!
//! Source: LLVM's "User Guide for AMDGPU Backend", "Initial Kernel Execution State" and "Kernarg Preload".

use luthier_abi::Axis;
use luthier_isa::{Generation, Mode, Reg, RegRange};

use crate::descriptor;
use crate::{Kernel, KernelDescriptor};

pub use luthier_abi::Hidden;

/// The most user SGPRs that a descriptor can ask for.
pub const MOST_USER_SGPRS: u32 = 16;
/// The same on gfx1250.
pub const MOST_USER_SGPRS_GFX1250: u32 = 32;

/// Something that a wave can start with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum EntryValue {
    /// A buffer resource of all scratch, 4 dwords.
    PrivateSegmentBuffer,
    /// Addresses: the dispatch packet's, the queue's, the kernel arguments'.
    DispatchPtr,
    QueuePtr,
    KernargPtr,
    DispatchId,
    /// Where scratch begins, 2 dwords (what it is exactly depends on the generation).
    FlatScratchInit,
    /// Bytes of a work-item's scratch.
    PrivateSegmentSize,
    /// A dword of the kernel arguments, by its byte offset.
    Argument(u32),
    /// The workgroup's place in the grid; of a launch of clusters, the cluster's, where [`EntryValue::PlaceInCluster`] is.
    WorkgroupId(Axis),
    /// The first wave's flag, an index for ordered appends, and how many waves the workgroup has.
    WorkgroupInfo,
    /// Where the wave's scratch begins in that of all.
    ScratchOffset,
    /// The work-item's place in its workgroup, one for each lane.
    WorkitemId(Axis),
    /// The wave's number in its workgroup.
    WaveInGroup,
    /// gfx1250: the workgroup's place in its cluster and the last one, four bits for each dimension, then the last rank.
    PlaceInCluster,
}

impl EntryValue {
    /// It is in user SGPRs, which the packet processor fills; everything else differs from wave to wave.
    pub fn is_user(self) -> bool {
        use EntryValue::*;
        match self {
            PrivateSegmentBuffer | DispatchPtr | QueuePtr | KernargPtr | DispatchId => true,
            FlatScratchInit | PrivateSegmentSize | Argument(_) => true,
            WorkgroupId(_) | WorkgroupInfo | ScratchOffset | WorkitemId(_) | WaveInGroup | PlaceInCluster => false,
        }
    }

    /// Registers of the value.
    pub fn dwords(self) -> u16 {
        use EntryValue::*;
        match self {
            PrivateSegmentBuffer => 4,
            DispatchPtr | QueuePtr | KernargPtr | DispatchId | FlatScratchInit => 2,
            PrivateSegmentSize | Argument(_) | WorkgroupId(_) | WorkgroupInfo | ScratchOffset => 1,
            WorkitemId(_) | WaveInGroup | PlaceInCluster => 1,
        }
    }
}

/// Where one of the values is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryField {
    pub value: EntryValue,
    pub range: RegRange,
    /// Its bits in the register, of a value that has less than a whole one; the others are other values'.
    pub shift: u8,
    pub bits: u8,
}

impl EntryField {
    fn whole(value: EntryValue, first: Reg) -> EntryField {
        EntryField { value, range: RegRange::new(first, value.dwords() as u8), shift: 0, bits: 32 }
    }

    fn part(value: EntryValue, reg: Reg, shift: u8, bits: u8) -> EntryField {
        EntryField { value, range: RegRange::new(reg, 1), shift, bits }
    }

    /// It has registers of its own.
    pub fn is_whole(&self) -> bool {
        self.bits == 32
    }
}

/// All that a kernel's waves start with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryState {
    /// In the order in which the processor puts them there.
    pub fields: Vec<EntryField>,
    /// User SGPRs, by the descriptor's count.
    pub user_sgprs: u32,
    /// The first SGPR behind all that is set.
    pub end: u16,
    /// Bytes behind the entry at which waves start.
    pub offset: u64,
}

/// The work-item's ids share v0, ten bits each; else each has a VGPR.
pub fn packs_workitem_ids(generation: Generation) -> bool {
    !matches!(generation, Generation::Gfx9 | Generation::Gfx10)
}

/// The workgroup's ids and the wave's number are in trap temporaries, not in SGPRs.
pub fn has_ids_in_ttmps(generation: Generation) -> bool {
    matches!(generation, Generation::Gfx12 | Generation::Gfx1250)
}

/// Code has to work out where the wave's scratch begins; else the processor adds that itself.
pub fn has_scratch_offset(generation: Generation) -> bool {
    matches!(generation, Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx10)
}

/// User SGPRs that a descriptor can ask for.
pub fn most_user_sgprs(generation: Generation) -> u32 {
    if generation == Generation::Gfx1250 { MOST_USER_SGPRS_GFX1250 } else { MOST_USER_SGPRS }
}

impl EntryState {
    pub fn of(descriptor: &KernelDescriptor, mode: Mode) -> EntryState {
        let generation = mode.target().generation();
        let family = descriptor::Generation::of(mode.target().name()).unwrap_or(descriptor::Generation::Gfx90a);
        let d = descriptor;
        let mut state = EntryState { fields: Vec::new(), user_sgprs: user_sgprs(d, generation), end: 0, offset: 0 };
        state.offset = d.preloaded_entry(family).unwrap_or(0);
        let user = [
            (d.enable_sgpr_private_segment_buffer(), EntryValue::PrivateSegmentBuffer),
            (d.enable_sgpr_dispatch_ptr(), EntryValue::DispatchPtr),
            (d.enable_sgpr_queue_ptr(), EntryValue::QueuePtr),
            (d.enable_sgpr_kernarg_segment_ptr(), EntryValue::KernargPtr),
            (d.enable_sgpr_dispatch_id(), EntryValue::DispatchId),
            (d.enable_sgpr_flat_scratch_init(), EntryValue::FlatScratchInit),
            (d.enable_sgpr_private_segment_size(), EntryValue::PrivateSegmentSize),
        ];
        let arguments = d.preloaded_arguments(family).unwrap_or_default().step_by(4).map(EntryValue::Argument);
        let user = user.into_iter().filter(|(enabled, _)| *enabled).map(|(_, value)| value).chain(arguments);
        state.sgprs(0, user, generation);
        // System SGPRs come behind the user SGPRs, however many of those there are.
        let in_ttmps = has_ids_in_ttmps(generation);
        let system = [
            (d.enable_sgpr_workgroup_id_x() && !in_ttmps, EntryValue::WorkgroupId(Axis::X)),
            (d.enable_sgpr_workgroup_id_y() && !in_ttmps, EntryValue::WorkgroupId(Axis::Y)),
            (d.enable_sgpr_workgroup_id_z() && !in_ttmps, EntryValue::WorkgroupId(Axis::Z)),
            (d.enable_sgpr_workgroup_info(), EntryValue::WorkgroupInfo),
            (d.enable_private_segment() && has_scratch_offset(generation), EntryValue::ScratchOffset),
        ];
        let system = system.into_iter().filter(|(enabled, _)| *enabled).map(|(_, value)| value);
        state.sgprs(state.user_sgprs as u16, system, generation);
        if in_ttmps {
            state.ttmps(generation);
        }
        state.vgprs(d.enable_vgpr_workitem_id(), generation);
        state
    }

    fn sgprs(&mut self, from: u16, values: impl Iterator<Item = EntryValue>, generation: Generation) {
        let numbered = if generation.is_gfx9_family() { 102 } else { 106 };
        let mut next = from;
        for value in values {
            if next + value.dwords() <= numbered {
                self.fields.push(EntryField::whole(value, Reg::sgpr(next)));
            }
            next += value.dwords();
        }
        self.end = self.end.max(next);
    }

    fn ttmps(&mut self, generation: Generation) {
        self.fields.extend([
            EntryField::whole(EntryValue::WorkgroupId(Axis::X), Reg::ttmp(9)),
            EntryField::part(EntryValue::WorkgroupId(Axis::Y), Reg::ttmp(7), 0, 16),
            EntryField::part(EntryValue::WorkgroupId(Axis::Z), Reg::ttmp(7), 16, 16),
            EntryField::part(EntryValue::WaveInGroup, Reg::ttmp(8), 25, 5),
        ]);
        if generation == Generation::Gfx1250 {
            self.fields.push(EntryField::whole(EntryValue::PlaceInCluster, Reg::ttmp(6)));
        }
    }

    fn vgprs(&mut self, dimensions: u32, generation: Generation) {
        let packed = packs_workitem_ids(generation);
        for axis in Axis::ALL.into_iter().take(dimensions as usize + 1) {
            let (value, number) = (EntryValue::WorkitemId(axis), axis.index());
            self.fields.push(match packed {
                true => EntryField::part(value, Reg::vgpr(0), 10 * number as u8, 10),
                false => EntryField::whole(value, Reg::vgpr(number as u16)),
            });
        }
    }

    /// Where a value is, if the kernel has it.
    pub fn find(&self, value: EntryValue) -> Option<&EntryField> {
        self.fields.iter().find(|field| field.value == value)
    }
}

/// The user SGPRs that the descriptor counts.
fn user_sgprs(descriptor: &KernelDescriptor, generation: Generation) -> u32 {
    if generation == Generation::Gfx1250 { descriptor.user_sgpr_count_gfx125() } else { descriptor.user_sgpr_count() }
}

/// A hidden argument of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HiddenArg {
    pub what: Hidden,
    /// Bytes from the start of the kernel arguments, and its size.
    pub offset: u64,
    pub size: u64,
}

/// The hidden arguments of a kernel, as its metadata say.
pub fn hidden_args(kernel: &Kernel) -> Vec<HiddenArg> {
    let args = kernel.metadata().map(|m| m.args.clone()).unwrap_or_default();
    let found = args.iter().filter_map(|arg| {
        let what = Hidden::of(arg.value_kind.as_deref()?)?;
        Some(HiddenArg { what, offset: arg.offset?, size: arg.size? })
    });
    found.collect()
}

/// Bytes from the start of the kernel arguments to the hidden ones: where the implicit argument pointer leads. `None` where
/// the metadata have none, by which it could be told.
pub fn implicit_offset(kernel: &Kernel, version: u32) -> Option<u64> {
    hidden_args(kernel).iter().find_map(|arg| arg.offset.checked_sub(arg.what.place(version)?.0.into()))
}

#[cfg(test)]
mod tests;
