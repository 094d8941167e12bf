//! Lines on standard error.

use std::io::Write;

/// Says something if the program asked to be told everything.
macro_rules! log {
    ($config:expr, $($text:tt)*) => {
        if $config.log {
            $crate::log::say(&format!($($text)*));
        }
    };
}
pub(crate) use log;

/// One line, in one piece. A program that closed standard error does not want it.
pub fn say(text: &str) {
    let line = format!("luthier: {text}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap_or(());
}
