//! A place between two instructions: what is live there, what is in flight, what may not be touched.

use std::sync::LazyLock;

use luthier_isa::{Reg, RegSet, VgprMsb};
use luthier_lifter::{InFlight, Live};

use super::env::Env;
use super::pool::Pool;

/// What is known of a place before anything is inserted there.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// Of the application's instruction.
    pub address: u64,
    pub live: &'a Live,
    /// Loads in flight, which may still write their registers.
    pub loads: &'a InFlight,
    /// Registers that are better left alone: operands of matrix instructions that may still be at work, data of a store
    /// that has just begun.
    pub busy: &'a RegSet,
    /// Registers that hold values for hooks of this place from before it.
    pub kept: &'a RegSet,
    /// VGPR operands may be indexed here.
    pub indexed: bool,
    /// Upper bits of VGPR numbers.
    pub msb: VgprMsb,
    /// The wave ends here: nothing of the application's is needed any more.
    pub last: bool,
}

impl Site<'_> {
    /// The same place when all loads have been waited for.
    pub fn settled(&self) -> Site<'_> {
        static NONE: LazyLock<InFlight> = LazyLock::new(InFlight::default);
        Site { loads: &NONE, ..*self }
    }

    /// Registers that hold values between places.
    pub fn reserved<'a>(&self, env: &'a Env) -> &'a RegSet {
        if self.last { &env.carried.slots.registers } else { &env.carried.reserved }
    }

    /// Registers that must be left alone, live or not.
    pub fn excluded(&self, env: &Env) -> RegSet {
        let mut all = self.loads.registers();
        all.union_with(self.busy);
        all.union_with(self.kept);
        all.union_with(self.reserved(env));
        all
    }

    /// The registers that are free. Where EXEC may be another one afterwards (`moves_lanes`), lanes that are off count as
    /// well.
    pub fn pool(&self, env: &Env, without: &RegSet, moves_lanes: bool) -> Pool {
        let (mut taken, mut inactive) = (self.live.active, self.live.inactive);
        if moves_lanes {
            taken.union_with(&inactive);
            inactive = taken;
        }
        let loading = self.loads.registers();
        for set in [&mut taken, &mut inactive] {
            set.union_with(&loading);
            set.subtract(&env.registers.never_used);
            set.union_with(self.reserved(env));
            set.union_with(self.busy);
            set.union_with(self.kept);
            set.union_with(without);
        }
        let mut pool = Pool::new(&taken, &inactive, env.registers.limits);
        if env.machine.remembers_scalar_reads() {
            pool.prefer(&env.registers.never_used, env.registers.limits);
        }
        pool
    }

    pub fn is_live(&self, reg: Reg) -> bool {
        self.live.active.contains(reg)
    }
}
