//! Waves of a workgroup that one call of native code does, one after the other.

/// What such code is told beside the registers of the first wave, and what it tells.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Batch {
    /// Where the next wave's rows of work-item ids are, and how many there are of each wave.
    pub ids: u64,
    pub id_rows: u32,
    /// Waves that have not ended.
    pub left: u32,
    /// EXEC of the waves, and of the last one.
    pub exec: u64,
    pub last_exec: u64,
    /// MODE, as they begin with it.
    pub mode: u32,
    /// Waves that have ended and had taken the branch between two blocks ([`crate::wave::Wave::skipped`]).
    pub skips: u32,
}
