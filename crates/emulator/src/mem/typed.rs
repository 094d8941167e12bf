//! Typed buffers: `tbuffer_*`, whose instruction says the data format, and `buffer_*_format_*`, whose resource does.
//!
//! Micro-op: as [`super::buffer`]'s, `imm2` a [`Shape`].
//!
//! Components come from the format as the resource's DST_SEL says; those of `tbuffer_*` in order, missing ones zero. An
//! element is inside the buffer or not as a whole; one that is outside loads as zeros (and DST_SEL's ones). A store of
//! fewer components than the format has sets the others to zero, on gfx12 and gfx1250 to the first (LLVM's
//! FeatureDefaultComponentZero and FeatureDefaultComponentBroadcast, by which it leaves such components out).

use luthier_isa::Generation;

use super::buffer::{self, IDXEN, OFFEN, Resource};
use super::engine::{self, Engine};
use super::tensor::Piece;
use super::{Action, Transfer, access, buffer_range, ds, notice};
use crate::error::FaultKind;
use crate::masks::lanes;
use crate::mem::format::DataFormat;
use crate::observe;
use crate::op::{Flow, Op};
use crate::report::FindingKind;
use crate::scalar::s32;
use crate::strict::memory as strict;
use crate::wave::Wave;

/// What an instruction moves, in `imm2`: OFFEN, IDXEN, LDS and WIDE_M0 in bits 3:0, components in bits 7:4, flags in bits 11:8, the
/// format's code from bit 16 on, if the instruction has one.
#[derive(Clone, Copy)]
pub struct Shape(pub u64);

impl Shape {
    const STORE: u64 = 1 << 8;
    const D16: u64 = 1 << 9;
    const HIGH: u64 = 1 << 10;
    const OWN_FORMAT: u64 = 1 << 11;

    /// From a mnemonic (`tbuffer_load_format_d16_xy`, `buffer_store_d16_hi_format_x`); `None` if it is no such.
    pub fn parse(base: &str) -> Option<Shape> {
        let (own, rest) = match base.strip_prefix("tbuffer_") {
            Some(rest) => (Shape::OWN_FORMAT, rest),
            None => (0, base.strip_prefix("buffer_")?),
        };
        let (store, rest) = match rest.strip_prefix("store_") {
            Some(rest) => (Shape::STORE, rest),
            None => (0, rest.strip_prefix("load_")?),
        };
        let mut flags = own | store;
        let (mut has_format, mut components) = (false, 0);
        for word in rest.split('_') {
            match word {
                "format" => has_format = true,
                "d16" => flags |= Shape::D16,
                "hi" => flags |= Shape::HIGH,
                "x" | "xy" | "xyz" | "xyzw" => components = word.len() as u64,
                _ => return None,
            }
        }
        (has_format && components != 0).then_some(Shape(flags | components << 4))
    }
    pub fn has_own_format(self) -> bool {
        self.0 & Shape::OWN_FORMAT != 0
    }
    /// What can go straight into LDS.
    pub fn loads_one_word(self) -> bool {
        self.components() == 1 && self.0 & (Shape::STORE | Shape::D16 | Shape::OWN_FORMAT) == 0
    }
    fn is_store(self) -> bool {
        self.0 & Shape::STORE != 0
    }
    fn d16(self) -> bool {
        self.0 & Shape::D16 != 0
    }
    fn is_high(self) -> bool {
        self.0 & Shape::HIGH != 0
    }
    fn components(self) -> usize {
        (self.0 >> 4 & 15) as usize
    }
    /// The register and the shift of component `k`.
    fn place(self, k: usize) -> (u16, u32) {
        match (self.d16(), self.is_high()) {
            (false, _) => (k as u16, 0),
            (true, true) => (0, 16),
            (true, false) => (k as u16 / 2, 16 * (k as u32 % 2)),
        }
    }
    /// The format of the instruction or of the resource, whose last word is `word`.
    fn format(self, w: &Wave, word: u32) -> Option<DataFormat> {
        let own = (self.0 >> 16) as u32;
        if w.generation.is_gfx9_family() {
            let (data, number) =
                if self.has_own_format() { (own & 15, own >> 4 & 7) } else { (word >> 15 & 15, word >> 12 & 7) };
            return DataFormat::split(data, number);
        }
        let bits = if w.generation == Generation::Gfx10 { 0x7f } else { 0x3f };
        let code = if self.has_own_format() { own & 0x7f } else { word >> 12 & bits };
        DataFormat::unified(w.generation, code)
    }
}

/// What a component is.
#[derive(Clone, Copy)]
enum Select {
    Zero,
    One,
    Component(usize),
}

fn selects(shape: Shape, format: DataFormat, word: u32) -> Result<[Select; 4], &'static str> {
    let mut out = [Select::Zero; 4];
    for (k, out) in out.iter_mut().enumerate().take(shape.components()) {
        let select = if shape.has_own_format() { 4 + k as u32 } else { word >> (3 * k) & 7 };
        *out = match select {
            0 => Select::Zero,
            1 => Select::One,
            2 | 3 => return Err("a component selected by a reserved code"),
            n if (n as usize - 4) < format.bits.len() => Select::Component(n as usize - 4),
            _ if shape.has_own_format() => Select::Zero,
            _ => return Err("a component that the format has not"),
        };
    }
    Ok(out)
}

pub fn typed(w: &mut Wave, op: &Op) -> Flow {
    let shape = Shape(op.imm2);
    let refuse = |w: &mut Wave, what: &str| {
        w.fault(FaultKind::Unsupported, format!("typed buffers: {what} is not modelled, as it is not documented"))
    };
    let word = w.s[usize::from(op.sdst.wrapping_add(3))];
    let Some(format) = shape.format(w, word) else { return refuse(w, "this data format") };
    let selects = match selects(shape, format, word) {
        Ok(selects) => selects,
        Err(what) => return refuse(w, what),
    };
    let in_order = |(k, select): (usize, &Select)| matches!(select, Select::Component(n) if *n == k);
    let moved = shape.components().min(format.bits.len());
    if shape.is_store() && !selects[..moved].iter().enumerate().all(in_order) {
        return refuse(w, "a store through selected components");
    }
    let Some(resource) = Resource::read(w, op.sdst) else {
        return refuse(w, "a resource of this kind");
    };
    let soffset = u64::from(s32(w, op, 2));
    let (index, offset) = buffer::indices(w, op, (op.imm2 & u64::from(IDXEN | OFFEN)) as u32, &resource);
    let size = format.bytes();
    let exec = w.exec();
    let inside = lanes(exec)
        .filter(|&l| !resource.outside(index[l], offset[l], size.into(), soffset))
        .fold(0, |mask, l| mask | 1 << l);
    if inside != exec && w.strict.is_some() {
        let action = if shape.is_store() { Action::Store(Transfer::Words) } else { Action::Load(Transfer::Words) };
        buffer_range::report(w, op, action, &resource, &offset, soffset, exec & !inside);
    }
    watch(w, op, shape, size, inside, |lane, byte| {
        resource.place(index[lane], offset[lane] + u64::from(byte), soffset)
    });
    for lane in lanes(exec) {
        let is_inside = inside >> lane & 1 != 0;
        let first = resource.place(index[lane], offset[lane], soffset);
        if is_inside && !first.is_multiple_of(u64::from(size.min(4).next_power_of_two())) {
            let message = format!("an element of {size} bytes at {first:#x}, which is not aligned");
            if w.bad_access(FindingKind::Misaligned, Some(lane as u32), first, message) != Flow::Next {
                return Flow::Fault;
            }
        }
        let place = |byte: u32| resource.place(index[lane], offset[lane] + u64::from(byte), soffset);
        if !shape.is_store() {
            let (mut data, mut fresh) = (0, 0);
            if is_inside {
                fresh = strict::element(w, size, place);
                match read(w, lane, size, place) {
                    Ok(found) => data = found,
                    Err(flow) => return flow,
                }
            }
            for (k, select) in selects[..shape.components()].iter().enumerate() {
                let value = match *select {
                    Select::One => Ok(format.one(shape.d16())),
                    Select::Component(n) if is_inside => format.load(data, n, shape.d16()),
                    _ => Ok(0),
                };
                let value = match value {
                    Ok(value) => value,
                    Err(what) => return refuse(w, what),
                };
                let (register, shift) = shape.place(k);
                let kept = if shift == 0 || shape.is_high() { w.kept } else { !0 };
                let out = &mut w.row_mut(op.dst + register).0[lane];
                *out = if shape.d16() { *out & kept & !(0xffff << shift) | value << shift } else { value };
                if let Select::Component(n) = *select
                    && fresh & format.field(n) != 0
                {
                    strict::component(
                        w,
                        op.dst + register,
                        lane,
                        if shape.d16() { 0xffff << shift } else { !0 },
                        first,
                    );
                }
            }
        } else if is_inside {
            let mut data = 0;
            for k in 0..format.bits.len() {
                let is_stored = k < shape.components();
                let (register, shift) = shape.place(if is_stored { k } else { 0 });
                let raw = w.row(op.src[1] + register).0[lane] >> shift;
                let raw = if shape.d16() { raw & 0xffff } else { raw };
                let raw = if is_stored || repeats_first(w.generation) { raw } else { 0 };
                if let Err(what) = format.store(&mut data, k, raw, shape.d16()) {
                    return refuse(w, what);
                }
            }
            if let Err(flow) = write(w, lane, size, data, place) {
                return flow;
            }
        }
    }
    Flow::Next
}

/// Whether components that a store leaves out get the first one's value, not zero.
pub fn repeats_first(generation: Generation) -> bool {
    matches!(generation, Generation::Gfx12 | Generation::Gfx1250)
}

/// `buffer_load_format_x` straight into LDS; `dst` is a temporary row.
pub fn to_lds(w: &mut Wave, op: &Op) -> Flow {
    match typed(w, op) {
        Flow::Next => {}
        flow => return flow,
    }
    let (offsets, exec) = (buffer::lds_offsets(w, op, 1, op.imm2 as u32), w.exec());
    let loaded = w.row(op.dst).0;
    observe::lds(
        w,
        Action::Store(Transfer::Words),
        access::Rows { dst: op.dst, data: op.dst, words: 1 },
        &offsets,
        exec,
    );
    let piece = |lane: usize| (Some(lane as u32), Piece { lds: offsets[lane].into(), global: None, len: 4 });
    strict::transfer(w, Engine::Direct, &lanes(exec).map(piece).collect::<Vec<_>>(), true);
    engine::later(w, Engine::Direct, move |w| {
        let is_lost = |lane: &usize| w.lds.store32(offsets[*lane], loaded[*lane]).is_none();
        let lost = lanes(exec).filter(is_lost).fold(0, |all, lane| all | 1 << lane);
        ds::outside(w, lost, &offsets);
        Flow::Next
    })
}

fn read(w: &mut Wave, lane: usize, size: u32, place: impl Fn(u32) -> u64) -> Result<u128, Flow> {
    let mut data = [0; 16];
    match access::move_bytes(w, &mut data, 0..size, false, &place) {
        Ok(()) => Ok(u128::from_le_bytes(data)),
        Err(bad) => missing(w, lane, "a load from", place(bad)).map(|()| 0),
    }
}

fn write(w: &mut Wave, lane: usize, size: u32, data: u128, place: impl Fn(u32) -> u64) -> Result<(), Flow> {
    let moved = access::move_bytes(w, &mut data.to_le_bytes(), 0..size, true, &place);
    moved.or_else(|bad| missing(w, lane, "a store to", place(bad)))
}

fn missing(w: &mut Wave, lane: usize, verb: &str, address: u64) -> Result<(), Flow> {
    let message = format!("{verb} {address:#x}, which is in no allocation that allows it");
    match w.bad_access(FindingKind::OutOfBounds, Some(lane as u32), address, message) {
        Flow::Next => Ok(()),
        flow => Err(flow),
    }
}

/// Tells the launch's observer of an access of as many words as both memory and registers have.
fn watch(w: &mut Wave, op: &Op, shape: Shape, size: u32, mask: u64, place: impl Fn(usize, u32) -> u64) {
    if !w.is_watched || mask == 0 {
        return;
    }
    let transfer = match size {
        1 => Transfer::U8,
        2 => Transfer::U16,
        _ => Transfer::Words,
    };
    let registers = shape.place(shape.components() - 1).0 as u8 + 1;
    let rows = access::Rows { dst: op.dst, data: op.src[1], words: (size.div_ceil(4) as u8).min(registers) };
    let action = if shape.is_store() { Action::Store(transfer) } else { Action::Load(transfer) };
    notice::elements(w, action, rows, mask, &place);
}
