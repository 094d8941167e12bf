//! The native module `luthier._core`.
