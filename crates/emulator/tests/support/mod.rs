//! Assembling and compiling test kernels with clang-22, and running them.
#![allow(dead_code)]

pub mod rows;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use luthier_emulator::{Device, DeviceConfig, EmuError, Launch, LaunchReport, ModuleId, Strict};
use luthier_isa::Target;
use luthier_loader::CodeObject;

/// A folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("luthier-emulator-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What clang-22 makes of a source.
fn made(source: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = Folder::new();
    let (input, output) = (folder.0.join("input"), folder.0.join("out.hsaco"));
    std::fs::write(&input, source).expect("the source is written");
    let done = Command::new("clang-22").args(arguments).arg(&input).arg("-o").arg(&output).output();
    let done = done.expect("clang-22 is installed (make setup)");
    assert!(done.status.success(), "clang-22: {}\n{source}", String::from_utf8_lossy(&done.stderr));
    std::fs::read(&output).expect("clang-22 wrote its output")
}

pub fn clang(source: &str, arguments: &[&str]) -> CodeObject {
    CodeObject::parse(made(source, arguments)).expect("a code object")
}

/// The same where the arguments ask for assembly.
pub fn clang_text(source: &str, arguments: &[&str]) -> String {
    String::from_utf8(made(source, arguments)).expect("text")
}

const PRELUDE: &str = "
typedef unsigned u32; typedef unsigned long u64; typedef int i32; typedef float f32;
#define KERNEL extern \"C\" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define local_x __builtin_amdgcn_workitem_id_x()
#define local_y __builtin_amdgcn_workitem_id_y()
#define local_z __builtin_amdgcn_workitem_id_z()
#define group_x __builtin_amdgcn_workgroup_id_x()
#define group_y __builtin_amdgcn_workgroup_id_y()
#define group_z __builtin_amdgcn_workgroup_id_z()
DEVICE static inline void sync() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");
}
";

/// HIP C++ behind a small prelude, at an optimisation level (`-O0`).
pub fn hip(source: &str, level: &str) -> CodeObject {
    hip_for("gfx90a", source, level)
}

/// The same for another processor.
pub fn hip_for(processor: &str, source: &str, level: &str) -> CodeObject {
    let processor = format!("--offload-arch={processor}");
    let options = ["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", &processor];
    let more = ["--no-gpu-bundle-output", "-ffp-contract=off", level];
    clang(&format!("{PRELUDE}{source}"), &[&options[..], &more[..]].concat())
}

/// What a kernel in assembly needs besides its body. The kernarg pointer is in s[0:1]; one pointer argument.
#[derive(Clone, Copy)]
pub struct Asm {
    pub vgprs: u32,
    pub agprs: u32,
    pub lds: u32,
    pub extra: &'static str,
}

impl Default for Asm {
    fn default() -> Asm {
        Asm { vgprs: 32, agprs: 0, lds: 0, extra: "" }
    }
}

/// A kernel `k` from the instructions of its body; `s_endpgm` is added.
pub fn assemble(body: &str, asm: Asm) -> CodeObject {
    clang(&kernel_source("k", body, asm), ASSEMBLER)
}

/// A kernel from its body, and more assembly behind it, with flags for the linker.
pub fn assemble_with(name: &str, body: &str, more: &str, flags: &[&str]) -> CodeObject {
    // Metadata end the source; what is added goes before the kernel.
    let source = kernel_source(name, body, Asm::default()).replacen(".text\n", &format!(".text\n{more}\n.text\n"), 1);
    clang(&source, &[ASSEMBLER, flags].concat())
}

const ASSEMBLER: &[&str] = &["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-x", "assembler"];

fn kernel_source(name: &str, body: &str, asm: Asm) -> String {
    let Asm { vgprs, agprs, lds, extra } = asm;
    let accum = vgprs.next_multiple_of(4);
    format!(
        r#".amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
  s_endpgm
.Lend:
.size {name}, .Lend-{name}
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr {total}
  .amdhsa_next_free_sgpr 96
  .amdhsa_accum_offset {accum}
  .amdhsa_group_segment_fixed_size {lds}
  {extra}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: {total}
    .max_flat_workgroup_size: 1024
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
"#,
        total = accum + agprs
    )
}

/// As [`assemble`], for another processor.
pub fn assemble_for(target: Target, body: &str, asm: Asm) -> CodeObject {
    let name = target.name();
    let processor = format!("-mcpu={name}");
    let arguments = ["-target", "amdgcn-amd-amdhsa", &processor, "-x", "assembler"];
    clang(&kernel_source("k", body, asm).replace("gfx90a", name), &arguments)
}

/// A device with one module.
pub struct Loaded {
    pub device: Device,
    pub module: ModuleId,
}

pub fn load(object: &CodeObject) -> Loaded {
    load_with(object, DeviceConfig::default())
}

pub fn load_with(object: &CodeObject, config: DeviceConfig) -> Loaded {
    let target = Target::from_name(&object.target().processor).expect("a known processor");
    load_for(target, object, config)
}

pub fn load_for(target: Target, object: &CodeObject, config: DeviceConfig) -> Loaded {
    let device = Device::new(target, config);
    let module = device.load(object).expect("the module loads");
    Loaded { device, module }
}

impl Loaded {
    pub fn buffer(&self, words: &[u32]) -> u64 {
        let address = self.device.alloc(4 * words.len() as u64).expect("memory");
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.device.write(address, &bytes).expect("a valid address");
        address
    }
    pub fn words(&self, address: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.device.read(address, &mut bytes).expect("a valid address");
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }
    pub fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        workgroup: [u32; 3],
        kernarg: &[u64],
        strict: Strict,
    ) -> Result<LaunchReport, EmuError> {
        self.device.launch(&self.prepared(kernel, grid, workgroup, kernarg, strict))
    }
    /// The launch that [`Loaded::launch`] runs.
    pub fn prepared(
        &self,
        kernel: &str,
        grid: [u32; 3],
        workgroup: [u32; 3],
        kernarg: &[u64],
        strict: Strict,
    ) -> Launch {
        Launch {
            module: self.module,
            kernel: kernel.into(),
            grid,
            workgroup,
            kernarg: kernarg.iter().flat_map(|v| v.to_le_bytes()).collect(),
            dynamic_lds: 0,
            strict,
            cooperative: false,
            cluster: None,
            schedule: Default::default(),
        }
    }
}

/// A kernel of RDNA as [`assemble`] makes them, with waves of 32 or 64 lanes.
pub fn assemble_rdna(processor: &str, lanes: u32, body: &str) -> CodeObject {
    assemble_rdna_with(processor, lanes, body, "")
}

/// The same with more directives for the descriptor.
pub fn assemble_rdna_with(processor: &str, lanes: u32, body: &str, extra: &'static str) -> CodeObject {
    let source = kernel_source("k", body, Asm { vgprs: 64, extra, ..Asm::default() })
        .replace("gfx90a", processor)
        .replace(".amdhsa_accum_offset 64", &format!(".amdhsa_wavefront_size32 {}", u32::from(lanes == 32)))
        .replace(".wavefront_size: 64", &format!(".wavefront_size: {lanes}"));
    let (cpu, size) = (format!("-mcpu={processor}"), format!("-mwavefrontsize{lanes}"));
    let size = if lanes == 64 { &size[..] } else { "-mno-wavefrontsize64" };
    clang(&source, &["-target", "amdgcn-amd-amdhsa", &cpu, size, "-x", "assembler"])
}

/// Runs a body on RDNA as one wave on a buffer of these words and gives the buffer back. The buffer's address is in
/// s[2:3], the lane's number times 4 in v1.
pub fn run_rdna(processor: &str, lanes: u32, body: &str, words: &[u32]) -> Vec<u32> {
    let start = "
  s_load_b64 s[2:3], s[0:1], 0x0
  v_and_b32_e32 v1, 0x3ff, v0
  v_lshlrev_b32_e32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
";
    let loaded = load(&assemble_rdna(processor, lanes, &format!("{start}{body}")));
    let buffer = loaded.buffer(words);
    let report = loaded.launch("k", [lanes, 1, 1], [lanes, 1, 1], &[buffer], Strict::On).expect("the kernel runs");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    loaded.words(buffer, words.len())
}

/// Runs an assembled body as one wave on a zeroed buffer of `words` words and gives the buffer back.
pub fn run_asm(body: &str, asm: Asm, words: usize) -> Vec<u32> {
    let loaded = load(&assemble(body, asm));
    let out = loaded.buffer(&vec![0; words]);
    loaded.launch("k", [64, 1, 1], [64, 1, 1], &[out], Strict::Off).expect("the kernel runs");
    loaded.words(out, words)
}
