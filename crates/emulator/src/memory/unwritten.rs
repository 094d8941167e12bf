//! Memory of the process's that nothing has written since it was allocated.
//!
//! What kernels store is noted byte by byte. What the program stores there, or copies and fills by other means, is not heard
//! of; it is known by what it leaves. Fresh memory is filled with a pattern that depends on the place: a word that does not
//! hold it any more was written. (A program that stores a word's own pattern there is not noticed: the pattern is a NaN as
//! a float, and one number of 2^32 as an integer.)
//!
//! Pieces are known by where the process has them, for all its devices: one array may be at several addresses of several
//! devices.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{HostPtr, Memory};

/// Bytes that were allocated together.
struct Piece {
    start: u64,
    end: u64,
    /// One bit a byte, from `start` rounded down to a multiple of 64 on.
    written: Box<[AtomicU64]>,
}

/// All pieces, by where the process has them.
static PIECES: RwLock<BTreeMap<u64, Arc<Piece>>> = RwLock::new(BTreeMap::new());

fn pieces() -> RwLockReadGuard<'static, BTreeMap<u64, Arc<Piece>>> {
    PIECES.read().unwrap_or_else(PoisonError::into_inner)
}

fn pieces_mut() -> RwLockWriteGuard<'static, BTreeMap<u64, Arc<Piece>>> {
    PIECES.write().unwrap_or_else(PoisonError::into_inner)
}

/// What a fresh word holds. Its upper bits make it a signalling NaN, so that sums show what they are made of.
fn pattern(word: u64) -> u32 {
    // The fraction of the golden ratio.
    let mixed = (word >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    0x7fa0_0000 | (mixed >> 40) as u32 & 0xf_ffff
}

/// Nothing has written these bytes: they are filled with something, and reads of them are findings where these are asked
/// for.
///
/// # Safety
/// The bytes are there, and no Rust reference to them exists.
pub unsafe fn forget(at: *mut u8, len: u64) {
    let start = at.expose_provenance() as u64;
    let end = start + len;
    remove(at, len);
    let place = HostPtr::new(at, true);
    let mut chunk = [0; 4096];
    let mut done = start;
    while done < end {
        // Whole words, but for the first and the last.
        let first = done & !3;
        let words = (end.next_multiple_of(4) - first).min(chunk.len() as u64);
        chunk.as_chunks_mut::<4>().0.iter_mut().zip((first..first + words).step_by(4)).for_each(|(bytes, word)| {
            *bytes = pattern(word).to_le_bytes();
        });
        let next = (first + words).min(end);
        place.at(done - start).write(&chunk[(done - first) as usize..(next - first) as usize]);
        done = next;
    }
    let bits = end.div_ceil(64) - start / 64;
    let written = (0..bits).map(|_| AtomicU64::new(0)).collect();
    pieces_mut().insert(start, Arc::new(Piece { start, end, written }));
}

/// What was forgotten of these bytes counts as written from now on: they are given back, or something unknown is there.
pub fn remove(at: *const u8, len: u64) {
    let start = at.addr() as u64;
    let mut all = pieces_mut();
    let known = all.range(..start.saturating_add(len)).rev().take_while(|(_, piece)| piece.end > start);
    let gone: Vec<u64> = known.map(|(start, _)| *start).collect();
    for start in gone {
        all.remove(&start);
    }
}

/// The bits of 64 bytes from `first` to `end`, which lie in them.
fn mask(first: u64, end: u64) -> u64 {
    let (from, count) = (first % 64, end - first);
    if count == 64 { !0 } else { ((1 << count) - 1) << from }
}

impl Piece {
    fn bits(&self, address: u64) -> &AtomicU64 {
        &self.written[(address / 64 - self.start / 64) as usize]
    }

    /// Notes that these bytes, some of which are the piece's, are written.
    fn mark(&self, first: u64, end: u64) {
        let (mut at, end) = (first.max(self.start), end.min(self.end));
        while at < end {
            let next = ((at | 63) + 1).min(end);
            self.bits(at).fetch_or(mask(at, next), Relaxed);
            at = next;
        }
    }

    /// The bits of a word's bytes that nothing has written, the word being where the process has it.
    fn unwritten(&self, word: u64, held: impl Fn() -> [u8; 4]) -> u32 {
        let (first, end) = (word.max(self.start), (word + 4).min(self.end));
        if first >= end {
            return 0;
        }
        let known = self.bits(first).load(Relaxed) >> (word % 64) as u32 & 0xf;
        let own = mask(first, end) >> (word % 64);
        let fresh = own & !known;
        if fresh == 0 {
            return 0;
        }
        let bits = (0..4).filter(|i| fresh >> i & 1 != 0).fold(0, |bits, i| bits | 0xffu32 << (8 * i));
        if (u32::from_le_bytes(held()) ^ pattern(word)) & bits != 0 {
            // The program has, or a copy.
            self.mark(first, end);
            return 0;
        }
        bits
    }
}

/// Some addresses of a device: which piece they are in, if they are in one, and by how much the process's differ.
#[derive(Clone)]
struct Known {
    first: u64,
    end: u64,
    piece: Option<Arc<Piece>>,
    /// The device's address and this make the process's.
    shift: u64,
    at: HostPtr,
}

/// What a wave has found out about memory, as long as allocations stay as they are.
#[derive(Clone, Default)]
pub struct Unwritten(Option<Known>);

// SAFETY: it points at a device's memory, which all threads access.
unsafe impl Send for Unwritten {}

impl Unwritten {
    fn known(&mut self, memory: &Memory, address: u64) -> Option<&Known> {
        if self.0.as_ref().is_none_or(|known| address.wrapping_sub(known.first) >= known.end - known.first) {
            self.0 = look_up(memory, address);
        }
        self.0.as_ref()
    }

    /// Some bytes are about to be written.
    pub fn write(&mut self, memory: &Memory, address: u64, size: u64) {
        let end = address.saturating_add(size);
        let mut at = address;
        while at < end {
            let Some(known) = self.known(memory, at) else { return };
            if let Some(piece) = &known.piece {
                piece.mark(at.wrapping_add(known.shift), end.min(known.end).wrapping_add(known.shift));
            }
            at = known.end;
        }
    }

    /// The bits of up to four bytes that nothing has written.
    pub fn read(&mut self, memory: &Memory, address: u64, bytes: u32) -> u32 {
        let Some(known) = self.known(memory, address) else { return 0 };
        if known.piece.is_none() && known.end.wrapping_sub(address) >= bytes.into() {
            return 0;
        }
        (0..bytes).fold(0, |bits, i| {
            let at = address.wrapping_add(i.into());
            let Some(known) = self.known(memory, at) else { return bits };
            let Some(piece) = &known.piece else { return bits };
            let here = at.wrapping_add(known.shift);
            let word = here & !3;
            let held = || held(known, word, piece);
            bits | (piece.unwritten(word, held) >> (here % 4 * 8) & 0xff) << (8 * i)
        })
    }
}

/// What a piece's word holds; bytes outside of it do not count.
fn held(known: &Known, word: u64, piece: &Piece) -> [u8; 4] {
    let mut bytes = [0; 4];
    for (i, byte) in bytes.iter_mut().enumerate() {
        let at = word + i as u64;
        // What the device has of it.
        let is_there = (known.first..known.end).contains(&at.wrapping_sub(known.shift));
        *byte = if (piece.start..piece.end).contains(&at) && is_there {
            known.at.at(at.wrapping_sub(known.shift) - known.first).load8()
        } else {
            pattern(word).to_le_bytes()[i]
        };
    }
    bytes
}

fn look_up(memory: &Memory, address: u64) -> Option<Known> {
    let span = memory.find(address)?;
    let shift = (span.host(span.start()).addr() as u64).wrapping_sub(span.start());
    let here = address.wrapping_add(shift);
    let all = pieces();
    let before = all.range(..=here).next_back().map(|(_, piece)| piece);
    let piece = before.filter(|piece| here < piece.end);
    // Where the answer holds: as far as the piece goes, or the gap between pieces.
    let (first, end) = match piece {
        Some(piece) => (piece.start, piece.end),
        None => (before.map_or(0, |piece| piece.end), all.range(here..).next().map_or(u64::MAX, |(start, _)| *start)),
    };
    let (own_first, own_end) = (span.start().wrapping_add(shift), span.end().wrapping_add(shift));
    let (first, end) = (first.max(own_first), end.min(own_end));
    Some(Known {
        first: first.wrapping_sub(shift),
        end: end.wrapping_sub(shift),
        piece: piece.cloned(),
        shift,
        at: HostPtr::new(span.host(first.wrapping_sub(shift)), false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;

    /// A device's memory of `len` bytes, fresh from `skip` on, and where it has them.
    fn fresh(len: u64, skip: u64) -> (Memory, u64, *mut u8) {
        let buffer = Buffer::zeroed(len).unwrap();
        let at = buffer.ptr().cast_mut();
        let mut memory = Memory::new();
        let start = memory.add(buffer, len, true).unwrap();
        // SAFETY: the memory keeps the bytes.
        unsafe { forget(at.wrapping_add(skip as usize), len - skip) };
        (memory, start, at)
    }

    #[test]
    fn each_byte_is_unwritten_until_a_kernel_stores_it() {
        let (memory, start, at) = fresh(256, 6);
        let mut known = Unwritten::default();
        assert_eq!([0, 4, 8].map(|by| known.read(&memory, start + by, 4)), [0, 0xffff_0000, !0]);
        assert_eq!(
            [(5, 1), (6, 1), (7, 2), (4, 3)].map(|(by, n)| known.read(&memory, start + by, n)),
            [0, 0xff, 0xffff, 0xff_0000]
        );
        known.write(&memory, start + 60, 9);
        assert_eq!([56, 60, 64, 68].map(|by| known.read(&memory, start + by, 4)), [!0, 0, 0, 0xffff_ff00]);
        // Whatever it was that the kernel has stored.
        memory.write(start + 128, &pattern(at.addr() as u64 + 128).to_le_bytes()).unwrap();
        assert_eq!(known.read(&memory, start + 128, 4), !0);
        known.write(&memory, start + 128, 4);
        assert_eq!(Unwritten::default().read(&memory, start + 128, 4), 0);
        remove(at, 256);
        assert_eq!(Unwritten::default().read(&memory, start + 8, 4), 0);
    }

    #[test]
    fn what_the_program_stores_counts_word_by_word() {
        let (memory, start, _) = fresh(4096, 0);
        let mut known = Unwritten::default();
        memory.write(start + 9, &[0]).unwrap();
        memory.write(start + 100, &[0; 40]).unwrap();
        assert_eq!(
            [4, 8, 12, 96, 100, 136, 140].map(|by| known.read(&memory, start + by, 4)),
            [!0, 0, !0, !0, 0, 0, !0]
        );
    }

    #[test]
    fn words_of_one_piece_look_different() {
        let mut all: Vec<u32> = (0..4096).map(|k| pattern(0x7fff_0000_0000 + 4 * k)).collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 4000 && all.iter().all(|&word| f32::from_bits(word).is_nan()), "{}", all.len());
    }
}
