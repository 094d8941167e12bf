//! The order of coordinates' bits in a block, by processor, mode, shape and size of texels.
//!
//! Source: AMD's addrlib (the equations of gfx9addrlib.cpp, and what gfx10addrlib.cpp to gfx12addrlib.cpp give for one pipe and
//! one bank), and for what is chosen AMD's ROCr; the tests hold whole images to what addrlib prints. Modes are standard (S),
//! display (D), depth (Z) and render (R) orders.

use luthier_isa::Generation;

use crate::mem::image::Shape;

/// Processors whose tiles are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    Gfx9,
    Gfx101,
    Gfx103,
    Gfx11,
    Gfx12,
}

impl Family {
    /// `newer`: gfx10.3 and not gfx10.1.
    pub fn of(generation: Generation, newer: bool) -> Option<Family> {
        match generation {
            _ if generation.is_gfx9_family() => Some(Family::Gfx9),
            Generation::Gfx10 if newer => Some(Family::Gfx103),
            Generation::Gfx10 => Some(Family::Gfx101),
            Generation::Gfx11 => Some(Family::Gfx11),
            Generation::Gfx12 => Some(Family::Gfx12),
            _ => None,
        }
    }
}

/// Whose bits follow the lowest ones.
#[derive(Clone, Copy, Debug)]
pub enum Rest {
    /// Those of these axes in turn, by the number of the offset's bit.
    Turns(&'static [usize]),
    /// Of the shorter side; x first.
    Square,
}

const FLAT: Rest = Rest::Turns(&[1, 0]);
const DEEP: Rest = Rest::Turns(&[0, 2, 1]);

pub struct Order {
    /// The lowest bits: axis and bit of each.
    pub low: &'static str,
    pub rest: Rest,
    /// Of the block, as a power of two.
    pub bytes: u32,
    /// It depends on pipes and banks; this is it for one of each.
    pub depends: bool,
    /// From this bit of the offset on, each bit is exclusive-or'd with one that would follow behind the block's last bit: the
    /// last one with the first of those, and so on.
    pub mirrored: Option<u32>,
}

/// For texels of 1, 2, 4, 8 and 16 bytes.
type Lows = [&'static str; 5];

/// Whose blocks are flat, up to 256 bytes.
const STANDARD: Lows =
    ["x0 x1 x2 x3 y0 y1 y2 y3", "x0 x1 x2 y0 y1 y2 x3", "x0 x1 y0 y1 y2 x2", "x0 y0 y1 x1 x2", "y0 y1 x0 x1"];
const DISPLAY: Lows =
    ["x0 x1 x2 y1 y0 y2 x3 y3", "x0 x1 x2 y0 y1 y2 x3", "x0 x1 y0 x2 y1 y2", "x0 y0 x1 x2 y1", "x0 y0 x1 y1"];
/// DISPLAY's texels of four bytes on gfx10.1 and gfx10.3.
const DISPLAY_WORDS: [&str; 2] = ["x0 x1 y0 y1 y2 x2", "x0 x1 y0 y1 x2 y2"];
const DISPLAY_11: Lows =
    ["x0 x1 y0 x2 y1 y2 x3 y3", "x0 y0 x1 y1 x2 y2 x3", "x0 y0 x1 y1 x2 y2", "x0 y0 x1 x2 y1", "x0 y0 x1 y1"];
/// Not for texels of 16 bytes.
const DEPTH: [&str; 4] = ["x0 y0 x1 y1 x2 y2 x3 y3", "x0 y0 x1 y1 x2 y2 x3", "x0 y0 x1 y1 x2 y2", "x0 y0 x1 y1 x2"];
const RENDER_103: Lows =
    ["x0 x1 x2 x3 y0 y1 y2 y3", "x0 x1 x2 y0 y1 y2 x3", "x0 x1 y0 y1 x2 y2", "x0 y0 x1 x2 y1", "x0 y0 x1 y1"];
/// All of a block of 256 KB; one of 64 KB ends earlier.
const RENDER_11: Lows = [
    "x0 x1 y0 x2 y1 y2 x3 y3 x4 y4 x5^y8 y5^x8 x6^y7 y6^x7 x7 y7 x8 y8",
    "x0 y0 x1 y1 x2 y2 x3 y3 x4 y4^x8 x5^y7 y5^x7 x6^y6 y6 x7 y7 x8",
    "x0 y0 x1 y1 x2 y2 x3 y3 x4^y7 y4^x7 x5^y6 y5^x6 x6 y6 x7 y7",
    "x0 y0 x1 x2 y1 y2 x3 y3^x7 x4^y7 y4^x6 x5^y6 y5 x6 y6 x7",
    "x0 y0 x1 y1 x2 y2 x3^y7 y3^x6 x4^y6 y4^x5 x5 y5 x6 y6",
];
/// Whose blocks are deep: gfx9's up to 1 KB.
const DEEP_DEPTH_9: Lows = [
    "x0 y0 x1 y1 z0 z1 x2 z2 y2 x3",
    "x0 y0 x1 y1 z0 z1 z2 y2 x2",
    "x0 y0 x1 z0 y1 z1 y2 x2",
    "x0 y0 z0 x1 z1 y1 x2",
    "x0 y0 z0 z1 y1 x1",
];
const DEEP_STANDARD_9: Lows = [
    "x0 x1 x2 x3 y0 y1 z0 z1 z2 y2",
    "x0 x1 x2 y0 y1 z0 z1 z2 y2",
    "x0 x1 y0 y1 z0 z1 y2 x2",
    "x0 y0 y1 z0 z1 x1 x2",
    "y0 y1 z0 z1 x0 x1",
];
const DEEP_STANDARD_10: Lows = ["x0 x1 z0 y0 z1 y1", "x0 z0 y0 z1 y1", "x0 y0 z0 y1", "x0 z0 y0", "z0 y0"];
const DEEP_DISPLAY: Lows = ["x0 x1 z0 y0 y1 z1", "x0 z0 y0 x1 z1 y1", "x0 y0 x1 z0 y1 z1", "x0 y0 z0", "x0 z0 y0"];

/// The order of a mode, if that is modelled. `texel`: its bytes as a power of two.
pub fn of(family: Family, mode: u32, shape: Shape, texel: u32) -> Option<Order> {
    let deep = shape == Shape::D3;
    if !shape.has_rows() && !holds_lines(family, mode) {
        return None;
    }
    match family {
        Family::Gfx9 => gfx9(mode, deep, texel as usize),
        Family::Gfx101 | Family::Gfx103 => gfx10(family == Family::Gfx103, mode, deep, texel as usize),
        Family::Gfx11 => gfx11(mode, deep, texel as usize),
        Family::Gfx12 => gfx12(mode, deep, texel as usize),
    }
}

/// Whether images of one dimension have these tiles, as those of two with one row.
fn holds_lines(family: Family, mode: u32) -> bool {
    match family {
        Family::Gfx9 => false,
        Family::Gfx101 | Family::Gfx11 => mode == 27,
        Family::Gfx103 => matches!(mode, 27 | 31),
        Family::Gfx12 => mode <= 4,
    }
}

fn gfx9(mode: u32, deep: bool, texel: usize) -> Option<Order> {
    let bytes = match mode {
        1 | 2 if !deep => 8,
        4..=6 | 20..=22 => 12,
        8..=10 | 24..=26 => 16,
        _ => return None,
    };
    let (low, rest) = match mode % 4 {
        0 if deep => (DEEP_DEPTH_9[texel], DEEP),
        1 if deep => (DEEP_STANDARD_9[texel], DEEP),
        1 => (STANDARD[texel], FLAT),
        // Slices of their own.
        2 if deep => (STANDARD[texel], FLAT),
        2 => (DISPLAY[texel], FLAT),
        _ => return None,
    };
    Some(Order { low, rest, bytes, depends: mode > 16, mirrored: None })
}

fn gfx10(newer: bool, mode: u32, deep: bool, texel: usize) -> Option<Order> {
    let bytes = match mode {
        1 | 2 if !deep => 8,
        5 | 6 | 21 | 22 => 12,
        9 | 10 | 17 | 18 | 24..=27 => 16,
        // As large as the pipes make it.
        28 | 31 if newer => 14,
        _ => return None,
    };
    let display = if texel == 2 { DISPLAY_WORDS[usize::from(newer)] } else { DISPLAY[texel] };
    let mirrored = (newer && mode >= 24 && matches!(mode % 4, 0 | 3)).then_some(10);
    let (low, rest) = match mode % 4 {
        0 => (*DEPTH.get(texel)?, if newer { Rest::Square } else { FLAT }),
        1 if deep => (DEEP_STANDARD_10[texel], DEEP),
        1 => (STANDARD[texel], FLAT),
        2 if deep && mode == 26 => (DEEP_DISPLAY[texel], DEEP),
        2 if deep => return None,
        2 => (display, FLAT),
        _ if newer => (RENDER_103[texel], Rest::Square),
        _ => (display, FLAT),
    };
    Some(Order { low, rest, bytes, depends: mode > 16, mirrored })
}

fn gfx11(mode: u32, deep: bool, texel: usize) -> Option<Order> {
    let bytes = match mode {
        2 => 8,
        5 | 6 | 21 | 22 => 12,
        9 | 10 | 17 | 18 | 24..=27 => 16,
        28..=31 => 18,
        _ => return None,
    };
    let (low, rest) = match mode % 4 {
        0 if texel == 4 => return None,
        0 | 3 => (RENDER_11[texel], FLAT),
        1 if deep => (DEEP_DISPLAY[texel], DEEP),
        2 if deep && mode == 26 => (DEEP_DISPLAY[texel], DEEP),
        2 if !deep => (DISPLAY_11[texel], FLAT),
        _ => return None,
    };
    Some(Order { low, rest, bytes, depends: mode > 16, mirrored: None })
}

/// Flat blocks of 3D images are of one slice each.
fn gfx12(mode: u32, deep: bool, texel: usize) -> Option<Order> {
    let (bytes, low, rest) = match mode {
        1..=4 => ([8, 12, 16, 18][mode as usize - 1], DISPLAY_11[texel], FLAT),
        5..=7 if deep => ([12, 16, 18][mode as usize - 5], DEEP_DISPLAY[texel], DEEP),
        _ => return None,
    };
    Some(Order { low, rest, bytes, depends: true, mirrored: None })
}
