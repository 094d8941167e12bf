//! Register units: the 32-bit pieces that every architectural register is made of.
//!
//! The numbering follows the hardware's source-operand codes where those exist (SGPRs from 0, VCC at 106, M0 at 124,
//! EXEC at 126, VGPRs from 256) and continues with the AGPRs at 512. The registers that have no code of their own take
//! the numbers from 128 on, which are constants as codes. Last come v256 to v1023, which only gfx1250 has: sets of the
//! other processors' registers stay short.

use std::fmt;
use std::hash::{Hash, Hasher};

/// The number of v256.
const HIGH: u16 = 768;

/// One 32-bit register unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(u16);

impl Reg {
    /// One past the largest unit number.
    pub const COUNT: usize = 1536;

    pub const FLAT_SCRATCH_LO: Reg = Reg(102); // gfx9: the codes of s102 and s103
    pub const FLAT_SCRATCH_HI: Reg = Reg(103);
    pub const XNACK_MASK_LO: Reg = Reg(104);
    pub const XNACK_MASK_HI: Reg = Reg(105);
    pub const VCC_LO: Reg = Reg(106);
    pub const VCC_HI: Reg = Reg(107);
    pub const M0: Reg = Reg(124);
    pub const EXEC_LO: Reg = Reg(126);
    pub const EXEC_HI: Reg = Reg(127);
    /// The scalar condition code, one bit.
    pub const SCC: Reg = Reg(253);
    /// Rounding, denormal, clamp and exception modes (`s_setreg`'s MODE).
    pub const MODE: Reg = Reg(128);
    /// VGPR-indexing mode (`s_set_gpr_idx_*`), kept by the hardware in MODE and M0.
    pub const GPR_IDX: Reg = Reg(129);
    /// Trap and status bits, reached only by `s_getreg`/`s_setreg`.
    pub const STATUS: Reg = Reg(130);
    pub const TRAPSTS: Reg = Reg(131);
    /// From RDNA1 on the base of scratch memory is no pair of SGPRs, but two hardware registers.
    pub const FLAT_SCRATCH_BASE_LO: Reg = Reg(132);
    pub const FLAT_SCRATCH_BASE_HI: Reg = Reg(133);

    /// SGPR `n`, 0 to 105; on gfx9 102 to 105 are FLAT_SCRATCH and XNACK_MASK.
    pub const fn sgpr(n: u16) -> Reg {
        assert!(n < 106);
        Reg(n)
    }
    /// Trap temporary `n`, 0 to 15.
    pub const fn ttmp(n: u16) -> Reg {
        assert!(n < 16);
        Reg(108 + n)
    }
    /// VGPR `n`, 0 to 1023 ([`crate::Target::vgprs`] tells how many there are).
    pub const fn vgpr(n: u16) -> Reg {
        assert!(n < 1024);
        Reg(if n < 256 { 256 + n } else { HIGH - 256 + n })
    }
    /// Accumulation VGPR `n`, 0 to 255.
    pub const fn agpr(n: u16) -> Reg {
        assert!(n < 256);
        Reg(512 + n)
    }
    /// The unit with this number. `None` past [`Reg::COUNT`].
    pub const fn from_index(index: usize) -> Option<Reg> {
        if index < Reg::COUNT { Some(Reg(index as u16)) } else { None }
    }
    /// The unit's number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    pub const fn is_sgpr(self) -> bool {
        self.0 < 102
    }
    pub const fn is_ttmp(self) -> bool {
        self.0 >= 108 && self.0 < 124
    }
    pub const fn is_vgpr(self) -> bool {
        self.0 >= 256 && !self.is_agpr()
    }
    pub const fn is_agpr(self) -> bool {
        self.0 >= 512 && self.0 < HIGH
    }
    /// MODE, STATUS and the like, which no operand names.
    pub const fn is_state(self) -> bool {
        self.0 >= Reg::MODE.0 && self.0 <= Reg::FLAT_SCRATCH_BASE_HI.0
    }
    /// The number within its file: 3 for s3, v3 and a3.
    pub const fn number(self) -> u16 {
        match self.0 {
            108..=123 => self.0 - 108,
            256..=511 => self.0 - 256,
            512..HIGH => self.0 - 512,
            HIGH.. => self.0 - HIGH + 256,
            n => n,
        }
    }
    /// The unit `by` places further on in the same file.
    pub const fn offset(self, by: u16) -> Reg {
        let to = self.0 + by;
        // v256 does not follow v255.
        Reg(if self.0 >= 256 && self.0 < 512 && to >= 512 { to - 512 + HIGH } else { to })
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reg::FLAT_SCRATCH_LO => f.write_str("flat_scratch_lo"),
            Reg::FLAT_SCRATCH_HI => f.write_str("flat_scratch_hi"),
            Reg::XNACK_MASK_LO => f.write_str("xnack_mask_lo"),
            Reg::XNACK_MASK_HI => f.write_str("xnack_mask_hi"),
            Reg::VCC_LO => f.write_str("vcc_lo"),
            Reg::VCC_HI => f.write_str("vcc_hi"),
            Reg::M0 => f.write_str("m0"),
            Reg::EXEC_LO => f.write_str("exec_lo"),
            Reg::EXEC_HI => f.write_str("exec_hi"),
            Reg::SCC => f.write_str("scc"),
            Reg::MODE => f.write_str("mode"),
            Reg::GPR_IDX => f.write_str("gpr_idx"),
            Reg::STATUS => f.write_str("status"),
            Reg::TRAPSTS => f.write_str("trapsts"),
            Reg::FLAT_SCRATCH_BASE_LO => f.write_str("flat_scratch_base_lo"),
            Reg::FLAT_SCRATCH_BASE_HI => f.write_str("flat_scratch_base_hi"),
            r if r.is_sgpr() => write!(f, "s{}", r.number()),
            r if r.is_ttmp() => write!(f, "ttmp{}", r.number()),
            r if r.is_vgpr() => write!(f, "v{}", r.number()),
            r if r.is_agpr() => write!(f, "a{}", r.number()),
            r => write!(f, "unit{}", r.0),
        }
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How much of its units a range names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Part {
    /// All bits.
    #[default]
    Whole,
    /// The low 16 bits of one unit: `v3.l`.
    Low,
    /// The high 16 bits of one unit: `v3.h`.
    High,
}

/// `count` consecutive units, as an operand names them: `s[4:7]`, `v3`, `vcc`; or half of one: `v3.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegRange {
    pub first: Reg,
    pub count: u8,
    pub part: Part,
}

impl RegRange {
    pub const fn new(first: Reg, count: u8) -> RegRange {
        RegRange { first, count, part: Part::Whole }
    }
    /// One half of a unit.
    pub const fn half(reg: Reg, high: bool) -> RegRange {
        RegRange { first: reg, count: 1, part: if high { Part::High } else { Part::Low } }
    }
    /// The bits above these 16 are not named.
    pub const fn is_half(self) -> bool {
        !matches!(self.part, Part::Whole)
    }
    pub fn units(self) -> impl Iterator<Item = Reg> {
        (0..u16::from(self.count)).map(move |i| self.first.offset(i))
    }
}

impl fmt::Display for RegRange {
    /// As LLVM's assembler writes it: `s3`, `v[0:1]`, `v3.h`, `vcc`, `exec`, `flat_scratch`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.first, self.first.number() + u16::from(self.count) - 1);
        match self.part {
            Part::Whole => {}
            Part::Low => return write!(f, "{first}.l"),
            Part::High => return write!(f, "{first}.h"),
        }
        match (first, self.count) {
            (first, 1) => write!(f, "{first}"),
            (Reg::VCC_LO, 2) => f.write_str("vcc"),
            (Reg::EXEC_LO, 2) => f.write_str("exec"),
            (Reg::FLAT_SCRATCH_LO, 2) => f.write_str("flat_scratch"),
            (Reg::XNACK_MASK_LO, 2) => f.write_str("xnack_mask"),
            (r, _) if r.is_ttmp() => write!(f, "ttmp[{}:{last}]", r.number()),
            (r, _) if r.is_vgpr() => write!(f, "v[{}:{last}]", r.number()),
            (r, _) if r.is_agpr() => write!(f, "a[{}:{last}]", r.number()),
            (r, _) => write!(f, "s[{}:{last}]", r.number()),
        }
    }
}

const WORDS: usize = Reg::COUNT.div_ceil(64);
/// The words that hold all units but v256 and up.
const LOW: usize = HIGH as usize / 64;

/// A set of register units: one bit each, so that data flow is a few wide operations.
///
/// Only code for gfx1250 has members in the upper half of the words. As long as a set never had any, the operations leave
/// that half alone: all other code does not pay for it.
#[derive(Clone, Copy)]
pub struct RegSet {
    words: [u64; WORDS],
    /// The words from [`LOW`] on may not be zero.
    high: bool,
}

impl RegSet {
    pub const EMPTY: RegSet = RegSet { words: [0; WORDS], high: false };

    #[inline]
    pub fn insert(&mut self, reg: Reg) {
        self.high |= reg.0 >= HIGH;
        self.words[reg.index() / 64] |= 1 << (reg.index() % 64);
    }
    #[inline]
    pub fn remove(&mut self, reg: Reg) {
        self.words[reg.index() / 64] &= !(1 << (reg.index() % 64));
    }
    #[inline]
    pub fn contains(&self, reg: Reg) -> bool {
        self.words[reg.index() / 64] >> (reg.index() % 64) & 1 != 0
    }
    pub fn insert_range(&mut self, range: RegRange) {
        range.units().for_each(|r| self.insert(r));
    }
    #[inline]
    pub fn union_with(&mut self, other: &RegSet) {
        self.combine(other, other.high, |a, b| a | b);
        self.high |= other.high;
    }
    #[inline]
    pub fn subtract(&mut self, other: &RegSet) {
        self.combine(other, self.high && other.high, |a, b| a & !b);
    }
    /// Word by word; those of the upper half only if it matters.
    #[inline]
    fn combine(&mut self, other: &RegSet, high: bool, f: impl Fn(u64, u64) -> u64) {
        let each = |to: &mut [u64], from: &[u64]| to.iter_mut().zip(from).for_each(|(a, b)| *a = f(*a, *b));
        each(&mut self.words[..LOW], &other.words[..LOW]);
        if high {
            each(&mut self.words[LOW..], &other.words[LOW..]);
        }
    }
    pub fn intersects(&self, other: &RegSet) -> bool {
        let any = |a: &[u64], b: &[u64]| a.iter().zip(b).any(|(a, b)| a & b != 0);
        any(&self.words[..LOW], &other.words[..LOW])
            || self.high && other.high && any(&self.words[LOW..], &other.words[LOW..])
    }
    /// Has every member of the other.
    #[inline]
    pub fn contains_all(&self, other: &RegSet) -> bool {
        let all = |a: &[u64], b: &[u64]| a.iter().zip(b).all(|(a, b)| b & !a == 0);
        all(&self.words[..LOW], &other.words[..LOW]) && (!other.high || all(&self.words[LOW..], &other.words[LOW..]))
    }
    pub fn is_empty(&self) -> bool {
        self.used().iter().all(|w| *w == 0)
    }
    /// The bits themselves: unit n is bit n % 64 of word n / 64.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// The set with these words, which are as many as [`RegSet::words`] gives, or the first of them.
    #[inline]
    pub fn from_words(words: &[u64]) -> RegSet {
        let mut set = RegSet::EMPTY;
        set.words[..words.len()].copy_from_slice(words);
        set.high = set.words[LOW..].iter().any(|w| *w != 0);
        set
    }
    /// The words that may not be zero.
    fn used(&self) -> &[u64] {
        &self.words[..if self.high { WORDS } else { LOW }]
    }
    pub fn len(&self) -> usize {
        self.used().iter().map(|w| w.count_ones() as usize).sum()
    }
    pub fn iter(&self) -> impl Iterator<Item = Reg> + '_ {
        self.used().iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then(|| Reg((i * 64) as u16 + bit as u16))
            })
        })
    }
}

impl PartialEq for RegSet {
    fn eq(&self, other: &RegSet) -> bool {
        self.words[..LOW] == other.words[..LOW]
            && (!(self.high || other.high) || self.words[LOW..] == other.words[LOW..])
    }
}
impl Eq for RegSet {}

impl Hash for RegSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words[..LOW].hash(state);
    }
}

impl Default for RegSet {
    fn default() -> Self {
        RegSet::EMPTY
    }
}

impl FromIterator<Reg> for RegSet {
    fn from_iter<I: IntoIterator<Item = Reg>>(regs: I) -> Self {
        let mut set = RegSet::EMPTY;
        regs.into_iter().for_each(|r| set.insert(r));
        set
    }
}

impl fmt::Debug for RegSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
