//! What strict mode has to look at for the findings that are wanted: one kind costs what that kind costs.

use crate::report::{FindingKind, Kinds};

bitflags::bitflags! {
    /// Parts of strict mode that take time with every instruction, or every access to memory.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct Looks: u16 {
        /// Which bits of registers, LDS and scratch memory are defined.
        const VALUES = 1;
        /// Registers that a load in flight may write.
        const PENDING = 2;
        const HAZARDS = 4;
        /// Who touched each byte of LDS last.
        const TOUCHES = 8;
        /// What orders the waves of a workgroup, in LDS.
        const ORDER = 16;
        /// What nothing has written of device memory.
        const MEMORY = 32;
        /// Which operations are in flight.
        const WAITS = 64;
        /// What orders accesses to device memory.
        const RACES = 128;
        /// Bytes behind the ends of allocations.
        const BOUNDS = 256;
    }
}

impl Looks {
    pub fn of(wanted: Kinds) -> Looks {
        use FindingKind::{
            Hazard, LaunchRace, LdsRace, MemoryRace, MissingWait, OutOfBounds, UndefinedLds, UndefinedLdsRead,
            UndefinedMemory, UndefinedRegister,
        };
        let needs: [(Looks, &[FindingKind]); 9] = [
            (Looks::VALUES, &[UndefinedRegister, UndefinedLds, UndefinedLdsRead, UndefinedMemory]),
            (Looks::MEMORY, &[UndefinedMemory]),
            (Looks::PENDING, &[MissingWait]),
            (Looks::HAZARDS, &[Hazard]),
            (Looks::TOUCHES, &[LdsRace, MissingWait]),
            (Looks::ORDER, &[LdsRace, MissingWait, MemoryRace, LaunchRace]),
            (Looks::WAITS, &[LdsRace, MissingWait, MemoryRace, LaunchRace]),
            (Looks::RACES, &[MemoryRace, MissingWait, LaunchRace]),
            (Looks::BOUNDS, &[OutOfBounds]),
        ];
        let asks = |kinds: &[FindingKind]| kinds.iter().any(|&kind| wanted.contains(kind.into()));
        needs.into_iter().filter(|(_, kinds)| asks(kinds)).fold(Looks::empty(), |all, (look, _)| all | look)
    }

    /// Whether each access to memory is looked at.
    pub fn at_accesses(self) -> bool {
        self.intersects(Looks::all() - Looks::PENDING - Looks::HAZARDS)
    }

    /// Whether something is looked at with every instruction, whatever it does.
    pub fn at_all(self) -> bool {
        self.intersects(Looks::VALUES | Looks::PENDING | Looks::HAZARDS)
    }
}
