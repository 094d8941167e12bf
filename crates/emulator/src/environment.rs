//! Variables of the environment that say how the engine works on this host: which vectors it uses, and when it makes native
//! code. A word that is not obeyed would have its user compare something with itself, so it is refused.

use crate::level;
#[cfg(target_arch = "x86_64")]
use crate::native;

/// Of a variable that is not there, nothing.
pub(crate) fn word(variable: &str) -> String {
    std::env::var_os(variable).unwrap_or_default().to_string_lossy().into_owned()
}

/// That devices can be made as this process's environment says.
///
/// # Errors
/// What is wrong with a variable, in a line.
pub fn check() -> Result<(), String> {
    level::check()?;
    check_native(word)
}

/// The same of an environment that `get` knows.
///
/// # Errors
/// As [`check`]'s.
pub fn check_words(get: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let word = |variable: &str| get(variable).unwrap_or_default();
    level::wanted(&word(level::VARIABLE))?;
    check_native(word)
}

#[cfg(target_arch = "x86_64")]
fn check_native(word: impl Fn(&str) -> String) -> Result<(), String> {
    native::When::of(&word(native::VARIABLE)).map(drop)
}

/// There is no native code on other hosts, whatever the variable says.
#[cfg(not(target_arch = "x86_64"))]
fn check_native(_: impl Fn(&str) -> String) -> Result<(), String> {
    Ok(())
}
