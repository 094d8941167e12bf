//! `s_getreg` and `s_setreg`: the hardware registers behind them.

use crate::memory::{PRIVATE_BASE, SHARED_BASE};
use crate::mode::Mode;
use crate::wave::Wave;

const MODE: u64 = 1;
const STATUS: u64 = 2;
const TRAPSTS: u64 = 3;
const HW_ID: u64 = 4;
const GPR_ALLOC: u64 = 5;
const LDS_ALLOC: u64 = 6;
const IB_STS: u64 = 7;
const SH_MEM_BASES: u64 = 15;

/// id [5:0], offset [10:6], size - 1 [15:11]
fn field(simm: u64) -> (u64, u32, u32) {
    let size = (simm >> 11 & 31) as u32 + 1;
    (simm & 63, (simm >> 6 & 31) as u32, if size == 32 { !0 } else { (1 << size) - 1 })
}

/// The field of a hardware register that `simm` names; `Err` is the register's id, if there is no such register.
pub(crate) fn getreg(w: &Wave, simm: u64) -> Result<u32, u64> {
    let (id, offset, mask) = field(simm);
    let value = match id {
        MODE => w.mode.0,
        STATUS => {
            let flag = |on: bool, bit: u32| u32::from(on) << bit;
            // scc, execz, vccz, in a workgroup, valid
            flag(w.scc(), 0) | flag(w.exec() == 0, 9) | flag(w.vcc() == 0, 10) | flag(true, 11) | flag(true, 16)
        }
        TRAPSTS | GPR_ALLOC | LDS_ALLOC | IB_STS => 0,
        HW_ID => w.place.wave_in_group & 15,
        SH_MEM_BASES => ((SHARED_BASE >> 48) << 16 | PRIVATE_BASE >> 48) as u32,
        other => return Err(other),
    };
    Ok(value >> offset & mask)
}

/// Writes a field of a hardware register; `Err` is the register's id, if it cannot be written.
pub(crate) fn setreg(w: &mut Wave, simm: u64, value: u32) -> Result<(), u64> {
    let (id, offset, mask) = field(simm);
    match id {
        MODE => w.mode = Mode(w.mode.0 & !(mask << offset) | (value & mask) << offset),
        TRAPSTS | STATUS => {}
        other => return Err(other),
    }
    Ok(())
}
