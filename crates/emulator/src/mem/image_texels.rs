//! Loads and stores of texels, once it is known where they are.
//!
//! DST_SEL says for each component of the instruction which one of the format it is; a store goes the other way (Mesa
//! and PAL describe images whose components are swapped so, and rocjitsu stores them so). DMASK says which components have
//! registers, in order; with D16 two share one. What the upper half of a register gets that has but one is zero with
//! SRAM-ECC, and else not documented: it stays, and is undefined in strict mode.

use super::access::{Addresses, Rows};
use super::image::{Image, Layout};
use super::image_ops::{Form, Kind, Texel, atomic_words};
use super::typed::repeats_first;
use super::{Action, Transfer};
use crate::masks::lanes;
use crate::mem::format::{DataFormat, Number};
use crate::memory::{BadAddress, HostPtr};
use crate::observe;
use crate::op::{Flow, Op};
use crate::registers::Row;
use crate::report::FindingKind;
use crate::strict::memory as strict;
use crate::wave::Wave;

/// What a component is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Select {
    Zero,
    One,
    Component(usize),
}

/// The components of the instruction that have registers, by number.
pub fn components(form: Form) -> impl Iterator<Item = usize> {
    (0..4).filter(move |k| form.dmask() >> k & 1 != 0)
}

/// The register and the shift of the `k`th component that has one.
pub fn register(form: Form, k: usize) -> (u16, u32) {
    if form.has(Form::D16) { (k as u16 / 2, 16 * (k as u32 % 2)) } else { (k as u16, 0) }
}

pub fn select(image: &Image, format: DataFormat, component: usize) -> Result<Select, String> {
    match image.selects() >> (3 * component) & 7 {
        0 => Ok(Select::Zero),
        1 => Ok(Select::One),
        n if n > 3 && (n as usize - 4) < format.bits.len() => Ok(Select::Component(n as usize - 4)),
        n => Err(format!(
            "the resource's DST_SEL_{} {n} of a format of {} components is not modelled",
            ["X", "Y", "Z", "W"][component],
            format.bits.len()
        )),
    }
}

/// As raw bits, the format says nothing but the size.
fn raw_format(form: Form, layout: &Layout, image: &Image, texel: Texel) -> Result<DataFormat, String> {
    let single = layout.format.bits.len() == 1 && form.dmask() == 1 && image.selects() & 7 == 4;
    if !single || form.has(Form::D16) {
        return Err("a texel as it is, of more than one component, is not modelled".into());
    }
    let number = if texel == Texel::RawSigned { Number::Sint } else { Number::Uint };
    Ok(DataFormat { bits: layout.format.bits, number })
}

fn format_of(form: Form, layout: &Layout, image: &Image, texel: Texel) -> Result<DataFormat, String> {
    match texel {
        Texel::Converted => Ok(layout.format),
        _ => raw_format(form, layout, image, texel),
    }
}

/// Puts a component into its register.
pub fn put(w: &mut Wave, op: &Op, form: Form, k: usize, lane: usize, value: u32) {
    let (row, shift) = register(form, k);
    let kept = if shift == 0 { w.kept } else { !0 };
    let out = &mut w.row_mut(op.dst + row).0[lane];
    *out = if form.has(Form::D16) { *out & kept & !(0xffff << shift) | (value & 0xffff) << shift } else { value };
}

/// The launch's observer hears of the access.
pub fn watch(w: &mut Wave, stores: bool, bytes: u64, at: &Addresses) {
    if !w.is_watched || at.mask == 0 {
        return;
    }
    let transfer = match bytes {
        1 => Transfer::U8,
        2 => Transfer::U16,
        _ => Transfer::Words,
    };
    let action = if stores { Action::Store(transfer) } else { Action::Load(transfer) };
    strict::texels(w, action, at, bytes);
    observe::device(w, action, Rows { dst: 0, data: 0, words: (bytes / 4) as u8 }, at);
}

/// The upper half of the last register of an odd number of halves.
pub fn leave_half(w: &mut Wave, op: &Op, form: Form) {
    let count = form.dmask().count_ones() as u16;
    if form.has(Form::D16) && !count.is_multiple_of(2) && w.kept != 0 {
        let exec = w.exec();
        strict::upper_half(w, op.dst + count / 2, exec);
    }
}

pub fn load(
    w: &mut Wave,
    op: &Op,
    form: Form,
    image: &Image,
    layout: &Layout,
    texel: Texel,
    at: &Addresses,
) -> Result<Flow, String> {
    let format = format_of(form, layout, image, texel)?;
    let mut selects = [Select::Zero; 4];
    let count = form.dmask().count_ones() as usize;
    for (k, component) in components(form).enumerate() {
        selects[k] = select(image, format, component)?;
    }
    watch(w, false, layout.bytes, at);
    leave_half(w, op, form);
    let d16 = form.has(Form::D16);
    for lane in lanes(w.exec()) {
        let is_inside = at.mask >> lane & 1 != 0;
        let (mut data, mut fresh) = (0, 0);
        if is_inside {
            let first = at.lane[lane];
            fresh = strict::element(w, layout.bytes as u32, |byte| first + u64::from(byte));
            match find(w, lane, at.lane[lane], layout.bytes, false) {
                Ok(Some(p)) => data = read(p, layout.bytes),
                Ok(None) => {}
                Err(flow) => return Ok(flow),
            }
        }
        for (k, select) in selects[..count].iter().enumerate() {
            let value = match *select {
                Select::One => format.one(d16),
                Select::Component(n) if is_inside => format.load(data, n, d16).map_err(unknown)?,
                _ => 0,
            };
            put(w, op, form, k, lane, value);
            if let Select::Component(n) = *select
                && fresh & format.field(n) != 0
            {
                let (row, shift) = register(form, k);
                strict::component(w, op.dst + row, lane, if d16 { 0xffff << shift } else { !0 }, at.lane[lane]);
            }
        }
    }
    Ok(Flow::Next)
}

pub fn unknown(what: &str) -> String {
    format!("{what} is not modelled, as it is not documented")
}

/// For each component of the format, the number among the instruction's registers that it comes from.
fn sources(w: &Wave, form: Form, image: &Image, format: DataFormat) -> Result<[Option<usize>; 4], String> {
    let mut found = [None; 4];
    for (n, found) in found.iter_mut().enumerate().take(format.bits.len()) {
        let mut same = (0..4).filter(|k| image.selects() >> (3 * k) & 7 == 4 + n as u32);
        let (Some(component), None) = (same.next(), same.next()) else {
            return Err(format!("a store through the resource's DST_SEL {:#x} is not modelled", image.selects()));
        };
        let below = form.dmask() & ((1 << component) - 1);
        let has_register = form.dmask() >> component & 1 != 0;
        *found = match has_register {
            true => Some(below.count_ones() as usize),
            false if !repeats_first(w.generation) => None,
            false if form.dmask() & 1 != 0 => Some(0),
            false => return Err(format!("a store with DMASK {:#x} is not modelled", form.dmask())),
        };
    }
    Ok(found)
}

pub fn store(
    w: &mut Wave,
    op: &Op,
    form: Form,
    image: &Image,
    layout: &Layout,
    texel: Texel,
    at: &Addresses,
) -> Result<Flow, String> {
    let format = format_of(form, layout, image, texel)?;
    let sources = sources(w, form, image, format)?;
    watch(w, true, layout.bytes, at);
    let d16 = form.has(Form::D16);
    for k in sources.into_iter().flatten() {
        let (row, shift) = register(form, k);
        let used = if d16 { 0xffff << shift } else { !0 };
        strict::stored_bits(w, op.src[1] + row, used, at);
    }
    for lane in lanes(at.mask) {
        let mut data = 0;
        for (n, source) in sources.iter().enumerate().take(format.bits.len()) {
            let value = source.map_or(0, |k| {
                let (row, shift) = register(form, k);
                let word = w.row(op.src[1] + row).0[lane];
                if d16 { word >> shift & 0xffff } else { word }
            });
            let value = if texel == Texel::Converted { value } else { value & low_bits(format.bits[n]) };
            format.store(&mut data, n, value, d16).map_err(unknown)?;
        }
        match find(w, lane, at.lane[lane], layout.bytes, true) {
            Ok(Some(p)) => {
                w.has_stored = true;
                write(p, layout.bytes, data);
            }
            Ok(None) => {}
            Err(flow) => return Ok(flow),
        }
    }
    Ok(Flow::Next)
}

fn low_bits(bits: u8) -> u32 {
    ((1u64 << bits) - 1) as u32
}

/// What a resource that is all zeros gives: zeros. Nothing is stored.
pub fn nothing(w: &mut Wave, op: &Op, form: Form, kind: Kind) -> Result<Flow, String> {
    let exec = w.exec();
    match kind {
        Kind::Load(_) | Kind::Sample => {
            leave_half(w, op, form);
            for lane in lanes(exec) {
                (0..form.dmask().count_ones() as usize).for_each(|k| put(w, op, form, k, lane, 0));
            }
        }
        Kind::Atomic(atomic) if form.has(Form::RETURNS) => {
            let words = atomic_words(form, atomic)?;
            (0..u16::from(words)).for_each(|k| w.write_masked(op.dst + k, &Row::ZERO, exec));
        }
        _ => {}
    }
    Ok(Flow::Next)
}

/// A texel's place in the host's memory; `None` if strict mode has been told that it has none.
pub fn find(w: &mut Wave, lane: usize, address: u64, bytes: u64, stores: bool) -> Result<Option<HostPtr>, Flow> {
    let memory = std::sync::Arc::clone(&w.memory);
    let bad = match memory.resolve(&mut w.recent, address, bytes, stores) {
        Ok(p) => return Ok(Some(p)),
        Err(bad) => bad,
    };
    let verb = if stores { "a store to" } else { "a load from" };
    let what = match bad {
        BadAddress::Unmapped => "in no allocation",
        BadAddress::ReadOnly => "read-only",
    };
    let message = format!("{verb} {address:#x}, which is {what}");
    match w.bad_access(FindingKind::OutOfBounds, Some(lane as u32), address, message) {
        Flow::Next => Ok(None),
        flow => Err(flow),
    }
}

pub fn read(p: HostPtr, bytes: u64) -> u128 {
    let mut data = [0; 16];
    p.read(&mut data[..bytes as usize]);
    u128::from_le_bytes(data)
}

fn write(p: HostPtr, bytes: u64, data: u128) {
    p.write(&data.to_le_bytes()[..bytes as usize]);
}
