//! The data formats of images: those of typed buffers, and some packed ones.
//!
//! Sources: Mesa's and PAL's tables (IMG_DATA_FORMAT and IMG_NUM_FORMAT of gfx9; IMG_FMT of gfx10, and of gfx11 and gfx12)
//! and ROCr's (`CFMT_`), which agree. Refused: sRGB, as how it is rounded is not documented, shared exponents, depth with
//! stencil, and everything that comes in blocks of texels.

use luthier_isa::Generation;

use super::format::{DataFormat, Number};

const W5_6_5: &[u8] = &[5, 6, 5];
const W1_5_5_5: &[u8] = &[5, 5, 5, 1];
const W5_5_5_1: &[u8] = &[1, 5, 5, 5];
const W4_4_4_4: &[u8] = &[4; 4];
const PACKED: [&[u8]; 4] = [W5_6_5, W1_5_5_5, W5_5_5_1, W4_4_4_4];

/// The format in a resource's second word.
///
/// # Errors
/// Which field has a value that is not modelled.
pub fn of(generation: Generation, word: u32) -> Result<DataFormat, String> {
    let packed = |first: u32, code: u32| {
        let bits = *code.checked_sub(first).and_then(|n| PACKED.get(n as usize))?;
        Some(DataFormat { bits, number: Number::Unorm })
    };
    if generation.is_gfx9_family() {
        let (data, number) = (word >> 20 & 63, word >> 26 & 15);
        let known = match data {
            16..=19 if number == 0 => packed(16, data),
            _ if number < 8 => DataFormat::split(data, number),
            _ => None,
        };
        return known.ok_or_else(|| format!("DATA_FORMAT {data} with NUM_FORMAT {number} is not modelled"));
    }
    let (code, first) = match generation {
        Generation::Gfx10 => (word >> 20 & 511, 133),
        Generation::Gfx11 => (word >> 20 & 255, 68),
        _ => (word >> 17 & 255, 68),
    };
    packed(first, code)
        .or_else(|| DataFormat::unified(generation, code))
        .ok_or_else(|| format!("FORMAT {code} is not modelled"))
}
