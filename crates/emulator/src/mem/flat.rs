//! FLAT, GLOBAL and SCRATCH instructions.
//!
//! Micro-op: `src[0]` address row, `src[1]` data row, `dst` destination row, `ssrc` the scalar base's code
//! ([`NO_BASE`]: none), `imm` the signed offset, `imm2` an [`Encoded`] action, `src[2]` what a row of 32-bit offsets is
//! multiplied by.

use luthier_isa::Generation;

use super::access::{self, Addresses, Rows};
use super::{Action, Transfer, atomic::Atomic, buffer, notice};
use crate::level::{Work, at_best};
use crate::masks::lanes;
use crate::memory::{PRIVATE_BASE, SCRATCH_APERTURE, SCRATCH_LANE, SHARED_BASE};
use crate::op::{Flow, Op};
use crate::report::FindingKind;
use crate::wave::Wave;

/// `ssrc` of an instruction without a scalar base.
pub const NO_BASE: u8 = 255;
/// `src[0]` of an instruction without an address row.
pub const NO_ROW: u16 = 0xffff;

/// An action and its words in an op's `imm2`.
#[derive(Clone, Copy)]
pub struct Encoded(pub u64);

const TRANSFERS: [Transfer; 11] = [
    Transfer::Words,
    Transfer::U8,
    Transfer::I8,
    Transfer::U16,
    Transfer::I16,
    Transfer::U8Lo,
    Transfer::I8Lo,
    Transfer::B16Lo,
    Transfer::U8Hi,
    Transfer::I8Hi,
    Transfer::B16Hi,
];

const ATOMICS: [Atomic; 28] = [
    Atomic::Swap,
    Atomic::CmpSwap,
    Atomic::Add,
    Atomic::Sub,
    Atomic::ReverseSub,
    Atomic::SMin,
    Atomic::UMin,
    Atomic::SMax,
    Atomic::UMax,
    Atomic::And,
    Atomic::Or,
    Atomic::Xor,
    Atomic::Inc,
    Atomic::Dec,
    Atomic::FAdd,
    Atomic::FAddFlushed,
    Atomic::FMin,
    Atomic::FMax,
    Atomic::FCmpSwap,
    Atomic::PkAddF16,
    Atomic::PkAddBf16,
    Atomic::MaskOr,
    Atomic::Wrap,
    Atomic::CondSwap,
    Atomic::SubClamp,
    Atomic::CondSub,
    Atomic::FMinNum,
    Atomic::FMaxNum,
];

impl Encoded {
    pub fn new(action: Action, words: u8) -> Encoded {
        let place = |t: Transfer| TRANSFERS.iter().position(|&x| x == t).unwrap_or(0) as u64;
        let (tag, what) = match action {
            Action::Load(t) => (0, place(t)),
            Action::Store(t) => (1, place(t)),
            Action::Atomic(a, ret) => (2 + u64::from(ret), ATOMICS.iter().position(|&x| x == a).unwrap_or(0) as u64),
        };
        Encoded(tag | what << 8 | u64::from(words) << 16)
    }
    #[inline(always)]
    pub fn action(self) -> Action {
        let what = (self.0 >> 8 & 255) as usize;
        match self.0 & 255 {
            0 => Action::Load(TRANSFERS[what]),
            1 => Action::Store(TRANSFERS[what]),
            tag => Action::Atomic(ATOMICS[what], tag == 3),
        }
    }
    #[inline(always)]
    pub fn is_load(self) -> bool {
        self.0 & 255 == 0
    }
    #[inline(always)]
    pub fn words(self) -> u8 {
        (self.0 >> 16) as u8
    }
    /// Bits 32 and up are the instruction's own.
    #[inline(always)]
    pub fn extra(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

fn rows_of(op: &Op, encoded: Encoded) -> Rows {
    Rows { dst: op.dst, data: op.src[1], words: encoded.words() }
}

/// GLOBAL: a 64-bit address row pair, or a scalar base and a 32-bit unsigned row offset.
pub fn global(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let mut at = Addresses { lane: [0; 64], mask: w.exec(), stride: 4 };
    global_addresses(w, op, &mut at.lane);
    if encoded.extra() & buffer::LDS != 0 {
        return buffer::to_lds(w, op, encoded.action(), at);
    }
    access::issue(w, encoded.action(), rows_of(op, encoded), &at)
}

/// Each lane's address of a GLOBAL access.
pub(super) fn global_addresses(w: &Wave, op: &Op, out: &mut [u64; 64]) {
    // Waves of 32 lanes have no others.
    if w.lanes() == 32 {
        at_best(GlobalAddresses::<32> { w, op, out });
    } else {
        at_best(GlobalAddresses::<64> { w, op, out });
    }
}

struct GlobalAddresses<'a, const N: usize> {
    w: &'a Wave,
    op: &'a Op,
    out: &'a mut [u64; 64],
}

impl<const N: usize> Work for GlobalAddresses<'_, N> {
    type Result = ();
    #[inline(always)]
    fn run(self) {
        let GlobalAddresses { w, op, out } = self;
        if op.ssrc != NO_BASE {
            let base = w.s64(op.ssrc).wrapping_add(op.imm);
            let row = &w.row(op.src[0]).0;
            if w.generation == Generation::Gfx1250 {
                // Here offsets have a sign (LLVM's GCNSubtarget::hasSignedGVSOffset).
                let scale = i64::from(op.src[2]);
                for i in 0..N {
                    out[i] = base.wrapping_add_signed(i64::from(row[i] as i32) * scale);
                }
                return;
            }
            for i in 0..N {
                out[i] = base.wrapping_add(u64::from(row[i]));
            }
        } else {
            let (lo, hi) = w.pair(op.src[0]);
            for i in 0..N {
                out[i] = (u64::from(lo.0[i]) | u64::from(hi.0[i]) << 32).wrapping_add(op.imm);
            }
        }
    }
}

/// FLAT: each lane's address says whether it is global memory, LDS or scratch.
pub fn flat(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let exec = w.exec();
    let mut at = Addresses { lane: [0; 64], mask: exec, stride: 4 };
    global_addresses(w, op, &mut at.lane);
    let (mut shared, mut private) = (0u64, 0u64);
    let global_scratch = w.generation == Generation::Gfx1250;
    for lane in lanes(exec) {
        let address = at.lane[lane];
        let is_private = match global_scratch {
            true => address >> 58 == SCRATCH_APERTURE >> 58,
            false => address >> 32 == PRIVATE_BASE >> 32,
        };
        shared |= u64::from(address >> 32 == SHARED_BASE >> 32) << lane;
        private |= u64::from(is_private) << lane;
    }
    if let Some(strict) = &mut w.strict {
        strict.flat_lanes(exec & !shared, shared, !w.generation.is_gfx9_family());
    }
    if shared | private == 0 {
        return access::issue(w, encoded.action(), rows_of(op, encoded), &at);
    }
    let rows = rows_of(op, encoded);
    at.mask = exec & !(shared | private);
    let mut flow = Flow::Next;
    if at.mask != 0 {
        flow = access::issue(w, encoded.action(), rows, &at);
    }
    if flow == Flow::Next && private != 0 {
        let base = if global_scratch { scratch_base(w) } else { 0 };
        let offsets = std::array::from_fn(|i| at.lane[i].wrapping_sub(base) as u32);
        let owner = |i: usize| if global_scratch { (at.lane[i] >> SCRATCH_LANE & 31) as usize } else { i };
        flow = private_access(w, encoded.action(), rows, &offsets, private, owner);
    }
    if flow == Flow::Next && shared != 0 {
        let offsets = std::array::from_fn(|i| at.lane[i] as u32);
        let beyond = super::ds::reach(w, encoded.action(), rows, &offsets, shared);
        flow = beyond_lds(w, beyond, &at.lane);
    }
    flow
}

/// Lanes' addresses are in the aperture of LDS, but beyond the workgroup's. For FLAT the hardware checks that and reports a
/// memory violation (AMD's RDNA3 manual, "Flat Addressing"; HSA's description of that exception), as for any address
/// that leads nowhere.
fn beyond_lds(w: &mut Wave, beyond: u64, addresses: &[u64; 64]) -> Flow {
    if beyond == 0 {
        return Flow::Next;
    }
    let lane = beyond.trailing_zeros();
    let (address, len) = (addresses[lane as usize], w.lds.len());
    let message = format!("an access to LDS at {:#x}; the workgroup has {len:#x} bytes", address as u32);
    let flow = w.bad_access(FindingKind::OutOfBounds, Some(lane), address, message);
    if let Some(strict) = &mut w.strict {
        let others = lanes(beyond & (beyond - 1)).map(|lane| (lane as u32, Some(addresses[lane])));
        strict.report_more(FindingKind::OutOfBounds, others);
    }
    flow
}

/// SCRATCH: an offset into the lane's private memory, from a row, a scalar or neither.
pub fn scratch(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let offsets = scratch_offsets(w, op);
    let exec = w.exec();
    if encoded.extra() & buffer::LDS != 0 {
        let (base, width) = (scratch_base(w), w.lanes());
        let lane = std::array::from_fn(|i| private_place(base, width, offsets[i], i));
        return buffer::to_lds(w, op, encoded.action(), Addresses { lane, mask: exec, stride: 4 * u64::from(width) });
    }
    private_access(w, encoded.action(), rows_of(op, encoded), &offsets, exec, |lane| lane)
}

pub(super) fn scratch_offsets(w: &Wave, op: &Op) -> [u32; 64] {
    let base = (op.imm as u32).wrapping_add(if op.ssrc == NO_BASE { 0 } else { w.s[usize::from(op.ssrc)] });
    if op.src[0] == NO_ROW {
        return [base; 64];
    }
    let scale = u32::from(op.src[2]);
    w.row(op.src[0]).0.map(|offset| base.wrapping_add(offset.wrapping_mul(scale)))
}

/// Private memory is interleaved: word `k` of lane `l` lies at `FLAT_SCRATCH + (lanes * k + l) * 4`.
fn private_place(base: u64, lanes: u32, offset: u32, lane: usize) -> u64 {
    base.wrapping_add(u64::from(offset & !3) * u64::from(lanes) + 4 * lane as u64 + u64::from(offset & 3))
}

/// Where the wave's scratch memory begins.
pub(super) fn scratch_base(w: &Wave) -> u64 {
    w.s64(w.scratch_base) & ((1 << SCRATCH_LANE) - 1)
}

/// On the memory of the lanes that `owner` says.
pub(super) fn private_access(
    w: &mut Wave,
    action: Action,
    rows: Rows,
    offsets: &[u32; 64],
    mask: u64,
    owner: impl Fn(usize) -> usize,
) -> Flow {
    let (base, width) = (scratch_base(w), w.lanes());
    let size = match action {
        Action::Load(t) | Action::Store(t) => t.bytes(rows.words),
        Action::Atomic(..) => 4 * u64::from(rows.words),
    };
    let place = |offset: u32, lane: usize| private_place(base, width, offset, owner(lane));
    let mut at = Addresses { lane: [0; 64], mask, stride: 4 * u64::from(width) };
    let mut straddling = 0u64;
    for lane in lanes(mask) {
        at.lane[lane] = place(offsets[lane], lane);
        let over = if size >= 4 { offsets[lane] & 3 != 0 } else { u64::from(offsets[lane] & 3) + size > 4 };
        straddling |= u64::from(over) << lane;
    }
    at.mask &= !straddling;
    let mut flow = Flow::Next;
    if at.mask != 0 {
        flow = match action {
            // gfx1250's scratch belongs to the flat addresses, and LLVM has 64-bit atomics there too.
            Action::Atomic(atomic, ret) if rows.words == 2 && w.generation == Generation::Gfx1250 => {
                if let Some(lane) = lanes(at.mask).find(|&lane| offsets[lane] & 7 != 0) {
                    let message = format!("an atomic on {:#x} of scratch, which is not aligned", offsets[lane]);
                    access::refused(w, action, rows, at.mask);
                    return w.bad_access(FindingKind::Misaligned, Some(lane as u32), at.lane[lane], message);
                }
                wide_atomic(w, (atomic, ret), rows, at.mask, |lane, byte| place(offsets[lane].wrapping_add(byte), lane))
            }
            // Elsewhere a 64-bit atomic needs its words side by side, which scratch does not give.
            Action::Atomic(..) if rows.words != 1 => {
                access::refused(w, action, rows, at.mask);
                return w.bad_access(
                    FindingKind::OutOfBounds,
                    None,
                    at.lane[at.mask.trailing_zeros() as usize],
                    "a 64-bit atomic on scratch memory".into(),
                );
            }
            _ => access::perform(w, action, rows, &at),
        };
    }
    if flow == Flow::Next && straddling != 0 {
        flow = bytewise(w, action, rows, straddling, |lane, byte| place(offsets[lane].wrapping_add(byte), lane));
    }
    flow
}

/// A 64-bit atomic on words that do not lie side by side. All others that reach them are in the same workgroup, whose waves
/// take turns.
fn wide_atomic(
    w: &mut Wave,
    (atomic, ret): (Atomic, bool),
    rows: Rows,
    mask: u64,
    place: impl Fn(usize, u32) -> u64,
) -> Flow {
    notice::bytes(w, Action::Atomic(atomic, ret), rows, mask, &place);
    let memory = std::sync::Arc::clone(&w.memory);
    for lane in lanes(mask) {
        let mut found = Ok([None; 2]);
        for (k, byte) in [0, 4].into_iter().enumerate() {
            let word = memory.resolve(&mut w.recent, place(lane, byte), 4, true).map_err(|_| place(lane, byte));
            found = found.and_then(|mut both| word.map(|p| (both[k] = Some(p), both).1));
        }
        match found {
            Ok([Some(low), Some(high)]) => {
                let pair = |i: u16| u64::from(w.row(i).0[lane]) | u64::from(w.row(i + 1).0[lane]) << 32;
                let compare = if atomic.two_operands() { pair(rows.data + 2) } else { 0 };
                let old = u64::from(low.load32()) | u64::from(high.load32()) << 32;
                let new = atomic.apply64(old, pair(rows.data), compare);
                w.has_stored = true;
                low.store32(new as u32);
                high.store32((new >> 32) as u32);
                if ret {
                    w.row_mut(rows.dst).0[lane] = old as u32;
                    w.row_mut(rows.dst + 1).0[lane] = (old >> 32) as u32;
                }
            }
            Ok(_) => {}
            Err(address) => {
                let message = format!("a 64-bit atomic on {address:#x}, which is in no allocation");
                access::refused(w, Action::Atomic(atomic, ret), rows, 1 << lane);
                if w.bad_access(FindingKind::OutOfBounds, Some(lane as u32), address, message) != Flow::Next {
                    return Flow::Fault;
                }
            }
        }
    }
    Flow::Next
}

/// Loads and stores whose words straddle the pieces that interleaved memory is made of: neighbouring bytes at a time.
pub fn bytewise(w: &mut Wave, action: Action, rows: Rows, mask: u64, place: impl Fn(usize, u32) -> u64) -> Flow {
    notice::bytes(w, action, rows, mask, &place);
    for lane in lanes(mask) {
        let (transfer, is_store) = match action {
            Action::Load(t) => (t, false),
            Action::Store(t) => (t, true),
            Action::Atomic(..) => {
                let address = place(lane, 0);
                let message = format!("an atomic on {address:#x}, which is not aligned");
                access::refused(w, action, rows, mask);
                return w.bad_access(FindingKind::Misaligned, Some(lane as u32), address, message);
            }
        };
        let size = transfer.bytes(rows.words) as u32;
        let mut bytes = [0; 16];
        if is_store {
            for k in 0..size.div_ceil(4) as u16 {
                let word = transfer.extract(w.row(rows.data + k).0[lane]);
                bytes.as_chunks_mut().0[usize::from(k)] = word.to_le_bytes();
            }
        }
        let mut from = 0;
        while let Err(bad) = access::move_bytes(w, &mut bytes, from..size, is_store, |byte| place(lane, byte)) {
            let message = format!("an access to {:#x}, which is in no allocation", place(lane, bad));
            if w.bad_access(FindingKind::OutOfBounds, Some(lane as u32), place(lane, bad), message) != Flow::Next {
                return Flow::Fault;
            }
            from = bad + 1;
        }
        let words: [u32; 4] = std::array::from_fn(|k| u32::from_le_bytes(bytes.as_chunks().0[k]));
        if !is_store {
            for k in 0..size.div_ceil(4) as u16 {
                let kept = w.kept;
                let out = &mut w.row_mut(rows.dst + k).0[lane];
                *out = if transfer == Transfer::Words {
                    words[usize::from(k)]
                } else {
                    transfer.merge(*out & kept, words[0])
                };
            }
        }
    }
    Flow::Next
}
