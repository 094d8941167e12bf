//! What an instruction is to caches and to stores under way.

use luthier_isa::wait::Wait;
use luthier_isa::{Counter, Flags, Format, Generation, Inst, Op, Space};

pub use crate::strict::race::coherence::{ALL, INNER};
use crate::strict::race::coherence::{CacheControl, Scope, cache_control, scope};

/// The cache behind the first one.
pub const OUTER: u8 = ALL & !INNER;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Lanes load; the caches that are passed by ([`INNER`], [`OUTER`]).
    Load(u8),
    /// Scalars are loaded.
    Scalar,
    /// Lanes store; whether that arrives without a write-back.
    Store { through: bool },
    /// Lanes change memory where all share it.
    Atomic,
    /// What is not modelled in more detail (images, formats, LDS filled from memory, scalar stores): all stores arrive before, and
    /// it sees memory as it is.
    Other,
    /// A wait, for stores, for loads or for other things.
    Wait { stores: bool, loads: bool },
    /// A barrier, or global wave sync.
    Meet,
    /// Caches are written back, or lines of them dropped.
    Control { back: bool, drops: u8 },
    /// The scalar cache is invalidated.
    Constants,
    /// The wave ends.
    End,
}

impl Mark {
    /// Whether other waves may see when a wave comes to it.
    pub fn meets(self) -> bool {
        self != Mark::End
    }

    pub fn of(inst: &Inst) -> Option<Mark> {
        let (info, op) = (inst.info(), inst.info().op());
        let generation = info.mode.target().generation();
        if let Some(control) = cache_control(inst) {
            return Some(match control {
                CacheControl::WriteBack => Mark::Control { back: true, drops: 0 },
                CacheControl::Invalidate(drops) => Mark::Control { back: false, drops },
                CacheControl::Both => Mark::Control { back: true, drops: ALL },
            });
        }
        if matches!(op, Op::SDcacheInv | Op::SDcacheInvVol) {
            return Some(Mark::Constants);
        }
        if matches!(op, Op::SEndpgm | Op::SEndpgmSaved | Op::SEndpgmOrderedPsDone) {
            return Some(Mark::End);
        }
        let counters = || Wait::of_instruction(inst).bounds().map(|(counter, _)| counter);
        if counters().next().is_some() || op == Op::SWaitIdle {
            let of_stores = if generation.is_gfx9_family() { Counter::Vm } else { Counter::Vs };
            let waits_for = |which| op == Op::SWaitIdle || counters().any(|counter| counter == which);
            return Some(Mark::Wait { stores: waits_for(of_stores), loads: waits_for(Counter::Vm) });
        }
        if info.flags.contains(Flags::BARRIER) || op.is_gws() {
            return Some(Mark::Meet);
        }
        let access = inst.memory()?;
        let is_converted = || info.flags.contains(Flags::MTBUF) || info.base.contains("format");
        match access.space {
            Space::Scratch | Space::Lds if !access.lds => None,
            Space::Lds | Space::Gds => None,
            _ if access.lds || info.format == Format::Tensor || access.space == Space::Image || is_converted() => {
                Some(Mark::Other)
            }
            _ if info.flags.contains(Flags::SMEM) => {
                Some(if access.writes || access.atomic { Mark::Other } else { Mark::Scalar })
            }
            _ if access.atomic => Some(Mark::Atomic),
            // What is not to be written through stays in the die's own L2.
            _ if access.writes => {
                Some(Mark::Store { through: generation != Generation::Gfx940 || scope(inst) == Scope::Device })
            }
            _ => Some(Mark::Load(match scope(inst) {
                Scope::Device => ALL,
                Scope::Group => INNER,
                Scope::Plain => 0,
            })),
        }
    }
}
