//! The DPP words of VOP1, VOP2 and VOPC on RDNA, where it has two kinds. Source: "DPP16" and "DPP8" in AMD's RDNA1 and
//! RDNA3 ISA manuals.

use super::Piece;
use crate::field::Field::*;
use crate::format::Format;

/// The pieces of a format's fields; none of formats that are not among these.
pub const fn layout(format: Format) -> &'static [Piece] {
    match format {
        Format::Dpp1 | Format::Dpp2 | Format::DppC => dpp16(format),
        Format::Dpp8_1 | Format::Dpp8_2 | Format::Dpp8C => dpp8(format),
        _ => &[],
    }
}

const fn dpp16(format: Format) -> &'static [Piece] {
    match format {
        Format::Dpp1 => &[
            (Op, 9, 8),
            (Vdst, 17, 8),
            (Src0, 32, 8),
            (DppCtrl, 40, 9),
            (Fi, 50, 1),
            (BoundCtrl, 51, 1),
            (Src0Neg, 52, 1),
            (Src0Abs, 53, 1),
            (Src1Neg, 54, 1),
            (Src1Abs, 55, 1),
            (BankMask, 56, 4),
            (RowMask, 60, 4),
        ],
        Format::Dpp2 => &[
            (Vsrc1, 9, 8),
            (Vdst, 17, 8),
            (Op, 25, 6),
            (Src0, 32, 8),
            (DppCtrl, 40, 9),
            (Fi, 50, 1),
            (BoundCtrl, 51, 1),
            (Src0Neg, 52, 1),
            (Src0Abs, 53, 1),
            (Src1Neg, 54, 1),
            (Src1Abs, 55, 1),
            (BankMask, 56, 4),
            (RowMask, 60, 4),
        ],
        _ => &[
            (Vsrc1, 9, 8),
            (Op, 17, 8),
            (Src0, 32, 8),
            (DppCtrl, 40, 9),
            (Fi, 50, 1),
            (BoundCtrl, 51, 1),
            (Src0Neg, 52, 1),
            (Src0Abs, 53, 1),
            (Src1Neg, 54, 1),
            (Src1Abs, 55, 1),
            (BankMask, 56, 4),
            (RowMask, 60, 4),
        ],
    }
}

const fn dpp8(format: Format) -> &'static [Piece] {
    match format {
        Format::Dpp8_1 => &[(Dpp8Mark, 0, 2), (Op, 9, 8), (Vdst, 17, 8), (Src0, 32, 8), (Lanes, 40, 24)],
        Format::Dpp8_2 => {
            &[(Dpp8Mark, 0, 2), (Vsrc1, 9, 8), (Vdst, 17, 8), (Op, 25, 6), (Src0, 32, 8), (Lanes, 40, 24)]
        }
        _ => &[(Dpp8Mark, 0, 2), (Vsrc1, 9, 8), (Op, 17, 8), (Src0, 32, 8), (Lanes, 40, 24)],
    }
}
