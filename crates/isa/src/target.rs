//! The processors, and the wave sizes that their code runs in.

use crate::generation::Generation;
use crate::tables::{self, Tables};
use crate::{OpcodeId, OpcodeInfo};

macro_rules! targets {
    ($($variant:ident $name:literal $generation:ident;)*) => {
        /// A processor, by LLVM's name of it. Whether its instructions are known, [`Target::has_tables`] tells.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum Target { $($variant),* }

        impl Target {
            pub const ALL: &[Target] = &[$(Target::$variant),*];

            /// LLVM's processor name, without features: `gfx90a`.
            pub const fn name(self) -> &'static str {
                match self { $(Target::$variant => $name),* }
            }

            pub const fn generation(self) -> Generation {
                match self { $(Target::$variant => Generation::$generation),* }
            }
        }
    };
}

targets! {
    Gfx900 "gfx900" Gfx9;
    Gfx902 "gfx902" Gfx9;
    Gfx904 "gfx904" Gfx9;
    Gfx906 "gfx906" Gfx9;
    Gfx908 "gfx908" Gfx9;
    Gfx909 "gfx909" Gfx9;
    Gfx90c "gfx90c" Gfx9;
    Gfx9Generic "gfx9-generic" Gfx9;
    Gfx90a "gfx90a" Gfx90a;
    Gfx942 "gfx942" Gfx940;
    Gfx950 "gfx950" Gfx940;
    Gfx9_4Generic "gfx9-4-generic" Gfx940;
    Gfx1010 "gfx1010" Gfx10;
    Gfx1011 "gfx1011" Gfx10;
    Gfx1012 "gfx1012" Gfx10;
    Gfx1013 "gfx1013" Gfx10;
    Gfx10_1Generic "gfx10-1-generic" Gfx10;
    Gfx1030 "gfx1030" Gfx10;
    Gfx1031 "gfx1031" Gfx10;
    Gfx1032 "gfx1032" Gfx10;
    Gfx1033 "gfx1033" Gfx10;
    Gfx1034 "gfx1034" Gfx10;
    Gfx1035 "gfx1035" Gfx10;
    Gfx1036 "gfx1036" Gfx10;
    Gfx10_3Generic "gfx10-3-generic" Gfx10;
    Gfx1100 "gfx1100" Gfx11;
    Gfx1101 "gfx1101" Gfx11;
    Gfx1102 "gfx1102" Gfx11;
    Gfx1103 "gfx1103" Gfx11;
    Gfx1150 "gfx1150" Gfx11;
    Gfx1151 "gfx1151" Gfx11;
    Gfx1152 "gfx1152" Gfx11;
    Gfx1153 "gfx1153" Gfx11;
    Gfx11Generic "gfx11-generic" Gfx11;
    Gfx1200 "gfx1200" Gfx12;
    Gfx1201 "gfx1201" Gfx12;
    Gfx12Generic "gfx12-generic" Gfx12;
    Gfx1250 "gfx1250" Gfx1250;
    Gfx1251 "gfx1251" Gfx1250;
}

/// Lanes of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Wave {
    W32,
    W64,
}

impl Wave {
    pub const fn lanes(self) -> u32 {
        match self {
            Wave::W32 => 32,
            Wave::W64 => 64,
        }
    }
}

/// What a load into one half of a VGPR (`ds_read_u16_d16_hi`) makes of the other half. With SRAM-ECC a register is written
/// whole, and the other half becomes zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum OtherHalf {
    Keeps,
    Clears,
    /// Cleared with SRAM-ECC on, kept with it off, which is a setting of the card.
    BySramEcc,
}

/// A processor and the wave size that the code was compiled for. From RDNA1 on the same words mean different registers in
/// the two sizes: a lane mask is one SGPR or two. A [`Target`] alone stands for its default size.
///
/// Where SRAM-ECC decides what a load into half a register writes, there is a mode for each case: see
/// [`Mode::with_sramecc`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Mode {
    target: Target,
    wave: Wave,
    /// Loads into one half of a VGPR clear the other one.
    clears_halves: bool,
}

impl From<Target> for Mode {
    fn from(target: Target) -> Mode {
        Mode { target, wave: target.default_wave(), clears_halves: target.clears_halves(None) }
    }
}

impl Mode {
    /// One past the largest [`Mode::index`].
    pub const COUNT: usize = 4 * Target::ALL.len();

    /// `None` if the processor does not run waves of this size.
    pub fn new(target: Target, wave: Wave) -> Option<Mode> {
        target.waves().contains(&wave).then_some(Mode { wave, ..target.into() })
    }

    /// Every pair of processor and wave size.
    pub fn all() -> impl Iterator<Item = Mode> {
        Target::ALL.iter().flat_map(|&target| target.waves().iter().map(move |&wave| Mode { wave, ..target.into() }))
    }

    /// The same for code that demands SRAM-ECC on or off, or for `None` says nothing about it.
    ///
    /// Code that says nothing may run on a card of either kind. What it reads is then the most that it may read: on gfx906
    /// and gfx908 what a load leaves of a register, on gfx1250, whose cards all have ECC, nothing.
    #[must_use]
    pub fn with_sramecc(self, sramecc: Option<bool>) -> Mode {
        Mode { clears_halves: self.target.clears_halves(sramecc), ..self }
    }

    /// The mode of the same processor and wave size that [`Mode::all`] has.
    #[must_use]
    pub fn usual(self) -> Mode {
        self.with_sramecc(None)
    }

    /// Does a load into one half of a VGPR clear the other one?
    pub const fn clears_halves(self) -> bool {
        self.clears_halves
    }

    pub const fn target(self) -> Target {
        self.target
    }

    pub const fn wave(self) -> Wave {
        self.wave
    }

    /// A number below [`Mode::COUNT`], for tables.
    pub const fn index(self) -> usize {
        (self.target as usize * 2 + self.wave as usize) * 2 + self.clears_halves as usize
    }

    pub(crate) fn tables(self) -> &'static Tables {
        tables::of(self)
    }

    /// Every opcode, indexed by [`OpcodeId`]; none if there are no tables.
    pub fn opcodes(self) -> &'static [OpcodeInfo] {
        &self.tables().opcodes
    }

    pub fn opcode(self, id: OpcodeId) -> &'static OpcodeInfo {
        &self.opcodes()[usize::from(id.0)]
    }

    /// By mnemonic as printed (`v_add_f32_e32`); several opcodes may share it, the first is returned.
    pub fn find(self, mnemonic: &str) -> Option<&'static OpcodeInfo> {
        let tables = self.tables();
        let at = tables.names.binary_search_by_key(&mnemonic, |(name, _)| name).ok()?;
        Some(&tables.opcodes[usize::from(tables.names[at].1)])
    }
}

impl Target {
    /// From a processor name without features: `gfx90a`.
    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.iter().copied().find(|t| t.name() == name)
    }

    /// Are the processor's instructions known? If not, nothing decodes.
    pub fn has_tables(self) -> bool {
        tables::exist(self.into())
    }

    /// The wave sizes that the processor runs, the default one first.
    pub const fn waves(self) -> &'static [Wave] {
        match self.generation() {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => &[Wave::W64],
            Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx12 => &[Wave::W32, Wave::W64],
            Generation::Gfx1250 => &[Wave::W32],
        }
    }

    /// What LLVM takes if nothing else is said.
    pub const fn default_wave(self) -> Wave {
        self.waves()[0]
    }

    /// Has accumulation VGPRs (the matrix operations of CDNA).
    pub const fn has_agprs(self) -> bool {
        matches!(self, Target::Gfx908) || matches!(self.generation(), Generation::Gfx90a | Generation::Gfx940)
    }

    /// What a load into one half of a VGPR makes of the other half.
    ///
    /// Sources: LLVM's predicate D16PreservesUnusedBits, which is false where SRAM-ECC is on or not known to be off, and
    /// its review D112635, where gfx90a was found to clear the half with ECC off, too; the CDNA5 ISA on D16 loads.
    pub const fn other_half(self) -> OtherHalf {
        match (self, self.generation()) {
            (Target::Gfx906 | Target::Gfx908, _) | (_, Generation::Gfx1250) => OtherHalf::BySramEcc,
            (_, Generation::Gfx90a | Generation::Gfx940) => OtherHalf::Clears,
            _ => OtherHalf::Keeps,
        }
    }

    const fn clears_halves(self, sramecc: Option<bool>) -> bool {
        match (self.other_half(), sramecc) {
            (OtherHalf::Keeps, _) => false,
            (OtherHalf::Clears, _) => true,
            (OtherHalf::BySramEcc, Some(on)) => on,
            (OtherHalf::BySramEcc, None) => matches!(self.generation(), Generation::Gfx1250),
        }
    }

    /// VGPRs that code can reach, AGPRs not counted. Of gfx1250's 1024 an instruction's fields name 256: see [`crate::msb`].
    pub const fn vgprs(self) -> u16 {
        if matches!(self.generation(), Generation::Gfx1250) { 1024 } else { 256 }
    }

    /// As [`Mode::opcodes`], in the default wave size.
    pub fn opcodes(self) -> &'static [OpcodeInfo] {
        Mode::from(self).opcodes()
    }

    /// As [`Mode::opcode`], in the default wave size.
    pub fn opcode(self, id: OpcodeId) -> &'static OpcodeInfo {
        Mode::from(self).opcode(id)
    }

    /// As [`Mode::find`], in the default wave size.
    pub fn find(self, mnemonic: &str) -> Option<&'static OpcodeInfo> {
        Mode::from(self).find(mnemonic)
    }
}
