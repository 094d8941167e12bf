//! What a hook's argument is at one place: the one type from Python to placement.
//!
//! [`Arg::spec`] gives what the hook compiler has to know of it ([`ArgSpec`]); everything else (which register, which
//! number) is bound when the template is placed, so that a hook is compiled once for all places of the same shape.

use luthier_isa::{Flags, Generation, Inst, Part, Reg, RegRange, Space};
use serde::Deserialize;

use crate::entry_value::{Axis, EntryValue};
use crate::plan::Slot;
use crate::rejection::Rejection;
use crate::template::address::place;
use crate::template::{AddressInput, AddressShape, ArgSpec, RangeShape};

/// The value of one parameter of a hook at one place.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// Raw bits of the parameter's type, compiled into the hook. Another value is another compilation.
    Const(i128),
    /// A number that is patched into the placed template.
    Literal(u64),
    /// The address of a device variable of the plan or of a symbol of the application.
    Variable { symbol: String, offset: i64 },
    /// State of the wave's own, by index into [`crate::Plan::slots`]; the hook's new value goes back into it.
    Slot(usize),
    /// The value of a register of the application.
    Reg(#[serde(deserialize_with = "range")] RegRange),
    /// The same, and the hook's new value goes back into it for good.
    InOut(#[serde(deserialize_with = "range")] RegRange),
    /// The value that a register had before the instruction, for hooks after it.
    Old(#[serde(deserialize_with = "range")] RegRange),
    /// The value that the instruction finds in a register which it reads: in hooks after it, the one from before.
    Source(#[serde(deserialize_with = "range")] RegRange),
    /// The address that the instruction accesses, of each lane; by number where there are several ([`Inst::accesses`]).
    Address(Option<u8>),
    /// How many places it accesses for each lane.
    AccessCount,
    /// Of the instruction's memory access, or of one of its places by number: the bytes (for each lane; of a scalar access
    /// for the wave), ...
    AccessWidth(Option<u8>),
    /// ... the number of its [`luthier_isa::Space`] in `Space::ALL`, ...
    AccessKind(Option<u8>),
    /// ... 1 if it reads, 2 if it writes, 3 if both.
    AccessDirection(Option<u8>),
    /// Whether the access is made: false for lanes that are outside of their buffer, in whole or in part.
    InRange,
    /// The instruction's address in the original object.
    Pc,
    /// The insertion's index in the plan.
    PointId,
    /// What the wave started with. The plan has a slot for it ([`Slot::entry`]), unless the hardware keeps it.
    Entry(EntryValue),
    /// Bytes from the kernel's arguments to its hidden ones.
    ImplicitOffset,
    /// Bytes to the kernel's argument of this name, and its size in bytes.
    KernelArgument { name: String, size: u32 },
    /// The bytes of LDS that the hooks have in each workgroup, behind all of the kernel's: it is given as many.
    SharedBytes(u32),
    /// Whether the processor launches clusters of workgroups.
    HasClusters,
    /// Lanes of a wave.
    WaveSize,
}

impl Arg {
    /// What the compiler has to know. `inst` is the instruction that the hook is placed at, `before` the arguments in
    /// front of this one, `slots` the plan's.
    ///
    /// # Errors
    /// The instruction has no address that could be computed, or there is no such slot.
    pub fn spec(&self, inst: &Inst, before: &[Arg], slots: &[Slot]) -> Result<ArgSpec, Rejection> {
        Ok(match self {
            Arg::Const(bits) => ArgSpec::Const(*bits),
            // The compiler takes different variables for different memory: one passed twice has to be the same.
            Arg::Variable { .. } => {
                ArgSpec::Variable { slot: before.iter().position(|a| a == self).unwrap_or(before.len()) }
            }
            Arg::Slot(index) => {
                let slot = slots.get(*index).ok_or(Rejection::NoSuchSlot { index: *index, count: slots.len() })?;
                ArgSpec::Slot { per_lane: slot.per_lane, units: slot.units }
            }
            Arg::Reg(range) | Arg::Old(range) | Arg::Source(range) => ArgSpec::value(*range, false),
            Arg::InOut(range) => ArgSpec::value(*range, true),
            Arg::Literal(_) | Arg::Pc | Arg::PointId => ArgSpec::Literal,
            Arg::ImplicitOffset | Arg::KernelArgument { .. } | Arg::SharedBytes(_) => ArgSpec::Literal,
            Arg::HasClusters => ArgSpec::Const((inst.info().mode.target().generation() == Generation::Gfx1250).into()),
            Arg::WaveSize => ArgSpec::Const(inst.info().mode.wave().lanes().into()),
            Arg::Entry(value) => entry_spec(*value, inst.info().mode.target().generation()),
            Arg::AccessCount | Arg::AccessWidth(_) | Arg::AccessKind(_) | Arg::AccessDirection(_) => {
                self.access(inst)?;
                ArgSpec::Literal
            }
            Arg::Address(which) => ArgSpec::Address(AddressShape::of(inst, *which)?.0),
            Arg::InRange => match RangeShape::of(inst)? {
                Some((shape, _)) => ArgSpec::InRange(shape),
                None => ArgSpec::Const(1),
            },
        })
    }

    /// Whether its shape, or that there is one, is a matter of the instruction.
    pub fn depends_on_place(&self) -> bool {
        match self {
            Arg::AccessCount | Arg::AccessWidth(_) | Arg::AccessKind(_) | Arg::AccessDirection(_) => true,
            Arg::Address(_) | Arg::InRange => true,
            Arg::Const(_) | Arg::Literal(_) | Arg::Variable { .. } | Arg::Slot(_) | Arg::Reg(_) => false,
            Arg::InOut(_) | Arg::Old(_) | Arg::Source(_) | Arg::Pc | Arg::PointId => false,
            Arg::Entry(_) | Arg::ImplicitOffset | Arg::KernelArgument { .. } => false,
            Arg::SharedBytes(_) | Arg::HasClusters | Arg::WaveSize => false,
        }
    }

    /// The number that tells of the instruction's memory access.
    ///
    /// # Errors
    /// It accesses no memory, or does not say how many bytes or places, or has no such place.
    pub fn access(&self, inst: &Inst) -> Result<u64, Rejection> {
        let mnemonic = inst.info().mnemonic;
        let memory = inst.memory().ok_or(Rejection::NoAccess { mnemonic })?;
        let places = || inst.accesses().ok_or(Rejection::NoCount { mnemonic });
        let of = |which: Option<u8>| match which {
            None => Ok(memory),
            Some(_) => places().and_then(|places| Ok(place(inst, &places, which)?.1)),
        };
        Ok(match self {
            Arg::AccessCount => places()?.len() as u64,
            Arg::AccessWidth(which) => of(*which)?.width.ok_or(Rejection::NoWidth { mnemonic })?.into(),
            Arg::AccessKind(which) => {
                let space = of(*which)?.space;
                Space::ALL.iter().position(|other| *other == space).unwrap_or_default() as u64
            }
            Arg::AccessDirection(which) => {
                let access = of(*which)?;
                u64::from(access.reads) | u64::from(access.writes) << 1
            }
            _ => return Err(Rejection::NoAccess { mnemonic }),
        })
    }

    /// Registers of the application whose value the hook looks at.
    pub fn reads(&self, inst: &Inst) -> Vec<RegRange> {
        match self {
            Arg::Reg(range) | Arg::InOut(range) | Arg::Old(range) | Arg::Source(range) => vec![*range],
            _ => self.inputs(inst).into_iter().filter_map(AddressInput::reg).collect(),
        }
    }

    /// Those of them whose value from before the instruction a hook behind it is given, and which may hold another there.
    pub fn kept(&self, inst: &Inst) -> Vec<RegRange> {
        match self {
            Arg::Old(range) => vec![*range],
            Arg::Reg(_) | Arg::InOut(_) => Vec::new(),
            _ => self.reads(inst).into_iter().filter(|range| overwrites(inst, *range)).collect(),
        }
    }

    /// What is computed with at an instruction, in the order of its shape's parts.
    fn inputs(&self, inst: &Inst) -> Vec<AddressInput> {
        match self {
            Arg::Address(which) => AddressShape::of(inst, *which).map(|(_, inputs)| inputs).unwrap_or_default(),
            Arg::InRange => RangeShape::of(inst).ok().flatten().map(|(_, inputs)| inputs).unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// What the wave started with, as a hook is given it: of registers that share their bits, those of the value.
fn entry_spec(value: EntryValue, generation: Generation) -> ArgSpec {
    match value {
        EntryValue::WorkgroupId(axis) if value.stays(generation) && axis != Axis::X => {
            ArgSpec::Bits { shift: if axis == Axis::Y { 0 } else { 16 }, bits: 16 }
        }
        _ => ArgSpec::Value { per_lane: value.is_per_lane(), units: value.units(), part: Part::Whole, written: false },
    }
}

/// Whether registers may hold something else behind an instruction: it writes one of them, or calls a function, which may
/// use any.
pub fn overwrites(inst: &Inst, range: RegRange) -> bool {
    let mut writes = inst.info().flags.contains(Flags::CALL);
    inst.for_each_access(|a| writes |= a.access.writes() && range.units().any(|unit| unit == a.reg));
    writes
}

/// `["s", 4, 2]`: the file (s, v, a, or the name of a special register), the first number, how many; a fourth element
/// `"l"` or `"h"` names half of a register.
fn range<'de, D: serde::Deserializer<'de>>(from: D) -> Result<RegRange, D::Error> {
    use serde::de::Error;
    let (file, first, count, part): (String, u16, u8, String) = Deserialize::deserialize(from)?;
    let none = || D::Error::custom(format!("there is no register {file}{first}, or no {count} of them"));
    let (reg, limit): (fn(u16) -> Reg, u16) = match file.as_str() {
        "s" => (Reg::sgpr, 106),
        "v" => (Reg::vgpr, 1024),
        "a" => (Reg::agpr, 256),
        "ttmp" => (Reg::ttmp, 16),
        "unit" => {
            let reg = Reg::from_index(first.into()).ok_or_else(none)?;
            return Ok(named(reg, count, &part));
        }
        name => {
            // State: VCC, EXEC, M0 and the like.
            let state = (0..Reg::COUNT).filter_map(Reg::from_index).find(|r| r.to_string() == name);
            return Ok(RegRange::new(state.ok_or_else(none)?, count));
        }
    };
    if count == 0 || u32::from(first) + u32::from(count) > u32::from(limit) {
        return Err(none());
    }
    Ok(named(reg(first), count, &part))
}

fn named(reg: Reg, count: u8, part: &str) -> RegRange {
    match part {
        "l" => RegRange::half(reg, false),
        "h" => RegRange::half(reg, true),
        _ => RegRange::new(reg, count),
    }
}
