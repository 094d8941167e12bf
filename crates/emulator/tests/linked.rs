//! Several objects of one loader on one device: they call each other's functions and read each other's variables.

mod support;

use luthier_emulator::{Device, DeviceConfig, EmuError, Launch, ModuleId, Strict};
use luthier_isa::Target;
use luthier_loader::link::{AgentId, ExecutableId};
use luthier_loader::{CodeObject, LinkError, LoadOptions, MockLoader, TargetId};
use support::{Asm, assemble, assemble_with};

const EXE: ExecutableId = ExecutableId(0);

/// A reads B's variable and calls B's function; stores both.
const A: &str = "
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, var_b@gotpcrel32@lo+4
  s_addc_u32 s5, s5, var_b@gotpcrel32@hi+12
  s_load_dwordx2 s[4:5], s[4:5], 0x0
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, f_b@gotpcrel32@lo+4
  s_addc_u32 s7, s7, f_b@gotpcrel32@hi+12
  s_load_dwordx2 s[6:7], s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s10, s[4:5], 0x0
  s_swappc_b64 s[30:31], s[6:7]
  s_waitcnt lgkmcnt(0)
  s_store_dword s10, s[2:3], 0x0
  s_store_dword s11, s[2:3], 0x4
  s_waitcnt lgkmcnt(0)
";
const A_MORE: &str = "
.protected f_a
.globl f_a
.type f_a,@function
f_a:
  s_add_u32 s11, s11, 5
  s_setpc_b64 s[34:35]
.size f_a, .-f_a
.data
.globl var_a
.type var_a,@object
.p2align 3
var_a: .long 1000
.size var_a, 4
";
/// B's function reads A's variable and calls A's function; so does B's kernel, without a GOT.
const B: &str = "
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, f_b@rel32@lo+4
  s_addc_u32 s7, s7, f_b@rel32@hi+12
  s_swappc_b64 s[30:31], s[6:7]
  s_waitcnt lgkmcnt(0)
  s_store_dword s11, s[2:3], 0x0
  s_waitcnt lgkmcnt(0)
";
const B_MORE: &str = "
.protected f_b
.globl f_b
.type f_b,@function
f_b:
  s_getpc_b64 s[12:13]
  s_add_u32 s12, s12, var_a@rel32@lo+4
  s_addc_u32 s13, s13, var_a@rel32@hi+12
  s_load_dword s11, s[12:13], 0x0
  s_getpc_b64 s[14:15]
  s_add_u32 s14, s14, f_a@gotpcrel32@lo+4
  s_addc_u32 s15, s15, f_a@gotpcrel32@hi+12
  s_load_dwordx2 s[14:15], s[14:15], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[34:35], s[14:15]
  s_setpc_b64 s[30:31]
.size f_b, .-f_b
.data
.globl var_b
.type var_b,@object
.p2align 3
var_b: .long 77
.size var_b, 4
";

/// Both objects; each has a kernel, `a` and `b`.
fn pair() -> (CodeObject, CodeObject) {
    // What a linker would not leave undefined without being told so.
    let flags = ["-Wl,--unresolved-symbols=ignore-all,--noinhibit-exec,--emit-relocs,--no-warnings"];
    (assemble_with("a", A, A_MORE, &flags), assemble_with("b", B, B_MORE, &flags))
}

fn launch(
    device: &Device,
    module: ModuleId,
    kernel: &str,
    out: u64,
) -> Result<luthier_emulator::LaunchReport, EmuError> {
    let kernarg = out.to_le_bytes().to_vec();
    let (kernel, strict) = (kernel.into(), Strict::On);
    device.launch(&Launch {
        module,
        kernel,
        grid: [1; 3],
        workgroup: [1; 3],
        kernarg,
        dynamic_lds: 0,
        strict,
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    })
}

fn words<const N: usize>(device: &Device, address: u64) -> [u32; N] {
    std::array::from_fn(|i| {
        let mut bytes = [0; 4];
        device.read(address + 4 * i as u64, &mut bytes).expect("a valid address");
        u32::from_le_bytes(bytes)
    })
}

#[test]
fn objects_that_need_each_other_run() {
    let (a, b) = pair();
    for swapped in [false, true] {
        let mut loader = MockLoader::new();
        for object in if swapped { [&b, &a] } else { [&a, &b] } {
            loader.load(object.clone(), &LoadOptions::default()).expect("loads");
        }
        let device = Device::new(Target::Gfx90a, DeviceConfig::default());
        assert!(matches!(device.load_linked(&loader), Err(EmuError::Load(why)) if why.contains("not finalized")));
        loader.finalize().expect("links");
        let mut modules: Vec<ModuleId> = device.load_linked(&loader).expect("loads").iter().map(|m| m.1).collect();
        if swapped {
            modules.reverse();
        }
        let out = device.alloc(8).expect("memory");
        let report = launch(&device, modules[0], "a", out).expect("runs");
        assert_eq!(words(&device, out), [77, 1005]);
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        // 17 of the kernel, 11 of f_b, 2 of f_a.
        assert_eq!((report.instructions, report.app_instructions), (30, 30));

        // Variables belong to the device now.
        let (var_a, size) = device.symbol(modules[0], "var_a").expect("a symbol");
        assert_eq!(size, 4);
        device.write(var_a, &2000u32.to_le_bytes()).expect("writes");
        launch(&device, modules[1], "b", out).expect("runs");
        assert_eq!(words(&device, out), [2005]);
        assert_eq!(loader.read_variable("var_a", None).expect("a variable"), 1000u32.to_le_bytes());

        // The same addresses once more are refused, and nothing of it stays; without B, A's call leads nowhere.
        assert!(matches!(device.load_linked(&loader), Err(EmuError::Load(why)) if why.contains("another base")));
        device.unload(modules[1]).expect("unloads");
        match launch(&device, modules[0], "a", out) {
            Ok(report) => assert!(!report.findings.is_empty()),
            Err(error) => assert!(error.to_string().contains("no allocation"), "{error}"),
        }
        assert!(launch(&device, modules[1], "b", out).is_err());
    }
}

#[test]
fn externals_live_on_the_device_or_in_the_loader() {
    let (a, _) = pair();
    let device = Device::new(Target::Gfx90a, DeviceConfig::default());
    let code = assemble("  s_mov_b32 s11, 9\n  s_setpc_b64 s[30:31]\n", Asm::default());
    let module = device.load(&code).expect("loads");
    let (f_b, _) = device.symbol(module, "k").expect("a symbol");
    let mut loader = MockLoader::new();
    loader.load(a, &LoadOptions::default()).expect("loads");
    loader.define("f_b", f_b, 8, None, EXE).expect("defines");
    let kept = loader.define_data("var_b", 55u32.to_le_bytes(), None, EXE).expect("defines");
    loader.finalize().expect("links");
    let linked = device.load_linked(&loader).expect("loads");
    let out = device.alloc(8).expect("memory");
    launch(&device, linked[0].1, "a", out).expect("runs");
    assert_eq!(words(&device, out), [55, 9]);
    assert_eq!(words(&device, kept), [55]);
}

#[test]
fn a_device_takes_the_objects_of_its_own_target() {
    let object = assemble("  s_nop 0\n", Asm::default());
    let device = Device::new(Target::Gfx90a, DeviceConfig::default());
    let mut loader = MockLoader::new();
    for agent in 0..2 {
        loader.add_agent(TargetId::of_processor("gfx90a"));
        let options = LoadOptions { agent: Some(AgentId(agent)), ..LoadOptions::default() };
        loader.load(object.clone(), &options).expect("loads");
    }
    let again = loader.load(object.clone(), &LoadOptions::default());
    assert!(matches!(again, Err(LinkError::DuplicateSymbol { .. })), "one kernel k for each agent");
    loader.finalize().expect("links");
    let linked = device.load_linked(&loader).expect("loads");
    assert_eq!(linked.len(), 2);
    let out = device.alloc(8).expect("memory");
    for (_, module) in linked {
        launch(&device, module, "k", out).expect("runs");
    }
    let mut none = MockLoader::new();
    none.finalize().expect("links");
    assert!(matches!(device.load_linked(&none), Err(EmuError::WrongTarget { .. })));
}
