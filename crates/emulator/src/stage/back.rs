//! Back: to a moment that was kept, or to the beginning, and on from there with the same choices.

use std::sync::Arc;
use std::time::Instant;

use super::{Stage, Stopped, Until};
use crate::choose::Chooser;
use crate::error::EmuError;
use crate::image::Image;
use crate::moments::Moment;
use crate::schedule::Schedule;

/// Bytes of memory that is kept to go back to.
pub const MOST_KEPT: u64 = 4 << 30;

/// Events that are saved at least where the launch goes on to a moment that was kept, rather than run up to there.
const WORTH: u64 = 1 << 16;

impl Stage {
    /// Keeps this moment if it is time to.
    pub(super) fn keep(&mut self) {
        let event = self.event();
        if !self.moments.is_due(event, self.target) {
            return;
        }
        let began = Instant::now();
        let Some(first) = &self.image else { return };
        let Some(kept) = self.play.keep() else { return };
        let before = self.moments.before(event).map_or(first, |moment| &moment.image);
        let Some(image) = Image::after(Some(before), &self.play.shared.memory, MOST_KEPT) else { return };
        let moment = Moment { kept, chooser: self.chooser.clone(), image };
        self.moments.add(moment, began.elapsed(), self.target.is_some());
    }

    /// Goes to an event, before or behind, without a stop on the way.
    ///
    /// # Errors
    /// The launch cannot be taken back.
    pub fn goto(&mut self, event: u64) -> Result<Stopped, EmuError> {
        let is_back = event < self.event() || event == self.event() && self.play.is_broken();
        let worth =
            || self.moments.before(event).is_some_and(|near| near.kept.event >= self.event().saturating_add(WORTH));
        if is_back || worth() {
            self.take_up(event)?;
        }
        self.passed = None;
        let before = self.target.replace(event);
        let stopped = self.resume(&Until { event: Some(event), ..Until::default() });
        self.target = before;
        stopped
    }

    /// Takes up the last moment that was kept before an event, or begins anew.
    fn take_up(&mut self, event: u64) -> Result<(), EmuError> {
        let Some(Moment { kept, chooser, image }) = self.moments.before(event) else { return self.restart() };
        image.restore(&self.play.shared.memory);
        let shared = self.play.shared.again(Arc::new(self.gws.copy()));
        self.play.become_again(kept, shared);
        self.chooser = chooser.clone();
        (self.passed, self.failed) = (None, None);
        Ok(())
    }

    /// Begins anew in another schedule, one of choices as the one before.
    pub(crate) fn begin_again(&mut self, schedule: &Schedule) -> Result<(), EmuError> {
        self.schedule = schedule.clone();
        self.moments.clear();
        self.play.forget();
        self.restart()
    }

    /// Begins anew.
    ///
    /// # Errors
    /// The launch cannot be taken back.
    pub fn restart(&mut self) -> Result<(), EmuError> {
        let Some(image) = &self.image else {
            let what = if self.play.shared.memory.calls().is_some() {
                "it calls its host, which cannot be taken back: it can only go on".to_owned()
            } else {
                format!("it can write more than {MOST_KEPT} bytes, which are too many to be kept: it can only go on")
            };
            return Err(EmuError::Unsupported { kernel: self.kernel.clone(), what });
        };
        image.restore(&self.play.shared.memory);
        let shared = self.play.shared.again(Arc::new(self.gws.copy()));
        self.play.restart(shared);
        self.chooser = Chooser::new(&self.schedule);
        (self.passed, self.failed) = (None, None);
        Ok(())
    }
}
