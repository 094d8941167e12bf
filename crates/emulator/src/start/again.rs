//! Waves that begin one after the other in the registers of one, where it is known what code has left there.

use std::borrow::Cow;

use luthier_loader::EntryValue;
use luthier_loader::entry::EntryField;

use super::{Group, Start, put};
use crate::batch::Batch;
use crate::dispatch::Dispatch;
use crate::facts::ScratchBase;
use crate::level::{Work, at_best};
use crate::registers::{Row, rows, scalar};
use crate::wave::{Place, Wave};

/// How waves begin behind one of a workgroup that has the same piece of scratch memory.
pub struct Again<'a> {
    start: &'a Start,
    d: &'a Dispatch,
    /// Scalar registers that were written and are read before, and hold the same in all waves at first.
    scalars: Vec<(u8, u32)>,
    /// What differs from wave to wave.
    fields: Vec<EntryField>,
    /// Rows that are to hold zeros.
    zeros: Vec<u16>,
    /// The rows of all waves of a whole workgroup.
    whole: Cow<'a, [Row]>,
}

impl<'a> Again<'a> {
    /// Behind code that may read what it has changed of no other scalar registers than `scalars`, and SCC, and reads no vector
    /// registers before it writes them but for those that begin with something, and `zeros`. `w` has just begun.
    pub fn of(start: &'a Start, d: &'a Dispatch, w: &Wave, scalars: &[u8], zeros: &[u16]) -> Again<'a> {
        let of_scratch =
            |field: &EntryField| matches!(field.value, EntryValue::PrivateSegmentBuffer | EntryValue::FlatScratchInit);
        // What is put into each wave anyway.
        let is_new = |code: &u8| *code != scalar::EXEC && !start.numbers.iter().any(|(other, _)| other == code);
        let scalars = scalars.iter().copied().filter(is_new).map(|code| (code, w.s[usize::from(code)])).collect();
        let ids = usize::from(rows::VGPR)..usize::from(rows::VGPR) + start.used;
        let zeros = zeros.iter().copied().filter(|&row| !ids.contains(&row.into())).collect();
        let fields: Vec<EntryField> = start.fields.iter().filter(|field| !of_scratch(field)).copied().collect();
        let known = !start.whole.is_empty();
        let whole = if known { Cow::Borrowed(&start.whole[..]) } else { Cow::Owned(start.rows_of_whole()) };
        Again { start, d, scalars, fields, zeros, whole }
    }

    /// Has the wave with this number in a workgroup begin.
    #[inline(always)]
    pub fn put(&self, w: &mut Wave, group: &Group, number: u32) {
        let Again { start, zeros, .. } = self;
        self.put_scalars(w, group, number);
        let (first, active) = start.items(group, number);
        let exec = lanes_below(active);
        // `set_exec` reads it, and would wait for what has been stored just now.
        match start.lanes {
            64 => w.set_s64(scalar::EXEC, exec),
            _ => w.s[usize::from(scalar::EXEC)] = exec as u32,
        }
        at_best(Vectors { start, zeros, w, size: group.size, number, first, active: active as usize });
    }

    /// Has it begin but for EXEC and vector registers.
    #[inline(always)]
    pub fn put_scalars(&self, w: &mut Wave, group: &Group, number: u32) {
        let Again { start, d, scalars, fields, .. } = self;
        w.place = Place { workgroup: group.id, wave_in_group: number };
        w.set_scc(false);
        w.has_stored = false;
        w.mode = start.mode;
        // Not in `Vectors`: to scatter so few takes longer.
        scalars.iter().for_each(|&(code, value)| w.s[usize::from(code)] = value);
        start.numbers.iter().for_each(|&(code, axis)| w.s[usize::from(code)] = group.id[axis]);
        fields.iter().for_each(|field| put(field, start.value(d, field.value, group, number), &mut w.s));
        start.put_scratch(d, w, group, number);
    }

    /// What native code is told that does all waves of a workgroup, if it is a whole one.
    #[inline(always)]
    pub fn batch(&self, group: &Group, count: u32) -> Option<Batch> {
        let start = self.start;
        if group.size != start.workgroup || self.whole.len() < start.used * count as usize {
            return None;
        }
        let exec_of = |number| lanes_below(start.items(group, number).1);
        Some(Batch {
            ids: self.whole.as_ptr() as u64,
            id_rows: start.used as u32,
            left: count,
            exec: exec_of(0),
            last_exec: exec_of(count - 1),
            mode: start.mode.0,
            skips: 0,
        })
    }
}

/// So many lanes, the first ones.
fn lanes_below(count: u32) -> u64 {
    if count == 64 { !0 } else { (1 << count) - 1 }
}

impl Start {
    /// Scalar registers that waves begin with something in, one bit each.
    pub fn set(&self) -> u128 {
        self.set
    }

    /// Those in which not all waves of a workgroup have the same.
    pub fn differing(&self, d: &Dispatch) -> Vec<u8> {
        let fields = self.fields.iter().filter(|field| differs_in_workgroup(field.value));
        let scratch = [d.facts.scratch_code, d.facts.scratch_code + 1];
        let scratch = scratch.into_iter().filter(|_| d.facts.scratch == ScratchBase::Set);
        fields.flat_map(|field| field.range.units()).map(|reg| reg.index() as u8).chain(scratch).collect()
    }
}

/// Whether not all waves of a workgroup have the same.
fn differs_in_workgroup(value: EntryValue) -> bool {
    matches!(value, EntryValue::WaveInGroup | EntryValue::ScratchOffset | EntryValue::WorkgroupInfo)
}

struct Vectors<'a> {
    start: &'a Start,
    zeros: &'a [u16],
    w: &'a mut Wave,
    size: [u32; 3],
    number: u32,
    first: u32,
    active: usize,
}

impl Work for Vectors<'_> {
    type Result = ();
    #[inline(always)]
    fn run(self) {
        let Vectors { start, zeros, w, size, number, first, active } = self;
        zeros.iter().for_each(|&row| *w.row_mut(row) = Row::ZERO);
        start.put_all_ids(w, size, (number, first), active);
    }
}
