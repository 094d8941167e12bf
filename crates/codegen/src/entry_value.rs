//! What a wave finds when it starts, and hooks may ask for at any time after.

use luthier_isa::{Generation, RegRange};
use luthier_loader::entry::{has_ids_in_ttmps, packs_workitem_ids};
use luthier_loader::{EntryValue as Given, KernelDescriptor};
use serde::Deserialize;

pub use luthier_abi::Axis;

/// A value that the hardware puts into registers before a kernel's first instruction, where the kernel asks for it: if it
/// does not, it is made to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryValue {
    /// What is in these registers then.
    #[serde(skip)]
    Registers(RegRange),
    /// Addresses: the dispatch packet's, the queue's, the kernel arguments'.
    DispatchPtr,
    QueuePtr,
    KernargPtr,
    DispatchId,
    /// Bytes of scratch that the launch gives each lane.
    PrivateSegmentSize,
    /// The workgroup's place in the grid; of a launch of clusters, the cluster's.
    WorkgroupId(#[serde(deserialize_with = "axis")] Axis),
    /// gfx1250: four bits for each dimension of the workgroup's place in its cluster.
    PlaceInCluster,
    /// The work-item's place in its workgroup, of each lane: ten bits for each dimension, on every processor.
    WorkitemIds,
}

impl EntryValue {
    /// 32-bit units.
    pub fn units(self) -> u8 {
        use EntryValue::*;
        match self {
            Registers(range) => range.count,
            DispatchPtr | QueuePtr | KernargPtr | DispatchId => 2,
            PrivateSegmentSize | WorkgroupId(_) | PlaceInCluster | WorkitemIds => 1,
        }
    }

    pub fn is_per_lane(self) -> bool {
        match self {
            EntryValue::Registers(range) => range.first.is_vgpr(),
            other => other == EntryValue::WorkitemIds,
        }
    }

    /// The same of what the hardware gives; of work-items' ids the last one, with which come the others.
    pub fn given(self) -> Option<Given> {
        Some(match self {
            EntryValue::Registers(_) => return None,
            EntryValue::DispatchPtr => Given::DispatchPtr,
            EntryValue::QueuePtr => Given::QueuePtr,
            EntryValue::KernargPtr => Given::KernargPtr,
            EntryValue::DispatchId => Given::DispatchId,
            EntryValue::PrivateSegmentSize => Given::PrivateSegmentSize,
            EntryValue::WorkgroupId(axis) => Given::WorkgroupId(axis),
            EntryValue::PlaceInCluster => Given::PlaceInCluster,
            EntryValue::WorkitemIds => Given::WorkitemId(Axis::Z),
        })
    }

    /// It stays where the hardware has put it: no code of an application writes to trap temporaries.
    pub fn stays(self, generation: Generation) -> bool {
        matches!(self, EntryValue::WorkgroupId(_) | EntryValue::PlaceInCluster) && has_ids_in_ttmps(generation)
    }

    /// The processor has no such value.
    pub fn is_missing(self, generation: Generation) -> bool {
        self == EntryValue::PlaceInCluster && generation != Generation::Gfx1250
    }

    /// Has a kernel ask for it. Gives the user SGPRs that this takes.
    pub(crate) fn ask(self, descriptor: &mut KernelDescriptor) -> u32 {
        let d = *descriptor;
        let mut user = |has: bool, set: fn(&mut KernelDescriptor, bool)| {
            set(descriptor, true);
            if has { 0 } else { u32::from(self.units()) }
        };
        match self {
            EntryValue::DispatchPtr => {
                user(d.enable_sgpr_dispatch_ptr(), KernelDescriptor::set_enable_sgpr_dispatch_ptr)
            }
            EntryValue::QueuePtr => user(d.enable_sgpr_queue_ptr(), KernelDescriptor::set_enable_sgpr_queue_ptr),
            EntryValue::KernargPtr => {
                user(d.enable_sgpr_kernarg_segment_ptr(), KernelDescriptor::set_enable_sgpr_kernarg_segment_ptr)
            }
            EntryValue::DispatchId => user(d.enable_sgpr_dispatch_id(), KernelDescriptor::set_enable_sgpr_dispatch_id),
            EntryValue::PrivateSegmentSize => {
                user(d.enable_sgpr_private_segment_size(), KernelDescriptor::set_enable_sgpr_private_segment_size)
            }
            EntryValue::WorkgroupId(axis) => {
                match axis {
                    Axis::X => descriptor.set_enable_sgpr_workgroup_id_x(true),
                    Axis::Y => descriptor.set_enable_sgpr_workgroup_id_y(true),
                    Axis::Z => descriptor.set_enable_sgpr_workgroup_id_z(true),
                }
                0
            }
            EntryValue::WorkitemIds => {
                // Two bits hold a 2.
                let _ = descriptor.set_enable_vgpr_workitem_id(2);
                0
            }
            EntryValue::PlaceInCluster | EntryValue::Registers(_) => 0,
        }
    }

    /// The work-items' ids have to be put together.
    pub(crate) fn is_packed_by_code(self, generation: Generation) -> bool {
        self == EntryValue::WorkitemIds && !packs_workitem_ids(generation)
    }
}

fn axis<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Axis, D::Error> {
    let name = String::deserialize(from)?;
    match name.as_str() {
        "x" => Ok(Axis::X),
        "y" => Ok(Axis::Y),
        "z" => Ok(Axis::Z),
        _ => Err(serde::de::Error::custom(format!("there is no dimension {name}"))),
    }
}
