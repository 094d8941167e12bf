//! The encoding formats. The table generator includes this file, as it does the fields' names and places.

/// The encoding formats of all generations; [`crate::layout`] tells which one has which.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Format {
    Sop1,
    Sop2,
    Sopk,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3a,
    Vop3b,
    Vop3p,
    Mai,
    /// A matrix operation behind an encoding that holds its block scales (gfx950): 16 bytes.
    MaiScaled,
    Vintrp,
    /// VOP1/VOP2/VOPC with an SDWA or DPP second word.
    Sdwa1,
    Sdwa2,
    SdwaC,
    Dpp1,
    Dpp2,
    Ds,
    Flat,
    Mubuf,
    Mtbuf,
    Mimg,
    Exp,
}

impl Format {
    pub const ALL: [Format; 26] = {
        use Format::*;
        [
            Sop1, Sop2, Sopk, Sopc, Sopp, Smem, Vop1, Vop2, Vopc, Vop3a, Vop3b, Vop3p, Mai, MaiScaled, Vintrp, Sdwa1,
            Sdwa2, SdwaC, Dpp1, Dpp2, Ds, Flat, Mubuf, Mtbuf, Mimg, Exp,
        ]
    };
}
