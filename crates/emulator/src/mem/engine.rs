//! What moves bytes between memory and LDS while the wave goes on: gfx1250's asynchronous copies and its tensor data
//! mover, and loads straight into LDS.
//!
//! Without strict mode a copy is done at once. In strict mode it is done as late as it may be: when a wait guarantees
//! it, when the wave has ended or yields, so that a kernel that does not wait sees what was there before.

use std::rc::Rc;
use std::sync::Arc;

use super::tensor::Piece;
use crate::memory::BadAddress;
use crate::op::Flow;
use crate::report::FindingKind;
use crate::strict::memory as strict;
use crate::wave::Wave;

/// Who does the work of a wave besides itself, each in its own order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Loads straight into LDS, in order (vmcnt).
    Direct,
    /// Asynchronous loads: their completion is told in order, but they write LDS in any order (asynccnt).
    Loads,
    /// Asynchronous stores.
    Stores,
    /// The tensor data mover, in order (tensorcnt).
    Tensor,
}

/// Has a wave's engine do something, to which strict mode has been told to belong the access under way.
pub fn later(w: &mut Wave, engine: Engine, work: impl FnOnce(&mut Wave) -> Flow + 'static) -> Flow {
    if w.strict.is_none() {
        return work(w);
    }
    strict::defer(w, engine, Box::new(work)).map_or(Flow::Next, |work| work(w))
}

/// Has a wave's engine move some pieces.
pub fn start(w: &mut Wave, engine: Engine, pieces: Vec<LanePiece>, loads: bool) -> Flow {
    strict::transfer(w, engine, &pieces, loads);
    later(w, engine, move |w| copy_all(w, &pieces, loads))
}

/// A piece, and the lane that it belongs to, if it does.
pub type LanePiece = (Option<u32>, Piece);

/// What is wrong with a piece.
enum Wrong {
    Lds(u64),
    Memory(u64, BadAddress),
}

/// Bytes that are moved together.
const CHUNK: u64 = 64;

/// Moves one piece, into LDS or out of it.
fn copy(w: &mut Wave, piece: Piece, loads: bool) -> Result<(), Wrong> {
    let Piece { lds: at, global, len } = piece;
    if !loads && global.is_none() {
        return Ok(());
    }
    if at.saturating_add(len) > w.lds.len() as u64 {
        return Err(Wrong::Lds(at));
    }
    let at = at as u32;
    let lds = Rc::clone(&w.lds);
    let Some(address) = global else {
        for i in 0..len as u32 {
            lds.store(at + i, [0]);
        }
        return Ok(());
    };
    let memory = Arc::clone(&w.memory);
    let p = memory.resolve(&mut w.recent, address, len, !loads).map_err(|bad| Wrong::Memory(address, bad))?;
    w.has_stored |= !loads;
    let mut bytes = [0; CHUNK as usize];
    let mut done = 0;
    while done < len {
        // Up to the next place that is a multiple of a chunk, so that no naturally aligned bytes are torn apart.
        let count = (CHUNK - address.wrapping_add(done) % CHUNK).min(len - done);
        let (chunk, first) = (&mut bytes[..count as usize], at + done as u32);
        if loads {
            p.at(done).read(chunk);
            lds.store_bytes(first, chunk);
        } else {
            lds.load_bytes(first, chunk);
            p.at(done).write(chunk);
        }
        done += count;
    }
    Ok(())
}

/// Moves pieces; of those that memory does not have, the first is told. Those that LDS does not have are not moved: the
/// lane is as if it were off (AMD's ISA manuals, "Memory Violations").
pub fn copy_all(w: &mut Wave, pieces: &[LanePiece], loads: bool) -> Flow {
    let mut wrong = None;
    for &(lane, piece) in pieces {
        match copy(w, piece, loads) {
            Ok(()) => {}
            Err(Wrong::Lds(at)) => beyond_lds(w, lane, at, loads),
            Err(Wrong::Memory(at, bad)) => drop(wrong.get_or_insert((lane, at, bad))),
        }
    }
    let Some((lane, at, bad)) = wrong else { return Flow::Next };
    let verb = if loads { "load from" } else { "store to" };
    let where_to = match bad {
        BadAddress::Unmapped => "in no allocation",
        BadAddress::ReadOnly => "read-only",
    };
    let message = format!("a {verb} {at:#x}, which is {where_to}");
    w.bad_access(FindingKind::OutOfBounds, lane, at, message)
}

#[cold]
fn beyond_lds(w: &mut Wave, lane: Option<u32>, at: u64, loads: bool) {
    let len = w.lds.len();
    let Some(strict) = &mut w.strict else { return };
    let verb = if loads { "store to" } else { "load from" };
    let message = format!("a {verb} LDS at {at:#x}; the workgroup has {len:#x} bytes");
    strict.report(FindingKind::LdsBounds, lane, Some(at), message);
}
