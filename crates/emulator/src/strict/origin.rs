//! Where undefined bits come from that reads of LDS and of device memory have brought: which read, and which byte.
//!
//! One origin is known for each lane of a VGPR, for each scalar, and for each word of LDS and scratch that such bits were
//! stored to. Where two meet in a result, the first operand's stays; a read prevails over registers that nothing has
//! written, which are no origin. Of what goes to other lanes, the first lane's that has one stands for all.

use std::collections::HashMap;
use std::fmt;

use super::checked::Checked;
use super::shadow::{Shadow, value};
use super::terms::{Place, Rule, Source};
use super::{Log, Party};
use crate::masks::lanes;
use crate::report::FindingKind;
use crate::wave::Wave;

/// What was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Lds,
    Memory,
}

/// A read that has brought a byte which nothing has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    pub pc: u64,
    pub wave: u16,
    pub space: Space,
    /// Of the byte.
    pub address: u64,
}

/// The kind of a finding about undefined bits that come from there.
pub(super) fn kind_of(origin: Option<Origin>) -> FindingKind {
    match origin.map(|origin| origin.space) {
        None => FindingKind::UndefinedRegister,
        Some(Space::Lds) => FindingKind::UndefinedLds,
        Some(Space::Memory) => FindingKind::UndefinedMemory,
    }
}

impl Origin {
    pub fn read(self) -> Party {
        Party { pc: self.pc, wave: self.wave.into() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let space = if self.space == Space::Lds { "LDS" } else { "memory" };
        write!(f, "{space} at {:#x} was read, and nothing had written it", self.address)
    }
}

/// Those of registers, meaningful where there are undefined bits.
#[derive(Default)]
pub struct Origins {
    rows: HashMap<u16, Box<[Option<Origin>; 64]>>,
    scalars: HashMap<u8, Origin>,
    /// What the instruction under way makes of its operands', by lane; scalars have one in all lanes.
    pub carried: Option<Box<[Option<Origin>; 64]>>,
}

impl Origins {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.scalars.is_empty()
    }

    pub fn clear(&mut self) {
        self.rows.clear();
        self.scalars.clear();
    }

    pub fn row(&self, row: u16, lane: usize) -> Option<Origin> {
        self.rows.get(&row).and_then(|lanes| lanes[lane & 63])
    }

    pub fn set_row(&mut self, row: u16, lane: usize, origin: Option<Origin>) {
        match origin {
            Some(_) => self.rows.entry(row).or_insert_with(|| Box::new([None; 64]))[lane & 63] = origin,
            None => {
                if let Some(lanes) = self.rows.get_mut(&row) {
                    lanes[lane & 63] = None;
                }
            }
        }
    }

    pub fn forget_row(&mut self, row: u16) {
        self.rows.remove(&row);
    }

    fn set_scalar(&mut self, code: u8, origin: Option<Origin>) {
        match origin {
            Some(origin) => self.scalars.insert(code, origin),
            None => self.scalars.remove(&code),
        };
    }

    fn of(&self, place: Place, k: u8, lane: usize) -> Option<Origin> {
        match place {
            Place::Rows(row, _) => self.row(row + u16::from(k), lane),
            Place::Scalars(code, _) => self.scalars.get(&code.saturating_add(k)).copied(),
            Place::Constant(_) => None,
        }
    }
}

impl Shadow {
    /// Where the undefined bits of a source come from in a lane.
    pub fn origin(&self, source: &Source, lane: usize) -> Option<Origin> {
        if self.origins.is_empty() {
            return None;
        }
        let undefined = |k: &u8| self.word(source.place, *k, lane) & source.used != 0;
        (0..source.place.words()).filter(undefined).find_map(|k| self.origins.of(source.place, k, lane))
    }

    /// The same of a row.
    pub fn row_origin(&self, row: u16, lane: usize) -> Option<Origin> {
        self.origins.row(row, lane)
    }

    /// A load changes the undefined bits of a row in a lane, and brings some of this origin, if it has one.
    pub fn bring(&mut self, row: u16, lane: usize, origin: Option<Origin>, change: impl FnOnce(u32) -> u32) {
        let old = self.row(row, lane);
        self.update(row, lane, change);
        // What it leaves alone keeps its own.
        if origin.is_some() || old == 0 {
            self.origins.set_row(row, lane, origin);
        }
    }

    /// A load brings a scalar undefined bits of this origin.
    pub fn bring_scalar(&mut self, code: u8, origin: Origin, undefined: u32) {
        self.scalars[usize::from(code)] = undefined;
        self.origins.set_scalar(code, Some(origin));
    }

    /// Works out what becomes of the operands' origins, before the instruction's undefined bits change.
    pub(super) fn carry_origins(&mut self, w: &Wave, inst: &Checked, exec: u64) {
        if self.origins.is_empty() || matches!(inst.rule, Rule::Memory { .. }) {
            return;
        }
        let any_lane = |source: &Source| (0..64).find_map(|lane| self.origin(source, lane));
        let mask = match inst.rule {
            Rule::VectorSelect(code) | Rule::Carry(Some(code)) | Rule::Up(Some(code)) => Some(code),
            _ => None,
        };
        let vector = inst.sources.iter().any(|source| matches!(source.place, Place::Rows(..))) || mask.is_some();
        let scc = self.word(Place::SCC, 0, 0) != 0;
        let of_lane = |lane: usize| {
            let own = |(n, source): (usize, &Source)| match (inst.dpp, &inst.rule) {
                // What is not chosen has no part in it.
                (_, Rule::VectorSelect(code))
                    if self.scalar64(*code) >> lane & 1 == 0 && n != (w.s64(*code) >> lane & 1) as usize =>
                {
                    None
                }
                (_, Rule::ScalarSelect) if !scc && n != usize::from(!w.scc()) => None,
                (Some(dpp), _) if n == 0 => self.origin(source, dpp.source(lane, exec)?),
                (_, Rule::ReadFirstLane) => self.origin(source, exec.trailing_zeros() as usize & 63),
                (_, Rule::ReadLane) if n == 0 => {
                    let select = inst.sources.get(1).map_or(0, |select| value(w, select.place, 0, 0));
                    self.origin(source, select as usize & (w.lanes() as usize - 1))
                }
                (_, Rule::Permlane { .. } | Rule::Permlane64 | Rule::Within(_) | Rule::SwapGroups { .. })
                | (_, Rule::Elements(_)) => self.origin(source, lane).or_else(|| any_lane(source)),
                _ => self.origin(source, lane),
            };
            let of_mask = || {
                let code = mask.filter(|&code| self.scalar64(code) >> lane & 1 != 0)?;
                [0, 1].into_iter().find_map(|k| self.origins.of(Place::Scalars(code, 2), k, 0))
            };
            inst.sources.iter().enumerate().find_map(own).or_else(of_mask)
        };
        let mut carried = Box::new([None; 64]);
        if vector {
            (0..64).for_each(|lane| carried[lane] = of_lane(lane));
        } else {
            *carried = [of_lane(0); 64];
        }
        self.origins.carried = Some(carried);
    }

    /// Gives the results their origins, after their undefined bits have changed.
    pub(super) fn settle_origins(&mut self, w: &Wave, inst: &Checked, exec: u64) {
        let Some(carried) = self.origins.carried.take() else { return };
        let first = carried.iter().find_map(|origin| *origin);
        let active = match (&inst.rule, inst.sources.get(1)) {
            (Rule::WriteLane, Some(select)) => 1 << (value(w, select.place, 0, 0) as usize & (w.lanes() as usize - 1)),
            _ if inst.ignores_exec => w.all_lanes(),
            _ => exec,
        };
        let keeps = |lane: usize| inst.dpp.is_some_and(|dpp| dpp.keeps(lane, dpp.source(lane, exec).is_some()));
        for &result in &inst.results {
            for k in 0..result.words() {
                match result {
                    Place::Rows(row, _) => {
                        let row = row + u16::from(k);
                        for lane in lanes(active & self.undefined_lanes(row, 1)).filter(|&lane| !keeps(lane)) {
                            if inst.kept == 0 || carried[lane].is_some() {
                                self.origins.set_row(row, lane, carried[lane]);
                            }
                        }
                    }
                    Place::Scalars(code, _) if inst.kept == 0 || first.is_some() => {
                        self.origins.set_scalar(code.saturating_add(k), first);
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Log {
    /// `what` is undefined, in these lanes, at these addresses of memory if it is there, for these reasons.
    pub(super) fn undefined(
        &mut self,
        what: &str,
        found: impl Iterator<Item = (Option<u32>, Option<u64>, Option<Origin>)>,
    ) {
        for (lane, address, origin) in found {
            let Some(origin) = origin else {
                let message = format!("{what} is undefined: nothing has written it");
                self.report(FindingKind::UndefinedRegister, lane, address, message);
                continue;
            };
            let message = format!("{what} is undefined: {origin}");
            self.report_pair(kind_of(Some(origin)), lane, Some(origin.address), message, Some(origin.read()));
        }
    }
}
