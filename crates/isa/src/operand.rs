//! Operand values: what a field's bits name, and back.

use crate::codes::{self, Code};
use crate::half;
use crate::{DataType, Field, File, Flags, Format, Inst, OperandInfo, Reg, RegRange};

/// The value of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Operand {
    Reg(RegRange),
    /// An inline constant, by its source-operand code (128 to 208, 240 to 248). [`Operand::bits`] expands it.
    Inline(u16),
    /// The 32-bit literal that follows the instruction.
    Literal(u32),
    /// The 64-bit literal that follows the instruction (gfx1250). An operation on fewer bits takes the low ones.
    Literal64(u64),
    /// A read-only special source, by code: shared_base (235) to pops_exiting_wave_id (239), vccz (251), execz (252),
    /// scc (253), lds_direct (254); null (125, whatever its code) and flat_scratch_base (230, 231), which LLVM names although
    /// only later processors have them.
    Special(u16),
    /// An immediate field; 16-bit ones and scalar memory offsets sign-extended, whatever the operation makes of them.
    Imm(i64),
}

impl Operand {
    /// The assembly's name of a read-only source, by its number in [`Operand::Special`].
    pub fn special_name(code: u16) -> &'static str {
        codes::special_name(code)
    }

    /// What a constant operand supplies to an operation of this type, as raw bits; `None` for registers and specials.
    ///
    /// Integers 0 to 64 and -1 to -16 are sign-extended to the type's width; the floating-point constants (halves, ones,
    /// twos, fours and 1/2pi) take the type's format, where packed 16-bit types get theirs in the low half only. A
    /// literal is zero-extended, except for f64, whose high half it is.
    pub fn bits(self, ty: DataType) -> Option<u64> {
        use DataType::{B16, B64, Bf16, F16, F64, I16, I64, V2Bf16, V2F16};
        let narrow = |wide: u64| match ty {
            B64 | I64 | F64 => wide,
            B16 | I16 | F16 | Bf16 => wide & 0xffff,
            _ => wide & 0xffff_ffff,
        };
        match self {
            Operand::Imm(value) => Some(narrow(value as u64)),
            Operand::Literal(value) => Some(match ty {
                F64 => u64::from(value) << 32,
                _ => narrow(u64::from(value)),
            }),
            Operand::Literal64(value) => Some(narrow(value)),
            Operand::Inline(code @ 128..=192) => Some(u64::from(code) - 128),
            Operand::Inline(code @ 193..=208) => Some(narrow((192 - i64::from(code)) as u64)),
            Operand::Inline(code @ 240..=248) => {
                let at = usize::from(code - 240);
                Some(match ty {
                    B64 | I64 | F64 => FLOATS[at].to_bits(),
                    // Packed integers see the f32 constant, as LLVM's encoder has it.
                    B16 | I16 | F16 | V2F16 => u64::from(HALVES[at]),
                    Bf16 | V2Bf16 => u64::from(SINGLES[at] >> 16),
                    _ => u64::from(SINGLES[at]),
                })
            }
            Operand::Inline(_) | Operand::Reg(_) | Operand::Special(_) => None,
        }
    }

    /// A source that is the same number whenever the instruction runs: an inline constant or a literal of either size.
    /// Immediate fields are no sources.
    pub const fn is_constant(self) -> bool {
        match self {
            Operand::Inline(_) | Operand::Literal(_) | Operand::Literal64(_) => true,
            Operand::Reg(_) | Operand::Special(_) | Operand::Imm(_) => false,
        }
    }

    /// The register tuple, if it is one.
    pub fn reg(self) -> Option<RegRange> {
        if let Operand::Reg(range) = self { Some(range) } else { None }
    }
}

/// Codes 240 to 248. The last is 1/(2 pi), as the hardware rounds it in each format.
const FLOATS: [f64; 9] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, f64::from_bits(0x3fc4_5f30_6dc9_c882)];
const SINGLES: [u32; 9] = [
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc000_0000,
    0x4080_0000,
    0xc080_0000,
    0x3e22_f983,
];
const HALVES: [u16; 9] = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];

const LITERAL: u32 = 255;
const LITERAL_64: u32 = 254;
const VGPR: u32 = 256;

/// How many register units one step of the field's value is: resource descriptors count in fours.
const fn scale(field: Field, width: u32) -> u32 {
    match field {
        // RDNA4 has source codes there.
        _ if width == 9 => 1,
        Field::Sbase => 2,
        Field::Srsrc | Field::Ssamp => 4,
        _ => 1,
    }
}

/// The acc bit that qualifies a vector operand.
fn acc_bit(inst: &Inst, field: Field) -> Option<(Field, u32)> {
    let (acc, bit) = match (inst.info().format, field) {
        (Format::Mai | Format::MaiScaled, Field::Src0) => (Field::Acc, 0),
        (Format::Mai | Format::MaiScaled, Field::Src1) => (Field::Acc, 1),
        (Format::Mai | Format::MaiScaled, _) => (Field::AccCd, 0),
        (Format::Ds | Format::Flat | Format::Mubuf | Format::Mtbuf | Format::Mimg, _) => (Field::Acc, 0),
        _ => return None,
    };
    inst.field(acc).map(|_| (acc, bit))
}

/// The SDWA bit that says that a source is scalar.
fn sdwa_scalar(format: Format, field: Field) -> Option<Field> {
    match (format, field) {
        (Format::Sdwa1 | Format::Sdwa2 | Format::SdwaC, Field::Src0) => Some(Field::S0),
        (Format::Sdwa1 | Format::Sdwa2 | Format::SdwaC, Field::Vsrc1) => Some(Field::S1),
        _ => None,
    }
}

fn sign_extend(raw: u32, width: u32) -> i64 {
    i64::from((raw << (32 - width)) as i32 >> (32 - width))
}

/// What a scalar source code (below 256) names. Tuples start at even numbers, those of more than two units at multiples of
/// four: what the low bits of another code do is not documented, and LLVM drops them.
fn scalar(inst: &Inst, code: u32, units: u8) -> Option<Operand> {
    let generation = inst.info().mode.target().generation();
    match codes::meaning(generation, code) {
        Code::Reg(reg) => {
            let align = match units {
                0 | 1 => 1,
                2 => 2,
                _ => 4,
            };
            let aligned = code & !(align - 1);
            let first = if aligned == code { Code::Reg(reg) } else { codes::meaning(generation, aligned) };
            let Code::Reg(first) = first else { return None };
            Some(Operand::Reg(RegRange::new(first, units)))
        }
        Code::Inline => Some(Operand::Inline(code as u16)),
        Code::Special(special) => Some(Operand::Special(special)),
        Code::Literal => Some(Operand::Literal(inst.literal()?)),
        Code::Literal64 => Some(Operand::Literal64(inst.literal64()?)),
        Code::Nothing => None,
    }
}

fn vector(inst: &Inst, first: Reg, units: u8) -> Option<Operand> {
    // Where there are more, a tuple may begin with one of the first 256 and run on.
    let end = if first.is_vgpr() { inst.info().mode.target().vgprs() } else { 256 };
    (first.number() + u16::from(units) <= end).then_some(Operand::Reg(RegRange::new(first, units)))
}

/// The operand's value; `None` if the field's bits name nothing.
pub fn read(inst: &Inst, info: &OperandInfo) -> Option<Operand> {
    let named = named(inst, info)?;
    Some(if inst.is_plain() { named } else { meant(inst, info, named) })
}

/// What a register is under the upper bits of the instruction's VGPR numbers. What runs past the last one is shown as it
/// is encoded.
#[cold]
pub fn meant(inst: &Inst, info: &OperandInfo, named: Operand) -> Operand {
    inst.msb().and_then(|msb| msb.meant(inst.info(), info.field, named)).unwrap_or(named)
}

/// The same if the upper bits of VGPR numbers are zero.
pub fn named(inst: &Inst, info: &OperandInfo) -> Option<Operand> {
    if let Some(first) = info.fixed {
        return Some(Operand::Reg(RegRange::new(first, info.units)));
    }
    if info.field == Field::Literal {
        let wide = inst.info().flags.contains(Flags::LITERAL_64);
        return if wide { inst.literal64().map(Operand::Literal64) } else { inst.literal().map(Operand::Literal) };
    }
    let format = inst.info().format;
    let (raw, width) = inst.raw_field(info.field)?;
    if info.half && (width < 9 || raw >= VGPR || format == Format::Vinterp) {
        return half::read(inst, info, raw);
    }
    match info.file {
        // The second operation's destination is odd where the first one's is even.
        _ if info.field == Field::VdstY && format == Format::Vopd => {
            let lowest = !inst.field(Field::VdstX)? & 1;
            vector(inst, Reg::vgpr((raw << 1 | lowest) as u16), info.units)
        }
        File::Immediate if matches!(info.field, Field::Simm16 | Field::Offset) => {
            Some(Operand::Imm(sign_extend(raw, width)))
        }
        File::Immediate => Some(Operand::Imm(raw.into())),
        File::Scalar if format == Format::SdwaC && info.field == Field::Sdst => {
            let named = inst.field(Field::Sd)? == 1;
            scalar(inst, if named { raw } else { 106 }, info.units)
        }
        // SMEM's register offset lies in the low bits of the immediate offset.
        File::Scalar if info.field == Field::Offset => scalar(inst, raw & 0x7f, info.units),
        // Whatever the operand's register file, codes below 256 are scalar ones: an accumulator may be a constant.
        _ if width == 9 && raw < VGPR => scalar(inst, raw, info.units),
        File::Scalar if width == 9 => vector(inst, Reg::vgpr((raw & 0xff) as u16), info.units),
        File::Scalar => scalar(inst, raw * scale(info.field, width), info.units),
        File::Agpr => vector(inst, Reg::agpr((raw & 0xff) as u16), info.units),
        File::Vgpr | File::Vector | File::Source => {
            if let Some(flag) = sdwa_scalar(format, info.field)
                && inst.field(flag) == Some(1)
            {
                return scalar(inst, raw, info.units);
            }
            let number = (raw & 0xff) as u16;
            let accumulator = info.file == File::Vector
                && acc_bit(inst, info.field).is_some_and(|(f, bit)| inst.field(f).unwrap_or(0) >> bit & 1 != 0);
            vector(inst, if accumulator { Reg::agpr(number) } else { Reg::vgpr(number) }, info.units)
        }
    }
}

/// Puts a value into the operand's field. `None` if it cannot be encoded there.
pub fn write(inst: &mut Inst, info: &OperandInfo, value: Operand) -> Option<()> {
    if let Some(first) = info.fixed {
        return (value == Operand::Reg(RegRange::new(first, info.units))).then_some(());
    }
    if info.field == Field::Literal {
        match (value, inst.info().flags.contains(Flags::LITERAL_64)) {
            (Operand::Literal(literal), false) => inst.set_literal(Some(literal)),
            (Operand::Literal64(literal), true) => inst.set_literal64(literal),
            _ => return None,
        }
        return Some(());
    }
    let format = inst.info().format;
    let generation = inst.info().mode.target().generation();
    let (_, width) = inst.raw_field(info.field)?;
    let raw = match value {
        Operand::Reg(range) if range.is_half() => return half::write(inst, info, range),
        Operand::Imm(value) if info.file == File::Immediate => {
            let unsigned = value as u64 & ((1u64 << width) - 1);
            let fits = sign_extend(unsigned as u32, width) == value || value as u64 == unsigned;
            return if fits { inst.put_field(info.field, unsigned as u32) } else { None };
        }
        Operand::Reg(range) if range.count == info.units => register(inst, info, range.first, width)?,
        Operand::Inline(code) if accepts_codes(info, width) => u32::from(code),
        Operand::Special(special) if accepts_codes(info, width) => codes::of_special(generation, special)?,
        Operand::Special(codes::NULL) if info.file == File::Scalar => {
            codes::of_special(generation, codes::NULL)? / scale(info.field, width)
        }
        // Not every opcode can be followed by a literal.
        Operand::Literal(literal) if accepts_codes(info, width) && !inst.info().legality.literals.is_empty() => {
            inst.set_literal(Some(literal));
            LITERAL
        }
        Operand::Literal64(literal)
            if accepts_codes(info, width)
                && !inst.info().legality.literals.is_empty()
                && codes::meaning(generation, LITERAL_64) == Code::Literal64 =>
        {
            inst.set_literal64(literal);
            LITERAL_64
        }
        _ => return None,
    };
    if let Some(flag) = sdwa_scalar(format, info.field) {
        let is_vector = matches!(value, Operand::Reg(r) if r.first.is_vgpr());
        inst.put_field(flag, u32::from(!is_vector))?;
    }
    inst.put_field(info.field, raw)?;
    (read(inst, info) == Some(value)).then_some(())
}

/// The field is a source that also takes constant codes; which of them, the legality of the result tells.
fn accepts_codes(info: &OperandInfo, width: u32) -> bool {
    match info.file {
        File::Source => true,
        File::Scalar => width >= 8,
        File::Vgpr | File::Agpr | File::Vector => width == 9,
        File::Immediate => false,
    }
}

fn register(inst: &mut Inst, info: &OperandInfo, first: Reg, width: u32) -> Option<u32> {
    let number = u32::from(first.number()) & 0xff;
    let format = inst.info().format;
    if let Some(code) = codes::of(inst.info().mode.target().generation(), first) {
        return match info.file {
            File::Scalar if format == Format::SdwaC && info.field == Field::Sdst => {
                let is_vcc = first == Reg::VCC_LO;
                inst.put_field(Field::Sd, u32::from(!is_vcc))?;
                Some(if is_vcc { 0 } else { code })
            }
            File::Scalar => code.is_multiple_of(scale(info.field, width)).then_some(code / scale(info.field, width)),
            _ => (width == 9 || sdwa_scalar(format, info.field).is_some()).then_some(code),
        };
    }
    if info.field == Field::VdstY && format == Format::Vopd {
        let fits = first.is_vgpr() && number & 1 != inst.field(Field::VdstX)? & 1;
        return fits.then_some(number >> 1);
    }
    let raw = if width == 9 { VGPR + number } else { number };
    let acc = acc_bit(inst, info.field).filter(|_| info.file == File::Vector);
    match (info.file, acc) {
        (File::Immediate, _) => None,
        (File::Agpr, _) => first.is_agpr().then_some(raw),
        (_, Some((field, bit))) => {
            let old = inst.field(field)?;
            inst.put_field(field, old & !(1 << bit) | u32::from(first.is_agpr()) << bit)?;
            Some(raw)
        }
        (File::Scalar, None) if width < 9 => None,
        _ => first.is_vgpr().then_some(raw),
    }
}
