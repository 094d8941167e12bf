//! The few instructions that placement itself writes, by LLVM's names of them, which are the same on every processor.

use luthier_isa::msb::Slot;
use luthier_isa::{EncodeError, Field, Inst, Mode, OpcodeInfo, Operand, Reg, RegRange, Target, VgprMsb, Wave};

use super::known::build;

/// A processor without an instruction that placement cannot do without.
#[derive(Debug, thiserror::Error)]
#[error("{target} has no instruction {mnemonic}", target = target.name())]
pub struct NoInstruction {
    pub target: Target,
    pub mnemonic: &'static str,
}

macro_rules! operations {
    ($($name:ident $pseudo:literal,)* ; $($optional:ident $optional_pseudo:literal,)*) => {
        /// Their opcodes, looked up once.
        #[derive(Clone, Copy, Debug)]
        pub struct Operations {
            pub mode: Mode,
            $(pub $name: &'static OpcodeInfo,)*
            $(pub $optional: Option<&'static OpcodeInfo>,)*
        }

        impl Operations {
            /// # Errors
            /// The processor has no instruction that placement cannot do without.
            pub fn of(mode: Mode) -> Result<Operations, NoInstruction> {
                let look = |pseudo: &str| mode.opcodes().iter().find(|o| o.pseudo == pseudo);
                let find = |pseudo: &'static str| {
                    look(pseudo).ok_or(NoInstruction { target: mode.target(), mnemonic: pseudo })
                };
                Ok(Operations { mode, $($name: find($pseudo)?,)* $($optional: look($optional_pseudo),)* })
            }
        }
    };
}

operations! {
    s_mov_b32 "S_MOV_B32",
    s_mov_b64 "S_MOV_B64",
    s_cselect_b32 "S_CSELECT_B32",
    s_cmp_lg_u32 "S_CMP_LG_U32",
    s_add_u32 "S_ADD_U32",
    s_addc_u32 "S_ADDC_U32",
    s_sub_u32 "S_SUB_U32",
    s_and_b32 "S_AND_B32",
    s_getpc_b64 "S_GETPC_B64",
    s_setpc_b64 "S_SETPC_B64",
    s_call_b64 "S_CALL_B64",
    s_branch "S_BRANCH",
    s_nop "S_NOP",
    s_trap "S_TRAP",
    s_endpgm "S_ENDPGM",
    s_getreg_b32 "S_GETREG_B32",
    s_setreg_b32 "S_SETREG_B32",
    s_setreg_imm32_b32 "S_SETREG_IMM32_B32",
    v_mov_b32 "V_MOV_B32_e32",
    v_and_b32 "V_AND_B32_e32",
    v_readlane_b32 "V_READLANE_B32",
    v_writelane_b32 "V_WRITELANE_B32",
    global_atomic_add_x2 "GLOBAL_ATOMIC_ADD_X2_SADDR",
    ;
    v_lshl_or_b32 "V_LSHL_OR_B32_e64",
    s_set_vgpr_msb "S_SET_VGPR_MSB",
    v_accvgpr_read_b32 "V_ACCVGPR_READ_B32_e64",
    v_accvgpr_write_b32 "V_ACCVGPR_WRITE_B32_e64",
    v_accvgpr_mov_b32 "V_ACCVGPR_MOV_B32",
    scratch_load_dword "SCRATCH_LOAD_DWORD_ST",
    scratch_store_dword "SCRATCH_STORE_DWORD_ST",
    scratch_load_dword_saddr "SCRATCH_LOAD_DWORD_SADDR",
    scratch_store_dword_saddr "SCRATCH_STORE_DWORD_SADDR",
    s_load_dword "S_LOAD_DWORD_IMM",
    s_load_dwordx2 "S_LOAD_DWORDX2_IMM",
    s_load_dwordx4 "S_LOAD_DWORDX4_IMM",
    s_load_dwordx8 "S_LOAD_DWORDX8_IMM",
}

/// Any literal, to be overwritten by a fixup: one that no inline constant stands for.
pub const LITERAL: Operand = Operand::Literal(0xdead_beef);

/// The scalar register that is none.
pub const NULL: Operand = Operand::Special(125);

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
/// A 32-bit number, as an inline constant where there is one.
pub fn number(n: u32) -> Operand {
    match n as i32 {
        n @ 0..=64 => small(n as u16),
        n @ -16..=-1 => Operand::Inline(192 + n.unsigned_abs() as u16),
        _ => Operand::Literal(n),
    }
}

/// A field of a hardware register, as `s_getreg` and `s_setreg` name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HwReg {
    pub id: u8,
    pub offset: u8,
    pub width: u8,
}

impl HwReg {
    pub const MODE: HwReg = HwReg { id: 1, offset: 0, width: 32 };
    /// Rounding and denormal bits.
    pub const MODE_FP: HwReg = HwReg { id: 1, offset: 0, width: 8 };
    /// The halves of the base of scratch, from RDNA1 on.
    pub const SCRATCH_BASE: [HwReg; 2] =
        [HwReg { id: 20, offset: 0, width: 32 }, HwReg { id: 21, offset: 0, width: 32 }];

    pub const fn bits(self) -> i64 {
        // The field is signed.
        ((self.width as i16 - 1) << 11 | (self.offset as i16) << 6 | self.id as i16) as i64
    }
}

/// Round to nearest even, keep all denormals.
pub const MODE_FP_DEFAULT: u32 = 0xf0;

type Built = Result<Inst, EncodeError>;

impl Operations {
    /// `states` wait states, 1 to 16.
    pub fn nop(&self, states: u32) -> Built {
        build(self.s_nop, &[Operand::Imm(i64::from(states.clamp(1, 16)) - 1)])
    }
    /// A branch whose distance a fixup fills in.
    pub fn branch(&self) -> Built {
        build(self.s_branch, &[Operand::Imm(0)])
    }
    /// `to` = `SCC`.
    pub fn save_scc(&self, to: Reg) -> Built {
        build(self.s_cselect_b32, &[one(to), small(1), small(0)])
    }
    /// `SCC` = `from`.
    pub fn restore_scc(&self, from: Reg) -> Built {
        build(self.s_cmp_lg_u32, &[one(from), small(0)])
    }
    pub fn mov32(&self, to: Reg, from: Operand) -> Built {
        build(self.s_mov_b32, &[one(to), from])
    }
    pub fn mov64(&self, to: Reg, from: Operand) -> Built {
        build(self.s_mov_b64, &[pair(to), from])
    }
    /// A lane mask's move: EXEC and VCC have the wave's size.
    pub fn mov_mask(&self, to: Reg, from: Operand) -> Built {
        match self.mode.wave() {
            Wave::W32 => self.mov32(to, narrow(from)),
            Wave::W64 => self.mov64(to, from),
        }
    }
    /// `to` = a VGPR, a scalar register or a number, in every active lane.
    pub fn vector_mov(&self, to: Reg, from: Operand) -> Built {
        build(self.v_mov_b32, &[one(to), from])
    }
    /// `to` = lane `lane` of `vgpr`, whatever EXEC is.
    /// SGPRs from `to` on = lanes of `vgpr` from `lane` on, as many as `count`. The upper bits of VGPR numbers are zero
    /// before and after.
    pub fn read_lanes(&self, to: Reg, vgpr: Reg, lane: u8, count: u8) -> Result<Vec<Inst>, EncodeError> {
        let (named, msb) = upper(vgpr, Slot::First);
        let read = |n: u8| self.read_lane(to.offset(n.into()), named, lane + n);
        self.under(msb, (0..count).map(read))
    }
    /// Lanes of `vgpr` from `lane` on = these values. As [`Operations::read_lanes`].
    pub fn write_lanes(&self, vgpr: Reg, lane: u8, values: &[Operand]) -> Result<Vec<Inst>, EncodeError> {
        let (named, msb) = upper(vgpr, Slot::Destination);
        let write = |(n, value): (u8, &Operand)| self.write_lane(named, lane + n, *value);
        self.under(msb, (0..).zip(values).map(write))
    }
    /// Instructions whose VGPR numbers have these upper bits.
    fn under(&self, msb: VgprMsb, insts: impl Iterator<Item = Built>) -> Result<Vec<Inst>, EncodeError> {
        let set = |msb: VgprMsb| self.set_vgpr_msb(msb.bits()).transpose();
        let mut all = Vec::new();
        if msb == VgprMsb::ZERO {
            return insts.collect();
        }
        all.extend(set(msb)?);
        for inst in insts {
            all.push(inst?.at(Some(msb)));
        }
        all.extend(set(VgprMsb::ZERO)?);
        Ok(all)
    }
    /// What stops a wave, and the program.
    pub fn stop(&self) -> Result<[Inst; 2], EncodeError> {
        Ok([build(self.s_trap, &[Operand::Imm(2)])?, build(self.s_endpgm, &[Operand::Imm(0)])?])
    }
    pub fn read_lane(&self, to: Reg, vgpr: Reg, lane: u8) -> Built {
        build(self.v_readlane_b32, &[one(to), one(vgpr), small(lane.into())])
    }
    /// Lane `lane` of `vgpr` = `from`.
    pub fn write_lane(&self, vgpr: Reg, lane: u8, from: Operand) -> Built {
        build(self.v_writelane_b32, &[one(vgpr), from, small(lane.into())])
    }
    pub fn get_hwreg(&self, to: Reg, field: HwReg) -> Built {
        build(self.s_getreg_b32, &[one(to), Operand::Imm(field.bits())])
    }
    pub fn set_hwreg(&self, field: HwReg, from: Reg) -> Built {
        set_hwreg(self.s_setreg_b32, field, one(from))
    }
    pub fn set_hwreg_number(&self, field: HwReg, value: u32) -> Built {
        set_hwreg(self.s_setreg_imm32_b32, field, Operand::Literal(value))
    }
    /// Upper bits of VGPR numbers, as the low byte of the immediate has them. Nothing on processors without.
    pub fn set_vgpr_msb(&self, bits: u8) -> Option<Built> {
        self.s_set_vgpr_msb.map(|info| build(info, &[Operand::Imm(bits.into())]))
    }
}

/// The name of a VGPR in an instruction, and the upper bits with which that means it.
fn upper(vgpr: Reg, slot: Slot) -> (Reg, VgprMsb) {
    let number = vgpr.number();
    (Reg::vgpr(number % 256), VgprMsb::from_bits(((number / 256) as u8) << (2 * slot as u32)))
}

fn narrow(from: Operand) -> Operand {
    match from {
        Operand::Reg(range) => one(range.first),
        other => other,
    }
}

/// The tables have the operands of `s_setreg` in the order of the encoding.
fn set_hwreg(info: &'static OpcodeInfo, field: HwReg, value: Operand) -> Built {
    let mut inst = Inst::new(info);
    for (n, operand) in info.operands.iter().enumerate() {
        let value = if operand.field == Field::Simm16 { Operand::Imm(field.bits()) } else { value };
        inst.set_operand(n, value)?;
    }
    Ok(inst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use luthier_isa::Mode;

    /// Everything that placement writes, on every processor in every wave size, is what llvm-mc takes it for.
    #[luthier_needs::needs(llvm)]
    #[test]
    fn what_is_built_is_what_is_meant() {
        for mode in Mode::all().filter(|m| m.target().has_tables()) {
            let ops = Operations::of(mode).unwrap();
            let s4 = Reg::sgpr(4);
            let w32 = mode.wave() == Wave::W32;
            let mut all = vec![
                (ops.save_scc(s4), "s_cselect_b32 s4, 1, 0"),
                (ops.restore_scc(s4), "s_cmp_lg_u32 s4, 0"),
                (ops.mov64(s4, pair(Reg::VCC_LO)), "s_mov_b64 s[4:5], vcc"),
                (ops.mov32(Reg::M0, one(s4)), "s_mov_b32 m0, s4"),
                (
                    ops.mov_mask(s4, pair(Reg::EXEC_LO)),
                    if w32 { "s_mov_b32 s4, exec_lo" } else { "s_mov_b64 s[4:5], exec" },
                ),
                (ops.nop(5), "s_nop 4"),
                (ops.branch(), "s_branch 0"),
                (ops.vector_mov(Reg::vgpr(3), one(s4)), "v_mov_b32_e32 v3, s4"),
                (ops.write_lane(Reg::vgpr(3), 7, one(s4)), "v_writelane_b32 v3, s4, 7"),
                (ops.read_lane(s4, Reg::vgpr(3), 7), "v_readlane_b32 s4, v3, 7"),
            ];
            if ops.v_accvgpr_read_b32.is_some() {
                let build =
                    |info: Option<&'static OpcodeInfo>, to, from| Inst::build(info.unwrap(), &[one(to), one(from)]);
                all.push((build(ops.v_accvgpr_read_b32, Reg::vgpr(3), Reg::agpr(7)), "v_accvgpr_read_b32 v3, a7"));
                all.push((build(ops.v_accvgpr_write_b32, Reg::agpr(7), Reg::vgpr(3)), "v_accvgpr_write_b32 a7, v3"));
            }
            for field in [HwReg::MODE, HwReg::MODE_FP] {
                assert!(ops.get_hwreg(s4, field).is_ok() && ops.set_hwreg(field, s4).is_ok());
            }
            assert!(ops.set_hwreg_number(HwReg::MODE_FP, MODE_FP_DEFAULT).is_ok());
            let bytes: String = all
                .iter()
                .flat_map(|(i, _)| i.as_ref().unwrap().words().iter().flat_map(|w| w.to_le_bytes()))
                .map(|b| format!("0x{b:02x} "))
                .collect();
            let name = format!("ops_{}_{}.txt", mode.target().name(), mode.wave().lanes());
            let input = crate::testing::scratch(&name, bytes.as_bytes());
            let cpu = format!("--mcpu={}", mode.target().name());
            let wave = format!("--mattr=+wavefrontsize{}", mode.wave().lanes());
            let args = ["--disassemble", "--triple=amdgcn", &cpu, &wave, input.to_str().unwrap()];
            let Some(text) = crate::testing::llvm("llvm-mc", &args) else { return };
            let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('.'));
            let got: Vec<&str> =
                lines.map(|l| l.split("//").next().unwrap_or(l).split(';').next().unwrap_or(l).trim()).collect();
            let wanted: Vec<&str> = all.iter().map(|(_, text)| *text).collect();
            assert_eq!(got, wanted, "{}", mode.target().name());
        }
    }
}
