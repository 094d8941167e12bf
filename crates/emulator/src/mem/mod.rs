//! Memory instructions: what they do to the lanes, apart from how each computes its addresses.

use luthier_isa::op::Op as IsaOp;

pub mod access;
pub mod atomic;
pub mod buffer;
mod buffer_range;
pub mod ds;
pub mod ds_lanes;
pub mod ds_src2;
pub mod ds_transpose;
pub mod ds_words;
pub mod engine;
pub mod flat;
pub mod flat_lanes;
pub mod format;
pub mod gfx1250;
pub mod global_words;
pub mod gws;
pub mod image;
pub mod image_format;
pub mod image_ops;
mod image_sample;
pub mod image_texels;
pub mod image_tiles;
pub mod lds_barrier;
pub mod notice;
pub mod pieces;
pub mod smem;
pub mod tensor;
pub mod tensor_ops;
pub mod typed;

use crate::level::{Work, at_best};
use crate::op::{Flow, Op};
use crate::registers::Row;
use crate::wave::Wave;

/// What one lane of a memory instruction transfers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// Whole words into consecutive rows.
    Words,
    U8,
    I8,
    U16,
    I16,
    /// Into the low half of the destination, keeping the high one, or clearing it: see [`Wave::kept`].
    U8Lo,
    I8Lo,
    B16Lo,
    /// Into the high half, keeping or clearing the low one.
    U8Hi,
    I8Hi,
    B16Hi,
}

impl Transfer {
    /// Bytes in memory; for words, `words * 4`.
    pub const fn bytes(self, words: u8) -> u64 {
        match self {
            Transfer::Words => words as u64 * 4,
            Transfer::U8 | Transfer::I8 | Transfer::U8Lo | Transfer::I8Lo | Transfer::U8Hi | Transfer::I8Hi => 1,
            Transfer::U16 | Transfer::I16 | Transfer::B16Lo | Transfer::B16Hi => 2,
        }
    }
    /// What a sub-word load makes of what is kept of the destination's value.
    #[inline(always)]
    pub const fn merge(self, old: u32, raw: u32) -> u32 {
        match self {
            Transfer::Words | Transfer::U8 | Transfer::U16 => raw,
            Transfer::I8 => raw as i8 as u32,
            Transfer::I16 => raw as i16 as u32,
            Transfer::U8Lo | Transfer::B16Lo => old & 0xffff_0000 | raw,
            Transfer::I8Lo => old & 0xffff_0000 | raw as i8 as u32 & 0xffff,
            Transfer::U8Hi | Transfer::B16Hi => old & 0xffff | raw << 16,
            Transfer::I8Hi => old & 0xffff | (raw as i8 as u32) << 16,
        }
    }
    /// What a sub-word store takes from its source.
    #[inline(always)]
    pub const fn extract(self, value: u32) -> u32 {
        match self {
            Transfer::U8Hi | Transfer::I8Hi | Transfer::B16Hi => value >> 16,
            _ => value,
        }
    }
    /// As [`Transfer::merge`], of all lanes: `raw` becomes what the destination holds then.
    pub fn merge_all(self, old: &Row, kept: u32, raw: &mut Row) {
        at_best(Merged { transfer: self, old, kept, raw });
    }
    /// As [`Transfer::extract`], of all lanes.
    pub fn extract_all(self, values: &mut Row) {
        let by = if self.extract(0x1_0000) == 1 { 16 } else { 0 };
        values.0.iter_mut().for_each(|value| *value >>= by);
    }
}

/// What [`Transfer::merge_all`] does.
struct Merged<'a> {
    transfer: Transfer,
    old: &'a Row,
    kept: u32,
    raw: &'a mut Row,
}

impl Work for Merged<'_> {
    type Result = ();
    #[inline(always)]
    fn run(self) {
        let Merged { transfer, old, kept, raw } = self;
        // Each loop knows which transfer it is for.
        macro_rules! merged {
            ($($known:ident),*) => {
                match transfer {
                    $(Transfer::$known => {
                        for i in 0..64 {
                            raw.0[i] = Transfer::$known.merge(old.0[i] & kept, raw.0[i]);
                        }
                    })*
                }
            };
        }
        merged!(Words, U8, I8, U16, I16, U8Lo, I8Lo, B16Lo, U8Hi, I8Hi, B16Hi);
    }
}

/// A vector memory instruction's action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Load(Transfer),
    Store(Transfer),
    /// An atomic on one or two words; `ret`: the old value is returned.
    Atomic(atomic::Atomic, bool),
}

/// The action and the words that it moves, from the end of the mnemonic: `load_dwordx2`, `store_short_d16_hi`,
/// `atomic_add_x2`. `ret` is the glc bit of an atomic.
pub fn action(suffix: &str, ret: bool) -> Option<(Action, u8)> {
    let words = |n: &str| match n {
        "dword" | "b32" => Some(1),
        "dwordx2" | "b64" => Some(2),
        "dwordx3" | "b96" => Some(3),
        "dwordx4" | "b128" => Some(4),
        _ => None,
    };
    if let Some(what) = suffix.strip_prefix("load_") {
        let transfer = match what {
            "ubyte" | "u8" => Transfer::U8,
            "sbyte" | "i8" => Transfer::I8,
            "ushort" | "u16" => Transfer::U16,
            "sshort" | "i16" => Transfer::I16,
            "ubyte_d16" | "d16_u8" => Transfer::U8Lo,
            "ubyte_d16_hi" | "d16_hi_u8" => Transfer::U8Hi,
            "sbyte_d16" | "d16_i8" => Transfer::I8Lo,
            "sbyte_d16_hi" | "d16_hi_i8" => Transfer::I8Hi,
            "short_d16" | "d16_b16" => Transfer::B16Lo,
            "short_d16_hi" | "d16_hi_b16" => Transfer::B16Hi,
            what => return words(what).map(|n| (Action::Load(Transfer::Words), n)),
        };
        return Some((Action::Load(transfer), 1));
    }
    if let Some(what) = suffix.strip_prefix("store_") {
        let transfer = match what {
            "byte" | "b8" => Transfer::U8,
            "byte_d16_hi" | "d16_hi_b8" => Transfer::U8Hi,
            "short" | "b16" => Transfer::U16,
            "short_d16_hi" | "d16_hi_b16" => Transfer::B16Hi,
            what => return words(what).map(|n| (Action::Store(Transfer::Words), n)),
        };
        return Some((Action::Store(transfer), 1));
    }
    let (atomic, words) = atomic::Atomic::from_name(suffix.strip_prefix("atomic_")?)?;
    Some((Action::Atomic(atomic, ret), words))
}

/// For instructions that have nothing to do here.
pub fn nothing(_w: &mut Wave, _op: &Op) -> Flow {
    Flow::Next
}

/// Cache control and the like, which have nothing to do here either: a coherent memory has their effects already.
pub fn has_no_effect(op: IsaOp) -> bool {
    matches!(
        op,
        IsaOp::BufferWbinvl1
            | IsaOp::BufferWbinvl1Vol
            | IsaOp::BufferWbl2
            | IsaOp::BufferInv
            | IsaOp::BufferInvl2
            | IsaOp::BufferGl0Inv
            | IsaOp::BufferGl1Inv
            | IsaOp::SGl1Inv
            | IsaOp::GlobalInv
            | IsaOp::GlobalWb
            | IsaOp::GlobalWbinv
            | IsaOp::GlobalPrefetchB8
            | IsaOp::FlatPrefetchB8
            | IsaOp::SPrefetchInst
            | IsaOp::SPrefetchInstPcRel
            | IsaOp::SPrefetchData
            | IsaOp::SPrefetchDataPcRel
            | IsaOp::SBufferPrefetchData
            | IsaOp::SDcacheInv
            | IsaOp::SDcacheWb
            | IsaOp::SDcacheInvVol
            | IsaOp::SDcacheWbVol
            | IsaOp::SDcacheDiscard
            | IsaOp::SDcacheDiscardX2
            | IsaOp::SAtcProbe
            | IsaOp::SAtcProbeBuffer
    )
}
