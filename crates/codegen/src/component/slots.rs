//! Homes for all that the waves of a component carry.
//!
//! What the wave has one value of goes into SGPRs, else into lanes: of a VGPR, of an AGPR, of a cell of scratch. What each
//! lane has one of goes into VGPRs, else into AGPRs, else into scratch. All of these are registers that no code of the
//! component touches, and scratch that is ours. What one kind of home has no room for goes into the next.

use luthier_isa::{Reg, RegRange, RegSet};

use crate::machine::Machine;
use crate::machine::registers::Counts;
use crate::plan::{Rejection, Slot};
use crate::register_file::File;
use crate::splice::pool::Free;
use crate::splice::slots::{Cell, SlotHome, Slots};

/// What there is for slots.
pub struct Room<'a> {
    pub machine: &'a Machine,
    /// Registers that the component's code and hooks look at.
    pub touched: &'a RegSet,
    /// Those that hooks may use.
    pub limits: Counts,
    /// VGPRs that the kernels may have: from v256 on they hold slots only, as an instruction reaches them through the upper
    /// bits of VGPR numbers.
    pub vgprs: u16,
    /// AGPRs that the kernels may have.
    pub agprs: u16,
    /// Bytes of scratch of each lane.
    pub scratch: u32,
    /// VGPRs that the largest hook needs: they are left to it where slots have another home.
    pub hooks: u16,
}

/// Bytes of scratch of each lane that slots may take. Whatever an access adds to where our scratch begins, its offset
/// reaches behind them.
pub const MOST_SCRATCH: u32 = 1024;

/// The lowest VGPRs hold no slot, so that hooks find one, and what ends counters three of them.
const KEPT_VGPRS: u16 = 3;
/// This many SGPRs, of the application or not, hold no slot: what ends counters takes them.
const KEPT_SGPRS: u32 = 24;

/// Homes for the slots `wanted` of the plan's, in order.
pub fn homes(room: &Room, slots: &[Slot], wanted: &[usize]) -> Slots {
    let mut out = Slots { homes: vec![None; slots.len()], ..Slots::default() };
    let mut finder = Finder::new(room);
    for &index in wanted {
        let Some(slot) = slots.get(index) else { continue };
        let found = if slot.per_lane { finder.lanes(slot.units) } else { finder.wave(slot.units) };
        let Some(home) = found else {
            let scratch = if room.scratch == 0 { "the kernels cannot be given scratch" } else { "scratch is full" };
            out.refused.get_or_insert(Rejection::SlotsDoNotFit { slot: slot.name.clone(), scratch });
            continue;
        };
        out.homes[index] = Some(home);
        let Some(range) = home.registers() else { continue };
        out.registers.insert_range(range);
        out.highest.note(range);
        if range.first.is_sgpr() {
            out.scalars.insert_range(range);
        }
    }
    out.scratch = finder.scratch;
    out
}

struct Finder<'a> {
    room: &'a Room<'a>,
    sgprs: Free,
    /// SGPRs that may still be taken.
    left: u32,
    vgprs: Free,
    /// VGPRs that may still be taken.
    left_vgprs: u16,
    /// The next one from v256 on.
    upper: u16,
    agprs: Free,
    /// Bytes taken.
    scratch: u32,
    /// Cells with lanes that are not taken: from this one on.
    open: Vec<(Cell, u8)>,
}

impl Finder<'_> {
    fn new<'a>(room: &'a Room<'a>) -> Finder<'a> {
        let free = |file: File, limit: u16| Free::outside(room.touched, file.first_unit(), limit);
        let mut vgprs = free(File::Vgpr, room.limits.vgprs);
        (0..KEPT_VGPRS).for_each(|n| vgprs.remove(n));
        Finder {
            room,
            sgprs: free(File::Sgpr, room.limits.sgprs),
            left: u32::from(room.limits.sgprs).saturating_sub(KEPT_SGPRS),
            vgprs,
            left_vgprs: match room.scratch {
                0 => room.limits.vgprs,
                _ => room.limits.vgprs.saturating_sub(room.hooks + KEPT_VGPRS),
            },
            upper: 256,
            agprs: free(File::Agpr, room.agprs.min(256)),
            scratch: 0,
            open: Vec::new(),
        }
    }

    /// A home for what the wave has one of.
    fn wave(&mut self, units: u8) -> Option<SlotHome> {
        let align = units.next_power_of_two().min(4);
        if u32::from(units) <= self.left
            && let Some(first) = take(&mut self.sgprs, units, align)
        {
            self.left -= u32::from(units);
            return Some(SlotHome::Registers(RegRange::new(Reg::sgpr(first), units)));
        }
        let lanes = self.room.machine.lanes();
        let has_room = |(_, next): &&mut (Cell, u8)| next.checked_add(units).is_some_and(|end| end <= lanes);
        if let Some((cell, next)) = self.open.iter_mut().find(has_room) {
            let home = SlotHome::Lanes { cell: *cell, lane: *next, count: units };
            *next += units;
            return Some(home);
        }
        let cell = self.cell()?;
        self.open.push((cell, units));
        Some(SlotHome::Lanes { cell, lane: 0, count: units })
    }

    fn cell(&mut self) -> Option<Cell> {
        let register = self.registers(1).map(|range| Cell::Register(range.first));
        register.or_else(|| self.bytes(1).map(Cell::Scratch))
    }

    /// A home for what each lane has one of.
    fn lanes(&mut self, units: u8) -> Option<SlotHome> {
        let registers = self.registers(units).map(SlotHome::Registers);
        registers.or_else(|| self.bytes(units).map(|offset| SlotHome::Scratch { offset, count: units }))
    }

    /// VGPRs or AGPRs in a row.
    fn registers(&mut self, count: u8) -> Option<RegRange> {
        let align = if count > 1 { 2 } else { 1 };
        if u16::from(count) <= self.left_vgprs
            && let Some(first) = take(&mut self.vgprs, count, align)
        {
            self.left_vgprs -= u16::from(count);
            return Some(RegRange::new(Reg::vgpr(first), count));
        }
        while self.upper + u16::from(count) <= self.room.vgprs {
            let range = RegRange::new(Reg::vgpr(self.upper), count);
            match range.units().find(|reg| self.room.touched.contains(*reg)) {
                Some(reg) => self.upper = reg.number() + 1,
                None => {
                    self.upper += u16::from(count);
                    return Some(range);
                }
            }
        }
        take(&mut self.agprs, count, 1).map(|first| RegRange::new(Reg::agpr(first), count))
    }

    /// The offset of cells of scratch.
    fn bytes(&mut self, cells: u8) -> Option<u32> {
        let (start, end) = (self.scratch, self.scratch + 4 * u32::from(cells));
        (end <= self.room.scratch).then(|| {
            self.scratch = end;
            start
        })
    }
}

fn take(free: &mut Free, count: u8, align: u8) -> Option<u16> {
    let first = free.find(count, align, 0)?;
    (first..first + u16::from(count)).for_each(|n| free.remove(n));
    Some(first)
}
