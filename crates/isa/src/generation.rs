//! The generations: processors whose encodings have their fields in the same places, and are printed by the same rules.
//!
//! What differs between generations has a module for each family (`layout/gfx9.rs`, `decode/gfx9.rs`, `print/gfx9.rs`);
//! all the rest is shared. The table generator includes this file.

/// Where fields lie, and how they are printed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Generation {
    /// GCN5 and CDNA1: gfx900 to gfx909, gfx90c.
    Gfx9,
    /// CDNA2, where memory instructions reach accumulation registers.
    Gfx90a,
    /// CDNA3 and CDNA4: other cache bits, scratch with two addresses.
    Gfx940,
    /// RDNA1 and RDNA2.
    Gfx10,
    /// RDNA3 and RDNA3.5.
    Gfx11,
    /// RDNA4.
    Gfx12,
    /// gfx1250 and gfx1251: literals of 64 bits, VOPD3, more matrix operations, no images.
    Gfx1250,
}

impl Generation {
    pub const ALL: [Generation; 7] = {
        use Generation::*;
        [Gfx9, Gfx90a, Gfx940, Gfx10, Gfx11, Gfx12, Gfx1250]
    };

    /// GCN5 or CDNA.
    pub const fn is_gfx9_family(self) -> bool {
        matches!(self, Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940)
    }
}
