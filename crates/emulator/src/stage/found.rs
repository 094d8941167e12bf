//! What strict mode has found, and what went wrong, as reports have it; and what memory holds, as one number.

use super::Stage;
use crate::choose::WaveId;
use crate::error::EmuError;
use crate::launch::{Places, told_finding};
use crate::outcome::Trouble;
use crate::report::{Finding, SourceFrame};
use crate::weak::Why;

/// An instruction of a wave.
#[derive(Clone, Debug)]
pub struct Did {
    /// Address in the code object.
    pub pc: u64,
    pub text: String,
    pub workgroup: [u32; 3],
    pub wave: u32,
    /// Where it is in the source, innermost call first.
    pub source: Vec<SourceFrame>,
}

/// A load that had an older value than there was, in weak memory, and the store that it missed.
#[derive(Clone, Debug)]
pub struct StaleRead {
    pub load: Did,
    pub store: Did,
    pub address: u64,
    pub why: Why,
}

impl Stage {
    /// What strict mode has found so far in waves that are under way, and in those that have ended.
    pub fn findings(&self) -> Vec<Finding> {
        let ended =
            self.play.outcome.findings.iter().map(|(raw, workgroup, wave)| {
                told_finding(&self.kernel, raw.clone(), (*workgroup, *wave), &self.places())
            });
        let waves = self.waves();
        let under_way = waves.iter().flat_map(|seen| {
            self.findings_of(seen.id).iter().map(|raw| self.told(raw.clone(), seen.id)).collect::<Vec<_>>()
        });
        ended.chain(under_way).collect()
    }

    pub(super) fn findings_of(&self, id: WaveId) -> &[crate::strict::RawFinding] {
        self.wave(id).and_then(|wave| wave.strict.as_ref()).map_or(&[], |strict| strict.findings())
    }

    pub(super) fn told(&self, raw: crate::strict::RawFinding, id: WaveId) -> Finding {
        let workgroup = self.play.group(id.group).map_or([0; 3], |group| group.id);
        told_finding(&self.kernel, raw, (workgroup, id.wave), &self.places())
    }

    pub(super) fn places(&self) -> impl crate::launch::Places + '_ {
        (&*self.module, &self.play)
    }

    pub(crate) fn error(&self, trouble: Trouble) -> EmuError {
        self.module.error(&self.kernel, trouble, |pc| self.module.locate(pc).1)
    }

    /// Loads that had an older value than there was so far.
    pub fn stale(&self) -> Vec<StaleRead> {
        let places = self.places();
        let did = |by: crate::weak::By| Did {
            pc: places.vaddr(by.pc),
            text: places.text_at(by.pc),
            workgroup: self.play.shared.dispatch.group_id(by.wave.group),
            wave: by.wave.wave,
            source: places.locate(by.pc).1,
        };
        let told = self.play.shared.caches.as_ref().map(|caches| caches.told()).unwrap_or_default();
        let read = |stale: crate::weak::Stale| StaleRead {
            load: did(stale.load),
            store: did(stale.store),
            address: stale.address,
            why: stale.why,
        };
        told.into_iter().map(read).collect()
    }

    /// Findings as reports have them.
    pub(crate) fn tell_all(&self, raw: Vec<(crate::strict::RawFinding, [u32; 3], u32)>) -> Vec<Finding> {
        let told = |(raw, workgroup, wave)| told_finding(&self.kernel, raw, (workgroup, wave), &self.places());
        raw.into_iter().map(told).collect()
    }

    /// A number that tells what is in the device's memory.
    pub(crate) fn digest(&self) -> u64 {
        self.image.as_ref().map_or(0, |image| image.digest(&self.play.shared.memory, &self.starts))
    }
}
