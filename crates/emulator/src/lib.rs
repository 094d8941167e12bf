//! The mock device: what a kernel computes.
//!
//! # How an instruction is executed
//!
//! Code is translated lazily, a basic block at a time: from any entry address up to the next branch. Each
//! instruction becomes some micro-ops ([`op::Op`]; none, if it has nothing to do here), each a function pointer and
//! operands resolved to *rows* of the wave's vector file ([`registers::Row`], `[u32; 64]`) or to scalar codes. The loop is
//! then `(op.run)(&mut wave, op)`, whole waves at a time.
//!
//! The lowering ([`lower`]) makes all vector sources rows:
//! * a VGPR or AGPR: its row;
//! * an inline constant: a row of the constants that every wave carries;
//! * an SGPR, a literal, a 64-bit constant: a `splat` micro-op fills a temporary row (or pair);
//! * SDWA: a `select` micro-op extracts the byte or word into a temporary row; the destination is merged afterwards;
//! * DPP: a `permute` micro-op fills a temporary row and narrows EXEC to the lanes that are written; EXEC is put
//!   back afterwards;
//! * neg and abs, op_sel, op_sel_hi of packed operands: a micro-op on a temporary row. Packed handlers see low half
//!   from low half, high from high;
//! * floating-point clamp and omod: micro-ops after the handler, which then writes a temporary row.
//!
//! # How to write a vector operation
//!
//! ```ignore
//! struct AddF32;
//! impl Semantics for AddF32 {
//!     #[inline(always)]
//!     fn run(w: &mut Wave, op: &Op) -> Flow {
//!         if w.mode.host32() {
//!             lanes::map2(w, op, |a, b| (f32::from_bits(a) + f32::from_bits(b)).to_bits())
//!         } else {
//!             let mode = w.mode;
//!             lanes::map2(w, op, |a, b| fp::add32(mode, a, b))
//!         }
//!     }
//! }
//! pub fn lookup(op: IsaOp) -> Option<ValuOp> { match op { IsaOp::VAddF32 => Some(ValuOp::of::<AddF32>()), .. } }
//! ```
//!
//! * `op.src[k]` is the row of the isa operand in `Src0`/`Src1`/`Src2` (or SDWA's S0, `Vsrc0`...), in that order,
//!   whatever their order in the text; `*rev` operations swap by themselves. A 64-bit operand is the row pair `r`,
//!   `r + 1` (low word first), wider tuples likewise.
//! * `op.dst` is the destination row; write through [`wave::Wave::write`] (`write64`), which respects EXEC.
//!   v_mac and the like (`ValuOp::accumulates`) get their destination as `op.src[2]` as well; madmk and madak get
//!   their literal as a row: `op.src` is in the order of the operation's formula operands as the text has them.
//! * `op.sdst` is the scalar code of a mask destination (VOPC, carry out, `v_div_scale`'s VCC), a pair read with
//!   `w.s64`, written with `w.set_s64`; `v_readlane` writes `w.s[op.sdst]`. VOPX (`v_cmpx`) writes EXEC as well as
//!   sdst: the handler does both.
//! * `op.ssrc` is the scalar code of a mask source (`v_addc` carry in, `v_cndmask`, `v_div_fmas`'s VCC).
//! * `op.flags` has CLAMP for integer operations only.
//! * Floating-point modes come from `w.mode` ([`mode::Mode`]): test `host32()` or `host16_64()` for the fast path.
//!
//! Handlers are compiled three times (baseline, AVX2, AVX-512) and chosen when a block is translated, by
//! [`op::Variants`]; write plain loops over `[u32; 64]` and mark everything `#[inline(always)]`.
//!
//! # How a launch runs
//!
//! [`Device::launch`] builds what the packet processor would ([`dispatch`]), and workers ([`sched`]) run workgroups,
//! the waves of each in time slices. Translated [`code`] is the device's; a [`program`] is one worker's view of it, which
//! counts how often each block ran, from which the reports' instruction counts and histograms follow. In strict mode
//! every instruction has a micro-op before it that checks its registers ([`strict`]).
//!
//! RDNA's waves of 32 lanes use the lower half of each row; their lane masks are one scalar register
//! ([`wave::Wave::set_mask`]). gfx1250's VGPRs from v256 on have the rows that AGPRs have elsewhere and those behind; which
//! of them an instruction means depends on MODE, by which blocks are told apart besides their address. Strict mode does
//! not judge waits for the answers of s_sendmsg_rtn, of a barrier's state, or for what its signals bring to SCC.
//!
//! What is not there (docs/audit/device-coverage.md has every name): GDS, mip levels of textures, exports, traps. An
//! instruction that is not implemented stops the launch with its name and address.
//!
//! | module | one idea |
//! |---|---|
//! | [`device`] | memory, modules, launches |
//! | [`packet`] | launches of code that is in a host's memory already |
//! | [`dispatch`] | the initial state of a wave |
//! | [`hostcall`], `services` | what kernels ask of their host: printing, memory; what of it a launch has |
//! | [`shared`] | what the workers of a launch share |
//! | [`sched`], [`schedule`] | workers, workgroups, time slices; in which order |
//! | [`outcome`] | what workers bring home, and why a launch was stopped |
//! | [`interleave`], [`choose`], `meets` | one wave at a time, each turn chosen; where choices are |
//! | [`stage`], `moments`, `image` | a launch that stops anywhere, and goes back; what is kept for that; memory as it was |
//! | [`explore`] | one launch under many schedules, or all |
//! | [`weak`] | caches and stores under way, for schedules that ask for them |
//! | [`code`], `translate` | blocks of translated code, once for a device; how they are made |
//! | [`program`] | one worker's view of them: running, counting |
//! | [`probe`] | what happens before instructions beside them: poison, watching, strict mode |
//! | [`lower`] | instructions to micro-ops |
//! | `native`, `joined` | native code for hot blocks; for two of them, with the branch between them |
//! | [`op`] | micro-ops and their handlers |
//! | [`registers`] | rows of vector registers, codes of scalar ones, constants |
//! | [`wave`], [`mode`], `spare` | the state of a wave, the MODE register, register files without a wave |
//! | [`lanes`], [`masks`] | whole-wave loops, lane masks |
//! | [`registry`] | how families contribute operations |
//! | [`valu`], [`matrix`], [`fp`] | vector arithmetic |
//! | `repeated` | long instructions that waves of a workgroup repeat |
//! | [`scalar`] | scalar operations |
//! | [`memory`], [`buffer`], [`lds`] | device memory, what backs it, a workgroup's LDS |
//! | [`barrier`] | the barriers of a workgroup, and of a cluster of them |
//! | [`gws`], `meeting` | global wave sync; where workers wait for it |
//! | [`pool`](pool()), `attention` | the threads of workgroups; how a launch is interrupted |
//! | [`mem`] | memory instructions |
//! | [`strict`], [`report`] | what strict mode checks, what a launch reports |
//! | [`poison`] | overwriting registers that are claimed to be dead |
//! | [`coverage`](mod@coverage) | which opcodes are implemented |
//! | [`environment`] | what the environment may say |
//! | [`error`] | why the device refuses or stops |

// Loops over lanes index several rows by lane.
#![allow(clippy::needless_range_loop)]
mod attention;
pub mod barrier;
mod batch;
pub mod buffer;
pub mod choose;
pub mod code;
pub mod coverage;
mod crossing;
pub mod device;
pub mod dispatch;
pub mod environment;
pub mod error;
pub mod explore;
pub mod facts;
pub mod fp;
pub mod gws;
pub mod hostcall;
mod image;
pub mod interleave;
#[cfg(target_arch = "x86_64")]
mod joined;
pub mod lanes;
pub mod launch;
pub mod lds;
pub mod level;
pub mod lower;
pub mod masks;
pub mod matrix;
mod meeting;
mod meets;
pub mod mem;
pub mod memory;
pub mod mode;
mod moments;
#[cfg(target_arch = "x86_64")]
mod native;
pub mod observe;
pub mod op;
pub mod outcome;
pub mod packet;
pub mod poison;
mod pool;
pub mod probe;
pub mod program;
pub mod registers;
pub mod registry;
mod repeated;
pub mod report;
pub mod scalar;
pub mod sched;
pub mod schedule;
mod services;
pub mod session;
pub mod shared;
mod source;
mod spare;
pub mod stage;
pub mod start;
pub mod strict;
mod translate;
pub mod valu;
mod watchdog;
pub mod wave;
pub mod weak;
pub mod workgroup;

pub use coverage::{Coverage, coverage};
pub use device::{Device, DeviceConfig, ModuleId};
pub use error::EmuError;
pub use facts::{TARGETS, devices_for};
pub use hostcall::Printed;
pub use launch::{Launch, Strict};
pub use observe::Observed;
pub use packet::Packet;
pub use poison::{Dead, Poison};
pub use pool::{pool, prepare_for_forks};
pub use report::{Extent, Finding, FindingKind, Kinds, LaunchReport, OtherParty, Reached, SourceFrame};
pub use schedule::{Pct, Schedule};
pub use strict::race::footprint::{Conflict, Footprint, Touched};
pub use watchdog::Progress;
