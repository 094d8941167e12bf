//! The machine that ROCr finds: a CPU and mock GPUs behind PCIe, or one node that is both.

use luthier_emulator::memory::{PRIVATE_BASE, SHARED_BASE};
use luthier_isa::{Generation, Target};
use luthier_loader::TargetId;

use crate::abi::{CacheProperties, LinkProperties, MemoryProperties, NAME, NodeProperties, heap};
use crate::config::Config;

/// SIMDs of a compute unit.
const SIMDS: u32 = 4;
const PCIE: u32 = 2;
/// Distance of a hop; 0 would be none.
const WEIGHT: u32 = 20;
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
        // SAFETY: numbers and arrays of them, all of which may be zero.
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
            let (major, minor, stepping) = version(self.target);
            let rdna = major >= 10;
            p.simds = self.compute_units * SIMDS;
            p.simds_per_cu = SIMDS;
            p.simd_id = 0x8000_0000 + index;
            p.shader_banks = 1;
            p.arrays = 1;
            p.cus_per_array = self.compute_units;
            p.waves_per_simd = if rdna { 16 } else { 8 };
            p.wave_size = if rdna { 32 } else { 64 };
            p.lds_kb = 64;
            p.scratch_slots_per_cu = 32;
            p.capability = CAPABILITY;
            // Cards have it on where they have it. Code for either setting runs on them, too.
            if TargetId::of_processor(self.target.name()).supports_sramecc() {
                p.capability |= SRAM_ECC;
            }
            p.engine_id = 470 | major << 10 | minor << 16 | stepping << 24;
            p.engine_versions = 150;
            (p.vendor, p.device) = (0x1002, device_id(self.target));
            p.location = (3 + index) << 8;
            p.local_memory = if self.apu { 0 } else { self.memory };
            p.max_clock_gpu = 1700;
            p.render_minor = 128 + index as i32;
            (p.sdma_engines, p.sdma_queues_per_engine) = (2, 8);
            (p.cp_queues, p.gws) = (24, 64);
            p.unique_id = 0x4c75_7468_6965_7200 + u64::from(index);
            (p.vgpr_bytes_per_cu, p.sgpr_bytes_per_cu) = (0x8_0000, 0x4000);
            (p.xccs, p.gpu_id, p.family) = (1, 0x4c00 + index, family(self.target));
            set_names(&mut p, &format!("Luthier mock {}", self.target.name()), self.target.name());
        }
        p
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
                let (width, clock) = (4096, 1600);
                banks.push(MemoryProperties {
                    heap: heap::LOCAL,
                    size: self.memory,
                    width,
                    clock,
                    ..Default::default()
                });
            }
            let lds =
                MemoryProperties { heap: heap::LDS, size: 64 << 10, virtual_base: SHARED_BASE, ..Default::default() };
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
        let cache = |level: u32, size: u32, kind: u32, processor: u32| CacheProperties {
            processor,
            level,
            size,
            line: 64,
            lines_per_tag: 1,
            associativity: 16,
            latency: 1,
            kind: CACHE_DATA | kind,
            siblings: [0; 256],
        };
        let mut caches = Vec::new();
        if node == 0 {
            caches.push(cache(1, 32, CACHE_CPU, 0));
        }
        if self.is_gpu(node) {
            caches.extend([cache(1, 16, CACHE_GPU, 0x8000_0000), cache(2, 8192, CACHE_GPU, 0x8000_0000)]);
        }
        caches
    }

    /// From a node to every other one, by way of PCIe.
    pub fn links(&self, node: u32) -> Vec<LinkProperties> {
        let others = (0..self.nodes()).filter(|&other| other != node);
        let link = |to: u32| LinkProperties {
            kind: PCIE,
            from: node,
            to,
            // GPUs see one another through the host.
            weight: if node != 0 && to != 0 { 2 * WEIGHT } else { WEIGHT },
            min_bandwidth: 16000,
            max_bandwidth: 16000,
            ..Default::default()
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

/// The number of the family of chips that has this processor, as the kernel's driver counts them.
fn family(target: Target) -> u32 {
    match target {
        Target::Gfx902 | Target::Gfx90c => 142,
        Target::Gfx1033 => 144,
        Target::Gfx1035 => 146,
        _ if target.generation() == Generation::Gfx10 => 143,
        _ => 141,
    }
}

/// PCI numbers of a card that has this processor.
fn device_id(target: Target) -> u16 {
    match target {
        Target::Gfx900 => 0x6860,
        Target::Gfx902 => 0x15dd,
        Target::Gfx904 => 0x69a0,
        Target::Gfx906 => 0x66a1,
        Target::Gfx908 => 0x738c,
        Target::Gfx90a => 0x7408,
        Target::Gfx90c => 0x1636,
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
        _ => 0x164e,
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
