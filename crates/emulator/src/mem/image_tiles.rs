//! Images in tiles: blocks of 256 bytes to 256 KB, in which each bit of a texel's offset is one bit of a coordinate, or
//! several that are exclusive-or'd, some of them of the blocks' own numbers.
//!
//! Levels of detail are not modelled. Modes that end in X depend on the number of pipes and banks. GPUs of a host
//! ([`crate::memory::Host`]) have one of each; for others no manual says it, and they are refused.

mod orders;

use luthier_isa::Generation;

use super::image::Shape;
use orders::{Order, Rest};

/// A block: for each bit of the offset in it, from the texel's size on, the bits of x, y and z that it is made of.
#[derive(Clone, Debug)]
struct Block {
    bits: Vec<[u32; 3]>,
    /// Texels along x, y and z, as powers of two.
    sides: [u32; 3],
    /// Bytes of a texel, as a power of two.
    texel: u32,
}

/// A coordinate's bit: axis and number.
type Bit = (usize, u32);

/// `x3` or, exclusive-or'd, `x3^y5`. The first one is the bit's own: the block is as large as these say.
fn named(name: &str) -> impl Iterator<Item = Bit> {
    name.split('^').filter_map(|one| {
        let (axis, bit) = one.split_at(1);
        Some(("xyz".find(axis)?, bit.parse().ok()?))
    })
}

impl Block {
    fn new(order: &Order, texel: u32) -> Block {
        let bytes = (order.bytes - texel) as usize;
        let mut all: Vec<Vec<Bit>> = order.low.split(' ').map(|name| named(name).collect()).take(bytes).collect();
        let own = |all: &[Vec<Bit>]| {
            let mut sides = [0; 3];
            all.iter().filter_map(|bits| bits.first()).for_each(|(axis, _)| sides[*axis] += 1);
            sides
        };
        // Of mirrored blocks, those that would follow as well.
        let mirror = order.mirrored.map_or(0, |from| order.bytes - from) as usize;
        while all.len() < bytes + mirror {
            let sides = own(&all);
            let axis = match order.rest {
                Rest::Turns(axes) => axes[(texel as usize + all.len()) % axes.len()],
                Rest::Square => usize::from(sides[0] > sides[1]),
            };
            all.push(vec![(axis, sides[axis])]);
        }
        for (k, beyond) in all.split_off(bytes).into_iter().enumerate() {
            all[bytes - 1 - k].extend(beyond);
        }
        let mask = |bits: &Vec<Bit>| {
            let mut masks = [0; 3];
            bits.iter().for_each(|(axis, bit)| masks[*axis] |= 1 << bit);
            masks
        };
        Block { sides: own(&all), bits: all.iter().map(mask).collect(), texel }
    }

    /// Texels along an axis, as a power of two.
    fn side(&self, axis: usize) -> u32 {
        self.sides[axis]
    }

    fn offset(&self, at: [u32; 3]) -> u64 {
        let bit = |masks: &[u32; 3]| (0..3).map(|axis| (at[axis] & masks[axis]).count_ones()).sum::<u32>() & 1;
        let bits = self.bits.iter().enumerate();
        bits.fold(0, |sum, (k, masks)| sum | u64::from(bit(masks)) << (self.texel + k as u32))
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
        if surface.shape == Shape::Cube {
            return refuse("a cube in tiles");
        }
        let Some(family) = orders::Family::of(surface.generation, surface.newer) else {
            return refuse("the image is not linear");
        };
        let texel = surface.bytes.trailing_zeros();
        let Some(order) = orders::of(family, mode, surface.shape, texel) else {
            return refuse("nor are its tiles");
        };
        if order.depends && !surface.one_pipe {
            return refuse("its tiles depend on the GPU's pipes and banks");
        }
        let bytes = order.bytes;
        let block = Block::new(&order, texel);
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
