//! What makes a hazard good.

use std::fmt;

/// An instruction that ends a hazard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Cure {
    /// `s_nop`, for wait states.
    Nop,
    VectorNop,
    /// A VALU instruction that the sequencer does not drop.
    Vector,
    /// A scalar instruction that does something.
    Scalar,
    /// Memory accesses have read their registers.
    VmVsrc,
    /// Scalar results are there.
    SaSdst,
    /// Vector results are there.
    VaVdst,
    /// VALU results in SGPRs are there.
    VaSdst,
    /// VALU results in VCC are there.
    VaVcc,
    /// The same, on RDNA4.
    AluSaSdst,
    AluVaSdst,
    AluVaVcc,
    /// All stores are done.
    Stores,
}

impl fmt::Display for Cure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cure::Nop => "s_nop",
            Cure::VectorNop => "v_nop",
            Cure::Vector => "a VALU instruction other than v_nop",
            Cure::Scalar => "s_mov_b32 null, 0",
            Cure::VmVsrc => "s_waitcnt_depctr depctr_vm_vsrc(0)",
            Cure::SaSdst => "s_waitcnt_depctr depctr_sa_sdst(0)",
            Cure::VaVdst => "s_waitcnt_depctr depctr_va_vdst(0)",
            Cure::VaSdst => "s_waitcnt_depctr depctr_va_sdst(0)",
            Cure::VaVcc => "s_waitcnt_depctr depctr_va_vcc(0)",
            Cure::AluSaSdst => "s_wait_alu depctr_sa_sdst(0)",
            Cure::AluVaSdst => "s_wait_alu depctr_va_sdst(0)",
            Cure::AluVaVcc => "s_wait_alu depctr_va_vcc(0)",
            Cure::Stores => "s_waitcnt_vscnt null, 0",
        })
    }
}

/// How much is missing, and of what. Its text says what is needed "before this".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// The wait states that are missing.
    States(u32),
    /// The VALU instructions that are missing, or the cure.
    Vectors(u32, Cure),
    Cure(Cure),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::States(1) => f.write_str("1 more wait state is needed before this"),
            Remedy::States(n) => write!(f, "{n} more wait states are needed before this"),
            Remedy::Vectors(n, cure) => write!(f, "{n} more VALU instructions or {cure} are needed before this"),
            Remedy::Cure(cure) => write!(f, "{cure} is needed before this"),
        }
    }
}
