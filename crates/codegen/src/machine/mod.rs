//! What a processor is to placement: its register files and what they cost, the operations that move, save and restore
//! every kind of state, waits, and hazards at a seam.
//!
//! Outside this module (and the hook compiler's table of LLVM features) nothing in this crate names a processor or a
//! generation.
//!
//! | module | one idea |
//! |---|---|
//! | [`convention`] | what a called function may change |
//! | [`cures`] | what waits for what hazards ask for |
//! | [`entry`] | kernels that ask for more than their code does |
//! | `initial` | what a wave finds in its registers |
//! | [`known`] | instructions that were built lately, and what hazards make of them |
//! | [`operations`] | the instructions that placement writes itself |
//! | [`registers`] | how many registers a wave gets, how far that may grow, what growing costs |
//! | [`scratch`] | scratch of our own |
//! | [`special`] | state that is in no register file, and how it is kept |

pub mod convention;
pub mod cures;
pub mod entry;
mod initial;
pub mod known;
pub mod operations;
pub mod registers;
pub mod scratch;
pub mod special;

use luthier_isa::op::Op;
use luthier_isa::wait::Wait;
use luthier_isa::{EncodeError, Flags, Format, Generation, Inst, Mode, Operand, Reg, RegRange, Wave};

pub use operations::{NoInstruction, Operations};

/// One processor in one wave size.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub mode: Mode,
    pub ops: Operations,
}

impl Machine {
    /// # Errors
    /// Placement has no rules for the processor.
    pub fn of(mode: Mode) -> Result<Machine, NoInstruction> {
        Ok(Machine { mode, ops: Operations::of(mode)? })
    }

    pub fn processor(&self) -> &'static str {
        self.mode.target().name()
    }

    /// Lanes of a wave.
    pub fn lanes(&self) -> u8 {
        self.mode.wave().lanes() as u8
    }

    /// The instructions that wait for memory results.
    pub fn wait(&self, wait: Wait) -> Result<Vec<Inst>, EncodeError> {
        wait.instructions(self.mode)
    }

    /// Moves to and from accumulators take every lane, whatever EXEC is (CDNA1).
    pub fn accumulator_moves_take_all_lanes(&self) -> bool {
        self.ops.v_accvgpr_read_b32.is_some_and(|info| info.flags.contains(Flags::IGNORES_EXEC))
    }

    /// A scalar that a vector instruction has read stays marked whatever else is read (RDNA4).
    pub fn remembers_scalar_reads(&self) -> bool {
        self.mode.target().generation() == Generation::Gfx12
    }

    /// What makes it forget the scalars that vector instructions have read, where code that knows nothing of that may
    /// otherwise read a later write of one too early.
    pub fn forget_scalar_reads(&self) -> Result<Vec<Inst>, EncodeError> {
        let missing = |op: Op| EncodeError::NoOperand { mnemonic: op.name(), has: 0, index: 0 };
        if !self.remembers_scalar_reads() {
            // Reads of masks are forgotten when a vector instruction reads something else: this one gives nothing.
            let info = self.mode.encoded(Op::VCmpEqU32, Format::Vop3a).ok_or(missing(Op::VCmpEqU32))?;
            let exec = RegRange::new(Reg::EXEC_LO, 1);
            return Ok(vec![Inst::build(
                info,
                &[operations::NULL, Operand::Reg(exec), Operand::Literal(0x1234_5678)],
            )?]);
        }
        let nop = Inst::new(self.mode.plain(Op::DsNop).ok_or(missing(Op::DsNop))?);
        Ok(vec![nop; if self.mode.wave() == Wave::W64 { 8 } else { 4 }])
    }

    /// EXEC, as wide as a lane mask is.
    pub fn exec(&self) -> RegRange {
        self.mask(Reg::EXEC_LO)
    }

    /// VCC, as wide as a lane mask is.
    pub fn vcc(&self) -> RegRange {
        self.mask(Reg::VCC_LO)
    }

    fn mask(&self, first: Reg) -> RegRange {
        RegRange::new(first, if self.mode.wave() == Wave::W32 { 1 } else { 2 })
    }
}
