//! Images in tiles: blocks of 256 bytes, 4 KB or 64 KB, in which each bit of a texel's offset is one bit of a coordinate.
//!
//! Source: AMD's addrlib (the equations of gfx9addrlib.cpp, gfx10SwizzlePattern.h), and for what is chosen AMD's ROCr; the
//! tests hold whole images to what addrlib prints. Standard (S), display (D) and, of gfx9's 3D images, depth (Z) orders; levels
//! of detail are not modelled. Modes that end in X exclusive-or bits by the number of pipes and banks. GPUs of a host
//! ([`crate::memory::Host`]) have one of each, so there is nothing to be changed; for others no manual says it, and they are refused.

use luthier_isa::Generation;

use super::image::Shape;

/// The lowest bits of an offset for texels of 1 to 16 bytes: axis and bit of each.
type Order = [&'static str; 5];

/// Whose blocks are flat, up to 256 bytes.
const STANDARD: Order =
    ["x0 x1 x2 x3 y0 y1 y2 y3", "x0 x1 x2 y0 y1 y2 x3", "x0 x1 y0 y1 y2 x2", "x0 y0 y1 x1 x2", "y0 y1 x0 x1"];
const DISPLAY: Order =
    ["x0 x1 x2 y1 y0 y2 x3 y3", "x0 x1 x2 y0 y1 y2 x3", "x0 x1 y0 x2 y1 y2", "x0 y0 x1 x2 y1", "x0 y0 x1 y1"];
/// DISPLAY's texels of four bytes on gfx10.1 and gfx10.3.
const DISPLAY_WORDS: [&str; 2] = ["x0 x1 y0 y1 y2 x2", "x0 x1 y0 y1 x2 y2"];
/// Whose blocks are deep, up to 1 KB.
const DEEP_DEPTH: Order = [
    "x0 y0 x1 y1 z0 z1 x2 z2 y2 x3",
    "x0 y0 x1 y1 z0 z1 z2 y2 x2",
    "x0 y0 x1 z0 y1 z1 y2 x2",
    "x0 y0 z0 x1 z1 y1 x2",
    "x0 y0 z0 z1 y1 x1",
];
const DEEP_STANDARD: Order = [
    "x0 x1 x2 x3 y0 y1 z0 z1 z2 y2",
    "x0 x1 x2 y0 y1 z0 z1 z2 y2",
    "x0 x1 y0 y1 z0 z1 y2 x2",
    "x0 y0 y1 z0 z1 x1 x2",
    "y0 y1 z0 z1 x0 x1",
];
/// gfx10's, up to 64 bytes.
const DEEP_STANDARD_10: Order = ["x0 x1 z0 y0 z1 y1", "x0 z0 y0 z1 y1", "x0 y0 z0 y1", "x0 z0 y0", "z0 y0"];

/// The axes that follow, by the number of the offset's bit.
const FLAT: &[usize] = &[1, 0];
const DEEP: &[usize] = &[0, 2, 1];

/// A block: for each bit of the offset in it, from the texel's size on, axis and bit of a coordinate.
#[derive(Clone, Debug)]
struct Block {
    bits: Vec<(usize, u32)>,
    /// Bytes of a texel, as a power of two.
    texel: u32,
}

impl Block {
    fn new(order: &str, rest: &[usize], texel: u32, bytes: u32) -> Block {
        let named = order.split(' ').filter_map(|name| {
            let (axis, bit) = name.split_at(1);
            Some(("xyz".find(axis)?, bit.parse().ok()?))
        });
        let mut bits: Vec<(usize, u32)> = named.collect();
        for k in texel + bits.len() as u32..bytes {
            let axis = rest[k as usize % rest.len()];
            bits.push((axis, bits.iter().filter(|(other, _)| *other == axis).count() as u32));
        }
        Block { bits, texel }
    }

    /// Texels along an axis, as a power of two.
    fn side(&self, axis: usize) -> u32 {
        self.bits.iter().filter(|(other, _)| *other == axis).count() as u32
    }

    fn offset(&self, at: [u32; 3]) -> u64 {
        let bits = self.bits.iter().enumerate();
        bits.fold(0, |sum, (k, (axis, bit))| sum | u64::from(at[*axis] >> bit & 1) << (self.texel + k as u32))
    }

    fn bytes(&self) -> u32 {
        self.texel + self.bits.len() as u32
    }
}

/// An image's blocks.
#[derive(Clone, Debug)]
pub struct Tiles {
    block: Block,
    /// Blocks of a row, and rows of a slice of blocks.
    across: u64,
    down: u64,
}

/// What an image has to do with tiles.
pub struct Surface {
    pub generation: Generation,
    /// gfx10.3 and not gfx10.1.
    pub newer: bool,
    pub shape: Shape,
    /// The first texel's address.
    pub base: u64,
    pub width: u32,
    pub height: u32,
    /// Texels of a row, where the resource says it.
    pub pitch: Option<u32>,
    /// Bytes of a texel.
    pub bytes: u64,
    /// The GPU is known to have one pipe and one bank.
    pub one_pipe: bool,
}

impl Tiles {
    /// The tiles of an image with this SW_MODE.
    ///
    /// # Errors
    /// What is not modelled.
    pub fn of(mode: u32, surface: &Surface) -> Result<Tiles, String> {
        let refuse = |why: &str| Err(format!("SW_MODE {mode} is not modelled: {why}"));
        let gfx9 = surface.generation.is_gfx9_family();
        if !gfx9 && surface.generation != Generation::Gfx10 || !surface.shape.has_rows() {
            return refuse("the image is not linear");
        }
        let (bytes, exclusive) = match mode {
            1 | 2 => (8, false),
            4..=6 | 20..=22 => (12, mode > 16),
            8..=10 | 24..=26 => (16, mode > 16),
            _ => return refuse("nor are its tiles"),
        };
        if exclusive && !surface.one_pipe {
            return refuse("its tiles depend on the GPU's pipes and banks");
        }
        let texel = surface.bytes.trailing_zeros();
        let is_deep = surface.shape == Shape::D3;
        let order = match mode % 4 {
            _ if surface.shape == Shape::Cube => return refuse("a cube in tiles"),
            1 if !is_deep => STANDARD[texel as usize],
            2 if !is_deep && !gfx9 && texel == 2 => DISPLAY_WORDS[usize::from(surface.newer)],
            2 if !is_deep => DISPLAY[texel as usize],
            _ if bytes == 8 => return refuse("3D images have larger blocks"),
            0 if is_deep && gfx9 => DEEP_DEPTH[texel as usize],
            1 if gfx9 => DEEP_STANDARD[texel as usize],
            1 if is_deep => DEEP_STANDARD_10[texel as usize],
            // Slices of their own.
            2 if gfx9 => STANDARD[texel as usize],
            _ => return refuse("nor are its tiles"),
        };
        let rest = if is_deep && mode % 4 != 2 { DEEP } else { FLAT };
        let block = Block::new(order, rest, texel, bytes);
        let pitch = surface.pitch.unwrap_or(surface.width.next_multiple_of(1 << block.side(0)));
        if pitch < surface.width || !pitch.is_multiple_of(1 << block.side(0)) {
            return Err(format!("PITCH {pitch} of blocks of {} texels is not modelled", 1 << block.side(0)));
        }
        if !surface.base.is_multiple_of(1 << bytes) {
            return Err(format!("an image in blocks of {} bytes at {:#x} is not modelled", 1 << bytes, surface.base));
        }
        let down = surface.height.div_ceil(1 << block.side(1));
        Ok(Tiles { across: u64::from(pitch >> block.side(0)), down: down.into(), block })
    }

    /// Where a texel is, from the first byte on.
    pub fn offset(&self, at: [u32; 3]) -> u64 {
        let [x, y, z] = std::array::from_fn(|axis| u64::from(at[axis] >> self.block.side(axis)));
        ((z * self.down + y) * self.across + x) << self.block.bytes() | self.block.offset(at)
    }
}

#[cfg(test)]
mod tests;
