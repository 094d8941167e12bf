//! Micro-operations: what the lowering turns an instruction into.
//!
//! An instruction becomes one or more [`Op`]s in a row. Splitting keeps the handlers small: a handler of
//! `v_add_f32` sees two source rows and a destination row, whatever the operands were (a broadcast SGPR, a literal,
//! an SDWA byte, a DPP permutation, a negated value), because micro-ops before it have put those into temporary
//! rows; clamp, omod and SDWA merging are micro-ops after it.

use luthier_isa::op::Op as IsaOp;

use crate::level::{Level, level};
use crate::wave::Wave;

/// What follows a micro-op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Flow {
    /// The next micro-op of the block.
    Next,
    /// The branch at the end of the block is taken.
    Taken,
    /// The branch is not taken, or the block just ends.
    Fall,
    /// The block at `wave.pc`.
    Jump,
    /// Another wave may run; this one goes on at the next micro-op.
    Yield,
    /// Wait at the workgroup's barrier.
    Barrier,
    /// The wave has ended.
    End,
    /// `wave.fault` says why the launch must stop.
    Fault,
}

/// Executes one micro-op.
///
/// # Safety
/// The processor has the features that the handler was compiled for ([`Variants::select`] sees to it), and the op's
/// row indices are within the vector file (the lowering's [`Builder::push`](crate::lower::Builder::push) checks).
pub type Handler = unsafe fn(&mut Wave, &Op) -> Flow;

/// A pre-decoded micro-operation.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Op {
    pub run: Handler,
    /// Destination row (vector operations).
    pub dst: u16,
    /// Source rows (vector) or scalar codes (scalar operations).
    pub src: [u16; 3],
    /// Immediate, literal, offset: the handler's to define. For `raw_mods` operations, [`RawMods`] bits.
    pub imm: u64,
    pub imm2: u64,
    /// Scalar destination code: VOPC's mask, the carry out of `v_add_co`, `v_readlane`'s SGPR.
    pub sdst: u8,
    /// Scalar source code of a lane mask: carry in, `v_cndmask`'s selector.
    pub ssrc: u8,
    pub flags: OpFlags,
    /// Which instruction of its block this micro-op belongs to.
    pub inst: u16,
    /// What it does, for who makes something else of it than a call of `run`.
    pub kind: Kind,
}

/// What a micro-op does: an operation of the instruction set, or a step of the lowering's around one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind(u16);

impl Kind {
    /// `run` alone knows.
    pub const OPAQUE: Kind = Kind(u16::MAX);
    /// See [`crate::lower`] for what these are.
    pub const SPLAT: Kind = Kind(u16::MAX - 1);
    pub const SPLAT_CONSTANT: Kind = Kind(u16::MAX - 2);
    pub const COPY: Kind = Kind(u16::MAX - 3);
    pub const AND_XOR: Kind = Kind(u16::MAX - 4);
    pub const EXTRACT: Kind = Kind(u16::MAX - 5);
    /// Words between LDS and rows, one access a lane or two: [`crate::mem::ds_words`].
    pub const DS_WORDS: Kind = Kind(u16::MAX - 6);
    pub const DS_WORDS_TWICE: Kind = Kind(u16::MAX - 7);
    /// Whole words between device memory and rows, where an offset from a scalar base has no sign:
    /// [`crate::mem::global_words`].
    pub const GLOBAL_WORDS: Kind = Kind(u16::MAX - 8);
    /// The same where it has one.
    pub const GLOBAL_WORDS_SIGNED: Kind = Kind(u16::MAX - 14);
    /// Bytes or halves of words between device memory or LDS and rows, one access a lane: [`crate::mem::flat`],
    /// [`crate::mem::ds`].
    pub const GLOBAL_PARTS: Kind = Kind(u16::MAX - 16);
    pub const GLOBAL_PARTS_SIGNED: Kind = Kind(u16::MAX - 17);
    pub const DS_PARTS: Kind = Kind(u16::MAX - 18);
    /// Words, or parts of one, between a buffer and rows, at offsets in a row: [`crate::mem::buffer`].
    pub const BUFFER: Kind = Kind(u16::MAX - 19);
    /// A wait that orders stores before what comes next: [`crate::scalar::wait`].
    pub const FENCE: Kind = Kind(u16::MAX - 10);
    /// MODE gets the upper bits of VGPR numbers that are in `imm` ([`crate::lower`]).
    pub const SET_MSB: Kind = Kind(u16::MAX - 15);
    /// The f32 modifiers behind an operation.
    pub const MODIFY32: Kind = Kind(u16::MAX - 9);
    /// A result of 16 or 8 bits takes its place in a register, and halves that are chosen and negated: see [`crate::lower`].
    pub const MERGE: Kind = Kind(u16::MAX - 20);
    pub const PICK_HALVES: Kind = Kind(u16::MAX - 21);
    /// DPP, and the end of what it narrows EXEC for: see [`crate::lower`].
    pub const PERMUTE: Kind = Kind(u16::MAX - 11);
    pub const PERMUTE_EIGHT: Kind = Kind(u16::MAX - 12);
    pub const RESTORE_EXEC: Kind = Kind(u16::MAX - 13);

    /// Whether it moves something between device memory and rows.
    pub fn is_of_memory(self) -> bool {
        const ALL: [Kind; 5] = [
            Kind::GLOBAL_WORDS,
            Kind::GLOBAL_WORDS_SIGNED,
            Kind::GLOBAL_PARTS,
            Kind::GLOBAL_PARTS_SIGNED,
            Kind::BUFFER,
        ];
        ALL.contains(&self)
    }

    pub const fn of(operation: IsaOp) -> Kind {
        Kind(operation as u16)
    }

    /// The operation, if it is one, on sources in rows.
    pub fn operation(self) -> Option<IsaOp> {
        IsaOp::all().get(usize::from(self.0)).copied()
    }
}

bitflags::bitflags! {
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct OpFlags: u16 {
        /// Integer operations: saturate. (Floating-point clamping is a micro-op of its own.)
        const CLAMP = 1 << 0;
        /// The scalar source `k` is the 32-bit literal in `imm`.
        const LIT0 = 1 << 1;
        const LIT1 = 1 << 2;
        /// Eight-bit floats are "FNUZ" ones ([`crate::fp::small`]): gfx942.
        const FNUZ = 1 << 3;
        /// Matrix operations compute as CDNA1 does: gfx908.
        const CDNA1 = 1 << 4;
        /// ... or as CDNA3 and CDNA4.
        const CDNA3 = 1 << 5;
        /// LDS compare-and-swap: the new value comes before what to compare with.
        const NEW_FIRST = 1 << 6;
        /// Eight-bit floats with a fraction of three bits are E5M3 ([`crate::fp::small`]): gfx1250, by the clamp bit.
        const E5M3 = 1 << 7;
        /// The transcendental unit's bits are not known: results are the nearest ones.
        const NEAREST = 1 << 8;
    }
}

/// The modifiers of a `raw_mods` operation in `imm`: neg \[2:0\], abs or neg_hi \[5:3\], op_sel \[9:6\], op_sel_hi \[12:10\],
/// clamp 13, omod \[15:14\], cbsz \[18:16\], abid \[22:19\], blgp \[25:23\].
#[derive(Clone, Copy, Debug, Default)]
pub struct RawMods(pub u64);

impl RawMods {
    pub const fn neg(self, k: u32) -> bool {
        self.0 >> k & 1 != 0
    }
    /// VOP3: absolute value. VOP3P: negate the high half.
    pub const fn abs(self, k: u32) -> bool {
        self.0 >> (3 + k) & 1 != 0
    }
    pub const fn op_sel(self, k: u32) -> bool {
        self.0 & RawMods::op_sel_bit(k) != 0
    }
    pub const fn op_sel_bit(k: u32) -> u64 {
        1 << (6 + k)
    }
    pub const fn op_sel_hi(self, k: u32) -> bool {
        self.0 >> (10 + k) & 1 != 0
    }
    pub const fn clamp(self) -> bool {
        self.0 >> 13 & 1 != 0
    }
    pub const fn omod(self) -> u32 {
        (self.0 >> 14 & 3) as u32
    }
    pub const fn cbsz(self) -> u32 {
        (self.0 >> 16 & 7) as u32
    }
    pub const fn abid(self) -> u32 {
        (self.0 >> 19 & 15) as u32
    }
    pub const fn blgp(self) -> u32 {
        (self.0 >> 23 & 7) as u32
    }
}

/// One operation's semantics, written once; [`Variants::of`] compiles it for several processors.
///
/// `run` must be `#[inline(always)]`, and so must what it calls, or the wider variants gain nothing.
pub trait Semantics {
    /// What its micro-ops are to others.
    const KIND: Kind = Kind::OPAQUE;
    fn run(w: &mut Wave, op: &Op) -> Flow;
}

/// The same handler compiled for the baseline, AVX2 and AVX-512 processors.
#[derive(Clone, Copy)]
pub struct Variants {
    base: Handler,
    #[cfg(target_arch = "x86_64")]
    avx2: Handler,
    #[cfg(target_arch = "x86_64")]
    avx512: Handler,
}

/// Nothing to require: safe to call on every processor.
unsafe fn base<S: Semantics>(w: &mut Wave, op: &Op) -> Flow {
    S::run(w, op)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx2<S: Semantics>(w: &mut Wave, op: &Op) -> Flow {
    S::run(w, op)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd")]
unsafe fn avx512<S: Semantics>(w: &mut Wave, op: &Op) -> Flow {
    S::run(w, op)
}

impl Variants {
    /// The three variants; in development builds and for this crate's unit tests the baseline alone, which is ready so much
    /// sooner. (All other tests run the others.)
    pub const fn of<S: Semantics>() -> Variants {
        if cfg!(any(debug_assertions, test)) {
            return Variants::scalar::<S>();
        }
        Variants {
            #[cfg(target_arch = "x86_64")]
            avx512: avx512::<S>,
            ..Variants::up_to_avx2::<S>()
        }
    }
    /// Two variants: for operations whose own vectors need no more than AVX2, as what they call has its own for AVX-512. They are
    /// as large as the others.
    pub const fn up_to_avx2<S: Semantics>() -> Variants {
        if cfg!(any(debug_assertions, test)) {
            return Variants::scalar::<S>();
        }
        Variants {
            base: base::<S>,
            #[cfg(target_arch = "x86_64")]
            avx2: avx2::<S>,
            #[cfg(target_arch = "x86_64")]
            avx512: avx2::<S>,
        }
    }
    /// Only the baseline variant: for scalar, control-flow and memory operations, which wider vectors do not help.
    pub const fn scalar<S: Semantics>() -> Variants {
        Variants {
            base: base::<S>,
            #[cfg(target_arch = "x86_64")]
            avx2: base::<S>,
            #[cfg(target_arch = "x86_64")]
            avx512: base::<S>,
        }
    }
    /// The best variant for the processor that we run on.
    pub fn select(self) -> Handler {
        #[cfg(target_arch = "x86_64")]
        match level() {
            Level::Avx512 => return self.avx512,
            Level::Avx2 => return self.avx2,
            Level::Base => {}
        }
        self.base
    }
}
