//! The encoding formats. The table generator includes this file, as it does the fields' names and places.

/// The encoding formats of all generations; [`crate::layout`] tells which one has which.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
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
    /// The same of gfx1250.
    WmmaScaled,
    Vintrp,
    /// VOP1/VOP2/VOPC with an SDWA or DPP second word.
    Sdwa1,
    Sdwa2,
    SdwaC,
    Dpp1,
    Dpp2,
    /// From here to `Vop3pDpp8`: RDNA's further DPP forms. `Dpp` is DPP16; DPP8 names a lane for each of eight.
    DppC,
    Dpp8_1,
    Dpp8_2,
    Dpp8C,
    /// VOP3 and VOP3P with a DPP word behind them: 12 bytes.
    Vop3aDpp,
    Vop3bDpp,
    Vop3pDpp,
    Vop3aDpp8,
    Vop3bDpp8,
    Vop3pDpp8,
    /// Two operations at once.
    Vopd,
    /// The same with third sources and negations (gfx1250): 12 bytes.
    Vopd3,
    Vinterp,
    Ldsdir,
    Ds,
    Flat,
    Mubuf,
    Mtbuf,
    Mimg,
    /// MIMG with one to three more words that name the address registers one by one.
    MimgNsa,
    MimgNsa2,
    MimgNsa3,
    /// An image instruction with a sampler, where that has an encoding of its own (RDNA4).
    Vsample,
    /// A transfer of a tensor between memory and LDS (gfx1250).
    Tensor,
    Exp,
}

impl Format {
    pub const ALL: [Format; 46] = {
        use Format::*;
        [
            Sop1, Sop2, Sopk, Sopc, Sopp, Smem, Vop1, Vop2, Vopc, Vop3a, Vop3b, Vop3p, Mai, MaiScaled, WmmaScaled,
            Vintrp, Sdwa1, Sdwa2, SdwaC, Dpp1, Dpp2, DppC, Dpp8_1, Dpp8_2, Dpp8C, Vop3aDpp, Vop3bDpp, Vop3pDpp,
            Vop3aDpp8, Vop3bDpp8, Vop3pDpp8, Vopd, Vopd3, Vinterp, Ldsdir, Ds, Flat, Mubuf, Mtbuf, Mimg, MimgNsa,
            MimgNsa2, MimgNsa3, Vsample, Tensor, Exp,
        ]
    };
}

impl Format {
    /// The format that a DPP word or a second encoding of the same operation adds to: `Vop3a` of `Vop3aDpp8`.
    pub const fn plain(self) -> Format {
        use Format::*;
        match self {
            Sdwa1 | Dpp1 | Dpp8_1 => Vop1,
            Sdwa2 | Dpp2 | Dpp8_2 => Vop2,
            SdwaC | DppC | Dpp8C => Vopc,
            Vop3aDpp | Vop3aDpp8 => Vop3a,
            Vop3bDpp | Vop3bDpp8 => Vop3b,
            Vop3pDpp | Vop3pDpp8 => Vop3p,
            MimgNsa | MimgNsa2 | MimgNsa3 => Mimg,
            other => other,
        }
    }

    /// With a DPP16 control word.
    pub const fn is_dpp16(self) -> bool {
        use Format::*;
        matches!(self, Dpp1 | Dpp2 | DppC | Vop3aDpp | Vop3bDpp | Vop3pDpp)
    }

    /// With a lane for each of eight.
    pub const fn is_dpp8(self) -> bool {
        use Format::*;
        matches!(self, Dpp8_1 | Dpp8_2 | Dpp8C | Vop3aDpp8 | Vop3bDpp8 | Vop3pDpp8)
    }

    /// VOP3 or VOP3P, with or without a DPP word.
    pub const fn is_vop3(self) -> bool {
        use Format::*;
        matches!(self.plain(), Vop3a | Vop3b | Vop3p)
    }
}
