//! Wait states that the hardware leaves to software.
//!
//! A few pairs of instructions that touch the same register must be kept apart; the hardware does not check. The distance is
//! counted in wait states: one for each instruction in between, more for `s_nop`. Numbers: "Manually Inserted Wait
//! States" in AMD's CDNA ISA manuals, and LLVM's GCNHazardRecognizer. Those of matrix instructions are in
//! [`super::matrix_hazards`].

use luthier_isa::{Field, Flags, Format, Generation, Inst, Operand, Reg};

use super::Log;
use super::matrix_hazards::{MatrixFacts, MatrixHazards};
use crate::report::FindingKind;

/// What an instruction does that a later one may have to wait for.
#[derive(Clone, Debug, Default)]
struct Makes {
    /// Units that a VALU instruction writes.
    valu: Vec<Reg>,
    /// Data of a store of more than 64 bits, and how long it takes to read them.
    wide_store: Vec<Reg>,
    wide_store_states: u32,
    /// CDNA3 on: a transcendental result, or a part of a register, reaches other VALU instructions a wait state late.
    transcendental: bool,
    part: bool,
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
    /// CDNA3 on: a late result ([`Makes`]); whether the reader is transcendental itself.
    Late(Reg, bool),
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
const VALU_THEN_SCALAR_READ: u32 = 2;
const VALU_THEN_CROSSING_EXEC: u32 = 4;
const SETREG: u32 = 2;
const ONE: u32 = 1;

impl Facts {
    /// Of an instruction that has nothing to keep away from.
    pub fn none() -> Facts {
        Facts { makes: Makes::default(), needs: Vec::new(), matrix: MatrixFacts::default(), length: 1 }
    }

    pub fn of(inst: &Inst) -> Facts {
        let info = inst.info();
        let flag = |f| info.flags.contains(f);
        if !info.mode.target().generation().is_gfx9_family() {
            // RDNA waits by itself.
            return Facts::none();
        }
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
        let cdna3 = info.mode.target().generation() == Generation::Gfx940;
        makes.wide_store_states = if cdna3 { 2 } else { ONE };
        if cdna3 && flag(Flags::VALU) {
            makes.transcendental = is_transcendental(info.base);
            makes.part = inst.field(Field::DstSel).is_some_and(|select| select != 6)
                || (info.format == Format::Vop3a && inst.field(Field::OpSel).is_some_and(|select| select & 8 != 0));
            let crosses = info.base.contains("readlane") || info.base.contains("readfirstlane");
            let swaps = info.base.starts_with("v_permlane");
            inst.for_each_access(|a| {
                let scalar = a.reg.is_sgpr() || matches!(a.reg, Reg::VCC_LO | Reg::VCC_HI);
                match () {
                    () if !a.access.reads() => {}
                    () if vector(a.reg) => {
                        needs.push(Needs::Late(a.reg, makes.transcendental));
                        if crosses || swaps {
                            needs.push(Needs::Valu(a.reg, if swaps { 2 } else { 1 }));
                        }
                    }
                    () if scalar => needs.push(Needs::Valu(a.reg, VALU_THEN_SCALAR_READ)),
                    () => {}
                }
            });
            if crosses || swaps {
                needs.extend([Reg::EXEC_LO, Reg::EXEC_HI].map(|r| Needs::Valu(r, VALU_THEN_CROSSING_EXEC)));
            }
        }
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

fn is_transcendental(base: &str) -> bool {
    let name = base.strip_prefix("v_").and_then(|name| name.rsplit_once('_'));
    name.is_some_and(|(operation, ty)| {
        matches!(ty, "f32" | "f16")
            && matches!(operation, "exp" | "log" | "rcp" | "rcp_iflag" | "rsq" | "sqrt" | "sin" | "cos")
    })
}

/// When things last happened in a wave, in wait states since it began.
pub struct Hazards {
    now: u64,
    /// By unit: the first moment at which nothing written by the VALU so long ago matters any more is `+ states`.
    valu: Box<[u64; Reg::COUNT]>,
    /// The same of dot products alone.
    dot: Box<[u64; Reg::COUNT]>,
    /// The results of the last VALU instruction that come late, and whether it was transcendental.
    late: Vec<Reg>,
    late_transcendental: bool,
    late_at: u64,
    matrix: MatrixHazards,
    wide_store: Vec<Reg>,
    wide_store_states: u32,
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
            late: Vec::new(),
            late_transcendental: false,
            late_at: 0,
            matrix: MatrixHazards::default(),
            wide_store: Vec::new(),
            wide_store_states: ONE,
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
            Needs::Late(reg, transcendental) => short(ONE, self.late_at)
                .filter(|_| self.late.contains(&reg) && !(transcendental && self.late_transcendental))
                .map(|missing| (missing, format!("the result in {reg} is not there yet"))),
            Needs::WideStore(reg) => short(self.wide_store_states, self.wide_store_at)
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
        if makes.transcendental || makes.part {
            self.late.clone_from(&makes.valu);
            (self.late_transcendental, self.late_at) = (makes.transcendental, self.now);
        }
        if !makes.wide_store.is_empty() {
            self.wide_store_states = makes.wide_store_states;
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
