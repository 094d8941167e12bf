//! What is said about kernels that were stopped, and what strict mode finds.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use luthier_emulator::error::EmuError;
use luthier_emulator::{Finding, FindingKind, SourceFrame};

/// Folders of compilers, runtimes and installed packages: frames in there are not the program's.
const INSTALLED: [&str; 7] =
    ["/usr/include/", "/usr/lib/", "/usr/local/lib/", "/opt/", "/site-packages/", "/dist-packages/", "/lib/clang/"];

/// Where an instruction is in the source: the program's own line first, then what was inlined there, and where that was
/// inlined itself.
fn places(frames: &[SourceFrame]) -> String {
    let file = |f: &SourceFrame| f.file.clone().filter(|_| f.line != 0);
    let known: Vec<&SourceFrame> = frames.iter().filter(|f| file(f).is_some()).collect();
    let is_own = |f: &&SourceFrame| file(f).is_some_and(|file| !INSTALLED.iter().any(|folder| file.contains(folder)));
    let own = known.iter().position(is_own).unwrap_or(0);
    let Some(frame) = known.get(own) else { return String::new() };
    let place = |f: &SourceFrame| match f.column {
        0 => format!("{}:{}", f.file.as_deref().unwrap_or_default(), f.line),
        column => format!("{}:{}:{column}", f.file.as_deref().unwrap_or_default(), f.line),
    };
    let inside = known[..own].iter().rev().map(|f| format!(", in {}", place(f)));
    let around = known[own + 1..].iter().map(|f| format!(", inlined at {}", place(f)));
    inside.chain(around).fold(format!(" at {}", place(frame)), |all, more| all + &more)
}

/// Where hazards of the runtime's own kernels were told: ROCr's kernels for copies are assembly, and have the same hazards in
/// each launch. All else is of a launch and its arguments, and told each time.
static TOLD: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Whether a finding is to be told: a hazard in a launch of the runtime's own is where it is the first at its instruction.
pub fn is_news(of_program: bool, f: &Finding) -> bool {
    of_program || f.kind != FindingKind::Hazard || TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(f.pc)
}

/// Why a launch was stopped, in a line.
pub fn error(error: &EmuError) -> String {
    error.to_string()
}

/// What lies at the address of a finding, in words that `near` has for an address of memory.
pub fn place(f: &Finding, near: impl Fn(u64) -> String) -> Option<String> {
    // Addresses in LDS are offsets.
    let in_memory = matches!(
        f.kind,
        FindingKind::OutOfBounds
            | FindingKind::UseAfterFree
            | FindingKind::MemoryRace
            | FindingKind::UndefinedMemory
            | FindingKind::LaunchRace
    );
    f.address.filter(|_| in_memory).map(near)
}

/// A finding of strict mode, in a line: in the program's launch of this number (0: a copy), or in the runtime's own. From the kind on it
/// is the sentence that Python makes of the same finding (`luthier.reports.findings`).
pub fn finding(launch: u64, of_program: bool, f: &Finding, place: Option<&str>) -> String {
    let whose = match f.kind {
        _ if of_program => "",
        FindingKind::Hazard => " of the runtime's own (told once)",
        _ => " of the runtime's own",
    };
    let [x, y, z] = f.workgroup;
    let lane = f.lane.map(|lane| format!(" lane {lane}")).unwrap_or_default();
    let address =
        f.address.map(|address| format!(", {} {address:#x}", kind_of_address(f, address))).unwrap_or_default();
    let other = f.other.as_ref().map(|o| {
        let which = match f.kind {
            FindingKind::Hazard => "the first one is".to_owned(),
            FindingKind::LaunchRace => "the other is".to_owned(),
            FindingKind::UndefinedLds | FindingKind::UndefinedMemory => format!("it was read by wave {}", o.wave),
            _ => format!("the other is wave {}", o.wave),
        };
        format!("; {which} at pc {:#x} ({}){}", o.pc, o.text, places(&o.source))
    });
    let what = if launch == 0 { "a copy".to_owned() } else { format!("launch {launch}{whose}") };
    format!(
        "{what}: {}: {}: {}+pc {:#x} ({}){}, workgroup ({x}, {y}, {z}) wave {}{lane}{address}{}{}{}",
        f.kind.name(),
        f.message,
        f.kernel,
        f.pc,
        f.text,
        places(&f.source),
        f.wave,
        place.map(|place| format!(", {place}")).unwrap_or_default(),
        other.unwrap_or_default(),
        others(f),
    )
}

/// LDS is smaller, and device memory begins above.
const LOWEST: u64 = 1 << 20;

fn kind_of_address(f: &Finding, address: u64) -> &'static str {
    let in_lds = match f.kind {
        FindingKind::LdsRace | FindingKind::LdsBounds | FindingKind::UndefinedLds | FindingKind::UndefinedLdsRead => {
            true
        }
        FindingKind::MissingWait => address < LOWEST,
        _ => false,
    };
    if in_lds { "LDS offset" } else { "address" }
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
    format!("; the first of {} {what}{reach}", grouped(f.extent.count))
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let apart = digits.as_bytes().rchunks(3).rev().map(|three| String::from_utf8_lossy(three).into_owned());
    apart.collect::<Vec<_>>().join(",")
}
