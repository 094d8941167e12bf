//! The generated tables: opcodes, decode indexes, mnemonics.

use crate::opcode::{Check, Legality};
use crate::{Access, DataType, Field, File, Flags, Format, Modifiers, OpcodeId, OpcodeInfo, OperandInfo, Reg};

/// For each decode index, the opcode id at `opcode << key bits | variant key`; `u16::MAX` where there is none.
pub struct Index {
    pub sop1: &'static [u16],
    pub sop2: &'static [u16],
    pub sopk: &'static [u16],
    pub sopc: &'static [u16],
    pub sopp: &'static [u16],
    pub smem: &'static [u16],
    pub vop1: &'static [u16],
    pub vop2: &'static [u16],
    pub vopc: &'static [u16],
    pub sdwa1: &'static [u16],
    pub sdwa2: &'static [u16],
    pub sdwac: &'static [u16],
    pub dpp1: &'static [u16],
    pub dpp2: &'static [u16],
    pub vop3: &'static [u16],
    pub vintrp: &'static [u16],
    pub ds: &'static [u16],
    pub flat: &'static [u16],
    pub mubuf: &'static [u16],
    pub mtbuf: &'static [u16],
    pub mimg: &'static [u16],
    pub exp: &'static [u16],
}

include!(concat!(env!("OUT_DIR"), "/tables.rs"));
