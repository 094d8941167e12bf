//! What the workers of a launch bring home, and what is said of a launch that was stopped.

use std::time::Duration;

use crate::error::{EmuError, Fault, line_of};
use crate::observe::Observation;
use crate::report::SourceFrame;
use crate::strict::RawFinding;

/// What a worker brings home.
#[derive(Default)]
pub struct Outcome {
    pub groups: u64,
    pub waves: u64,
    pub trouble: Option<Trouble>,
    pub findings: Vec<(RawFinding, [u32; 3], u32)>,
    pub observation: Observation,
}

/// Why a launch was stopped.
#[derive(Debug)]
pub enum Trouble {
    Fault {
        pc: u64,
        text: String,
        workgroup: [u32; 3],
        wave: u32,
        fault: Fault,
    },
    Watchdog {
        instructions: u64,
        /// How long the launch has taken, if that was the limit.
        time: Option<Duration>,
        /// Addresses where waves are, the instructions there, and how many waves.
        places: Vec<(u64, String, usize)>,
    },
    /// `to_come` workgroups have not begun, for want of room.
    Deadlock {
        workgroup: [u32; 3],
        waits: Vec<Waiting>,
        to_come: u64,
    },
}

/// What a wave waits for, in words around an address.
#[derive(Debug)]
pub struct Waiting {
    pub what: String,
    pub at: Option<u64>,
    pub why: String,
}

/// Why a launch of a kernel was stopped; `place` is what people call an address.
pub(crate) fn trouble_at(
    kernel: &str,
    trouble: Trouble,
    place: impl Fn(u64) -> u64,
    frames: impl Fn(u64) -> Vec<SourceFrame>,
) -> EmuError {
    let kernel = kernel.to_owned();
    match trouble {
        Trouble::Fault { pc, text, workgroup, wave, fault } => EmuError::Fault {
            kernel: kernel.into(),
            pc: place(pc),
            text: text.into(),
            workgroup,
            wave,
            lane: fault.lane,
            address: fault.address,
            message: fault.message.into(),
            kind: fault.kind,
            frames: frames(pc).into(),
        },
        Trouble::Deadlock { workgroup, waits, to_come } => {
            let at = |pc: u64| format!("{:#x}", place(pc));
            let line = |w: Waiting| format!("{}{}{}", w.what, w.at.map(at).unwrap_or_default(), w.why);
            let mut waits = waits.into_iter().map(line).collect::<Vec<_>>().join("; ");
            if to_come != 0 {
                waits += &format!("; {to_come} workgroups have not begun: a cooperative launch has all under way");
            }
            EmuError::Deadlock { kernel, workgroup, waits }
        }
        Trouble::Watchdog { instructions, time, places } => {
            let one = |(pc, text, waves): (u64, String, usize)| {
                let line = line_of(&frames(pc));
                let waves = if waves == 1 { "1 wave".to_owned() } else { format!("{waves} waves") };
                format!("{waves} at {:#x}: {text}{line}", place(pc))
            };
            let places = places.into_iter().map(one).collect::<Vec<_>>().join("; ");
            let limit = match time {
                Some(time) => format!(
                    "{:.1} s (the device's time limit), in which one workgroup has run {instructions} instructions",
                    time.as_secs_f64()
                ),
                None => format!("{instructions} instructions of one workgroup (the device's watchdog)"),
            };
            EmuError::Watchdog { kernel, instructions, limit, places }
        }
    }
}
