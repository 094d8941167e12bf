//! Waves that begin one after the other in the registers of one, where it is known what code has left there.

use luthier_loader::EntryValue;
use luthier_loader::entry::EntryField;

use super::{Group, Start, put};
use crate::dispatch::Dispatch;
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
        let fields = start.fields.iter().filter(|field| !of_scratch(field)).copied().collect();
        Again { start, d, scalars, fields, zeros }
    }

    /// Has the wave with this number in a workgroup begin.
    #[inline(always)]
    pub fn put(&self, w: &mut Wave, group: &Group, number: u32) {
        let Again { start, d, scalars, fields, zeros } = self;
        w.place = Place { workgroup: group.id, wave_in_group: number };
        w.set_scc(false);
        w.has_stored = false;
        w.mode = start.mode;
        // Not in `Vectors`: to scatter so few takes longer.
        scalars.iter().for_each(|&(code, value)| w.s[usize::from(code)] = value);
        start.numbers.iter().for_each(|&(code, axis)| w.s[usize::from(code)] = group.id[axis]);
        fields.iter().for_each(|field| put(field, start.value(d, field.value, group, number), &mut w.s));
        start.put_scratch(d, w, group, number);
        let (first, active) = start.items(group, number);
        let exec = if active == 64 { !0 } else { (1u64 << active) - 1 };
        // `set_exec` reads it, and would wait for what has been stored just now.
        match start.lanes {
            64 => w.set_s64(scalar::EXEC, exec),
            _ => w.s[usize::from(scalar::EXEC)] = exec as u32,
        }
        at_best(Vectors { start, zeros, w, size: group.size, number, first, active: active as usize });
    }
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
