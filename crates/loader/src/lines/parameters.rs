//! What DWARF says of a function's parameters: their names and C types.

use std::fmt;

use gimli::{AttributeValue, DebuggingInformationEntry, Unit, UnitOffset, constants};

use super::build::{Opened, units};
use super::sections::{Sections, Slice, Work, because};
use crate::{CodeObject, LoadError};

const INFO: &str = ".debug_info";
/// Typedefs, qualifiers and pointers in one another; real ones stay below ten.
const MAX_DEPTH: usize = 32;

/// How the bits of a number are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberKind {
    Bool,
    Float,
    Signed,
    Unsigned,
}

/// A C type, as far as a caller who passes a value has to know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParameterType {
    Number {
        kind: NumberKind,
        /// In bytes.
        size: u64,
        name: String,
    },
    Pointer(Box<ParameterType>),
    /// A structure, `void`, or what is not understood.
    Other(String),
}

/// `float *`, `unsigned int`.
impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterType::Number { name, .. } | ParameterType::Other(name) => f.write_str(name),
            ParameterType::Pointer(to) if matches!(**to, ParameterType::Pointer(_)) => write!(f, "{to}*"),
            ParameterType::Pointer(to) => write!(f, "{to} *"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    pub name: Option<String>,
    pub kind: ParameterType,
}

/// The parameters of the function whose code begins at `address`, in order; `None` where DWARF does not have it.
///
/// # Errors
/// DWARF is damaged.
pub fn parameters(object: &CodeObject, address: u64) -> Result<Option<Vec<Parameter>>, LoadError> {
    let sections = Sections::of(object)?;
    let dwarf = sections.dwarf()?;
    let mut work = sections.work();
    for Opened { unit, .. } in &units(&sections, &dwarf, &mut work)? {
        let mut reader = Reader { dwarf: &dwarf, unit, work: &mut work };
        if let Some(found) = reader.function(address)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

struct Reader<'r, 's> {
    dwarf: &'r gimli::Dwarf<Slice<'s>>,
    unit: &'r Unit<Slice<'s>>,
    work: &'r mut Work,
}

type Entry<'s> = DebuggingInformationEntry<Slice<'s>>;

impl<'s> Reader<'_, 's> {
    fn function(&mut self, address: u64) -> Result<Option<Vec<Parameter>>, LoadError> {
        let mut entries = self.unit.entries_raw(None).map_err(because(INFO))?;
        let mut entry = Entry::null();
        let mut inside: Option<isize> = None;
        let mut found = Vec::new();
        while !entries.is_empty() {
            let depth = entries.next_depth();
            if inside.is_some_and(|function| depth <= function) {
                break;
            }
            entries.read_entry(&mut entry).map_err(because(INFO))?;
            self.work.spend(entry.attrs().len() + 1)?;
            match (inside, entry.tag()) {
                (None, constants::DW_TAG_subprogram) if self.begins_at(&entry, address)? => inside = Some(depth),
                (Some(function), constants::DW_TAG_formal_parameter) if depth == function + 1 => {
                    found.push(self.parameter(&entry)?);
                }
                _ => {}
            }
        }
        Ok(inside.map(|_| found))
    }

    fn begins_at(&self, entry: &Entry<'s>, address: u64) -> Result<bool, LoadError> {
        let Some(low) = entry.attr_value(constants::DW_AT_low_pc) else { return Ok(false) };
        Ok(self.dwarf.attr_address(self.unit, low).map_err(because(INFO))? == Some(address))
    }

    /// A parameter of code that was compiled from a description elsewhere refers to that.
    fn parameter(&mut self, entry: &Entry<'s>) -> Result<Parameter, LoadError> {
        let origin = match entry.attr_value(constants::DW_AT_abstract_origin) {
            Some(AttributeValue::UnitRef(offset)) => Some(self.entry(offset)?),
            _ => None,
        };
        let described = origin.as_ref().unwrap_or(entry);
        let name = self.name(described)?;
        Ok(Parameter { name, kind: self.type_of(described, 0)? })
    }

    fn entry(&mut self, offset: UnitOffset) -> Result<Entry<'s>, LoadError> {
        let entry = self.unit.entry(offset).map_err(because(INFO))?;
        self.work.spend(entry.attrs().len() + 1)?;
        Ok(entry)
    }

    fn name(&mut self, entry: &Entry<'s>) -> Result<Option<String>, LoadError> {
        let Some(value) = entry.attr_value(constants::DW_AT_name) else { return Ok(None) };
        let text = self.dwarf.attr_string(self.unit, value).map_err(because(INFO))?;
        self.work.spend(text.len())?;
        Ok(Some(text.to_string_lossy().into_owned()))
    }

    /// The type that an entry refers to.
    fn type_of(&mut self, entry: &Entry<'s>, depth: usize) -> Result<ParameterType, LoadError> {
        let offset = match entry.attr_value(constants::DW_AT_type) {
            Some(AttributeValue::UnitRef(offset)) if depth < MAX_DEPTH => offset,
            Some(_) => return Ok(ParameterType::Other("a type that is described elsewhere".into())),
            None => return Ok(ParameterType::Other("void".into())),
        };
        let entry = self.entry(offset)?;
        match entry.tag() {
            constants::DW_TAG_pointer_type | constants::DW_TAG_reference_type => {
                Ok(ParameterType::Pointer(Box::new(self.type_of(&entry, depth + 1)?)))
            }
            constants::DW_TAG_typedef
            | constants::DW_TAG_const_type
            | constants::DW_TAG_volatile_type
            | constants::DW_TAG_restrict_type
            | constants::DW_TAG_atomic_type
            | constants::DW_TAG_enumeration_type
                if entry.attr(constants::DW_AT_type).is_some() =>
            {
                self.type_of(&entry, depth + 1)
            }
            constants::DW_TAG_base_type => self.number(&entry),
            _ => Ok(ParameterType::Other(self.name(&entry)?.unwrap_or_else(|| "a structure".into()))),
        }
    }

    fn number(&mut self, entry: &Entry<'s>) -> Result<ParameterType, LoadError> {
        let name = self.name(entry)?.unwrap_or_default();
        let size = entry.attr_value(constants::DW_AT_byte_size).and_then(|value| value.udata_value());
        let encoding = match entry.attr_value(constants::DW_AT_encoding) {
            Some(AttributeValue::Encoding(encoding)) => Some(encoding),
            _ => None,
        };
        let kind = match encoding {
            Some(constants::DW_ATE_boolean) => NumberKind::Bool,
            Some(constants::DW_ATE_float) => NumberKind::Float,
            Some(constants::DW_ATE_signed | constants::DW_ATE_signed_char) => NumberKind::Signed,
            Some(constants::DW_ATE_unsigned | constants::DW_ATE_unsigned_char | constants::DW_ATE_UTF) => {
                NumberKind::Unsigned
            }
            _ => return Ok(ParameterType::Other(name)),
        };
        Ok(size.map_or(ParameterType::Other(name.clone()), |size| ParameterType::Number { kind, size, name }))
    }
}
