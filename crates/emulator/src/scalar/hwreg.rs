//! `s_getreg` and `s_setreg`: the hardware registers behind them.

use luthier_isa::Generation;

use crate::memory::{PRIVATE_BASE, SHARED_BASE};
use crate::mode::Mode;
use crate::registers::scalar;
use crate::wave::Wave;

/// A register, whatever its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Register {
    Mode,
    Status,
    /// Which parts of the processor the wave runs on.
    HardwareId,
    /// Which of the processor's dies.
    Die,
    MemoryBases,
    ScratchBase(u8),
    /// A clock: this many bits of it, from this one on.
    Cycles(u32, u32),
    /// Whether the workgroup is of a cluster \[9:6\], and its rank in that \[24:21\].
    Cluster,
    /// What is not modelled, and reads as zero.
    Zero,
    /// The same, and writing it does nothing.
    Ignored,
}

/// Source: LLVM's AMDGPUAsmUtils (the tables of hardware registers).
fn register(generation: Generation, id: u64) -> Option<Register> {
    use Generation::{Gfx9, Gfx10, Gfx11, Gfx12, Gfx90a, Gfx940, Gfx1250};
    use Register::*;
    Some(match (generation, id) {
        (_, 1) => Mode,
        (_, 2) => Status,
        (Gfx12 | Gfx1250, 4 | 17 | 18 | 19 | 26) => Ignored,
        (Gfx1250, 28) => Cluster,
        (_, 3) => Ignored,
        (Gfx9 | Gfx90a | Gfx940, 4) => HardwareId,
        (Gfx940, 20) => Die,
        (_, 5..=7) => Zero,
        // Addresses of 57 bits: no manual says in what units it has the bases.
        (Gfx1250, 15) => return None,
        (_, 15) => MemoryBases,
        (Gfx10 | Gfx11 | Gfx12 | Gfx1250, 20) => ScratchBase(0),
        (Gfx10 | Gfx11 | Gfx12 | Gfx1250, 21) => ScratchBase(1),
        (Gfx10 | Gfx11 | Gfx12 | Gfx1250, 23) => HardwareId,
        (Gfx10 | Gfx11 | Gfx12 | Gfx1250, 24) => Zero,
        (Gfx10 | Gfx11, 29) => Cycles(0, 20),
        (Gfx12 | Gfx1250, 29) => Cycles(0, 32),
        (Gfx12 | Gfx1250, 30) => Cycles(32, 32),
        _ => return None,
    })
}

/// id \[5:0\], offset \[10:6\], size - 1 \[15:11\]
fn field(simm: u64) -> (u64, u32, u32) {
    let size = (simm >> 11 & 31) as u32 + 1;
    (simm & 63, (simm >> 6 & 31) as u32, if size == 32 { !0 } else { (1 << size) - 1 })
}

/// Whether a field of a hardware register, on whatever processor, may be of MODE, and of what MODE says of arithmetic there.
pub(crate) fn is_of_arithmetic(simm: u64) -> bool {
    const MODE: u64 = 1;
    let (id, offset, _) = field(simm);
    id == MODE && offset < Mode::ARITHMETIC_BITS
}

/// Whether a register, on whatever processor, may be a pair of scalar ones.
pub(crate) fn is_scalars(simm: u64) -> bool {
    matches!(field(simm).0, 20 | 21)
}

/// The field of a hardware register that `simm` names; `Err` is the register's id, if there is no such register.
pub(crate) fn getreg(w: &Wave, simm: u64) -> Result<u32, u64> {
    let (id, offset, mask) = field(simm);
    let value = match register(w.generation, id).ok_or(id)? {
        Register::Mode => w.mode.0,
        Register::Status => {
            let flag = |on: bool, bit: u32| u32::from(on) << bit;
            // scc, execz, vccz, in a workgroup, valid
            flag(w.scc(), 0) | flag(w.exec() == 0, 9) | flag(w.vcc() == 0, 10) | flag(true, 11) | flag(true, 16)
        }
        Register::HardwareId => hardware_id(w),
        Register::Die => die(w).0,
        Register::MemoryBases => ((SHARED_BASE >> 48) << 16 | PRIVATE_BASE >> 48) as u32,
        Register::ScratchBase(k) => w.s[usize::from(scalar::FLAT_SCRATCH_BASE + k)],
        Register::Cycles(first, bits) => {
            (crate::mem::smem::nanoseconds() >> first) as u32 & if bits == 32 { !0 } else { (1 << bits) - 1 }
        }
        Register::Cluster => {
            let (rank, size) = w.barrier.rank();
            u32::from(size > 1) << 6 | rank << 21
        }
        Register::Zero | Register::Ignored => 0,
    };
    Ok(value >> offset & mask)
}

/// Dies of a processor that has several, among which its workgroups go round.
const DIES: u32 = 8;
/// SIMDs of a compute unit, or of RDNA's pair of them, among which the waves of a workgroup go round.
const SIMDS: u32 = 4;

/// The die that a wave's workgroup is on, and the workgroup's number there.
fn die(w: &Wave) -> (u32, u32) {
    let [x, y, z] = w.place.workgroup;
    // Any number that tells neighbours apart.
    let group = x.wrapping_add(y.wrapping_mul(61)).wrapping_add(z.wrapping_mul(3571));
    if w.generation == Generation::Gfx940 { (group % DIES, group / DIES) } else { (0, group) }
}

/// HW_ID, or HW_ID1 from RDNA1 on. Workgroups go round the shader engines, then their arrays (RDNA) and compute units;
/// all waves of one are on one unit. The layout is that of AMD's manuals; gfx1250's is not known, and taken to be RDNA4's.
fn hardware_id(w: &Wave) -> u32 {
    let (group, wave) = (die(w).1, w.place.wave_in_group);
    let (simd, slot) = (wave % SIMDS, wave / SIMDS);
    if w.generation.is_gfx9_family() {
        return slot & 15 | simd << 4 | (group / 4 % 8) << 8 | (group % 4) << 13;
    }
    slot & 31 | simd << 8 | (group / 4 % 4) << 10 | (group / 2 % 2) << 16 | (group % 2) << 18
}

/// Writes a field of a hardware register; `Err` is the register's id, if it cannot be written.
pub(crate) fn setreg(w: &mut Wave, simm: u64, value: u32) -> Result<(), u64> {
    let (id, offset, mask) = field(simm);
    let change = |old: u32| old & !(mask << offset) | (value & mask) << offset;
    match register(w.generation, id).ok_or(id)? {
        Register::Mode => {
            // RDNA4 does not let choose what becomes of NaNs.
            let rdna4 = matches!(w.generation, Generation::Gfx12 | Generation::Gfx1250);
            let new = change(w.mode.0);
            w.mode = Mode(if rdna4 { new & !(1 << 9) | 1 << 8 } else { new });
        }
        Register::ScratchBase(k) if w.generation == Generation::Gfx10 => {
            let code = usize::from(scalar::FLAT_SCRATCH_BASE + k);
            w.s[code] = change(w.s[code]);
        }
        Register::Ignored | Register::Status => {}
        _ => return Err(id),
    }
    Ok(())
}
