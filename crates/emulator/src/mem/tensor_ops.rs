//! What the tensor data mover does (gfx1250): `tensor_load_to_lds` and `tensor_store_from_lds`.
//!
//! A wave does each once, whatever EXEC is. Tensors of a wave move in order among themselves and in none with the rest
//! of its accesses (AMD's ISA guide to CDNA5, 10.11.1); tensorcnt counts them. When one is at its end it may arrive at a
//! barrier in LDS.
//!
//! Micro-op: `sdst` and `ssrc` have the scalar codes of the first two groups of the descriptor, `src[0]` and `src[1]`
//! those of the others, or [`NONE`].

use super::engine::{self, Engine, LanePiece};
use super::lds_barrier;
use super::tensor::{Descriptor, Dwords};
use crate::error::FaultKind;
use crate::observe;
use crate::op::{Flow, Op};
use crate::report::FindingKind;
use crate::scalar::NONE;
use crate::strict::memory as strict;
use crate::wave::Wave;

fn dwords(w: &Wave, op: &Op) -> Dwords {
    let mut all = [0; 20];
    let groups = [(u16::from(op.sdst), 0, 4), (u16::from(op.ssrc), 4, 8), (op.src[0], 12, 4), (op.src[1], 16, 4)];
    for (code, first, count) in groups.into_iter().filter(|group| group.0 != NONE) {
        (0..count).for_each(|k| all[first + k] = w.s[(usize::from(code) + k) & 255]);
    }
    all
}

fn tensor(w: &mut Wave, op: &Op, loads: bool) -> Flow {
    let descriptor = match Descriptor::new(&dwords(w, op), loads, w.barrier.rank()) {
        Ok(Some(descriptor)) => descriptor,
        Ok(None) => return Flow::Next,
        Err(message) => return w.fault(FaultKind::Unsupported, message),
    };
    let fits = descriptor.end() <= w.lds.len() as u64;
    if !fits {
        let (end, len) = (descriptor.end(), w.lds.len());
        let message = format!("a tensor's tile in LDS up to {end:#x}; the workgroup has {len:#x} bytes");
        if w.bad_access(FindingKind::OutOfBounds, None, end, message) != Flow::Next {
            return Flow::Fault;
        }
    }
    let times = if fits { descriptor.times() } else { 0 };
    if w.is_watched {
        for time in 0..times {
            let pieces = pieces(&descriptor, time);
            pieces.iter().for_each(|(_, p)| observe::piece(w, loads, p.lds, p.global, p.len));
            strict::transfer(w, Engine::Tensor, &pieces, loads);
        }
        if let Some(at) = descriptor.barrier {
            strict::barrier(w, &[at; 64], 1, Some(Engine::Tensor));
        }
    }
    engine::later(w, Engine::Tensor, move |w| {
        for time in 0..times {
            if engine::copy_all(w, &pieces(&descriptor, time), loads) != Flow::Next {
                return Flow::Fault;
            }
        }
        match descriptor.barrier.map(|at| lds_barrier::signal(w, at, None)) {
            Some(Err(flow)) => flow,
            _ => Flow::Next,
        }
    })
}

/// What the `time`th iteration moves.
fn pieces(descriptor: &Descriptor, time: u64) -> Vec<LanePiece> {
    descriptor.pieces(time).into_iter().map(|piece| (None, piece)).collect()
}

pub fn load(w: &mut Wave, op: &Op) -> Flow {
    tensor(w, op, true)
}

pub fn store(w: &mut Wave, op: &Op) -> Flow {
    tensor(w, op, false)
}
