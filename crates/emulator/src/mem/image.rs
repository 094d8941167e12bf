//! Image resources (T#): what their eight words say, and where in memory a texel is.
//! [`super::image_tiles`] has images in tiles.
//!
//! Bit positions: AMD's ROCr (hsa-runtime/image/resource_{ai,nv,gfx11,gfx12}.h) and Mesa (ac_descriptors.c with its
//! register tables), which agree; so does what AMD's rocjitsu reads of those of Vega, CDNA, RDNA3 and RDNA4. Bits that
//! they use differently, or not at all, have to be zero where they could matter.
//! Layouts: AMD's addrlib (HwlComputeSurfaceInfoLinear of gfx9, gfx10 and gfx11, gfx12's ComputeSurfaceInfo, and
//! ComputeSurfaceAddrFromCoordLinear) and rocjitsu's image_address.h:
//! * gfx9: a row has PITCH + 1 texels, which ROCr and Mesa make a multiple of 256 bytes.
//! * gfx10 and gfx11: rows are rounded up to 256 bytes; from gfx10.3 on the DEPTH field of a 1D or 2D image, where it is
//!   not zero, is a pitch of its own (PAL, Mesa and ROCr).
//! * gfx12: rows are rounded up to 128 bytes, but in the size of a slice to 256.
//! * A slice holds all mip levels, the smallest first, whose storage is rounded up where their size is rounded down
//!   (gfx10 on; gfx9 has another rule, and is refused).
//! * DEPTH is the last slice of arrays (of cubes: the last face) and BASE_ARRAY the first one; of a 3D image DEPTH is the
//!   depth of level 0, unless ARRAY_PITCH (gfx12: UAV3D) makes of both the slices that are seen (PAL and Mesa).

use luthier_isa::Generation;

use super::format::DataFormat;
use super::image_format;
use super::image_tiles::{Surface, Tiles};
use crate::wave::Wave;

/// What kind of image it is, by TYPE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    D1,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
}

impl Shape {
    /// By the code that TYPE has from 8 on, and DIM from 0 on.
    pub fn of(code: u32) -> Option<Shape> {
        use Shape::*;
        [D1, D2, D3, Cube, D1Array, D2Array].get(code as usize).copied()
    }
    /// Coordinates of a texel.
    pub fn coordinates(self) -> usize {
        match self {
            Shape::D1 => 1,
            Shape::D2 | Shape::D1Array => 2,
            Shape::D3 | Shape::Cube | Shape::D2Array => 3,
        }
    }
    pub fn has_rows(self) -> bool {
        !matches!(self, Shape::D1 | Shape::D1Array)
    }
    pub fn is_array(self) -> bool {
        matches!(self, Shape::Cube | Shape::D1Array | Shape::D2Array)
    }
}

/// What an image looks like; where its texels are, [`Image::layout`] says.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    words: [u32; 8],
    generation: Generation,
    pub shape: Shape,
    base: u64,
    width: u32,
    height: u32,
    /// As DEPTH has it, plus one: of 3D images the depth, of arrays all slices up to the last one that is seen.
    depth: u32,
    first_slice: u32,
    /// The slices of a 3D image are seen like those of an array.
    sliced: bool,
    base_level: u32,
    last_level: u32,
    max_level: u32,
    /// Texels of a row, where the resource says it.
    pitch: Option<u32>,
    /// The processor has images whose resource says that, though it need not: since gfx10.3.
    has_pitch: bool,
}

/// Size of a mip level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub width: u32,
    pub height: u32,
    /// Or slices.
    pub depth: u32,
}

/// Where the texels of an image are.
pub struct Layout {
    pub format: DataFormat,
    base: u64,
    /// Bytes of a texel.
    pub bytes: u64,
    /// Bytes from one slice to the next.
    slice: u64,
    first_slice: u32,
    levels: Vec<Level>,
    tiles: Option<Tiles>,
}

struct Level {
    size: Size,
    offset: u64,
    /// Bytes of a row.
    row: u64,
}

/// Bits of a resource: the word, the lowest bit, how many.
type Bits = (usize, u32, u32);

impl Image {
    /// Reads a resource. `short`: it has only four words. `None`: all of them are zero, which is no image at all.
    ///
    /// # Errors
    /// Which field has a value that is not modelled.
    pub fn read(w: &Wave, code: u8, short: bool, has_pitch: bool) -> Result<Option<Image>, String> {
        let mut words: [u32; 8] = std::array::from_fn(|k| w.s[usize::from(code.wrapping_add(k as u8))]);
        if short {
            words[4..].fill(0);
        }
        if words == [0; 8] {
            return Ok(None);
        }
        Image::of(words, w.generation, has_pitch).map(Some)
    }

    fn of(words: [u32; 8], generation: Generation, has_pitch: bool) -> Result<Image, String> {
        let bits = |(word, low, width): Bits| words[word] >> low & (((1u64 << width) - 1) as u32);
        let refuse = |name: &str, value: u32| Err(format!("{name} {value:#x} is not modelled"));
        let gfx9 = generation.is_gfx9_family();
        let gfx12 = generation == Generation::Gfx12;
        let kind = bits((3, 28, 4));
        let Some(shape) = kind.checked_sub(8).and_then(Shape::of) else { return refuse("TYPE", kind) };
        // Those that change what is in memory, or how it is found.
        let must_be_zero: &[(&str, Bits)] = match generation {
            _ if gfx9 => &[("MIN_LOD", (1, 8, 12)), ("ARRAY_PITCH", (5, 13, 4)), ("COMPRESSION_EN", (6, 21, 1))],
            Generation::Gfx10 => &[
                ("MIN_LOD", (1, 8, 12)),
                ("the bits above WIDTH", (2, 12, 2)),
                ("the bits above HEIGHT", (2, 28, 3)),
                ("the bits between DEPTH and BASE_ARRAY", (4, 14, 2)),
                ("the bits above BASE_ARRAY", (4, 29, 3)),
                ("the upper bits of ARRAY_PITCH", (5, 1, 3)),
                ("CORNER_SAMPLES and LINKED_RESOURCE", (5, 23, 2)),
                ("WRITE_COMPRESS_ENABLE and COMPRESSION_EN", (6, 20, 2)),
            ],
            Generation::Gfx11 => &[
                ("the bits above WIDTH", (2, 12, 2)),
                ("the bits above HEIGHT", (2, 28, 4)),
                ("the bits between DEPTH and BASE_ARRAY", (4, 14, 2)),
                ("the bits above BASE_ARRAY", (4, 29, 3)),
                ("the upper bits of ARRAY_PITCH", (5, 1, 3)),
                ("the scales", (5, 8, 12)),
                ("CORNER_SAMPLES and LINKED_RESOURCE", (5, 23, 2)),
                ("MIN_LOD", (5, 27, 5)),
                ("MIN_LOD", (6, 0, 7)),
                ("WRITE_COMPRESS_ENABLE and COMPRESSION_EN", (6, 20, 2)),
            ],
            _ => &[
                ("the bits above HEIGHT", (2, 30, 2)),
                ("NO_EDGE_CLAMP", (3, 12, 1)),
                ("the bits above BASE_ARRAY", (4, 30, 2)),
                ("the scales", (5, 5, 15)),
                ("CORNER_SAMPLES and LINKED_RESOURCE", (5, 23, 2)),
                ("MIN_LOD", (5, 26, 6)),
                ("MIN_LOD", (6, 0, 7)),
                ("WRITE_COMPRESS_ENABLE and COMPRESSION_EN", (6, 20, 2)),
            ],
        };
        if let Some(&(name, at)) = must_be_zero.iter().find(|(_, at)| bits(*at) != 0) {
            return refuse(name, bits(at));
        }
        if generation == Generation::Gfx10 && bits((2, 31, 1)) == 0 {
            return refuse("RESOURCE_LEVEL", 0);
        }
        let (width, height) = match gfx9 {
            true => (bits((2, 0, 14)), bits((2, 14, 14))),
            false => (
                bits((1, 30, 2)) | bits((2, 0, if gfx12 { 14 } else { 12 })) << 2,
                bits((2, 14, if gfx12 { 16 } else { 14 })),
            ),
        };
        // AMD's ROCr writes a height of 0, less 1.
        if !shape.has_rows() && height != 0 && !(gfx9 && height == 0x3fff) {
            return refuse("HEIGHT of an image without rows", height + 1);
        }
        let (depth, first_slice) = match gfx9 {
            true => (bits((4, 0, 13)), bits((5, 0, 13))),
            false if gfx12 => (bits((4, 0, 16)), bits((4, 16, 14))),
            false => (bits((4, 0, 14)), bits((4, 16, 13))),
        };
        let (base_level, last_level, max_level) = match generation {
            _ if gfx9 => (bits((3, 12, 4)), bits((3, 16, 4)), bits((5, 28, 4))),
            Generation::Gfx10 => (bits((3, 12, 4)), bits((3, 16, 4)), bits((5, 4, 4))),
            Generation::Gfx11 => (bits((3, 12, 4)), bits((3, 16, 4)), bits((1, 16, 4))),
            _ => (bits((1, 25, 5)), bits((3, 15, 5)), bits((1, 12, 5))),
        };
        if base_level > last_level || last_level > max_level || max_level > 16 {
            return refuse("MAX_MIP with this BASE_LEVEL and LAST_LEVEL", max_level);
        }
        let sliced = match generation {
            _ if gfx9 || shape != Shape::D3 => false,
            Generation::Gfx12 => bits((5, 4, 1)) != 0,
            _ => bits((5, 0, 1)) != 0,
        };
        let unused = if gfx12 { (5, 4, 1) } else { (5, 0, 1) };
        if !gfx9 && shape != Shape::D3 && bits(unused) != 0 {
            return refuse("ARRAY_PITCH or UAV3D of an image without depth", 1);
        }
        let flat = matches!(shape, Shape::D1 | Shape::D2);
        let (mut pitch, mut slices) = (None, depth + 1);
        if gfx9 {
            pitch = Some(bits((4, 13, 16)) + 1);
        } else if flat && has_pitch && depth != 0 {
            pitch = Some(depth + 1);
        }
        if flat {
            if first_slice != 0 || depth != 0 && (gfx9 || !has_pitch) {
                return refuse("DEPTH or BASE_ARRAY of an image without slices", depth.max(first_slice));
            }
            slices = 1;
        } else if !gfx9 && depth >> if gfx12 { 14 } else { 13 } != 0 {
            return refuse("the bits between DEPTH and BASE_ARRAY", depth);
        }
        if (shape.is_array() || sliced) && first_slice >= slices || gfx9 && shape == Shape::D3 && first_slice != 0 {
            return refuse("BASE_ARRAY", first_slice);
        }
        let image = Image {
            words,
            generation,
            shape,
            base: (u64::from(words[0]) | u64::from(words[1] & 0xff) << 32) << 8,
            width: width + 1,
            height: if shape.has_rows() { height + 1 } else { 1 },
            depth: slices,
            first_slice: if shape.is_array() || sliced { first_slice } else { 0 },
            sliced,
            base_level,
            last_level,
            max_level,
            pitch,
            has_pitch,
        };
        Ok(image)
    }

    /// The levels that are seen.
    pub fn levels(&self) -> u32 {
        self.last_level - self.base_level + 1
    }

    /// What each component is, by DST_SEL.
    pub fn selects(&self) -> u32 {
        self.words[3] & 0xfff
    }

    /// The size of one of the levels that are seen.
    pub fn size(&self, level: u32) -> Size {
        let minified = |size: u32| (size >> (self.base_level + level)).max(1);
        let is_deep = self.shape == Shape::D3 && !self.sliced;
        Size {
            width: minified(self.width),
            height: minified(self.height),
            depth: if is_deep { minified(self.depth) } else { self.depth - self.first_slice },
        }
    }

    /// `one_pipe`: the GPU is known to have one pipe and one bank.
    ///
    /// # Errors
    /// Which field has a value that is not modelled.
    pub fn layout(&self, one_pipe: bool) -> Result<Layout, String> {
        let swizzle = self.words[3] >> 20 & 31;
        let gfx9 = self.generation.is_gfx9_family();
        let format = image_format::of(self.generation, self.words[1])?;
        let bytes = u64::from(format.bytes());
        if !bytes.is_power_of_two() {
            return Err(format!("a format of {bytes} bytes is not modelled"));
        }
        if (gfx9 || swizzle != 0) && self.max_level != 0 {
            return Err(format!("MAX_MIP {} is not modelled: only one level is", self.max_level));
        }
        if swizzle != 0 {
            return self.in_tiles(swizzle, format, bytes, one_pipe);
        }
        let (row_unit, slice_unit) = if self.generation == Generation::Gfx12 { (128, 256) } else { (256, 256) };
        if let Some(pitch) = self.pitch {
            let row = u64::from(pitch) * bytes;
            let alone = self.shape == Shape::D1 && self.height == 1;
            if pitch < self.width || !alone && !row.is_multiple_of(row_unit) || self.max_level != 0 {
                return Err(format!("PITCH {pitch} of a texel of {bytes} bytes is not modelled"));
            }
        }
        // Bytes of a row in a level, and in the level's part of a slice.
        let stored = |size: u32, level: u32| u64::from(size.div_ceil(1 << level)) * bytes;
        let row = |level: u32| match self.pitch {
            Some(pitch) => u64::from(pitch) * bytes,
            None => stored(self.width, level).next_multiple_of(row_unit),
        };
        let part = |level: u32| match self.pitch {
            Some(_) => row(level) * u64::from(self.height),
            None => {
                stored(self.width, level).next_multiple_of(slice_unit) * u64::from(self.height.div_ceil(1 << level))
            }
        };
        let level = |seen: u32| {
            let number = self.base_level + seen;
            let offset = (number + 1..=self.max_level).map(part).sum();
            Level { size: self.size(seen), offset, row: row(number) }
        };
        Ok(Layout {
            format,
            base: self.base,
            bytes,
            slice: (0..=self.max_level).map(part).sum(),
            first_slice: self.first_slice,
            levels: (0..self.levels()).map(level).collect(),
            tiles: None,
        })
    }

    fn in_tiles(&self, mode: u32, format: DataFormat, bytes: u64, one_pipe: bool) -> Result<Layout, String> {
        let surface = Surface {
            generation: self.generation,
            newer: self.has_pitch,
            shape: self.shape,
            base: self.base,
            width: self.width,
            height: self.height,
            pitch: self.pitch,
            bytes,
            one_pipe,
        };
        let tiles = Some(Tiles::of(mode, &surface)?);
        let levels = vec![Level { size: self.size(0), offset: 0, row: 0 }];
        Ok(Layout { format, base: self.base, bytes, slice: 0, first_slice: self.first_slice, levels, tiles })
    }
}

impl Layout {
    /// The address of a texel, unless it is outside of the image: x, y and z or slice, and the level.
    pub fn place(&self, at: [u32; 3], level: u32) -> Option<u64> {
        let level = self.levels.get(level as usize)?;
        let [x, y, z] = at;
        if x >= level.size.width || y >= level.size.height || z >= level.size.depth {
            return None;
        }
        if let Some(tiles) = &self.tiles {
            return Some(self.base.wrapping_add(tiles.offset([x, y, self.first_slice + z])));
        }
        let slice = u64::from(self.first_slice + z) * self.slice;
        let offset = slice + level.offset + u64::from(y) * level.row + u64::from(x) * self.bytes;
        Some(self.base.wrapping_add(offset))
    }
}
