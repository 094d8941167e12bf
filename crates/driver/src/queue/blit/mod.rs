//! HIP copies within a GPU, and fills, by kernels of its own. Instruction by instruction they are fifty times as slow as a
//! copy of the host's, so the driver does itself what they would do, unless it is told not to (`LUTHIER_MOCK_COPIES`).
//!
//! A kernel is one of them if it has the name and the arguments, and if in a trial it does to memory what the driver would
//! do. A launch is left to the kernel if it is out of the ordinary in any way: memory that the GPU does not see, a source
//! and a destination that overlap, a grid that is too small.

mod kind;
mod plan;
mod trial;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use luthier_abi::{Packet, packet};
use luthier_emulator::Strict;
use luthier_loader::KernelMetadata;

use super::Queue;
use super::launch::Launch;
use crate::log::log;
use crate::memory::View;
pub use plan::{Place, Plan, Source};

use kind::{Kind, Offsets, Shape};

/// Kernel objects that are remembered.
const MOST: usize = 4096;
/// Bytes of a pattern that is repeated before it is copied.
const CHUNK: usize = 16 << 10;

/// A kernel that the driver can stand in for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blit {
    kind: Kind,
    offsets: Offsets,
}

impl Blit {
    /// By the name of a kernel and what its code object says of it.
    pub fn of(name: &str, metadata: &KernelMetadata) -> Option<Blit> {
        Kind::of(name, metadata).map(|(kind, offsets)| Blit { kind, offsets })
    }
}

/// What is known of the kernels of a GPU, by the address of their descriptor, and since which change of code.
#[derive(Default)]
pub struct Blits(Mutex<HashMap<u64, (u64, Option<Blit>)>>);

impl Blits {
    fn get(&self, object: u64, epoch: u64) -> Option<Option<Blit>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&object).filter(|(since, _)| *since == epoch).map(|(_, blit)| *blit)
    }

    fn put(&self, object: u64, epoch: u64, blit: Option<Blit>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(object, (epoch, blit));
    }
}

/// Does a launch if it is one of HIP's copies or fills; otherwise nothing has happened.
pub fn run(queue: &Queue, packet: &Packet, launch: &Launch) -> bool {
    let gpu = &queue.gpu;
    // Strict mode looks at every access. On an APU nothing tells when code changes.
    if !gpu.config().copies || gpu.config().apu || gpu.config().strict != Strict::Off {
        return false;
    }
    let Some(blit) = recognise(queue, packet, launch) else { return false };
    let moved = perform(&gpu.view, &blit, launch);
    if moved {
        log!(gpu.config(), "queue {}: that was {:?}, which the driver has done itself", queue.id, blit.kind);
    }
    moved
}

fn recognise(queue: &Queue, packet: &Packet, launch: &Launch) -> Option<Blit> {
    let (gpu, object) = (&queue.gpu, launch.object);
    let epoch = gpu.view.memory.code_epoch();
    if let Some(known) = gpu.blits.get(object, epoch) {
        return known;
    }
    let blit = gpu.codes.blit(gpu, object).filter(|blit| {
        let proven = trial::agrees(queue, blit, packet, launch);
        log!(gpu.config(), "{:?} at {object:#x}: the trial {}", blit.kind, if proven { "agrees" } else { "differs" });
        proven
    });
    gpu.blits.put(object, epoch, blit);
    blit
}

fn perform(view: &View, blit: &Blit, launch: &Launch) -> bool {
    let arguments = match view.resolve(launch.packet.kernarg, blit.offsets.bytes as u64, false) {
        // SAFETY: resolved; the program leaves arguments alone until the kernel has ended.
        Ok(place) => unsafe { std::slice::from_raw_parts(place, blit.offsets.bytes) }.to_vec(),
        Err(_) => return false,
    };
    let shape = Shape { grid: launch.packet.grid, workgroup: launch.packet.workgroup };
    if !blit.offsets.agree(&arguments, &shape) {
        return false;
    }
    Plan::of(blit.kind, &arguments, &shape).is_some_and(|plan| carry_out(view, &plan).is_some())
}

/// Moves the bytes. `None` if that cannot be done in one go; nothing has happened then.
pub fn carry_out(view: &View, plan: &Plan) -> Option<()> {
    let extent = plan.extent(&plan.to)?;
    let to = view.resolve(plan.to.start, extent, true).ok()?;
    let width = plan.width as usize;
    let overlaps = |from: *mut u8, len: u64| {
        let (from, to) = (from.addr() as u64, to.addr() as u64);
        from < to + extent && to < from + len
    };
    match plan.from {
        Source::Memory(place) => {
            let len = plan.extent(&place)?;
            let from = view.resolve(place.start, len, false).ok().filter(|from| !overlaps(*from, len))?;
            for (source, target) in plan.offsets(place).zip(plan.offsets(plan.to)) {
                // SAFETY: both boxes are resolved, and apart. Whatever the program does there meanwhile is its mistake.
                unsafe { std::ptr::copy_nonoverlapping(from.add(source as usize), to.add(target as usize), width) };
            }
        }
        Source::Pattern { start, len } => {
            let from = view.resolve(start, len, false).ok().filter(|from| len != 0 && !overlaps(*from, len))?;
            // SAFETY: resolved.
            let pattern = unsafe { std::slice::from_raw_parts(from, len as usize) };
            let repeated = pattern.repeat((CHUNK / pattern.len()).min(width.div_ceil(pattern.len())));
            for row in plan.offsets(plan.to) {
                let mut at = 0;
                while at < width {
                    let bytes = repeated.len().min(width - at);
                    // SAFETY: as above; the chunk has no other user.
                    unsafe { std::ptr::copy_nonoverlapping(repeated.as_ptr(), to.add(row as usize + at), bytes) };
                    at += bytes;
                }
            }
        }
    }
    Some(())
}

/// The same launch with another grid and other arguments, somewhere else.
fn packet_with(given: &Packet, grid: [u32; 3], kernarg: u64) -> Packet {
    let mut other = *given;
    other.write(packet::Dispatch { grid, kernarg, completion_signal: 0, ..given.read() });
    other
}
