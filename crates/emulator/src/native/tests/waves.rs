//! Random waves, with LDS and device memory, and registers that lead there.

use std::rc::Rc;
use std::sync::Arc;

use luthier_isa::Generation;

use super::random::Random;
use crate::lds::Lds;
use crate::memory::Memory;
use crate::mode::Mode;
use crate::registers::{Row, rows, scalar};
use crate::wave::Wave;

pub const REGISTERS: u16 = 24;
/// Those that hold addresses of LDS, and are not written.
pub const ADDRESSES: [u16; 4] = [20, 21, 22, 23];
/// Pairs of them with addresses in device memory, and offsets from a scalar base.
pub const PLACES: [u16; 2] = [24, 26];
pub const OFFSETS: [u16; 2] = [28, 29];
/// Rows of offsets into buffers. Some offsets lead nowhere.
pub const BUFFER_OFFSETS: [u16; 2] = [30, 31];
pub const HELD: u16 = 32;

/// The scalar base, and behind it one in the other allocation, and one that may lie within a word.
pub(super) const BASE: u8 = 26;

/// Scalars that hold offsets for loads of scalars.
pub(super) const SCALAR_OFFSETS: [u8; 3] = [32, 33, scalar::M0];
/// What describes a buffer in either allocation.
pub(super) const RESOURCES: [u8; 2] = [36, 44];
pub(super) const LDS: usize = 4096;
/// Words of an allocation. Accesses reach the middle ones.
const DEVICE: usize = 1536;

pub fn wave(seed: u64, wave64: bool, exec: u64, mode: u32, rare: usize) -> Wave {
    let mut random = Random::new(seed);
    let mut w = Wave::new();
    w.set_lanes(if wave64 { 64 } else { 32 });
    w.mode = Mode(mode);
    let generations = [Generation::Gfx9, Generation::Gfx11, Generation::Gfx12, Generation::Gfx1250];
    w.generation = generations[seed as usize % generations.len()];
    for row in 0..REGISTERS {
        *w.row_mut(rows::VGPR + row) = Row(std::array::from_fn(|_| random.word(rare)));
    }
    for code in 0..scalar::FIRST_CONST {
        w.s[usize::from(code)] = random.word(8);
    }
    w.set_exec(exec);
    w.kept = random.of(&[0, !0]);
    w.lds = Rc::new(Lds::new(LDS));
    for word in 0..LDS as u32 / 4 {
        w.lds.store32(4 * word, random.word(rare)).expect("inside");
    }
    let mut memory = Memory::new();
    let places = [0; 2].map(|_| memory.allocate(4 * DEVICE as u64, true).expect("there is room"));
    for place in places {
        let words: Vec<u8> = (0..DEVICE).flat_map(|_| random.word(rare).to_le_bytes()).collect();
        memory.write(place, &words).expect("inside");
    }
    // Most waves remember both; the others come upon them.
    for place in places.iter().filter(|_| random.below(4) != 0) {
        memory.resolve(&mut w.recent, *place, 4, true).expect("inside");
    }
    w.memory = Arc::new(memory);
    w.set_s64(BASE, places[0] + 1024);
    w.set_s64(BASE + 2, places[1] + 512);
    w.set_s64(BASE + 4, places[0] + 512 + random.below(4) as u64);
    for code in SCALAR_OFFSETS {
        w.s[usize::from(code)] = random.below(900) as u32;
    }
    for (row, is_pair) in PLACES.map(|row| (row, true)).into_iter().chain(OFFSETS.map(|row| (row, false))) {
        let (place, first, how) = (random.of(&places), 4 * random.below(400) as u64, random.below(10));
        let offsets: [u64; 64] = std::array::from_fn(|lane| match how {
            0 => first,
            1 | 2 => first + 4 * lane as u64,
            3 => first + 4 * (lane as u64 % 16),
            4 => 4 * random.below(1000) as u64,
            5 => first + 2 * lane as u64,
            6 => first + lane as u64,
            7 => first + 8 * lane as u64,
            8 => first + 16 * lane as u64,
            _ => first + 4 * lane as u64 + u64::from(lane == 37) * 8,
        });
        let addresses = offsets.map(|offset| place + 1024 + offset);
        *w.row_mut(row) = Row(std::array::from_fn(|i| if is_pair { addresses[i] as u32 } else { offsets[i] as u32 }));
        if is_pair {
            *w.row_mut(row + 1) = Row(addresses.map(|at| (at >> 32) as u32));
        }
    }
    for (code, place) in RESOURCES.into_iter().zip(places) {
        let records = random.of(&[1 << 30, 1 << 30, 1000, 1602, 0]);
        let base = place + 1024;
        let [low, high] = match w.generation {
            Generation::Gfx1250 => [base | records << 57, records >> 7],
            // Most are plain ones.
            _ => [base, records | random.of(&[3, 3, 3, 0]) << 60],
        };
        w.set_s64(code, low);
        w.set_s64(code + 2, high);
    }
    for row in BUFFER_OFFSETS {
        let (first, how, unit) = (4 * random.below(200) as u32, random.below(6), random.of(&[16, 8, 4, 4, 2, 1]));
        let offsets = std::array::from_fn(|lane| match how {
            0 => first,
            1 | 2 => first + unit * lane as u32,
            3 => random.of(&[1 << 31, first + unit * lane as u32]),
            4 => unit * random.below(1600 / unit as usize) as u32,
            _ => (unit * lane as u32).wrapping_sub(32),
        });
        *w.row_mut(row) = Row(offsets);
    }
    for row in ADDRESSES {
        let (first, how) = (4 * random.below(400) as u32, random.below(10));
        let (unit, swizzle) = (random.of(&[1, 2, 4]), random.below(64) as u32);
        let wrong = Some(random.below(64)).filter(|lane| lane % 3 == 0);
        let addresses = std::array::from_fn(|lane| match how {
            0 => first,
            // Blocks in another order, or with a lane that is where another is.
            8 => (first & !63) + unit * (lane as u32 ^ if wrong == Some(lane) { 5 } else { swizzle }),
            // One that is not its own inverse.
            9 => (first & !63) + unit * (lane as u32 / 16 * 16 + (lane as u32 + swizzle) % 16),
            1 => first + 4 * lane as u32,
            2 => first + 4 * (lane as u32 % 16),
            3 => 4 * random.below(800) as u32,
            4 => first + 2 * lane as u32,
            5 => first + lane as u32,
            6 => 2 * random.below(1600) as u32,
            // Some are outside, or within a word.
            _ => first + 8 * lane as u32 + if random.below(40) == 0 { random.next() } else { 0 },
        });
        *w.row_mut(row) = Row(addresses);
    }
    w
}

/// What LDS and device memory hold.
pub fn held(w: &Wave) -> Vec<u32> {
    let mut all: Vec<u32> = (0..LDS as u32 / 4).map(|word| w.lds.load32(4 * word).expect("inside")).collect();
    let mut bytes = vec![0; 4 * DEVICE];
    for place in [w.s64(BASE) - 1024, w.s64(BASE + 2) - 512] {
        w.memory.read(place, &mut bytes).expect("inside");
        all.extend(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)));
    }
    all
}
