//! What a block settles of its own instructions, once for all times that it runs.
//!
//! A register that an instruction of the block has found defined, or has written, is defined for those that follow, as
//! long as the same lanes are active; one that no load in flight writes stays so until a load is issued. That holds only
//! while all goes well: an instruction that finds something makes the rest of the block look at everything
//! ([`super::Strict`]'s `clean`).

use std::collections::HashSet;

use super::checked::{Checked, Place, Rule};
use super::hazards;
use super::quick::Units;

/// What is known of registers at a point of a block.
#[derive(Default)]
struct Known {
    /// Defined in the active lanes.
    rows: HashSet<u16>,
    scalars: HashSet<u8>,
    /// Written by no load in flight.
    free: HashSet<u16>,
}

impl Known {
    fn forget(&mut self, places: &[Place]) {
        for place in places {
            match *place {
                Place::Rows(row, n) => (0..u16::from(n)).for_each(|k| {
                    self.rows.remove(&(row + k));
                }),
                Place::Scalars(code, n) => (0..n).for_each(|k| {
                    self.scalars.remove(&code.saturating_add(k));
                }),
                Place::Constant(_) => {}
            }
        }
    }

    /// Notes that these are defined once the instruction is done, and gives those of which that was not known: all rows
    /// where inactive lanes count too.
    fn learn(&mut self, all: &Units, reads_all: bool, writes_all: bool) -> Units {
        let mut rows = |of: &[u16], asks: bool| {
            let new = of.iter().copied().filter(|&row| self.rows.insert(row) || asks);
            new.collect()
        };
        let (read, written) = (rows(&all.rows, reads_all), rows(&all.written_rows, writes_all));
        let mut scalars = |of: &[u8]| of.iter().copied().filter(|&code| self.scalars.insert(code)).collect();
        let (scalars_read, scalars_written) = (scalars(&all.scalars), scalars(&all.written_scalars));
        Units { rows: read, written_rows: written, scalars: scalars_read, written_scalars: scalars_written }
    }
}

/// Leaves to the instructions of a block only what has to be looked at when they run.
pub fn prune(block: &mut [Box<Checked>]) {
    let mut known = Known::default();
    for inst in block.iter_mut() {
        let inst = &mut **inst;
        if let Some(quick) = inst.quick.as_mut().filter(|quick| quick.settles()) {
            quick.fresh = known.learn(&quick.all, quick.reads_all, quick.writes_all);
        } else {
            known.forget(&inst.results);
            inst.halves.iter().for_each(|half| known.forget(&half.results));
        }
        // What comes from memory, memory knows.
        if matches!(inst.rule, Rule::Memory { .. }) {
            known.forget(&inst.results);
        }
        if inst.changes_exec {
            known.rows.clear();
        }
        if inst.wait.is_none() {
            inst.fresh = inst.touched.iter().map(|&(unit, _)| unit).filter(|&unit| known.free.insert(unit)).collect();
        }
        if inst.counters != 0 {
            inst.loaded.units().for_each(|unit| {
                known.free.remove(&(unit as u16));
            });
        }
    }
    let mut facts: Vec<_> = block.iter_mut().map(|inst| &mut inst.hazards).collect();
    hazards::prune(&mut facts);
}
