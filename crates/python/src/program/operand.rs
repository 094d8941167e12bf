//! Registers and operands.

use luthier_isa::{DataType, Field, Inst, Modifiers, Operand, OperandInfo, Part, Reg, RegRange, RegSet};
use pyo3::prelude::*;

use super::hash_of;

/// Consecutive 32-bit registers of one file. ``str`` of it is its name: ``s[4:5]``, ``v0``, ``vcc``.
#[pyclass(name = "Register", module = "luthier._core", frozen, skip_from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyRegister {
    first: Reg,
    count: u16,
}

#[pymethods]
impl PyRegister {
    /// ``sgpr``, ``vgpr``, ``agpr``, ``ttmp``, or ``special`` for VCC, EXEC, M0, SCC and the like.
    #[getter]
    fn file(&self) -> &'static str {
        match self.first {
            reg if reg.is_sgpr() => "sgpr",
            reg if reg.is_vgpr() => "vgpr",
            reg if reg.is_agpr() => "agpr",
            reg if reg.is_ttmp() => "ttmp",
            _ => "special",
        }
    }
    /// Of the first, within its file; None for special registers.
    #[getter]
    fn index(&self) -> Option<u16> {
        (self.file() != "special").then(|| self.first.number())
    }
    /// How many 32-bit registers.
    #[getter]
    fn width(&self) -> u16 {
        self.count
    }
    /// The number of the first register among all there are, how many, and ``""``: as :func:`instrument` takes it.
    #[getter]
    fn place(&self) -> (usize, u16, &'static str) {
        (self.first.index(), self.count, "")
    }
    /// As assembly has it.
    #[getter]
    pub fn name(&self) -> String {
        match u8::try_from(self.count) {
            Ok(count) => RegRange::new(self.first, count).to_string(),
            // All VGPRs there are, and the like.
            Err(_) => {
                let text = RegRange::new(self.first, 2).to_string();
                let prefix = text.split('[').next().unwrap_or_default();
                format!("{prefix}[{}:{}]", self.first.number(), self.first.number() + self.count - 1)
            }
        }
    }
    /// Both have a register in common.
    fn overlaps(&self, other: &PyRegister) -> bool {
        let range = |r: &PyRegister| match r.index() {
            Some(number) => usize::from(number)..usize::from(number + r.count),
            None => r.first.index()..r.first.index() + usize::from(r.count),
        };
        let (a, b) = (range(self), range(other));
        self.file() == other.file() && a.start < b.end && b.start < a.end
    }
    fn __str__(&self) -> String {
        self.name()
    }
    fn __repr__(&self) -> String {
        format!("<Register {}>", self.name())
    }
    fn __eq__(&self, other: &Self) -> bool {
        self == other
    }
    fn __hash__(&self) -> u64 {
        hash_of(self)
    }
}

impl PyRegister {
    pub fn of(range: RegRange) -> PyRegister {
        PyRegister { first: range.first, count: range.count.into() }
    }

    /// What is in a set, neighbours joined.
    pub fn all_of(set: &RegSet) -> Vec<PyRegister> {
        let mut found: Vec<PyRegister> = Vec::new();
        for reg in set.iter() {
            let one = PyRegister { first: reg, count: 1 };
            match found.last_mut() {
                Some(last)
                    if last.file() == one.file() && one.file() != "special" && last.first.offset(last.count) == reg =>
                {
                    last.count += 1;
                }
                _ => found.push(one),
            }
        }
        found
    }
}

/// One operand of an instruction.
#[pyclass(name = "Operand", module = "luthier._core", frozen)]
pub struct PyOperand {
    inst: Inst,
    info: &'static OperandInfo,
    address: u64,
}

#[pymethods]
impl PyOperand {
    /// Of the instruction that it belongs to, as the code object states it.
    #[getter]
    fn address(&self) -> u64 {
        self.address
    }
    /// The field that it is encoded in: ``vdst``, ``src0``, ``sbase``, ``simm16``, ...
    #[getter]
    fn name(&self) -> String {
        format!("{:?}", self.info.field).to_lowercase()
    }
    /// ``register``; ``inline``, a constant in the operand's code; ``literal``, the 32 bits behind the instruction;
    /// ``immediate``, a number in a field; ``special``, a read-only source such as ``src_shared_base``.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.operand() {
            Operand::Reg(_) => "register",
            Operand::Inline(_) => "inline",
            Operand::Literal(_) | Operand::Literal64(_) => "literal",
            Operand::Special(_) => "special",
            Operand::Imm(_) => "immediate",
        }
    }
    /// Of kind ``register``.
    #[getter]
    fn register(&self) -> Option<PyRegister> {
        match self.operand() {
            Operand::Reg(range) => Some(PyRegister::of(range)),
            _ => None,
        }
    }
    /// Of a register as :attr:`Register.place`, with ``"l"`` or ``"h"`` for half of one.
    #[getter]
    fn place(&self) -> Option<(usize, u8, &'static str)> {
        let Operand::Reg(range) = self.operand() else { return None };
        let part = match range.part {
            Part::Whole => "",
            Part::Low => "l",
            Part::High => "h",
        };
        Some((range.first.index(), range.count, part))
    }
    /// The number as written: of inline constants, literals (the bits) and immediates (with their sign).
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = match self.operand() {
            Operand::Imm(value) => value,
            Operand::Literal(value) => value.into(),
            Operand::Literal64(value) => return Ok(Some(value.into_pyobject(py)?.into_any())),
            Operand::Inline(code @ 128..=192) => i64::from(code) - 128,
            Operand::Inline(code @ 193..=208) => 192 - i64::from(code),
            constant @ Operand::Inline(_) => {
                let bits = constant.bits(DataType::F64).unwrap_or_default();
                return Ok(Some(f64::from_bits(bits).into_pyobject(py)?.into_any()));
            }
            Operand::Reg(_) | Operand::Special(_) => return Ok(None),
        };
        Ok(Some(value.into_pyobject(py)?.into_any()))
    }
    /// What a constant gives to the operation: bits of the operand's type.
    #[getter]
    fn bits(&self) -> Option<u64> {
        self.inst.constant(self.info)
    }
    /// How many 32-bit registers it spans; 0 of an immediate.
    #[getter]
    fn units(&self) -> u8 {
        self.info.units
    }
    /// How the operation reads constants here: ``f32``, ``i16``, ``v2f16``, ``b64``, ...; None where there can be none.
    #[getter]
    fn r#type(&self) -> Option<String> {
        (self.info.ty != DataType::None).then(|| format!("{:?}", self.info.ty).to_lowercase())
    }
    /// The instruction reads it.
    #[getter]
    fn is_read(&self) -> bool {
        self.info.access.reads()
    }
    /// The instruction writes it.
    #[getter]
    fn is_written(&self) -> bool {
        self.info.access.writes()
    }
    /// What is done to a source first: ``neg``, ``neg_hi``, ``abs``, ``sext``.
    #[getter]
    fn modifiers(&self) -> Vec<&'static str> {
        let Some(place) = source_number(self.info.field).filter(|_| self.info.modifiers != Modifiers::Plain) else {
            return Vec::new();
        };
        let bit = |field: Field, bit: u32| self.inst.field(field).is_some_and(|bits| bits >> bit & 1 != 0);
        let [neg, abs, sext] = match place {
            0 => [Field::Src0Neg, Field::Src0Abs, Field::Src0Sext],
            _ => [Field::Src1Neg, Field::Src1Abs, Field::Src1Sext],
        };
        let own = |field| place < 2 && bit(field, 0);
        let found = [
            ("neg", bit(Field::Neg, place) || own(neg)),
            ("neg_hi", bit(Field::NegHi, place)),
            ("abs", bit(Field::Abs, place) || own(abs)),
            ("sext", own(sext)),
        ];
        found.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
    }
    fn __str__(&self) -> String {
        match self.operand() {
            Operand::Reg(range) => range.to_string(),
            Operand::Imm(value) => value.to_string(),
            Operand::Literal(value) => format!("{value:#x}"),
            Operand::Literal64(value) => format!("{value:#x}"),
            Operand::Inline(code @ 128..=192) => (i64::from(code) - 128).to_string(),
            Operand::Inline(code @ 193..=208) => (192 - i64::from(code)).to_string(),
            constant @ Operand::Inline(_) => {
                f64::from_bits(constant.bits(DataType::F64).unwrap_or_default()).to_string()
            }
            Operand::Special(code) => Operand::special_name(code).to_owned(),
        }
    }
    fn __repr__(&self) -> String {
        format!("<Operand {}: {}>", self.name(), self.__str__())
    }
}

impl PyOperand {
    /// Of an instruction at an address.
    pub fn all_of(inst: &Inst, address: u64) -> Vec<PyOperand> {
        inst.info().operands.iter().map(|info| PyOperand { inst: *inst, info, address }).collect()
    }
    fn operand(&self) -> Operand {
        self.inst.operand(self.info)
    }
}

/// Which of the sources that modifiers are numbered by.
fn source_number(field: Field) -> Option<u32> {
    match field {
        Field::Src0 | Field::Vsrc0 => Some(0),
        Field::Src1 | Field::Vsrc1 => Some(1),
        Field::Src2 | Field::Vsrc2 => Some(2),
        _ => None,
    }
}
