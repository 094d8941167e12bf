//! Memory instructions that gfx1250 adds.
//!
//! *Asynchronous*: between global memory and LDS, for which `Vdst` (of loads) or `Vdata` (of stores) has each lane's place
//! in LDS; the instruction's offset is added to both places. *Of a cluster*: M0 says which workgroups of the cluster
//! share the load; each asks for it. *Transposing*: eight elements a lane, exchanged as RDNA4 does it
//! ([`super::flat_lanes`]), which Triton's kernels for gfx1250 count on. Of four bits sixteen elements a lane, exchanged by
//! the whole wave: hipBLASLt's kernels, which run on the hardware, give lanes 0-7 the addresses of rows 0 to 7 along K,
//! lanes 8-15 those of rows 32 to 39, the upper half of the wave those of rows 8 to 15 and 40 to 47 (tensilelite,
//! `_b64_base_addrs_fp4`), and need in each lane, as matrix operations do (`crate::matrix::wmma1250`), rows 0 to 15 in the
//! lower half of the wave and rows 32 to 47 in the upper one. Where the elements of six bits go no kernel says. Unless EXEC
//! is zero all lanes take part (ROCm/llvm-project#4450, AMD's translator of these instructions).
//!
//! Micro-op: as those of [`super::flat`] and [`super::ds`]; of asynchronous ones, `dst` has the places in LDS.

use luthier_isa::op::Op as IsaOp;

use super::access::{self, Addresses, Rows};
use super::engine::{self, Engine, LanePiece};
use super::flat::{self, Encoded};
use super::tensor::Piece;
use super::{Action, Transfer, ds};
use crate::error::FaultKind;
use crate::fp::small::packed;
use crate::masks::lanes;
use crate::observe;
use crate::op::{Flow, Handler, Op};
use crate::registers::{Row, rows, scalar};
use crate::wave::Wave;

/// Rows that hold what is on its way. No instruction here needs others.
const WAY: u16 = rows::TEMP;

fn global(w: &Wave, op: &Op) -> Addresses {
    let mut at = Addresses { lane: [0; 64], mask: w.exec(), stride: 4 };
    flat::global_addresses(w, op, &mut at.lane);
    at
}

fn offsets(w: &Wave, op: &Op, row: u16) -> [u32; 64] {
    w.row(row).0.map(|offset| offset.wrapping_add(op.imm as u32))
}

/// An address in LDS from here on is no slip: Triton writes 0x7fffffff where a lane shall have no part in it.
const NOWHERE: u32 = 1 << 30;

/// The lanes of a mask whose places in LDS are not far outside of it, where stores are lost.
pub fn somewhere(offsets: &[u32; 64], mask: u64) -> u64 {
    lanes(mask).filter(|&lane| offsets[lane] < NOWHERE).fold(0, |mask, lane| mask | 1 << lane)
}

/// The pieces of lanes, of `bytes` bytes each.
fn pieces(at: &Addresses, offsets: &[u32; 64], len: u64) -> Vec<LanePiece> {
    let piece = |lane: usize| Piece { lds: offsets[lane].into(), global: Some(at.lane[lane]), len };
    lanes(at.mask).map(|lane| (Some(lane as u32), piece(lane))).collect()
}

/// From global memory to LDS.
pub fn load_to_lds(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let (mut at, offsets) = (global(w, op), offsets(w, op, op.dst));
    at.mask = somewhere(&offsets, at.mask);
    let Action::Load(transfer) = encoded.action() else { return Flow::Next };
    let moved = Rows { dst: WAY, data: WAY, words: encoded.words() };
    observe::device(w, encoded.action(), moved, &at);
    observe::lds(w, Action::Store(transfer), moved, &offsets, at.mask);
    engine::start(w, Engine::Loads, pieces(&at, &offsets, transfer.bytes(encoded.words())), true)
}

/// From LDS to global memory.
pub fn store_from_lds(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let (at, offsets) = (global(w, op), offsets(w, op, op.src[1]));
    let Action::Store(transfer) = encoded.action() else { return Flow::Next };
    let moved = Rows { dst: WAY, data: WAY, words: encoded.words() };
    observe::lds(w, Action::Load(transfer), moved, &offsets, at.mask);
    observe::device(w, encoded.action(), moved, &at);
    engine::start(w, Engine::Stores, pieces(&at, &offsets, transfer.bytes(encoded.words())), false)
}

/// Those that share a load each ask for it, and it comes to each: what one asks for is then its own matter. Refuses one that
/// is not among the receivers, and receivers that are not in the cluster.
fn alone(w: &mut Wave) -> Option<Flow> {
    let mask = w.s[usize::from(scalar::M0)] & 0xffff;
    let (rank, size) = w.barrier.rank();
    let served = mask >> rank & 1 != 0 && mask >> size == 0;
    let message =
        || format!("m0 ({mask:#x}) names other workgroups than those of the cluster, or not this one ({rank})");
    (!served).then(|| w.fault(FaultKind::Unsupported, message()))
}

pub fn cluster_load(w: &mut Wave, op: &Op) -> Flow {
    alone(w).unwrap_or_else(|| flat::global(w, op))
}

pub fn cluster_load_to_lds(w: &mut Wave, op: &Op) -> Flow {
    alone(w).unwrap_or_else(|| load_to_lds(w, op))
}

/// Which lane's element, and which of its elements, a lane gets in a place.
type From = fn(lane: usize, place: usize) -> (usize, usize);

/// Sixteen bits an element.
fn halves(lane: usize, place: usize) -> (usize, usize) {
    (lane / 8 * 8 + place, lane % 8)
}

/// Eight bits an element.
fn bytes(lane: usize, place: usize) -> (usize, usize) {
    (lane / 16 * 16 + lane / 8 % 2 * 4 + place / 4 * 8 + place % 4, lane % 8)
}

/// Four bits an element.
fn nibbles(lane: usize, place: usize) -> (usize, usize) {
    (place / 8 * 16 + lane / 16 * 8 + place % 8, lane % 16)
}

/// The lanes that take part.
fn all(w: &Wave) -> u64 {
    if w.exec() == 0 { 0 } else { w.all_lanes() }
}

/// Exchanges what the lanes have loaded into `words` rows.
fn exchange(w: &mut Wave, op: &Op, words: usize, bits: usize, from: From) -> Flow {
    let all = all(w);
    let loaded: [Row; 4] = std::array::from_fn(|k| if k < words { *w.row(op.dst + k as u16) } else { Row::ZERO });
    let mut out = [Row::ZERO; 5];
    for lane in lanes(all) {
        for place in 0..32 * words / bits {
            let (source, element) = from(lane, place);
            let value = u64::from(packed(|i| loaded[i].0[source], bits as u32, element));
            let at = place * bits;
            let placed = value << (at % 32);
            out[at / 32].0[lane] |= placed as u32;
            out[at / 32 + 1].0[lane] |= (placed >> 32) as u32;
        }
    }
    for (k, row) in out[..words].iter().enumerate() {
        w.write_masked(op.dst + k as u16, row, all);
    }
    Flow::Next
}

fn transpose_global(w: &mut Wave, op: &Op, words: u8, bits: usize, from: From) -> Flow {
    let at = Addresses { mask: all(w), ..global(w, op) };
    let moved = Rows { dst: op.dst, data: op.dst, words };
    match access::perform(w, Action::Load(Transfer::Words), moved, &at) {
        Flow::Next => exchange(w, op, words.into(), bits, from),
        flow => flow,
    }
}

fn transpose_lds(w: &mut Wave, op: &Op, words: u8, bits: usize, from: From) -> Flow {
    let (offsets, all) = (offsets(w, op, op.src[0]), all(w));
    let moved = Rows { dst: op.dst, data: op.dst, words };
    match ds::access(w, Action::Load(Transfer::Words), moved, &offsets, all) {
        Flow::Next => exchange(w, op, words.into(), bits, from),
        flow => flow,
    }
}

/// The handler of a transposing load, and the words that it loads.
pub fn transposing(op: IsaOp) -> Option<(Handler, u8)> {
    macro_rules! of {
        ($load:ident, $words:literal, $bits:literal, $from:ident) => {{
            fn run(w: &mut Wave, op: &Op) -> Flow {
                $load(w, op, $words, $bits, $from)
            }
            Some((run as Handler, $words))
        }};
    }
    match op {
        IsaOp::GlobalLoadTrB128 => of!(transpose_global, 4, 16, halves),
        IsaOp::GlobalLoadTrB64 => of!(transpose_global, 2, 8, bytes),
        IsaOp::GlobalLoadTr4B64 => of!(transpose_global, 2, 4, nibbles),
        IsaOp::DsLoadTr4B64 => of!(transpose_lds, 2, 4, nibbles),
        IsaOp::DsLoadTr16B128 => of!(transpose_lds, 4, 16, halves),
        IsaOp::DsLoadTr8B64 => of!(transpose_lds, 2, 8, bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element of every lane goes to one place.
    #[test]
    fn nothing_is_lost() {
        for (places, from) in [(8, halves as From), (8, bytes), (16, nibbles)] {
            let mut seen = vec![0u32; 32 * places];
            for lane in 0..32 {
                for place in 0..places {
                    let (source, element) = from(lane, place);
                    seen[source * places + element] += 1;
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{places} places");
        }
    }
}
