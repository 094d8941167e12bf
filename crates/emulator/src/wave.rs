//! The architectural state of one wave.

use crate::masks::blend;
use crate::mode::Mode;

/// One vector register: 64 lanes of 32 bits. Aligned so that whole-row loops use full vector loads.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 64]);

impl Row {
    pub const ZERO: Row = Row([0; 64]);
}

/// Index of a row in a wave's vector file. The file holds more than the architectural registers, so that handlers
/// find every vector source in a row, whatever the operand was.
pub mod rows {
    /// v0; v`n` is `VGPR + n`.
    pub const VGPR: u16 = 0;
    /// a0; a`n` is `AGPR + n`.
    pub const AGPR: u16 = 256;
    /// Scratch rows of the lowering: broadcast scalars, DPP and SDWA selections, results before clamp and omod.
    pub const TEMP: u16 = 512;
    pub const TEMPS: u16 = 32;
    /// The 32-bit inline constants, one row each, in the order of their operand codes (128 to 248).
    pub const CONST: u16 = TEMP + TEMPS;
    pub const CONSTS: u16 = 121;
    /// The 16-bit float inline constants (codes 240 to 248), zero-extended.
    pub const CONST_F16: u16 = CONST + CONSTS;
    pub const COUNT: usize = (CONST_F16 + 9) as usize;
}

/// Scalar state by operand code.
pub mod scalar {
    pub const FLAT_SCRATCH: u8 = 102;
    pub const XNACK_MASK: u8 = 104;
    pub const VCC: u8 = 106;
    pub const TTMP: u8 = 108;
    pub const M0: u8 = 124;
    pub const EXEC: u8 = 126;
    /// 0 or 1.
    pub const SCC: u8 = 253;
}

/// A wave: its registers, and where it is.
pub struct Wave {
    /// The vector file, [`rows::COUNT`] rows.
    pub rows: Box<[Row; rows::COUNT]>,
    /// Scalar registers by operand code: SGPRs from 0, VCC 106, M0 124, EXEC 126; codes 128 to 248 hold the 32-bit
    /// inline constants, 253 holds SCC.
    pub s: [u32; 256],
    pub mode: Mode,
    /// EXEC as it was before a DPP micro-op narrowed it.
    pub saved_exec: u64,
    /// The address of the block being executed, and the index of the next micro-op in it.
    pub pc: u64,
}

impl Wave {
    #[inline(always)]
    pub fn s64(&self, code: u8) -> u64 {
        let i = usize::from(code);
        u64::from(self.s[i]) | u64::from(self.s[(i + 1) & 255]) << 32
    }
    #[inline(always)]
    pub fn set_s64(&mut self, code: u8, value: u64) {
        let i = usize::from(code);
        self.s[i] = value as u32;
        self.s[(i + 1) & 255] = (value >> 32) as u32;
    }
    #[inline(always)]
    pub fn exec(&self) -> u64 {
        self.s64(scalar::EXEC)
    }
    #[inline(always)]
    pub fn set_exec(&mut self, exec: u64) {
        self.set_s64(scalar::EXEC, exec);
    }
    #[inline(always)]
    pub fn vcc(&self) -> u64 {
        self.s64(scalar::VCC)
    }
    #[inline(always)]
    pub fn scc(&self) -> bool {
        self.s[usize::from(scalar::SCC)] != 0
    }
    #[inline(always)]
    pub fn set_scc(&mut self, scc: bool) {
        self.s[usize::from(scalar::SCC)] = u32::from(scc);
    }
    /// A row to read. `index` comes from an [`Op`](crate::op::Op), whose builder has checked it.
    #[inline(always)]
    pub fn row(&self, index: u16) -> &Row {
        debug_assert!(usize::from(index) < rows::COUNT);
        // SAFETY: row indices of micro-ops are made by the lowering, from 8-bit register fields and the constants
        // of `rows`; `Builder::push` checks each against `rows::COUNT` (with room for the widest tuple).
        unsafe { self.rows.get_unchecked(usize::from(index)) }
    }
    #[inline(always)]
    pub fn row_mut(&mut self, index: u16) -> &mut Row {
        debug_assert!(usize::from(index) < rows::COUNT);
        // SAFETY: as in `row`.
        unsafe { self.rows.get_unchecked_mut(usize::from(index)) }
    }
    /// Writes a row in the lanes of EXEC.
    #[inline(always)]
    pub fn write(&mut self, dst: u16, value: &Row) {
        let exec = self.exec();
        self.write_masked(dst, value, exec);
    }
    /// Writes a row in the lanes of `mask`.
    #[inline(always)]
    pub fn write_masked(&mut self, dst: u16, value: &Row, mask: u64) {
        let d = self.row_mut(dst);
        if mask == !0 {
            *d = *value;
        } else {
            blend(d, value, mask);
        }
    }
    /// The row pair at `index`, low words first.
    #[inline(always)]
    pub fn pair(&self, index: u16) -> (&Row, &Row) {
        (self.row(index), self.row(index + 1))
    }
}
