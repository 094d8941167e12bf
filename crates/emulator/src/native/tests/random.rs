//! Random numbers and words, the same ones again for a seed.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 32) as u32
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
    /// A word as operands have it; one in `rare` is a NaN, an infinity, a denormal or a zero.
    pub fn word(&mut self, rare: usize) -> u32 {
        const SPECIAL: [u32; 12] = [
            0x7fc0_0000,
            0x7f80_0001,
            0xffc1_2345,
            0x7f80_0000,
            0xff80_0000,
            0,
            0x8000_0000,
            1,
            0x8000_0001,
            0x007f_ffff,
            !0,
            0x7f7f_ffff,
        ];
        match self.below(4) {
            _ if self.below(rare) == 0 => self.of(&SPECIAL),
            0 => self.next() & 63,
            // Floats whose sums and products are neither infinite nor denormal.
            1 | 2 => self.next() & 0x83ff_ffff | 0x3c00_0000,
            _ => self.next() & 0xbfff_ffff,
        }
    }
}
