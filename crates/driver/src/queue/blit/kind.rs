//! The kernels by which HIP copies and fills (ROCclr's; their bodies are in AMD's device libraries, opencl.bc): what
//! they are called, where their arguments lie, and which bytes a launch moves.

use luthier_loader::KernelMetadata;

/// What one of them does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Words, and bytes behind them.
    Linear,
    /// Words, or four at a time.
    LinearAligned,
    /// A box of bytes.
    Rect,
    /// A box of words, or of four at a time.
    RectAligned,
    Fill,
    Fill2D,
    /// HIP 7: words, each work-item those that lie a step apart, and bytes behind them.
    Stepped,
    /// HIP 7: a pattern, each work-item those that lie a step apart.
    SteppedFill,
}

use Kind::{Fill, Fill2D, Linear, LinearAligned, Rect, RectAligned, Stepped, SteppedFill};

pub const ALL: [Kind; 8] = [Linear, LinearAligned, Rect, RectAligned, Fill, Fill2D, Stepped, SteppedFill];

/// Offset and size of an argument.
type Place = (u64, u64);
const COPY: &[Place] = &[(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4)];
const RECT: &[Place] = &[(0, 8), (8, 8), (32, 32), (64, 32), (96, 32)];
const FILL: &[Place] = &[(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (48, 8), (56, 8)];
const FILL_2D: &[Place] = &[(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (48, 8), (56, 8), (64, 8), (72, 8)];

const STEPPED: &[Place] = &[(0, 8), (8, 8), (16, 8), (24, 4), (28, 4), (32, 8), (40, 4), (44, 4)];
const STEPPED_FILL: &[Place] = &[(0, 8), (8, 8), (16, 4), (20, 4), (24, 8), (32, 4), (36, 4)];

/// Hidden arguments that say nothing about how many work-items there are, if the first three are 0.
const HARMLESS: [&str; 14] = [
    "hidden_global_offset_x",
    "hidden_global_offset_y",
    "hidden_global_offset_z",
    "hidden_none",
    "hidden_printf_buffer",
    "hidden_hostcall_buffer",
    "hidden_default_queue",
    "hidden_completion_action",
    "hidden_multigrid_sync_arg",
    "hidden_grid_dims",
    "hidden_heap_v1",
    "hidden_dynamic_lds_size",
    "hidden_queue_ptr",
    "hidden_private_base",
];

/// Hidden arguments that say how large a launch is, along an axis each.
const SIZES: [&str; 3] = ["hidden_block_count_", "hidden_group_size_", "hidden_remainder_"];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Linear | Stepped => "__amd_rocclr_copyBuffer",
            LinearAligned => "__amd_rocclr_copyBufferAligned",
            Rect => "__amd_rocclr_copyBufferRect",
            RectAligned => "__amd_rocclr_copyBufferRectAligned",
            Fill | SteppedFill => "__amd_rocclr_fillBufferAligned",
            Fill2D => "__amd_rocclr_fillBufferAligned2D",
        }
    }

    fn places(self) -> &'static [Place] {
        match self {
            Linear | LinearAligned => COPY,
            Rect | RectAligned => RECT,
            Fill => FILL,
            Fill2D => FILL_2D,
            Stepped => STEPPED,
            SteppedFill => STEPPED_FILL,
        }
    }

    /// Bytes of its arguments, without the hidden ones.
    pub fn bytes(self) -> usize {
        self.places().last().map_or(0, |(at, size)| (at + size) as usize)
    }

    /// A kernel with the name and the arguments of one. Also where the hidden arguments of its grid are.
    pub fn of(name: &str, metadata: &KernelMetadata) -> Option<(Kind, Offsets)> {
        let has = |kind: &Kind| {
            let given = metadata.args.iter().filter(|arg| !arg.is_hidden()).map(|arg| Some((arg.offset?, arg.size?)));
            kind.name() == name && given.eq(kind.places().iter().map(|&place| Some(place)))
        };
        let kind = ALL.into_iter().find(has)?;
        let mut offsets = Offsets::default();
        for arg in metadata.args.iter().filter(|arg| arg.is_hidden()) {
            let (what, at) = (arg.value_kind.as_deref()?, arg.offset?);
            if let Some((size, axis)) =
                SIZES.iter().enumerate().find_map(|(i, size)| Some((i, what.strip_prefix(size)?)))
            {
                let axis = ["x", "y", "z"].iter().position(|name| *name == axis)?;
                offsets.sizes.get_mut(3 * size + axis)?.replace((at, arg.size?));
                continue;
            }
            let number = HARMLESS.iter().position(|harmless| *harmless == what)?;
            if let Some(axis) = offsets.zeros.get_mut(number) {
                *axis = Some(at);
            }
        }
        let bytes = metadata.kernarg_segment_size.filter(|bytes| *bytes <= MOST)?;
        offsets.bytes = bytes as usize;
        Some((kind, offsets))
    }
}

/// Bytes of arguments, hidden ones with them, at most.
const MOST: u64 = 1024;

/// Where the hidden arguments are that move a grid or say how large it is, and how many bytes all arguments have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offsets {
    zeros: [Option<u64>; 3],
    /// Workgroups, work-items of one, and of the last one if that is smaller, along each axis; with their bytes.
    sizes: [Option<Place>; 9],
    pub bytes: usize,
}

impl Offsets {
    /// Whether the hidden arguments say of a launch what it is, and its grid begins at 0.
    pub fn agree(&self, arguments: &[u8], shape: &Shape) -> bool {
        let mut right = arguments.to_vec();
        self.fill_in(&mut right, shape);
        right == arguments && self.zeros.into_iter().flatten().all(|at| word(arguments, at as usize) == Some(0))
    }

    /// Has the hidden arguments say what a launch is.
    pub fn fill_in(&self, arguments: &mut [u8], shape: &Shape) {
        let each = (0..3).map(|i| shape.grid[i] / shape.workgroup[i]);
        let rest = (0..3).map(|i| shape.grid[i] % shape.workgroup[i]);
        for (place, value) in self.sizes.iter().zip(each.chain(shape.workgroup).chain(rest)) {
            let Some((at, size)) = place else { continue };
            if let Some(to) = arguments.get_mut(*at as usize..).and_then(|room| room.get_mut(..(*size).min(4) as usize))
            {
                to.copy_from_slice(&value.to_le_bytes()[..to.len()]);
            }
        }
    }
}

/// Work-items of a launch, and of a workgroup, neither of them 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    pub grid: [u32; 3],
    pub workgroup: [u32; 3],
}

pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub fn half_word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
