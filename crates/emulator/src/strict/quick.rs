//! The common case: everything that an instruction reads is defined, and so is everything that it writes.

use super::checked::Checked;
use super::elements::Elements;
use super::shadow::{CODES, ROWS as ROW_COUNT, Shadow, block_of};
use super::terms::{Place, Rule, Source};

/// Kinds of units, one bit each.
pub const ROWS: u8 = 1;
pub const SCALARS: u8 = 2;

/// What an instruction reads and writes, unit by unit.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// One behind the other, as one piece of memory is found sooner than four: rows and scalars that are read, then rows
    /// and scalars that are written.
    units: Box<[u16]>,
    /// Where each of the first three ends.
    ends: [u16; 3],
}

impl Units {
    pub fn new(rows: &[u16], scalars: &[u16], written_rows: &[u16], written_scalars: &[u16]) -> Units {
        let units = [rows, scalars, written_rows, written_scalars].concat().into();
        let mut end = 0;
        let ends = [rows, scalars, written_rows].map(|part| {
            end += part.len() as u16;
            end
        });
        Units { units, ends }
    }

    fn part(&self, from: u16, to: u16) -> &[u16] {
        self.units.get(from.into()..to.into()).unwrap_or(&[])
    }

    pub fn rows(&self) -> &[u16] {
        self.part(0, self.ends[0])
    }

    pub fn scalars(&self) -> &[u16] {
        self.part(self.ends[0], self.ends[1])
    }

    pub fn written_rows(&self) -> &[u16] {
        self.part(self.ends[1], self.ends[2])
    }

    pub fn written_scalars(&self) -> &[u16] {
        self.part(self.ends[2], self.units.len() as u16)
    }

    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// [`ROWS`] if there are some, [`SCALARS`] if there are.
    pub fn kinds(&self) -> u8 {
        let has = |one: &[u16], other: &[u16], kind: u8| if one.is_empty() && other.is_empty() { 0 } else { kind };
        has(self.rows(), self.written_rows(), ROWS) | has(self.scalars(), self.written_scalars(), SCALARS)
    }

    /// The blocks of rows that are written.
    fn blocks(&self) -> u16 {
        self.written_rows().iter().fold(0, |blocks, &row| blocks | block_of(row.into()))
    }

    fn and(&self, other: &Units) -> Units {
        let both = |part: fn(&Units) -> &[u16]| [part(self), part(other)].concat();
        let (rows, scalars) = (both(Units::rows), both(Units::scalars));
        Units::new(&rows, &scalars, &both(Units::written_rows), &both(Units::written_scalars))
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
    /// It adds to a wide register, whose upper word compilers often leave undefined (`v_mad_u64_u32` for an index of 32 bits).
    adds_wide: bool,
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
            adds_wide: matches!(inst.rule, Rule::Up(_))
                && inst.sources.iter().any(|source| matches!(source.place, Place::Rows(_, 2..))),
            blocks: 0,
        };
        let sources = inst.sources.iter().chain(data).map(|&Source { place, .. }| place);
        let mask = match inst.rule {
            Rule::VectorSelect(code) | Rule::Carry(Some(code)) | Rule::Up(Some(code)) => {
                Some(Place::Scalars(code, inst.mask_words))
            }
            _ => None,
        };
        let kept = inst.results.iter().copied().filter(|_| inst.kept != 0);
        let (rows, scalars) = units(sources.chain(mask).chain(kept));
        let (written_rows, written_scalars) = units(inst.results.iter().copied());
        quick.all = Units::new(&rows, &scalars, &written_rows, &written_scalars);
        quick.fresh = quick.all.clone();
        quick.blocks = quick.all.blocks();
        Some(quick)
    }

    /// Whether it says something of what it reads and writes in the active lanes that it passes, or does not: what
    /// looks at inactive lanes as well often does not, nor what adds to words that nothing has written.
    pub fn settles(&self) -> bool {
        (self.writes_all || !self.reads_all) && !self.adds_wide
    }

    /// Of two operations at once: both read before either writes.
    fn of_both(halves: &[Checked]) -> Option<Quick> {
        let quicks = halves.iter().map(Quick::of).collect::<Option<Vec<_>>>()?;
        let reads_all = quicks.iter().any(|q| q.reads_all);
        let writes_all = quicks.iter().all(|q| q.writes_all);
        let all = quicks.iter().fold(Units::default(), |both, quick| both.and(&quick.all));
        let adds_wide = quicks.iter().any(|q| q.adds_wide);
        Some(Quick { fresh: all.clone(), blocks: all.blocks(), all, reads_all, writes_all, adds_wide })
    }
}

fn units(places: impl Iterator<Item = Place>) -> (Vec<u16>, Vec<u16>) {
    let (mut rows, mut scalars) = (Vec::new(), Vec::new());
    for place in places {
        match place {
            Place::Rows(row, n) => rows.extend((0..u16::from(n)).map(|k| (row + k) % ROW_COUNT as u16)),
            Place::Scalars(code, n) => scalars.extend((0..n).map(|k| u16::from(code.saturating_add(k)))),
            Place::Constant(_) => {}
        }
    }
    (rows, scalars)
}

impl Shadow {
    /// Defines what an instruction writes, if all that it reads is defined; else false. `clean`: so it was with all
    /// instructions of the block that came before. There are no units but of these `KINDS`.
    #[inline(always)]
    pub fn passes<const KINDS: u8>(&mut self, quick: &Quick, clean: bool, exec: u64, all: u64) -> bool {
        let units = if clean { &quick.fresh } else { &quick.all };
        if KINDS & ROWS != 0 {
            let read = if quick.reads_all { all } else { exec };
            let lanes = units.rows().iter().fold(0, |lanes, &row| lanes | self.lanes[usize::from(row) % ROW_COUNT]);
            if lanes & read != 0 {
                return false;
            }
        }
        if KINDS & SCALARS != 0 {
            let bits = units.scalars().iter().fold(0, |bits, &code| bits | self.scalars[usize::from(code) % CODES]);
            if bits != 0 {
                return false;
            }
            units.written_scalars().iter().for_each(|&code| self.scalars[usize::from(code) % CODES] = 0);
        }
        if KINDS & ROWS != 0 {
            let written = if quick.writes_all { all } else { exec };
            self.touch(quick.blocks);
            units.written_rows().iter().for_each(|&row| self.lanes[usize::from(row) % ROW_COUNT] &= !written);
        }
        true
    }
}
