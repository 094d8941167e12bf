//! What goes wrong in a hook, with its place in the source.

/// A hook that cannot be compiled. `line` and `col` count from 1; a line of 0 says that there is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{col}: {message}")]
pub struct HookError {
    pub file: String,
    pub line: u32,
    pub col: u32,
    pub message: String,
}

#[cfg(feature = "llvm")]
impl HookError {
    pub(crate) fn new(file: &str, at: (u32, u32), message: impl Into<String>) -> HookError {
        HookError { file: file.to_owned(), line: at.0, col: at.1, message: message.into() }
    }
}
