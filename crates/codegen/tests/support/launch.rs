//! A launch of any kernel: a buffer for each pointer, and 100 for each value.

use luthier_emulator::{Device, EmuError, Launch, ModuleId, Strict};
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
