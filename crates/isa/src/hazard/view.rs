//! An instruction as the rules of [`super::rules`] look at it.

use crate::{Field, Flags, Format, Generation, Inst, Operand, Reg, Target, Wave};

use super::coexecution::{Pace, pace};
use super::matrix;
use super::opcode::Opcode;
use super::rules::{First, Marks, Second};

/// The hardware register that holds the trap status (gfx9).
const TRAPSTS: usize = 3;

pub struct View<'a> {
    pub inst: &'a Inst,
    pub base: &'static str,
    pub target: Target,
    pub wave: Wave,
    opcode: &'a Opcode,
    reads: Vec<Touch>,
    writes: Vec<Touch>,
    vector: bool,
    transcendental: bool,
    matrix: bool,
    wmma: bool,
}

#[derive(Clone, Copy)]
struct Touch {
    reg: Reg,
    implicit: bool,
}

fn is_vector(reg: Reg) -> bool {
    reg.is_vgpr() || reg.is_agpr()
}

/// SGPRs, VCC, trap temporaries, M0, EXEC.
fn is_scalar(reg: Reg) -> bool {
    reg.index() < 128
}

/// A register that an operand of the VALU can name.
fn is_operand(reg: Reg) -> bool {
    is_vector(reg) || is_scalar(reg)
}

fn is_exec(reg: Reg) -> bool {
    matches!(reg, Reg::EXEC_LO | Reg::EXEC_HI)
}

fn is_vcc(reg: Reg) -> bool {
    matches!(reg, Reg::VCC_LO | Reg::VCC_HI)
}

pub fn is_transcendental(base: &str) -> bool {
    let name = base.strip_prefix("v_s_").or_else(|| base.strip_prefix("v_"));
    name.and_then(|name| name.rsplit_once('_')).is_some_and(|(operation, ty)| {
        let operation = operation.strip_suffix("_legacy").unwrap_or(operation);
        match ty {
            "f64" => matches!(operation, "rcp" | "rsq" | "sqrt"),
            "f32" | "f16" | "bf16" => {
                matches!(operation, "exp" | "log" | "rcp" | "rcp_iflag" | "rsq" | "sqrt" | "sin" | "cos" | "tanh")
            }
            _ => false,
        }
    })
}

impl<'a> View<'a> {
    pub fn new(inst: &'a Inst, opcode: &'a Opcode) -> View<'a> {
        let mut view = View::without_registers(inst, opcode);
        opcode.plan.for_each(inst, |a| {
            let touch = Touch { reg: a.reg, implicit: a.implicit };
            if a.access.reads() {
                view.reads.push(touch);
            }
            if a.access.writes() {
                view.writes.push(touch);
            }
        });
        view
    }

    /// As if it touched none.
    pub fn without_registers(inst: &'a Inst, opcode: &'a Opcode) -> View<'a> {
        let info = inst.info();
        View {
            inst,
            base: info.base,
            target: info.mode.target(),
            wave: info.mode.wave(),
            opcode,
            reads: Vec::new(),
            writes: Vec::new(),
            vector: info.flags.contains(Flags::VALU),
            transcendental: opcode.transcendental,
            matrix: opcode.matrix,
            wmma: info.flags.contains(Flags::WMMA),
        }
    }

    pub fn is(&self, flag: Flags) -> bool {
        self.inst.info().flags.contains(flag)
    }
    pub fn is_vector(&self) -> bool {
        self.vector
    }
    pub fn is_transcendental(&self) -> bool {
        self.transcendental
    }
    pub fn is_memory(&self) -> bool {
        self.is(Flags::VMEM) || self.is(Flags::FLAT) || self.is(Flags::DS)
    }

    /// What `s_waitcnt_depctr` (gfx12: `s_wait_alu`) waits for.
    pub fn dependencies(&self) -> Option<u32> {
        matches!(self.base, "s_waitcnt_depctr" | "s_wait_alu").then(|| self.inst.field(Field::Simm16).unwrap_or(0))
    }

    /// Scalars that are read, and written, by name or as VCC.
    pub fn scalars(&self) -> (Vec<Reg>, Vec<Reg>) {
        let of = |touched: &[Touch]| {
            let counts =
                |t: &&Touch| is_scalar(t.reg) && t.reg != Reg::M0 && !is_exec(t.reg) && (!t.implicit || is_vcc(t.reg));
            touched.iter().filter(counts).map(|t| t.reg).collect()
        };
        (of(&self.reads), of(&self.writes))
    }

    pub fn writes_exec(&self) -> bool {
        self.writes.iter().any(|t| is_exec(t.reg))
    }

    /// VALU and EXEC, VCC or another scalar as a result.
    fn vector_scalar_result(&self) -> Vec<Reg> {
        if self.vector { self.written(|t| is_scalar(t.reg)) } else { Vec::new() }
    }
    /// Memory by an instruction that does not find out first whether it is LDS.
    fn is_device_access(&self) -> bool {
        self.is(Flags::VMEM)
            && !self.is_to_lds()
            && (!self.is(Flags::FLAT) || self.is(Flags::GLOBAL) || self.is(Flags::SCRATCH))
    }
    /// A load straight into LDS.
    fn is_to_lds(&self) -> bool {
        self.is(Flags::VMEM) && self.inst.info().implicit_reads.contains(&Reg::M0)
    }
    fn is_lds_access(&self) -> bool {
        self.is(Flags::DS) || self.is_to_lds()
    }
    /// The first operand of `s_waitcnt_vscnt` and its kin is `null`.
    fn waits_for_all(&self, base: &str) -> bool {
        self.base == base
            && self.inst.field(Field::Simm16) == Some(0)
            && !matches!(self.inst.operand_in(Field::Sdst), Some(Operand::Reg(_)))
    }

    fn registers(&self, field: Field) -> Vec<Reg> {
        match self.inst.operand_in(field) {
            Some(Operand::Reg(range)) => range.units().collect(),
            _ => Vec::new(),
        }
    }

    fn read(&self, wanted: impl Fn(&Touch) -> bool) -> Vec<Reg> {
        self.reads.iter().filter(|t| wanted(t)).map(|t| t.reg).collect()
    }
    fn written(&self, wanted: impl Fn(&Touch) -> bool) -> Vec<Reg> {
        self.writes.iter().filter(|t| wanted(t)).map(|t| t.reg).collect()
    }

    /// Vector registers that are read as operands. Lanes and halves that a destination keeps are none.
    fn sources(&self) -> Vec<Reg> {
        let named = self.inst.operands().filter(|(operand, _)| operand.access.reads());
        let vectors = named.filter_map(|(_, value)| match value {
            Operand::Reg(range) if is_vector(range.first) => Some(range),
            _ => None,
        });
        vectors.flat_map(|range| range.units()).collect()
    }

    /// The result takes a step more to reach its place in the register (CDNA3 on).
    fn shifts_its_result(&self) -> bool {
        if !self.vector {
            return false;
        }
        if self.base.contains("_sr_pk_fp4_") {
            return true;
        }
        let select = self.inst.field(Field::OpSel).unwrap_or(0);
        let bytes = self.base.contains("_sr_fp8_") || self.base.contains("_sr_bf8_");
        self.inst.field(Field::DstSel).is_some_and(|select| select != 6)
            || self.inst.info().format == Format::Vop3a && select & if bytes { 12 } else { 8 } != 0
    }

    /// What a matrix instruction has besides its accumulator. A sparse one's third operand says which elements are there;
    /// the accumulator may follow at once.
    fn factors(&self) -> Vec<Reg> {
        let index = self.base.starts_with("v_swmmac") && self.target.generation() >= Generation::Gfx12;
        let fields = [Some(Field::Src0), Some(Field::Src1), index.then_some(Field::Src2)];
        fields.into_iter().flatten().flat_map(|field| self.registers(field)).collect()
    }
    /// It runs beside others for this long.
    fn keeps(&self, long: Pace) -> bool {
        self.wmma && pace(self.inst) == Some(long)
    }

    fn hardware_register(&self) -> Vec<Reg> {
        let id = self.inst.field(Field::Simm16).unwrap_or(0) & 0x3f;
        Reg::from_index(id as usize).into_iter().collect()
    }

    /// What the instruction does as the first of a pair: the registers that it does it to.
    pub fn first(&self, first: First) -> Vec<Reg> {
        let only = |condition: bool, regs: Vec<Reg>| if condition { regs } else { Vec::new() };
        let plain = self.vector && !self.matrix;
        match first {
            First::VectorWrite => only(plain, self.written(|_| true)),
            First::PlainVectorWrite => {
                only(plain && !self.base.starts_with("v_dot"), self.written(|t| is_vector(t.reg)))
            }
            First::VectorExec => only(self.vector, self.written(|t| is_exec(t.reg))),
            First::WideStore => {
                let stores = self.is(Flags::VMEM) && (self.is(Flags::STORE) || self.is(Flags::ATOMIC));
                // A buffer store with its offset in an SGPR takes a cycle more anyway.
                let slow = matches!(self.inst.operand_in(Field::Soffset), Some(Operand::Reg(_)));
                let data = self.registers(Field::Vdata);
                only(stores && !slow && data.len() > 2, data)
            }
            First::SetHardwareRegister => only(self.base.starts_with("s_setreg"), self.hardware_register()),
            First::ScalarM0 => only(self.is(Flags::SALU), self.written(|t| t.reg == Reg::M0)),
            First::Transcendental => only(self.transcendental, self.written(|t| is_vector(t.reg))),
            First::ShiftedResult => only(self.shifts_its_result(), self.written(|t| is_vector(t.reg))),
            First::AccumulatorWrite => only(self.base == "v_accvgpr_write_b32", self.written(|t| t.reg.is_agpr())),
            First::AccumulatorRead => only(self.base == "v_accvgpr_read_b32", self.written(|t| t.reg.is_vgpr())),
            First::LegacyWrite => {
                only(plain && !self.base.starts_with("v_accvgpr_"), self.written(|t| t.reg.is_vgpr()))
            }
            First::MatrixResult => only(self.wmma, self.registers(Field::Vdst)),
            First::ShortMatrixResult => only(self.keeps(Pace::Short), self.registers(Field::Vdst)),
            First::MiddleMatrixResult => only(self.keeps(Pace::Middle), self.registers(Field::Vdst)),
            First::LongMatrixResult => only(self.keeps(Pace::Long), self.registers(Field::Vdst)),
            First::ShortMatrixFactor => only(self.keeps(Pace::Short), self.factors()),
            First::MiddleMatrixFactor => only(self.keeps(Pace::Middle), self.factors()),
            First::LongMatrixFactor => only(self.keeps(Pace::Long), self.factors()),
            First::TranscendentalResult => {
                only(self.transcendental, self.written(|t| !t.implicit && is_operand(t.reg)))
            }
            First::TranscendentalSource => only(self.transcendental, self.read(|t| !t.implicit && is_operand(t.reg))),
            First::MemoryScalarRead => only(self.is_memory(), self.read(|t| is_scalar(t.reg))),
            First::ScalarMemoryRead => only(self.is(Flags::SMEM), self.read(|t| is_scalar(t.reg))),
            First::ExecRead => only(!self.vector, self.read(|t| is_exec(t.reg))),
            First::LdsAccess => only(self.is_lds_access(), vec![Reg::MODE]),
            First::DeviceAccess => only(self.is_device_access(), vec![Reg::MODE]),
            First::FloatAtomic => {
                let float = self.is(Flags::VMEM) && self.is(Flags::ATOMIC) && self.base.contains("_atomic_f");
                only(float, vec![Reg::MODE])
            }
        }
    }

    /// What the instruction does as the second of a pair, likewise.
    pub fn second(&self, second: Second) -> Vec<Reg> {
        let only = |condition: bool, regs: Vec<Reg>| if condition { regs } else { Vec::new() };
        let vectors = || self.read(|t| is_vector(t.reg));
        let exec = || vec![Reg::EXEC_LO, Reg::EXEC_HI];
        let crosses = matches!(self.base, "v_readlane_b32" | "v_readfirstlane_b32");
        let swaps = self.vector && self.base.starts_with("v_permlane");
        // On CDNA1 moves into accumulators go the way of matrix instructions.
        let like_matrix = self.matrix || self.base == "v_accvgpr_write_b32" && self.target == Target::Gfx908;
        match second {
            Second::MemoryScalar => only(self.is(Flags::VMEM), self.read(|t| is_scalar(t.reg) && !t.implicit)),
            Second::LaneSelect => {
                let by = matches!(self.base, "v_readlane_b32" | "v_writelane_b32");
                only(by, self.registers(Field::Src1))
            }
            Second::DivFmasMask => only(self.base.starts_with("v_div_fmas"), vec![Reg::VCC_LO, Reg::VCC_HI]),
            Second::DppMask => only(self.is(Flags::DPP), exec()),
            Second::DppSource => only(self.is(Flags::DPP), self.sources()),
            Second::ZeroFlag => {
                let special = |code| self.inst.operands().any(|(_, value)| value == Operand::Special(code));
                [only(special(251), vec![Reg::VCC_LO]), only(special(252), vec![Reg::EXEC_LO])].concat()
            }
            Second::HardwareRegister => {
                let touches = self.base.starts_with("s_setreg") || self.base == "s_getreg_b32";
                only(touches, self.hardware_register())
            }
            Second::TrapReturn => only(self.base.starts_with("s_rfe"), Reg::from_index(TRAPSTS).into_iter().collect()),
            Second::M0 => {
                let direct = self.inst.operands().any(|(_, value)| value == Operand::Special(254));
                let named = ["s_movrel", "s_sendmsg", "s_ttracedata", "ds_read_addtid", "ds_write_addtid", "ds_gws_"]
                    .iter()
                    .any(|start| self.base.starts_with(start));
                only(direct || self.is_to_lds() || named || self.inst.field(Field::Gds) == Some(1), vec![Reg::M0])
            }
            Second::VectorOverwrite => only(self.vector, self.written(|t| is_vector(t.reg))),
            Second::MatrixSource => {
                // CDNA1 has rules of its own for accumulators.
                let first = self.target == Target::Gfx908;
                only(like_matrix, self.read(|t| t.reg.is_vgpr() || t.reg.is_agpr() && !first))
            }
            Second::MatrixMask => only(like_matrix, exec()),
            Second::MemoryVector => only(self.is_memory(), vectors()),
            Second::VectorRead => only(self.vector, self.sources()),
            Second::SlowerVectorRead => only(self.vector && !self.transcendental, self.sources()),
            Second::VectorTouch => only(self.vector, [vectors(), self.written(|t| is_vector(t.reg))].concat()),
            Second::ScalarRead => only(self.vector, self.read(|t| is_scalar(t.reg) && (!t.implicit || is_vcc(t.reg)))),
            Second::CrossingSource => only(crosses, self.registers(Field::Src0)),
            Second::CrossingMask => only(crosses || self.base == "v_writelane_b32", exec()),
            Second::SwapSource => only(swaps, vectors()),
            Second::SwapMask => only(swaps, exec()),
            Second::Factor => {
                let factors = [Field::Src0, Field::Src1].map(|f| self.registers(f)).concat();
                only(self.matrix, factors)
            }
            Second::Accumulator => only(self.matrix, self.registers(Field::Src2)),
            Second::AccumulatorMove => {
                let touched = self.reads.iter().chain(&self.writes).filter(|t| t.reg.is_agpr()).map(|t| t.reg);
                only(matches!(self.base, "v_accvgpr_read_b32" | "v_accvgpr_write_b32"), touched.collect())
            }
            Second::WmmaFactor => only(self.wmma, self.factors()),
            Second::CoexecutingFactor => only(pace(self.inst).is_some(), self.factors()),
            Second::BesideMatrixTouch => {
                only(self.vector && !self.wmma, [vectors(), self.written(|t| is_vector(t.reg))].concat())
            }
            Second::BesideMatrixOverwrite => only(self.vector && !self.wmma, self.written(|t| is_vector(t.reg))),
            Second::BesideTranscendentalRead => {
                only(self.vector && !self.transcendental, self.read(|t| !t.implicit && is_operand(t.reg)))
            }
            // LLVM looks at no other destination, and compiled code relies on it. It does not count the SGPRs of a
            // comparison's result, which stand in the same bits.
            Second::BesideTranscendentalWrite => {
                let counts = self.vector && !self.transcendental && !self.inst.info().op().is_compare();
                only(counts, self.registers(Field::Vdst))
            }
            Second::ScalarOverwrite => {
                let scalar = self.is(Flags::SALU) || self.is(Flags::SMEM);
                only(scalar, self.written(|t| is_scalar(t.reg) && !t.implicit))
            }
            Second::VectorScalarResult => self.vector_scalar_result().into_iter().filter(|&r| !is_exec(r)).collect(),
            Second::VectorExecResult => self.vector_scalar_result().into_iter().filter(|&r| is_exec(r)).collect(),
            Second::LdsAccess => only(self.is_lds_access(), vec![Reg::MODE]),
            Second::DeviceAccess => only(self.is_device_access(), vec![Reg::MODE]),
            Second::DenormMode => only(self.base == "s_denorm_mode", vec![Reg::MODE]),
        }
    }

    /// What the instruction changes for pairs around it, as far as it is asked for.
    pub fn marks(&self, asked: Marks) -> Marks {
        let Some(mut marks) = self.opcode.marks else { return self.all_marks() & asked };
        if self.vector && asked.contains(Marks::SCALAR_RESULT) {
            marks.set(Marks::SCALAR_RESULT, !self.vector_scalar_result().is_empty());
        }
        marks
    }

    pub fn all_marks(&self) -> Marks {
        let mut marks = Marks::empty();
        let waits = |bits: u32| self.dependencies().is_some_and(|d| d & bits == 0);
        let results_are_out = waits(15 << 12);
        let simm = self.inst.field(Field::Simm16).unwrap_or(0);
        let scalar_loads_done =
            self.base == "s_waitcnt" && simm >> 8 & 0x3f == 0 || self.waits_for_all("s_waitcnt_lgkmcnt");
        let scalar_work = self.is(Flags::SALU)
            && !matches!(self.inst.info().format.plain(), Format::Sopp)
            && !self.base.starts_with("s_waitcnt");
        marks.set(Marks::VECTOR, self.vector);
        marks.set(Marks::WORKING_VECTOR, self.vector && self.base != "v_nop");
        marks.set(Marks::WAIT, self.base.starts_with("s_waitcnt") && self.dependencies().is_none());
        marks.set(Marks::RESULTS_OUT, self.is_memory() || self.is(Flags::EXPORT) || results_are_out);
        marks.set(Marks::DOUBLE_MATRIX, matrix::is_double(self.base));
        marks.set(Marks::ACCUMULATOR_MOVE, self.base.starts_with("v_accvgpr_"));
        marks.set(Marks::SOURCES_READ, self.base == "s_waitcnt" && simm == 0 || waits(7 << 2));
        marks.set(Marks::SCALAR_WORK, scalar_work || scalar_loads_done);
        marks.set(Marks::SCALAR_RESULT, !self.vector_scalar_result().is_empty() || waits(1));
        marks.set(Marks::BRANCH, self.is(Flags::BRANCH) || self.is(Flags::COND_BRANCH));
        marks.set(Marks::STORES_DONE, self.waits_for_all("s_waitcnt_vscnt"));
        marks.set(Marks::LDS_ACCESS, self.is_lds_access());
        marks.set(Marks::DEVICE_ACCESS, self.is_device_access());
        marks
    }
}
