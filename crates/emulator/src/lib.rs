//! luthier-emulator
