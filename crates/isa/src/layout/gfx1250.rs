//! The fields of gfx1250, where they are not those of RDNA4.

use super::{Piece, gfx12};
use crate::field::Field::*;
use crate::format::Format;

/// The pieces of a format's fields.
pub const fn layout(format: Format) -> &'static [Piece] {
    match format {
        Format::Vop3p => &[
            (Vdst, 0, 8),
            (NegHi, 8, 3),
            (OpSel, 11, 3),
            (Clamp, 15, 1),
            (Op, 16, 8),
            (Src0, 32, 9),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (OpSelHi, 59, 2),
            (OpSelHi, 14, 1),
            (Neg, 61, 3),
        ],
        Format::WmmaScaled => &[
            (ScaleFormatB, 8, 2),
            (ScaleA, 11, 1),
            (ReuseA, 13, 1),
            (ReuseB, 14, 1),
            (ScaleSrc0, 32, 9),
            (ScaleSrc1, 41, 9),
            (ScaleB, 59, 1),
            (ScaleFormatA, 61, 2),
            (Vdst, 64, 8),
            (NegHi, 72, 3),
            (OpSel, 75, 3),
            (Op, 80, 8),
            (Src0, 96, 9),
            (Src1, 105, 9),
            (Src2, 114, 9),
            (OpSelHi, 123, 2),
            (OpSelHi, 78, 1),
            (Neg, 125, 3),
        ],
        Format::Vopd3 => &[
            (Src0X, 0, 9),
            (Op, 12, 12),
            (Src0Y, 32, 9),
            (NegX, 41, 3),
            (NegY, 44, 3),
            (Vsrc1X, 48, 8),
            (Vsrc2X, 56, 8),
            (VdstX, 64, 8),
            (Vsrc1Y, 72, 8),
            (Vsrc2Y, 80, 8),
            (VdstY, 88, 8),
        ],
        Format::Tensor => &[
            (Nv, 7, 1),
            (Op, 14, 8),
            (Scope, 50, 2),
            (TemporalHint, 52, 3),
            (Vaddr4, 56, 8),
            (Vaddr, 64, 8),
            (Vaddr1, 72, 8),
            (Vaddr2, 80, 8),
            (Vaddr3, 88, 8),
        ],
        Format::Mimg | Format::Vsample | Format::Ldsdir | Format::Vinterp | Format::Exp => &[],
        other => gfx12::layout(other),
    }
}
