//! SMEM: scalar loads, stores, atomics and clocks.
//!
//! Micro-op: `sdst` destination or data, `src[0]` the base's code, `src[1]` the scalar offset (or
//! [`NONE`]) and `dst` what it is multiplied by (0 is 1), `imm` the immediate offset, `imm2` the number of words, or an [`Encoded`] atomic.

use luthier_isa::op::Op as IsaOp;

use std::sync::OnceLock;
use std::time::Instant;

use luthier_isa::Generation;

use super::flat::Encoded;
use super::{Action, Transfer, atomic::Atomic, notice};
use crate::error::FaultKind;
use crate::op::{Flow, Handler, Op};
use crate::report::FindingKind;
use crate::scalar::{self, NONE, next};
use crate::wave::Wave;

const LOAD: Action = Action::Load(Transfer::Words);
const STORE: Action = Action::Store(Transfer::Words);

fn offset(w: &Wave, op: &Op) -> u64 {
    let scalar = if op.src[1] == NONE { 0 } else { u64::from(crate::scalar::s32(w, op, 1)) };
    (scalar * u64::from(op.dst.max(1))).wrapping_add(op.imm)
}

/// Of words: of base and offsets each the two lowest bits do not count. (The CDNA4 manual, 8.2.1.1.)
fn word_address(w: &Wave, op: &Op) -> u64 {
    let scalar = if op.src[1] == NONE { 0 } else { u64::from(crate::scalar::s32(w, op, 1)) };
    let scaled = scalar * u64::from(op.dst.max(1));
    (base(w, op) & !3).wrapping_add(scaled & !3).wrapping_add(op.imm & !3)
}

fn base(w: &Wave, op: &Op) -> u64 {
    w.s64((op.src[0] & 255) as u8)
}

/// Words, how many the instruction's name says, or (0) the micro-op.
fn load<const WORDS: usize>(w: &mut Wave, op: &Op) -> Flow {
    let address = word_address(w, op);
    let words = if WORDS == 0 { op.imm2 } else { WORDS as u64 };
    notice::scalar(w, LOAD, address, 4 * words);
    let mut values = [0u32; 16];
    match w.memory.resolve(&mut w.recent, address, 4 * words, false) {
        Ok(p) => {
            p.load_words(&mut values[..words as usize & 31]);
            notice::scalars(w, op.sdst, address, words);
        }
        Err(_) => {
            let message = format!("a scalar load of {} bytes from {address:#x}, not all in an allocation", 4 * words);
            if w.bad_access(FindingKind::OutOfBounds, None, address, message) == Flow::Fault {
                return Flow::Fault;
            }
        }
    }
    match w.s[usize::from(op.sdst)..].get_mut(..words as usize) {
        Some(to) => to.copy_from_slice(&values[..words as usize & 31]),
        None => (0..words as usize).for_each(|k| w.s[(usize::from(op.sdst) + k) & 255] = values[k & 15]),
    }
    Flow::Next
}

/// What one of whole words does: an address is the sum of the base, of an offset register times `scale`, and of `imm`, the
/// two lowest bits of each left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordLoad {
    pub base: u8,
    pub offset: Option<u8>,
    pub scale: u16,
    pub imm: i64,
    pub words: u8,
    pub dst: u8,
}

impl WordLoad {
    /// That of a micro-op whose handler is [`load`].
    pub fn of(op: &Op) -> Option<WordLoad> {
        let words = match op.kind.operation()? {
            IsaOp::SLoadDword => 1,
            IsaOp::SLoadDwordx2 => 2,
            IsaOp::SLoadB96 => 3,
            IsaOp::SLoadDwordx4 => 4,
            IsaOp::SLoadDwordx8 => 8,
            IsaOp::SLoadDwordx16 => 16,
            _ => return None,
        };
        let offset = match op.src[1] {
            NONE => None,
            code => Some(u8::try_from(code).ok()?),
        };
        let (base, scale) = (u8::try_from(op.src[0]).ok()?, op.dst.max(1));
        Some(WordLoad { base, offset, scale, imm: op.imm as i64 & !3, words, dst: op.sdst })
    }
}

/// A byte or two, zero- or sign-extended, at an address.
fn load_part(w: &mut Wave, op: &Op, address: u64, bytes: u64, signed: bool) -> Flow {
    let address = address & !(bytes - 1);
    notice::scalar(w, LOAD, address, bytes);
    let raw = match w.memory.resolve(&mut w.recent, address, bytes, false) {
        Ok(p) if bytes == 1 => u32::from(p.load8()),
        Ok(p) => u32::from(p.load16()),
        Err(_) => {
            let message = format!("a scalar load of {bytes} bytes from {address:#x}, not all in an allocation");
            if w.bad_access(FindingKind::OutOfBounds, None, address, message) == Flow::Fault {
                return Flow::Fault;
            }
            0
        }
    };
    notice::scalar_part(w, op.sdst, address, bytes, signed);
    w.s[usize::from(op.sdst)] = match (bytes, signed) {
        (1, true) => raw as i8 as u32,
        (_, true) => raw as i16 as u32,
        _ => raw,
    };
    Flow::Next
}

fn part(w: &mut Wave, op: &Op, bytes: u64, signed: bool) -> Flow {
    let address = base(w, op).wrapping_add(offset(w, op));
    load_part(w, op, address, bytes, signed)
}

/// Outside of the buffer is zero.
fn buffer_part(w: &mut Wave, op: &Op, bytes: u64, signed: bool) -> Flow {
    if let Some(flow) = strange(w, op) {
        return flow;
    }
    let (base, size) = buffer(w, op);
    let at = offset(w, op) & !(bytes - 1);
    if at + bytes > size {
        w.s[usize::from(op.sdst)] = 0;
        return Flow::Next;
    }
    load_part(w, op, base + at, bytes, signed)
}

macro_rules! part_of {
    ($read:ident, $bytes:literal, $signed:literal) => {{
        fn run(w: &mut Wave, op: &Op) -> Flow {
            $read(w, op, $bytes, $signed)
        }
        Some(run as Handler)
    }};
}

fn store(w: &mut Wave, op: &Op) -> Flow {
    let address = word_address(w, op);
    let words = op.imm2;
    notice::scalar(w, STORE, address, 4 * words);
    match w.memory.resolve(&mut w.recent, address, 4 * words, true) {
        Ok(p) => {
            let values: [u32; 16] = std::array::from_fn(|k| w.s[(usize::from(op.sdst) + k) & 255]);
            notice::scalar_store(w, STORE, address, 4 * words);
            p.store_words(&values[..words as usize & 31]);
            scalar::fence();
            Flow::Next
        }
        Err(_) => {
            let message = format!("a scalar store of {} bytes to {address:#x}, not all writable", 4 * words);
            w.bad_access(FindingKind::OutOfBounds, None, address, message)
        }
    }
}

/// A buffer of gfx1250: 57 bits of base, 45 of its size in bytes. `None` where the descriptor says more than that, of
/// whose meaning no manual gives.
pub fn wide_buffer(w: &Wave, code: u8) -> Option<(u64, u64)> {
    let (low, high) = (w.s64(code), w.s64(code.wrapping_add(2)));
    (high >> 38 == 0).then_some((low & ((1 << 57) - 1), low >> 57 | high << 7))
}

/// Whether it is no [`wide_buffer`] on gfx1250.
fn strange(w: &mut Wave, op: &Op) -> Option<Flow> {
    if w.generation != Generation::Gfx1250 || wide_buffer(w, op.src[0] as u8).is_some() {
        return None;
    }
    Some(w.fault(FaultKind::Unsupported, "a buffer of gfx1250 with a stride or flags is not modelled".into()))
}

/// A scalar buffer: base, and bytes from the stride and the number of records.
fn buffer(w: &Wave, op: &Op) -> (u64, u64) {
    if w.generation == Generation::Gfx1250
        && let Some(buffer) = wide_buffer(w, op.src[0] as u8)
    {
        return buffer;
    }
    let word = |i: usize| u64::from(w.s[(usize::from(op.src[0]) + i) & 255]);
    let stride = word(1) >> 16 & 0x3fff;
    (word(0) | (word(1) & 0xffff) << 32, if stride == 0 { word(2) } else { word(2) * stride })
}

/// Whether bytes at an offset, which may be a negative one, are in the buffer.
fn fits(at: u64, bytes: u64, size: u64) -> bool {
    at.checked_add(bytes).is_some_and(|end| end <= size)
}

fn buffer_load(w: &mut Wave, op: &Op) -> Flow {
    if let Some(flow) = strange(w, op) {
        return flow;
    }
    let (base, size) = buffer(w, op);
    let first = offset(w, op) & !3;
    notice::scalar(w, LOAD, base.wrapping_add(first), 4 * op.imm2);
    // What is inside as a whole is loaded as a whole.
    let words = op.imm2;
    if fits(first, 4 * words, size)
        && let Ok(p) = w.memory.resolve(&mut w.recent, base + first, 4 * words, false)
    {
        let mut values = [0; 16];
        p.load_words(&mut values[..words as usize & 31]);
        (0..words as usize & 31).for_each(|k| w.s[(usize::from(op.sdst) + k) & 255] = values[k]);
        notice::scalars(w, op.sdst, base + first, words);
        return Flow::Next;
    }
    for k in 0..words {
        let at = first.wrapping_add(4 * k);
        let mut value = 0;
        if fits(at, 4, size) {
            match w.memory.resolve(&mut w.recent, base + at, 4, false) {
                Ok(p) => {
                    value = p.load32();
                    notice::scalars(w, op.sdst.wrapping_add(k as u8), base + at, 1);
                }
                Err(_) => {
                    let message = format!("a scalar buffer load from {:#x}, which is in no allocation", base + at);
                    if w.bad_access(FindingKind::OutOfBounds, None, base + at, message) == Flow::Fault {
                        return Flow::Fault;
                    }
                }
            }
        }
        w.s[(usize::from(op.sdst) + k as usize) & 255] = value;
    }
    Flow::Next
}

fn buffer_store(w: &mut Wave, op: &Op) -> Flow {
    let (base, size) = buffer(w, op);
    let first = offset(w, op) & !3;
    notice::scalar(w, STORE, base.wrapping_add(first), 4 * op.imm2);
    let words = op.imm2;
    if fits(first, 4 * words, size)
        && let Ok(p) = w.memory.resolve(&mut w.recent, base + first, 4 * words, true)
    {
        let values: [u32; 16] = std::array::from_fn(|k| w.s[(usize::from(op.sdst) + k) & 255]);
        notice::scalar_store(w, STORE, base + first, 4 * words);
        p.store_words(&values[..words as usize & 31]);
        scalar::fence();
        return Flow::Next;
    }
    for k in 0..words {
        let at = first.wrapping_add(4 * k);
        if !fits(at, 4, size) {
            continue;
        }
        match w.memory.resolve(&mut w.recent, base + at, 4, true) {
            Ok(p) => {
                notice::scalar_store(w, STORE, base + at, 4);
                p.store32(w.s[(usize::from(op.sdst) + k as usize) & 255]);
            }
            Err(_) => {
                let message = format!("a scalar buffer store to {:#x}, which is not writable", base + at);
                if w.bad_access(FindingKind::OutOfBounds, None, base + at, message) == Flow::Fault {
                    return Flow::Fault;
                }
            }
        }
    }
    scalar::fence();
    Flow::Next
}

/// An atomic by the whole wave, once. What to store is in the first scalars, what to compare with behind it.
fn atomic_at(w: &mut Wave, op: &Op, address: u64) -> Flow {
    let encoded = Encoded(op.imm2);
    let (Action::Atomic(atomic, returns), words) = (encoded.action(), encoded.words()) else { return Flow::Next };
    let bytes = 4 * u64::from(words);
    notice::scalar(w, encoded.action(), address, bytes);
    let place = w.memory.resolve(&mut w.recent, address, bytes, true);
    if returns && !place.as_ref().is_ok_and(|p| p.is_aligned(bytes as usize)) {
        (0..words).for_each(|k| w.s[usize::from(op.sdst.wrapping_add(k))] = 0);
    }
    let p = match place {
        Ok(p) if p.is_aligned(bytes as usize) => p,
        Ok(_) => {
            let message = format!("a scalar atomic on {address:#x}, which is not a multiple of {bytes}");
            return w.bad_access(FindingKind::Misaligned, None, address, message);
        }
        Err(_) => {
            let message = format!("a scalar atomic on {address:#x}, which is not writable");
            return w.bad_access(FindingKind::OutOfBounds, None, address, message);
        }
    };
    if (atomic, returns) == (Atomic::Swap, true) {
        notice::scalars(w, op.sdst, address, words.into());
    }
    notice::scalar_store(w, encoded.action(), address, bytes);
    let second = op.sdst.wrapping_add(words);
    if words == 1 {
        let old = atomic.run32(p, w.s[usize::from(op.sdst)], w.s[usize::from(second)]);
        if returns {
            w.s[usize::from(op.sdst)] = old;
        }
    } else {
        let old = atomic.run64(p, w.s64(op.sdst), w.s64(second));
        if returns {
            w.set_s64(op.sdst, old);
        }
    }
    Flow::Next
}

fn atomic(w: &mut Wave, op: &Op) -> Flow {
    // The lowest bits of an address do not count, whatever it is used for.
    let address = base(w, op).wrapping_add(offset(w, op)) & !3;
    atomic_at(w, op, address)
}

fn buffer_atomic(w: &mut Wave, op: &Op) -> Flow {
    let (base, size) = buffer(w, op);
    let at = offset(w, op) & !3;
    let encoded = Encoded(op.imm2);
    if fits(at, 4 * u64::from(encoded.words()), size) {
        return atomic_at(w, op, base + at);
    }
    // Outside of the buffer nothing happens, and zero is returned.
    if let Action::Atomic(_, true) = encoded.action() {
        (0..encoded.words()).for_each(|k| w.s[usize::from(op.sdst.wrapping_add(k))] = 0);
    }
    Flow::Next
}

/// Nanoseconds since the first use of the clock.
pub fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// The handler of a scalar memory instruction.
pub fn lookup(op: IsaOp) -> Option<Handler> {
    let name = op.name();
    match op {
        // A core clock of 1 GHz, and the 100 MHz of the real-time counter.
        IsaOp::SMemtime => next!(|w, op| w.set_s64(op.sdst, nanoseconds())),
        IsaOp::SMemrealtime => next!(|w, op| w.set_s64(op.sdst, nanoseconds() / 10)),
        IsaOp::SGetWaveidInWorkgroup => next!(|w, op| w.s[usize::from(op.sdst)] = w.place.wave_in_group),
        _ if name.starts_with("s_atomic_") => Some(atomic),
        _ if name.starts_with("s_buffer_atomic_") => Some(buffer_atomic),
        IsaOp::SLoadU8 => part_of!(part, 1, false),
        IsaOp::SLoadI8 => part_of!(part, 1, true),
        IsaOp::SLoadU16 => part_of!(part, 2, false),
        IsaOp::SLoadI16 => part_of!(part, 2, true),
        IsaOp::SBufferLoadU8 => part_of!(buffer_part, 1, false),
        IsaOp::SBufferLoadI8 => part_of!(buffer_part, 1, true),
        IsaOp::SBufferLoadU16 => part_of!(buffer_part, 2, false),
        IsaOp::SBufferLoadI16 => part_of!(buffer_part, 2, true),
        // The manual's name for an offset register in units of 64 bytes; the base is a pair of SGPRs as elsewhere.
        IsaOp::SLoadDword => Some(load::<1>),
        IsaOp::SLoadDwordx2 => Some(load::<2>),
        IsaOp::SLoadDwordx4 => Some(load::<4>),
        IsaOp::SLoadDwordx8 => Some(load::<8>),
        IsaOp::SLoadDwordx16 => Some(load::<16>),
        _ if name.starts_with("s_scratch_load_dword") => Some(load::<0>),
        _ if name.starts_with("s_scratch_store_dword") => Some(store),
        _ if name.starts_with("s_load_dword") || name.starts_with("s_load_b") => Some(load::<0>),
        _ if name.starts_with("s_store_dword") => Some(store),
        _ if name.starts_with("s_buffer_load_dword") || name.starts_with("s_buffer_load_b") => Some(buffer_load),
        _ if name.starts_with("s_buffer_store_dword") => Some(buffer_store),
        _ => None,
    }
}
