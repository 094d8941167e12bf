//! A launch of any kernel: a buffer for each pointer, and 100 for each value.

use luthier_emulator::{Device, DeviceConfig, EmuError, Launch, LaunchReport, ModuleId, Strict};
use luthier_isa::{Mode, Target};
use luthier_loader::CodeObject;

/// Bytes of each buffer.
pub const BUFFER: usize = 16 * 1024;

/// Some input that every kernel can do something with: small numbers, other ones in each buffer.
fn input(seed: usize) -> Vec<u8> {
    (0..BUFFER / 4).flat_map(|i| ((i * 7 + seed * 13 + i / 64) as u32 % 3).to_le_bytes()).collect()
}

/// The launch, not in strict mode, and where its buffers are. `sizes` are the work-items in all and in a workgroup.
pub fn launch_of(
    device: &Device,
    module: ModuleId,
    object: &CodeObject,
    kernel: &str,
    sizes: [u32; 2],
) -> Result<(Launch, Vec<u64>), String> {
    let text = |e: EmuError| e.to_string();
    let metadata = object.kernel(kernel).and_then(|k| k.metadata().cloned()).ok_or("no metadata")?;
    let (mut kernarg, mut buffers) = (Vec::new(), Vec::new());
    for arg in metadata.explicit_args() {
        let (offset, size) = (arg.offset.unwrap_or(0) as usize, arg.size.unwrap_or(0) as usize);
        kernarg.resize(offset, 0);
        if arg.value_kind.as_deref() == Some("global_buffer") {
            let address = device.alloc(BUFFER as u64).map_err(text)?;
            device.write(address, &input(buffers.len())).map_err(text)?;
            buffers.push(address);
            kernarg.extend_from_slice(&address.to_le_bytes());
        } else {
            kernarg.extend_from_slice(&100u64.to_le_bytes()[..size.min(8)]);
        }
    }
    let launch = Launch {
        module,
        kernel: kernel.into(),
        grid: [sizes[0], 1, 1],
        workgroup: [sizes[1], 1, 1],
        kernarg,
        dynamic_lds: 0,
        strict: Strict::Off,
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    };
    Ok((launch, buffers))
}

/// What a launch left behind.
pub struct Ran {
    pub buffers: Vec<Vec<u8>>,
    /// The variable `tool.total`, if the object has it.
    pub total: Option<u64>,
    pub report: LaunchReport,
}

impl Ran {
    /// Instrumented, it left the same memory as the plain launch and ran the same instructions of the application.
    pub fn assert_like(&self, plain: &Ran, title: &str) {
        assert!(self.buffers == plain.buffers, "{title}: memory differs");
        assert_eq!(self.report.app_instructions, plain.report.instructions, "{title}: the application's instructions");
        // What the compiler's code does wrong by itself may be right with something in between.
        let found = self.report.findings.first();
        assert!(self.report.findings.len() <= plain.report.findings.len(), "{title}: {found:?}");
    }
}

/// A launch in strict mode. `sizes` are the work-items in all and in a workgroup.
pub fn run(target: Target, object: &CodeObject, kernel: &str, sizes: [u32; 2]) -> Result<Ran, String> {
    run_what(target, object, kernel, sizes, |device, module| {
        let total = device.symbol(module, "tool.total").map(|(address, _)| address);
        (module, total)
    })
}

/// The same of the module that `choose` makes of the loaded object, with the address of its variable.
pub fn run_what(
    target: Target,
    object: &CodeObject,
    kernel: &str,
    sizes: [u32; 2],
    choose: impl Fn(&Device, ModuleId) -> (ModuleId, Option<u64>),
) -> Result<Ran, String> {
    let device = Device::new(target, DeviceConfig::default());
    let text = |e: EmuError| e.to_string();
    let (module, total) = choose(&device, device.load(object).map_err(text)?);
    let (launch, buffers) = launch_of(&device, module, object, kernel, sizes)?;
    let report = device.launch(&Launch { strict: super::strict(), ..launch }).map_err(text)?;
    let read = |address: u64, len: usize| {
        let mut bytes = vec![0; len];
        device.read(address, &mut bytes).map(|()| bytes).map_err(text)
    };
    let buffers = buffers.iter().map(|b| read(*b, BUFFER)).collect::<Result<Vec<_>, _>>()?;
    let total = total.map(|address| read(address, 8)).transpose()?;
    let total = total.and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    Ok(Ran { buffers, total, report })
}

/// A launch of 120 work-items, so that the last wave is not full.
pub fn ran(object: &CodeObject, mode: Mode, kernel: &str) -> Ran {
    run(mode.target(), object, kernel, [120, 120]).unwrap_or_else(|e| panic!("{} {kernel}: {e}", mode.target().name()))
}
