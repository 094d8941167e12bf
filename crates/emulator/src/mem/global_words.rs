//! GLOBAL loads and stores of whole words by lanes that lie regularly ([`super::pieces`]); others go the long way, through
//! [`super::flat`].

use std::sync::atomic::Ordering::Relaxed;

use super::access::{Addresses, Rows};
use super::flat::{self, Encoded, NO_BASE};
use super::notice;
use luthier_isa::Generation;

use super::pieces::{COUNT, LANES, Piece, Pieces, part, part_mut, put, same_pieces};
use crate::memory::HostPtr;
use crate::op::{Flow, Op, Semantics};
use crate::wave::Wave;

pub struct Words;

/// Words of a lane at most.
const MOST: usize = 4;

/// What sixteen lanes access: the first word, and whether the lanes are at neighbouring ones.
type Place = Option<(HostPtr, bool)>;

impl Semantics for Words {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let encoded = Encoded(op.imm2);
        let Some(places) = places(w, op, encoded) else { return flat::global(w, op) };
        let rows = Rows { dst: op.dst, data: op.src[1], words: encoded.words() };
        let noticed = w.is_watched.then(|| {
            let mut at = Addresses { lane: [0; 64], mask: w.exec(), stride: 4 };
            flat::global_addresses(w, op, &mut at.lane);
            notice::issue(w, encoded.action(), rows, &at)
        });
        if matches!(noticed, Some((_, true))) {
            return Flow::Next;
        }
        transfer(w, encoded, rows, &places);
        Flow::Next
    }
}

/// Moves the words of a whole wave.
#[inline(always)]
fn transfer(w: &mut Wave, encoded: Encoded, rows: Rows, places: &[Place; COUNT]) {
    w.has_stored |= !encoded.is_load();
    for (k, place) in places.iter().enumerate() {
        let Some((at, is_run)) = *place else { continue };
        match (encoded.is_load(), is_run, rows.words) {
            (true, true, 1) => {
                let to = part_mut(&mut w.rows[usize::from(rows.dst)].0, k);
                match at.load_quads() {
                    Some(quads) => put(to, quads),
                    None => (0..LANES).for_each(|i| to[i] = at.at(4 * i as u64).a32().load(Relaxed)),
                }
            }
            (true, true, _) => {
                // Each lane begins a word after the one before it. All of them together have no word twice.
                let mut all = [0; LANES + MOST - 1];
                at.load_words(&mut all[..LANES - 1 + usize::from(rows.words)]);
                for word in 0..usize::from(rows.words) {
                    let to = part_mut(&mut w.rows[usize::from(rows.dst) + word].0, k);
                    to.copy_from_slice(&all[word..][..LANES]);
                }
            }
            (true, false, _) => {
                let mut same = [0; MOST];
                at.load_words(&mut same[..usize::from(rows.words)]);
                for word in 0..usize::from(rows.words) {
                    *part_mut(&mut w.rows[usize::from(rows.dst) + word].0, k) = [same[word]; LANES];
                }
            }
            (false, true, _) => {
                let from = part(&w.rows[usize::from(rows.data)].0, k);
                match at.is_aligned(16) {
                    true => at.store_words(from),
                    false => (0..LANES).for_each(|i| at.at(4 * i as u64).a32().store(from[i], Relaxed)),
                }
            }
            (false, false, _) => {
                // The highest lane's stays.
                let last = |word: usize| part(&w.rows[usize::from(rows.data) + word].0, k)[LANES - 1];
                let same: [u32; MOST] = std::array::from_fn(last);
                at.store_words(&same[..usize::from(rows.words)]);
            }
        }
    }
}

/// Loads or stores whole words at a base and a row of offsets, if the lanes' words lie regularly, and those of each sixteen
/// lanes all end within `limit` bytes behind the base or all begin there: these load zeros, and are not stored. Does nothing
/// otherwise, and returns false. The caller has seen that the wave is not watched.
#[inline(always)]
pub fn within(w: &mut Wave, encoded: Encoded, rows: Rows, offsets: u16, base: u64, limit: u64) -> bool {
    let Some(pieces) = Pieces::of(&w.row(offsets).0, w.exec()) else { return false };
    let (mut places, mut beyond) = ([None; COUNT], [false; COUNT]);
    for (k, place) in places.iter_mut().enumerate() {
        let (first, is_run) = match pieces.get(k) {
            Piece::Off => continue,
            Piece::Same(first) => (u64::from(first), false),
            Piece::Run(first) => (u64::from(first), true),
        };
        // Strict mode hears of them.
        if first + 4 > limit && w.strict.is_none() {
            beyond[k] = true;
            continue;
        }
        if is_run && rows.words > 1 && !encoded.is_load() {
            return false;
        }
        let bytes = 4 * (u64::from(rows.words) + if is_run { LANES as u64 - 1 } else { 0 });
        let write = !encoded.is_load();
        let found = match first + bytes <= limit {
            true => w.memory.resolve(&mut w.recent, base.wrapping_add(first), bytes, write),
            false => return false,
        };
        match found {
            Ok(at) if at.is_aligned(4) => *place = Some((at, is_run)),
            _ => return false,
        }
    }
    // A wave has not stored where all is beyond.
    if places.iter().any(Option::is_some) {
        transfer(w, encoded, rows, &places);
    }
    if encoded.is_load() {
        for (k, _) in beyond.into_iter().enumerate().filter(|&(_, is_beyond)| is_beyond) {
            for word in 0..usize::from(rows.words) {
                part_mut(&mut w.rows[usize::from(rows.dst) + word].0, k).fill(0);
            }
        }
    }
    true
}

/// Where the lanes' words are, if they lie regularly, aligned and in allocations, and the order in which lanes store
/// does not show.
#[inline(always)]
fn places(w: &mut Wave, op: &Op, encoded: Encoded) -> Option<[Place; COUNT]> {
    let exec = w.exec();
    let words = encoded.words();
    // gfx1250's offsets from a scalar base have a sign, and are scaled.
    let signed = op.ssrc != NO_BASE && w.generation == Generation::Gfx1250;
    let row = &w.row(op.src[0]).0;
    let scaled;
    let offsets = if signed && op.src[2] != 1 {
        scaled = row.map(|offset| offset.wrapping_mul(op.src[2].into()));
        &scaled
    } else {
        row
    };
    let pieces = Pieces::of(offsets, exec)?;
    let high = if op.ssrc == NO_BASE { same_pieces(&w.row(op.src[0] + 1).0) } else { !0 };
    let mut places = [None; COUNT];
    for (k, place) in places.iter_mut().enumerate() {
        let (Piece::Same(first) | Piece::Run(first)) = pieces.get(k) else { continue };
        let is_run = matches!(pieces.get(k), Piece::Run(_));
        let base = if op.ssrc != NO_BASE {
            w.s64(op.ssrc)
        } else {
            if high >> k & 1 == 0 {
                return None;
            }
            u64::from(w.row(op.src[0] + 1).0[LANES * k]) << 32
        };
        if is_run && words > 1 && !encoded.is_load() {
            return None;
        }
        let offset = if signed {
            // Exact, and on one side of the wrap-around, or it is no run.
            if !are_small(part(&w.row(op.src[0]).0, k), op.src[2]) || first as i32 > i32::MAX - 4 * LANES as i32 {
                return None;
            }
            i64::from(first as i32) as u64
        } else {
            first.into()
        };
        let address = base.wrapping_add(op.imm).wrapping_add(offset);
        let (_, count) = pieces.reach(k, 0, words)?;
        let at = w.memory.resolve(&mut w.recent, address, 4 * count as u64, !encoded.is_load()).ok()?;
        if !at.is_aligned(4) {
            return None;
        }
        *place = Some((at, is_run));
    }
    Some(places)
}

/// Whether these times `scale` are 32-bit numbers with a sign.
#[inline(always)]
fn are_small(offsets: &[u32; LANES], scale: u16) -> bool {
    let bound = (1 << 31) / u32::from(scale.max(2));
    scale == 1 || offsets.iter().all(|offset| offset.wrapping_add(bound) < 2 * bound)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mem::{Action, Transfer};
    use crate::memory::Memory;
    use crate::registers::Row;

    /// What the registers and the memory hold after an access, the short or the long way.
    fn after(short: bool, offset: impl Fn(u32) -> u32, exec: u64, words: u8, load: bool, base: u8) -> (Flow, Vec<u32>) {
        after_on(Generation::Gfx90a, 1, short, offset, exec, words, load, base)
    }

    /// The same where offsets may have a sign and be scaled.
    #[allow(clippy::too_many_arguments)] // each is one that the cases differ in
    fn after_on(
        generation: Generation,
        scale: u16,
        short: bool,
        offset: impl Fn(u32) -> u32,
        exec: u64,
        words: u8,
        load: bool,
        base: u8,
    ) -> (Flow, Vec<u32>) {
        let mut memory = Memory::new();
        let start = memory.allocate(1024, true).unwrap();
        (0..256u32).for_each(|k| memory.write(start + 4 * u64::from(k), &(0x100 + k).to_le_bytes()).unwrap());
        let mut w = Wave::new();
        w.generation = generation;
        w.memory = Arc::new(memory);
        w.set_exec(exec);
        (0..20).for_each(|r| *w.row_mut(r) = Row(std::array::from_fn(|i| u32::from(r) * 100 + i as u32)));
        let own = if base == NO_BASE { start } else { 0 };
        *w.row_mut(0) = Row(std::array::from_fn(|i| (own as u32).wrapping_add(offset(i as u32))));
        *w.row_mut(1) = Row([(own >> 32) as u32; 64]);
        w.set_s64(4, start + if generation == Generation::Gfx1250 { 512 } else { 0 });
        let transfer = Transfer::Words;
        let action = if load { Action::Load(transfer) } else { Action::Store(transfer) };
        let op =
            Op { dst: 20, src: [0, 2, scale], ssrc: base, imm: 8, imm2: Encoded::new(action, words).0, ..Op::NOTHING };
        let flow = if short { Words::run(&mut w, &op) } else { flat::global(&mut w, &op) };
        let mut held: Vec<u32> = w.rows[..30].iter().flat_map(|r| r.0).collect();
        let mut bytes = [0; 1024];
        w.memory.read(start, &mut bytes).unwrap();
        held.extend(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)));
        (flow, held)
    }

    #[test]
    fn both_ways_agree_on_offsets_with_a_sign() {
        let patterns: [fn(u32) -> u32; 8] = [
            |i| i,
            |i| 4 * i,
            |i| i.wrapping_sub(64),
            |i| (4 * i).wrapping_sub(256),
            |i| i.wrapping_sub(8),
            |i| i / 16 * 16,
            // What a product of 32 bits would take for neighbours.
            |i| i.wrapping_add((i % 4) << 30),
            |i| i.wrapping_add((1 << 29) - 8),
        ];
        for (number, pattern) in patterns.into_iter().enumerate() {
            for exec in [!0, 0xffff_ffff, 0x7fff_ffff_ffff_ffff] {
                for (words, load) in (1..=4).flat_map(|words| [(words, true), (words, false)]) {
                    for scale in [1, 4, 12] {
                        let [short, long] = [true, false]
                            .map(|short| after_on(Generation::Gfx1250, scale, short, pattern, exec, words, load, 4));
                        assert!(short == long, "pattern {number}, exec {exec:#x}, {words} words, load {load}");
                    }
                }
            }
        }
    }

    #[test]
    fn both_ways_agree() {
        let patterns: [fn(u32) -> u32; 6] =
            [|i| 4 * i, |_| 64, |i| 16 * (i / 16), |i| 8 * i, |i| 4 * i + 2, |i| if i < 60 { 4 * i } else { 2000 }];
        for (number, pattern) in patterns.into_iter().enumerate() {
            for exec in [!0, 0xffff_ffff, 0xffff_0000_0000_ffff, 0x7fff_ffff_ffff_ffff, 0] {
                for (words, load) in (1..=4).flat_map(|words| [(words, true), (words, false)]) {
                    for base in [NO_BASE, 4] {
                        let [short, long] = [true, false].map(|short| after(short, pattern, exec, words, load, base));
                        assert!(short == long, "pattern {number}, exec {exec:#x}, {words} words, load {load}");
                    }
                }
            }
        }
    }
}
