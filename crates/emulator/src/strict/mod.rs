//! Strict mode: what an adversarial device would make of a kernel.
//!
//! Before each instruction a micro-op ([`before`]) checks its registers:
//! * A register that a load in flight may still write is *pending* until a wait guarantees the load ([`waits`]).
//!   Reading or writing a pending register is a finding.
//! * Values that nothing has written are *undefined*, bit by bit ([`shadow`]). Undefinedness follows the data through
//!   moves, logic and arithmetic, as it may (compilers copy, merge and spill undefined values freely); it is a finding
//!   where it decides something: an address, EXEC, a branch, a matrix operation, what is stored to global memory.
//! * Some pairs of instructions must be kept apart by software ([`hazards`]); a pair that is not is a finding.
//!
//! Memory checks are made where memory is accessed, and reported here as well.

mod checked;
mod hazards;
mod shadow;
mod waits;

use std::collections::HashSet;

pub use checked::Checked;
use hazards::Hazards;
use shadow::Shadow;
use waits::Waits;

use crate::op::{Flow, Op};
use crate::report::FindingKind;
use crate::wave::{Wave, scalar};

/// A finding before the launch adds where it was made.
#[derive(Clone, Debug)]
pub struct RawFinding {
    pub kind: FindingKind,
    pub pc: u64,
    pub lane: Option<u32>,
    pub address: Option<u64>,
    pub message: String,
}

/// What strict mode knows of a wave.
#[derive(Default)]
pub struct Strict {
    log: Log,
    shadow: Shadow,
    waits: Waits,
    hazards: Hazards,
}

/// Findings so far; one of each kind at each place.
#[derive(Default)]
struct Log {
    findings: Vec<RawFinding>,
    seen: HashSet<(FindingKind, u64)>,
    pc: u64,
}

impl Log {
    #[cold]
    fn report(&mut self, kind: FindingKind, lane: Option<u32>, address: Option<u64>, message: String) {
        if self.seen.insert((kind, self.pc)) {
            self.findings.push(RawFinding { kind, pc: self.pc, lane, address, message });
        }
    }
}

impl Strict {
    /// A finding at the instruction that is being executed.
    pub fn report(&mut self, kind: FindingKind, lane: Option<u32>, address: Option<u64>, message: String) {
        self.log.report(kind, lane, address, message);
    }
    pub fn into_findings(self) -> Vec<RawFinding> {
        self.log.findings
    }
    /// The dispatch has set this scalar.
    pub fn define_scalar(&mut self, code: u8) {
        self.shadow.define_scalar(code);
    }
    /// These lanes of v`n` are set.
    pub fn define_lanes(&mut self, n: usize, lanes: u64) {
        self.shadow.define_lanes(n, lanes);
    }
    /// A FLAT instruction is about to access memory in some lanes and LDS in others: only those counters matter.
    pub fn flat_lanes(&mut self, memory: u64, lds: u64) {
        self.waits.flat_lanes(memory != 0, lds != 0);
    }
}

/// The micro-op before each instruction; `imm` points at its [`Checked`].
pub fn before(w: &mut Wave, op: &Op) -> Flow {
    // SAFETY: the block that holds this op holds the boxed `Checked` too, and neither moves nor drops it while the
    // op can run.
    let checked = unsafe { &*(op.imm as *const Checked) };
    let Some(mut strict) = w.strict.take() else { return Flow::Next };
    strict.log.pc = checked.pc;
    strict.waits.check(checked, &mut strict.log);
    strict.hazards.check(&checked.hazards, &mut strict.log);
    strict.shadow.check(w, checked, &mut strict.log);
    w.strict = Some(strict);
    Flow::Next
}

/// The scalars that every wave starts with, whatever its descriptor says.
pub const ALWAYS_DEFINED: [u8; 3] = [scalar::EXEC, scalar::EXEC + 1, scalar::SCC];
