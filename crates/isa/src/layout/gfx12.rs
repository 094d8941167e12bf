//! The fields of RDNA4. Source: "Microcode Formats" in AMD's RDNA4 ISA manual. Vector memory instructions have three words;
//! whatever works on registers only is encoded as on RDNA3.

use super::{Piece, gfx11};
use crate::field::Field::*;
use crate::format::Format;

/// The pieces of a format's fields.
pub const fn layout(format: Format) -> &'static [Piece] {
    match format {
        Format::Smem => &[
            (Sbase, 0, 6),
            (Sdata, 6, 7),
            (Op, 13, 6),
            (Nv, 20, 1),
            (Scope, 21, 2),
            (TemporalHint, 23, 2),
            (Offset, 32, 24),
            (ScaleOffset, 56, 1),
            (Soffset, 57, 7),
        ],
        Format::Vinterp => &[
            (Vdst, 0, 8),
            (WaitExp, 8, 3),
            (OpSel, 11, 4),
            (Clamp, 15, 1),
            (Op, 16, 5),
            (Src0, 32, 9),
            (Src1, 41, 9),
            (Src2, 50, 9),
            (Neg, 61, 3),
        ],
        Format::Ldsdir => {
            &[(Vdst, 0, 8), (AttrChan, 8, 2), (Attr, 10, 6), (WaitVdst, 16, 4), (Op, 20, 2), (WaitVmVsrc, 23, 1)]
        }
        Format::Ds => &[
            (Offset0, 0, 8),
            (Offset1, 8, 8),
            (Op, 18, 8),
            (Addr, 32, 8),
            (Data0, 40, 8),
            (Data1, 48, 8),
            (Vdst, 56, 8),
        ],
        Format::Flat => &[
            (Saddr, 0, 7),
            (Nv, 7, 1),
            (Op, 14, 8),
            (Seg, 24, 2),
            (Vdst, 32, 8),
            (ScaleOffset, 48, 1),
            (Sve, 49, 1),
            (Scope, 50, 2),
            (TemporalHint, 52, 3),
            (Vdata, 55, 8),
            (Addr, 64, 8),
            (Offset, 72, 24),
        ],
        Format::Mubuf | Format::Mtbuf => buffer(format),
        Format::Mimg => &[
            (Dim, 0, 3),
            (R128, 4, 1),
            (D16, 5, 1),
            (A16, 6, 1),
            (Nv, 7, 1),
            (Op, 14, 8),
            (Dmask, 22, 4),
            (Vdata, 32, 8),
            (Srsrc, 41, 9),
            (Scope, 50, 2),
            (TemporalHint, 52, 3),
            (Tfe, 55, 1),
            (Vaddr4, 56, 8),
            (Vaddr, 64, 8),
            (Vaddr1, 72, 8),
            (Vaddr2, 80, 8),
            (Vaddr3, 88, 8),
        ],
        Format::Vsample => &[
            (Dim, 0, 3),
            (Tfe, 3, 1),
            (R128, 4, 1),
            (D16, 5, 1),
            (A16, 6, 1),
            (Nv, 7, 1),
            (Unorm, 13, 1),
            (Op, 14, 8),
            (Dmask, 22, 4),
            (Vdata, 32, 8),
            (Lwe, 40, 1),
            (Srsrc, 41, 9),
            (Scope, 50, 2),
            (TemporalHint, 52, 3),
            (Ssamp, 55, 9),
            (Vaddr, 64, 8),
            (Vaddr1, 72, 8),
            (Vaddr2, 80, 8),
            (Vaddr3, 88, 8),
        ],
        Format::MimgNsa => &[],
        other => gfx11::layout(other),
    }
}

const fn buffer(format: Format) -> &'static [Piece] {
    match format {
        Format::Mubuf => &[
            (Soffset, 0, 7),
            (Nv, 7, 1),
            (Op, 14, 8),
            (Tfe, 22, 1),
            (Vdata, 32, 8),
            (Srsrc, 41, 9),
            (Scope, 50, 2),
            (TemporalHint, 52, 3),
            (BufFormat, 55, 7),
            (Offen, 62, 1),
            (Idxen, 63, 1),
            (Vaddr, 64, 8),
            (Offset, 72, 24),
        ],
        _ => &[
            (Soffset, 0, 7),
            (Nv, 7, 1),
            (Op, 14, 4),
            (Tfe, 22, 1),
            (Vdata, 32, 8),
            (Srsrc, 41, 9),
            (Scope, 50, 2),
            (TemporalHint, 52, 3),
            (BufFormat, 55, 7),
            (Offen, 62, 1),
            (Idxen, 63, 1),
            (Vaddr, 64, 8),
            (Offset, 72, 24),
        ],
    }
}
