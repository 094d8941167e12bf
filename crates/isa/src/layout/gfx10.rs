//! The fields of RDNA1 and RDNA2. Source: "Microcode Formats" in AMD's RDNA1 and RDNA2 ISA manuals.

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
        | Format::Vop3p
        | Format::Sdwa1
        | Format::Sdwa2
        | Format::SdwaC => alu::layout(format),
        // Comparisons have no DPP forms yet.
        Format::Dpp1 | Format::Dpp2 | Format::Dpp8_1 | Format::Dpp8_2 => dpp::layout(format),
        Format::Smem => {
            &[(Sbase, 0, 6), (Sdata, 6, 7), (Dlc, 14, 1), (Glc, 16, 1), (Op, 18, 8), (Offset, 32, 21), (Soffset, 57, 7)]
        }
        Format::Vintrp => &[(Vsrc0, 0, 8), (AttrChan, 8, 2), (Attr, 10, 6), (Op, 16, 2), (Vdst, 18, 8)],
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
            (Offset, 0, 12),
            (Dlc, 12, 1),
            (Lds, 13, 1),
            (Seg, 14, 2),
            (Glc, 16, 1),
            (Slc, 17, 1),
            (Op, 18, 7),
            (Addr, 32, 8),
            (Vdata, 40, 8),
            (Saddr, 48, 7),
            (Vdst, 56, 8),
        ],
        Format::Mubuf => &[
            (Offset, 0, 12),
            (Offen, 12, 1),
            (Idxen, 13, 1),
            (Glc, 14, 1),
            (Dlc, 15, 1),
            (Lds, 16, 1),
            (Op, 18, 8),
            (Vaddr, 32, 8),
            (Vdata, 40, 8),
            (Srsrc, 48, 5),
            (Slc, 54, 1),
            (Tfe, 55, 1),
            (Soffset, 56, 8),
        ],
        Format::Mtbuf => &[
            (Op, 16, 3),
            (Op, 53, 1),
            (Offset, 0, 12),
            (Offen, 12, 1),
            (Idxen, 13, 1),
            (Glc, 14, 1),
            (Dlc, 15, 1),
            (BufFormat, 19, 7),
            (Vaddr, 32, 8),
            (Vdata, 40, 8),
            (Srsrc, 48, 5),
            (Slc, 54, 1),
            (Tfe, 55, 1),
            (Soffset, 56, 8),
        ],
        Format::Mimg | Format::MimgNsa | Format::MimgNsa2 | Format::MimgNsa3 => image(format),
        Format::Exp => &[
            (En, 0, 4),
            (Tgt, 4, 6),
            (Compr, 10, 1),
            (Done, 11, 1),
            (Vm, 12, 1),
            (Vsrc0, 32, 8),
            (Vsrc1, 40, 8),
            (Vsrc2, 48, 8),
            (Vsrc3, 56, 8),
        ],
        // The formats of other generations.
        _ => &[],
    }
}

/// MIMG, and behind it one to three words of further address registers.
const fn image(format: Format) -> &'static [Piece] {
    const ALL: &[Piece] = &[
        (Op, 18, 7),
        (Op, 0, 1),
        (Nsa, 1, 2),
        (Dim, 3, 3),
        (Dlc, 7, 1),
        (Dmask, 8, 4),
        (Unorm, 12, 1),
        (Glc, 13, 1),
        (R128, 15, 1),
        (Tfe, 16, 1),
        (Lwe, 17, 1),
        (Slc, 25, 1),
        (Vaddr, 32, 8),
        (Vdata, 40, 8),
        (Srsrc, 48, 5),
        (Ssamp, 53, 5),
        (A16, 62, 1),
        (D16, 63, 1),
        (Vaddr1, 64, 8),
        (Vaddr2, 72, 8),
        (Vaddr3, 80, 8),
        (Vaddr4, 88, 8),
        (Vaddr5, 96, 8),
        (Vaddr6, 104, 8),
        (Vaddr7, 112, 8),
        (Vaddr8, 120, 8),
        (Vaddr9, 128, 8),
        (Vaddr10, 136, 8),
        (Vaddr11, 144, 8),
        (Vaddr12, 152, 8),
    ];
    let pieces = match format {
        Format::Mimg => 18,
        Format::MimgNsa => 22,
        Format::MimgNsa2 => 26,
        _ => 30,
    };
    ALL.split_at(pieces).0
}
