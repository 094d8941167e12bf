//! What is watched, and whether an instruction has touched it.

use super::Stage;
use crate::choose::WaveId;
use crate::observe::{MemoryEvent, Space};
use crate::registers::{rows, scalar};
use crate::wave::Wave;

/// Which accesses to some bytes make the launch stop, behind the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    Reads,
    Writes,
    Accesses,
    /// Writes of other values.
    Changes,
}

/// What is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watchpoint {
    /// Device memory.
    Memory { start: u64, len: u64, wanted: Wanted },
    /// LDS of a workgroup.
    Lds { group: u64, start: u64, len: u64, wanted: Wanted },
    /// A register of a wave that gets another value; of a vector register in one lane, or any.
    Register { wave: WaveId, register: Register, lane: Option<u8> },
}

/// A register of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Register {
    Sgpr(u8),
    Vgpr(u16),
    Agpr(u16),
    Exec,
    Vcc,
    Scc,
    M0,
}

impl Stage {
    /// What is there to see at a watchpoint.
    pub(super) fn value(&self, watch: &Watchpoint) -> Vec<u8> {
        match *watch {
            Watchpoint::Memory { start, len, .. } => {
                let mut bytes = vec![0; len as usize];
                // What is not there has no value.
                if self.read(start, &mut bytes).is_ok() { bytes } else { Vec::new() }
            }
            Watchpoint::Lds { group, start, len, .. } => {
                let lds = self.lds(group).unwrap_or_default();
                let end = lds.len().min(start.saturating_add(len) as usize);
                lds.get(start as usize..end).map(<[u8]>::to_vec).unwrap_or_default()
            }
            Watchpoint::Register { wave, register, lane } => {
                self.wave(wave).map(|wave| register.bytes(wave, lane)).unwrap_or_default()
            }
        }
    }
}

impl Watchpoint {
    pub(super) fn is_of(&self, access: &MemoryEvent) -> bool {
        let (begin, bytes, wanted, lds) = match *self {
            Watchpoint::Memory { start, len, wanted } => (start, len, wanted, false),
            Watchpoint::Lds { group, start, len, wanted } if group == access.workgroup => (start, len, wanted, true),
            _ => return false,
        };
        let (reads, writes) = (access.kind & 3 != 1, access.kind & 3 != 0);
        let kind = match wanted {
            Wanted::Reads => reads,
            Wanted::Writes | Wanted::Changes => writes,
            Wanted::Accesses => true,
        };
        let (from, to) = (access.address, access.address.saturating_add(access.size.into()));
        kind && lds == (access.kind >> 4 == Space::Lds as u8) && from < begin.saturating_add(bytes) && begin < to
    }
}

impl Register {
    pub(super) fn bytes(self, wave: &Wave, lane: Option<u8>) -> Vec<u8> {
        let row = |row: u16| {
            let values = &wave.rows[usize::from(row)].0;
            match lane {
                Some(lane) => values.get(usize::from(lane)).map_or_else(Vec::new, |value| value.to_le_bytes().to_vec()),
                None => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            }
        };
        match self {
            Register::Sgpr(number) => wave.s[usize::from(number)].to_le_bytes().to_vec(),
            Register::Vgpr(number) => row(rows::VGPR + number.min(1023)),
            Register::Agpr(number) => row(wave.first_agpr + number.min(767)),
            Register::Exec => wave.exec().to_le_bytes().to_vec(),
            Register::Vcc => wave.s64(scalar::VCC).to_le_bytes().to_vec(),
            Register::Scc => vec![wave.scc().into()],
            Register::M0 => wave.s[usize::from(scalar::M0)].to_le_bytes().to_vec(),
        }
    }
}
