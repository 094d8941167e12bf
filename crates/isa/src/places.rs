//! The layouts as a table by format and field, so that reading a field is one look-up.

use crate::layout::layout;
use crate::{Field, Format};

/// A field's pieces, its least significant first; a width of zero where there is none. No field has more than two.
#[derive(Clone, Copy)]
pub struct Place {
    low: [u8; 2],
    width: [u8; 2],
}

impl Place {
    const NONE: Place = Place { low: [0; 2], width: [0; 2] };

    /// Bits in all; zero if the format has no such field.
    pub fn width(self) -> u32 {
        u32::from(self.width[0] + self.width[1])
    }

    pub fn get(self, pair: u64) -> u32 {
        let piece = |i: usize| pair >> self.low[i] & ((1 << self.width[i]) - 1);
        (piece(0) | piece(1) << self.width[0]) as u32
    }

    /// The encoding with the field set to the low bits of a value.
    pub fn set(self, pair: u64, value: u32) -> u64 {
        let mask = |i: usize| ((1u64 << self.width[i]) - 1) << self.low[i];
        let (value, high) = (u64::from(value), u64::from(value) >> self.width[0]);
        pair & !mask(0) & !mask(1) | value << self.low[0] & mask(0) | high << self.low[1] & mask(1)
    }
}

const FIELDS: usize = Field::Op as usize + 1;
const FORMATS: usize = Format::Exp as usize + 1;

const ALL: [Format; FORMATS] = {
    use Format::*;
    [
        Sop1, Sop2, Sopk, Sopc, Sopp, Smem, Vop1, Vop2, Vopc, Vop3a, Vop3b, Vop3p, Mai, Vintrp, Sdwa1, Sdwa2, SdwaC,
        Dpp1, Dpp2, Ds, Flat, Mubuf, Mtbuf, Mimg, Exp,
    ]
};

static PLACES: [[Place; FIELDS]; FORMATS] = {
    let mut table = [[Place::NONE; FIELDS]; FORMATS];
    let mut i = 0;
    while i < FORMATS {
        let pieces = layout(ALL[i]);
        let mut j = 0;
        while j < pieces.len() {
            let (field, low, width) = pieces[j];
            let place = &mut table[ALL[i] as usize][field as usize];
            let at = if place.width[0] == 0 { 0 } else { 1 };
            assert!(place.width[at] == 0, "a field in three pieces");
            place.low[at] = low;
            place.width[at] = width;
            j += 1;
        }
        i += 1;
    }
    table
};

pub fn place(format: Format, field: Field) -> Place {
    PLACES[format as usize][field as usize]
}
