//! What a launch's kernel has of its host: what of it the kernel asks for, and what is said where it asked wrongly.

use std::sync::Arc;

use luthier_abi::Hidden;
use luthier_loader::Kernel;

use crate::device::{Device, Module};
use crate::dispatch::has_hidden;
use crate::error::EmuError;
use crate::facts::Facts;
use crate::hostcall::HostCalls;
use crate::hostcall::buffered::PrintBuffer;
use crate::launch::Launch;
use crate::memory::Memory;
use crate::shared::{COOPERATIVE_WAVES, RESIDENT};

/// What a kernel that asks for it has of its host: null, or addresses of packets, of the heap, and of a buffer to print
/// into.
#[derive(Default)]
pub(crate) struct Services {
    pub calls: u64,
    pub heap: u64,
    pub prints: Option<PrintBuffer>,
}

impl Device {
    /// What a kernel asks for. The packets and the buffer are in `memory` alone.
    pub(crate) fn services(
        &self,
        module: &Module,
        kernel: &Kernel,
        launch: &Launch,
        memory: &mut Memory,
    ) -> Result<Services, EmuError> {
        let heap = if has_hidden(kernel, Hidden::Heap) { self.heap_state()? } else { 0 };
        if heap != 0 {
            // It may have come into the device's memory just now.
            *memory = self.memory();
        }
        let mut services = Services { heap, ..Services::default() };
        let formats = module.object.metadata().and_then(|metadata| metadata.printf.as_ref());
        if let Some(formats) = formats.filter(|_| has_hidden(kernel, Hidden::PrintfBuffer)) {
            let buffer = PrintBuffer::new(memory, formats, Arc::clone(self.output()));
            services.prints = Some(buffer.ok_or(EmuError::OutOfMemory(PrintBuffer::SIZE.into()))?);
        }
        if !has_hidden(kernel, Hidden::HostcallBuffer) {
            return Ok(services);
        }
        let lanes = u64::from(Facts::of(self.target()).lanes(&kernel.descriptor));
        let waves = launch.workgroup.iter().map(|&n| u64::from(n)).product::<u64>().div_ceil(lanes);
        let groups = (0..3).map(|i| u64::from(launch.grid[i].div_ceil(launch.workgroup[i]))).product::<u64>();
        // Each has one packet at most, and the device library does not wait for packets.
        let workers = self.workers()? as u64 * (RESIDENT as u64 + 16) * waves;
        let most = groups.saturating_mul(waves).min(workers + 2 * COOPERATIVE_WAVES);
        let calls = HostCalls::new(memory, most, Arc::clone(self.output())).ok_or(EmuError::OutOfMemory(most << 12))?;
        services.calls = calls.buffer();
        memory.set_calls(calls);
        Ok(services)
    }
}

/// Why a launch of a kernel was stopped, with what is known of its host calls.
pub(crate) fn explained(mut error: EmuError, memory: &Memory) -> EmuError {
    let is_other_layout = memory.calls().is_some_and(|calls| calls.is_other_layout(memory));
    if let EmuError::Fault { message, .. } = &mut error
        && is_other_layout
    {
        let why = "its device library is newer than ROCm 7, and the host calls of that are not supported";
        *message = format!("{message}: {why}").into();
    }
    error
}
