//! What is said about kernels that were stopped, and what strict mode finds.

use luthier_emulator::error::EmuError;
use luthier_emulator::{Finding, FindingKind, SourceFrame};

/// Where headers are that come with a compiler or a library.
const LIBRARIES: [&str; 2] = ["/usr/", "/opt/"];

/// Where an instruction is in the source: the program's own line first, then what was inlined there, and where that was
/// inlined itself.
fn places(frames: &[SourceFrame]) -> String {
    let is_own = |f: &SourceFrame| f.file.as_deref().is_some_and(|file| !LIBRARIES.iter().any(|l| file.starts_with(l)));
    let own = frames.iter().position(is_own).unwrap_or(0);
    let Some(frame) = frames.get(own) else { return String::new() };
    let place = |f: &SourceFrame| format!("{}:{}", f.file.as_deref().unwrap_or("??"), f.line);
    let inside = frames[..own].iter().rev().map(|f| format!(", in {}", place(f)));
    let around = frames[own + 1..].iter().map(|f| format!(", inlined at {}", place(f)));
    inside.chain(around).fold(format!(", {}", place(frame)), |all, more| all + &more)
}

/// Why a launch was stopped, in a line.
pub fn error(error: &EmuError) -> String {
    error.to_string()
}

/// A finding of strict mode, in a line: in the program's launch of this number, or in the runtime's own. `near` says what an
/// address of memory is.
pub fn finding(launch: u64, of_program: bool, f: &Finding, near: impl Fn(u64) -> String) -> String {
    let whose = if of_program { "" } else { " of the runtime's own" };
    let lane = f.lane.map(|lane| format!(", lane {lane}")).unwrap_or_default();
    let address = f.address.map(|address| format!(", address {address:#x}")).unwrap_or_default();
    let other = f.other.as_ref().map(|o| {
        let which = match f.kind {
            FindingKind::Hazard => "the first one is",
            FindingKind::UndefinedLds | FindingKind::UndefinedMemory => "it was read at",
            _ => "the other is",
        };
        format!("; {which} {:#x}: {} of wave {}{}", o.pc, o.text, o.wave, places(&o.source))
    });
    // Addresses in LDS are offsets.
    let in_memory = matches!(
        f.kind,
        FindingKind::OutOfBounds | FindingKind::UseAfterFree | FindingKind::MemoryRace | FindingKind::UndefinedMemory
    );
    let what = f.address.filter(|_| in_memory).map(|address| format!("; {address:#x} is {}", near(address)));
    format!(
        "launch {launch}{whose}, kernel {}: {}: {}, at {:#x}: {}{} (workgroup {:?}, wave {}{lane}{address}){}{}{}",
        f.kernel,
        f.kind.name(),
        f.message,
        f.pc,
        f.text,
        places(&f.source),
        f.workgroup,
        f.wave,
        other.unwrap_or_default(),
        what.unwrap_or_default(),
        others(f),
    )
}

/// Of a finding that was made several times: how often, and how far the addresses reach.
fn others(f: &Finding) -> String {
    if f.extent.count < 2 {
        return String::new();
    }
    let what = if f.lane.is_some() { "lanes" } else { "times" };
    let reach = match (f.extent.lowest, f.extent.highest) {
        (Some(low), Some(high)) if low.address != high.address => {
            format!(", from {:#x} to {:#x}", low.address, high.address)
        }
        _ => String::new(),
    };
    format!("; the first of {} {what}{reach}", f.extent.count)
}
