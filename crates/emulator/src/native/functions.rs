//! Functions that native code calls for the lanes of a vector: operations that would be too many instructions. They are the
//! interpreter's, compiled for as many lanes.

use luthier_isa::op::Op as IsaOp;

use super::machine::Machine;
use crate::valu::division32::{Fixup, Scaled, ScalingBack, TimesPower};
use crate::valu::division64::{Fixup64, Scaled64, ScalingBack64, TimesPower64};
use crate::valu::int32::Bytes;
use crate::valu::lanewise::Lanewise;
pub use crate::valu::lanewise::{RESULTS, SOURCES};
use crate::valu::unit32::{Cosine, HyperbolicTangent, Logarithm, Power, Reciprocal, ReciprocalRoot, Root, Sine};
use crate::wave::Wave;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    Reciprocal,
    ReciprocalRoot,
    Root,
    Power,
    Logarithm,
    Sine,
    Cosine,
    HyperbolicTangent,
    TimesPower,
    Scaled,
    ScalingBack,
    Fixup,
    TimesPower64,
    Scaled64,
    ScalingBack64,
    Fixup64,
    Bytes,
}

/// Takes the wave, [`SOURCES`] vectors and where the results go.
type Code = unsafe extern "sysv64" fn(*const Wave, *const u32, *mut u32);

impl Function {
    /// The function that is all of an operation, and how many sources that has.
    pub fn of(operation: IsaOp) -> Option<(Function, usize)> {
        Some(match operation {
            IsaOp::VRcpF32 | IsaOp::VRcpIflagF32 => (Function::Reciprocal, 1),
            IsaOp::VRsqF32 => (Function::ReciprocalRoot, 1),
            IsaOp::VSqrtF32 => (Function::Root, 1),
            IsaOp::VExpF32 | IsaOp::VExpLegacyF32 => (Function::Power, 1),
            IsaOp::VLogF32 | IsaOp::VLogLegacyF32 => (Function::Logarithm, 1),
            IsaOp::VSinF32 => (Function::Sine, 1),
            IsaOp::VCosF32 => (Function::Cosine, 1),
            IsaOp::VTanhF32 => (Function::HyperbolicTangent, 1),
            IsaOp::VLdexpF32 => (Function::TimesPower, 2),
            IsaOp::VDivFixupF32 => (Function::Fixup, 3),
            _ => return None,
        })
    }

    /// It is called only where the last source has a lane that is not zero.
    pub fn is_conditional(self) -> bool {
        matches!(self, Function::ScalingBack | Function::ScalingBack64 | Function::Bytes)
    }

    /// Where it begins, compiled for vectors of a machine that the host can be.
    pub fn address(self, machine: Machine) -> u64 {
        fn of<F: Lanewise>(machine: Machine) -> u64 {
            let code: Code = if machine.wide { wide::<F> } else { narrow::<F> };
            code as usize as u64
        }
        let of = match self {
            Function::Reciprocal => of::<Reciprocal>,
            Function::ReciprocalRoot => of::<ReciprocalRoot>,
            Function::Root => of::<Root>,
            Function::Power => of::<Power>,
            Function::Logarithm => of::<Logarithm>,
            Function::Sine => of::<Sine>,
            Function::Cosine => of::<Cosine>,
            Function::HyperbolicTangent => of::<HyperbolicTangent>,
            Function::TimesPower => of::<TimesPower>,
            Function::Scaled => of::<Scaled>,
            Function::ScalingBack => of::<ScalingBack>,
            Function::Fixup => of::<Fixup>,
            Function::TimesPower64 => of::<TimesPower64>,
            Function::Scaled64 => of::<Scaled64>,
            Function::ScalingBack64 => of::<ScalingBack64>,
            Function::Fixup64 => of::<Fixup64>,
            Function::Bytes => of::<Bytes>,
        };
        of(machine)
    }
}

/// # Safety
/// Nothing writes the wave meanwhile; there are [`SOURCES`] vectors of `N` words, and [`RESULTS`] others.
#[inline(always)]
unsafe fn call<F: Lanewise, const N: usize>(w: *const Wave, sources: *const u32, out: *mut u32) {
    // SAFETY: the caller says so.
    unsafe {
        let sources = &*sources.cast::<[[u32; N]; SOURCES]>();
        let out = &mut *out.cast::<[[u32; N]; RESULTS]>();
        F::lanes(&*w, sources.each_ref(), out.each_mut());
    }
}

/// # Safety
/// As [`call`], on a host with AVX-512.
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd")]
unsafe extern "sysv64" fn wide<F: Lanewise>(w: *const Wave, sources: *const u32, out: *mut u32) {
    // SAFETY: the caller says so.
    unsafe { call::<F, 16>(w, sources, out) }
}

/// # Safety
/// As [`call`], on a host with AVX2.
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe extern "sysv64" fn narrow<F: Lanewise>(w: *const Wave, sources: *const u32, out: *mut u32) {
    // SAFETY: the caller says so.
    unsafe { call::<F, 8>(w, sources, out) }
}
