//! MUBUF: buffer loads, stores and atomics through a resource descriptor.
//!
//! Micro-op: `src[0]` address row (index, offset or both, by IDXEN and OFFEN), `src[1]` data row, `dst` destination
//! row, `sdst` the resource's first scalar, `src[2]` the scalar offset's code, `imm` the offset, `imm2` an
//! [`Encoded`] action with [`OFFEN`], [`IDXEN`] and [`LDS`]: to or from LDS instead of registers, `dst` and `src[1]` then
//! being a temporary row. (A store from LDS is at M0\[15:0\] + offset + 4 * lane there: CLRX's reference, as loads.)

use luthier_isa::Generation;

use super::access::{self, Addresses, Rows};
use super::engine::{self, Engine};
use super::flat::{Encoded, bytewise};
use super::tensor::Piece;
use super::{Action, Transfer, buffer_range, ds, global_words, notice};
use crate::error::FaultKind;
use crate::masks::lanes;
use crate::observe;
use crate::op::{Flow, Op};
use crate::registers::{Row, scalar};
use crate::report::FindingKind;
use crate::scalar::s32;
use crate::strict::memory as strict;
use crate::wave::Wave;

pub const OFFEN: u32 = 1;
pub const IDXEN: u32 = 2;
pub const LDS: u32 = 4;
/// M0 has 18 bits of an LDS address, not 16.
pub const WIDE_M0: u32 = 8;

/// What is outside of a buffer, by a descriptor's OOB_SELECT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bounds {
    /// gfx9 has no choice.
    Gfx9,
    /// Past the last record, or past its end.
    Structured,
    /// Past the last record.
    Records,
    /// Everything in a buffer of no records, else nothing.
    Empty,
    /// Past this many bytes, whatever the index.
    Raw,
}

/// A buffer resource descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    base: u64,
    stride: u64,
    records: u64,
    swizzle: bool,
    element: u64,
    index_stride: u64,
    add_tid: bool,
    bounds: Bounds,
    /// RDNA4: the scalar offset is part of what is swizzled, not of the base.
    swizzles_soffset: bool,
}

impl Resource {
    /// `None` where no manual says what the descriptor means.
    pub fn read(w: &Wave, code: u8) -> Option<Resource> {
        if w.generation == Generation::Gfx1250 {
            let (base, records) = super::smem::wide_buffer(w, code)?;
            let (stride, swizzle, element, index_stride) = (0, false, 4, 8);
            return Some(Resource {
                base,
                stride,
                records,
                swizzle,
                element,
                index_stride,
                add_tid: false,
                bounds: Bounds::Raw,
                swizzles_soffset: false,
            });
        }
        Some(Resource::narrow(w, code))
    }
    fn narrow(w: &Wave, code: u8) -> Resource {
        let word = |i: u8| u64::from(w.s[usize::from(code.wrapping_add(i))]);
        if !w.generation.is_gfx9_family() {
            // RDNA1 and RDNA2 have one bit for swizzling, in elements of four bytes; later ones two, with their size.
            let swizzle = if w.generation == Generation::Gfx10 { word(1) >> 31 & 1 } else { word(1) >> 30 & 3 };
            let rdna4 = matches!(w.generation, Generation::Gfx12 | Generation::Gfx1250);
            let scale = if rdna4 { [1, 4, 8, 32][(word(3) >> 18 & 3) as usize] } else { 1 };
            return Resource {
                base: word(0) | (word(1) & 0xffff) << 32,
                stride: (word(1) >> 16 & 0x3fff) * scale,
                records: word(2),
                swizzle: swizzle != 0,
                element: 2 << swizzle.max(1),
                index_stride: 8 << (word(3) >> 21 & 3),
                add_tid: word(3) >> 23 & 1 != 0,
                bounds: [Bounds::Structured, Bounds::Records, Bounds::Empty, Bounds::Raw][(word(3) >> 28 & 3) as usize],
                swizzles_soffset: rdna4,
            };
        }
        let add_tid = word(3) >> 23 & 1 != 0;
        // With ADD_TID the data format's bits extend the stride.
        let high_stride = if add_tid { (word(3) >> 15 & 15) << 14 } else { 0 };
        Resource {
            base: word(0) | (word(1) & 0xffff) << 32,
            stride: word(1) >> 16 & 0x3fff | high_stride,
            records: word(2),
            swizzle: word(1) >> 31 & 1 != 0,
            // gfx9 has no ELEMENT_SIZE (LLVM's SIInstrInfo::getScratchRsrcWords23): its bits are for virtual memory.
            element: 4,
            index_stride: 8 << (word(3) >> 21 & 3),
            add_tid,
            bounds: Bounds::Gfx9,
            swizzles_soffset: false,
        }
    }
    /// How many bytes it has, if they are counted from the base on, whatever the index.
    pub fn plain_bytes(&self) -> Option<u64> {
        let counts = matches!(self.bounds, Bounds::Gfx9 | Bounds::Raw);
        (counts && self.stride == 0 && !self.add_tid).then_some(self.records)
    }
    /// Address of its first byte.
    pub fn start(&self, soffset: u64) -> u64 {
        self.base.wrapping_add(soffset)
    }
    /// Address of a byte.
    pub fn place(&self, index: u64, offset: u64, soffset: u64) -> u64 {
        if !self.swizzle {
            return (self.base.wrapping_add(soffset))
                .wrapping_add(index.wrapping_mul(self.stride))
                .wrapping_add(offset);
        }
        let (start, offset) = if self.swizzles_soffset {
            (self.base, (offset + soffset) & 0xffff_ffff)
        } else {
            (self.base.wrapping_add(soffset), offset)
        };
        let (index_msb, index_lsb) = (index / self.index_stride, index % self.index_stride);
        let (offset_msb, offset_lsb) = (offset / self.element, offset % self.element);
        let within = (index_msb.wrapping_mul(self.stride) + offset_msb * self.element)
            .wrapping_mul(self.index_stride)
            .wrapping_add(index_lsb * self.element + offset_lsb);
        start.wrapping_add(within)
    }
    /// Whether `size` bytes there are outside the buffer.
    pub fn outside(&self, index: u64, offset: u64, size: u64, soffset: u64) -> bool {
        match self.bounds {
            Bounds::Structured => return index >= self.records || offset + size > self.stride,
            Bounds::Records => return index >= self.records,
            Bounds::Empty => return self.records == 0,
            Bounds::Raw if self.swizzle && self.stride != 0 => {
                return index >= self.records || offset + size > self.stride;
            }
            Bounds::Raw => {
                return offset + size > self.records.saturating_sub(soffset);
            }
            Bounds::Gfx9 => {}
        }
        if self.stride == 0 || !(self.swizzle || self.add_tid) {
            let place = if self.swizzle { offset } else { index * self.stride + offset };
            let limit = if self.stride == 0 { self.records } else { self.records.saturating_mul(self.stride) };
            place + size > limit.saturating_sub(soffset)
        } else {
            index >= self.records || offset + size > self.stride
        }
    }
}

/// The lanes' indices and offsets, the scalar one apart. In a swizzled buffer an offset has 32 bits, and one that is negative
/// meets the instruction's own above zero: LLVM counts on that for scratch from gfx9 on (AMDGPUISelDAGToDAG.cpp, on folding
/// offsets into MUBUF's).
pub(super) fn indices(w: &Wave, op: &Op, extra: u32, resource: &Resource) -> ([u64; 64], [u64; 64]) {
    let (mut index, mut offset) = ([0u64; 64], [op.imm; 64]);
    let offset_row = op.src[0].wrapping_add(u16::from(extra & (IDXEN | OFFEN) == IDXEN | OFFEN));
    // Of inactive lanes, too: nothing looks at them.
    if extra & IDXEN != 0 {
        let row = &w.row(op.src[0]).0;
        (0..64).for_each(|lane| index[lane] = row[lane].into());
    }
    if extra & OFFEN != 0 {
        let row = &w.row(offset_row).0;
        (0..64).for_each(|lane| offset[lane] += u64::from(row[lane]));
    }
    if resource.add_tid {
        (0..64).for_each(|lane| index[lane] += lane as u64);
    }
    if resource.swizzle {
        offset.iter_mut().for_each(|offset| *offset &= 0xffff_ffff);
    }
    (index, offset)
}

/// Where the bytes of a buffer begin, and how many there are, behind a scalar offset: of one that has them in a row.
pub fn plain(w: &Wave, resource: u8, soffset: u32) -> Option<(u64, u64)> {
    let resource = Resource::read(w, resource)?;
    let bytes = resource.plain_bytes().filter(|_| !resource.swizzle)?;
    Some((resource.start(soffset.into()), bytes.saturating_sub(soffset.into())))
}

pub fn buffer(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let (action, extra) = (encoded.action(), encoded.extra());
    let rows = Rows { dst: op.dst, data: op.src[1], words: encoded.words() };
    let Some(resource) = Resource::read(w, op.sdst) else {
        return w.fault(FaultKind::Unsupported, "a buffer of gfx1250 with a stride or flags is not modelled".into());
    };
    let soffset = u64::from(s32(w, op, 2));
    let exec = w.exec();
    let size = match action {
        Action::Load(t) | Action::Store(t) => t.bytes(rows.words),
        Action::Atomic(..) => 4 * u64::from(rows.words),
    };
    let is_words = matches!(action, Action::Load(Transfer::Words) | Action::Store(Transfer::Words));
    // Bytes behind the scalar offset.
    let plain = resource.plain_bytes().filter(|_| !resource.swizzle).map(|all| all.saturating_sub(soffset));
    if let Some(limit) = plain
        && is_words
        && extra & (OFFEN | IDXEN | LDS) == OFFEN
        && !w.is_watched
        && let Some(limit) = limit.checked_sub(op.imm)
        && global_words::within(w, encoded, rows, op.src[0], resource.start(soffset).wrapping_add(op.imm), limit)
    {
        return Flow::Next;
    }
    let (index, offset) = indices(w, op, extra, &resource);
    let swizzled = resource.swizzle;
    let mut at = Addresses { lane: [0; 64], mask: 0, stride: 4 };
    if swizzled && resource.element == 4 {
        at.stride = 4 * resource.index_stride;
    }
    // Lanes to be done a byte at a time: words across swizzled pieces, and loads that are partly outside.
    let (mut odd, mut partly, mut beyond) = (0u64, 0u64, 0u64);
    if let Some(limit) = plain {
        // Without a branch a lane.
        let (start, mut inside, mut begins) = (resource.start(soffset), 0u64, 0u64);
        for lane in 0..64 {
            at.lane[lane] = start.wrapping_add(offset[lane]);
            inside |= u64::from(offset[lane] + size <= limit) << lane;
            begins |= u64::from(offset[lane] + 4 <= limit) << lane;
        }
        at.mask = exec & inside;
        beyond = exec & !inside;
        partly = if is_words && rows.words > 1 { beyond & begins } else { 0 };
    }
    for lane in lanes(if plain.is_some() { 0 } else { exec }) {
        at.lane[lane] = resource.place(index[lane], offset[lane], soffset);
        if resource.outside(index[lane], offset[lane], size, soffset) {
            beyond |= 1 << lane;
            let some = is_words && rows.words > 1 && !resource.outside(index[lane], offset[lane], 4, soffset);
            partly |= u64::from(some) << lane;
            continue;
        }
        let swizzled_soffset = if resource.swizzles_soffset { soffset } else { 0 };
        let within = (offset[lane] + swizzled_soffset) % resource.element;
        let splits = swizzled && (within + size.min(4) > resource.element || (size > 4 && resource.element != 4))
            || swizzled && size >= 4 && !within.is_multiple_of(4);
        odd |= u64::from(splits) << lane;
        at.mask |= u64::from(!splits) << lane;
    }
    if beyond != 0 && w.strict.is_some() {
        buffer_range::report(w, op, action, &resource, &offset, soffset, beyond);
    }
    // What is outside loads as zero.
    if let Action::Load(_) | Action::Atomic(_, true) = action
        && extra & LDS == 0
    {
        let outside = exec & !(at.mask | odd);
        if outside != 0 {
            notice::fill(w, rows);
        }
        if let Action::Load(transfer) = action
            && transfer != Transfer::Words
        {
            // A half is zero, and the other one what it is where there is something.
            let kept = w.kept;
            let out = &mut w.row_mut(rows.dst).0;
            lanes(outside).for_each(|lane| out[lane] = transfer.merge(out[lane] & kept, 0));
        } else if outside != 0 {
            for k in 0..u16::from(rows.words) {
                w.write_masked(rows.dst + k, &Row::ZERO, outside);
            }
        }
    }
    if extra & LDS != 0 && matches!(action, Action::Load(_)) {
        return to_lds(w, op, action, at);
    }
    if extra & LDS != 0 {
        // A store from LDS: the words pass through a temporary row.
        let offsets = lds_offsets(w, op, 1, extra);
        match ds::access(w, Action::Load(Transfer::Words), rows, &offsets, exec) {
            Flow::Next => {}
            flow => return flow,
        }
    }
    let mut flow = Flow::Next;
    if at.mask != 0 {
        flow = access::issue(w, action, rows, &at);
    }
    if flow == Flow::Next && odd != 0 {
        flow = bytewise(w, action, rows, odd, |lane, byte| {
            resource.place(index[lane], offset[lane] + u64::from(byte), soffset)
        });
    }
    // Each word of a multi-word access is checked by itself; those that are inside come first, and go together.
    for count in 1..u64::from(rows.words) {
        if flow != Flow::Next || partly == 0 {
            break;
        }
        let is_inside = |lane: usize, k: u64| !resource.outside(index[lane], offset[lane] + 4 * k, 4, soffset);
        let some = lanes(partly).filter(|&lane| is_inside(lane, count - 1) && !is_inside(lane, count));
        let mask = some.fold(0, |mask, lane| mask | 1 << lane);
        let mut at = Addresses { lane: [0; 64], mask, stride: 4 };
        if at.mask == 0 {
            continue;
        }
        for k in 0..if swizzled { count } else { 1 } {
            lanes(at.mask).for_each(|lane| at.lane[lane] = resource.place(index[lane], offset[lane] + 4 * k, soffset));
            let words = if swizzled { 1 } else { count as u8 };
            let rows = Rows { dst: rows.dst + k as u16, data: rows.data + k as u16, words };
            flow = access::perform(w, action, rows, &at);
            if flow != Flow::Next {
                break;
            }
        }
    }
    flow
}

/// Where in LDS the lanes' words of a transfer between LDS and memory begin.
pub(super) fn lds_offsets(w: &Wave, op: &Op, words: u32, extra: u32) -> [u32; 64] {
    let mask = if extra & WIDE_M0 != 0 { 0x3_ffff } else { 0xffff };
    let base = (w.s[usize::from(scalar::M0)] & mask).wrapping_add(op.imm as u32);
    std::array::from_fn(|lane| base.wrapping_add(4 * words * lane as u32))
}

/// A load straight into LDS: as many words as it loads for each lane, lane after lane, from M0 and the offset on. What is
/// narrower than a word is extended to one.
pub(super) fn to_lds(w: &mut Wave, op: &Op, action: Action, at: Addresses) -> Flow {
    let Action::Load(transfer) = action else { return Flow::Next };
    let encoded = Encoded(op.imm2);
    let words = u32::from(encoded.words());
    let exec = w.exec();
    let offsets = lds_offsets(w, op, words, encoded.extra());
    let each = if transfer == Transfer::Words { 4 * u64::from(words) } else { transfer.bytes(1) };
    let moved = Rows { dst: 0, data: 0, words: words as u8 };
    observe::device(w, action, moved, &at);
    // Lanes that are outside of a buffer put zeros there.
    observe::lds(w, Action::Store(Transfer::Words), moved, &offsets, exec);
    let mut pieces = Vec::new();
    for lane in lanes(exec) {
        let place = |k: u32| offsets[lane].wrapping_add(4 * k).into();
        let is_on = at.mask >> lane & 1 != 0;
        let (len, count) = if at.stride == 4 { (each, 1) } else { (each.min(4), words) };
        for k in 0..count {
            let global = is_on.then(|| at.lane[lane].wrapping_add(at.stride * u64::from(k)));
            pieces.push((Some(lane as u32), Piece { lds: place(k), global, len }));
            if each < 4 {
                // It is extended to a whole word.
                let rest = Piece { lds: u64::from(offsets[lane]) + each, global: None, len: 4 - each };
                pieces.push((Some(lane as u32), rest));
            }
        }
    }
    if each >= 4 {
        return engine::start(w, Engine::Direct, pieces, true);
    }
    strict::transfer(w, Engine::Direct, &pieces, true);
    engine::later(w, Engine::Direct, move |w| narrow_to_lds(w, transfer, &at, &offsets, exec))
}

/// One value of less than a word for each lane.
fn narrow_to_lds(w: &mut Wave, transfer: Transfer, at: &Addresses, offsets: &[u32; 64], exec: u64) -> Flow {
    let memory = std::sync::Arc::clone(&w.memory);
    for lane in lanes(exec) {
        let mut value = 0;
        if at.mask >> lane & 1 != 0 {
            let address = at.lane[lane];
            match memory.resolve(&mut w.recent, address, transfer.bytes(1), false) {
                Ok(p) if transfer.bytes(1) == 1 => value = transfer.merge(0, p.load8().into()),
                Ok(p) => value = transfer.merge(0, p.load16().into()),
                Err(_) => {
                    let message = format!("a load from {address:#x}, which is in no allocation");
                    if w.bad_access(FindingKind::OutOfBounds, Some(lane as u32), address, message) != Flow::Next {
                        return Flow::Fault;
                    }
                }
            }
        }
        let to = offsets[lane];
        if w.lds.store32(to, value).is_none() {
            ds::outside(w, 1 << lane, offsets);
        }
    }
    Flow::Next
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::memory::Memory;

    const WORDS: u32 = 256;
    const SOFFSET: u32 = 32;
    const IMM: u32 = 8;

    /// A wave. v0 holds the lanes' offsets, v2 to v5 hold data, and s4 to s7 describe a buffer of `records` bytes.
    fn wave(generation: Generation, offset: impl Fn(u32) -> u32, exec: u64, records: u32) -> (Wave, u64) {
        let mut memory = Memory::new();
        let start = memory.allocate(4 * u64::from(WORDS), true).expect("there is room");
        (0..WORDS).for_each(|k| memory.write(start + 4 * u64::from(k), &(0x100 + k).to_le_bytes()).expect("inside"));
        let mut w = Wave::new();
        w.generation = generation;
        w.memory = Arc::new(memory);
        w.set_exec(exec);
        (0..30).for_each(|r| *w.row_mut(r) = Row(std::array::from_fn(|i| u32::from(r) * 1000 + i as u32)));
        *w.row_mut(0) = Row(std::array::from_fn(|i| offset(i as u32)));
        w.set_s64(4, start);
        w.s[6] = records;
        w.s[7] = if generation == Generation::Gfx90a { 0 } else { 3 << 28 };
        w.s[8] = SOFFSET;
        (w, start)
    }

    /// Each word is looked at by itself, and is the buffer's if it ends within the records behind the scalar offset.
    #[test]
    fn words_are_those_of_a_model() {
        let patterns: [fn(u32) -> u32; 9] = [
            |i| 4 * i,
            |_| 64,
            |i| 16 * (i / 16),
            |i| 8 * i,
            |i| 16 * (i % 32),
            |i| if i < 60 { 4 * i } else { 1 << 31 },
            |i| if i < 32 { 4 * i } else { 1 << 31 },
            |i| if i % 3 == 0 { u32::MAX - 3 } else { 4 * (63 - i) },
            |i| 4 * (i % 16),
        ];
        let generations = [Generation::Gfx90a, Generation::Gfx11];
        for (number, pattern) in patterns.into_iter().enumerate() {
            for generation in generations {
                for exec in [!0, 0xffff_ffff, 0xffff_0000_0000_ffff, 0x7fff_ffff_ffff_fff1, 0] {
                    for (words, load) in (1..=4).flat_map(|words| [(words, true), (words, false)]) {
                        for records in [4 * WORDS, 300, 100, 16] {
                            let about = format!("{number} {generation:?} {exec:#x} {words} {load} {records}");
                            compare(generation, pattern, exec, words, load, records, &about);
                        }
                    }
                }
            }
        }
    }

    fn compare(
        generation: Generation,
        offset: fn(u32) -> u32,
        exec: u64,
        words: u8,
        load: bool,
        records: u32,
        about: &str,
    ) {
        // Which lane's word stays where several lanes of several words meet at a buffer's end, no manual says.
        let starts = || lanes(exec).map(|lane| offset(lane as u32));
        let meet = |a: u32| starts().filter(|&b| a.abs_diff(b) < 4 * u32::from(words)).count() > 1;
        if !load && words > 1 && starts().any(meet) {
            return;
        }
        let (mut w, start) = wave(generation, offset, exec, records);
        let action = if load { Action::Load(Transfer::Words) } else { Action::Store(Transfer::Words) };
        let imm2 = Encoded::new(action, words).0 | u64::from(OFFEN) << 32;
        let op = Op { dst: 20, src: [0, 2, 8], sdst: 4, imm: IMM.into(), imm2, ..Op::NOTHING };
        let mut memory: Vec<u32> = (0..WORDS).map(|k| 0x100 + k).collect();
        let mut rows: Vec<[u32; 64]> = w.rows[..30].iter().map(|row| row.0).collect();
        for lane in lanes(exec) {
            for word in 0..usize::from(words) {
                let at = u64::from(offset(lane as u32)) + u64::from(IMM) + 4 * word as u64;
                let is_inside = at + 4 <= u64::from(records.saturating_sub(SOFFSET));
                let place = is_inside.then(|| (at + u64::from(SOFFSET)) as usize / 4);
                match load {
                    true => rows[20 + word][lane] = place.map_or(0, |place| memory[place]),
                    false => place.into_iter().for_each(|place| memory[place] = rows[2 + word][lane]),
                }
            }
        }
        assert_eq!(buffer(&mut w, &op), Flow::Next, "{about}");
        let mut bytes = vec![0; 4 * WORDS as usize];
        w.memory.read(start, &mut bytes).expect("inside");
        let found: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        assert!(found == memory, "memory: {about}");
        assert!((0..30).all(|row| w.rows[row].0 == rows[row]), "rows: {about}");
    }
}
