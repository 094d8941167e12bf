//! The few instructions that placement itself writes.

use luthier_isa::{EncodeError, Field, Inst, OpcodeInfo, Operand, Reg, RegRange, Target};

use crate::CodegenError;

macro_rules! ops {
    ($($name:ident $mnemonic:literal,)*) => {
        /// Their opcodes, looked up once.
        #[derive(Clone, Copy, Debug)]
        pub struct Ops { $(pub $name: &'static OpcodeInfo,)* }

        impl Ops {
            pub fn of(target: Target) -> Result<Ops, CodegenError> {
                // Forms of one mnemonic are told apart by LLVM's names.
                let by_llvm = |name| target.opcodes().iter().find(|o| o.pseudo == name);
                let find = |mnemonic: &'static str| {
                    let found = target.find(mnemonic).or_else(|| by_llvm(mnemonic));
                    found.ok_or(CodegenError::NoInstruction { target, mnemonic })
                };
                Ok(Ops { $($name: find($mnemonic)?,)* })
            }
        }
    };
}

ops! {
    s_mov_b32 "s_mov_b32",
    s_mov_b64 "s_mov_b64",
    s_cselect_b32 "s_cselect_b32",
    s_cmp_lg_u32 "s_cmp_lg_u32",
    s_add_u32 "s_add_u32",
    s_addc_u32 "s_addc_u32",
    s_getpc_b64 "s_getpc_b64",
    s_setpc_b64 "s_setpc_b64",
    s_branch "s_branch",
    s_nop "s_nop",
    s_waitcnt "s_waitcnt",
    s_getreg_b32 "s_getreg_b32",
    s_setreg_b32 "s_setreg_b32",
    s_setreg_imm32_b32 "s_setreg_imm32_b32",
    v_mov_b32 "v_mov_b32_e32",
    v_readlane_b32 "v_readlane_b32",
    v_writelane_b32 "v_writelane_b32",
    v_accvgpr_read_b32 "v_accvgpr_read_b32",
    v_accvgpr_write_b32 "v_accvgpr_write_b32",
    global_atomic_add_x2 "GLOBAL_ATOMIC_ADD_X2_SADDR",
}

/// Any literal, to be overwritten by a fixup: one that no inline constant stands for.
pub const LITERAL: Operand = Operand::Literal(0xdead_beef);

pub fn one(reg: Reg) -> Operand {
    Operand::Reg(RegRange::new(reg, 1))
}
pub fn pair(reg: Reg) -> Operand {
    Operand::Reg(RegRange::new(reg, 2))
}
/// An integer from 0 to 64 as an inline constant.
pub fn small(n: u16) -> Operand {
    Operand::Inline(128 + n)
}

/// `hwreg(HW_REG_MODE, 0, 8)`: rounding and denormal bits.
const MODE_FP: i64 = 7 << 11 | 1;
/// Round to nearest even, keep all denormals.
pub const MODE_FP_DEFAULT: u32 = 0xf0;

impl Ops {
    pub fn build(info: &'static OpcodeInfo, operands: &[Operand]) -> Result<Inst, EncodeError> {
        Inst::build(info, operands)
    }
    /// `s_waitcnt` with this immediate.
    pub fn wait(&self, immediate: u16) -> Result<Inst, EncodeError> {
        let mut inst = Inst::new(self.s_waitcnt);
        inst.set_field(Field::Simm16, immediate.into())?;
        Ok(inst)
    }
    /// Waits for every outstanding memory operation of the wave.
    pub fn wait_all(&self) -> Result<Inst, EncodeError> {
        self.wait(0)
    }
    /// `states` wait states, 1 to 16.
    pub fn nop(&self, states: u32) -> Result<Inst, EncodeError> {
        Inst::build(self.s_nop, &[Operand::Imm(i64::from(states.clamp(1, 16)) - 1)])
    }
    /// `to` = `SCC`.
    pub fn save_scc(&self, to: Reg) -> Result<Inst, EncodeError> {
        Inst::build(self.s_cselect_b32, &[one(to), small(1), small(0)])
    }
    /// `SCC` = `from`.
    pub fn restore_scc(&self, from: Reg) -> Result<Inst, EncodeError> {
        Inst::build(self.s_cmp_lg_u32, &[one(from), small(0)])
    }
    pub fn mov32(&self, to: Reg, from: Operand) -> Result<Inst, EncodeError> {
        Inst::build(self.s_mov_b32, &[one(to), from])
    }
    pub fn mov64(&self, to: Reg, from: Operand) -> Result<Inst, EncodeError> {
        Inst::build(self.s_mov_b64, &[pair(to), from])
    }
    /// `to` = lane `lane` of `vgpr`, whatever EXEC is.
    pub fn read_lane(&self, to: Reg, vgpr: Reg, lane: u8) -> Result<Inst, EncodeError> {
        Inst::build(self.v_readlane_b32, &[one(to), one(vgpr), small(lane.into())])
    }
    /// Lane `lane` of `vgpr` = `from`.
    pub fn write_lane(&self, vgpr: Reg, lane: u8, from: Operand) -> Result<Inst, EncodeError> {
        Inst::build(self.v_writelane_b32, &[one(vgpr), from, small(lane.into())])
    }
    pub fn read_fp_mode(&self, to: Reg) -> Result<Inst, EncodeError> {
        Inst::build(self.s_getreg_b32, &[one(to), Operand::Imm(MODE_FP)])
    }
    pub fn write_fp_mode(&self, from: Reg) -> Result<Inst, EncodeError> {
        set_fp_mode(self.s_setreg_b32, one(from))
    }
    pub fn default_fp_mode(&self) -> Result<Inst, EncodeError> {
        set_fp_mode(self.s_setreg_imm32_b32, Operand::Literal(MODE_FP_DEFAULT))
    }
}

/// The tables have the operands of `s_setreg` in the order of the encoding.
fn set_fp_mode(info: &'static OpcodeInfo, value: Operand) -> Result<Inst, EncodeError> {
    let mut inst = Inst::new(info);
    for (n, operand) in info.operands.iter().enumerate() {
        inst.set_operand(n, if operand.field == Field::Simm16 { Operand::Imm(MODE_FP) } else { value })?;
    }
    Ok(inst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_what_is_meant() {
        let ops = Ops::of(Target::Gfx90a).unwrap();
        let s4 = Reg::sgpr(4);
        let build = |info, operands: &[Operand]| Inst::build(info, operands).unwrap();
        let v = |n| one(Reg::vgpr(n));
        let all = [
            (ops.save_scc(s4).unwrap(), "s_cselect_b32 s4, 1, 0"),
            (ops.restore_scc(s4).unwrap(), "s_cmp_lg_u32 s4, 0"),
            (ops.mov64(s4, pair(Reg::VCC_LO)).unwrap(), "s_mov_b64 s[4:5], vcc"),
            (ops.mov32(Reg::M0, one(s4)).unwrap(), "s_mov_b32 m0, s4"),
            (ops.wait_all().unwrap(), "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"),
            (ops.nop(5).unwrap(), "s_nop 4"),
            (ops.read_fp_mode(s4).unwrap(), "s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 8)"),
            (ops.write_fp_mode(s4).unwrap(), "s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s4"),
            (ops.default_fp_mode().unwrap(), "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0"),
            (build(ops.s_add_u32, &[one(s4), one(s4), LITERAL]), "s_add_u32 s4, s4, 0xdeadbeef"),
            (build(ops.s_branch, &[Operand::Imm(0)]), "s_branch 0"),
            (build(ops.v_mov_b32, &[v(3), one(s4)]), "v_mov_b32_e32 v3, s4"),
            (build(ops.v_accvgpr_read_b32, &[v(3), one(Reg::agpr(7))]), "v_accvgpr_read_b32 v3, a7"),
            (build(ops.v_accvgpr_write_b32, &[one(Reg::agpr(7)), v(3)]), "v_accvgpr_write_b32 a7, v3"),
            (build(ops.v_writelane_b32, &[v(3), one(s4), small(7)]), "v_writelane_b32 v3, s4, 7"),
            (
                build(ops.global_atomic_add_x2, &[v(2), pair(Reg::vgpr(0)), pair(s4)]),
                "global_atomic_add_x2 v2, v[0:1], s[4:5]",
            ),
        ];
        let bytes: String = all
            .iter()
            .flat_map(|(i, _)| i.words().iter().flat_map(|w| w.to_le_bytes()))
            .map(|b| format!("0x{b:02x} "))
            .collect();
        let input = crate::testing::scratch("ops.txt", bytes.as_bytes());
        let args = ["--disassemble", "--triple=amdgcn", "--mcpu=gfx90a", input.to_str().unwrap()];
        let Some(text) = crate::testing::llvm("llvm-mc", &args) else { return };
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('.')).collect();
        let wanted: Vec<&str> = all.iter().map(|(_, text)| *text).collect();
        let got: Vec<&str> = lines.iter().map(|l| l.split("//").next().unwrap_or(l).trim()).collect();
        assert_eq!(got, wanted);
    }
}
