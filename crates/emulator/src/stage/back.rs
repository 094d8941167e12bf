//! Back: to a moment that was kept, or to the beginning, and on from there with the same choices.

use std::sync::Arc;
use std::time::Instant;

use super::{Stage, Stopped, Until};
use crate::choose::Chooser;
use crate::error::EmuError;
use crate::hostcall::HostCalls;
use crate::image::Image;
use crate::moments::Moment;
use crate::schedule::Schedule;

/// Bytes of memory that is kept to go back to.
pub const MOST_KEPT: u64 = 4 << 30;

/// Events that are saved at least where the launch goes on to a moment that was kept, rather than run up to there.
const WORTH: u64 = 1 << 16;

const CALLS: &str = "it calls its host, which cannot be taken back: it can only go on";

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
        self.may_go_back()?;
        let Some(Moment { kept, chooser, image }) = self.moments.before(event) else { return self.restart() };
        image.restore(&self.play.shared.memory);
        let shared = self.play.shared.again(Arc::new(self.gws.copy()), &self.schedule);
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

    /// What the host has done for a kernel cannot be undone. (That a kernel may call it is nothing yet.)
    fn may_go_back(&self) -> Result<(), EmuError> {
        let called = self.play.shared.memory.calls().is_some_and(HostCalls::were_made);
        if called { Err(self.refuses(CALLS.to_owned())) } else { Ok(()) }
    }

    /// From now on a kernel that calls its host is stopped: the launch will be taken back.
    pub fn hold_calls(&self) {
        self.play.shared.memory.calls().inspect(|calls| calls.hold());
    }

    /// # Errors
    /// The kernel was stopped for a call.
    pub(crate) fn may_call(&self) -> Result<(), EmuError> {
        let was_stopped = self.play.shared.memory.calls().is_some_and(HostCalls::were_missed);
        if was_stopped { Err(self.refuses(CALLS.to_owned())) } else { Ok(()) }
    }

    /// Calls are made again, now that the launch was taken back.
    ///
    /// # Errors
    /// The kernel was stopped for one.
    pub fn go_on_with_calls(&self) -> Result<(), EmuError> {
        self.play.shared.memory.calls().inspect(|calls| calls.go_on());
        self.may_call()
    }

    pub(crate) fn refuses(&self, what: String) -> EmuError {
        EmuError::Unsupported { kernel: self.kernel.clone(), what }
    }

    /// Begins anew.
    ///
    /// # Errors
    /// The launch cannot be taken back.
    pub fn restart(&mut self) -> Result<(), EmuError> {
        self.may_go_back()?;
        let Some(image) = &self.image else {
            let what = format!("it can write more than {MOST_KEPT} bytes, which are too many to be kept");
            return Err(self.refuses(format!("{what}: it can only go on")));
        };
        image.restore(&self.play.shared.memory);
        let shared = self.play.shared.again(Arc::new(self.gws.copy()), &self.schedule);
        self.play.restart(shared);
        self.chooser = Chooser::new(&self.schedule);
        (self.passed, self.failed) = (None, None);
        Ok(())
    }
}
