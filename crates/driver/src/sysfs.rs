//! The machine as files: what the kernel's driver shows in /sys and /dev, for programs that look there themselves.
//! `libluthier-kfd.so` leads them here.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::config::Config;
use crate::partition;

/// The topology's folder, and those of devices.
const TOPOLOGY: &str = "sys/class/kfd/kfd/topology";
const DRM: &str = "sys/class/drm";

/// Writes the tree below a folder that is there and empty.
///
/// # Errors
/// A file cannot be written.
pub fn write(config: &Config, root: &Path) -> io::Result<()> {
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)
    };
    put(&format!("{TOPOLOGY}/generation_id"), "1\n")?;
    put(&format!("{TOPOLOGY}/system_properties"), "platform_oem 0\nplatform_id 0\nplatform_rev 0\n")?;
    put("sys/module/amdgpu/initstate", "live\n")?;
    fs::create_dir_all(root.join("dev/dri"))?;
    // Devices that can be opened. What they are told is answered "inappropriate ioctl".
    symlink("/dev/null", root.join("dev/kfd"))?;
    for node in 0..config.nodes() {
        for (name, text) in node_files(config, node) {
            put(&format!("{TOPOLOGY}/nodes/{node}/{name}"), &text)?;
        }
        if !config.is_gpu(node) {
            continue;
        }
        let (device, minor) = (config.node(node), config.node(node).render_minor);
        for name in [format!("renderD{minor}"), format!("card{}", minor - 128)] {
            symlink("/dev/null", root.join("dev/dri").join(&name))?;
            // The first GPU of a card is its PCI device, and has what is the whole card's. The others are devices of the
            // driver's own, without such files.
            if device.location & 7 != 0 {
                fs::create_dir_all(root.join(format!("{DRM}/{name}/device")))?;
                continue;
            }
            let memory = config.memory * u64::from(config.partition.parts);
            let mut files = vec![
                ("vendor", format!("{:#06x}\n", { device.vendor })),
                ("device", format!("{:#06x}\n", { device.device })),
                ("class", "0x030000\n".to_owned()),
                ("numa_node", "-1\n".to_owned()),
                ("unique_id", format!("{:016x}\n", { device.unique_id })),
                ("mem_info_vram_total", format!("{memory}\n")),
                ("mem_info_vram_used", "0\n".to_owned()),
            ];
            files.extend(partitions(config));
            for (file, text) in files {
                put(&format!("{DRM}/{name}/device/{file}"), &text)?;
            }
        }
    }
    Ok(())
}

/// What a card says of its parts, if it can be divided.
fn partitions(config: &Config) -> Vec<(&'static str, String)> {
    let now = config.partition;
    let Some(whole) = crate::card::named(config.card.name).filter(|card| card.xccs > 1) else { return Vec::new() };
    let computes: Vec<_> = partition::computes(whole).into_iter().map(|(name, _)| name).collect();
    let memories = partition::memories(whole, "CPX");
    vec![
        ("current_compute_partition", format!("{}\n", now.compute)),
        ("available_compute_partition", format!("{}\n", computes.join(", "))),
        ("current_memory_partition", format!("{}\n", now.memory)),
        ("available_memory_partition", format!("{}\n", memories.join(", "))),
    ]
}

/// The files of a node: one line for each property, with its name, as the kernel has them.
fn node_files(config: &Config, node: u32) -> Vec<(String, String)> {
    let p = config.node(node);
    let is_gpu = config.is_gpu(node);
    let version = match p.engine_id {
        id if is_gpu => (id >> 10 & 0x3f) * 10_000 + (id >> 16 & 0xff) * 100 + (id >> 24),
        _ => 0,
    };
    let properties: [(&str, u64); 37] = [
        ("cpu_cores_count", p.cpu_cores.into()),
        ("simd_count", p.simds.into()),
        ("mem_banks_count", p.memory_banks.into()),
        ("caches_count", p.caches.into()),
        ("io_links_count", p.links.into()),
        ("p2p_links_count", 0),
        ("cpu_core_id_base", p.cpu_id.into()),
        ("simd_id_base", p.simd_id.into()),
        ("max_waves_per_simd", p.waves_per_simd.into()),
        ("lds_size_in_kb", p.lds_kb.into()),
        ("gds_size_in_kb", p.gds_kb.into()),
        ("num_gws", p.gws.into()),
        ("wave_front_size", p.wave_size.into()),
        ("array_count", (p.shader_banks * p.arrays).into()),
        ("simd_arrays_per_engine", p.arrays.into()),
        ("cu_per_simd_array", p.cus_per_array.into()),
        ("simd_per_cu", p.simds_per_cu.into()),
        ("max_slots_scratch_cu", p.scratch_slots_per_cu.into()),
        ("gfx_target_version", version.into()),
        ("vendor_id", p.vendor.into()),
        ("device_id", p.device.into()),
        ("location_id", p.location.into()),
        ("domain", p.domain.into()),
        ("drm_render_minor", p.render_minor.try_into().unwrap_or(0)),
        ("hive_id", p.hive),
        ("num_sdma_engines", p.sdma_engines.into()),
        ("num_sdma_xgmi_engines", p.xgmi_engines.into()),
        ("num_sdma_queues_per_engine", p.sdma_queues_per_engine.into()),
        ("num_cp_queues", p.cp_queues.into()),
        ("max_engine_clk_fcompute", p.max_clock_gpu.into()),
        ("local_mem_size", p.local_memory),
        ("fw_version", (p.engine_id & 0x3ff).into()),
        ("capability", p.capability.into()),
        ("sdma_fw_version", p.engine_versions.into()),
        ("unique_id", p.unique_id),
        ("num_xcc", p.xccs.into()),
        ("max_engine_clk_ccompute", p.max_clock_cpu.into()),
    ];
    let mut files = vec![
        ("gpu_id".to_owned(), format!("{}\n", if is_gpu { p.gpu_id } else { 0 })),
        ("name".to_owned(), if is_gpu { format!("{}\n", config.target.name()) } else { "\n".to_owned() }),
        ("properties".to_owned(), lines(&properties)),
    ];
    for (i, m) in config.memories(node).iter().enumerate() {
        let of = [
            ("heap_type", m.heap.into()),
            ("size_in_bytes", m.size),
            ("flags", m.flags.into()),
            ("width", m.width.into()),
            ("mem_clk_max", m.clock.into()),
        ];
        files.push((format!("mem_banks/{i}/properties"), lines(&of)));
    }
    for (i, c) in config.caches(node).iter().enumerate() {
        let of = [
            ("processor_id_low", c.processor.into()),
            ("level", c.level.into()),
            ("size", c.size.into()),
            ("cache_line_size", c.line.into()),
            ("cache_lines_per_tag", c.lines_per_tag.into()),
            ("association", c.associativity.into()),
            ("latency", c.latency.into()),
            ("type", c.kind.into()),
        ];
        files.push((format!("caches/{i}/properties"), lines(&of)));
    }
    for (i, l) in config.links(node).iter().enumerate() {
        let of = [
            ("type", l.kind.into()),
            ("version_major", l.version_major.into()),
            ("version_minor", l.version_minor.into()),
            ("node_from", l.from.into()),
            ("node_to", l.to.into()),
            ("weight", l.weight.into()),
            ("min_latency", l.min_latency.into()),
            ("max_latency", l.max_latency.into()),
            ("min_bandwidth", l.min_bandwidth.into()),
            ("max_bandwidth", l.max_bandwidth.into()),
            ("recommended_transfer_size", l.transfer_size.into()),
            ("flags", l.flags.into()),
        ];
        files.push((format!("io_links/{i}/properties"), lines(&of)));
    }
    files
}

fn lines(properties: &[(&str, u64)]) -> String {
    properties.iter().map(|(name, value)| format!("{name} {value}\n")).collect()
}
