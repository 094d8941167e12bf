//! The machine that ROCr finds: a CPU and mock GPUs behind PCIe, or one node that is both.

use luthier_emulator::memory::{PRIVATE_BASE, SHARED_BASE};
use luthier_isa::{Generation, Target};
use luthier_loader::TargetId;

use crate::abi::{CacheProperties, LinkProperties, MemoryProperties, NAME, NodeProperties, heap};
use crate::card;
use crate::config::Config;

const PCIE: u32 = 2;
const XGMI: u32 = 11;
/// Distance of a hop, and within a card; 0 would be none.
const WEIGHT: u32 = 20;
const WEIGHT_WITHIN: u32 = 13;
const CACHE_DATA: u32 = 1;
const CACHE_CPU: u32 = 1 << 2;
const CACHE_GPU: u32 = 1 << 3;

/// `HSA_CAPABILITY`: queues of a power of two, doorbells of 64 bits, memory that the host sees.
const CAPABILITY: u32 = 1 << 3 | 2 << 12 | 1 << 28;
const SRAM_ECC: u32 = 1 << 26;

impl Config {
    pub fn nodes(&self) -> u32 {
        if self.apu { 1 } else { 1 + self.gpus }
    }

    /// Whether a node is a GPU.
    pub fn is_gpu(&self, node: u32) -> bool {
        node < self.nodes() && (node != 0 || self.apu)
    }

    /// The nodes that are GPUs, as a set of bits.
    pub fn gpu_nodes(&self) -> u64 {
        (0..self.nodes()).filter(|&node| self.is_gpu(node)).fold(0, |set, node| set | 1 << node)
    }

    pub fn node(&self, node: u32) -> NodeProperties {
        // SAFETY: numbers and arrays of them; all may be zero.
        let mut p: NodeProperties = unsafe { std::mem::zeroed() };
        p.memory_banks = self.memories(node).len() as u32;
        p.caches = self.caches(node).len() as u32;
        p.links = self.links(node).len() as u32;
        if node == 0 {
            p.cpu_cores = std::thread::available_parallelism().map_or(1, |n| n.get()) as u32;
            p.max_clock_cpu = 3000;
            set_names(&mut p, "Luthier mock host", "host");
        }
        if self.is_gpu(node) {
            let index = if self.apu { 0 } else { node - 1 };
            let card = &self.card;
            let chip = Chip::of(self.target);
            let (major, minor, stepping) = version(self.target);
            p.simds = self.compute_units * chip.simds;
            p.simds_per_cu = chip.simds;
            p.simd_id = 0x8000_0000 + index;
            p.arrays = if card.engines == 1 { 1 } else { chip.arrays };
            p.shader_banks = card.engines;
            p.cus_per_array = self.compute_units.div_ceil(card.engines * p.arrays);
            p.waves_per_simd = chip.waves;
            p.wave_size = chip.lanes;
            p.lds_kb = card::lds(self.target) >> 10;
            p.scratch_slots_per_cu = 32;
            p.capability = CAPABILITY;
            // Cards have it on where they have it. Code for either setting runs on them, too.
            if TargetId::of_processor(self.target.name()).supports_sramecc() {
                p.capability |= SRAM_ECC;
            }
            p.engine_id = microcode(self.target) | major << 10 | minor << 16 | stepping << 24;
            p.engine_versions = 150;
            (p.vendor, p.device) = (0x1002, card.device);
            // The GPUs of one card are as many functions of its PCI device.
            let (of_card, part) = (index / self.partition.parts, index % self.partition.parts);
            let device = (3 + of_card) << 8;
            p.location = device | part;
            p.hive = if self.partition.parts > 1 { device.into() } else { 0 };
            p.local_memory = if self.apu { 0 } else { self.memory };
            p.max_clock_gpu = card.clocks[0];
            p.render_minor = 128 + index as i32;
            (p.sdma_engines, p.sdma_queues_per_engine) = (2, 8);
            (p.cp_queues, p.gws) = (24, 64);
            p.unique_id = 0x4c75_7468_6965_7200 + u64::from(of_card);
            (p.vgpr_bytes_per_cu, p.sgpr_bytes_per_cu) = (chip.vgpr_bytes, 0x4000);
            (p.xccs, p.gpu_id, p.family) = (card.xccs, 0x4c00 + index, card::family(self.target));
            set_names(&mut p, &self.marketing_name(), self.target.name());
        }
        p
    }

    /// Whether two nodes are GPUs of one card.
    fn share_a_card(&self, node: u32, other: u32) -> bool {
        let card = |node: u32| (node - 1) / self.partition.parts;
        !self.apu && node != 0 && other != 0 && card(node) == card(other)
    }

    /// What people call it: the card that it is to be, or a mock GPU of a processor.
    fn marketing_name(&self) -> String {
        match self.card.name {
            "" => format!("Luthier mock {}", self.target.name()),
            name if name.starts_with("MI") => format!("AMD Instinct {name}"),
            name => format!("AMD Radeon {name}"),
        }
    }

    pub fn memories(&self, node: u32) -> Vec<MemoryProperties> {
        let mut banks = Vec::new();
        if node == 0 {
            let bank = MemoryProperties {
                heap: heap::SYSTEM,
                size: host_memory(),
                width: 64,
                clock: 2400,
                ..Default::default()
            };
            banks.push(bank);
        }
        if self.is_gpu(node) {
            if !self.apu {
                let (width, clock) = (self.card.bus, self.card.clocks[1]);
                banks.push(MemoryProperties {
                    heap: heap::LOCAL,
                    size: self.memory,
                    width,
                    clock,
                    ..Default::default()
                });
            }
            let lds = MemoryProperties {
                heap: heap::LDS,
                size: card::lds(self.target).into(),
                virtual_base: SHARED_BASE,
                ..Default::default()
            };
            let scratch = MemoryProperties {
                heap: heap::SCRATCH,
                size: 4 << 30,
                virtual_base: PRIVATE_BASE,
                ..Default::default()
            };
            banks.extend([lds, scratch]);
        }
        banks
    }

    pub fn caches(&self, node: u32) -> Vec<CacheProperties> {
        let cache = |level: u32, size: u32, line: u32, kind: u32, processor: u32| CacheProperties {
            processor,
            level,
            size,
            line,
            lines_per_tag: 1,
            associativity: 16,
            latency: 1,
            kind: CACHE_DATA | kind,
            siblings: [0; 256],
        };
        let mut caches = Vec::new();
        if node == 0 {
            caches.push(cache(1, 32, 64, CACHE_CPU, 0));
        }
        if self.is_gpu(node) {
            let sizes = (1..).zip(self.card.caches).zip(card::lines(self.target));
            let sizes = sizes.filter(|((_, size), _)| *size != 0);
            caches.extend(sizes.map(|((level, size), line)| cache(level, size, line, CACHE_GPU, 0x8000_0000)));
        }
        caches
    }

    /// From a node to every other one: by way of PCIe, or within a card.
    pub fn links(&self, node: u32) -> Vec<LinkProperties> {
        let others = (0..self.nodes()).filter(|&other| other != node);
        let link = |to: u32| {
            let (kind, weight) = if self.share_a_card(node, to) {
                (XGMI, WEIGHT_WITHIN)
            } else if node != 0 && to != 0 {
                // Cards see one another through the host.
                (PCIE, 2 * WEIGHT)
            } else {
                (PCIE, WEIGHT)
            };
            LinkProperties {
                kind,
                from: node,
                to,
                weight,
                min_bandwidth: 16000,
                max_bandwidth: 16000,
                ..Default::default()
            }
        };
        others.map(link).collect()
    }
}

fn set_names(p: &mut NodeProperties, marketing: &str, amd: &str) {
    let mut name = [0u16; NAME];
    marketing.encode_utf16().take(NAME - 1).zip(&mut name).for_each(|(unit, slot)| *slot = unit);
    p.marketing_name = name;
    let mut name = [0u8; NAME];
    amd.bytes().take(NAME - 1).zip(&mut name).for_each(|(byte, slot)| *slot = byte);
    p.amd_name = name;
}

/// Bytes of the machine's memory.
pub fn host_memory() -> u64 {
    // SAFETY: asks for numbers.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(1 << 20).saturating_mul(u64::try_from(size).unwrap_or(4096))
}

/// gfx90a is 9, 0, 10.
fn version(target: Target) -> (u32, u32, u32) {
    let digits = target.name().strip_prefix("gfx").unwrap_or_default();
    let (rest, stepping) = digits.split_at(digits.len().saturating_sub(1));
    let (major, minor) = rest.split_at(rest.len().saturating_sub(1));
    let number = |text: &str| u32::from_str_radix(text, 16).unwrap_or(0);
    (major.parse().unwrap_or(0), number(minor), number(stepping))
}

/// What all chips of a processor have, whatever their size.
struct Chip {
    /// Of a compute unit.
    simds: u32,
    /// Of a SIMD.
    waves: u32,
    /// Of the waves that the runtime counts with.
    lanes: u32,
    /// Of compute units, in a shader engine.
    arrays: u32,
    /// Of a compute unit.
    vgpr_bytes: u32,
}

impl Chip {
    fn of(target: Target) -> Chip {
        let generation = target.generation();
        let is_rdna = !generation.is_gfx9_family();
        Chip {
            simds: if is_rdna { 2 } else { 4 },
            waves: match generation {
                Generation::Gfx9 => 10,
                Generation::Gfx90a | Generation::Gfx940 => 8,
                Generation::Gfx10 if version(target).1 == 1 => 20,
                _ => 16,
            },
            lanes: if is_rdna { 32 } else { 64 },
            arrays: if is_rdna { 2 } else { 1 },
            vgpr_bytes: match target {
                Target::Gfx908 | Target::Gfx90a | Target::Gfx942 | Target::Gfx950 => 0x8_0000,
                Target::Gfx1100 | Target::Gfx1101 | Target::Gfx1151 | Target::Gfx1200 | Target::Gfx1201 => 0x6_0000,
                _ => 0x4_0000,
            },
        }
    }
}

/// The version of the packet processor's program. CDNA3's and CDNA4's are the last before those that let the runtime take
/// scratch memory back from a queue at any time, which this one does not.
fn microcode(target: Target) -> u32 {
    match target {
        Target::Gfx942 => 176,
        Target::Gfx950 => 23,
        _ => 470,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_names() {
        assert_eq!(version(Target::Gfx90a), (9, 0, 10));
        assert_eq!(version(Target::Gfx90c), (9, 0, 12));
        assert_eq!(version(Target::Gfx1030), (10, 3, 0));
        assert_eq!(version(Target::Gfx1013), (10, 1, 3));
    }

    #[test]
    fn every_node_has_links_to_all_others() {
        let config = Config::read(|name| (name == "LUTHIER_MOCK").then(|| "gfx906,3".into())).expect("possible");
        assert_eq!((config.nodes(), config.gpu_nodes()), (4, 0b1110));
        for node in 0..4 {
            let to: Vec<u32> = config.links(node).iter().map(|link| link.to).collect();
            assert_eq!(to, (0..4).filter(|&n| n != node).collect::<Vec<_>>());
        }
    }
}
