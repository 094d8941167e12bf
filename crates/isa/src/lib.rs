//! What an AMDGPU instruction is: decode, encode, operands, reads and writes.
//!
//! The *formats* (where each field of an encoding lies) are code; what differs from opcode to opcode and from
//! target to target (mnemonic, LLVM names, operand kinds and widths, implicit registers, flags) is data, generated
//! from LLVM's own tables by `cargo xtask gen-isa` and checked in under `tables/`.
//!
//! An [`Inst`] is its encoding plus a pointer to its [`OpcodeInfo`]; everything else is computed when asked for, so
//! that decoding a large code object costs a table look-up an instruction.
//!
//! What is legal is LLVM's word too: the tables say which bits an opcode leaves no choice in, and which codes each of its
//! fields may have. Decoding checks that, and no encoding is ever made that does not decode to itself.
//!
//! The tests' oracle is llvm-objdump: every instruction of the corpus of real code objects, a vector for each opcode, and
//! near-miss and arbitrary words, where the few differences are listed with their reasons (`tests/random.rs`).
//!
//! | module | one idea |
//! |---|---|
//! | [`reg`] | 32-bit register units, tuples of them, and sets |
//! | [`op`] | what an instruction does, whatever it is called and however it is encoded |
//! | [`opcode`] | what the tables say of an opcode |
//! | [`field`] | the named fields of the encodings |
//! | [`mod@format`] | the encoding formats |
//! | [`generation`] | processors whose encodings and texts follow the same rules |
//! | [`layout`] | where each field of each format lies, by generation |
//! | [`inst`] | a decoded instruction, and making or changing one |
//! | `half` | operands that name 16 bits of a register |
//! | `decode`, `codes`, `print` | choosing the opcode, what source codes name, the text; with a module for each family |
//! | [`access`], `access_plan` | which register units an instruction reads and writes, and how surely |
//! | [`memory`] | which memory an instruction reaches, and how many bytes of it |
//! | [`hazard`] | pairs of instructions that software has to keep apart |
//! | [`msb`] | which of gfx1250's 1024 VGPRs an operand is |
//! | [`wait`] | the counters of outstanding operations, what counts on them, and what waits for them |
//! | [`target`] | the processors, and the wave sizes that code is made for |

pub mod access;
mod access_plan;
mod codes;
mod decode;
pub mod field;
pub mod format;
pub mod generation;
mod half;
pub mod hazard;
pub mod inst;
pub mod layout;
pub mod memory;
pub mod msb;
pub mod op;
pub mod opcode;
mod operand;
mod places;
mod print;
pub mod reg;
mod tables;
pub mod target;
pub mod wait;
mod work;

pub use access::{Access, RegAccess};
pub use access_plan::AccessPlan;
pub use decode::Decoder;
pub use field::Field;
pub use generation::Generation;
pub use inst::{DecodeError, EncodeError, Inst};
pub use memory::{MemoryAccess, Places, Space};
pub use msb::{MsbChange, VgprMsb};
pub use op::Op;
pub use opcode::{DataType, File, Flags, Format, Modifiers, OpcodeId, OpcodeInfo, OperandInfo};
pub use operand::Operand;
pub use reg::{Part, Reg, RegRange, RegSet};
pub use target::{Mode, OtherHalf, Target, Wave};
pub use wait::{Counter, Wait};
pub use work::Flops;
