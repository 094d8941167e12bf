//! Liveness against the mock device: every register that it calls dead is overwritten before every instruction, in the
//! lanes that it says, and the kernel must leave the same memory.

mod common;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use luthier_emulator::{Dead, Device, DeviceConfig, Launch, Poison, Strict};
use luthier_isa::{Reg, RegSet, Target};
use luthier_lifter::{Liveness, Program};
use luthier_loader::{CodeObject, Kernel, LoadError};

const BUFFER: usize = 1 << 18;
const N: u32 = 160;

/// What is dead before every instruction that the kernel may reach.
fn dead(program: &Program, kernel: &Kernel) -> HashMap<u64, Dead> {
    let func = program.function_at(kernel.entry).unwrap();
    // What nothing touches cannot matter, and overwriting it takes time.
    let used = program.used_registers(func);
    let (scalars, vectors): (RegSet, RegSet) =
        (used.iter().filter(|r| !is_vector(*r)).collect(), used.iter().filter(|r| is_vector(*r)).collect());
    let without = |mut all: RegSet, live: &RegSet| {
        all.subtract(live);
        all
    };
    let mut map = HashMap::new();
    for f in program.reachable(func) {
        let live = Liveness::of(program, f);
        for b in program.function(f).blocks.iter() {
            for point in live.points(b).iter() {
                let live = point.before;
                let dead = Dead {
                    scalars: without(scalars, &live.any()),
                    active: without(vectors, &live.active),
                    inactive: without(vectors, &live.inactive),
                };
                map.insert(program.vaddr(point.instr), dead);
            }
        }
    }
    map
}

fn is_vector(reg: Reg) -> bool {
    reg.is_vgpr() || reg.is_agpr()
}

/// Small numbers, different for each buffer.
fn contents(buffer: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_u32.wrapping_add(buffer as u32);
    let mut bytes = Vec::with_capacity(BUFFER);
    while bytes.len() < BUFFER {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bytes.extend_from_slice(&(state % 61).to_le_bytes());
    }
    bytes
}

/// Runs a kernel on made-up arguments; the buffers afterwards, or `None` where it cannot run on them.
fn run(object: &CodeObject, kernel: &Kernel, dead: Option<HashMap<u64, Dead>>) -> Option<Vec<Vec<u8>>> {
    let base: Arc<OnceLock<u64>> = Arc::default();
    let poison = dead.map(|map| {
        let base = Arc::clone(&base);
        Poison(Arc::new(move |pc: u64| map.get(&pc.wrapping_sub(*base.get()?)).copied()))
    });
    let target = Target::from_name(&object.target().processor)?;
    let device =
        Device::new(target, DeviceConfig { threads: 1, watchdog: 2_000_000, poison, ..DeviceConfig::default() });
    let module = device.load(object).unwrap();
    base.set(device.load_address(module).unwrap()).unwrap();
    let metadata = kernel.metadata()?;
    let (mut kernarg, mut buffers) = (Vec::new(), Vec::new());
    for arg in metadata.args.iter().filter(|a| !a.value_kind.as_deref().unwrap_or("").starts_with("hidden")) {
        let (offset, size) = (arg.offset? as usize, arg.size? as usize);
        kernarg.resize(kernarg.len().max(offset + size), 0);
        let place = &mut kernarg[offset..offset + size];
        if arg.value_kind.as_deref() == Some("global_buffer") {
            let address = device.alloc(BUFFER as u64).unwrap();
            device.write(address, &contents(buffers.len())).unwrap();
            place.copy_from_slice(&address.to_le_bytes());
            buffers.push(address);
        } else {
            let bytes = u64::from(N).to_le_bytes();
            let size = size.min(8);
            place[..size].copy_from_slice(&bytes[..size]);
        }
    }
    let most = metadata.max_flat_workgroup_size.unwrap_or(256).clamp(1, 256) as u32;
    let workgroup = match metadata.reqd_workgroup_size.as_deref() {
        Some(&[x, y, z]) => [x as u32, y as u32, z as u32],
        _ => [most.min(256), 1, 1],
    };
    let launch = Launch {
        module,
        kernel: kernel.name.clone(),
        // A ragged last wave, where the kernel allows it.
        grid: [workgroup[0] * 2 - if workgroup[0] > 100 { 37 } else { 0 }, workgroup[1], workgroup[2]],
        workgroup,
        kernarg,
        dynamic_lds: 16 << 10,
        strict: Strict::Off,
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    };
    device.launch(&launch).ok()?;
    let read = |address: u64| {
        let mut bytes = vec![0; BUFFER];
        device.read(address, &mut bytes).map(|()| bytes).ok()
    };
    buffers.into_iter().map(read).collect()
}

/// Runs every kernel of an object with and without poison. The number that could run, and those that changed.
fn compare(path: &Path, most: usize) -> (usize, Vec<String>) {
    let object = match CodeObject::parse(std::fs::read(path).unwrap()) {
        Err(LoadError::UnsupportedVersion { .. }) => return (0, Vec::new()),
        other => other.unwrap(),
    };
    let program = Program::lift(&object).unwrap();
    let (mut ran, mut changed) = (0, Vec::new());
    for kernel in object.kernels().iter().take(most) {
        let Some(expected) = run(&object, kernel, None) else { continue };
        ran += 1;
        if run(&object, kernel, Some(dead(&program, kernel))).as_ref() != Some(&expected) {
            changed.push(format!("{}: {}", path.display(), kernel.name));
        }
    }
    (ran, changed)
}

fn compile(source: &Path, target: Target, level: &str, out: &Path) {
    let fixed = ["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--no-gpu-bundle-output"];
    let arch = format!("--offload-arch={}", target.name());
    common::run(Command::new(common::tool("clang")).args(fixed).args([&arch, level]).arg(source).arg("-o").arg(out));
}

/// The processors that the device can be, beside gfx90a, whose kernels are compiled and run at every level.
const OTHERS: [Target; 9] = {
    use Target::*;
    [Gfx900, Gfx906, Gfx908, Gfx942, Gfx950, Gfx1030, Gfx1100, Gfx1201, Gfx1250]
};

/// The kernels for a processor: those named for a generation are about its matrix operations.
fn sources(target: Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "hip"));
    files.retain(|f| match f.file_stem().and_then(|s| s.to_str()) {
        Some("cdna3") => target == Target::Gfx942,
        Some("cdna4") => target == Target::Gfx950,
        Some("rdna4") => target == Target::Gfx1201,
        Some("gfx1250" | "gfx1250_tensor") => target == Target::Gfx1250,
        Some("upper") => false,
        _ => true,
    });
    files.sort();
    files
}

#[luthier_needs::needs(corpus)]
#[test]
fn dead_registers_are_dead_on_every_processor() {
    let dir = std::env::temp_dir().join(format!("luthier-liveness-others-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut changed = Vec::new();
    for target in OTHERS {
        let (mut compiled, mut found) = (0, 0);
        for (n, file) in sources(target).iter().enumerate() {
            // Without optimization there are spills and a stack.
            let level = if n % 4 == 0 { "-O0" } else { "-O3" };
            let out = dir.join("kernel.hsaco");
            compile(file, target, level, &out);
            let (r, c) = compare(&out, 10);
            compiled += r;
            changed.extend(c.into_iter().map(|c| format!("{} {level} {c}", target.name())));
        }
        for path in common::objects_of(target.name()) {
            let (r, c) = compare(&path, 3);
            found += r;
            changed.extend(c);
        }
        println!("{}: {compiled} kernels of our sources, {found} of the corpus", target.name());
        assert!(compiled >= 15, "{}: only {compiled} kernels could run", target.name());
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn dead_registers_above_the_first_256_are_dead() {
    let dir = std::env::temp_dir().join(format!("luthier-liveness-upper-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels/upper.hip");
    for level in ["-O1", "-O3"] {
        let out = dir.join("upper.hsaco");
        compile(&source, Target::Gfx1250, level, &out);
        let object = CodeObject::parse(std::fs::read(&out).unwrap()).unwrap();
        let (program, kernel) = (Program::lift(&object).unwrap(), &object.kernels()[0]);
        let is_upper = |r: &Reg| r.is_vgpr() && r.number() >= 256;
        let dead = dead(&program, kernel);
        let doses: usize = dead.values().map(|d| d.active.iter().filter(is_upper).count()).sum();
        assert!(doses > 1000, "{level}: only {doses} times a register above the first 256 is dead");
        let expected = run(&object, kernel, None).expect("it runs");
        assert!(run(&object, kernel, Some(dead.clone())).as_ref() == Some(&expected), "{level}");
        // And the doses do arrive: with one such register poisoned where it lives, the result is another.
        let used = program.used_registers(program.function_at(kernel.entry).unwrap());
        let some: RegSet = used.iter().filter(is_upper).take(1).collect();
        let mut wrong = dead;
        wrong.values_mut().for_each(|d| d.active = some);
        assert!(run(&object, kernel, Some(wrong)).as_ref() != Some(&expected), "{level}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn dead_registers_of_compiled_kernels_are_dead() {
    let files = sources(Target::Gfx90a);
    let dir = std::env::temp_dir().join(format!("luthier-liveness-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (mut ran, mut changed) = (0, Vec::new());
    for file in &files {
        for level in ["-O0", "-O1", "-O3"] {
            let out = dir.join(format!("{}{level}.hsaco", file.file_stem().unwrap().display()));
            compile(file, Target::Gfx90a, level, &out);
            let (r, c) = compare(&out, 10);
            ran += r;
            changed.extend(c);
        }
    }
    // And that the test can fail: with everything overwritten, nothing comes out right.
    let object = CodeObject::parse(std::fs::read(dir.join("vecadd-O3.hsaco")).unwrap()).unwrap();
    let (program, kernel) = (Program::lift(&object).unwrap(), &object.kernels()[0]);
    let mut all = dead(&program, kernel);
    let last = all.keys().max().copied().unwrap();
    all.values_mut().for_each(|d| d.active = (0..64).map(Reg::vgpr).collect());
    all.remove(&last);
    assert_ne!(run(&object, kernel, Some(all)), run(&object, kernel, None));
    std::fs::remove_dir_all(&dir).unwrap();
    println!("{ran} kernels of {} sources", files.len());
    assert!(changed.is_empty(), "{} of {ran}: {}", changed.len(), changed.join("\n"));
    assert!(ran >= 3 * files.len(), "only {ran} kernels could run");
}

#[luthier_needs::needs(corpus)]
#[test]
fn dead_registers_of_corpus_kernels_are_dead() {
    let (mut ran, mut changed) = (0, Vec::new());
    for path in common::gfx90a_objects() {
        // The largest object has thousands of kernels; a dozen of each do.
        let (r, c) = compare(&path, 12);
        ran += r;
        changed.extend(c);
    }
    println!("{ran} kernels of the corpus");
    assert!(changed.is_empty(), "{} of {ran}: {}", changed.len(), changed.join("\n"));
}
