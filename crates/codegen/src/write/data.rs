//! The tools' device variables in the new data segment: those with a first value, then those that are zero. Between two of
//! them is a red zone, so that a hook that writes past one does not hit the next, and strict mode can tell.

use luthier_loader::CodeObject;

use super::{PAGE, PlacedVariable};
use crate::{CodegenError, Plan};

/// Bytes between a variable of `size` bytes and the next: a quarter of its size, within limits.
fn red_zone(size: u64) -> u64 {
    (size / 4).clamp(64, 1 << 16)
}

#[derive(Debug)]
pub struct Variables {
    /// Offset from the segment's start, for each of the plan's variables.
    offsets: Vec<u64>,
    names: Vec<(String, u64)>,
    filled: Vec<u8>,
    end: u64,
}

impl Variables {
    pub fn of(object: &CodeObject, plan: &Plan) -> Result<Variables, CodegenError> {
        let bad = |name: &str, reason: String| CodegenError::Variable { name: name.to_owned(), reason };
        let mut seen = std::collections::HashSet::new();
        for v in &plan.variables {
            if !v.align.is_power_of_two() || v.align > PAGE {
                return Err(bad(&v.name, format!("an alignment of {} is not a power of two up to {PAGE}", v.align)));
            }
            if v.init.len() as u64 > v.size {
                return Err(bad(&v.name, format!("{} bytes are given for its {}", v.init.len(), v.size)));
            }
            if v.name.is_empty() || v.name.contains('\0') {
                return Err(bad(&v.name, "it has no usable name".into()));
            }
            if object.symbol(&v.name).is_some() || !seen.insert(&v.name) {
                return Err(bad(&v.name, "the name is taken".into()));
            }
        }
        if let Some(beside) = &plan.beside
            && beside.variables.len() != plan.variables.len()
        {
            let reason =
                format!("{} addresses are given for {} variables", beside.variables.len(), plan.variables.len());
            return Err(bad("of the plan", reason));
        }
        let mut all =
            Variables { offsets: vec![0; plan.variables.len()], names: Vec::new(), filled: Vec::new(), end: 0 };
        all.names = plan.variables.iter().map(|v| (v.name.clone(), v.size)).collect();
        let too_large = |name: &str| bad(name, "the variables together are too large".into());
        // Where the next one may begin.
        let mut free = 0u64;
        for zero in [false, true] {
            for (i, v) in plan.variables.iter().enumerate().filter(|(_, v)| v.init.is_empty() == zero) {
                let start = free.checked_next_multiple_of(v.align).ok_or_else(|| too_large(&v.name))?;
                all.offsets[i] = start;
                all.end =
                    start.checked_add(v.size.max(1)).filter(|e| *e < 1 << 40).ok_or_else(|| too_large(&v.name))?;
                free = all.end + red_zone(v.size);
                if !zero {
                    all.filled.resize(start as usize, 0);
                    all.filled.extend_from_slice(&v.init);
                    all.filled.resize(all.end as usize, 0);
                }
            }
            if !zero {
                // The zero part is a section of its own.
                all.end = all.end.next_multiple_of(16);
                all.filled.resize(all.end as usize, 0);
            }
        }
        Ok(all)
    }

    pub fn place(&self, start: u64) -> Vec<PlacedVariable> {
        let filled = self.filled.len() as u64;
        let one = |(offset, (name, size)): (&u64, &(String, u64))| PlacedVariable {
            name: name.clone(),
            vaddr: start + offset,
            size: *size,
            zero: *offset >= filled,
        };
        self.offsets.iter().zip(&self.names).map(one).collect()
    }
    pub fn filled(&self) -> Vec<u8> {
        self.filled.clone()
    }
    pub fn zero_size(&self) -> u64 {
        self.end - self.filled.len() as u64
    }
}
