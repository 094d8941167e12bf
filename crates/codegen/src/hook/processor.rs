//! What compiling a hook has to know of a processor that neither LLVM nor isa's tables say: the one place of this module
//! that names generations.

use luthier_isa::{Field, Generation, Inst, Mode, Target, Wave, op::Op};

/// LLVM's feature string: the wave size where there is a choice, and scratch without a buffer resource.
///
/// What is not here: `-vopd`. LLVM takes a feature that is turned off for the end of all that imply it, the generation
/// included; dual instructions, whose register banks a renaming would break, are turned off by an option (see `compile`).
///
/// gfx1250 goes without literals of 64 bits. With them LLVM 22 makes of `~lt.u64(x)`, for an x that has fewer bits, a vector
/// operation whose upper half is any scalar register's value: SIFoldOperands takes `undef | -1` for `undef`.
pub fn features(mode: Mode) -> String {
    let size = match (mode.target().waves().len(), mode.wave()) {
        (..2, _) => "",
        (_, Wave::W32) => ",+wavefrontsize32,-wavefrontsize64",
        (_, Wave::W64) => ",+wavefrontsize64,-wavefrontsize32",
    };
    let literals = if mode.target().generation() == Generation::Gfx1250 { ",-64-bit-literals" } else { "" };
    format!("+enable-flat-scratch{size}{literals}")
}

/// The LLVM intrinsic of the cycle counter, an i64, and by how much it is multiplied.
///
/// RDNA3 has no counter of cycles but one of 20 bits, which is round in half a millisecond and says nothing of how often it
/// was. What does not come round is its clock of 100 MHz; 24 times that is about what a compute unit runs at.
pub fn clock(mode: Mode) -> (&'static str, u64) {
    match mode.target().generation() {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 | Generation::Gfx10 => ("llvm.amdgcn.s.memtime", 1),
        Generation::Gfx11 => (REALTIME, 24),
        Generation::Gfx12 | Generation::Gfx1250 => ("llvm.readcyclecounter", 1),
    }
}

/// The LLVM intrinsic of the counter whose frequency is the same all the time, an i64: `s_memrealtime`, or a message that
/// asks for it.
pub const REALTIME: &str = "llvm.readsteadycounter";

/// A field of a hardware register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HardwareField {
    id: u32,
    first: u32,
    bits: u32,
}

impl HardwareField {
    /// As `s_getreg` names it.
    pub fn immediate(self) -> u32 {
        self.id | self.first << 6 | (self.bits - 1) << 11
    }
}

/// Where hardware says which of its parts a wave runs on: HW_ID, from RDNA1 on HW_ID1, and XCC_ID of CDNA3. `None` where it
/// does not, or where that is not documented (the fields of gfx1250).
///
/// Sources: AMD's ISA manuals ("Hardware Registers", "HW_ID"); LLVM's AMDGPUAsmUtils for the numbers of the registers.
pub fn hardware_place(mode: Mode, name: &str) -> Option<HardwareField> {
    use Generation::{Gfx9, Gfx10, Gfx11, Gfx12, Gfx90a, Gfx940, Gfx1250};
    let generation = mode.target().generation();
    let early = generation.is_gfx9_family();
    let id = if early { 4 } else { 23 };
    let (first, bits) = match (name, generation) {
        ("hw_id", _) => (0, 32),
        ("hw_xcc", Gfx940) => return Some(HardwareField { id: 20, first: 0, bits: 4 }),
        (_, Gfx1250) => return None,
        ("hw_wave_slot", _) if early => (0, 4),
        ("hw_wave_slot", _) => (0, 5),
        ("hw_simd", _) if early => (4, 2),
        ("hw_simd", _) => (8, 2),
        ("hw_compute_unit", _) if early => (8, 4),
        ("hw_compute_unit", _) => (10, 4),
        ("hw_shader_array", _) if early => (12, 1),
        ("hw_shader_array", _) => (16, 1),
        // Four engines, of MI100 and later eight.
        ("hw_shader_engine", Gfx9) if mode.target() != Target::Gfx908 => (13, 2),
        ("hw_shader_engine", Gfx9 | Gfx90a | Gfx940) => (13, 3),
        ("hw_shader_engine", Gfx10) => (18, 2),
        ("hw_shader_engine", Gfx11 | Gfx12) => (18, 3),
        _ => return None,
    };
    Some(HardwareField { id, first, bits })
}

/// The instructions of `wave_atomic_add`, in assembly.
pub struct WaveAdd {
    /// Before scalar registers change, where other accesses of the hook may still be reading them.
    pub begin: &'static [&'static str],
    /// Between a VALU write of the SGPRs of the address and the access.
    pub address: &'static [&'static str],
    /// The add of 32 and of 64 bits.
    pub add: [&'static str; 2],
    /// The scope of the whole device, where the instruction says it.
    pub scope: &'static str,
    /// Behind the access, before what it reads changes.
    pub end: &'static [&'static str],
}

/// For each processor; LLVM looks for hazards in what it generates, not in assembly.
pub fn wave_add(mode: Mode) -> WaveAdd {
    let new = ["global_atomic_add_u32", "global_atomic_add_u64"];
    let old = ["global_atomic_add", "global_atomic_add_x2"];
    let none = WaveAdd { begin: &[], address: &[], add: new, scope: "", end: &[] };
    match mode.target().generation() {
        // A VALU result in SGPRs may be used as an address only five wait states later; two moves are in between. On
        // CDNA3 a VALU instruction may read it two wait states later, behind both scalar instructions.
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => {
            WaveAdd { address: &["s_nop 2"], add: old, ..none }
        }
        // Memory instructions may still be reading EXEC and the address (RDNA1; harmless on RDNA2).
        Generation::Gfx10 => {
            WaveAdd { begin: &["s_waitcnt_depctr 0xffe3"], add: old, end: &["s_waitcnt_depctr 0xffe3"], ..none }
        }
        Generation::Gfx11 => none,
        Generation::Gfx12 => WaveAdd { scope: " scope:SCOPE_DEV", ..none },
        // An access that has not been translated may be repeated: its registers have to stay until then.
        Generation::Gfx1250 => WaveAdd { scope: " scope:SCOPE_DEV", end: &["s_wait_xcnt 0x0"], ..none },
    }
}

/// What memory instructions want before EXEC changes behind them: the immediate of `s_waitcnt_depctr`.
pub fn before_exec(mode: Mode) -> Option<i64> {
    match mode.target().generation() {
        Generation::Gfx10 => Some(0xffe3u16.cast_signed().into()),
        _ => None,
    }
}

/// FLAT_SCRATCH is a pair of SGPRs that instructions name.
pub fn names_scratch_base(mode: Mode) -> bool {
    matches!(mode.target().generation(), Generation::Gfx9 | Generation::Gfx90a)
}

/// What LLVM puts in front of a shader for the wave's sake: a part is none, and the application has done it.
pub fn begins_wave(inst: &Inst) -> bool {
    // The mode in which an access that fails is repeated: bit 25 of MODE.
    const REPEATED: u32 = 1 | 25 << 6;
    inst.info().op() == Op::SSetregImm32B32 && inst.field(Field::Simm16) == Some(REPEATED) && inst.literal() == Some(1)
}

/// The name of EXEC where an LLVM intrinsic reads registers, and the bits that it has.
pub fn exec(mode: Mode) -> (&'static str, u32) {
    match mode.wave() {
        Wave::W64 => ("exec", 64),
        Wave::W32 => ("exec_lo", 32),
    }
}

/// How buffer resources differ. Sources: "Buffer Resource Descriptor" in the manuals, LLVM's SIInstrInfo.
pub struct Buffers {
    /// The lowest bit and the number of bits of what says that records are swizzled, in the first two words. Two bits say
    /// how long the elements are.
    pub swizzle: (u32, u32),
    /// Where the lane's number is added to the index, the bits of the data format belong to the stride.
    pub longer_stride: bool,
    /// Two bits say by how much the stride is shifted.
    pub stride_scales: Option<[u8; 4]>,
    /// The scalar offset is part of what is swizzled, not of the base.
    pub swizzles_scalar_offset: bool,
    pub bounds: Bounds,
}

/// What is outside of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bounds {
    /// One rule for all: of plain resources by bytes, of swizzled ones and those that add the lane's number by records.
    Fixed,
    /// Two bits of the resource choose the rule (OOB_SELECT).
    Selected,
    /// By bytes, in a resource whose fields lie elsewhere.
    Bytes,
}

pub fn buffers(mode: Mode) -> Buffers {
    let later = Buffers {
        swizzle: (62, 2),
        longer_stride: false,
        stride_scales: None,
        swizzles_scalar_offset: false,
        bounds: Bounds::Selected,
    };
    match mode.target().generation() {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => {
            Buffers { swizzle: (63, 1), longer_stride: true, bounds: Bounds::Fixed, ..later }
        }
        Generation::Gfx10 => Buffers { swizzle: (63, 1), ..later },
        Generation::Gfx11 => later,
        // Times 1, 4, 8 or 32.
        Generation::Gfx12 => Buffers { stride_scales: Some([0, 2, 3, 5]), swizzles_scalar_offset: true, ..later },
        Generation::Gfx1250 => {
            Buffers { stride_scales: Some([0, 2, 3, 5]), swizzles_scalar_offset: true, bounds: Bounds::Bytes, ..later }
        }
    }
}
