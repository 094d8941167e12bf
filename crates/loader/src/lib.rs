//! luthier-loader
