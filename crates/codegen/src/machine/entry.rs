//! Kernels that ask for more than their code does: what their descriptors say then, where everything is when their waves
//! start, and how it gets to where the code expects it.
//!
//! The hardware puts what a kernel asks for into registers one after the other, so that whatever is asked for in addition
//! moves everything behind it, by a few registers and never to lower ones. Where there are not enough of them, preloaded
//! arguments are given up: code loads them, as hardware would have.

use luthier_isa::{Mode, Reg, RegRange, RegSet};
use luthier_loader::entry::most_user_sgprs;
use luthier_loader::{EntryState, EntryValue as Given, KernelDescriptor};

use crate::entry_value::EntryValue;
use crate::rejection::Rejection;

/// With kernel arguments preloaded, the hardware starts this many bytes behind the entry; firmware that does not know
/// of preloading starts at the entry, where the compiler has put loads of the same registers.
pub const PRELOAD_ENTRY: u64 = 256;

/// How the waves of a kernel begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Begins {
    /// Its descriptor, which asks for all that is wanted.
    pub descriptor: KernelDescriptor,
    /// All of these.
    pub values: Vec<EntryValue>,
    /// What its code expects, and what its waves start with.
    pub before: EntryState,
    pub after: EntryState,
    /// Arguments that are not preloaded any more.
    loads: Option<Loads>,
    mode: Mode,
}

/// Kernel arguments that code has to load to where the kernel's code expects them preloaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loads {
    /// The pair that has the arguments' address.
    pub base: Reg,
    /// Bytes from there to the first one.
    pub offset: u32,
    /// Where they belong, a dword in each.
    pub to: RegRange,
}

impl Loads {
    /// All of the arguments that a kernel with its own address of them has preloaded.
    fn of(before: &EntryState) -> Option<Loads> {
        let base = before.find(Given::KernargPtr)?.range.first;
        let arguments = before.fields.iter().filter_map(|field| match field.value {
            Given::Argument(offset) => Some((offset, field.range.first)),
            _ => None,
        });
        let arguments: Vec<(u32, Reg)> = arguments.collect();
        let (offset, first) = *arguments.first()?;
        Some(Loads { base, offset, to: RegRange::new(first, arguments.len() as u8) })
    }
}

/// Where a value is in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    Registers(RegRange),
    /// The work-item's ids, in this register and the next two.
    Apart(Reg),
}

impl Begins {
    /// With all of these values.
    ///
    /// # Errors
    /// The hardware cannot give as much.
    pub fn of(
        descriptor: &KernelDescriptor,
        mode: Mode,
        values: impl IntoIterator<Item = EntryValue>,
    ) -> Result<Begins, Rejection> {
        let generation = mode.target().generation();
        let before = EntryState::of(descriptor, mode);
        let mut asking = *descriptor;
        let user = before.fields.iter().filter(|f| f.value.is_user()).map(|f| u32::from(f.range.count));
        let (mut used, mut all, mut loads) = (user.sum::<u32>(), Vec::new(), None);
        let most = most_user_sgprs(generation);
        for value in values {
            if value.is_missing(generation) {
                let processor = mode.target().name();
                return Err(Rejection::NoEntryValue { value, processor });
            }
            all.push(value);
            used += value.ask(&mut asking);
            if used > most && loads.is_none() {
                loads = Loads::of(&before);
                if let Some(loads) = loads {
                    used -= u32::from(loads.to.count);
                    // A length of 0 is what any descriptor can have.
                    let _ = asking.set_kernarg_preload_length(0);
                }
            }
            // Some compilers ask for more user SGPRs than there are values: their count stays.
            let count = used.max(before.user_sgprs);
            let set = match generation {
                luthier_isa::Generation::Gfx1250 => asking.set_user_sgpr_count_gfx125(count),
                _ => asking.set_user_sgpr_count(count),
            };
            if count > most || set.is_err() {
                return Err(Rejection::UserSgprs { value, wanted: count, most });
            }
        }
        let after = EntryState::of(&asking, mode);
        Ok(Begins { descriptor: asking, values: all, before, after, loads, mode })
    }

    /// Has another version of the descriptor ask for the same.
    pub fn ask(&self, descriptor: &mut KernelDescriptor) {
        descriptor.set_compute_pgm_rsrc2(self.descriptor.compute_pgm_rsrc2());
        descriptor.set_kernel_code_properties(self.descriptor.kernel_code_properties());
        descriptor.set_kernarg_preload(self.descriptor.kernarg_preload());
    }

    /// Where one of its values is when a wave starts.
    pub fn find(&self, value: EntryValue) -> Option<Found> {
        if let EntryValue::Registers(range) = value {
            return Some(Found::Registers(self.moved(range)));
        }
        let range = self.after.find(value.given()?)?.range;
        let apart = value.is_packed_by_code(self.mode.target().generation());
        Some(if apart { Found::Apart(Reg::vgpr(0)) } else { Found::Registers(range) })
    }

    /// Where registers are that the code expects here.
    fn moved(&self, range: RegRange) -> RegRange {
        let to = |reg: Reg| {
            let field = self.before.fields.iter().find(|f| f.range.units().any(|unit| unit == reg))?;
            let after = self.after.find(field.value)?.range;
            Some(after.first.offset(reg.number() - field.range.first.number()))
        };
        RegRange { first: to(range.first).unwrap_or(range.first), ..range }
    }

    /// Scalar values that are not where the code expects them, in an order in which they can be moved: to where, and from.
    pub fn moves(&self) -> Vec<(RegRange, RegRange)> {
        let scalar = self.before.fields.iter().filter(|field| field.range.first.is_sgpr());
        let moved = scalar.filter_map(|field| Some((field.range, self.after.find(field.value)?.range)));
        moved.filter(|(to, from)| to != from).collect()
    }

    /// Arguments that are loaded when all else is where it belongs.
    pub fn loads(&self) -> Option<Loads> {
        self.loads
    }

    /// The bits of v0 that the code expects, where there are more.
    pub fn mask(&self) -> Option<u32> {
        let bits = |state: &EntryState| {
            let ids = state.fields.iter().filter(|f| matches!(f.value, Given::WorkitemId(_)) && !f.is_whole());
            ids.fold(0, |mask, field| mask | (u32::MAX >> (32 - field.bits)) << field.shift)
        };
        (bits(&self.before) != bits(&self.after)).then(|| bits(&self.before))
    }

    /// The registers that something is in when a wave starts, if hooks ask for any of it: the code itself may look at none of
    /// what it asks for.
    pub fn registers(&self) -> RegSet {
        let mut all = RegSet::EMPTY;
        if !self.values.is_empty() {
            self.after.fields.iter().for_each(|field| all.insert_range(field.range));
            (0..self.after.end.min(100)).map(Reg::sgpr).for_each(|reg| all.insert(reg));
        }
        all
    }
}
