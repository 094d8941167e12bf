//! The named bit fields of the encodings. A field's place depends on the format; its name does not.

/// A field of an encoding. Operands and modifiers alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    // operands
    Sdst,
    Ssrc0,
    Ssrc1,
    Simm16,
    Sbase,
    Sdata,
    Soffset,
    Srsrc,
    Ssamp,
    Vdst,
    Src0,
    Src1,
    Src2,
    Vaddr,
    Saddr,
    Vdata,
    Addr,
    Data0,
    Data1,
    Vsrc0,
    Vsrc1,
    Vsrc2,
    Vsrc3,
    /// Registers that hold the block scales of a matrix operation.
    ScaleSrc0,
    ScaleSrc1,
    Tgt,
    // the two operations of VOPD; the destination of the second lacks its lowest bit, which is not that of the first
    Src0X,
    Vsrc1X,
    VdstX,
    Src0Y,
    Vsrc1Y,
    VdstY,
    // and what VOPD3 adds; the third source of the second operation may hold the truth table of `v_dual_bitop2_b32`
    Vsrc2X,
    Vsrc2Y,
    NegX,
    NegY,
    // an image instruction's address registers after the first, each named on its own (NSA)
    Vaddr1,
    Vaddr2,
    Vaddr3,
    Vaddr4,
    Vaddr5,
    Vaddr6,
    Vaddr7,
    Vaddr8,
    Vaddr9,
    Vaddr10,
    Vaddr11,
    Vaddr12,
    /// VCC where the opcode implies it and the assembly names it; no bits.
    Vcc,
    /// The same of M0.
    M0,
    /// The mandatory 32-bit literal behind the encoding (`v_madmk_f32`).
    Literal,
    // offsets
    Offset,
    Offset0,
    Offset1,
    // VOP3 and VOP3P modifiers
    Abs,
    Neg,
    NegHi,
    OpSel,
    OpSelHi,
    Clamp,
    Omod,
    // matrix
    Cbsz,
    Abid,
    Blgp,
    Acc,
    AccCd,
    ScaleOpSel,
    ScaleOpSelHi,
    // gfx1250's matrices A and B: which half of the scales, their format, and whether the matrix is used again
    ScaleA,
    ScaleB,
    ScaleFormatA,
    ScaleFormatB,
    ReuseA,
    ReuseB,
    // DPP
    DppCtrl,
    BoundCtrl,
    RowMask,
    BankMask,
    /// Fetch from inactive lanes.
    Fi,
    /// The low bits of the source code that says DPP8: 1, or 2 to fetch from inactive lanes.
    Dpp8Mark,
    /// Eight lane numbers of three bits.
    Lanes,
    // SDWA
    DstSel,
    DstUnused,
    Src0Sel,
    Src1Sel,
    Src0Sext,
    Src1Sext,
    Src0Neg,
    Src0Abs,
    Src1Neg,
    Src1Abs,
    S0,
    S1,
    Sd,
    // memory; gfx942 calls the first three sc0, nt and sc1
    Glc,
    Slc,
    Scc,
    Dlc,
    // what takes the place of those bits on RDNA4: how soon the data are needed again, and who has to see them
    TemporalHint,
    Scope,
    /// The register offset counts elements.
    ScaleOffset,
    Lds,
    Gds,
    Offen,
    Idxen,
    Addr64,
    Tfe,
    Lwe,
    Nv,
    Imm,
    SoffsetEn,
    Seg,
    Sve,
    Dfmt,
    Nfmt,
    Dmask,
    Unorm,
    Da,
    R128,
    A16,
    D16,
    Dim,
    Nsa,
    /// The data format of a typed buffer access, data and number format in one (RDNA).
    BufFormat,
    // export and interpolation
    En,
    Compr,
    Done,
    Vm,
    RowEn,
    Attr,
    AttrChan,
    WaitExp,
    WaitVdst,
    WaitVmVsrc,
    /// The opcode field itself.
    Op,
}

impl Field {
    /// How many there are.
    pub const COUNT: usize = Field::Op as usize + 1;
}
