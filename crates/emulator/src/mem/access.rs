//! Transfers between lanes and device memory, once the addresses are known.

use std::ops::Range;

use super::{Action, Transfer, atomic::Atomic, notice};
use crate::masks::lanes;
use crate::memory::{BadAddress, HostPtr, Words};
use crate::op::Flow;
use crate::registers::Row;
use crate::report::FindingKind;
use crate::wave::Wave;

/// Where the lanes access memory.
#[derive(Clone)]
pub struct Addresses {
    pub lane: [u64; 64],
    /// Lanes that access memory.
    pub mask: u64,
    /// From one word of a lane to its next: 4, or more in swizzled (scratch) memory.
    pub stride: u64,
}

/// The bytes that the lanes of a mask access, the first and how many, if they are the wave's first lanes and each accesses
/// `size` bytes behind the one before it.
pub fn in_a_row(addresses: &[u64; 64], mask: u64, size: u64) -> Option<(u64, u64)> {
    let count = mask.trailing_ones();
    let active = &addresses[..count as usize];
    let (start, len) = (*active.first()?, size * u64::from(count));
    // No branch in the loop: it is done for several lanes at once.
    let (odd, _) = active.iter().fold((0, start), |(odd, next), at| (odd | at ^ next, next.wrapping_add(size)));
    (odd == 0 && mask.count_ones() == count && start.checked_add(len).is_some()).then_some((start, len))
}

/// A bad access of a lane.
#[derive(Clone, Copy)]
struct Bad {
    lane: u32,
    address: u64,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Address(BadAddress),
    Alignment(u64),
}

/// Words that a lane accesses at most.
const MOST: usize = 4;

/// The rows that an instruction transfers.
#[derive(Clone, Copy)]
pub struct Rows {
    /// Destination of loads and of atomics that return.
    pub dst: u16,
    /// Source of stores and atomics.
    pub data: u16,
    pub words: u8,
}

/// Performs the action on all lanes of `at.mask`.
pub fn perform(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> Flow {
    let _passage = notice::device(w, action, rows, at);
    now(w, action, rows, at)
}

/// The same of a whole instruction, whose registers nothing looks at before they are waited for: in weak memory a load or an
/// atomic may be put off until then.
pub fn issue(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> Flow {
    let (_passage, is_late) = notice::issue(w, action, rows, at);
    if is_late { Flow::Next } else { now(w, action, rows, at) }
}

fn now(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> Flow {
    w.has_stored |= !matches!(action, Action::Load(_));
    if at.stride == 4 && at.mask != 0 && (whole_words(w, action, rows, at) || parts_of_words(w, action, rows, at)) {
        return Flow::Next;
    }
    let bad = match action {
        Action::Load(transfer) => load(w, transfer, rows, at),
        Action::Store(transfer) => store(w, transfer, rows, at),
        Action::Atomic(atomic, ret) => atomic_op(w, atomic, ret, rows, at),
    };
    if bad.is_empty() { Flow::Next } else { complain(w, action, &bad) }
}

/// What kernels do nearly always: aligned words, all lanes in one allocation. False if it is not that.
fn whole_words(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> bool {
    let (load, write) = match action {
        Action::Load(Transfer::Words) => (true, false),
        Action::Store(Transfer::Words) => (false, true),
        _ => return false,
    };
    let size = 4 * u64::from(rows.words);
    let mut words = Words::NONE;
    if !w.memory.resolve_all(&mut w.recent, &at.lane, at.mask, size, write, &mut words) {
        return false;
    }
    match rows.words {
        1 => all_words::<1>(w, &words, rows, load, at.mask),
        2 => all_words::<2>(w, &words, rows, load, at.mask),
        3 => all_words::<3>(w, &words, rows, load, at.mask),
        4 => all_words::<4>(w, &words, rows, load, at.mask),
        _ => return false,
    }
    true
}

/// Moves the `N` words of each lane of the mask. What one lane has goes together, so that it is never seen in parts.
fn all_words<const N: usize>(w: &mut Wave, words: &Words, rows: Rows, load: bool, mask: u64) {
    let first = usize::from(if load { rows.dst } else { rows.data });
    let Some(file) = w.rows[first..].first_chunk_mut::<N>() else { return };
    let all = if mask >> 32 == 0 { 32 } else { 64 };
    if !load {
        words.scatter(file, mask);
    } else if mask.trailing_ones() as usize == all {
        words.gather(file, all);
    } else {
        let mut out = [Row::ZERO; N];
        words.gather(&mut out, all);
        for (k, row) in out.iter().enumerate() {
            w.write_masked(rows.dst + k as u16, row, mask);
        }
    }
}

/// The same of aligned bytes and halves of words.
fn parts_of_words(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> bool {
    let (transfer, write) = match action {
        Action::Load(transfer) => (transfer, false),
        Action::Store(transfer) => (transfer, true),
        Action::Atomic(..) => return false,
    };
    if transfer == Transfer::Words {
        return false;
    }
    let bytes = transfer.bytes(1);
    let mut places = Words::NONE;
    if !w.memory.resolve_all(&mut w.recent, &at.lane, at.mask, bytes, write, &mut places) {
        return false;
    }
    if write {
        let mut values = *w.row(rows.data);
        transfer.extract_all(&mut values);
        if bytes == 1 {
            places.scatter_short::<1>(&values, at.mask);
        } else {
            places.scatter_short::<2>(&values, at.mask);
        }
        return true;
    }
    let (mut loaded, all) = (Row::ZERO, if at.mask >> 32 == 0 { 32 } else { 64 });
    if bytes == 1 {
        places.gather_short::<1>(&mut loaded, all);
    } else {
        places.gather_short::<2>(&mut loaded, all);
    }
    transfer.merge_all(w.row(rows.dst), w.kept, &mut loaded);
    w.write_masked(rows.dst, &loaded, at.mask);
    true
}

/// Moves bytes of a lane, some of `data`, which may lie apart (`place` says where each is), neighbouring ones at once.
/// `Err`: the first one that is not there; those before it have been moved.
pub fn move_bytes(
    w: &mut Wave,
    data: &mut [u8; 16],
    bytes: Range<u32>,
    store: bool,
    place: impl Fn(u32) -> u64,
) -> Result<(), u32> {
    let memory = std::sync::Arc::clone(&w.memory);
    w.has_stored |= store;
    let mut from = bytes.start;
    while from < bytes.end {
        let first = place(from);
        let is_next = |&to: &u32| place(to) == first.wrapping_add(u64::from(to - from));
        let to = (from + 1..bytes.end).take_while(is_next).last().map_or(from, |last| last) + 1;
        let some = |count: u32| from as usize..(from + count) as usize;
        // Of several, some may not be there: then one after the other.
        let (count, found) = match memory.resolve(&mut w.recent, first, (to - from).into(), store) {
            Ok(p) => (to - from, p),
            Err(_) => (1, memory.resolve(&mut w.recent, first, 1, store).map_err(|_| from)?),
        };
        if store {
            found.write(&data[some(count)])
        } else {
            found.read(&mut data[some(count)])
        }
        from += count;
    }
    Ok(())
}

#[cold]
fn complain(w: &mut Wave, action: Action, all: &[Bad]) -> Flow {
    let Some(bad) = all.first() else { return Flow::Next };
    let verb = match action {
        Action::Load(_) => "a load from",
        Action::Store(_) => "a store to",
        Action::Atomic(..) => "an atomic on",
    };
    let (kind, message) = match bad.what {
        What::Address(BadAddress::Unmapped) => {
            (FindingKind::OutOfBounds, format!("{verb} {:#x}, which is in no allocation", bad.address))
        }
        What::Address(BadAddress::ReadOnly) => {
            (FindingKind::OutOfBounds, format!("{verb} {:#x}, which is read-only", bad.address))
        }
        What::Alignment(to) => {
            (FindingKind::Misaligned, format!("{verb} {:#x}, which is not a multiple of {to}", bad.address))
        }
    };
    if w.bad_access(kind, Some(bad.lane), bad.address, message) != Flow::Next {
        return Flow::Fault;
    }
    let same = |other: &&Bad| matches!(other.what, What::Alignment(_)) == matches!(bad.what, What::Alignment(_));
    let others = all[1..].iter().filter(same).map(|other| (other.lane, Some(other.address)));
    if let Some(strict) = &mut w.strict {
        strict.report_more(kind, others);
    }
    Flow::Next
}

fn load(w: &mut Wave, transfer: Transfer, rows: Rows, at: &Addresses) -> Vec<Bad> {
    let mut bad = Vec::new();
    let Wave { rows: file, memory, recent, kept, .. } = w;
    let mut note = |lane: usize, address, what| {
        bad.push(Bad { lane: lane as u32, address, what: What::Address(what) });
    };
    let dst = usize::from(rows.dst);
    if transfer != Transfer::Words {
        let out = &mut file[dst].0;
        let bytes = transfer.bytes(1);
        for lane in lanes(at.mask) {
            let address = at.lane[lane];
            let raw = match memory.resolve(recent, address, bytes, false) {
                Ok(p) if bytes == 1 => p.load8().into(),
                Ok(p) => p.load16().into(),
                Err(what) => {
                    note(lane, address, what);
                    0
                }
            };
            out[lane] = transfer.merge(out[lane] & *kept, raw);
        }
        return bad;
    }
    let words = usize::from(rows.words);
    if at.stride == 4 {
        for lane in lanes(at.mask) {
            let address = at.lane[lane];
            match memory.resolve(recent, address, 4 * words as u64, false) {
                Ok(p) => {
                    let mut loaded = [0; MOST];
                    p.load_words(&mut loaded[..words]);
                    (0..words).for_each(|k| file[dst + k].0[lane] = loaded[k]);
                }
                Err(what) => {
                    note(lane, address, what);
                    (0..words).for_each(|k| file[dst + k].0[lane] = 0);
                }
            }
        }
        return bad;
    }
    for k in 0..words {
        for lane in lanes(at.mask) {
            let address = at.lane[lane].wrapping_add(at.stride * k as u64);
            file[dst + k].0[lane] = match memory.resolve(recent, address, 4, false) {
                Ok(p) => p.load32(),
                Err(what) => {
                    note(lane, address, what);
                    0
                }
            };
        }
    }
    bad
}

fn store(w: &mut Wave, transfer: Transfer, rows: Rows, at: &Addresses) -> Vec<Bad> {
    let mut bad = Vec::new();
    let Wave { rows: file, memory, recent, .. } = w;
    let mut note = |lane: usize, address, what| {
        bad.push(Bad { lane: lane as u32, address, what: What::Address(what) });
    };
    let data = usize::from(rows.data);
    if transfer != Transfer::Words {
        let bytes = transfer.bytes(1);
        for lane in lanes(at.mask) {
            let address = at.lane[lane];
            let value = transfer.extract(file[data].0[lane]);
            match memory.resolve(recent, address, bytes, true) {
                Ok(p) if bytes == 1 => p.store8(value as u8),
                Ok(p) => p.store16(value as u16),
                Err(what) => note(lane, address, what),
            }
        }
        return bad;
    }
    let words = usize::from(rows.words);
    if at.stride == 4 {
        for lane in lanes(at.mask) {
            let address = at.lane[lane];
            match memory.resolve(recent, address, 4 * words as u64, true) {
                Ok(p) => {
                    let stored: [u32; MOST] = std::array::from_fn(|k| file[data + k.min(words - 1)].0[lane]);
                    p.store_words(&stored[..words]);
                }
                Err(what) => note(lane, address, what),
            }
        }
        return bad;
    }
    for k in 0..words {
        for lane in lanes(at.mask) {
            let address = at.lane[lane].wrapping_add(at.stride * k as u64);
            match memory.resolve(recent, address, 4, true) {
                Ok(p) => p.store32(file[data + k].0[lane]),
                Err(what) => note(lane, address, what),
            }
        }
    }
    bad
}

fn atomic_op(w: &mut Wave, atomic: Atomic, ret: bool, rows: Rows, at: &Addresses) -> Vec<Bad> {
    let mut bad = Vec::new();
    let Wave { rows: file, memory, recent, .. } = w;
    let (dst, data) = (usize::from(rows.dst), usize::from(rows.data));
    let bytes = 4 * u64::from(rows.words);
    for lane in lanes(at.mask) {
        let address = at.lane[lane];
        let place = if !address.is_multiple_of(bytes) {
            Err(What::Alignment(bytes))
        } else {
            memory.resolve(recent, address, bytes, true).map_err(What::Address)
        };
        let p: HostPtr = match place {
            // The host may have them elsewhere within sixteen bytes.
            Ok(p) if !p.is_aligned(bytes as usize) => {
                bad.push(Bad { lane: lane as u32, address, what: What::Alignment(bytes) });
                continue;
            }
            Ok(p) => p,
            Err(what) => {
                bad.push(Bad { lane: lane as u32, address, what });
                continue;
            }
        };
        // The first operand is what to store, the second, right behind it, what to compare with.
        if rows.words == 1 {
            let compare = if atomic.two_operands() { file[data + 1].0[lane] } else { 0 };
            let old = atomic.run32(p, file[data].0[lane], compare);
            if ret {
                file[dst].0[lane] = old;
            }
        } else {
            let pair = |i: usize| u64::from(file[i].0[lane]) | u64::from(file[i + 1].0[lane]) << 32;
            let compare = if atomic.two_operands() { pair(data + 2) } else { 0 };
            let old = atomic.run64(p, pair(data), compare);
            if ret {
                file[dst].0[lane] = old as u32;
                file[dst + 1].0[lane] = (old >> 32) as u32;
            }
        }
    }
    refused(w, Action::Atomic(atomic, ret), rows, bad.iter().fold(0, |mask, bad| mask | 1 << bad.lane));
    bad
}

/// What an atomic returns where there is no memory for it is zero, as it is for a load.
pub(super) fn refused(w: &mut Wave, action: Action, rows: Rows, mask: u64) {
    if mask != 0 && matches!(action, Action::Atomic(_, true)) {
        (0..u16::from(rows.words)).for_each(|k| w.write_masked(rows.dst + k, &Row::ZERO, mask));
    }
}
