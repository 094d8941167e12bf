//! Wait states that the hardware leaves to software.
//!
//! A few pairs of instructions that touch the same register must be kept apart; gfx90a does not check. The distance is
//! counted in wait states: one for each instruction in between, more for `s_nop`. Numbers: "Manually Inserted Wait
//! States" in AMD's CDNA2 ISA manual, and LLVM's GCNHazardRecognizer. Those of matrix instructions are in
//! [`super::matrix_hazards`].

use luthier_isa::{Field, Flags, Inst, Operand, Reg};

use super::Log;
use super::matrix_hazards::{MatrixFacts, MatrixHazards};
use crate::report::FindingKind;

/// What an instruction does that a later one may have to wait for.
#[derive(Clone, Debug, Default)]
struct Makes {
    /// Units that a VALU instruction writes.
    valu: Vec<Reg>,
    /// Data of a store of more than 64 bits.
    wide_store: Vec<Reg>,
    /// The hardware register of `s_setreg`.
    setreg: Option<u32>,
    salu_m0: bool,
}

/// What an instruction must be kept away from, and how far.
#[derive(Clone, Debug)]
enum Needs {
    /// A VALU write of this unit.
    Valu(Reg, u32),
    /// A VALU write of this vector register, with an f64 matrix instruction since.
    ValuBeforeDouble(Reg),
    /// A VALU write of this vector register other than by a dot product, which a matrix instruction reads.
    ValuForMatrix(Reg),
    /// A wide store whose data this unit is.
    WideStore(Reg),
    Setreg(u32),
    SaluM0,
}

/// An instruction as the hazard checks see it.
#[derive(Debug)]
pub struct Facts {
    makes: Makes,
    needs: Vec<Needs>,
    matrix: MatrixFacts,
    /// Wait states that it takes itself.
    length: u32,
}

const VALU_THEN_MEMORY_SCALAR: u32 = 5;
const VALU_THEN_LANE_SELECT: u32 = 4;
const VALU_THEN_DIV_FMAS: u32 = 4;
const VALU_THEN_DPP_EXEC: u32 = 5;
const VALU_THEN_DPP_SOURCE: u32 = 2;
const VALU_THEN_ZERO_FLAG: u32 = 5;
const VALU_THEN_MATRIX: u32 = 2;
const VALU_THEN_MATRIX_EXEC: u32 = 4;
const VALU_DOUBLE_MEMORY: u32 = 2;
const SETREG: u32 = 2;
const ONE: u32 = 1;

impl Facts {
    pub fn of(inst: &Inst) -> Facts {
        let info = inst.info();
        let flag = |f| info.flags.contains(f);
        let vector = |r: Reg| r.is_vgpr() || r.is_agpr();
        let (mut makes, mut needs) = (Makes::default(), Vec::new());
        let matrix = MatrixFacts::of(inst);
        let memory = flag(Flags::VMEM) || flag(Flags::DS) || flag(Flags::FLAT);
        inst.for_each_access(|a| {
            if a.access.writes() {
                if flag(Flags::VALU) && !matrix.is_matrix() {
                    makes.valu.push(a.reg);
                    if vector(a.reg) {
                        needs.push(Needs::WideStore(a.reg));
                    }
                }
                makes.salu_m0 |= flag(Flags::SALU) && a.reg == Reg::M0;
            } else if flag(Flags::VMEM) && !vector(a.reg) && !a.implicit {
                needs.push(Needs::Valu(a.reg, VALU_THEN_MEMORY_SCALAR));
            }
            if a.access.reads() && vector(a.reg) {
                match () {
                    () if memory => needs.push(Needs::ValuBeforeDouble(a.reg)),
                    () if matrix.is_matrix() => needs.push(Needs::ValuForMatrix(a.reg)),
                    () => {}
                }
            }
        });
        if matrix.is_matrix() {
            needs.extend([Reg::EXEC_LO, Reg::EXEC_HI].map(|r| Needs::Valu(r, VALU_THEN_MATRIX_EXEC)));
        }
        let registers = |field| match inst.operand_in(field) {
            Some(Operand::Reg(range)) => range.units().collect(),
            _ => Vec::new(),
        };
        if matches!(info.base, "v_readlane_b32" | "v_writelane_b32") {
            needs.extend(registers(Field::Src1).into_iter().map(|r| Needs::Valu(r, VALU_THEN_LANE_SELECT)));
        }
        if info.base.starts_with("v_div_fmas") {
            needs.extend([Reg::VCC_LO, Reg::VCC_HI].map(|r| Needs::Valu(r, VALU_THEN_DIV_FMAS)));
        }
        if flag(Flags::DPP) {
            needs.extend([Reg::EXEC_LO, Reg::EXEC_HI].map(|r| Needs::Valu(r, VALU_THEN_DPP_EXEC)));
            needs.extend(registers(Field::Src0).into_iter().map(|r| Needs::Valu(r, VALU_THEN_DPP_SOURCE)));
        }
        for (_, value) in inst.operands() {
            match value {
                Operand::Special(251) => needs.push(Needs::Valu(Reg::VCC_LO, VALU_THEN_ZERO_FLAG)),
                Operand::Special(252) => needs.push(Needs::Valu(Reg::EXEC_LO, VALU_THEN_ZERO_FLAG)),
                _ => {}
            }
        }
        let hardware = inst.field(Field::Simm16).unwrap_or(0) & 0x3f;
        if info.base.starts_with("s_setreg") || info.base == "s_getreg_b32" {
            needs.push(Needs::Setreg(hardware));
            makes.setreg = info.base.starts_with("s_setreg").then_some(hardware);
        }
        let direct = inst.operands().any(|(_, value)| value == Operand::Special(254));
        let lds_dma = flag(Flags::VMEM) && info.implicit_reads.contains(&Reg::M0);
        if lds_dma || direct || info.base.starts_with("s_movrel") || info.base.starts_with("s_sendmsg") {
            needs.push(Needs::SaluM0);
        }
        if flag(Flags::VMEM) && flag(Flags::STORE) && !flag(Flags::ATOMIC) {
            // A buffer store with its offset in an SGPR takes a cycle more anyway.
            let slow = matches!(inst.operand_in(Field::Soffset), Some(Operand::Reg(_)));
            let data = registers(Field::Vdata);
            if data.len() > 2 && !slow {
                makes.wide_store = data;
            }
        }
        let length = if info.base == "s_nop" { inst.field(Field::Simm16).unwrap_or(0) % 16 + 1 } else { 1 };
        Facts { makes, needs, matrix, length }
    }
}

/// When things last happened in a wave, in wait states since it began.
pub struct Hazards {
    now: u64,
    /// By unit: the first moment at which nothing written by the VALU so long ago matters any more is `+ states`.
    valu: Box<[u64; Reg::COUNT]>,
    /// The same of dot products alone.
    dot: Box<[u64; Reg::COUNT]>,
    matrix: MatrixHazards,
    wide_store: Vec<Reg>,
    wide_store_at: u64,
    setreg: [u64; 64],
    salu_m0: u64,
}

/// Long enough ago for everything.
const LONG_AGO: u64 = 64;

impl Default for Hazards {
    fn default() -> Hazards {
        Hazards {
            now: LONG_AGO,
            valu: Box::new([0; Reg::COUNT]),
            dot: Box::new([0; Reg::COUNT]),
            matrix: MatrixHazards::default(),
            wide_store: Vec::new(),
            wide_store_at: 0,
            setreg: [0; 64],
            salu_m0: 0,
        }
    }
}

impl Hazards {
    /// Checks one instruction and notes what it does.
    pub fn check(&mut self, facts: &Facts, log: &mut Log) {
        for need in &facts.needs {
            if let Some((missing, what)) = self.missing(need) {
                let message = format!("{what}: {missing} more wait states are needed before this");
                log.report(FindingKind::Hazard, None, None, message);
            }
        }
        if let Some((missing, what)) = self.matrix.missing(&facts.matrix, self.now) {
            let message = format!("{what}: {missing} more wait states are needed before this");
            log.report(FindingKind::Hazard, None, None, message);
        }
        self.note(facts);
    }

    /// The wait states that are missing, and why.
    #[inline]
    fn missing(&self, need: &Needs) -> Option<(u64, String)> {
        // An instruction right behind another one has no wait states in between.
        let short = |states: u32, at: u64| {
            let missing = u64::from(states).saturating_sub(self.now.saturating_sub(at + 1));
            Some(missing).filter(|&missing| at != 0 && missing > 0)
        };
        let valu = |reg: Reg| self.valu[reg.index()];
        match *need {
            Needs::Valu(reg, states) => {
                short(states, valu(reg)).map(|missing| (missing, format!("a VALU instruction has written {reg}")))
            }
            Needs::ValuForMatrix(reg) if valu(reg) != self.dot[reg.index()] => short(VALU_THEN_MATRIX, valu(reg))
                .map(|missing| (missing, format!("a VALU instruction has written {reg}"))),
            Needs::ValuBeforeDouble(reg) => short(VALU_DOUBLE_MEMORY, valu(reg))
                .filter(|_| self.matrix.last_double().is_some_and(|double| double >= valu(reg)))
                .map(|missing| {
                    (missing, format!("an f64 matrix instruction lies between the write of {reg} and this"))
                }),
            Needs::WideStore(reg) => short(ONE, self.wide_store_at)
                .filter(|_| self.wide_store.contains(&reg))
                .map(|missing| (missing, format!("a wide store is still reading {reg}"))),
            Needs::Setreg(id) => short(SETREG, self.setreg[id as usize])
                .map(|missing| (missing, format!("s_setreg has written hardware register {id}"))),
            Needs::SaluM0 => {
                short(ONE, self.salu_m0).map(|missing| (missing, "a scalar instruction has written m0".to_string()))
            }
            Needs::ValuForMatrix(_) => None,
        }
    }

    fn note(&mut self, facts: &Facts) {
        let makes = &facts.makes;
        makes.valu.iter().for_each(|r| self.valu[r.index()] = self.now);
        if facts.matrix.is_dot() {
            makes.valu.iter().for_each(|r| self.dot[r.index()] = self.now);
        }
        self.matrix.note(&facts.matrix, self.now);
        if !makes.wide_store.is_empty() {
            self.wide_store.clone_from(&makes.wide_store);
            self.wide_store_at = self.now;
        }
        if let Some(id) = makes.setreg {
            self.setreg[id as usize] = self.now;
        }
        if makes.salu_m0 {
            self.salu_m0 = self.now;
        }
        self.now += u64::from(facts.length);
    }
}
