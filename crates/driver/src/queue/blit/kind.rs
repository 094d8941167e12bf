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
}

use Kind::{Fill, Fill2D, Linear, LinearAligned, Rect, RectAligned};

pub const ALL: [Kind; 6] = [Linear, LinearAligned, Rect, RectAligned, Fill, Fill2D];

/// Offset and size of an argument.
type Place = (u64, u64);
const COPY: &[Place] = &[(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4)];
const RECT: &[Place] = &[(0, 8), (8, 8), (32, 32), (64, 32), (96, 32)];
const FILL: &[Place] = &[(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (48, 8), (56, 8)];
const FILL_2D: &[Place] = &[(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (48, 8), (56, 8), (64, 8), (72, 8)];

/// Hidden arguments that say nothing about how many work-items there are.
const HARMLESS: [&str; 9] = [
    "hidden_global_offset_x",
    "hidden_global_offset_y",
    "hidden_global_offset_z",
    "hidden_none",
    "hidden_printf_buffer",
    "hidden_hostcall_buffer",
    "hidden_default_queue",
    "hidden_completion_action",
    "hidden_multigrid_sync_arg",
];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Linear => "__amd_rocclr_copyBuffer",
            LinearAligned => "__amd_rocclr_copyBufferAligned",
            Rect => "__amd_rocclr_copyBufferRect",
            RectAligned => "__amd_rocclr_copyBufferRectAligned",
            Fill => "__amd_rocclr_fillBufferAligned",
            Fill2D => "__amd_rocclr_fillBufferAligned2D",
        }
    }

    fn places(self) -> &'static [Place] {
        match self {
            Linear | LinearAligned => COPY,
            Rect | RectAligned => RECT,
            Fill => FILL,
            Fill2D => FILL_2D,
        }
    }

    /// Bytes of its arguments, without the hidden ones.
    pub fn bytes(self) -> usize {
        self.places().last().map_or(0, |(at, size)| (at + size) as usize)
    }

    /// A kernel with the name and the arguments of one. Also where the hidden offsets of its grid are.
    pub fn of(name: &str, metadata: &KernelMetadata) -> Option<(Kind, Offsets)> {
        let kind = ALL.into_iter().find(|kind| kind.name() == name)?;
        let given = metadata.args.iter().filter(|arg| !arg.is_hidden()).map(|arg| Some((arg.offset?, arg.size?)));
        if !given.eq(kind.places().iter().map(|&place| Some(place))) {
            return None;
        }
        let mut offsets = Offsets::default();
        for arg in metadata.args.iter().filter(|arg| arg.is_hidden()) {
            let what = arg.value_kind.as_deref()?;
            let number = HARMLESS.iter().position(|harmless| *harmless == what)?;
            if let Some(axis) = offsets.zeros.get_mut(number) {
                *axis = Some(arg.offset?);
            }
        }
        let bytes = metadata.kernarg_segment_size.filter(|bytes| *bytes <= MOST)?;
        offsets.bytes = bytes as usize;
        Some((kind, offsets))
    }
}

/// Bytes of arguments, hidden ones with them, at most.
const MOST: u64 = 1024;

/// Where the hidden arguments are that move a grid, and how many bytes all arguments have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offsets {
    zeros: [Option<u64>; 3],
    pub bytes: usize,
}

impl Offsets {
    /// Whether a grid with these arguments begins at 0.
    pub fn are_zero(&self, arguments: &[u8]) -> bool {
        self.zeros.into_iter().flatten().all(|at| word(arguments, at as usize) == Some(0))
    }
}

pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub fn half_word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
