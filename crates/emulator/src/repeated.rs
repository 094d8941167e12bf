//! Long instructions that waves of a workgroup repeat are done once.
//!
//! Where a workgroup has more waves than its matrix has tiles, all make the same tile: Triton's smaller blocks are so. Their
//! waves come to a matrix instruction one after the other, each with what the one before had. So what an instruction was given
//! and what it has made are kept; the next wave that has the same takes the results.
//!
//! To keep results takes a tenth of the time of a long instruction. So the device first looks whether waves repeat an
//! instruction: whether the first register of each operand is what it was one of the last two times. If it is not, or if kept
//! results have been of no use for a while, the device leaves the instruction alone for some hundred times.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use zerocopy::IntoBytes;

use crate::op::{Handler, Op, OpFlags};
use crate::registers::Row;

/// Instructions that are kept at once.
const SITES: usize = 64;
/// How many times of each: a workgroup's waves may make two tiles, in turns.
const TIMES: usize = 2;
/// How often an instruction is looked at before it is left alone, and how often it is left alone then.
const LOOKS: u8 = 3;
const LEFT_ALONE: u16 = 400;
/// How many results in a row may be of no use: at first, for one that was of use, and at most.
const CREDIT: u8 = 6;
const EARNED: u8 = 2;
const MOST_CREDIT: u8 = 12;
/// Bytes that a process keeps at most, as many workgroups may be under way.
const MOST_BYTES: usize = 64 << 20;
static BYTES: AtomicUsize = AtomicUsize::new(0);

#[cfg(test)]
thread_local! {
    /// How often this thread has had results in place.
    pub(crate) static DONE: Cell<usize> = const { Cell::new(0) };
}

/// What a workgroup's waves have done.
#[derive(Default)]
pub struct Repeated {
    are_several: bool,
    /// What is being made is to be kept.
    keeps: Cell<bool>,
    /// None before the first long instruction.
    sites: RefCell<Vec<Site>>,
}

/// Registers that an instruction reads or writes: the first one's row, and how many.
pub type Span = (u16, usize);

/// What there is to do for an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// Nothing: the results are in place.
    Done,
    Make,
    MakeAndKeep,
}

/// What an instruction does, but for where its results go. (Where a micro-op is, another one may be later.)
#[derive(Clone, Copy)]
struct What {
    run: Handler,
    imm: [u64; 2],
    src: [u16; 3],
    flags: OpFlags,
}

impl What {
    fn of(op: &Op) -> What {
        What { run: op.run, imm: [op.imm, op.imm2], src: op.src, flags: op.flags }
    }

    fn is(&self, op: &Op) -> bool {
        // Two operations that are one function's do the same.
        let same_function = std::ptr::fn_addr_eq(self.run, op.run);
        same_function && self.imm == [op.imm, op.imm2] && self.src == op.src && self.flags == op.flags
    }
}

/// What is known of one instruction.
struct Site {
    what: Option<What>,
    state: State,
    /// What it was given, and has made, the last times.
    times: [Time; TIMES],
    /// Which of them was the last.
    last: usize,
    /// For what is kept.
    room: Option<Room>,
}

/// Bytes that are counted in [`BYTES`].
struct Room(usize);

impl Room {
    /// Counts bytes; none if the process would keep more than [`MOST_BYTES`] then.
    fn of(bytes: usize) -> Option<Room> {
        let more = |kept: usize| kept.checked_add(bytes).filter(|&kept| kept <= MOST_BYTES);
        BYTES.fetch_update(Relaxed, Relaxed, more).ok().map(|_| Room(bytes))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        BYTES.fetch_sub(self.0, Relaxed);
    }
}

/// The first register of each operand; or, where they are kept, all operands and then the results.
type Time = Vec<Row>;

#[derive(Clone, Copy)]
enum State {
    LeftAlone(u16),
    LookedAt(u8),
    Kept(u8),
}

impl Repeated {
    /// For a workgroup that has this number of waves.
    pub fn of(waves: usize) -> Repeated {
        Repeated { are_several: waves > 1, ..Repeated::default() }
    }

    /// Whether there is more than one wave.
    #[inline(always)]
    pub fn are_several(&self) -> bool {
        self.are_several
    }

    /// Puts the results of an instruction in place, if they are kept: of several waves of `lanes` lanes, and of one that reads
    /// nothing but these operands. If not, it is to be made, and then kept if [`Repeated::keeps`] says so.
    #[inline(never)]
    pub fn take(&self, rows: &mut [Row], lanes: u32, op: &Op, operands: &[Span], results: Span) -> bool {
        let mut sites = self.sites.borrow_mut();
        if sites.is_empty() {
            sites.resize_with(SITES, Site::new);
        }
        let answer = sites[place(op)].ask(rows, lanes as usize, op, operands, results);
        self.keeps.set(answer == Answer::MakeAndKeep);
        answer == Answer::Done
    }

    /// Whether the instruction that is being made is to be kept.
    #[inline(always)]
    pub fn keeps(&self) -> bool {
        self.keeps.get()
    }

    /// Keeps what was made.
    #[inline(never)]
    pub fn keep(&self, rows: &[Row], op: &Op, results: Span) {
        self.keeps.set(false);
        self.sites.borrow_mut()[place(op)].keep(rows, results);
    }
}

fn place(op: &Op) -> usize {
    std::ptr::from_ref(op).addr() / size_of::<Op>() % SITES
}

fn range((first, count): Span) -> Range<usize> {
    usize::from(first)..usize::from(first) + count
}

/// Whether operands are what they were in a wave's lanes.
fn are_same(rows: &[Row], lanes: usize, operands: impl Iterator<Item = Span>, time: &Time) -> bool {
    let mut was = &time[..];
    for span in operands {
        let (first, others) = was.split_at(span.1);
        was = others;
        let rows = &rows[range(span)];
        let are_same = match lanes {
            64 => rows.as_bytes() == first.as_bytes(),
            _ => rows.iter().zip(first).all(|(row, was)| row.0[..lanes] == was.0[..lanes]),
        };
        if !are_same {
            return false;
        }
    }
    true
}

impl Site {
    fn new() -> Site {
        Site { what: None, state: State::LookedAt(LOOKS), times: Default::default(), last: 0, room: None }
    }

    fn ask(&mut self, rows: &mut [Row], lanes: usize, op: &Op, operands: &[Span], results: Span) -> Answer {
        let firsts = operands.iter().map(|&(first, _)| (first, 1));
        match self.state {
            State::LeftAlone(0) => self.state = State::LookedAt(LOOKS),
            State::LeftAlone(times) => self.state = State::LeftAlone(times - 1),
            State::LookedAt(looks) => {
                if self.time(op, (rows, lanes), firsts.clone(), 0).is_some() {
                    let count = operands.iter().map(|span| span.1).sum::<usize>() + results.1;
                    self.room = Room::of(TIMES * count * size_of::<Row>());
                    if self.room.is_some() {
                        self.state = State::Kept(CREDIT);
                        return self.begin(rows, op, operands.iter().copied());
                    }
                    self.leave_alone();
                    return Answer::Make;
                }
                match looks.checked_sub(1) {
                    Some(looks) => {
                        self.state = State::LookedAt(looks);
                        self.begin(rows, op, firsts);
                    }
                    None => self.leave_alone(),
                }
            }
            State::Kept(credit) => {
                if let Some(time) = self.time(op, (rows, lanes), operands.iter().copied(), results.1) {
                    let made = &self.times[time][self.times[time].len() - results.1..];
                    for (row, made) in rows[range(results)].iter_mut().zip(made) {
                        row.0[..lanes].copy_from_slice(&made.0[..lanes]);
                    }
                    self.state = State::Kept((credit + EARNED).min(MOST_CREDIT));
                    #[cfg(test)]
                    DONE.with(|done| done.set(done.get() + 1));
                    return Answer::Done;
                }
                match credit.checked_sub(1) {
                    Some(credit) => {
                        self.state = State::Kept(credit);
                        // There is room for one instruction.
                        if self.is_of(op) {
                            return self.begin(rows, op, operands.iter().copied());
                        }
                    }
                    None => self.leave_alone(),
                }
            }
        }
        Answer::Make
    }

    fn is_of(&self, op: &Op) -> bool {
        self.what.is_some_and(|what| what.is(op))
    }

    /// Which of [`Site::times`] has the same operands, and this number of results behind them.
    fn time(
        &self,
        op: &Op,
        (rows, lanes): (&[Row], usize),
        operands: impl Iterator<Item = Span> + Clone,
        results: usize,
    ) -> Option<usize> {
        if !self.is_of(op) {
            return None;
        }
        let count = operands.clone().map(|span| span.1).sum::<usize>() + results;
        self.times.iter().position(|time| time.len() == count && are_same(rows, lanes, operands.clone(), time))
    }

    /// Keeps operands in the place of what was longest ago.
    fn begin(&mut self, rows: &[Row], op: &Op, operands: impl Iterator<Item = Span>) -> Answer {
        if !self.is_of(op) {
            self.times.iter_mut().for_each(Vec::clear);
        }
        self.what = Some(What::of(op));
        self.last = (self.last + 1) % TIMES;
        let time = &mut self.times[self.last];
        time.clear();
        operands.for_each(|span| time.extend_from_slice(&rows[range(span)]));
        Answer::MakeAndKeep
    }

    fn keep(&mut self, rows: &[Row], results: Span) {
        self.times[self.last].extend_from_slice(&rows[range(results)]);
    }

    fn leave_alone(&mut self) {
        *self = Site { state: State::LeftAlone(LEFT_ALONE), ..Site::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, Room};

    #[test]
    fn a_process_keeps_so_much_at_most() {
        assert!(Room::of(MOST_BYTES + 1).is_none() && Room::of(usize::MAX).is_none());
        // What is given back may be had again.
        for _ in 0..100 {
            assert!(Room::of(MOST_BYTES / 32).is_some());
        }
    }
}
