//! luthier-lifter
