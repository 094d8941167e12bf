//! What the host's processor can do, and work done by the best of it.

use std::sync::OnceLock;

/// What the host's processor can do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    Base,
    Avx2,
    Avx512,
}

/// What lowers the level, to test the other variants: `base` or `avx2`.
pub const VARIABLE: &str = "LUTHIER_EMULATOR_SIMD";

static LEVEL: OnceLock<Level> = OnceLock::new();

/// The level of this process, found once: the host's, or the one that [`VARIABLE`] lowers it to.
///
/// # Panics
/// As [`check`] refuses: who makes devices asks that first.
#[inline]
pub fn level() -> Level {
    *LEVEL.get_or_init(|| of_environment().unwrap_or_else(|why| panic!("{why}")))
}

/// That [`level`] has an answer. A word that is refused counts for nothing: the next call looks again.
///
/// # Errors
/// What is wrong with [`VARIABLE`], in a line.
pub fn check() -> Result<(), String> {
    if LEVEL.get().is_none() {
        let found = of_environment()?;
        LEVEL.get_or_init(|| found);
    }
    Ok(())
}

/// The level that a word of [`VARIABLE`] asks for on this host.
///
/// # Errors
/// The word is none that is known, or the host has no such level; in a line.
pub fn wanted(word: &str) -> Result<Level, String> {
    on_host(word, host())
}

fn of_environment() -> Result<Level, String> {
    wanted(&crate::environment::word(VARIABLE))
}

/// A word that is not obeyed would have its user compare a level with itself.
fn on_host(word: &str, host: Level) -> Result<Level, String> {
    match word {
        "" => Ok(host),
        "base" => Ok(Level::Base),
        "avx2" if host >= Level::Avx2 => Ok(Level::Avx2),
        "avx2" => Err(format!(
            "{VARIABLE}=avx2 is not possible: this machine's processor lacks AVX2, FMA, F16C, BMI1, BMI2, LZCNT or POPCNT"
        )),
        _ => Err(format!("{VARIABLE}={word} is not possible: it is base or avx2")),
    }
}

/// What the processor has.
fn host() -> Level {
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
        if avx512 {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    Level::Base
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_lowers_the_level_and_no_other_is_taken() {
        for host in [Level::Base, Level::Avx2, Level::Avx512] {
            assert_eq!((on_host("", host), on_host("base", host)), (Ok(host), Ok(Level::Base)));
            for word in ["avx512", "AVX2", "avx2 ", "1"] {
                let why = on_host(word, host).expect_err(word);
                assert_eq!(why, format!("LUTHIER_EMULATOR_SIMD={word} is not possible: it is base or avx2"));
            }
        }
        assert_eq!((on_host("avx2", Level::Avx2), on_host("avx2", Level::Avx512)), (Ok(Level::Avx2), Ok(Level::Avx2)));
    }

    #[test]
    fn a_level_that_the_host_lacks_is_no_other_level() {
        let why = on_host("avx2", Level::Base).expect_err("a host without AVX2");
        assert!(
            why.starts_with("LUTHIER_EMULATOR_SIMD=avx2 is not possible: this machine's processor lacks AVX2"),
            "{why}"
        );
    }
}
