//! Cards by the names that people know: how large they are, and what a processor's chips have that no size changes.

use luthier_emulator::facts::Facts;
use luthier_isa::{Generation, Target};

/// A card, or a half of one that is a GPU by itself, as `rocminfo` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    pub name: &'static str,
    pub target: Target,
    /// PCI's number of the device.
    pub device: u16,
    pub compute_units: u32,
    /// Shader engines, of all dies.
    pub engines: u32,
    /// Dies with compute units.
    pub xccs: u32,
    /// Gigabytes.
    pub memory: u64,
    /// Bits of the memory's bus.
    pub bus: u32,
    /// MHz of the compute units, and of the memory.
    pub clocks: [u32; 2],
    /// KB of the caches: of a compute unit, of a die, and of the memory, or 0.
    pub caches: [u32; 3],
}

macro_rules! cards {
    ($($name:literal $target:ident $device:literal, $cus:literal of $engines:literal in $xccs:literal,
       $memory:literal on $bus:literal, $clocks:expr, $caches:expr;)*) => {
        /// Cards that `--as` names, as their data sheets and the kernel's driver have them.
        pub const CARDS: &[Card] = &[$(Card {
            name: $name, target: Target::$target, device: $device, compute_units: $cus, engines: $engines, xccs: $xccs,
            memory: $memory, bus: $bus, clocks: $clocks, caches: $caches,
        }),*];
    };
}

cards! {
    "MI50" Gfx906 0x66a1, 60 of 4 in 1, 16 on 4096, [1725, 1000], [16, 4096, 0];
    "MI60" Gfx906 0x66a1, 64 of 4 in 1, 32 on 4096, [1800, 1000], [16, 4096, 0];
    "MI100" Gfx908 0x738c, 120 of 8 in 1, 32 on 4096, [1502, 1200], [16, 8192, 0];
    "MI210" Gfx90a 0x740f, 104 of 8 in 1, 64 on 4096, [1700, 1600], [16, 8192, 0];
    "MI250" Gfx90a 0x740c, 104 of 8 in 1, 64 on 4096, [1700, 1600], [16, 8192, 0];
    "MI250X" Gfx90a 0x7408, 110 of 8 in 1, 64 on 4096, [1700, 1600], [16, 8192, 0];
    "MI300X" Gfx942 0x74a1, 304 of 32 in 8, 192 on 8192, [2100, 1300], [32, 4096, 262_144];
    "MI325X" Gfx942 0x74a5, 304 of 32 in 8, 256 on 8192, [2100, 1500], [32, 4096, 262_144];
    "MI350X" Gfx950 0x75a0, 256 of 32 in 8, 288 on 8192, [2200, 2000], [32, 4096, 262_144];
    "MI355X" Gfx950 0x75a3, 256 of 32 in 8, 288 on 8192, [2400, 2000], [32, 4096, 262_144];
    "RX Vega 64" Gfx900 0x687f, 64 of 4 in 1, 8 on 2048, [1630, 945], [16, 4096, 0];
    "RX 5700 XT" Gfx1010 0x731f, 40 of 2 in 1, 8 on 256, [2100, 875], [16, 4096, 0];
    "RX 6800 XT" Gfx1030 0x73bf, 72 of 4 in 1, 16 on 256, [2575, 1000], [16, 4096, 131_072];
    "RX 6900 XT" Gfx1030 0x73bf, 80 of 4 in 1, 16 on 256, [2660, 1000], [16, 4096, 131_072];
    "RX 7600" Gfx1102 0x7480, 32 of 2 in 1, 8 on 128, [2855, 1124], [32, 2048, 32_768];
    "RX 7800 XT" Gfx1101 0x747e, 60 of 3 in 1, 16 on 256, [2565, 1218], [32, 4096, 65_536];
    "RX 7900 XT" Gfx1100 0x744c, 84 of 6 in 1, 20 on 320, [2525, 1249], [32, 6144, 81_920];
    "RX 7900 XTX" Gfx1100 0x744c, 96 of 6 in 1, 24 on 384, [2526, 1249], [32, 6144, 98_304];
    "PRO W7900" Gfx1100 0x7448, 96 of 6 in 1, 48 on 384, [1760, 1124], [32, 6144, 98_304];
    "RX 9060 XT" Gfx1200 0x7590, 32 of 2 in 1, 16 on 128, [3320, 1258], [32, 4096, 32_768];
    "RX 9070" Gfx1201 0x7550, 56 of 4 in 1, 16 on 256, [2540, 1258], [32, 8192, 65_536];
    "RX 9070 XT" Gfx1201 0x7550, 64 of 4 in 1, 16 on 256, [2970, 1258], [32, 8192, 65_536];
}

/// Bytes of LDS that a workgroup may have.
pub fn lds(target: Target) -> u32 {
    Facts::of(target).lds
}

/// Bytes of a line of the caches, as the kernel's driver tells them: of a compute unit, of a die, and of the memory.
pub fn lines(target: Target) -> [u32; 3] {
    match target.generation() {
        Generation::Gfx9 => [64, 64, 64],
        Generation::Gfx90a => [64, 128, 64],
        Generation::Gfx940 | Generation::Gfx10 | Generation::Gfx11 => [128, 128, 64],
        Generation::Gfx12 | Generation::Gfx1250 => [128, 256, 64],
    }
}

/// The card with a name, in letters of either case, with or without the line of products it belongs to.
pub fn named(text: &str) -> Option<&'static Card> {
    let plain = |text: &str| {
        let text = text.to_ascii_lowercase();
        ["amd ", "radeon ", "instinct "].iter().fold(text, |text, line| text.replace(line, "")).replace(' ', "")
    };
    CARDS.iter().find(|card| plain(card.name) == plain(text))
}

/// As many compute units and as much memory as a small mock GPU has, on one of the processor's chips.
pub fn small(target: Target, compute_units: u32) -> Card {
    let known = CARDS.iter().find(|card| card.target == target);
    let caches = known.map_or([16, 4096, 0], |card| card.caches);
    Card {
        name: "",
        target,
        device: device(target),
        compute_units,
        engines: 1,
        xccs: 1,
        memory: 16,
        bus: 4096,
        clocks: [1700, 1600],
        caches,
    }
}

/// PCI's number of a card that has this processor.
fn device(target: Target) -> u16 {
    match target {
        Target::Gfx900 => 0x6860,
        Target::Gfx902 | Target::Gfx909 => 0x15dd,
        Target::Gfx904 => 0x69a0,
        Target::Gfx906 => 0x66a1,
        Target::Gfx908 => 0x738c,
        Target::Gfx90a => 0x7408,
        Target::Gfx90c => 0x1636,
        Target::Gfx942 => 0x74a1,
        Target::Gfx950 => 0x75a3,
        Target::Gfx1010 => 0x7310,
        Target::Gfx1011 => 0x7360,
        Target::Gfx1012 => 0x7340,
        Target::Gfx1013 => 0x13fe,
        Target::Gfx1030 => 0x73a2,
        Target::Gfx1031 => 0x73df,
        Target::Gfx1032 => 0x73ff,
        Target::Gfx1033 => 0x163f,
        Target::Gfx1034 => 0x743f,
        Target::Gfx1035 => 0x1681,
        Target::Gfx1100 => 0x744c,
        Target::Gfx1101 => 0x747e,
        Target::Gfx1102 => 0x7480,
        Target::Gfx1103 => 0x15bf,
        Target::Gfx1150 => 0x150e,
        Target::Gfx1151 => 0x1586,
        Target::Gfx1152 => 0x1114,
        Target::Gfx1200 => 0x7590,
        Target::Gfx1201 => 0x7550,
        _ => 0x164e,
    }
}

/// The number of the family of chips that has this processor, as the kernel's driver counts them.
pub fn family(target: Target) -> u32 {
    match target {
        Target::Gfx902 | Target::Gfx909 | Target::Gfx90c => 142,
        Target::Gfx1033 => 144,
        Target::Gfx1035 => 146,
        Target::Gfx1036 => 149,
        Target::Gfx1103 => 148,
        Target::Gfx1150 | Target::Gfx1151 | Target::Gfx1152 | Target::Gfx1153 => 150,
        _ => match target.generation() {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => 141,
            Generation::Gfx10 => 143,
            Generation::Gfx11 => 145,
            Generation::Gfx12 | Generation::Gfx1250 => 152,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_found_by_what_people_call_them() {
        for text in ["MI300X", "mi300x", "AMD Instinct MI300X"] {
            assert_eq!(named(text).map(|card| card.target), Some(Target::Gfx942), "{text}");
        }
        for text in ["RX 7900 XTX", "rx7900xtx", "AMD Radeon RX 7900 XTX"] {
            assert_eq!(named(text).map(|card| card.compute_units), Some(96), "{text}");
        }
        assert_eq!(named("MI300"), None);
    }

    #[test]
    fn engines_have_compute_units_in_whole_arrays() {
        for card in CARDS {
            let all = card.engines * card.compute_units.div_ceil(card.engines);
            assert!(card.engines % card.xccs == 0 && all - card.compute_units < 2 * card.engines, "{}", card.name);
            // A WGP of RDNA has two.
            assert!(card.target.generation().is_gfx9_family() || card.compute_units % 2 == 0, "{}", card.name);
        }
    }
}
