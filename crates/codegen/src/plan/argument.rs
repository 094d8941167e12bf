//! What a hook's argument is at one place: the one type from Python to placement.
//!
//! [`Arg::spec`] gives what the hook compiler has to know of it ([`ArgSpec`]); everything else (which register, which
//! number) is bound when the template is placed, so that a hook is compiled once for all places of the same shape.

use luthier_isa::{Inst, Reg, RegRange, Space};
use serde::Deserialize;

use crate::plan::Rejection;
use crate::template::{AddressShape, ArgSpec};

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
    /// By index into [`crate::Plan::counters`].
    Counter(usize),
    /// The value of a register of the application.
    Reg(#[serde(deserialize_with = "range")] RegRange),
    /// The same, and the hook's new value goes back into it for good.
    InOut(#[serde(deserialize_with = "range")] RegRange),
    /// The value that a register had before the instruction, for hooks after it.
    Old(#[serde(deserialize_with = "range")] RegRange),
    /// The address that the instruction accesses, of each lane.
    Address,
    /// Of the instruction's memory access: the bytes (for each lane; of a scalar access for the wave), ...
    AccessWidth,
    /// ... the number of its [`luthier_isa::Space`] in `Space::ALL`, ...
    AccessKind,
    /// ... 1 if it reads, 2 if it writes, 3 if both.
    AccessDirection,
    /// The instruction's address in the original object.
    Pc,
    /// The insertion's index in the plan.
    PointId,
}

impl Arg {
    /// What the compiler has to know. `inst` is the instruction that the hook is placed at, `before` the arguments in
    /// front of this one.
    ///
    /// # Errors
    /// The instruction has no address that could be computed.
    pub fn spec(&self, inst: &Inst, before: &[Arg]) -> Result<ArgSpec, Rejection> {
        Ok(match self {
            Arg::Const(bits) => ArgSpec::Const(*bits),
            // The compiler takes different variables for different memory: one passed twice has to be the same.
            Arg::Variable { .. } => {
                ArgSpec::Variable { slot: before.iter().position(|a| a == self).unwrap_or(before.len()) }
            }
            Arg::Counter(_) => ArgSpec::Counter,
            Arg::Reg(range) | Arg::Old(range) => ArgSpec::value(*range, false),
            Arg::InOut(range) => ArgSpec::value(*range, true),
            Arg::Literal(_) | Arg::Pc | Arg::PointId => ArgSpec::Literal,
            Arg::AccessWidth | Arg::AccessKind | Arg::AccessDirection => {
                self.access(inst)?;
                ArgSpec::Literal
            }
            Arg::Address => ArgSpec::Address(AddressShape::of(inst)?.0),
        })
    }

    /// Whether its shape, or that there is one, is a matter of the instruction.
    pub fn depends_on_place(&self) -> bool {
        matches!(self, Arg::Address | Arg::AccessWidth | Arg::AccessKind | Arg::AccessDirection)
    }

    /// The number that tells of the instruction's memory access.
    ///
    /// # Errors
    /// It accesses no memory, or does not say how many bytes.
    pub fn access(&self, inst: &Inst) -> Result<u64, Rejection> {
        let mnemonic = inst.info().mnemonic;
        let memory = inst.memory().ok_or(Rejection::NoAccess { mnemonic })?;
        Ok(match self {
            Arg::AccessWidth => memory.width.ok_or(Rejection::NoWidth { mnemonic })?.into(),
            Arg::AccessKind => Space::ALL.iter().position(|space| *space == memory.space).unwrap_or_default() as u64,
            _ => u64::from(memory.reads) | u64::from(memory.writes) << 1,
        })
    }

    /// Registers of the application whose value the hook looks at.
    pub fn reads(&self, inst: &Inst) -> Vec<RegRange> {
        match self {
            Arg::Reg(range) | Arg::InOut(range) | Arg::Old(range) => vec![*range],
            Arg::Address => AddressShape::of(inst)
                .map(|(_, inputs)| inputs)
                .unwrap_or_default()
                .into_iter()
                .filter_map(|i| i.reg())
                .collect(),
            _ => Vec::new(),
        }
    }
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
