//! What is said about kernels that were stopped, and what strict mode finds.

use luthier_emulator::error::EmuError;
use luthier_emulator::{Finding, SourceFrame};

fn places(frames: &[SourceFrame]) -> String {
    let place = |f: &SourceFrame| format!(", {}:{}", f.file.as_deref().unwrap_or("??"), f.line);
    frames.first().map(place).unwrap_or_default()
}

/// Why a launch was stopped, in a line.
pub fn error(error: &EmuError) -> String {
    error.to_string()
}

/// A finding of strict mode, in a line.
pub fn finding(launch: u64, f: &Finding) -> String {
    let lane = f.lane.map(|lane| format!(", lane {lane}")).unwrap_or_default();
    let address = f.address.map(|address| format!(", address {address:#x}")).unwrap_or_default();
    let other =
        f.other.as_ref().map(|o| format!("; with {:#x}: {} of wave {}", o.pc, o.text, o.wave)).unwrap_or_default();
    format!(
        "launch {launch}, kernel {}: {}: {}, at {:#x}: {}{} (workgroup {:?}, wave {}{lane}{address}){other}",
        f.kernel,
        f.kind.name(),
        f.message,
        f.pc,
        f.text,
        places(&f.source),
        f.workgroup,
        f.wave,
    )
}
