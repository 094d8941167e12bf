//! The encoding formats. The table generator includes this file, as it does the fields' names and places.

/// The encoding formats of GCN5 and CDNA (later generations add theirs).
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
