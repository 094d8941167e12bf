//! Hidden arguments: those behind a kernel's own that the runtime fills in ("implicit arguments").
//!
//! The metadata note says of each which it is and where; code finds them from the implicit argument pointer on, in one
//! layout for code objects of version 5 and up, in another one before that.
//!
//! Source: LLVM's "User Guide for AMDGPU Backend", the tables of `.value_kind` and of the implicit arguments.

use std::mem::offset_of;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A dimension.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    pub const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

    pub fn index(self) -> usize {
        self as usize
    }
}

/// What a hidden argument is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Hidden {
    /// Work-items that a grid does not begin with (OpenCL).
    GlobalOffset(Axis),
    PrintfBuffer,
    HostcallBuffer,
    DefaultQueue,
    CompletionAction,
    MultigridSync,
    /// Whole workgroups of the grid.
    BlockCount(Axis),
    /// Work-items of a workgroup.
    GroupSize(Axis),
    /// Work-items of the workgroup at the grid's edge, 0 if all are whole.
    Remainder(Axis),
    GridDims,
    Heap,
    DynamicLds,
    /// The upper halves of the addresses that scratch and LDS have as flat memory.
    PrivateBase,
    SharedBase,
    Queue,
    /// Room for one that the kernel does not have.
    None,
}

/// As a code object of version 5 or later has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ImplicitArgs {
    pub block_count: [u32; 3],
    pub group_size: [u16; 3],
    pub remainder: [u16; 3],
    pub reserved0: [u8; 16],
    pub global_offset: [u64; 3],
    pub grid_dims: u16,
    pub reserved1: [u8; 6],
    pub printf_buffer: u64,
    pub hostcall_buffer: u64,
    pub multigrid_sync: u64,
    pub heap: u64,
    pub default_queue: u64,
    pub completion_action: u64,
    pub dynamic_lds: u32,
    pub reserved2: [u8; 68],
    pub private_base: u32,
    pub shared_base: u32,
    pub queue: u64,
    pub reserved3: [u8; 48],
}

const _: () = assert!(size_of::<ImplicitArgs>() == 256);

/// As code objects of versions 3 and 4 have them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ImplicitArgsV3 {
    pub global_offset: [u64; 3],
    /// Or the hostcall buffer.
    pub printf_buffer: u64,
    pub default_queue: u64,
    pub completion_action: u64,
    pub multigrid_sync: u64,
}

const _: () = assert!(size_of::<ImplicitArgsV3>() == 56);

const NAMES: [(Hidden, &str); 24] = {
    use Axis::{X, Y, Z};
    use Hidden::*;
    [
        (GlobalOffset(X), "hidden_global_offset_x"),
        (GlobalOffset(Y), "hidden_global_offset_y"),
        (GlobalOffset(Z), "hidden_global_offset_z"),
        (PrintfBuffer, "hidden_printf_buffer"),
        (HostcallBuffer, "hidden_hostcall_buffer"),
        (DefaultQueue, "hidden_default_queue"),
        (CompletionAction, "hidden_completion_action"),
        (MultigridSync, "hidden_multigrid_sync_arg"),
        (BlockCount(X), "hidden_block_count_x"),
        (BlockCount(Y), "hidden_block_count_y"),
        (BlockCount(Z), "hidden_block_count_z"),
        (GroupSize(X), "hidden_group_size_x"),
        (GroupSize(Y), "hidden_group_size_y"),
        (GroupSize(Z), "hidden_group_size_z"),
        (Remainder(X), "hidden_remainder_x"),
        (Remainder(Y), "hidden_remainder_y"),
        (Remainder(Z), "hidden_remainder_z"),
        (GridDims, "hidden_grid_dims"),
        (Heap, "hidden_heap_v1"),
        (DynamicLds, "hidden_dynamic_lds_size"),
        (PrivateBase, "hidden_private_base"),
        (SharedBase, "hidden_shared_base"),
        (Queue, "hidden_queue_ptr"),
        (None, "hidden_none"),
    ]
};

impl Hidden {
    /// By the `.value_kind` of the metadata.
    pub fn of(value_kind: &str) -> Option<Hidden> {
        NAMES.iter().find(|(_, name)| *name == value_kind).map(|(hidden, _)| *hidden)
    }

    /// The `.value_kind`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(hidden, _)| *hidden == self).map_or("hidden_none", |(_, name)| name)
    }

    pub fn all() -> impl Iterator<Item = Hidden> {
        NAMES.iter().map(|(hidden, _)| *hidden)
    }

    /// Bytes from the implicit argument pointer to it, and its size; `None` where a code object of this version (5 for all
    /// later ones) has none.
    pub fn place(self, version: u32) -> Option<(u32, u32)> {
        let (offset, size) = if version >= 5 { self.place_v5()? } else { self.place_v3()? };
        Some((offset as u32, size as u32))
    }

    fn place_v5(self) -> Option<(usize, usize)> {
        let (at, size) = match self {
            Hidden::BlockCount(axis) => (offset_of!(ImplicitArgs, block_count) + 4 * axis.index(), 4),
            Hidden::GroupSize(axis) => (offset_of!(ImplicitArgs, group_size) + 2 * axis.index(), 2),
            Hidden::Remainder(axis) => (offset_of!(ImplicitArgs, remainder) + 2 * axis.index(), 2),
            Hidden::GlobalOffset(axis) => (offset_of!(ImplicitArgs, global_offset) + 8 * axis.index(), 8),
            Hidden::GridDims => (offset_of!(ImplicitArgs, grid_dims), 2),
            Hidden::PrintfBuffer => (offset_of!(ImplicitArgs, printf_buffer), 8),
            Hidden::HostcallBuffer => (offset_of!(ImplicitArgs, hostcall_buffer), 8),
            Hidden::MultigridSync => (offset_of!(ImplicitArgs, multigrid_sync), 8),
            Hidden::Heap => (offset_of!(ImplicitArgs, heap), 8),
            Hidden::DefaultQueue => (offset_of!(ImplicitArgs, default_queue), 8),
            Hidden::CompletionAction => (offset_of!(ImplicitArgs, completion_action), 8),
            Hidden::DynamicLds => (offset_of!(ImplicitArgs, dynamic_lds), 4),
            Hidden::PrivateBase => (offset_of!(ImplicitArgs, private_base), 4),
            Hidden::SharedBase => (offset_of!(ImplicitArgs, shared_base), 4),
            Hidden::Queue => (offset_of!(ImplicitArgs, queue), 8),
            Hidden::None => return None,
        };
        Some((at, size))
    }

    fn place_v3(self) -> Option<(usize, usize)> {
        let at = match self {
            Hidden::GlobalOffset(axis) => offset_of!(ImplicitArgsV3, global_offset) + 8 * axis.index(),
            Hidden::PrintfBuffer | Hidden::HostcallBuffer => offset_of!(ImplicitArgsV3, printf_buffer),
            Hidden::DefaultQueue => offset_of!(ImplicitArgsV3, default_queue),
            Hidden::CompletionAction => offset_of!(ImplicitArgsV3, completion_action),
            Hidden::MultigridSync => offset_of!(ImplicitArgsV3, multigrid_sync),
            _ => return None,
        };
        Some((at, 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_hidden_arguments_are_one_to_one() {
        for hidden in Hidden::all() {
            assert_eq!(Hidden::of(hidden.name()), Some(hidden));
        }
        assert_eq!(Hidden::of("by_value"), None);
    }

    #[test]
    fn places_are_those_of_llvms_page() {
        let at = |hidden: Hidden| hidden.place(5).map(|(at, _)| at);
        assert_eq!(at(Hidden::GroupSize(Axis::Y)), Some(14));
        assert_eq!(at(Hidden::Remainder(Axis::Z)), Some(22));
        assert_eq!(at(Hidden::GlobalOffset(Axis::X)), Some(40));
        assert_eq!([Hidden::GridDims, Hidden::PrintfBuffer, Hidden::Heap].map(at), [Some(64), Some(72), Some(96)]);
        assert_eq!([Hidden::DynamicLds, Hidden::PrivateBase, Hidden::Queue].map(at), [Some(120), Some(192), Some(200)]);
        assert_eq!(Hidden::MultigridSync.place(4), Some((48, 8)));
        assert_eq!(Hidden::BlockCount(Axis::X).place(4), None);
    }
}
