//! On: whole turns where nothing is to be seen, one instruction at a time where something is.

use std::collections::BTreeSet;

use super::{Stage, Stopped, Until, Watchpoint, Why, watch::Wanted};
use crate::choose::WaveId;
use crate::error::EmuError;
use crate::interleave::Interleaving;
use crate::observe::MemoryEvent;
use crate::outcome::Trouble;
use crate::program::Halts;
use crate::workgroup::Pace;

/// Surprises (see [`Stage::look_closer`]) after which all is run an instruction at a time where findings are to stop it.
const MOST_SURPRISES: u32 = 32;

/// How far it came in one go.
enum Went {
    On,
    Stopped(Why),
    /// Strict mode has found something, somewhere since an event.
    Surprised {
        since: u64,
    },
}

impl Stage {
    /// Goes on.
    ///
    /// # Errors
    /// Only what is no fault of the kernel's.
    pub fn resume(&mut self, until: &Until) -> Result<Stopped, EmuError> {
        if let Some((event, wave, error)) = &self.failed
            && *event == self.event()
        {
            let reached = until.event.is_some_and(|until| until <= *event);
            let why = if reached { Why::Reached } else { Why::Failed(error.clone()) };
            return Ok(Stopped { why, wave: *wave });
        }
        let addresses: BTreeSet<u64> = until.addresses.iter().map(|pc| self.module.address(*pc)).collect();
        let memory = until.watchpoints.iter().any(|watch| !matches!(watch, Watchpoint::Register { .. }));
        let mut values: Vec<Vec<u8>> = until.watchpoints.iter().map(|watch| self.value(watch)).collect();
        let mut halts = self.halts(until, &addresses, memory);
        loop {
            self.play.program().set_halts(&halts);
            match self.go_on(until, &addresses, memory, &mut values) {
                Ok(Went::Stopped(why)) => {
                    if matches!(why, Why::Over) && !std::mem::replace(&mut self.shown, true) {
                        self.play.shared.show(&self.kernel)?;
                    }
                    // What was watched may have ended the turn.
                    let acted = self.acted.take().or_else(|| self.play.turn());
                    return Ok(Stopped { why, wave: acted });
                }
                Ok(Went::On) => {}
                Ok(Went::Surprised { since }) => {
                    self.look_closer(since)?;
                    halts = self.halts(until, &addresses, memory);
                }
                Err(trouble) => return self.fail(trouble),
            }
        }
    }

    fn halts(&self, until: &Until, addresses: &BTreeSet<u64>, memory: bool) -> Halts {
        let suspects = self.suspects.iter().filter(|_| until.findings);
        Halts { addresses: addresses.iter().chain(suspects).copied().collect(), memory }
    }

    /// Strict mode has found something in blocks that ran as a whole since an event: the launch is taken back there, and what
    /// follows is run an instruction at a time.
    fn look_closer(&mut self, since: u64) -> Result<(), EmuError> {
        let (passed, behind) = (self.passed, self.event());
        self.surprises += 1;
        let is_last = self.play.is_broken() || self.surprises > MOST_SURPRISES;
        self.careful_until = if is_last { u64::MAX } else { behind };
        if since < behind || self.play.is_broken() {
            self.goto(since)?;
        }
        self.passed = passed;
        Ok(())
    }

    /// One turn, or one instruction where something is to be looked at.
    fn go_on(
        &mut self,
        until: &Until,
        addresses: &BTreeSet<u64>,
        memory: bool,
        values: &mut [Vec<u8>],
    ) -> Result<Went, Trouble> {
        let event = until.event.unwrap_or(u64::MAX);
        let there = |stage: &Stage| until.retired.is_some_and(|(wave, most)| stage.retired(wave) >= most);
        // It may have ended by that, and its workgroup with it.
        if there(self) {
            let _ = self.whose_turn();
            return Ok(Went::Stopped(Why::Reached));
        }
        let Some(id) = self.whose_turn()? else { return Ok(Went::Stopped(Why::Over)) };
        if self.event() >= event {
            return Ok(Went::Stopped(Why::Reached));
        }
        let mut most = event - self.event();
        if let Some((wave, retired)) = until.retired
            && wave == id
        {
            most = most.min(retired - self.retired(id));
        }
        let of_wave = |watch: &Watchpoint| matches!(watch, Watchpoint::Register { wave, .. } if *wave == id);
        let is_careful = until.findings && (self.image.is_none() || self.event() < self.careful_until);
        let steps = is_careful || until.watchpoints.iter().any(of_wave);
        if !steps && !self.play.is_within() {
            let (since, found) = (self.event(), self.findings_of(id).len());
            let paced = self.play.advance(most);
            if until.findings && self.findings_of(id).len() > found {
                let new: Vec<u64> = self.findings_of(id)[found..].iter().map(|finding| finding.pc).collect();
                self.suspects.extend(new);
                return Ok(Went::Surprised { since });
            }
            if paced? != Pace::Halted {
                return Ok(Went::On);
            }
        }
        // It stands before an instruction now, and the limits still hold.
        if self.event() >= event || there(self) {
            return Ok(Went::Stopped(Why::Reached));
        }
        let address = self.play.address(id).unwrap_or_default();
        if addresses.contains(&address) && self.passed != Some((id, self.event())) {
            self.passed = Some((id, self.event()));
            return Ok(Went::Stopped(Why::Address(self.module.place(address))));
        }
        let found = if until.findings { self.findings_of(id).len() } else { 0 };
        let stepped = self.step(id, memory);
        self.acted = Some(id);
        if until.findings && self.findings_of(id).len() > found && stepped.is_ok() {
            let finding = self.findings_of(id)[found].clone();
            return Ok(Went::Stopped(Why::Found(Box::new(self.told(finding, id)))));
        }
        let accesses = stepped.inspect_err(|_| self.acted = None)?;
        let at = self.module.place(address);
        for (number, watch) in until.watchpoints.iter().enumerate() {
            let hit = accesses.iter().find(|access| watch.is_of(access));
            let (changed, changes) = match watch {
                Watchpoint::Register { wave, .. } => (*wave == id, true),
                Watchpoint::Memory { wanted, .. } | Watchpoint::Lds { wanted, .. } => {
                    (hit.is_some(), *wanted == Wanted::Changes)
                }
            };
            if changed && changes {
                let now = self.value(watch);
                if now == values[number] {
                    continue;
                }
                values[number] = now;
            }
            if changed {
                return Ok(Went::Stopped(Why::Watchpoint(number, hit.copied(), at)));
            }
        }
        self.acted = None;
        Ok(Went::On)
    }

    /// The wave whose turn it is, which begins if need be.
    pub(super) fn whose_turn(&mut self) -> Result<Option<WaveId>, Trouble> {
        if self.play.turn().is_none() {
            self.keep();
            if self.play.look()?.is_empty() {
                return Ok(None);
            }
            let chosen = self.chooser.choose(self.play.ready(), self.play.yielded());
            self.play.begin(chosen);
        }
        Ok(self.play.turn())
    }

    /// One instruction of the wave whose turn it is; its accesses to memory, if they are wanted.
    pub(super) fn step(&mut self, id: WaveId, memory: bool) -> Result<Vec<MemoryEvent>, Trouble> {
        let group_of = |play: &mut Interleaving| play.groups().iter().position(|group| group.number == id.group);
        let Some(at) = group_of(&mut self.play) else { return Ok(Vec::new()) };
        if memory {
            self.play.groups_mut()[at].hear(true);
        }
        let stepped = self.play.step();
        let group = &mut self.play.groups_mut()[at];
        if memory {
            group.hear(false);
        }
        stepped?;
        let observer = group.waves[id.wave as usize].wave.observer.as_mut();
        Ok(observer.map(|observer| std::mem::take(&mut observer.seen.memory)).unwrap_or_default())
    }

    /// The wave whose turn it is executes one instruction; its accesses to memory, one for each lane.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn accesses(&mut self) -> Result<Vec<MemoryEvent>, EmuError> {
        self.play.program().set_halts(&Halts::default());
        let turn = self.whose_turn().map_err(|trouble| self.error(trouble))?;
        let Some(id) = turn else { return Ok(Vec::new()) };
        self.step(id, true).map_err(|trouble| self.error(trouble))
    }

    /// The launch cannot go on: it is taken back to before the instruction, if it is one of a wave's.
    pub(super) fn fail(&mut self, trouble: Trouble) -> Result<Stopped, EmuError> {
        let (event, wave, is_fault) = (self.event(), self.play.turn(), matches!(trouble, Trouble::Fault { .. }));
        let error = self.module.error(&self.kernel, trouble, |pc| self.module.locate(pc).1);
        if is_fault && self.image.is_some() {
            self.goto(event)?;
        }
        self.failed = Some((event, wave, error.clone()));
        Ok(Stopped { why: Why::Failed(error), wave })
    }
}
