//! The common case: everything that an instruction reads is defined, and so is everything that it writes.

use super::checked::{Checked, Place, Rule, Source};
use super::shadow::{ROWS, Shadow};

/// All that an instruction reads and writes, unit by unit.
#[derive(Clone, Debug)]
pub struct Quick {
    rows: Box<[u16]>,
    scalars: Box<[u8]>,
    written_rows: Box<[u16]>,
    written_scalars: Box<[u8]>,
    /// Inactive lanes are read, or written.
    reads_all: bool,
    writes_all: bool,
}

impl Quick {
    /// `None` for instructions that leave a part of what they write alone.
    pub fn of(inst: &Checked) -> Option<Quick> {
        let data = match inst.rule {
            Rule::WriteLane | Rule::Permlane { .. } | Rule::Memory { keeps_half: Some(_), .. } => return None,
            Rule::Memory { data_matters: true, .. } => &inst.data[..],
            _ => &[],
        };
        if inst.dpp.is_some() || inst.kept != 0 || !inst.halves.is_empty() {
            return None;
        }
        let mut quick = Quick {
            rows: Box::default(),
            scalars: Box::default(),
            written_rows: Box::default(),
            written_scalars: Box::default(),
            reads_all: inst.ignores_exec
                || matches!(inst.rule, Rule::ReadLane | Rule::ReadFirstLane | Rule::Permlane64),
            writes_all: inst.ignores_exec,
        };
        let sources = inst.sources.iter().chain(data).map(|&Source { place, .. }| place);
        let mask = match inst.rule {
            Rule::VectorSelect(code) | Rule::Carry(Some(code)) | Rule::Up(Some(code)) => Some(Place::Scalars(code, 2)),
            _ => None,
        };
        (quick.rows, quick.scalars) = units(sources.chain(mask));
        (quick.written_rows, quick.written_scalars) = units(inst.results.iter().copied());
        Some(quick)
    }
}

fn units(places: impl Iterator<Item = Place>) -> (Box<[u16]>, Box<[u8]>) {
    let (mut rows, mut scalars) = (Vec::new(), Vec::new());
    for place in places {
        match place {
            Place::Rows(row, n) => rows.extend((0..u16::from(n)).map(|k| (row + k) % ROWS as u16)),
            Place::Scalars(code, n) => scalars.extend((0..n).map(|k| code.saturating_add(k))),
            Place::Constant(_) => {}
        }
    }
    (rows.into(), scalars.into())
}

impl Shadow {
    /// Defines what an instruction writes, if all that it reads is defined; else false.
    #[inline(always)]
    pub fn passes(&mut self, quick: &Quick, exec: u64, all: u64) -> bool {
        let read = if quick.reads_all { all } else { exec };
        let lanes = quick.rows.iter().fold(0, |lanes, &row| lanes | self.lanes[usize::from(row) % ROWS]);
        let bits = quick.scalars.iter().fold(0, |bits, &code| bits | self.scalars[usize::from(code)]);
        if lanes & read != 0 || bits != 0 {
            return false;
        }
        let written = if quick.writes_all { all } else { exec };
        quick.written_rows.iter().for_each(|&row| self.lanes[usize::from(row) % ROWS] &= !written);
        quick.written_scalars.iter().for_each(|&code| self.scalars[usize::from(code)] = 0);
        true
    }
}
