//! The layouts as a table by generation, format and field, so that reading a field is one look-up.

use crate::generation::Generation;
use crate::layout::layout;
use crate::{Field, Format};

/// A field's pieces, its least significant first; a width of zero where there is none. No field has more than two.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    low: [u8; 2],
    width: [u8; 2],
}

/// The bits of a piece, in the two words from `words[low / 32]` on.
const fn mask(width: u8) -> u64 {
    (1 << width) - 1
}

/// 64 bits from the word that holds bit `low` on; zeros past the end.
pub fn window(words: &[u32; 5], low: u8) -> u64 {
    let at = usize::from(low / 32);
    let word = |i: usize| u64::from(words.get(i).copied().unwrap_or(0));
    word(at) | word(at + 1) << 32
}

impl Place {
    const NONE: Place = Place { low: [0; 2], width: [0; 2] };

    /// Bits in all; zero if the format has no such field.
    pub fn width(self) -> u32 {
        u32::from(self.width[0] + self.width[1])
    }

    pub fn get(self, words: &[u32; 5]) -> u32 {
        let piece = |i: usize| window(words, self.low[i]) >> (self.low[i] % 32) & mask(self.width[i]);
        let first = piece(0);
        // Most fields are in one piece.
        if self.width[1] == 0 { first as u32 } else { (first | piece(1) << self.width[0]) as u32 }
    }

    /// Sets the field to the low bits of a value.
    pub fn set(self, words: &mut [u32; 5], value: u32) {
        let mut rest = u64::from(value);
        for (low, width) in self.low.into_iter().zip(self.width) {
            let (at, shift) = (usize::from(low / 32), low % 32);
            let changed = window(words, low) & !(mask(width) << shift) | (rest & mask(width)) << shift;
            words[at] = changed as u32;
            if let Some(next) = words.get_mut(at + 1) {
                *next = (changed >> 32) as u32;
            }
            rest >>= width;
        }
    }
}

/// The places of one format's fields.
pub type Places = [Place; Field::COUNT];

const GENERATIONS: usize = Generation::ALL.len();
const FORMATS: usize = Format::ALL.len();

static PLACES: [[Places; FORMATS]; GENERATIONS] = {
    let mut table = [[[Place::NONE; Field::COUNT]; FORMATS]; GENERATIONS];
    let mut g = 0;
    while g < GENERATIONS {
        let mut i = 0;
        while i < FORMATS {
            let pieces = layout(Generation::ALL[g], Format::ALL[i]);
            let mut j = 0;
            while j < pieces.len() {
                let (field, low, width) = pieces[j];
                let place = &mut table[Generation::ALL[g] as usize][Format::ALL[i] as usize][field as usize];
                let at = if place.width[0] == 0 { 0 } else { 1 };
                assert!(place.width[at] == 0, "a field in three pieces");
                place.low[at] = low;
                place.width[at] = width;
                j += 1;
            }
            i += 1;
        }
        g += 1;
    }
    table
};

pub fn places(generation: Generation, format: Format) -> &'static Places {
    &PLACES[generation as usize][format as usize]
}
