//! The architectural state of one wave.

use std::rc::Rc;
use std::sync::Arc;

use luthier_isa::Generation;

use crate::barrier::Barriers;
use crate::batch::Batch;
use crate::error::{Fault, FaultKind};
use crate::lds::Lds;
use crate::masks::blend;
use crate::memory::{Memory, Recent};
use crate::mode::Mode;
use crate::observe::Observer;
use crate::op::Flow;
use crate::registers::{Halves, Registers, Row, VectorFile, inline_constant32, rows, scalar};
use crate::repeated::Repeated;
use crate::report::FindingKind;
use crate::strict::Strict;

/// Which wave of a launch this is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    pub workgroup: [u32; 3],
    pub wave_in_group: u32,
}

/// A wave's registers as they were; vector registers of zeros are left out.
pub struct KeptRegisters {
    rows: Vec<(u16, Row)>,
    scalars: [u32; 256],
    mode: Mode,
    saved_exec: u64,
    pc: u64,
    has_stored: bool,
    allocated: u16,
}

impl KeptRegisters {
    pub fn bytes(&self) -> usize {
        size_of_val(&self.rows[..])
    }
}

/// A wave: its registers, and where it is.
pub struct Wave {
    /// The vector file, [`rows::COUNT`] rows.
    pub rows: Box<[Row; rows::COUNT]>,
    /// Registers that may hold something else than zeros, [`Wave::clear_registers`] having been told.
    written: Registers,
    /// Scalar registers by operand code: SGPRs from 0, VCC 106, M0 124, EXEC 126; codes 128 to 248 hold the 32-bit
    /// inline constants, 253 holds SCC.
    pub s: [u32; 256],
    pub mode: Mode,
    /// The lanes that the wave has: all 64, or the lower 32 of each row. See [`Wave::set_lanes`].
    lane_mask: u64,
    /// The processor's, where an instruction of one name does not do the same on all.
    pub generation: Generation,
    /// What a load into one half of a VGPR keeps of it, where it keeps the other half: all bits, or none.
    pub kept: u32,
    /// Code of the scalar pair that holds the base of the wave's scratch memory.
    pub scratch_base: u8,
    /// EXEC as it was before a DPP micro-op narrowed it.
    pub saved_exec: u64,
    /// Where an indirect jump goes.
    pub pc: u64,
    pub place: Place,
    pub memory: Arc<Memory>,
    /// The allocations touched last.
    pub recent: Recent,
    /// Whether the wave has stored anything to memory since its last [`crate::scalar::fence`].
    pub has_stored: bool,
    pub lds: Rc<Lds>,
    /// Its workgroup's.
    pub barrier: Rc<Barriers>,
    pub repeated: Rc<Repeated>,
    /// Rows of VGPRs that an index can lead to.
    pub vgprs: u16,
    /// The row of a0.
    pub first_agpr: u16,
    /// VGPRs of a block, where the wave has only those that it has asked for; else 0.
    pub vgpr_block: u16,
    /// VGPRs that it has then.
    pub allocated: u16,
    /// Why the wave cannot go on, after [`Flow::Fault`].
    pub fault: Option<Box<Fault>>,
    /// Which instruction of its block stopped it, where that is not the micro-op's: several were in one.
    pub stopped: Option<u16>,
    /// Present in strict mode.
    pub strict: Option<Box<Strict>>,
    /// Present where the launch is watched.
    pub observer: Option<Box<Observer>>,
    /// Present where caches and stores under way are modelled.
    pub weak: Option<Box<crate::weak::Part>>,
    /// Whether one of these hears of accesses to memory.
    pub is_watched: bool,
    /// Runs of native code that were done to their end, and not yet set off against others.
    pub finished: u32,
    /// Executions of a block that leads to itself which native code may add to the one under way, and those that it has.
    pub may_turn: u32,
    pub turned: u32,
    /// Native code of two blocks has taken the branch between them.
    pub skipped: bool,
    /// Those that native code does in this one's registers.
    pub batch: Batch,
}

impl Wave {
    /// Where [`Wave::recent`] is, in bytes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const RECENT_AT: i64 = std::mem::offset_of!(Wave, recent) as i64;
    /// From [`Wave::recent`] to [`Wave::has_stored`], in bytes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const STORED_BEHIND_RECENT: i64 =
        std::mem::offset_of!(Wave, has_stored) as i64 - std::mem::offset_of!(Wave, recent) as i64;
    /// The same to [`Wave::kept`].
    #[cfg(target_arch = "x86_64")]
    pub(crate) const KEPT_BEHIND_RECENT: i64 =
        std::mem::offset_of!(Wave, kept) as i64 - std::mem::offset_of!(Wave, recent) as i64;
    /// The same to [`Wave::may_turn`] and to [`Wave::turned`].
    #[cfg(target_arch = "x86_64")]
    pub(crate) const TURNS_BEHIND_RECENT: [i64; 2] = [
        std::mem::offset_of!(Wave, may_turn) as i64 - std::mem::offset_of!(Wave, recent) as i64,
        std::mem::offset_of!(Wave, turned) as i64 - std::mem::offset_of!(Wave, recent) as i64,
    ];

    /// The same to [`Wave::skipped`].
    #[cfg(target_arch = "x86_64")]
    pub(crate) const SKIPPED_BEHIND_RECENT: i64 =
        std::mem::offset_of!(Wave, skipped) as i64 - std::mem::offset_of!(Wave, recent) as i64;

    /// The same to [`Wave::batch`], to [`Wave::mode`], and to the wave's number in its workgroup.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const BATCH_BEHIND_RECENT: i64 =
        std::mem::offset_of!(Wave, batch) as i64 - std::mem::offset_of!(Wave, recent) as i64;
    #[cfg(target_arch = "x86_64")]
    pub(crate) const MODE_BEHIND_RECENT: i64 =
        std::mem::offset_of!(Wave, mode) as i64 - std::mem::offset_of!(Wave, recent) as i64;
    #[cfg(target_arch = "x86_64")]
    pub(crate) const NUMBER_BEHIND_RECENT: i64 =
        std::mem::offset_of!(Wave, place.wave_in_group) as i64 - std::mem::offset_of!(Wave, recent) as i64;

    /// A wave with all registers zero and no memory.
    pub fn new() -> Wave {
        Wave::with_file(VectorFile::new())
    }
    /// The same on a file that was used before.
    pub fn with_file(file: VectorFile) -> Wave {
        let mut wave = Wave {
            rows: file.rows,
            written: file.written,
            s: [0; 256],
            mode: Mode::default(),
            lane_mask: !0,
            generation: Generation::Gfx90a,
            kept: 0,
            scratch_base: scalar::FLAT_SCRATCH,
            saved_exec: 0,
            pc: 0,
            place: Place::default(),
            memory: Arc::new(Memory::new()),
            recent: Recent::NONE,
            has_stored: false,
            lds: Rc::new(Lds::new(0)),
            barrier: Rc::default(),
            repeated: Rc::default(),
            vgprs: rows::AGPR,
            first_agpr: rows::AGPR,
            vgpr_block: 0,
            allocated: 0,
            fault: None,
            stopped: None,
            strict: None,
            observer: None,
            weak: None,
            is_watched: false,
            finished: 0,
            may_turn: 0,
            turned: 0,
            skipped: false,
            batch: Batch::default(),
        };
        for code in scalar::FIRST_CONST..=scalar::LAST_CONST {
            wave.s[usize::from(code)] = inline_constant32(code).unwrap_or(0);
        }
        wave
    }
    /// Whether something has to hear of accesses to memory, besides those who only want to.
    pub fn must_hear(&self) -> bool {
        self.weak.is_some() || self.strict.as_ref().is_some_and(|strict| strict.hears_accesses())
    }
    pub fn into_file(self) -> VectorFile {
        VectorFile { rows: self.rows, written: self.written }
    }
    /// These registers may have been written.
    pub fn note_written(&mut self, registers: &Registers) {
        self.written.iter_mut().zip(registers).for_each(|(all, more)| *all |= more);
    }
    /// Keeps what an instruction can change in a wave that has `vgprs` VGPRs and `agprs` AGPRs. The wave is between two
    /// instructions.
    pub fn keep(&self, vgprs: u16, agprs: u16) -> KeptRegisters {
        let agprs = self.first_agpr..self.first_agpr + agprs.min(256);
        let rows = (rows::VGPR..rows::VGPR + vgprs.min(rows::TEMP)).chain(agprs);
        let is_set = |row: &u16| self.rows[usize::from(*row)].0.iter().any(|&value| value != 0);
        KeptRegisters {
            rows: rows.filter(is_set).map(|row| (row, self.rows[usize::from(row)])).collect(),
            scalars: self.s,
            mode: self.mode,
            saved_exec: self.saved_exec,
            pc: self.pc,
            has_stored: self.has_stored,
            allocated: self.allocated,
        }
    }
    /// Makes a wave that has just been started what one was.
    pub fn become_again(&mut self, kept: &KeptRegisters) {
        self.note_written(&[u64::MAX; rows::TEMP as usize / 64]);
        self.clear_registers();
        for (row, value) in &kept.rows {
            *self.row_mut(*row) = *value;
        }
        self.note_written(&[u64::MAX; rows::TEMP as usize / 64]);
        (self.s, self.mode, self.saved_exec, self.pc) = (kept.scalars, kept.mode, kept.saved_exec, kept.pc);
        (self.has_stored, self.allocated) = (kept.has_stored, kept.allocated);
    }
    /// Zeros in all registers that were written.
    #[inline(always)]
    pub fn clear_registers(&mut self) {
        for (word, written) in self.written.iter_mut().enumerate() {
            for bit in crate::masks::lanes(std::mem::take(written)) {
                self.rows[64 * word + bit] = Row::ZERO;
            }
        }
    }
    /// `s_alloc_vgpr`: as many VGPRs as asked for, in whole blocks, unless that is more than a wave may have; SCC tells. A
    /// wave with a fixed number of them ignores it. A newly granted register's value is undefined.
    pub fn allocate_vgprs(&mut self, wanted: u32) {
        if self.vgpr_block == 0 {
            return;
        }
        let allocated = wanted.next_multiple_of(self.vgpr_block.into());
        let succeeds = allocated <= u32::from(self.vgprs);
        self.set_scc(succeeds);
        if succeeds {
            let old = std::mem::replace(&mut self.allocated, allocated as u16);
            if let Some(strict) = &mut self.strict {
                strict.undefine_vgprs(old.min(self.allocated)..old.max(self.allocated));
            }
        }
    }
    /// Records why the wave cannot go on.
    #[cold]
    pub fn fault(&mut self, kind: FaultKind, message: String) -> Flow {
        self.fault = Some(Box::new(Fault { message, lane: None, address: None, kind }));
        Flow::Fault
    }
    /// A bad memory access: a finding in strict mode, else the end.
    #[cold]
    pub fn bad_access(&mut self, mut kind: FindingKind, lane: Option<u32>, address: u64, mut message: String) -> Flow {
        if kind == FindingKind::OutOfBounds && self.memory.was_freed(address) {
            kind = FindingKind::UseAfterFree;
            message += ": it was freed before";
        }
        if let Some(strict) = &mut self.strict {
            if matches!(kind, FindingKind::OutOfBounds | FindingKind::UseAfterFree | FindingKind::Misaligned) {
                self.memory.note_end(address);
            }
            strict.report(kind, lane, Some(address), message);
            return Flow::Next;
        }
        // Nothing but a write is refused where memory is.
        let is_there =
            kind == FindingKind::OutOfBounds && self.memory.find(address).is_some_and(|span| !span.writable());
        let kind = if is_there { FaultKind::ReadOnly } else { FaultKind::Memory };
        self.fault = Some(Box::new(Fault { message, lane, address: Some(address), kind }));
        Flow::Fault
    }
    #[inline(always)]
    pub fn s64(&self, code: u8) -> u64 {
        let i = usize::from(code);
        u64::from(self.s[i]) | u64::from(self.s[(i + 1) & 255]) << 32
    }
    #[inline(always)]
    pub fn set_s64(&mut self, code: u8, value: u64) {
        let i = usize::from(code);
        self.s[i] = value as u32;
        self.s[(i + 1) & 255] = (value >> 32) as u32;
    }
    /// Waves of 32 lanes use the lower half of each row; their lane masks are one scalar register, and VCC_HI and
    /// EXEC_HI are registers like others.
    pub fn set_lanes(&mut self, lanes: u32) {
        self.lane_mask = if lanes == 32 { 0xffff_ffff } else { !0 };
    }
    /// 64 or 32.
    #[inline(always)]
    pub fn lanes(&self) -> u32 {
        if self.is_wave32() { 32 } else { 64 }
    }
    /// Halves of a row that its lanes use.
    #[inline(always)]
    pub fn halves(&self) -> Halves {
        1 + (self.lane_mask >> 63) as usize
    }
    /// A mask of them.
    #[inline(always)]
    pub fn all_lanes(&self) -> u64 {
        self.lane_mask
    }
    #[inline(always)]
    pub fn is_wave32(&self) -> bool {
        self.lane_mask >> 32 == 0
    }
    /// The active lanes.
    #[inline(always)]
    pub fn exec(&self) -> u64 {
        self.s64(scalar::EXEC) & self.lane_mask
    }
    #[inline(always)]
    pub fn set_exec(&mut self, exec: u64) {
        let kept = self.s64(scalar::EXEC) & !self.lane_mask;
        self.set_s64(scalar::EXEC, exec & self.lane_mask | kept);
    }
    /// A lane mask: one scalar register or two.
    #[inline(always)]
    pub fn mask(&self, code: u8) -> u64 {
        self.s64(code) & self.lane_mask
    }
    /// Writes a lane mask: one scalar register or two.
    #[inline(always)]
    pub fn set_mask(&mut self, code: u8, mask: u64) {
        self.s[usize::from(code)] = mask as u32;
        if !self.is_wave32() {
            self.s[(usize::from(code) + 1) & 255] = (mask >> 32) as u32;
        }
    }
    #[inline(always)]
    pub fn vcc(&self) -> u64 {
        self.mask(scalar::VCC)
    }
    #[inline(always)]
    pub fn scc(&self) -> bool {
        self.s[usize::from(scalar::SCC)] != 0
    }
    #[inline(always)]
    pub fn set_scc(&mut self, scc: bool) {
        self.s[usize::from(scalar::SCC)] = u32::from(scc);
    }
    /// A row to read. `index` comes from an [`Op`](crate::op::Op), whose builder has checked it.
    #[inline(always)]
    pub fn row(&self, index: u16) -> &Row {
        debug_assert!(usize::from(index) < rows::COUNT);
        // SAFETY: row indices of micro-ops are made by the lowering, from 8-bit register fields and the constants
        // of `rows`; `Builder::push` checks each against `rows::COUNT` (with room for the widest tuple).
        unsafe { self.rows.get_unchecked(usize::from(index)) }
    }
    #[inline(always)]
    pub fn row_mut(&mut self, index: u16) -> &mut Row {
        debug_assert!(usize::from(index) < rows::COUNT);
        // SAFETY: as in `row`.
        unsafe { self.rows.get_unchecked_mut(usize::from(index)) }
    }
    /// Writes a row in the lanes of EXEC.
    #[inline(always)]
    pub fn write(&mut self, dst: u16, value: &Row) {
        let exec = self.exec();
        self.write_masked(dst, value, exec);
    }
    /// Writes a row in the lanes of `mask`.
    #[inline(always)]
    pub fn write_masked(&mut self, dst: u16, value: &Row, mask: u64) {
        let d = self.row_mut(dst);
        match mask {
            u64::MAX => *d = *value,
            // A whole wave of 32 lanes.
            0xffff_ffff => d.0[..32].copy_from_slice(&value.0[..32]),
            _ => blend(d, value, mask),
        }
    }
    /// The row pair at `index`, low words first.
    #[inline(always)]
    pub fn pair(&self, index: u16) -> (&Row, &Row) {
        (self.row(index), self.row(index + 1))
    }
}

impl Default for Wave {
    fn default() -> Wave {
        Wave::new()
    }
}
