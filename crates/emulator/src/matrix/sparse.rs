//! `v_smfmac_*`: of every four elements along K of a row of A two are stored, and an index says which.
//!
//! A lane's index register has four bits for each pair of elements that the lane holds: the place of the first within
//! its four, two bits, then that of the second. Where a lane does not fill the register, ABID says which part of it
//! counts, if CBSZ is zero. CDNA3: lane by lane, elements and indices lie beside the elements of B that they meet
//! (AMD's matrix instruction calculator). CDNA4 stores A and B as full operations of half and of all of K do, the latter
//! in two or four pieces, and spreads eight-bit elements and their indices further (the tables of AMD's rocjitsu).

use std::marker::PhantomData;

use super::aligned;
use super::codes::{Codes, Factors};
use super::dense::{Product, result_registers, rows};
use super::side::{Parts, Side, View};
use super::sum::{Rule, Span};
use super::types::Element;
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::registers::Row;
use crate::wave::Wave;

/// `PER_LANE` stored elements of A a lane, `TWICE` as many of B.
pub struct Sparse<A, B, R, L, const M: usize, const PER_LANE: usize, const TWICE: usize>(PhantomData<(A, B, R, L)>);

/// Where things lie, `groups` being the lanes that share a row: `64 / M`.
pub trait Layout {
    /// Lane group and element of stored element `s` of a row of A.
    fn a(groups: usize, per_lane: usize, s: usize) -> (usize, usize);
    /// Lane group and element of row `k` of B.
    fn b(groups: usize, per_lane: usize, k: usize) -> (usize, usize);
    /// Lane group of the index of pair `q`, and which four bits.
    fn index(groups: usize, per_lane: usize, q: usize) -> (usize, usize);
}

/// CDNA3: what meets is in one lane.
pub struct Local;
/// CDNA4, 16 bits: B in pieces of eight.
pub struct Pieces;
/// CDNA4, 8 bits.
pub struct Spread;

impl Layout for Local {
    fn a(_groups: usize, per_lane: usize, s: usize) -> (usize, usize) {
        (s / per_lane, s % per_lane)
    }
    fn b(_groups: usize, per_lane: usize, k: usize) -> (usize, usize) {
        (k / (2 * per_lane), k % (2 * per_lane))
    }
    fn index(_groups: usize, per_lane: usize, q: usize) -> (usize, usize) {
        (q / (per_lane / 2), q % (per_lane / 2))
    }
}

/// Pieces of eight, handed out in turns.
fn in_turns(groups: usize, k: usize) -> (usize, usize) {
    (k / 8 % groups, k / (8 * groups) * 8 + k % 8)
}

impl Layout for Pieces {
    fn a(groups: usize, per_lane: usize, s: usize) -> (usize, usize) {
        Local::a(groups, per_lane, s)
    }
    fn b(groups: usize, _per_lane: usize, k: usize) -> (usize, usize) {
        in_turns(groups, k)
    }
    fn index(groups: usize, per_lane: usize, q: usize) -> (usize, usize) {
        Local::index(groups, per_lane, q)
    }
}

impl Layout for Spread {
    fn a(groups: usize, _per_lane: usize, s: usize) -> (usize, usize) {
        let bit = |k: usize| s >> k & 1;
        if groups == 4 {
            (2 * bit(5) + bit(3), 4 * (2 * bit(2) + bit(4)) + s % 4)
        } else {
            (bit(4), 4 * (2 * bit(2) + bit(3)) + s % 4)
        }
    }
    fn b(groups: usize, _per_lane: usize, k: usize) -> (usize, usize) {
        in_turns(groups, k)
    }
    fn index(groups: usize, _per_lane: usize, q: usize) -> (usize, usize) {
        let bit = |k: usize| q >> k & 1;
        if groups == 4 {
            (2 * bit(4) + bit(2), 4 * bit(1) + 2 * bit(3) + bit(0))
        } else {
            (bit(3), 4 * bit(1) + 2 * bit(2) + bit(0))
        }
    }
}

/// The row of four bits for each pair, at the part that ABID selects.
fn indices(w: &Wave, op: &Op, per_lane: usize) -> Row {
    let (mods, bits) = (RawMods(op.imm), 2 * per_lane as u32);
    let parts = 32 / bits;
    let part = if mods.cbsz() == 0 { mods.abid() % parts } else { 0 };
    let mut out = *w.row(op.src[2]);
    out.0.iter_mut().for_each(|word| *word >>= part * bits % 32);
    out
}

impl<A: Element, B: Element, R: Rule, L: Layout, const M: usize, const PER_LANE: usize, const TWICE: usize> Semantics
    for Sparse<A, B, R, L, M, PER_LANE, TWICE>
{
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let groups = 64 / M;
        let stored = PER_LANE * groups;
        let index = indices(w, op, PER_LANE);
        // Where each element of a lane belongs: the layout's formulas, turned round.
        let (mut a_place, mut b_place) = ([[0; 4]; PER_LANE], [[0; 4]; TWICE]);
        for s in 0..stored {
            let (group, e) = L::a(groups, PER_LANE, s);
            a_place[e][group] = s;
        }
        for k in 0..2 * stored {
            let (group, e) = L::b(groups, PER_LANE, k);
            b_place[e][group] = k;
        }
        let (mut a, mut b) = (Side::<PER_LANE>::new(), Side::<TWICE>::new());
        let (a_rows, b_rows) = (&w.rows[usize::from(op.src[0])..], &w.rows[usize::from(op.src[1])..]);
        a.load::<A, M>(op, a_rows, 0, |lane, e| a_place[e][lane / M] * M);
        b.load::<B, M>(op, b_rows, 0, |lane, e| b_place[e][lane / M] * M);
        if R::IS_ALIGNED {
            let codes = (Codes::of::<M>(&a), Codes::of::<M>(&b));
            let (a, b) = (codes.0.factors(&a), codes.1.factors(&b));
            if aligned::suits(&a, &b, &w.rows[usize::from(op.dst)..][..result_registers(M, 1)]) {
                let mut product = Fast::<R, L, M, PER_LANE> { a, b, index, rule: PhantomData };
                rows::<M, 1>(w, op.dst, op.dst, &mut product);
                return Flow::Next;
            }
        }
        let (mut a_parts, mut b_parts) = (Parts::new(), Parts::new());
        if A::INTEGER {
            a_parts.take_integers(&a);
            b_parts.take_integers(&b);
        } else {
            a_parts.take(&a);
            b_parts.take(&b);
        }
        let (a, b) = (a_parts.view(&a), b_parts.view(&b));
        let mut met = Side::new();
        (met.fraction, met.least) = (b.fraction, 0);
        let met = (met, Parts::new());
        let mut product = Exact::<R, L, M, PER_LANE> { op: *op, a, b, met, index, rule: PhantomData };
        rows::<M, 1>(w, op.dst, op.dst, &mut product);
        Flow::Next
    }
}

/// The rows of B that the stored elements of a row of A meet.
pub struct Picks {
    pub rows: [u8; 64],
    /// How many there are.
    pub stored: usize,
}

impl Picks {
    #[inline(always)]
    fn of<L: Layout>(index: &Row, m: usize, per_lane: usize, row: usize) -> Picks {
        let groups = 64 / m;
        let mut picks = Picks { rows: [0; 64], stored: per_lane * groups };
        for q in 0..picks.stored / 2 {
            let (group, nibble) = L::index(groups, per_lane, q);
            let places = index.0[group * m + row] >> (4 * nibble);
            for half in 0..2 {
                picks.rows[2 * q + half] = (4 * q + (places >> (2 * half) & 3) as usize) as u8;
            }
        }
        picks
    }
}

struct Fast<'a, R, L, const M: usize, const PER_LANE: usize> {
    a: Factors<'a>,
    b: Factors<'a>,
    index: Row,
    rule: PhantomData<(R, L)>,
}

impl<R: Rule, L: Layout, const M: usize, const PER_LANE: usize> Product<M> for Fast<'_, R, L, M, PER_LANE> {
    #[inline(always)]
    fn add(&mut self, _block: usize, row: usize, c: &mut [u32; M]) {
        let picks = Picks::of::<L>(&self.index, M, PER_LANE, row);
        R::add_picked::<M>(self.a, row, self.b, &picks, c);
    }
}

struct Exact<'a, R, L, const M: usize, const PER_LANE: usize> {
    op: Op,
    a: View<'a>,
    b: View<'a>,
    /// The rows of B that a row of A meets.
    met: (Side<PER_LANE>, Parts<PER_LANE>),
    index: Row,
    rule: PhantomData<(R, L)>,
}

impl<R: Rule, L: Layout, const M: usize, const PER_LANE: usize> Product<M> for Exact<'_, R, L, M, PER_LANE> {
    #[inline(always)]
    fn add(&mut self, _block: usize, row: usize, c: &mut [u32; M]) {
        let picks = Picks::of::<L>(&self.index, M, PER_LANE, row);
        let (values, parts) = &mut self.met;
        for (s, &k) in picks.rows[..picks.stored].iter().enumerate() {
            parts.copy(values, s * M, self.b, usize::from(k) * M, M);
        }
        let at = Span { a: row, b: 0, k: picks.stored, step: M };
        R::add(&self.op, self.a, parts.view(values), at, c);
    }
}
