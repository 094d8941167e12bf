//! The pairs of instructions that software has to keep apart, one a row.
//!
//! Sources: "Manually Inserted Wait States" in AMD's GCN5 and CDNA ISA manuals, "Software Data Hazard Resolution" in
//! those of RDNA, and what LLVM 22's hazard recognizer does on each processor (tests/strict/test_hazards.py holds the table to
//! it). What concerns the results of CDNA's matrix instructions is in [`super::matrix`], what takes three instructions in
//! [`super::scalars`] and [`super::forwarding`]; how long gfx1250's matrix instructions take in [`super::coexecution`].

use super::Cure;
use crate::{Generation, Reg, Target, Wave};

/// What the first instruction of a pair does, to some registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// A VALU instruction other than a matrix instruction writes.
    VectorWrite,
    /// The same, dot products left out.
    PlainVectorWrite,
    /// A VALU instruction writes EXEC: v_cmpx.
    VectorExec,
    /// More than 64 bits are stored, and read late.
    WideStore,
    SetHardwareRegister,
    ScalarM0,
    /// v_exp and its kin write.
    Transcendental,
    /// A part of a register is written, whose bits come from elsewhere in the result.
    ShiftedResult,
    AccumulatorWrite,
    /// v_accvgpr_read writes a VGPR.
    AccumulatorRead,
    /// VALU, but no move from or to accumulators.
    LegacyWrite,
    /// RDNA's matrix instructions write.
    MatrixResult,
    /// The same of gfx1250's, which run beside other VALU instructions: by how long they do ([`super::coexecution`]).
    ShortMatrixResult,
    MiddleMatrixResult,
    LongMatrixResult,
    /// What they read.
    ShortMatrixFactor,
    MiddleMatrixFactor,
    LongMatrixFactor,
    /// v_exp and its kin write, or read, a vector register or a scalar.
    TranscendentalResult,
    TranscendentalSource,
    /// A float atomic of device memory is under way.
    FloatAtomic,
    /// Vector memory or LDS is accessed with the help of a scalar.
    MemoryScalarRead,
    /// A scalar load reads its address.
    ScalarMemoryRead,
    /// EXEC is read by anything but a VALU instruction.
    ExecRead,
    LdsAccess,
    DeviceAccess,
}

impl First {
    pub const ALL: [First; 26] = {
        use First::*;
        [
            VectorWrite,
            PlainVectorWrite,
            VectorExec,
            WideStore,
            SetHardwareRegister,
            ScalarM0,
            Transcendental,
            ShiftedResult,
            AccumulatorWrite,
            AccumulatorRead,
            LegacyWrite,
            MatrixResult,
            ShortMatrixResult,
            MiddleMatrixResult,
            LongMatrixResult,
            ShortMatrixFactor,
            MiddleMatrixFactor,
            LongMatrixFactor,
            TranscendentalResult,
            TranscendentalSource,
            FloatAtomic,
            MemoryScalarRead,
            ScalarMemoryRead,
            ExecRead,
            LdsAccess,
            DeviceAccess,
        ]
    };

    /// What has happened, for a finding.
    pub fn phrase(self, reg: crate::Reg) -> String {
        match self {
            First::VectorWrite | First::PlainVectorWrite | First::VectorExec | First::LegacyWrite => {
                format!("a VALU instruction has written {reg}")
            }
            First::WideStore => format!("a wide store is still reading {reg}"),
            First::SetHardwareRegister => format!("s_setreg has written hardware register {}", reg.index()),
            First::ScalarM0 => "a scalar instruction has written m0".into(),
            First::Transcendental | First::TranscendentalResult => {
                format!("a transcendental instruction has written {reg}")
            }
            First::TranscendentalSource => format!("a transcendental instruction may still be reading {reg}"),
            First::ShiftedResult => format!("a part of {reg} was written"),
            First::AccumulatorWrite => format!("v_accvgpr_write has written {reg}"),
            First::AccumulatorRead => format!("v_accvgpr_read has written {reg}"),
            First::MatrixResult => format!("a matrix instruction has written {reg}"),
            First::ShortMatrixResult | First::MiddleMatrixResult | First::LongMatrixResult => {
                format!("a matrix instruction is still writing {reg}")
            }
            First::ShortMatrixFactor | First::MiddleMatrixFactor | First::LongMatrixFactor => {
                format!("a matrix instruction may still be reading {reg}")
            }
            First::MemoryScalarRead | First::ScalarMemoryRead => format!("a memory access may still be reading {reg}"),
            First::ExecRead => format!("{reg} may still be being read"),
            First::LdsAccess => "LDS was accessed before a branch".into(),
            First::DeviceAccess => "device memory was accessed before a branch".into(),
            First::FloatAtomic => "a float atomic may not have read the mode yet".into(),
        }
    }
}

/// What the second instruction of a pair does, to the same registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Second {
    /// A vector memory instruction reads a scalar.
    MemoryScalar,
    LaneSelect,
    DivFmasMask,
    DppMask,
    DppSource,
    /// EXECZ or VCCZ is an operand.
    ZeroFlag,
    /// s_getreg or s_setreg.
    HardwareRegister,
    /// s_rfe looks at the trap status.
    TrapReturn,
    /// M0 is read by what does not look whether it is there.
    M0,
    /// A VALU instruction writes a vector register.
    VectorOverwrite,
    /// A matrix instruction reads a vector register, or EXEC.
    MatrixSource,
    MatrixMask,
    /// A memory instruction reads a vector register.
    MemoryVector,
    /// A VALU instruction reads a vector register; one that is not transcendental; one that reads or writes it.
    VectorRead,
    SlowerVectorRead,
    VectorTouch,
    /// A VALU instruction reads a scalar.
    ScalarRead,
    /// v_readlane and v_readfirstlane.
    CrossingSource,
    CrossingMask,
    /// v_permlane.
    SwapSource,
    SwapMask,
    /// A or B of CDNA's matrix instructions; C.
    Factor,
    Accumulator,
    /// v_accvgpr_read and v_accvgpr_write touch an accumulator.
    AccumulatorMove,
    /// A or B of RDNA's matrix instructions.
    WmmaFactor,
    /// The same of those of gfx1250 that run beside other VALU instructions.
    CoexecutingFactor,
    /// A VALU instruction that is none of them reads or writes a vector register; writes it.
    BesideMatrixTouch,
    BesideMatrixOverwrite,
    /// One that is not transcendental reads a vector register or a scalar; has it as its result.
    BesideTranscendentalRead,
    BesideTranscendentalWrite,
    DenormMode,
    /// A scalar instruction, or a scalar load, writes a scalar by name.
    ScalarOverwrite,
    /// A VALU instruction writes a scalar; EXEC.
    VectorScalarResult,
    VectorExecResult,
    LdsAccess,
    DeviceAccess,
}

impl Second {
    /// It can be done to this register.
    pub fn concerns(self, reg: Reg) -> bool {
        use Second::*;
        let exec = matches!(reg, Reg::EXEC_LO | Reg::EXEC_HI);
        let vcc = matches!(reg, Reg::VCC_LO | Reg::VCC_HI);
        match self {
            MemoryScalar | LaneSelect | ScalarRead | ScalarOverwrite | VectorScalarResult => reg.index() < 128,
            DivFmasMask => vcc,
            DppMask | MatrixMask | CrossingMask | SwapMask | VectorExecResult => exec,
            ZeroFlag => vcc || exec,
            M0 => reg == Reg::M0,
            DppSource
            | VectorOverwrite
            | MatrixSource
            | MemoryVector
            | VectorRead
            | SlowerVectorRead
            | VectorTouch
            | CrossingSource
            | SwapSource
            | Factor
            | Accumulator
            | AccumulatorMove
            | WmmaFactor
            | CoexecutingFactor
            | BesideMatrixTouch
            | BesideMatrixOverwrite => reg.is_vgpr() || reg.is_agpr(),
            BesideTranscendentalRead | BesideTranscendentalWrite => reg.is_vgpr() || reg.index() < 128,
            HardwareRegister | TrapReturn | DenormMode | LdsAccess | DeviceAccess => true,
        }
    }

    /// It may happen to a register whose value is not needed any more.
    pub fn overwrites(self) -> bool {
        use Second::*;
        matches!(
            self,
            VectorOverwrite
                | VectorTouch
                | BesideMatrixTouch
                | BesideMatrixOverwrite
                | BesideTranscendentalWrite
                | AccumulatorMove
                | ScalarOverwrite
                | VectorScalarResult
                | VectorExecResult
                | HardwareRegister
                | LdsAccess
                | DeviceAccess
                | DenormMode
                | MatrixMask
                | DppMask
                | CrossingMask
                | SwapMask
        )
    }
}

bitflags::bitflags! {
    /// Instructions in between that matter.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Marks: u16 {
        const VECTOR = 1;
        /// VALU, and not v_nop, which the sequencer drops.
        const WORKING_VECTOR = 2;
        /// s_waitcnt and its kin.
        const WAIT = 4;
        /// No VALU result is under way any more: s_waitcnt_depctr va_vdst(0), or what waits for that by itself.
        const RESULTS_OUT = 8;
        const DOUBLE_MATRIX = 16;
        const ACCUMULATOR_MOVE = 32;
        /// Memory accesses have read their registers: s_waitcnt 0, s_waitcnt_depctr vm_vsrc(0).
        const SOURCES_READ = 64;
        /// A scalar instruction that does something, or a wait for all scalar loads.
        const SCALAR_WORK = 128;
        /// A VALU instruction writes a scalar; s_waitcnt_depctr sa_sdst(0).
        const SCALAR_RESULT = 256;
        const BRANCH = 512;
        /// s_waitcnt_vscnt null, 0
        const STORES_DONE = 1024;
        const LDS_ACCESS = 2048;
        const DEVICE_ACCESS = 4096;
    }
}

/// How far apart the two have to be.
#[derive(Clone, Copy, Debug)]
pub enum Apart {
    /// Wait states: one for each instruction in between, more for s_nop.
    States(u32),
    /// VALU instructions in between, or transcendental ones.
    Vectors { any: u32, transcendental: u32 },
    /// However far: only what ends the hazard helps.
    Any,
}

#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    pub on: fn(Target, Wave) -> bool,
    pub first: First,
    pub second: Second,
    pub apart: Apart,
    /// A hazard only if such an instruction came in between.
    pub since: Marks,
    /// None any more if such an instruction came in between.
    pub ends: Marks,
    /// What to put in between.
    pub cure: Cure,
}

fn gfx9(target: Target, _: Wave) -> bool {
    target.generation().is_gfx9_family()
}
fn before_cdna3(target: Target, _: Wave) -> bool {
    matches!(target.generation(), Generation::Gfx9 | Generation::Gfx90a)
}
fn cdna1(target: Target, _: Wave) -> bool {
    target == Target::Gfx908
}
fn cdna2(target: Target, _: Wave) -> bool {
    target.generation() == Generation::Gfx90a
}
fn cdna2_on(target: Target, _: Wave) -> bool {
    matches!(target.generation(), Generation::Gfx90a | Generation::Gfx940)
}
fn all_cdna(target: Target, wave: Wave) -> bool {
    cdna1(target, wave) || cdna2_on(target, wave)
}
fn cdna3_on(target: Target, _: Wave) -> bool {
    target.generation() == Generation::Gfx940
}
fn cdna4(target: Target, _: Wave) -> bool {
    target == Target::Gfx950
}
fn rdna1(target: Target, _: Wave) -> bool {
    use Target::*;
    matches!(target, Gfx1010 | Gfx1011 | Gfx1012 | Gfx1013 | Gfx10_1Generic)
}
fn rdna1_and_2(target: Target, _: Wave) -> bool {
    target.generation() == Generation::Gfx10
}
/// RDNA3 without RDNA3.5, where it is mended.
fn first_rdna3(target: Target, _: Wave) -> bool {
    use Target::*;
    matches!(target, Gfx1100 | Gfx1101 | Gfx1102 | Gfx1103 | Gfx11Generic)
}
fn rdna3_and_4(target: Target, _: Wave) -> bool {
    matches!(target.generation(), Generation::Gfx11 | Generation::Gfx12)
}
fn all_rdna_but_2(target: Target, wave: Wave) -> bool {
    rdna1(target, wave) || rdna3_and_4(target, wave) || gfx1250(target, wave)
}
fn rdna3_on(target: Target, wave: Wave) -> bool {
    rdna3_and_4(target, wave) || gfx1250(target, wave)
}
fn gfx1250(target: Target, _: Wave) -> bool {
    target.generation() == Generation::Gfx1250
}

/// A row whose hazard is gone after some wait states.
const fn nops(name: &'static str, on: fn(Target, Wave) -> bool, first: First, second: Second, states: u32) -> Rule {
    let none = Marks::empty();
    Rule { name, on, first, second, apart: Apart::States(states), since: none, ends: none, cure: Cure::Nop }
}

/// A row whose hazard lasts until something ends it.
const fn until(
    name: &'static str,
    on: fn(Target, Wave) -> bool,
    first: First,
    second: Second,
    ends: Marks,
    cure: Cure,
) -> Rule {
    Rule { name, on, first, second, apart: Apart::Any, since: Marks::empty(), ends, cure }
}

/// A row of gfx1250, whose hazard is gone after some VALU instructions of any kind.
const fn beside(name: &'static str, first: First, second: Second, vectors: u32) -> Rule {
    let none = Marks::empty();
    let apart = Apart::Vectors { any: vectors, transcendental: u32::MAX };
    Rule { name, on: gfx1250, first, second, apart, since: none, ends: none, cure: Cure::VectorNop }
}

const VALU: Cure = Cure::Vector;
const SALU: Cure = Cure::Scalar;
const VM_VSRC: Cure = Cure::VmVsrc;
const SA_SDST: Cure = Cure::SaSdst;
const VA_VDST: Cure = Cure::VaVdst;
const STORES: Cure = Cure::Stores;
const SOURCES: Marks = Marks::VECTOR.union(Marks::SOURCES_READ);
const BEHIND_LDS: Marks = Marks::STORES_DONE.union(Marks::DEVICE_ACCESS);
const BEHIND_DEVICE: Marks = Marks::STORES_DONE.union(Marks::LDS_ACCESS);

pub static RULES: &[Rule] = &[
    nops("valu-sgpr-vmem", gfx9, First::VectorWrite, Second::MemoryScalar, 5),
    nops("valu-sgpr-lane-select", gfx9, First::VectorWrite, Second::LaneSelect, 4),
    nops("valu-vcc-div-fmas", gfx9, First::VectorWrite, Second::DivFmasMask, 4),
    nops("valu-exec-dpp", gfx9, First::VectorWrite, Second::DppMask, 5),
    nops("valu-vgpr-dpp", gfx9, First::VectorWrite, Second::DppSource, 2),
    nops("valu-zero-flag", gfx9, First::VectorWrite, Second::ZeroFlag, 5),
    nops("setreg-hwreg", gfx9, First::SetHardwareRegister, Second::HardwareRegister, 2),
    nops("setreg-trap-return", gfx9, First::SetHardwareRegister, Second::TrapReturn, 1),
    nops("salu-m0", gfx9, First::ScalarM0, Second::M0, 1),
    nops("wide-store-overwrite", before_cdna3, First::WideStore, Second::VectorOverwrite, 1),
    nops("wide-store-overwrite", cdna3_on, First::WideStore, Second::VectorOverwrite, 2),
    nops("valu-exec-matrix", all_cdna, First::VectorWrite, Second::MatrixMask, 4),
    nops("valu-vgpr-matrix", cdna1, First::VectorWrite, Second::MatrixSource, 2),
    nops("valu-vgpr-matrix", cdna2_on, First::PlainVectorWrite, Second::MatrixSource, 2),
    nops("accumulator-write-factor", cdna1, First::AccumulatorWrite, Second::Factor, 3),
    nops("accumulator-write-accumulator", cdna1, First::AccumulatorWrite, Second::Accumulator, 1),
    nops("accumulator-write-move", cdna1, First::AccumulatorWrite, Second::AccumulatorMove, 3),
    nops("accumulator-read-memory", cdna1, First::AccumulatorRead, Second::MemoryVector, 2),
    Rule {
        since: Marks::ACCUMULATOR_MOVE,
        ..nops("valu-accumulator-move-memory", cdna1, First::LegacyWrite, Second::MemoryVector, 2)
    },
    Rule {
        since: Marks::DOUBLE_MATRIX,
        ..nops("valu-double-matrix-memory", cdna2, First::VectorWrite, Second::MemoryVector, 2)
    },
    nops("transcendental-result", cdna3_on, First::Transcendental, Second::SlowerVectorRead, 1),
    nops("shifted-result", cdna3_on, First::ShiftedResult, Second::VectorTouch, 1),
    nops("valu-sgpr-valu", cdna3_on, First::VectorWrite, Second::ScalarRead, 2),
    nops("valu-vgpr-readlane", cdna3_on, First::VectorWrite, Second::CrossingSource, 1),
    nops("valu-exec-readlane", cdna3_on, First::VectorWrite, Second::CrossingMask, 4),
    nops("valu-vgpr-permlane", cdna4, First::VectorWrite, Second::SwapSource, 2),
    nops("valu-exec-permlane", cdna4, First::VectorWrite, Second::SwapMask, 4),
    Rule {
        ends: Marks::VECTOR.union(Marks::WAIT),
        ..nops("float-atomic-denorm-mode", rdna1_and_2, First::FloatAtomic, Second::DenormMode, 3)
    },
    until("cmpx-permlane", all_rdna_but_2, First::VectorExec, Second::SwapMask, Marks::WORKING_VECTOR, VALU),
    until("memory-scalar-overwrite", rdna1, First::MemoryScalarRead, Second::ScalarOverwrite, SOURCES, VM_VSRC),
    until(
        "smem-vector-overwrite",
        rdna1,
        First::ScalarMemoryRead,
        Second::VectorScalarResult,
        Marks::SCALAR_WORK,
        SALU,
    ),
    until("exec-cmpx-overwrite", rdna1, First::ExecRead, Second::VectorExecResult, Marks::SCALAR_RESULT, SA_SDST),
    Rule {
        since: Marks::BRANCH,
        ..until("lds-branch-memory", rdna1, First::LdsAccess, Second::DeviceAccess, BEHIND_LDS, STORES)
    },
    Rule {
        since: Marks::BRANCH,
        ..until("lds-branch-memory", rdna1, First::DeviceAccess, Second::LdsAccess, BEHIND_DEVICE, STORES)
    },
    Rule {
        apart: Apart::Vectors { any: 6, transcendental: 2 },
        ..until(
            "transcendental-use",
            first_rdna3,
            First::Transcendental,
            Second::VectorRead,
            Marks::RESULTS_OUT,
            VA_VDST,
        )
    },
    until("matrix-result-factor", rdna3_on, First::MatrixResult, Second::WmmaFactor, Marks::VECTOR, Cure::VectorNop),
    beside("matrix-result-factor", First::ShortMatrixResult, Second::CoexecutingFactor, 3),
    beside("matrix-result-factor", First::MiddleMatrixResult, Second::CoexecutingFactor, 5),
    beside("matrix-result-factor", First::LongMatrixResult, Second::CoexecutingFactor, 9),
    beside("matrix-result-use", First::ShortMatrixResult, Second::BesideMatrixTouch, 2),
    beside("matrix-result-use", First::MiddleMatrixResult, Second::BesideMatrixTouch, 4),
    beside("matrix-result-use", First::LongMatrixResult, Second::BesideMatrixTouch, 8),
    beside("matrix-factor-overwrite", First::ShortMatrixFactor, Second::BesideMatrixOverwrite, 2),
    beside("matrix-factor-overwrite", First::MiddleMatrixFactor, Second::BesideMatrixOverwrite, 4),
    beside("matrix-factor-overwrite", First::LongMatrixFactor, Second::BesideMatrixOverwrite, 8),
    beside("transcendental-use", First::TranscendentalResult, Second::BesideTranscendentalRead, 1),
    beside("transcendental-overwrite", First::TranscendentalSource, Second::BesideTranscendentalWrite, 1),
];
