//! DS reads and writes of whole words by lanes that lie regularly ([`super::pieces`]); others go the long way, through
//! [`super::ds`].

use super::access::Rows;
use super::flat::Encoded;
use super::pieces::{COUNT, LANES, Piece, Pieces, part, part_mut};
use super::{ds, notice};
use crate::op::{Flow, Kind, Op, Semantics};
use crate::wave::Wave;

/// One access a lane, or (`TWICE`) two.
pub struct Words<const TWICE: bool>;

/// One of the accesses: which rows, and how far from the address.
#[derive(Clone, Copy)]
struct Access {
    rows: Rows,
    offset: u32,
}

impl<const TWICE: bool> Semantics for Words<TWICE> {
    const KIND: Kind = if TWICE { Kind::DS_WORDS_TWICE } else { Kind::DS_WORDS };
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let encoded = Encoded(op.imm2);
        let words = encoded.words();
        let first = Access { rows: Rows { dst: op.dst, data: op.src[1], words }, offset: op.imm as u32 };
        let second = Access {
            rows: Rows { dst: op.dst + u16::from(words), data: op.src[2], words },
            offset: (op.imm >> 32) as u32,
        };
        let long_way = if TWICE { ds::double } else { ds::single };
        let Some(pieces) = Pieces::of(&w.row(op.src[0]).0, w.exec()) else { return long_way(w, op) };
        let len = w.lds.len() / 4;
        let fits = pieces.fit(first.offset, words, len) && (!TWICE || pieces.fit(second.offset, words, len));
        // The order in which lanes store must not show.
        let in_turn = encoded.is_load() || words == 1 || !pieces.has_runs();
        if !fits || !in_turn {
            return long_way(w, op);
        }
        // A first load may replace the addresses.
        let base = if w.is_watched { Some(*w.row(op.src[0])) } else { None };
        for access in &[first, second][..1 + usize::from(TWICE)] {
            if let Some(base) = &base {
                notice::lds_words(w, encoded.action(), access.rows, &base.0, access.offset, &pieces);
            }
            if encoded.is_load() {
                load(w, &pieces, access);
            } else {
                store(w, &pieces, access);
            }
        }
        Flow::Next
    }
}

#[inline(always)]
fn load(w: &mut Wave, pieces: &Pieces, Access { rows, offset }: &Access) {
    let Wave { rows: file, lds, .. } = w;
    for k in 0..COUNT {
        let Some(from) = pieces.reach(k, *offset, rows.words).and_then(|reach| lds.words_from(reach)) else { continue };
        let is_run = matches!(pieces.get(k), Piece::Run(_));
        for word in 0..usize::from(rows.words) {
            let mut values = [from[word].get(); LANES];
            if is_run && let Some(from) = from[word..].first_chunk::<LANES>() {
                for i in 0..LANES {
                    values[i] = from[i].get();
                }
            }
            *part_mut(&mut file[usize::from(rows.dst) + word].0, k) = values;
        }
    }
}

#[inline(always)]
fn store(w: &mut Wave, pieces: &Pieces, Access { rows, offset }: &Access) {
    let Wave { rows: file, lds, .. } = w;
    for k in 0..COUNT {
        let Some(to) = pieces.reach(k, *offset, rows.words).and_then(|reach| lds.words_from(reach)) else { continue };
        if let (Piece::Run(_), Some(to)) = (pieces.get(k), to.first_chunk::<LANES>()) {
            let values = *part(&file[usize::from(rows.data)].0, k);
            for i in 0..LANES {
                to[i].set(values[i]);
            }
        } else {
            // The highest lane's stays.
            for (word, to) in to.iter().enumerate() {
                to.set(part(&file[usize::from(rows.data) + word].0, k)[LANES - 1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::lds::Lds;
    use crate::mem::{Action, Transfer};
    use crate::registers::Row;

    type Offsets = fn(u32) -> u32;

    /// The same accesses the short and the long way.
    #[test]
    fn both_ways_agree() {
        let patterns: [Offsets; 6] = [
            |i| 4 * i,
            |_| 64,
            |i| 16 * (i / 16),
            |i| 4 * (i % 16),
            |i| 8 * i + 4,
            |i| if i < 16 { 4 * i } else { 32 },
        ];
        for (pattern, exec, words, load, twice) in cases(&patterns) {
            let run = |short: bool| {
                let mut w = Wave::new();
                w.lds = Rc::new(Lds::new(2048));
                (0..512).for_each(|k| w.lds.store32(4 * k, 0x1000 + k).unwrap());
                w.set_exec(exec);
                *w.row_mut(0) = Row(std::array::from_fn(|i| pattern(i as u32)));
                (1..20).for_each(|r| *w.row_mut(r) = Row(std::array::from_fn(|i| u32::from(r) * 100 + i as u32)));
                let transfer = Transfer::Words;
                let action = if load { Action::Load(transfer) } else { Action::Store(transfer) };
                let op = Op {
                    dst: 20,
                    src: [0, 4, 8],
                    imm: 12 | 1024 << 32,
                    imm2: Encoded::new(action, words).0,
                    ..Op::NOTHING
                };
                let op = if twice { op } else { Op { imm: 12, ..op } };
                let flow = match (short, twice) {
                    (true, true) => Words::<true>::run(&mut w, &op),
                    (true, false) => Words::<false>::run(&mut w, &op),
                    (false, true) => ds::double(&mut w, &op),
                    (false, false) => ds::single(&mut w, &op),
                };
                let lds: Vec<u32> = (0..512).map(|k| w.lds.load32(4 * k).unwrap()).collect();
                (flow, lds, w.rows[..40].iter().map(|r| r.0).collect::<Vec<_>>())
            };
            assert!(run(true) == run(false), "exec {exec:#x}, {words} words, load {load}, twice {twice}");
        }
    }

    fn cases(patterns: &[Offsets]) -> Vec<(Offsets, u64, u8, bool, bool)> {
        let mut all = Vec::new();
        for &pattern in patterns {
            for exec in [!0, 0xffff_ffff, 0xffff_0000_0000_ffff, 0x7fff_ffff_ffff_ffff, 0] {
                for words in 1..=4 {
                    for load in [true, false] {
                        all.extend([true, false].map(|twice| (pattern, exec, words, load, twice)));
                    }
                }
            }
        }
        all
    }

    #[test]
    fn what_is_outside_goes_the_long_way() {
        let mut w = Wave::new();
        w.lds = Rc::new(Lds::new(256));
        w.set_exec(!0);
        *w.row_mut(0) = Row(std::array::from_fn(|i| 4 * i as u32));
        let imm2 = Encoded::new(Action::Load(Transfer::Words), 1).0;
        assert_eq!(Words::<false>::run(&mut w, &Op { dst: 1, imm2, ..Op::NOTHING }), Flow::Next);
        *w.row_mut(1) = Row([7; 64]);
        w.lds.store32(252, 9).expect("inside");
        assert_eq!(Words::<false>::run(&mut w, &Op { dst: 1, imm2, imm: 4, ..Op::NOTHING }), Flow::Next);
        assert_eq!(w.row(1).0[62..], [9, 0]);
        *w.row_mut(0) = Row([u32::MAX - 3; 64]);
        assert_eq!(Words::<false>::run(&mut w, &Op { dst: 1, imm2, imm: 4, ..Op::NOTHING }), Flow::Next, "it wraps");
    }
}
