//! What the host's processor can do, and work done by the best of it.

use std::sync::OnceLock;

/// What the host's processor can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Base,
    Avx2,
    Avx512,
}

/// The host's level, found once; `LUTHIER_EMULATOR_SIMD=base|avx2` lowers it (to test the other variants).
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let wish = std::env::var("LUTHIER_EMULATOR_SIMD").unwrap_or_default();
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd");
            if avx512 && wish.is_empty() {
                return Level::Avx512;
            }
            if avx2 && wish != "base" {
                return Level::Avx2;
            }
        }
        let _ = wish;
        Level::Base
    })
}

/// Work that takes fewer instructions on some processors, if it is compiled for them.
pub trait Work {
    type Result;
    /// To be `#[inline(always)]`, and so is what it calls, or nothing is gained.
    fn run(self) -> Self::Result;
}

/// Does it as the host's processor does it best.
#[inline(always)]
pub fn at_best<W: Work>(work: W) -> W::Result {
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: `level` says that the processor has the features.
        Level::Avx512 => return unsafe { by_avx512(work) },
        // SAFETY: likewise.
        Level::Avx2 => return unsafe { by_avx2(work) },
        Level::Base => {}
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn by_avx2<W: Work>(work: W) -> W::Result {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd")]
fn by_avx512<W: Work>(work: W) -> W::Result {
    work.run()
}
