//! Image instructions with a sampler: textures of one level of detail, read at points or by linear interpolation.
//!
//! Samplers (S#): AMD's manuals (CDNA2 and RDNA ISA, "Image Sampler"), ROCr (PopulateSamplerSrd) and Mesa
//! (ac_build_sampler_descriptor), which agree. ROCr and Mesa leave Z_FILTER zero for 3D images that are filtered in all
//! three directions, so that zero means: as XY_MAG_FILTER.
//!
//! What is computed: HIP's page on texture fetching. A coordinate is multiplied by the size unless it counts texels; a point is
//! the texel below it; linear interpolation takes the texels around the coordinate less a half. Coordinates are fixed-point
//! numbers with eight bits of fraction (`subTexelPrecisionBits` of AMD's and Mesa's Vulkan drivers), here rounded to the
//! nearest, as TRUNC_COORD 0 says of points; the sum is exact, rounded once. What wraps or is mirrored is the number of a
//! texel, as Vulkan has it. How a GPU rounds is not documented: its results can differ in the last of these eight bits.
//! With one level of detail and the same filter for smaller and larger, the level that an instruction asks for does not
//! matter. All else is refused.

use super::access::Addresses;
use super::image::{Image, Layout, Shape};
use super::image_ops::{Form, Words};
use super::image_texels::{self as texels, Select};
use crate::masks::lanes;
use crate::mem::format::Number;
use crate::op::{Flow, Op};
use crate::strict::memory as strict;
use crate::wave::Wave;

/// What becomes of coordinates outside of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clamp {
    Wrap,
    Mirror,
    /// The texel at the edge.
    Edge,
    /// Zeros.
    Border,
}

/// A sampler, as far as it is modelled.
pub struct Sampler {
    clamp: [Clamp; 3],
    linear: bool,
    /// Points are not rounded before they are cut off.
    truncates: bool,
    counts_texels: bool,
}

/// Bits of a sampler: the word, the lowest bit, how many.
type Bits = (usize, u32, u32);

/// What may change the values that are read, and is not modelled.
const MUST_BE_ZERO: [(&str, Bits); 3] =
    [("MC_COORD_TRUNC", (0, 19, 1)), ("FORCE_DEGAMMA", (0, 20, 1)), ("FILTER_MODE", (0, 29, 2))];

impl Sampler {
    /// # Errors
    /// Which field has a value that is not modelled.
    pub fn read(w: &Wave, code: u8, shape: Shape) -> Result<Sampler, String> {
        let words: [u32; 4] = std::array::from_fn(|k| w.s[usize::from(code.wrapping_add(k as u8))]);
        Sampler::of(words, shape).map_err(|what| format!("the sampler's {what}"))
    }

    fn of(words: [u32; 4], shape: Shape) -> Result<Sampler, String> {
        let bits = |(word, low, width): Bits| words[word] >> low & ((1 << width) - 1);
        let refuse = |name: &str, value: u32| Err(format!("{name} {value} is not modelled"));
        if let Some(&(name, at)) = MUST_BE_ZERO.iter().find(|(_, at)| bits(*at) != 0) {
            return refuse(name, bits(at));
        }
        let counts_texels = bits((0, 15, 1)) != 0;
        let axes = directions(shape);
        let mut clamp = [Clamp::Edge; 3];
        for (axis, clamp) in clamp.iter_mut().enumerate().take(axes) {
            let name = ["CLAMP_X", "CLAMP_Y", "CLAMP_Z"][axis];
            let value = bits((0, 3 * axis as u32, 3));
            *clamp = match value {
                0 => Clamp::Wrap,
                1 => Clamp::Mirror,
                2 => Clamp::Edge,
                6 if bits((3, 30, 2)) == 0 => Clamp::Border,
                6 => return refuse("BORDER_COLOR_TYPE", bits((3, 30, 2))),
                _ => return refuse(name, value),
            };
        }
        let (larger, smaller, deep) = (bits((2, 20, 2)), bits((2, 22, 2)), bits((2, 24, 2)));
        if larger != smaller {
            return Err(format!(
                "XY_MIN_FILTER {smaller} with XY_MAG_FILTER {larger} is not modelled: which one is taken is not documented"
            ));
        }
        if larger > 1 {
            return refuse("XY_MAG_FILTER", larger);
        }
        if shape == Shape::D3 && deep != 0 && deep != larger + 1 {
            return refuse("Z_FILTER", deep);
        }
        let truncates = bits((0, 27, 1)) != 0;
        if truncates && larger == 1 {
            return refuse("TRUNC_COORD of a linear filter", 1);
        }
        Ok(Sampler { clamp, linear: larger == 1, truncates, counts_texels })
    }

    /// The texels along an axis that a coordinate asks for, and their weights in 256ths.
    fn along(&self, axis: usize, coordinate: f32, size: u32, normalised: bool) -> [(Option<u32>, u32); 2] {
        let clamp = self.clamp[axis];
        let x = if coordinate.is_nan() { 0.0 } else { f64::from(coordinate) };
        let whole = match clamp {
            Clamp::Wrap => x - x.floor(),
            // An image and its mirror image.
            Clamp::Mirror => x - 2.0 * (x / 2.0).floor(),
            Clamp::Edge | Clamp::Border => x,
        };
        let at = if normalised { whole * f64::from(size) } else { whole };
        let fixed = (at * 256.0).round_ties_even() as i64;
        let texel = |index: i64| {
            let size = i64::from(size);
            match clamp {
                Clamp::Wrap => Some(index.rem_euclid(size) as u32),
                Clamp::Mirror => {
                    let index = index.rem_euclid(2 * size);
                    Some(index.min(2 * size - 1 - index) as u32)
                }
                Clamp::Border => (0..size).contains(&index).then_some(index as u32),
                Clamp::Edge => Some(index.clamp(0, size - 1) as u32),
            }
        };
        if !self.linear {
            let point = if self.truncates { at.floor() as i64 } else { fixed >> 8 };
            return [(texel(point), 256), (None, 0)];
        }
        let around = fixed.saturating_sub(128);
        let (first, part) = (around >> 8, (around & 255) as u32);
        [(texel(first), 256 - part), (texel(first.saturating_add(1)), part)]
    }
}

/// Coordinates that are filtered; the number of a slice is not.
fn directions(shape: Shape) -> usize {
    match shape {
        Shape::D1 | Shape::D1Array => 1,
        Shape::D2 | Shape::D2Array | Shape::Cube => 2,
        Shape::D3 => 3,
    }
}

/// The texels of a lane: each with its coordinates, or none in the border, and its weight.
type Taps = Vec<(Option<[u32; 3]>, f64)>;

fn taps(sampler: &Sampler, image: &Image, at: [f32; 3], normalised: bool) -> Taps {
    let size = image.size(0);
    let axes = directions(image.shape);
    let sides = [size.width, size.height, size.depth];
    let mut ways = [[(Some(0), 256), (None, 0)]; 3];
    for axis in 0..axes {
        ways[axis] = sampler.along(axis, at[axis], sides[axis], normalised);
    }
    if image.shape.is_array() {
        // The nearest slice there is.
        let slice = f64::from(at[axes]).round_ties_even().clamp(0.0, f64::from(size.depth - 1));
        ways[2][0].0 = Some(slice as u32);
    }
    let mut found = Taps::new();
    for z in ways[2] {
        for y in ways[1] {
            for x in ways[0] {
                let weight = [x, y, z].iter().map(|(_, part)| f64::from(*part) / 256.0).product();
                if weight > 0.0 {
                    let texel = x.0.zip(y.0).zip(z.0).map(|((x, y), z)| [x, y, z]);
                    found.push((texel, weight));
                }
            }
        }
    }
    found
}

/// The most texels that a lane can ask for.
const MOST: usize = 8;

/// `image_sample`, `image_sample_l` and `image_sample_lz`. `words` are the coordinates.
pub fn sample(
    w: &mut Wave,
    op: &Op,
    form: Form,
    image: &Image,
    layout: &Layout,
    words: &Words,
) -> Result<Flow, String> {
    let sampler = Sampler::read(w, op.ssrc, image.shape)?;
    let format = layout.format;
    let normalised = form.has(Form::NORMALISED) && !sampler.counts_texels;
    let axes = directions(image.shape);
    if !normalised && sampler.clamp[..axes].iter().any(|clamp| matches!(clamp, Clamp::Wrap | Clamp::Mirror)) {
        return Err("coordinates that count texels, and wrap or are mirrored, are not modelled".into());
    }
    if sampler.linear && matches!(format.number, Number::Uint | Number::Sint) {
        return Err("a linear filter of whole numbers is not modelled".into());
    }
    if sampler.linear && form.has(Form::D16) {
        return Err("D16 with a linear filter is not modelled: how it is rounded is not documented".into());
    }
    let count = form.dmask().count_ones() as usize;
    let mut selects = [Select::Zero; 4];
    for (select, component) in selects.iter_mut().zip(texels::components(form)) {
        *select = texels::select(image, format, component)?;
    }
    let mut weights = [[0.0; 64]; MOST];
    let mut places: [Addresses; MOST] = std::array::from_fn(|_| Addresses { lane: [0; 64], mask: 0, stride: 4 });
    for lane in lanes(w.exec()) {
        let at = [0, 1, 2].map(|k| f32::from_bits(words[k][lane]));
        for (k, (texel, weight)) in taps(&sampler, image, at, normalised).into_iter().enumerate() {
            weights[k][lane] = weight;
            if let Some(address) = texel.and_then(|texel| layout.place(texel, 0)) {
                places[k].lane[lane] = address;
                places[k].mask |= 1 << lane;
            }
        }
    }
    places.iter().for_each(|at| texels::watch(w, false, layout.bytes, at));
    texels::leave_half(w, op, form);
    let d16 = form.has(Form::D16);
    for lane in lanes(w.exec()) {
        let mut data = [None; MOST];
        let mut fresh = [0; MOST];
        for (k, at) in places.iter().enumerate().filter(|(_, at)| at.mask >> lane & 1 != 0) {
            let first = at.lane[lane];
            fresh[k] = strict::element(w, layout.bytes as u32, |byte| first + u64::from(byte));
            match texels::find(w, lane, first, layout.bytes, false) {
                Ok(found) => data[k] = found.map(|p| texels::read(p, layout.bytes)),
                Err(flow) => return Ok(flow),
            }
        }
        for (k, select) in selects[..count].iter().enumerate() {
            let value = match *select {
                Select::Zero => 0,
                Select::One => format.one(d16),
                Select::Component(n) if !sampler.linear => match data[0] {
                    Some(texel) => format.load(texel, n, d16).map_err(texels::unknown)?,
                    None => 0,
                },
                Select::Component(n) => {
                    let mut sum = 0.0;
                    for (texel, weight) in data.iter().zip(&weights).filter_map(|(t, w)| Some(((*t)?, w[lane]))) {
                        let part = format.load(texel, n, false).map_err(texels::unknown)?;
                        sum += weight * f64::from(f32::from_bits(part));
                    }
                    (sum as f32).to_bits()
                }
            };
            texels::put(w, op, form, k, lane, value);
            let Select::Component(n) = *select else { continue };
            if let Some(tap) = (0..MOST).find(|tap| fresh[*tap] & format.field(n) != 0) {
                let (row, shift) = texels::register(form, k);
                let bits = if d16 { 0xffff << shift } else { !0 };
                strict::component(w, op.dst + row, lane, bits, places[tap].lane[lane]);
            }
        }
    }
    Ok(Flow::Next)
}

#[cfg(test)]
mod tests;
