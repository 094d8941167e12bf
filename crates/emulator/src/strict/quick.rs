//! The common case: everything that an instruction reads is defined, and so is everything that it writes.

use super::checked::{Checked, Place, Rule, Source};
use super::elements::Elements;
use super::shadow::{ROWS, Shadow, block_of};

/// What an instruction reads and writes, unit by unit.
#[derive(Clone, Debug, Default)]
pub struct Units {
    pub rows: Box<[u16]>,
    pub scalars: Box<[u8]>,
    pub written_rows: Box<[u16]>,
    pub written_scalars: Box<[u8]>,
}

impl Units {
    pub fn is_empty(&self) -> bool {
        let rows = self.rows.is_empty() && self.written_rows.is_empty();
        rows && self.scalars.is_empty() && self.written_scalars.is_empty()
    }

    /// The blocks of rows that are written.
    fn blocks(&self) -> u16 {
        self.written_rows.iter().fold(0, |blocks, &row| blocks | block_of(row.into()))
    }
}

/// All that an instruction reads and writes.
#[derive(Clone, Debug)]
pub struct Quick {
    pub all: Units,
    /// Without what earlier instructions of the block have seen to ([`super::within`]).
    pub fresh: Units,
    /// Inactive lanes are read, or written.
    pub reads_all: bool,
    pub writes_all: bool,
    /// The blocks of rows that it writes, as [`Shadow::touch`] has them.
    pub blocks: u16,
}

impl Quick {
    /// `None` for instructions that leave lanes alone of what they write. Where they leave bits alone, what was there has
    /// to be defined as well.
    pub fn of(inst: &Checked) -> Option<Quick> {
        let data = match inst.rule {
            Rule::WriteLane
            | Rule::Permlane { .. }
            | Rule::ScalarKeep
            | Rule::Permlane64
            | Rule::SwapGroups { .. }
            | Rule::Memory { keeps_half: Some(_), .. } => return None,
            Rule::Memory { data_matters: true, .. } => &inst.data[..],
            _ => &[],
        };
        if inst.dpp.is_some() {
            return None;
        }
        if !inst.halves.is_empty() {
            return Quick::of_both(&inst.halves);
        }
        let mut quick = Quick {
            all: Units::default(),
            fresh: Units::default(),
            reads_all: inst.ignores_exec
                || matches!(
                    inst.rule,
                    Rule::ReadLane
                        | Rule::ReadFirstLane
                        | Rule::Permlane64
                        | Rule::Within(_)
                        | Rule::Elements(Elements { select: Some(_), .. })
                ),
            writes_all: inst.ignores_exec,
            blocks: 0,
        };
        let sources = inst.sources.iter().chain(data).map(|&Source { place, .. }| place);
        let mask = match inst.rule {
            Rule::VectorSelect(code) | Rule::Carry(Some(code)) | Rule::Up(Some(code)) => Some(Place::Scalars(code, 2)),
            _ => None,
        };
        let kept = inst.results.iter().copied().filter(|_| inst.kept != 0);
        (quick.all.rows, quick.all.scalars) = units(sources.chain(mask).chain(kept));
        (quick.all.written_rows, quick.all.written_scalars) = units(inst.results.iter().copied());
        quick.fresh = quick.all.clone();
        quick.blocks = quick.all.blocks();
        Some(quick)
    }

    /// Whether it says something of what it reads and writes in the active lanes that it passes, or does not: what
    /// looks at inactive lanes as well often does not.
    pub fn settles(&self) -> bool {
        self.writes_all || !self.reads_all
    }

    /// Of two operations at once: both read before either writes.
    fn of_both(halves: &[Checked]) -> Option<Quick> {
        let quicks = halves.iter().map(Quick::of).collect::<Option<Vec<_>>>()?;
        let reads_all = quicks.iter().any(|q| q.reads_all);
        let writes_all = quicks.iter().all(|q| q.writes_all);
        let all = quicks.into_iter().fold(Units::default(), |both, Quick { all, .. }| Units {
            rows: [both.rows, all.rows].concat().into(),
            scalars: [both.scalars, all.scalars].concat().into(),
            written_rows: [both.written_rows, all.written_rows].concat().into(),
            written_scalars: [both.written_scalars, all.written_scalars].concat().into(),
        });
        Some(Quick { fresh: all.clone(), blocks: all.blocks(), all, reads_all, writes_all })
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
    /// Defines what an instruction writes, if all that it reads is defined; else false. `clean`: so it was with all
    /// instructions of the block that came before.
    #[inline(always)]
    pub fn passes(&mut self, quick: &Quick, clean: bool, exec: u64, all: u64) -> bool {
        let units = if clean { &quick.fresh } else { &quick.all };
        let read = if quick.reads_all { all } else { exec };
        let lanes = units.rows.iter().fold(0, |lanes, &row| lanes | self.lanes[usize::from(row) % ROWS]);
        let bits = units.scalars.iter().fold(0, |bits, &code| bits | self.scalars[usize::from(code)]);
        if lanes & read != 0 || bits != 0 {
            return false;
        }
        let written = if quick.writes_all { all } else { exec };
        self.touch(quick.blocks);
        units.written_rows.iter().for_each(|&row| self.lanes[usize::from(row) % ROWS] &= !written);
        units.written_scalars.iter().for_each(|&code| self.scalars[usize::from(code)] = 0);
        true
    }
}
