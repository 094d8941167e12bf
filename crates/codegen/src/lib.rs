//! luthier-codegen
