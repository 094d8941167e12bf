//! Barriers in LDS (gfx1250): objects of 64 bits that count who arrives.
//!
//! The pending count has bits 28 to 0, the phase 31 to 29, the count to begin again with 47 to 32 (AMD's ISA guide to
//! CDNA5, 11.2.2, for a width of 29, which libcudacxx for HIP and Triton's lowering take for granted). An arrival
//! subtracts; below zero the phase goes on (downwards, as a subtraction of the whole word does: Triton's `mbarrier`
//! says so) and the count begins again. So N arrivals make a phase if both counts are N - 1. Arrivals beyond those are
//! told nowhere what they do, and are refused.

use std::rc::Rc;

use super::engine::{self, Engine};
use crate::error::FaultKind;
use crate::masks::lanes;
use crate::op::{Flow, Op};
use crate::report::FindingKind;
use crate::strict::memory as strict;
use crate::wave::Wave;

const COUNT: u64 = (1 << 29) - 1;
const PHASES: u64 = 7 << 29;

/// The state behind `by` arrivals, and whether they end the phase.
///
/// # Errors
/// More arrivals than are missing.
pub fn arrive(state: u64, by: u64) -> Result<(u64, bool), String> {
    let pending = state & COUNT;
    if by <= pending {
        return Ok((state - by, false));
    }
    if by > pending + 1 {
        return Err(format!("{by} arrivals at a barrier in LDS of which {} are missing", pending + 1));
    }
    let phase = (state & PHASES).wrapping_sub(1 << 29) & PHASES;
    Ok((state & !(COUNT | PHASES) | phase | state >> 32 & 0xffff, true))
}

/// One arrival at each of some addresses, one after the other; `Err` ends the instruction.
fn arrive_at(w: &mut Wave, at: u32, lane: Option<u32>, by: u64) -> Result<Option<(u64, bool)>, Flow> {
    let lds = Rc::clone(&w.lds);
    if !at.is_multiple_of(8) {
        let message = format!("a barrier in LDS at {at:#x}, which is not a multiple of 8");
        return match w.bad_access(FindingKind::Misaligned, lane, at.into(), message) {
            Flow::Next => Ok(None),
            flow => Err(flow),
        };
    }
    let Some(old) = lds.load(at).map(u64::from_le_bytes) else {
        super::ds::outside(w, 1 << lane.unwrap_or(0), &[at; 64]);
        return Ok(None);
    };
    let (new, ends) = arrive(old, by).map_err(|message| w.fault(FaultKind::Unsupported, message))?;
    lds.store(at, new.to_le_bytes());
    Ok(Some((old, ends)))
}

fn offsets(w: &Wave, op: &Op) -> [u32; 64] {
    w.row(op.src[0]).0.map(|offset| offset.wrapping_add(op.imm as u32))
}

/// `ds_atomic_barrier_arrive_rtn_b64`: each lane arrives as often as it says, and gets the state from before.
pub fn arrive_and_return(w: &mut Wave, op: &Op) -> Flow {
    let (offsets, exec) = (offsets(w, op), w.exec());
    strict::barrier(w, &offsets, exec, None);
    let data = [0, 1].map(|k| w.row(op.src[1] + k).0);
    for lane in lanes(exec) {
        let by = u64::from(data[0][lane]) | u64::from(data[1][lane]) << 32;
        match arrive_at(w, offsets[lane], Some(lane as u32), by) {
            Ok(Some((old, ends))) => {
                strict::arrived(w, offsets[lane], ends);
                w.row_mut(op.dst).0[lane] = old as u32;
                w.row_mut(op.dst + 1).0[lane] = (old >> 32) as u32;
            }
            Ok(None) => {}
            Err(flow) => return flow,
        }
    }
    Flow::Next
}

/// `ds_atomic_async_barrier_arrive_b64`: each lane arrives once, behind the wave's asynchronous loads so far.
pub fn arrive_later(w: &mut Wave, op: &Op) -> Flow {
    let (offsets, exec) = (offsets(w, op), w.exec());
    strict::barrier(w, &offsets, exec, Some(Engine::Loads));
    engine::later(w, Engine::Loads, move |w| {
        for lane in lanes(exec) {
            if let Err(flow) = signal(w, offsets[lane], Some(lane as u32)) {
                return flow;
            }
        }
        Flow::Next
    })
}

/// What an engine does when it has come to its end.
pub fn signal(w: &mut Wave, at: u32, lane: Option<u32>) -> Result<(), Flow> {
    if let Some((_, ends)) = arrive_at(w, at, lane, 1)? {
        strict::landed(w, at, ends);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_with_the_last_arrival() {
        let start = 2 << 32 | 2;
        let (state, ends) = arrive(start, 2).unwrap();
        assert_eq!((state, ends), (2 << 32, false));
        let (state, ends) = arrive(state, 1).unwrap();
        assert_eq!((state, ends), (2 << 32 | 7 << 29 | 2, true));
        let (state, ends) = arrive(state, 3).unwrap();
        assert_eq!((state, ends), (2 << 32 | 6 << 29 | 2, true));
        assert!(arrive(state, 4).is_err() && arrive(state, u64::MAX).is_err());
        assert_eq!(arrive(state, 0), Ok((state, false)));
    }
}
