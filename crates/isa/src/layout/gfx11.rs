//! The fields of RDNA3 and RDNA3.5. Source: "Microcode Formats" in AMD's RDNA3 and RDNA3.5 ISA manuals.

use super::{Piece, alu, dpp};
use crate::field::Field::*;
use crate::format::Format;

/// The pieces of a format's fields.
pub const fn layout(format: Format) -> &'static [Piece] {
    match format {
        Format::Sop1
        | Format::Sop2
        | Format::Sopk
        | Format::Sopc
        | Format::Sopp
        | Format::Vop1
        | Format::Vop2
        | Format::Vopc
        | Format::Vop3a
        | Format::Vop3b
        | Format::Vop3p => alu::layout(format),
        Format::Smem => {
            &[(Sbase, 0, 6), (Sdata, 6, 7), (Dlc, 13, 1), (Glc, 14, 1), (Op, 18, 8), (Offset, 32, 21), (Soffset, 57, 7)]
        }
        Format::Dpp1 | Format::Dpp2 | Format::DppC | Format::Dpp8_1 | Format::Dpp8_2 | Format::Dpp8C => {
            dpp::layout(format)
        }
        Format::Vop3aDpp => &[
            (Vdst, 0, 8),
            (Abs, 8, 3),
            (OpSel, 11, 4),
            (Clamp, 15, 1),
            (Op, 16, 10),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (Omod, 59, 2),
            (Neg, 61, 3),
            (Src0, 64, 8),
            (DppCtrl, 72, 9),
            (Fi, 82, 1),
            (BoundCtrl, 83, 1),
            (BankMask, 88, 4),
            (RowMask, 92, 4),
        ],
        Format::Vop3bDpp => &[
            (Vdst, 0, 8),
            (Sdst, 8, 7),
            (Clamp, 15, 1),
            (Op, 16, 10),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (Omod, 59, 2),
            (Neg, 61, 3),
            (Src0, 64, 8),
            (DppCtrl, 72, 9),
            (Fi, 82, 1),
            (BoundCtrl, 83, 1),
            (BankMask, 88, 4),
            (RowMask, 92, 4),
        ],
        Format::Vop3pDpp => &[
            (Vdst, 0, 8),
            (NegHi, 8, 3),
            (OpSel, 11, 3),
            (Clamp, 15, 1),
            (Op, 16, 7),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (OpSelHi, 59, 2),
            (OpSelHi, 14, 1),
            (Neg, 61, 3),
            (Src0, 64, 8),
            (DppCtrl, 72, 9),
            (Fi, 82, 1),
            (BoundCtrl, 83, 1),
            (BankMask, 88, 4),
            (RowMask, 92, 4),
        ],
        Format::Vop3aDpp8 => &[
            (Vdst, 0, 8),
            (Abs, 8, 3),
            (OpSel, 11, 4),
            (Clamp, 15, 1),
            (Op, 16, 10),
            (Dpp8Mark, 32, 2),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (Omod, 59, 2),
            (Neg, 61, 3),
            (Src0, 64, 8),
            (Lanes, 72, 24),
        ],
        Format::Vop3bDpp8 => &[
            (Vdst, 0, 8),
            (Sdst, 8, 7),
            (Clamp, 15, 1),
            (Op, 16, 10),
            (Dpp8Mark, 32, 2),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (Omod, 59, 2),
            (Neg, 61, 3),
            (Src0, 64, 8),
            (Lanes, 72, 24),
        ],
        Format::Vop3pDpp8 => &[
            (Vdst, 0, 8),
            (NegHi, 8, 3),
            (OpSel, 11, 3),
            (Clamp, 15, 1),
            (Op, 16, 7),
            (Dpp8Mark, 32, 2),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (OpSelHi, 59, 2),
            (OpSelHi, 14, 1),
            (Neg, 61, 3),
            (Src0, 64, 8),
            (Lanes, 72, 24),
        ],
        Format::Vopd => &[
            (Src0X, 0, 9),
            (Vsrc1X, 9, 8),
            (Op, 17, 9),
            (Src0Y, 32, 9),
            (Vsrc1Y, 41, 8),
            (VdstY, 49, 7),
            (VdstX, 56, 8),
        ],
        Format::Vinterp => &[
            (Vdst, 0, 8),
            (WaitExp, 8, 3),
            (OpSel, 11, 4),
            (Clamp, 15, 1),
            (Op, 16, 7),
            (Src0, 32, 9),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (Neg, 61, 3),
        ],
        Format::Ldsdir => &[(Vdst, 0, 8), (AttrChan, 8, 2), (Attr, 10, 6), (WaitVdst, 16, 4), (Op, 20, 2)],
        Format::Ds | Format::Flat | Format::Mubuf | Format::Mtbuf | Format::Mimg | Format::MimgNsa | Format::Exp => {
            memory(format)
        }
        // The formats of other generations.
        _ => &[],
    }
}

const fn memory(format: Format) -> &'static [Piece] {
    match format {
        Format::Ds => &[
            (Offset0, 0, 8),
            (Offset1, 8, 8),
            (Gds, 17, 1),
            (Op, 18, 8),
            (Addr, 32, 8),
            (Data0, 40, 8),
            (Data1, 48, 8),
            (Vdst, 56, 8),
        ],
        Format::Flat => &[
            (Offset, 0, 13),
            (Dlc, 13, 1),
            (Glc, 14, 1),
            (Slc, 15, 1),
            (Seg, 16, 2),
            (Op, 18, 7),
            (Addr, 32, 8),
            (Vdata, 40, 8),
            (Saddr, 48, 7),
            (Sve, 55, 1),
            (Vdst, 56, 8),
        ],
        Format::Mubuf => &[
            (Offset, 0, 12),
            (Slc, 12, 1),
            (Dlc, 13, 1),
            (Glc, 14, 1),
            (Op, 18, 8),
            (Vaddr, 32, 8),
            (Vdata, 40, 8),
            (Srsrc, 48, 5),
            (Tfe, 53, 1),
            (Offen, 54, 1),
            (Idxen, 55, 1),
            (Soffset, 56, 8),
        ],
        Format::Mtbuf => &[
            (Offset, 0, 12),
            (Slc, 12, 1),
            (Dlc, 13, 1),
            (Glc, 14, 1),
            (Op, 15, 4),
            (BufFormat, 19, 7),
            (Vaddr, 32, 8),
            (Vdata, 40, 8),
            (Srsrc, 48, 5),
            (Tfe, 53, 1),
            (Offen, 54, 1),
            (Idxen, 55, 1),
            (Soffset, 56, 8),
        ],
        Format::Mimg => IMAGE.split_at(17).0,
        Format::MimgNsa => IMAGE,
        _ => &[
            (En, 0, 4),
            (Tgt, 4, 6),
            (Done, 11, 1),
            (RowEn, 13, 1),
            (Vsrc0, 32, 8),
            (Vsrc1, 40, 8),
            (Vsrc2, 48, 8),
            (Vsrc3, 56, 8),
        ],
    }
}

/// MIMG, and behind it a word of further address registers.
const IMAGE: &[Piece] = &[
    (Nsa, 0, 1),
    (Dim, 2, 3),
    (Unorm, 7, 1),
    (Dmask, 8, 4),
    (Slc, 12, 1),
    (Dlc, 13, 1),
    (Glc, 14, 1),
    (R128, 15, 1),
    (A16, 16, 1),
    (D16, 17, 1),
    (Op, 18, 8),
    (Vaddr, 32, 8),
    (Vdata, 40, 8),
    (Srsrc, 48, 5),
    (Tfe, 53, 1),
    (Lwe, 54, 1),
    (Ssamp, 58, 5),
    (Vaddr1, 64, 8),
    (Vaddr2, 72, 8),
    (Vaddr3, 80, 8),
    (Vaddr4, 88, 8),
];
