//! What a kernel does: functions, blocks, edges, calls, live registers.
//!
//! The problem: a code object is bytes and a few symbols, and a tool that changes its code has to know where control may
//! go and which registers hold something, without the relocations or the compiler that would say it.
//!
//! Invariants:
//! - Nothing is guessed. What cannot be settled is in [`Program::issues`], the function concerned is refused
//!   ([`Function::refusal`]) if its code is not understood, and every analysis takes the unknown for everything.
//! - No input makes this crate panic, and cost grows linearly with the code.
//! - Tables are structures of arrays with dense ids, by address: a function's blocks are consecutive, a block's
//!   instructions too. An instruction takes under 200 bytes, everything included.
//!
//! | module | one idea |
//! |---|---|
//! | [`ids`] | dense numbers of functions, blocks and instructions |
//! | [`error`] | why an object is not lifted, and what is left open in one that is |
//! | [`program`] | the lifted object |
//! | `seeds`, `gaps` | the functions that symbols name; what is left of the code |
//! | `lift` | from an object to a program: rounds of decoding and tracking |
//! | `decode` | bytes to instructions, in a row or as reached |
//! | `flow` | a function's instructions to blocks and edges |
//! | `class` | what the analyses need to know of an opcode |
//! | `values`, `track`, `sums`, `scratch`, `clobbers` | value tracking: calls and jumps through registers, PC-relative values |
//! | `upper` | which of gfx1250's 1024 VGPRs the instructions name |
//! | `place`, [`pcrel`] | what lies at an address; which addresses code forms |
//! | `assemble` | functions' tables to the program's |
//! | [`why`] | why a target is not known |
//! | `worklist` | blocks that an analysis has yet to look at |
//! | [`graph`] | who calls whom, which functions share a wave, which registers they use |
//! | `taken` | which functions something may hold the address of |
//! | [`loops`], `dominators` | which blocks go round |
//! | [`mask`], `exec` | what is known of EXEC |
//! | [`ways`], [`hazards`] | the last instructions in front of a block; instructions that come too early behind others |
//! | [`pending`], `wait` | memory results that may still be under way, and the counters of them |
//! | [`live`] | live registers, per lane side |
//! | `origin` | instrumented code: the application's instructions and the inserted ones |
//! | [`listing`], [`export`], [`mir`] | annotated text, JSON, DOT, LLVM MIR |

mod assemble;
mod class;
mod clobbers;
mod decode;
mod dominators;
mod ends;
pub mod error;
mod exec;
pub mod export;
mod flow;
mod gaps;
pub mod graph;
pub mod hazards;
pub mod ids;
mod lift;
pub mod listing;
pub mod live;
pub mod loops;
pub mod mask;
pub mod mir;
mod origin;
pub mod pcrel;
pub mod pending;
mod place;
pub mod program;
mod scratch;
mod seeds;
mod sums;
mod taken;
mod track;
mod upper;
mod values;
pub mod ways;
pub mod why;
mod worklist;

pub use error::{Issue, IssueKind, LiftError};
pub use graph::RegisterCounts;
pub use ids::{BlockId, BlockIds, FuncId, IdRange, InstrId, InstrIds};
pub use listing::Line;
pub use live::{Live, Liveness, Point, Points};
pub use loops::{Loop, LoopForest, LoopId};
pub use luthier_isa::{Counter, Wait};
pub use mask::{ExecState, ExecStates};
pub use mir::{Mir, MirPlace};
pub use origin::Origin;
pub use pcrel::{PcValue, Place};
pub use pending::{InFlight, PendingLoads};
pub use program::{Block, Call, Exit, Function, FunctionKind, Gap, GapKind, Program, Resolution, Terminator};
pub use why::Unresolved;
