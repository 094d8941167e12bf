//! How the address of a memory access is put together from the instruction's operands.
//!
//! A shape is compiled into the hook; its inputs are bound where the template is placed. Instructions that differ in
//! registers and numbers only have one shape.
//!
//! What the address is: of device memory, an address; of scratch, the lane's offset in it; of LDS, an offset as well. Some
//! instructions access two places ([`Inst::accesses`]), each with an address of its own. Images, and tiles of tensors, have
//! none: where their elements lie their resources say, in ways that are not all documented. Bounds are not looked at: it
//! is where the access would be; whether it is made, [`super::RangeShape`] tells.
//!
//! Sources: the manuals' chapters on memory instructions and buffer resources, and LLVM's SIInstrInfo and GCNSubtarget;
//! the tests compare with the accesses of the mock device.

use luthier_isa::{
    DataType, Field, Flags, Format, Generation, Inst, MemoryAccess, Operand, Reg, RegRange, Space, Target, op::Op,
};

use crate::rejection::Rejection;

/// One value that goes into an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AddressInput {
    /// A register of the instruction.
    Reg(RegRange),
    /// A number of the instruction; as many low bits of it as the part has.
    Number(i64),
}

impl AddressInput {
    pub fn reg(self) -> Option<RegRange> {
        match self {
            AddressInput::Reg(range) => Some(range),
            AddressInput::Number(_) => None,
        }
    }
}

/// What is computed from the inputs; two instructions of one shape share a template.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct AddressShape {
    pub parts: Vec<AddressPart>,
    /// The lane's number times this is added.
    pub lane: u8,
    /// Low bits of the result that count: 64, or 32 where addresses wrap around there.
    pub bits: u8,
    /// The result is a multiple of this: bits below do not count.
    pub align: u8,
}

/// One input of a shape, and what becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct AddressPart {
    /// 32-bit units.
    pub units: u8,
    pub per_lane: bool,
    pub role: AddressRole,
}

/// What becomes of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AddressRole {
    /// It is added: the low `bits` of it, without those below `align`, extended by its sign or not, times `factor`.
    Term { bits: u8, align: u8, signed: bool, factor: u16 },
    /// The first two words of a buffer resource, which say how the index and the offset make an address.
    Resource,
    /// Its last word.
    ResourceFlags,
    /// The number of a record in the buffer.
    Index,
    /// An offset within the record. There may be two, which are added.
    Offset,
    /// The scalar offset, which not all processors treat alike.
    ScalarOffset,
    /// How many records the buffer has: one word of the resource, of gfx1250's its last two.
    Records,
}

impl AddressShape {
    /// The shape of an instruction's address, and its inputs in the order of the parts. `which` of its addresses that is
    /// need not be said where there is one.
    ///
    /// # Errors
    /// The instruction accesses no memory, accesses it in a way that no address describes, has several addresses
    /// where `which` names none, or fewer than `which` asks for.
    pub fn of(inst: &Inst, which: Option<u8>) -> Result<(AddressShape, Vec<AddressInput>), Rejection> {
        let none = || Rejection::NoAddress { mnemonic: inst.info().mnemonic };
        let places = inst.accesses().ok_or_else(none)?;
        let (number, access) = place(inst, &places, which)?;
        let mut parts = Parts::default();
        let shape = match access.space {
            Space::Image | Space::Gds => None,
            Space::Lds if places[0].lds => parts.transferred(inst, places[0].space, access.width),
            Space::Lds => parts.lds(inst, access, number),
            _ if inst.info().flags.contains(Flags::SMEM) => parts.scalar(inst, access.width),
            Space::Buffer => parts.buffer(inst),
            space => parts.flat(inst, space, access.width),
        };
        let (lane, bits, align) = shape.ok_or_else(none)?;
        Ok((AddressShape { parts: parts.parts, lane, bits, align }, parts.inputs))
    }

    /// It may differ between lanes.
    pub fn is_per_lane(&self) -> bool {
        // A resource may add the lane's number to the index.
        self.lane != 0 || self.parts.iter().any(|p| p.per_lane || p.role == AddressRole::Resource)
    }
}

/// The lane's factor, the bits and the alignment of an [`AddressShape`].
type Rest = (u8, u8, u8);

const WHOLE: Rest = (0, 64, 1);

/// A plain unsigned term.
const TERM: AddressRole = term(64);

const fn term(bits: u8) -> AddressRole {
    AddressRole::Term { bits, align: 1, signed: false, factor: 1 }
}

/// A number of 32 bits that may be negative.
const NUMBER: AddressRole = AddressRole::Term { bits: 32, align: 1, signed: true, factor: 1 };

#[derive(Default)]
pub(super) struct Parts {
    pub(super) parts: Vec<AddressPart>,
    pub(super) inputs: Vec<AddressInput>,
}

impl Parts {
    pub(super) fn reg(&mut self, range: RegRange, role: AddressRole) {
        let per_lane = range.first.is_vgpr();
        self.parts.push(AddressPart { units: range.count, per_lane, role });
        self.inputs.push(AddressInput::Reg(range));
    }

    /// Nothing if it is zero.
    fn number(&mut self, number: i64, role: AddressRole) {
        if number != 0 {
            self.parts.push(AddressPart { units: 1, per_lane: false, role });
            self.inputs.push(AddressInput::Number(number));
        }
    }

    fn flat(&mut self, inst: &Inst, space: Space, bytes: Option<u16>) -> Option<Rest> {
        let base = register(inst, Field::Saddr);
        let own = register(inst, Field::Addr).or(register(inst, Field::Vaddr));
        let rest = if space == Space::Scratch { 32 } else { 64 };
        let by_lane = inst.info().op().name().contains("addtid");
        if base.is_none() && own.is_none() && !by_lane && space != Space::Scratch {
            return None;
        }
        let scaled = inst.field(Field::ScaleOffset) == Some(1);
        if let Some(base) = base {
            self.reg(base, TERM);
        }
        if let Some(own) = own {
            let is_offset = own.count == 1;
            let factor = match scaled && is_offset {
                true => bytes?,
                false => 1,
            };
            let signed = is_offset && has_signed_offsets(inst);
            self.reg(own, AddressRole::Term { bits: if is_offset { 32 } else { 64 }, align: 1, signed, factor });
        }
        let (raw, width) = offset(inst)?;
        // Without a segment the field of the older ones has no sign.
        let unsigned = space == Space::Flat && width < 24;
        self.number(if unsigned { raw & ((1 << (width - 1)) - 1) } else { sign_extend(raw, width) }, NUMBER);
        Some((if by_lane { 4 } else { 0 }, rest, 1))
    }

    fn lds(&mut self, inst: &Inst, access: MemoryAccess, number: usize) -> Option<Rest> {
        let info = inst.info();
        // What M0 and the interpolation say of the place is not an address of the instruction's.
        if info.format == Format::Ldsdir {
            return None;
        }
        let fields = [Field::Offset0, Field::Offset1];
        let name = info.op().name();
        let offset = match inst.accesses()?.len() {
            1 => i64::from(inst.field(fields[0])?) | i64::from(inst.field(fields[1])?) << 8,
            _ => {
                let unit = i64::from(access.width?) * if name.contains("st64") { 64 } else { 1 };
                i64::from(inst.field(fields[number])?) * unit
            }
        };
        let by_lane = name.contains("addtid");
        match register(inst, Field::Addr) {
            Some(addr) if !by_lane => self.reg(addr, TERM),
            // The manual speaks of M0's upper half for the counters; LLVM puts the place into the lower one.
            _ if by_lane || matches!(info.op(), Op::DsAppend | Op::DsConsume) => {
                self.reg(RegRange::new(Reg::M0, 1), term(16));
            }
            _ => return None,
        }
        self.number(offset, NUMBER);
        Some((if by_lane { 4 } else { 0 }, 32, 1))
    }

    /// The place in LDS of a transfer between LDS and memory of this space. Asynchronous ones have a register for it; others
    /// move lane after lane, from M0 on.
    fn transferred(&mut self, inst: &Inst, space: Space, bytes: Option<u16>) -> Option<Rest> {
        let (raw, width) = offset(inst)?;
        let number = if space == Space::Buffer { raw } else { sign_extend(raw, width) };
        let info = inst.info();
        let lane = if info.base.contains("async") {
            self.reg(register(inst, Field::Vdst).or(register(inst, Field::Vdata))?, TERM);
            0
        } else {
            // gfx950 has more than 64 KB of LDS.
            let bits = if info.mode.target() == Target::Gfx950 { 18 } else { 16 };
            self.reg(RegRange::new(Reg::M0, 1), term(bits));
            // One value of a format takes a word.
            bytes.unwrap_or(4)
        };
        self.number(number, NUMBER);
        Some((u8::try_from(lane).ok()?, 32, 1))
    }

    fn scalar(&mut self, inst: &Inst, bytes: Option<u16>) -> Option<Rest> {
        let info = inst.info();
        let name = info.op().name();
        if name.starts_with("s_scratch_") {
            return None;
        }
        let base = register(inst, Field::Sbase)?;
        let sub_word = bytes.filter(|b| *b < 4);
        let is_buffer = name.starts_with("s_buffer_");
        let is_atomic = info.flags.contains(Flags::ATOMIC);
        // Of words the two lowest bits of the base and of each offset do not count; of a buffer's those of the sum of
        // the offsets, of atomics those of the whole.
        let align = if is_buffer || is_atomic || sub_word.is_some() { 1 } else { 4 };
        if is_buffer {
            self.reg(RegRange::new(base.first, 2), term(base_bits(inst)));
        } else {
            self.reg(base, AddressRole::Term { bits: 64, align, signed: false, factor: 1 });
        }
        self.scalar_offsets(inst, bytes, align)?;
        // The base of a buffer may be odd, though no known compiler makes such: then this would be wrong.
        let whole = if is_buffer && sub_word.is_none() { 4 } else { sub_word.unwrap_or(if is_atomic { 4 } else { 1 }) };
        Some((0, 64, whole as u8))
    }

    /// What a scalar access adds to its base, each in multiples of `align`.
    pub(super) fn scalar_offsets(&mut self, inst: &Inst, bytes: Option<u16>, align: u8) -> Option<()> {
        for (operand, value) in inst.operands() {
            match (operand.field, value) {
                (Field::Sdata | Field::Sbase, _) => {}
                (_, Operand::Reg(range)) => {
                    let factor = if inst.field(Field::ScaleOffset) == Some(1) { bytes? } else { 1 };
                    // What is scaled to words is whole words.
                    let align = if factor % 4 == 0 { 1 } else { align };
                    self.reg(range, AddressRole::Term { bits: 32, align, signed: false, factor });
                }
                (_, Operand::Imm(number)) if inst.field(Field::Imm) != Some(1) => {
                    self.number(number & !(i64::from(align) - 1), NUMBER);
                }
                _ => {}
            }
        }
        if inst.field(Field::Imm) == Some(1) {
            let (raw, width) = offset(inst)?;
            self.number(sign_extend(raw, width) & !(i64::from(align) - 1), NUMBER);
        }
        Some(())
    }

    fn buffer(&mut self, inst: &Inst) -> Option<Rest> {
        let resource = register(inst, Field::Srsrc)?;
        let low = RegRange::new(resource.first, 2);
        let wide = is_wide(inst);
        let [offset_role, scalar_role] =
            if wide { [term(32); 2] } else { [AddressRole::Offset, AddressRole::ScalarOffset] };
        if wide {
            self.reg(low, term(base_bits(inst)));
        } else {
            self.reg(low, AddressRole::Resource);
            self.reg(RegRange::new(resource.first.offset(3), 1), AddressRole::ResourceFlags);
        }
        self.buffer_offsets(inst, offset_role, scalar_role)?;
        Some(WHOLE)
    }

    /// Where in a buffer an access is: its record, its offset there, and the scalar offset.
    pub(super) fn buffer_offsets(
        &mut self,
        inst: &Inst,
        offset_role: AddressRole,
        scalar_role: AddressRole,
    ) -> Option<()> {
        let flag = |field| inst.field(field) == Some(1);
        let (indexed, offset_given) = (flag(Field::Idxen), flag(Field::Offen));
        let own = register(inst, Field::Vaddr);
        let nth = |n: u16| own.map(|own| RegRange::new(own.first.offset(n), 1));
        let (index, own_offset) = match (indexed, offset_given) {
            (true, true) => (nth(0), nth(1)),
            (true, false) => (nth(0), None),
            (false, true) => (None, nth(0)),
            (false, false) => (None, None),
        };
        if indexed && index.is_none() || offset_given && own_offset.is_none() {
            return None;
        }
        // No manual says where such a resource has its stride.
        if is_wide(inst) && indexed {
            return None;
        }
        if let Some(index) = index {
            self.reg(index, AddressRole::Index);
        }
        if let Some(own_offset) = own_offset {
            self.reg(own_offset, offset_role);
        }
        self.number(offset(inst)?.0, offset_role);
        match inst.operand_in(Field::Soffset) {
            Some(Operand::Reg(range)) => self.reg(range, scalar_role),
            Some(constant) => {
                self.number(constant.bits(DataType::I32).unwrap_or(0).cast_signed(), scalar_role);
            }
            None => {}
        }
        Some(())
    }
}

pub(super) fn register(inst: &Inst, field: Field) -> Option<RegRange> {
    inst.operand_in(field)?.reg()
}

/// The raw bits of the offset, and how many there are.
fn offset(inst: &Inst) -> Option<(i64, u32)> {
    let width = inst.info().layout().iter().filter(|(field, ..)| *field == Field::Offset).map(|(.., w)| u32::from(*w));
    Some((inst.field(Field::Offset)?.into(), width.sum()))
}

fn sign_extend(raw: i64, width: u32) -> i64 {
    raw << (64 - width) >> (64 - width)
}

/// A lane's offset from a scalar base has a sign.
fn has_signed_offsets(inst: &Inst) -> bool {
    inst.info().mode.target().generation() == Generation::Gfx1250
}

/// Bits of an address in a descriptor.
fn base_bits(inst: &Inst) -> u8 {
    if is_wide(inst) { 57 } else { 48 }
}

/// Buffer resources are those of gfx1250, whose fields lie elsewhere.
pub(super) fn is_wide(inst: &Inst) -> bool {
    inst.info().mode.target().generation() == Generation::Gfx1250
}

/// One of an instruction's places, by its number or because there is but one, with its number.
///
/// # Errors
/// There is none of this number, or there are several and no number is given.
pub fn place(inst: &Inst, places: &[MemoryAccess], which: Option<u8>) -> Result<(usize, MemoryAccess), Rejection> {
    let (mnemonic, count) = (inst.info().mnemonic, places.len());
    let number = match which {
        None if count > 1 => return Err(Rejection::SeveralPlaces { mnemonic, count }),
        None => 0,
        Some(number) => number.into(),
    };
    let place = places.get(number).ok_or(Rejection::NoPlace { mnemonic, count, number })?;
    Ok((number, *place))
}
