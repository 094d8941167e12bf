//! Image instructions. [`super::image_sample`] has those with a sampler.
//!
//! Micro-op: `sdst` the resource's first scalar, `dst` and `src[1]` the data's row, `imm` the rows of the address, sixteen
//! bits each, `imm2` a [`Form`], `ssrc` the sampler's first scalar.
//!
//! Sources, beside those of [`super::image`]: LLVM (operands, packing of A16 and D16, that TFE's register is set by a
//! failure alone, that a store sets components that DMASK leaves out to zero, on gfx12 to X: FeatureDefaultComponentZero
//! and FeatureDefaultComponentBroadcast), AMD's rocjitsu (image_transfer.h, gfx9_image_access.h, image_resource.h), the
//! manuals' pseudocode (atomics), and Mesa's ac_nir_lower_resinfo.c. What lies outside of an image, an unknown mip level
//! included, loads as zeros (and DST_SEL's ones), and is not stored; so do all loads of a resource that is all zeros.

use super::Action;
use super::access::{self, Addresses, Rows};
use super::atomic::Atomic;
use super::image::{Image, Layout, Shape};
use super::image_sample;
use super::image_texels as texels;
use crate::error::FaultKind;
use crate::masks::lanes;
use crate::op::{Flow, Op};
use crate::registers::Row;
use crate::strict::memory as strict;
use crate::wave::Wave;

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Load(Texel),
    Store(Texel),
    Atomic(Atomic),
    Sample,
    /// `image_get_resinfo`: the size of a mip level, and how many there are.
    Size,
}

/// How a texel is read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Texel {
    Converted,
    /// `pck`: as it is, zero-extended.
    Raw,
    /// `pck_sgn`: as it is, sign-extended.
    RawSigned,
}

/// All instructions: the name, whether the address ends in a mip level, and what it does.
const OPERATIONS: &[(&str, bool, Kind)] = {
    use Kind::{Atomic as A, Load, Sample, Size, Store};
    use Texel::{Converted, Raw, RawSigned};
    &[
        ("image_load", false, Load(Converted)),
        ("image_load_mip", true, Load(Converted)),
        ("image_load_pck", false, Load(Raw)),
        ("image_load_pck_sgn", false, Load(RawSigned)),
        ("image_load_mip_pck", true, Load(Raw)),
        ("image_load_mip_pck_sgn", true, Load(RawSigned)),
        ("image_store", false, Store(Converted)),
        ("image_store_mip", true, Store(Converted)),
        ("image_store_pck", false, Store(Raw)),
        ("image_store_mip_pck", true, Store(Raw)),
        ("image_get_resinfo", false, Size),
        ("image_sample", false, Sample),
        ("image_sample_l", true, Sample),
        ("image_sample_lz", false, Sample),
        ("image_atomic_swap", false, A(Atomic::Swap)),
        ("image_atomic_cmpswap", false, A(Atomic::CmpSwap)),
        ("image_atomic_add", false, A(Atomic::Add)),
        ("image_atomic_sub", false, A(Atomic::Sub)),
        ("image_atomic_smin", false, A(Atomic::SMin)),
        ("image_atomic_umin", false, A(Atomic::UMin)),
        ("image_atomic_smax", false, A(Atomic::SMax)),
        ("image_atomic_umax", false, A(Atomic::UMax)),
        ("image_atomic_and", false, A(Atomic::And)),
        ("image_atomic_or", false, A(Atomic::Or)),
        ("image_atomic_xor", false, A(Atomic::Xor)),
        ("image_atomic_inc", false, A(Atomic::Inc)),
        ("image_atomic_dec", false, A(Atomic::Dec)),
        ("image_atomic_fcmpswap", false, A(Atomic::FCmpSwap)),
        ("image_atomic_fmin", false, A(Atomic::FMin)),
        ("image_atomic_fmax", false, A(Atomic::FMax)),
        ("image_atomic_add_uint", false, A(Atomic::Add)),
        ("image_atomic_sub_uint", false, A(Atomic::Sub)),
        ("image_atomic_min_int", false, A(Atomic::SMin)),
        ("image_atomic_min_uint", false, A(Atomic::UMin)),
        ("image_atomic_max_int", false, A(Atomic::SMax)),
        ("image_atomic_max_uint", false, A(Atomic::UMax)),
        ("image_atomic_inc_uint", false, A(Atomic::Inc)),
        ("image_atomic_dec_uint", false, A(Atomic::Dec)),
        ("image_atomic_add_flt", false, A(Atomic::FAdd)),
        ("image_atomic_min_flt", false, A(Atomic::FMinNum)),
        ("image_atomic_max_flt", false, A(Atomic::FMaxNum)),
        ("image_atomic_pk_add_f16", false, A(Atomic::PkAddF16)),
        ("image_atomic_pk_add_bf16", false, A(Atomic::PkAddBf16)),
    ]
};

/// An instruction as the handler sees it, in `imm2`: the number of the operation in bits 7:0, DMASK in bits 11:8, flags,
/// DIM in bits 26:24, the number of address registers in bits 31:28, that of VGPRs that the kernel has in bits 47:32.
#[derive(Clone, Copy)]
pub struct Form(pub u64);

impl Form {
    pub const D16: u64 = 1 << 12;
    pub const A16: u64 = 1 << 13;
    pub const R128: u64 = 1 << 14;
    /// The old value is returned.
    pub const RETURNS: u64 = 1 << 15;
    /// LWE, which asks for a warning about the level of detail.
    pub const WARNS: u64 = 1 << 16;
    /// Coordinates would be numbers from zero to one.
    pub const NORMALISED: u64 = 1 << 17;
    /// DA: the resource is an array (gfx9).
    pub const ARRAY: u64 = 1 << 18;
    /// The resource may have a pitch of its own (gfx10.3 on).
    pub const PITCH: u64 = 1 << 19;

    /// The operation with this name.
    pub fn parse(base: &str) -> Option<u64> {
        OPERATIONS.iter().position(|(name, ..)| *name == base).map(|number| number as u64)
    }
    pub fn dmask(self) -> u32 {
        (self.0 >> 8 & 15) as u32
    }
    pub fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
    fn operation(self) -> &'static (&'static str, bool, Kind) {
        &OPERATIONS[(self.0 & 255) as usize % OPERATIONS.len()]
    }
    /// Whether there may be more address registers than the instruction names.
    fn is_gfx9(w: &Wave) -> bool {
        w.generation.is_gfx9_family()
    }
}

/// The addresses of all lanes, in words: coordinates, and behind them perhaps a mip level.
pub type Words = [[u32; 64]; 4];

/// Reads `count` words of the lanes' addresses; on gfx9 from registers behind the named one.
fn address(w: &mut Wave, op: &Op, form: Form, count: usize) -> Result<Words, String> {
    let packed = if form.has(Form::A16) { 2 } else { 1 };
    let registers = count.div_ceil(packed) as u16;
    let first = op.imm as u16;
    if !Form::is_gfx9(w) && registers > (form.0 >> 28 & 15) as u16 {
        return Err("an address of fewer registers than it needs is not modelled".into());
    }
    let row = |k: u16| if Form::is_gfx9(w) { first + k } else { (op.imm >> (16 * k)) as u16 };
    let rows: [u16; 4] = std::array::from_fn(|k| row(k as u16));
    if Form::is_gfx9(w) {
        let limit = (form.0 >> 32) as u16;
        if first + registers > limit {
            return Err(format!("v{} is beyond the {limit} VGPRs of the kernel", first + registers - 1));
        }
        let exec = w.exec();
        rows[1..usize::from(registers)].iter().for_each(|row| strict::address_register(w, *row, exec));
    }
    let mut words = [[0; 64]; 4];
    for (k, word) in words[..count].iter_mut().enumerate() {
        let row = &w.row(rows[k / packed]).0;
        *word = match packed {
            1 => *row,
            _ => row.map(|pair| pair >> (16 * (k % 2)) & 0xffff),
        };
    }
    Ok(words)
}

pub fn image(w: &mut Wave, op: &Op) -> Flow {
    let form = Form(op.imm2);
    match run(w, op, form) {
        Ok(flow) => flow,
        Err(what) => w.fault(FaultKind::Unsupported, format!("{}: {what}", form.operation().0)),
    }
}

fn run(w: &mut Wave, op: &Op, form: Form) -> Result<Flow, String> {
    let (_, with_level, kind) = *form.operation();
    if w.exec() == 0 {
        return Ok(Flow::Next);
    }
    let of_resource = |what: String| format!("the resource's {what}");
    if form.has(Form::WARNS) {
        return Err("LWE is not modelled".into());
    }
    if form.dmask() == 0 {
        return Err("DMASK 0 is not modelled".into());
    }
    let image = Image::read(w, op.sdst, form.has(Form::R128), form.has(Form::PITCH)).map_err(of_resource)?;
    if kind == Kind::Size {
        if form.has(Form::D16) {
            return Err("D16 is not modelled".into());
        }
        let levels = address(w, op, form, 1)?[0];
        sizes(w, op, form, image.as_ref(), &levels);
        return Ok(Flow::Next);
    }
    if form.has(Form::NORMALISED) && kind != Kind::Sample {
        return Err("UNORM 0 is not modelled".into());
    }
    let Some(image) = image else {
        return texels::nothing(w, op, form, kind);
    };
    let named = check_shape(w, form, image.shape)?;
    let layout = image.layout(w.memory.host().is_some()).map_err(of_resource)?;
    if kind == Kind::Sample {
        check_sampled(form, &image)?;
        let words = address(w, op, form, named)?;
        check_slices(w, &image, &words[image.shape.coordinates()..named])?;
        return image_sample::sample(w, op, form, &image, &layout, &words);
    }
    let words = address(w, op, form, named + usize::from(with_level))?;
    check_slices(w, &image, &words[image.shape.coordinates()..named])?;
    let at = places(w, &image, &layout, &words, with_level.then_some(named));
    match kind {
        Kind::Load(texel) => texels::load(w, op, form, &image, &layout, texel, &at),
        Kind::Store(texel) => texels::store(w, op, form, &image, &layout, texel, &at),
        Kind::Atomic(atomic) => perform(w, op, form, &layout, atomic, &at),
        Kind::Sample | Kind::Size => Ok(Flow::Next),
    }
}

/// What a sampler is not modelled with.
fn check_sampled(form: Form, image: &Image) -> Result<(), String> {
    if form.has(Form::A16) {
        return Err("coordinates of 16 bits are not modelled".into());
    }
    if image.shape == Shape::Cube {
        return Err("a cube is not modelled: how its edges are filtered is not documented".into());
    }
    if image.levels() != 1 {
        return Err(format!(
            "{} levels of detail are not modelled: how one is chosen is not documented",
            image.levels()
        ));
    }
    Ok(())
}

/// The instruction and the resource have to agree about the kind of image, except that the copying kernels of AMD's ROCclr
/// take every image for an array of 2D ones. Gives the coordinates that the instruction names.
fn check_shape(w: &Wave, form: Form, shape: Shape) -> Result<usize, String> {
    let gfx9 = Form::is_gfx9(w);
    let dim = (form.0 >> 24 & 7) as u32;
    let as_array = if gfx9 { form.has(Form::ARRAY) } else { Shape::of(dim) == Some(Shape::D2Array) };
    if as_array && !shape.is_array() && !form.operation().1 {
        return Ok(3);
    }
    if gfx9 && form.has(Form::ARRAY) != shape.is_array() {
        let da = u32::from(form.has(Form::ARRAY));
        return Err(format!("DA {da} of a resource whose TYPE says {shape:?} is not modelled"));
    }
    if !gfx9 && Shape::of(dim) != Some(shape) {
        return Err(format!("DIM {dim} of a resource whose TYPE says {shape:?} is not modelled"));
    }
    Ok(shape.coordinates())
}

/// Coordinates that the image does not have are zero, or undefined.
fn check_slices(w: &Wave, image: &Image, more: &[[u32; 64]]) -> Result<(), String> {
    match lanes(w.exec()).flat_map(|lane| more.iter().map(move |word| word[lane])).find(|word| *word != 0) {
        Some(slice) => Err(format!("slice {slice} of a resource whose TYPE says {:?} is not modelled", image.shape)),
        None => Ok(()),
    }
}

/// The texels of the active lanes, those in the mask that are inside the image.
/// `level`: the word that has the mip level.
fn places(w: &Wave, image: &Image, layout: &Layout, words: &Words, level: Option<usize>) -> Addresses {
    let mut at = Addresses { lane: [0; 64], mask: 0, stride: 4 };
    let count = image.shape.coordinates();
    for lane in lanes(w.exec()) {
        let mut coordinates = [0; 3];
        (0..count).for_each(|k| coordinates[k] = words[k][lane]);
        if image.shape == Shape::D1Array {
            coordinates = [coordinates[0], 0, coordinates[1]];
        }
        let level = level.map_or(0, |k| words[k][lane]);
        if let Some(address) = layout.place(coordinates, level) {
            at.lane[lane] = address;
            at.mask |= 1 << lane;
        }
    }
    at
}

/// `image_get_resinfo`.
fn sizes(w: &mut Wave, op: &Op, form: Form, image: Option<&Image>, wanted: &[u32; 64]) {
    let exec = w.exec();
    let mut out = [Row::ZERO; 4];
    for lane in lanes(exec) {
        let Some(image) = image else { continue };
        out[3].0[lane] = image.levels();
        if wanted[lane] >= image.levels() {
            continue;
        }
        let size = image.size(wanted[lane]);
        let (second, third) = match image.shape {
            Shape::D1 => (0, 0),
            Shape::D1Array => (size.depth, 0),
            Shape::D2 => (size.height, 0),
            Shape::D3 | Shape::Cube | Shape::D2Array => (size.height, size.depth),
        };
        [out[0].0[lane], out[1].0[lane], out[2].0[lane]] = [size.width, second, third];
    }
    let chosen = (0..4).filter(|k| form.dmask() >> k & 1 != 0);
    for (register, component) in chosen.enumerate() {
        w.write_masked(op.dst + register as u16, &out[component], exec);
    }
}

/// How many words the texel has that an atomic changes.
///
/// The manuals: an element counts as one number of 32 or 64 bits, whatever its format; DMASK has as many bits as data
/// registers are read.
pub fn atomic_words(form: Form, atomic: Atomic) -> Result<u8, String> {
    let operands = if atomic.two_operands() { 2 } else { 1 };
    let wide = match (form.dmask(), operands) {
        (1, 1) | (3, 2) => false,
        (3, 1) | (15, 2) => true,
        (dmask, _) => return Err(format!("DMASK {dmask:#x} is not modelled")),
    };
    let integers = !matches!(
        atomic,
        Atomic::FAdd
            | Atomic::FMin
            | Atomic::FMax
            | Atomic::FMinNum
            | Atomic::FMaxNum
            | Atomic::FCmpSwap
            | Atomic::PkAddF16
            | Atomic::PkAddBf16
    );
    if wide && !integers {
        return Err("a float atomic on 64 bits is not modelled".into());
    }
    if form.has(Form::D16) {
        return Err("D16 is not modelled".into());
    }
    Ok(if wide { 2 } else { 1 })
}

fn perform(w: &mut Wave, op: &Op, form: Form, layout: &Layout, atomic: Atomic, at: &Addresses) -> Result<Flow, String> {
    let words = atomic_words(form, atomic)?;
    if layout.bytes != 4 * u64::from(words) {
        return Err(format!("a texel of {} bytes is not what DMASK {:#x} says", layout.bytes, form.dmask()));
    }
    let returns = form.has(Form::RETURNS);
    let rows = Rows { dst: op.dst, data: op.src[1], words };
    let outside = w.exec() & !at.mask;
    if returns && outside != 0 {
        (0..u16::from(words)).for_each(|k| w.write_masked(op.dst + k, &Row::ZERO, outside));
    }
    if at.mask == 0 {
        return Ok(Flow::Next);
    }
    Ok(access::perform(w, Action::Atomic(atomic, returns), rows, at))
}

#[cfg(test)]
mod tests;
