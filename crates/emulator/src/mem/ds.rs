//! DS: LDS reads, writes and atomics.
//!
//! Micro-op: `src[0]` address row, `src[1]` and `src[2]` data rows, `dst` destination row, `imm` the byte offset (of
//! the first of two accesses; the second's in bits 32 and up), `imm2` an [`Encoded`] action.
//!
//! Beyond the workgroup's LDS reads give zeros and writes are dropped, lane by lane, which programs use for lanes that
//! have nothing to do (AMD's ISA manuals, "Out-of-Range Behavior" and "LDS Allocation and Clamping"). A lane of several
//! words is looked at word by word, as LDS is made of words; what a word does that straddles the end the manuals leave
//! undefined, and here it is outside. An atomic of two words is outside if one of them is.

use std::rc::Rc;

use luthier_isa::Generation;

use super::access::Rows;
use super::flat::Encoded;
use super::gfx1250::somewhere;
use super::{Action, Transfer, atomic::Atomic, notice};
use crate::fp;
use crate::lds::Short;
use crate::masks::lanes;
use crate::mode::Mode;
use crate::op::{Flow, Op, OpFlags};
use crate::registers::{Row, scalar};
use crate::report::FindingKind;
use crate::wave::Wave;

/// What a DS mnemonic means: its handler, its action and the distance unit of a two-address form (0: one address).
pub struct DsOp {
    pub action: Action,
    pub words: u8,
    pub pair_unit: u32,
}

/// From an isa `base` mnemonic; cross-lane operations are in [`super::ds_lanes`].
pub fn parse(base: &str) -> Option<DsOp> {
    let name = base.strip_prefix("ds_")?;
    let words = |ty: &str| match ty {
        "b32" | "u32" | "i32" | "f32" => Some(1),
        "b64" | "u64" | "i64" | "f64" => Some(2),
        "b96" => Some(3),
        "b128" => Some(4),
        _ => None,
    };
    let one = |action, words| Some(DsOp { action, words, pair_unit: 0 });
    let two = |action, ty: &str, st64: bool| {
        let words: u8 = words(ty)?;
        Some(DsOp { action, words, pair_unit: u32::from(words) * if st64 { 256 } else { 4 } })
    };
    const LOAD: Action = Action::Load(Transfer::Words);
    const STORE: Action = Action::Store(Transfer::Words);
    const SWAP: Action = Action::Atomic(Atomic::Swap, true);
    // The name up to RDNA2 and the one since.
    let after = |old: &str, new: &str| name.strip_prefix(old).or_else(|| name.strip_prefix(new));
    if let Some(ty) = after("read2st64_", "load_2addr_stride64_") {
        return two(LOAD, ty, true);
    }
    if let Some(ty) = after("read2_", "load_2addr_") {
        return two(LOAD, ty, false);
    }
    if let Some(ty) = after("write2st64_", "store_2addr_stride64_") {
        return two(STORE, ty, true);
    }
    if let Some(ty) = after("write2_", "store_2addr_") {
        return two(STORE, ty, false);
    }
    if let Some(ty) = after("wrxchg2st64_rtn_", "storexchg_2addr_stride64_rtn_") {
        return two(SWAP, ty, true);
    }
    if let Some(ty) = after("wrxchg2_rtn_", "storexchg_2addr_rtn_") {
        return two(SWAP, ty, false);
    }
    if let Some(ty) = after("read_", "load_") {
        let transfer = match ty {
            "u8" => Transfer::U8,
            "i8" => Transfer::I8,
            "u16" => Transfer::U16,
            "i16" => Transfer::I16,
            "u8_d16" => Transfer::U8Lo,
            "u8_d16_hi" => Transfer::U8Hi,
            "i8_d16" => Transfer::I8Lo,
            "i8_d16_hi" => Transfer::I8Hi,
            "u16_d16" => Transfer::B16Lo,
            "u16_d16_hi" => Transfer::B16Hi,
            ty => return one(LOAD, words(ty)?),
        };
        return one(Action::Load(transfer), 1);
    }
    if let Some(ty) = after("write_", "store_") {
        let transfer = match ty {
            "b8" => Transfer::U8,
            "b16" => Transfer::U16,
            "b8_d16_hi" => Transfer::U8Hi,
            "b16_d16_hi" => Transfer::B16Hi,
            ty => return one(STORE, words(ty)?),
        };
        return one(Action::Store(transfer), 1);
    }
    let packed = match name {
        "pk_add_f16" => Some((Atomic::PkAddF16, false)),
        "pk_add_rtn_f16" => Some((Atomic::PkAddF16, true)),
        "pk_add_bf16" => Some((Atomic::PkAddBf16, false)),
        "pk_add_rtn_bf16" => Some((Atomic::PkAddBf16, true)),
        _ => None,
    };
    if let Some((atomic, ret)) = packed {
        return one(Action::Atomic(atomic, ret), 1);
    }
    let (stem, ty) = name.rsplit_once('_')?;
    let (stem, ret) = match stem.strip_suffix("_rtn") {
        Some(stem) => (stem, true),
        None => (stem, false),
    };
    let atomic = match (stem, ty.as_bytes().first()?) {
        ("min", b'i') => Atomic::SMin,
        ("max", b'i') => Atomic::SMax,
        ("min", b'u') => Atomic::UMin,
        ("max", b'u') => Atomic::UMax,
        (stem, first) => Atomic::from_ds_name(stem, *first == b'f')?,
    };
    one(Action::Atomic(atomic, ret), words(ty)?)
}

/// One access a lane.
pub fn single(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let mut offsets = w.row(op.src[0]).0;
    offsets.iter_mut().for_each(|o| *o = o.wrapping_add(op.imm as u32));
    let exec = w.exec();
    if let Action::Atomic(atomic, ret) = encoded.action() {
        let beyond = atomics(w, op, atomic, ret, encoded.words(), &offsets, exec);
        outside(w, beyond, &offsets);
        return Flow::Next;
    }
    let rows = Rows { dst: op.dst, data: op.src[1], words: encoded.words() };
    let stores = matches!(encoded.action(), Action::Store(_));
    let mask = if stores && w.generation == Generation::Gfx1250 { somewhere(&offsets, exec) } else { exec };
    access(w, encoded.action(), rows, &offsets, mask)
}

/// Two accesses a lane, at two offsets from one address.
pub fn double(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let (action, words) = (encoded.action(), encoded.words());
    let base = w.row(op.src[0]).0;
    let exec = w.exec();
    let at = |offset: u64| base.map(|o| o.wrapping_add(offset as u32));
    // The second destination is behind the first; an address row that is overwritten was copied.
    for (k, offset) in [op.imm & 0xffff_ffff, op.imm >> 32].into_iter().enumerate() {
        let (dst, data) = (op.dst + k as u16 * u16::from(words), op.src[1 + k]);
        let offsets = at(offset);
        let stores = matches!(action, Action::Store(_));
        let exec = if stores && w.generation == Generation::Gfx1250 { somewhere(&offsets, exec) } else { exec };
        let beyond = if let Action::Atomic(atomic, ret) = action {
            let op = Op { dst, src: [op.src[0], data, data], ..*op };
            atomics(w, &op, atomic, ret, words, &offsets, exec)
        } else {
            reach(w, action, Rows { dst, data, words }, &offsets, exec)
        };
        outside(w, beyond, &offsets);
    }
    Flow::Next
}

/// The lanes of a mask have accessed LDS beyond the workgroup's: strict mode tells.
pub(super) fn outside(w: &mut Wave, mask: u64, offsets: &[u32; 64]) {
    let len = w.lds.len();
    let (Some(strict), false) = (&mut w.strict, mask == 0) else { return };
    let first = mask.trailing_zeros();
    let address = offsets[first as usize];
    let message = format!("an access to LDS at {address:#x}; the workgroup has {len:#x} bytes");
    strict.report(FindingKind::LdsBounds, Some(first), Some(address.into()), message);
    let others = lanes(mask & (mask - 1)).map(|lane| (lane as u32, Some(offsets[lane].into())));
    strict.report_more(FindingKind::LdsBounds, others);
}

/// Loads and stores on LDS at one offset a lane.
pub fn access(w: &mut Wave, action: Action, rows: Rows, offsets: &[u32; 64], mask: u64) -> Flow {
    let beyond = reach(w, action, rows, offsets, mask);
    outside(w, beyond, offsets);
    Flow::Next
}

/// The same, and the atomics of FLAT. Gives the lanes that have accessed LDS beyond the workgroup's.
pub fn reach(w: &mut Wave, action: Action, rows: Rows, offsets: &[u32; 64], mask: u64) -> u64 {
    let lds = Rc::clone(&w.lds);
    let (dst, data) = (usize::from(rows.dst), usize::from(rows.data));
    let words = usize::from(rows.words);
    if !matches!(action, Action::Atomic(..)) {
        notice::lds(w, action, rows, offsets, mask);
    }
    let mut bad = 0u64;
    // What kernels do nearly always: whole words, aligned, inside.
    if matches!(action, Action::Load(Transfer::Words) | Action::Store(Transfer::Words))
        && let Some(at) = lds.aligned(offsets, mask, words)
    {
        for k in 0..words {
            if matches!(action, Action::Load(_)) {
                lds.gather(&at, k, w.row_mut((dst + k) as u16), mask);
            } else {
                lds.scatter(&at, k, w.row((data + k) as u16), mask);
            }
        }
        return 0;
    }
    if let Action::Load(transfer) | Action::Store(transfer) = action
        && transfer != Transfer::Words
        && let Some(at) = lds.short(offsets, mask, transfer.bytes(1) as usize)
    {
        let is_load = matches!(action, Action::Load(_));
        match transfer.bytes(1) {
            1 => short::<1>(w, &at, transfer, rows, is_load, mask),
            _ => short::<2>(w, &at, transfer, rows, is_load, mask),
        }
        return 0;
    }
    match action {
        Action::Load(transfer) => {
            for lane in lanes(mask) {
                let at = offsets[lane];
                if transfer == Transfer::Words {
                    for k in 0..words {
                        // Words behind the last address are not the first ones.
                        let value = at.checked_add(4 * k as u32).and_then(|at| lds.load32(at));
                        w.rows[dst + k].0[lane] = value.unwrap_or(0);
                        bad |= u64::from(value.is_none()) << lane;
                    }
                } else {
                    let raw = match transfer.bytes(1) {
                        1 => lds.load::<1>(at).map(|b| b[0].into()),
                        _ => lds.load::<2>(at).map(|b| u16::from_le_bytes(b).into()),
                    };
                    bad |= u64::from(raw.is_none()) << lane;
                    let out = &mut w.rows[dst].0[lane];
                    *out = transfer.merge(*out & w.kept, raw.unwrap_or(0));
                }
            }
        }
        Action::Store(transfer) => {
            for lane in lanes(mask) {
                let at = offsets[lane];
                let mut done = Some(());
                if transfer == Transfer::Words {
                    for k in 0..words {
                        let value = w.rows[data + k].0[lane];
                        let stored = at.checked_add(4 * k as u32).and_then(|at| lds.store32(at, value));
                        done = done.and(stored);
                    }
                } else {
                    let value = transfer.extract(w.rows[data].0[lane]);
                    done = match transfer.bytes(1) {
                        1 => lds.store(at, [value as u8]),
                        _ => lds.store(at, (value as u16).to_le_bytes()),
                    };
                }
                bad |= u64::from(done.is_none()) << lane;
            }
        }
        Action::Atomic(atomic, ret) => {
            // FLAT operands: what to compare with is behind what to store.
            let second = rows.data + u16::from(rows.words);
            let op = Op { dst: rows.dst, src: [0, rows.data, second], flags: OpFlags::NEW_FIRST, ..Op::NOTHING };
            return atomics(w, &op, atomic, ret, rows.words, offsets, mask);
        }
    }
    bad
}

/// Moves the `BYTES` bytes of each lane of the mask.
fn short<const BYTES: usize>(w: &mut Wave, at: &Short, transfer: Transfer, rows: Rows, is_load: bool, mask: u64) {
    if is_load {
        let mut raw = Row::ZERO;
        w.lds.gather_short::<BYTES>(at, &mut raw, if mask >> 32 == 0 { 32 } else { 64 });
        transfer.merge_all(w.row(rows.dst), w.kept, &mut raw);
        w.write_masked(rows.dst, &raw, mask);
    } else {
        let mut values = *w.row(rows.data);
        transfer.extract_all(&mut values);
        w.lds.scatter_short::<BYTES>(at, &values, mask);
    }
}

/// What an atomic makes of a word in LDS. Additions there respect the denormal mode, though not the rounding mode.
pub(super) fn combine32(m: Mode, atomic: Atomic, old: u32, data: u32, second: u32) -> u32 {
    match atomic {
        Atomic::FAdd => fp::out32(m, atomic.apply32(fp::in32(m, old), fp::in32(m, data), second)),
        Atomic::PkAddF16 => {
            let both = |x, keep| fp::flush16(x & 0xffff, keep) | fp::flush16(x >> 16, keep) << 16;
            let read = |x| both(x, m.denorm_in16_64());
            both(atomic.apply32(read(old), read(data), second), m.denorm_out16_64())
        }
        Atomic::PkAddBf16 => {
            let both = |x, keep| fp::flush32(x << 16, keep) >> 16 | fp::flush32(x & 0xffff_0000, keep);
            let read = |x| both(x, m.denorm_in16_64());
            both(atomic.apply32(read(old), read(data), second), m.denorm_out16_64())
        }
        _ => atomic.apply32(old, data, second),
    }
}

/// As [`combine32`], for two words.
pub(super) fn combine64(m: Mode, atomic: Atomic, old: u64, data: u64, second: u64) -> u64 {
    if atomic == Atomic::FAdd {
        return fp::out64(m, atomic.apply64(fp::in64(m, old), fp::in64(m, data), second));
    }
    atomic.apply64(old, data, second)
}

/// Gives the lanes that have accessed LDS beyond the workgroup's.
fn atomics(w: &mut Wave, op: &Op, atomic: Atomic, ret: bool, words: u8, offsets: &[u32; 64], mask: u64) -> u64 {
    let lds = Rc::clone(&w.lds);
    // Compare-and-swap has what to compare with first, until RDNA3.
    let (data, second) = match atomic {
        Atomic::CmpSwap | Atomic::FCmpSwap if !op.flags.contains(OpFlags::NEW_FIRST) => (op.src[2], op.src[1]),
        _ => (op.src[1], op.src[2]),
    };
    let second = if atomic.two_operands() { second } else { data };
    notice::lds(w, Action::Atomic(atomic, ret), Rows { dst: op.dst, data, words }, offsets, mask);
    let mut bad = 0u64;
    for lane in lanes(mask) {
        let at = offsets[lane];
        let old = if words == 1 {
            lds.load32(at)
                .inspect(|&old| {
                    let (data, second) = (w.row(data).0[lane], w.row(second).0[lane]);
                    lds.store32(at, combine32(w.mode, atomic, old, data, second));
                })
                .map(u64::from)
        } else {
            lds.load(at).map(u64::from_le_bytes).inspect(|&old| {
                let pair = |r: u16| u64::from(w.row(r).0[lane]) | u64::from(w.row(r + 1).0[lane]) << 32;
                lds.store(at, combine64(w.mode, atomic, old, pair(data), pair(second)).to_le_bytes());
            })
        };
        bad |= u64::from(old.is_none()) << lane;
        let old = old.unwrap_or(0);
        if ret {
            w.row_mut(op.dst).0[lane] = old as u32;
            if words == 2 {
                w.row_mut(op.dst + 1).0[lane] = (old >> 32) as u32;
            }
        }
    }
    bad
}

/// `ds_append` and `ds_consume`: a counter goes up or down by the number of active lanes.
fn count(w: &mut Wave, op: &Op, sign: i32) -> Flow {
    let exec = w.exec();
    // The manual speaks of M0.base; LLVM, whose code we run, puts the LDS pointer itself into M0.
    let at = (w.s[usize::from(scalar::M0)] & 0xffff).wrapping_add(op.imm as u32);
    let by = exec.count_ones() as i32 * sign;
    let (one, rows) = (exec & exec.wrapping_neg(), Rows { dst: op.dst, data: op.dst, words: 1 });
    notice::lds(w, Action::Atomic(Atomic::Add, true), rows, &[at; 64], one);
    let old = w.lds.load32(at);
    match old {
        Some(old) => drop(w.lds.store32(at, old.wrapping_add_signed(by))),
        None => outside(w, one, &[at; 64]),
    }
    w.write(op.dst, &Row([old.unwrap_or(0); 64]));
    Flow::Next
}

pub fn append(w: &mut Wave, op: &Op) -> Flow {
    count(w, op, 1)
}

pub fn consume(w: &mut Wave, op: &Op) -> Flow {
    count(w, op, -1)
}

/// `ds_read_addtid_b32`, `ds_write_addtid_b32`: the address is M0 and the lane.
pub fn add_tid(w: &mut Wave, op: &Op) -> Flow {
    let base = (w.s[usize::from(scalar::M0)] & 0xffff).wrapping_add(op.imm as u32);
    let offsets = std::array::from_fn(|lane| base.wrapping_add(4 * lane as u32));
    let exec = w.exec();
    let encoded = Encoded(op.imm2);
    access(w, encoded.action(), Rows { dst: op.dst, data: op.src[1], words: 1 }, &offsets, exec)
}
