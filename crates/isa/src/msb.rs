//! The upper VGPRs of gfx1250: which register an instruction's vector operand is.
//!
//! A wave of gfx1250 has up to 1024 VGPRs, but an operand field names 256. The two bits above come from the MODE register:
//! a pair of them for each of four *slots*, to which the operands of every format are assigned. `s_set_vgpr_msb` sets all
//! four pairs. An [`Inst`] as decoded takes them for zero; code that follows the program puts it [`Inst::at`] those of the
//! place.
//!
//! Sources: the "VGPR MSB" paragraphs of LLVM's `AMDGPULowerVGPREncoding` pass, and llvm-objdump, which remarks on the
//! registers: the tests compare with it.

use crate::{Field, Format, Inst, OpcodeInfo, Operand, OperandInfo, Reg, RegRange};

/// The four places that have upper bits of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Slot {
    /// The first source, or the address.
    First,
    /// The second source, or the data of a store.
    Second,
    /// The third source, or the second data of an LDS operation.
    Third,
    /// The destination, or a buffer's data.
    Destination,
}

/// The upper two bits of the VGPR numbers of each slot, as the low byte of `s_set_vgpr_msb`'s immediate has them: those of
/// [`Slot::First`] lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct VgprMsb(u8);

/// What an instruction does to the bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MsbChange {
    Keeps,
    Sets(VgprMsb),
    /// A scalar register says to what (`s_setreg_b32` on MODE).
    Unknown,
}

/// Where MODE has the bits: those of the destination lowest, then the three sources'.
const MODE_LOW: u32 = 12;

impl VgprMsb {
    /// What a kernel starts with, and what functions are called with by convention: fields name v0 to v255.
    pub const ZERO: VgprMsb = VgprMsb(0);

    /// From the low byte of `s_set_vgpr_msb`'s immediate.
    pub const fn from_bits(bits: u8) -> VgprMsb {
        VgprMsb(bits)
    }
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// From the value of the MODE register.
    pub const fn from_mode(mode: u32) -> VgprMsb {
        VgprMsb(((mode >> MODE_LOW) as u8).rotate_right(2))
    }
    /// The MODE register with these bits in the place of those that it has.
    pub const fn in_mode(self, mode: u32) -> u32 {
        mode & !(0xff << MODE_LOW) | (self.0.rotate_left(2) as u32) << MODE_LOW
    }
    /// The upper bits of the slot's VGPR numbers, 0 to 3.
    pub const fn of(self, slot: Slot) -> u16 {
        (self.0 >> (2 * slot as u32) & 3) as u16
    }

    /// The operand's value, with the register that it is under these bits. `None` if a tuple runs past v1023,
    /// whose meaning no manual gives.
    pub fn operand(self, inst: &Inst, info: &'static OperandInfo) -> Option<Operand> {
        self.meant(inst.info(), info.field, inst.named(info))
    }

    pub(crate) fn meant(self, info: &OpcodeInfo, field: Field, named: Operand) -> Option<Operand> {
        match (named, slot(info, field)) {
            (Operand::Reg(range), Some(slot)) if range.first.is_vgpr() => self.range(slot, range).map(Operand::Reg),
            _ => Some(named),
        }
    }

    /// Under these bits every operand of the instruction is a register that there is.
    pub fn fits(self, inst: &Inst) -> bool {
        self == VgprMsb::ZERO || inst.info().operands.iter().all(|o| self.operand(inst, o).is_some())
    }

    /// What the registers that an operand of the slot names are under these bits; `None` past v1023.
    pub fn range(self, slot: Slot, named: RegRange) -> Option<RegRange> {
        let first = named.first.number() + 256 * self.of(slot);
        (first + u16::from(named.count) <= 1024).then(|| RegRange { first: Reg::vgpr(first), ..named })
    }
}

/// What the instruction does to the bits, for those that come behind it.
pub fn change(inst: &Inst) -> MsbChange {
    const MODE: u32 = 1;
    let info = inst.info();
    if info.mode.target().vgprs() <= 256 {
        return MsbChange::Keeps;
    }
    let immediate = inst.field(Field::Simm16).unwrap_or(0);
    let (register, offset, size) = (immediate & 0x3f, immediate >> 6 & 0x1f, (immediate >> 11 & 0x1f) + 1);
    match info.base {
        "s_set_vgpr_msb" => MsbChange::Sets(VgprMsb(immediate as u8)),
        // The processor takes the bits from their place in the literal, whichever bits of MODE it is told to set.
        "s_setreg_imm32_b32" if register == MODE => MsbChange::Sets(VgprMsb::from_mode(inst.literal().unwrap_or(0))),
        "s_setreg_b32" if register == MODE && offset < MODE_LOW + 8 && offset + size > MODE_LOW => MsbChange::Unknown,
        _ => MsbChange::Keeps,
    }
}

/// The slot of the operand in this field; `None` if it has no upper bits: it is no VGPR, or holds the scales of a matrix
/// operation, or the processor has no more than 256.
pub fn slot(info: &OpcodeInfo, field: Field) -> Option<Slot> {
    use Slot::{Destination, First, Second, Third};
    if info.mode.target().vgprs() <= 256 || info.base.starts_with("v_wmma_ld_scale") {
        return None;
    }
    // Of `v_fmamk`, the literal is the second source.
    let fmamk = |half: usize| info.mnemonic.split(" :: ").nth(half).is_some_and(|name| name.contains("_fmamk_"));
    let behind_literal = |half: usize| if fmamk(half) { Third } else { Second };
    Some(match (info.format.plain(), field) {
        (Format::Mubuf | Format::Mtbuf, Field::Vdata) => Destination,
        (Format::Mubuf | Format::Mtbuf, Field::Vaddr) => First,
        (Format::Mubuf | Format::Mtbuf, _) => return None,
        (Format::Vopd | Format::Vopd3, Field::Vsrc1X) => behind_literal(0),
        (Format::Vopd | Format::Vopd3, Field::Vsrc1Y) => behind_literal(1),
        (Format::Vop2, Field::Vsrc1) => behind_literal(0),
        (_, Field::Src0 | Field::Src0X | Field::Src0Y | Field::Addr) => First,
        (_, Field::Src1 | Field::Vsrc1 | Field::Vdata | Field::Data0) => Second,
        (_, Field::Src2 | Field::Vsrc2X | Field::Vsrc2Y | Field::Data1) => Third,
        (_, Field::Vdst | Field::VdstX | Field::VdstY) => Destination,
        _ => return None,
    })
}
