//! The MODE register: how floating point rounds, flushes and clamps.

/// MODE as `s_getreg` sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mode(pub u32);

/// A rounding mode, in the hardware's encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    NearestEven,
    Up,
    Down,
    Zero,
}

impl Round {
    const fn from_bits(bits: u32) -> Round {
        match bits & 3 {
            0 => Round::NearestEven,
            1 => Round::Up,
            2 => Round::Down,
            _ => Round::Zero,
        }
    }
}

impl Mode {
    /// Bits above these say nothing of arithmetic.
    pub const ARITHMETIC_BITS: u32 = 24;

    /// Rounding of 32-bit results.
    #[inline(always)]
    pub const fn round32(self) -> Round {
        Round::from_bits(self.0)
    }
    /// Rounding of 16- and 64-bit results.
    #[inline(always)]
    pub const fn round16_64(self) -> Round {
        Round::from_bits(self.0 >> 2)
    }
    /// Denormal 32-bit sources are read as they are (else as zero of their sign).
    #[inline(always)]
    pub const fn denorm_in32(self) -> bool {
        self.0 & (1 << 4) != 0
    }
    /// Denormal 32-bit results are kept (else flushed to zero of their sign).
    #[inline(always)]
    pub const fn denorm_out32(self) -> bool {
        self.0 & (1 << 5) != 0
    }
    #[inline(always)]
    pub const fn denorm_in16_64(self) -> bool {
        self.0 & (1 << 6) != 0
    }
    #[inline(always)]
    pub const fn denorm_out16_64(self) -> bool {
        self.0 & (1 << 7) != 0
    }
    /// The same with all denormal sources read as they are.
    #[inline(always)]
    pub const fn reading_denormals(self) -> Mode {
        Mode(self.0 | 1 << 4 | 1 << 6)
    }
    /// Clamping turns NaN into zero.
    #[inline(always)]
    pub const fn dx10_clamp(self) -> bool {
        self.0 & (1 << 8) != 0
    }
    /// Signalling NaNs are quieted.
    #[inline(always)]
    pub const fn ieee(self) -> bool {
        self.0 & (1 << 9) != 0
    }
    /// Overflowing 16-bit results saturate at the largest finite value.
    #[inline(always)]
    pub const fn fp16_ovfl(self) -> bool {
        self.0 & (1 << 23) != 0
    }
    /// 32-bit arithmetic is what the host's default environment does: nearest even, denormals kept.
    #[inline(always)]
    pub const fn host32(self) -> bool {
        self.0 & 0x33 == 0x30
    }
    /// 32-bit arithmetic rounds to nearest even, and takes and leaves zeros in the place of denormals.
    #[inline(always)]
    pub const fn flushes32(self) -> bool {
        self.0 & 0x33 == 0
    }
    /// 16- and 64-bit arithmetic is what the host's default environment does.
    #[inline(always)]
    pub const fn host16_64(self) -> bool {
        self.0 & 0xcc == 0xc0
    }
}
