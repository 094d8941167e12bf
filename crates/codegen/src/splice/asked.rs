//! What the waves of a component are to start with, beyond what its kernels' code expects.

use luthier_loader::Kernel;

use crate::machine::Machine;
use crate::machine::entry::Begins;
use crate::plan::{Arg, EntryValue, Rejection};

/// How each kernel begins, and which values cannot be had.
#[derive(Debug, Default)]
pub struct Asked {
    /// Where all of the kernels have arguments that hooks look for, in bytes from the first one.
    arguments: Vec<(Arg, Result<u64, Rejection>)>,
    /// By the address of the code; several kernels may have the same.
    begins: Vec<(u64, Begins)>,
    refused: Vec<(EntryValue, Rejection)>,
    /// Bytes of LDS that the hooks want, and the most that one of the kernels has.
    shared: u32,
    used_lds: u32,
}

/// A workgroup has not so much LDS.
#[derive(Clone, Copy, Debug)]
pub struct LdsFull {
    wanted: u32,
    used: u32,
    processor: &'static str,
    most: u32,
}

impl LdsFull {
    pub fn of(self, hook: String) -> Rejection {
        let LdsFull { wanted, used, processor, most } = self;
        Rejection::NoLds { hook, wanted, used, processor, most }
    }
}

impl Asked {
    /// As many of these values as all of the kernels can be given, the first ones first, and so much LDS.
    pub fn of(
        machine: &Machine,
        kernels: &[&Kernel],
        values: &[EntryValue],
        arguments: Vec<(Arg, Result<u64, Rejection>)>,
        shared: u32,
    ) -> Asked {
        let used_lds = kernels.iter().map(|k| k.descriptor.group_segment_fixed_size()).max().unwrap_or(0);
        let mut asked = Asked { arguments, shared, used_lds, ..Asked::default() };
        let mut accepted: Vec<EntryValue> = Vec::new();
        if let Ok(begins) = begins(machine, kernels, &accepted) {
            asked.begins = begins;
        }
        for value in values {
            accepted.push(*value);
            match begins(machine, kernels, &accepted) {
                Ok(begins) => asked.begins = begins,
                Err(reason) => {
                    accepted.pop();
                    asked.refused.push((*value, reason));
                }
            }
        }
        asked
    }

    /// Where an argument is.
    ///
    /// # Errors
    /// A kernel has no such argument, or not where another one has it.
    pub fn argument(&self, arg: &Arg) -> Result<u64, Rejection> {
        let found = self.arguments.iter().find(|(other, _)| other == arg);
        found.map_or(Err(Rejection::SlotWithoutKernel), |(_, offset)| offset.clone())
    }

    /// Whether hooks can have this much LDS (in bytes), whatever a launch adds to the kernel's own.
    ///
    /// # Errors
    /// They cannot.
    pub fn shared(&self, wanted: u32, machine: &Machine) -> Result<(), LdsFull> {
        let (used, most) = (self.used_lds, machine.most_lds());
        match used.checked_add(wanted) {
            Some(all) if all <= most => Ok(()),
            _ => Err(LdsFull { wanted, used, processor: machine.processor(), most }),
        }
    }

    /// The bytes of LDS that each of the kernels is given on top of its own.
    pub fn shared_bytes(&self) -> u32 {
        self.shared
    }

    /// Why a value cannot be had.
    pub fn refused(&self, value: EntryValue) -> Option<&Rejection> {
        self.refused.iter().find(|(other, _)| *other == value).map(|(_, reason)| reason)
    }

    /// How the kernel begins whose code is at this address.
    pub fn begins(&self, entry: u64) -> Option<&Begins> {
        self.begins.iter().find(|(at, _)| *at == entry).map(|(_, begins)| begins)
    }

    pub fn all(&self) -> impl Iterator<Item = &Begins> {
        self.begins.iter().map(|(_, begins)| begins)
    }
}

fn begins(machine: &Machine, kernels: &[&Kernel], values: &[EntryValue]) -> Result<Vec<(u64, Begins)>, Rejection> {
    let mut all: Vec<(u64, Begins)> = Vec::new();
    for kernel in kernels {
        let begins = Begins::of(&kernel.descriptor, machine.mode, values.iter().copied())?;
        match all.iter().find(|(at, _)| *at == kernel.entry) {
            None => all.push((kernel.entry, begins)),
            // One code would have to put back different registers.
            Some((_, other)) if begins.moves() != other.moves() || begins.mask() != other.mask() => {
                return Err(Rejection::EntriesDiffer);
            }
            Some((_, other)) if values.iter().any(|value| begins.find(*value) != other.find(*value)) => {
                return Err(Rejection::EntriesDiffer);
            }
            Some(_) => {}
        }
    }
    Ok(all)
}
