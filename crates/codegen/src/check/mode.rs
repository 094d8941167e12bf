//! The MODE register, bit by bit: which bits are what they were, and which are known.

use luthier_isa::VgprMsb;

/// Rounding and denormal bits.
const FP: u32 = 0xff;
/// Round to nearest even, keep all denormals: what hooks are compiled for.
const FP_DEFAULT: u32 = 0xf0;

/// A bit may be both its old self and known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModeBits {
    /// Bits that this has anything of: all of them in the register, some of them in a copy.
    covers: u32,
    own: u32,
    known: u32,
    value: u32,
    /// What was known at the start.
    start_known: u32,
    start: u32,
}

impl ModeBits {
    /// At the start: rounding and denormal bits are known if the component never changes them, the upper bits of VGPR
    /// numbers if the processor has them.
    pub fn at_start(default_fp: bool, msb: Option<VgprMsb>) -> ModeBits {
        let mut bits = ModeBits { covers: u32::MAX, own: u32::MAX, known: 0, value: 0, start_known: 0, start: 0 };
        if default_fp {
            (bits.known, bits.value) = (FP, FP_DEFAULT);
        }
        if let Some(msb) = msb {
            let mask = VgprMsb::from_bits(0xff).in_mode(0);
            (bits.known, bits.value) = (bits.known | mask, bits.value | msb.in_mode(0));
        }
        (bits.start_known, bits.start) = (bits.known, bits.value);
        bits
    }
    /// A copy of some bits.
    pub fn copied(self, mask: u32) -> ModeBits {
        ModeBits {
            covers: self.covers & mask,
            own: self.own & mask,
            known: self.known & mask,
            value: self.value & mask & self.known,
            ..self
        }
    }
    /// Some bits from a copy; those that it does not cover are lost.
    pub fn put(&mut self, mask: u32, from: ModeBits) {
        let has = mask & from.covers;
        self.own = self.own & !mask | from.own & has;
        self.known = self.known & !mask | from.known & has;
        self.value = self.value & !mask | from.value & has & from.known;
    }
    /// Some bits to a number. Those that are that already stay what they were.
    pub fn set(&mut self, mask: u32, value: u32) {
        let same = self.known & !(self.value ^ value);
        self.own &= !mask | same;
        self.known |= mask;
        self.value = self.value & !mask | value & mask;
    }
    pub fn lose(&mut self, mask: u32) {
        self.own &= !mask;
        self.known &= !mask;
        self.value &= !mask;
    }
    /// Bits that are not what they were. What is known to be as it was at the start is.
    pub fn changed(self) -> u32 {
        !(self.own | self.known & self.start_known & !(self.value ^ self.start))
    }
    pub fn has_default_fp(self) -> bool {
        self.known & FP == FP && self.value & FP == FP_DEFAULT
    }
    pub fn msb(self) -> Option<VgprMsb> {
        let mask = VgprMsb::from_bits(0xff).in_mode(0);
        (self.known & mask == mask).then(|| VgprMsb::from_mode(self.value))
    }
    pub fn set_msb(&mut self, msb: Option<VgprMsb>) {
        let mask = VgprMsb::from_bits(0xff).in_mode(0);
        match msb {
            Some(msb) => self.set(mask, msb.in_mode(0)),
            None => self.lose(mask),
        }
    }
    /// All old bits, as a hook that asks for MODE is to find them.
    pub fn is_own_copy(self) -> bool {
        self.covers == u32::MAX && self.changed() == 0
    }
}
