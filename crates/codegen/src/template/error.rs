//! What goes wrong in a hook, with its place in the source.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place in a source file. Lines and columns count from 1; a column of 0 is all of the line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub col: u32,
}

#[cfg(feature = "llvm")]
impl Place {
    /// Debug information, and hooks that are no text, have line 0 where there is none.
    pub(crate) fn new(file: &str, (line, col): (u32, u32)) -> Option<Place> {
        (line != 0).then(|| Place { file: file.to_owned(), line, col })
    }
}

/// A hook that cannot be compiled, and where in its source that is, if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookError {
    pub place: Option<Place>,
    pub message: String,
}

impl std::error::Error for HookError {}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, col }) = &self.place {
            write!(f, "{file}:{line}:{col}: ")?;
        }
        f.write_str(&self.message)
    }
}

#[cfg(feature = "llvm")]
impl HookError {
    pub(crate) fn new(file: &str, at: (u32, u32), message: impl Into<String>) -> HookError {
        HookError { place: Place::new(file, at), message: message.into() }
    }
}
