//! A launch that stops wherever it is told to, and goes back.
//!
//! All its waves are there, in the order of [`crate::interleave`]. An *event* is an instruction that some wave has executed;
//! the number of events so far says where the launch is. To go back is to take a moment that was kept before, or the
//! beginning, with memory as it was then, and to run up to the event with the same choices: so everything is again what it
//! was, strict mode's knowledge included (in strict mode, and where waves wait across workgroups, no moments are kept).

mod seek;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::choose::{Chooser, WaveId};
use crate::device::Module;
use crate::error::EmuError;
use crate::gws::Gws;
use crate::image::Image;
use crate::interleave::{Interleaving, Stretch};
use crate::launch::told_finding;
use crate::moments::{Moment, Moments};
use crate::observe::{MemoryEvent, Registers, Space};
use crate::program::Halts;
use crate::report::Finding;
use crate::schedule::Schedule;
use crate::wave::{Wave, rows, scalar};
use crate::workgroup::{Pace, State, Trouble};

pub use seek::{Done, Sought, Wrote};

/// Bytes of memory that is kept to go back to.
pub const MOST_KEPT: u64 = 4 << 30;

/// Events that are saved at least where the launch goes on to a moment that was kept, rather than run up to there.
const WORTH: u64 = 1 << 16;
/// Surprises (see [`Stage::look_closer`]) after which all is run an instruction at a time where findings are to stop it.
const MOST_SURPRISES: u32 = 32;

/// Which accesses to some bytes make the launch stop, behind the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    Reads,
    Writes,
    Accesses,
    /// Writes of other values.
    Changes,
}

/// What is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watchpoint {
    /// Device memory.
    Memory { start: u64, len: u64, wanted: Wanted },
    /// LDS of a workgroup.
    Lds { group: u64, start: u64, len: u64, wanted: Wanted },
    /// A register of a wave that gets another value; of a vector register in one lane, or any.
    Register { wave: WaveId, register: Register, lane: Option<u8> },
}

/// A register of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Register {
    Sgpr(u8),
    Vgpr(u16),
    Agpr(u16),
    Exec,
    Vcc,
    Scc,
    M0,
}

/// How far the launch goes on.
#[derive(Clone, Debug, Default)]
pub struct Until {
    /// Until all waves together have executed this number of instructions.
    pub event: Option<u64>,
    /// Until one wave has executed this number of instructions.
    pub retired: Option<(WaveId, u64)>,
    /// Until a wave is about to execute the instruction at one of these addresses of the code object.
    pub addresses: BTreeSet<u64>,
    pub watchpoints: Vec<Watchpoint>,
    /// Until strict mode finds something.
    pub findings: bool,
}

/// Why it has stopped.
#[derive(Clone, Debug)]
pub enum Why {
    /// It has come as far as it was told.
    Reached,
    /// It is about to execute the instruction at an address.
    Address(u64),
    /// A watchpoint, by its number, with the access if it is one of memory. The instruction has been executed.
    Watchpoint(usize, Option<MemoryEvent>, u64),
    /// What strict mode has found. The instruction has been executed.
    Found(Box<Finding>),
    /// The launch cannot go on. Where a wave has an instruction that it cannot execute, it stands before it.
    Failed(EmuError),
    /// All is done.
    Over,
}

#[derive(Clone, Debug)]
pub struct Stopped {
    pub why: Why,
    /// Whose turn it is.
    pub wave: Option<WaveId>,
}

/// A wave under way.
#[derive(Clone, Debug)]
pub struct Seen {
    pub id: WaveId,
    pub workgroup: [u32; 3],
    pub state: State,
    /// Address (in the code object) of the instruction that it executes next.
    pub pc: u64,
    pub retired: u64,
}

/// An instruction that a wave has executed: its event, its address in the code object, and the lanes that were on.
pub type Executed = (u64, u64, u64);

/// How far it came in one go.
enum Went {
    On,
    Stopped(Why),
    /// Strict mode has found something, somewhere since an event.
    Surprised {
        since: u64,
    },
}

/// A launch on the stage.
pub struct Stage {
    module: Arc<Module>,
    kernel: String,
    pub(crate) play: Interleaving,
    pub(crate) chooser: Chooser,
    schedule: Schedule,
    gws: Gws,
    /// Memory at the beginning.
    image: Option<Image>,
    moments: Moments,
    /// The event that it is on its way to.
    target: Option<u64>,
    /// Instructions that strict mode has found something at, by address: where findings are to stop the launch, it runs their
    /// blocks an instruction at a time; and everything up to an event. How often it was taken back for a finding.
    suspects: BTreeSet<u64>,
    careful_until: u64,
    surprises: u32,
    /// Where the device's own allocations begin, not those that are there for the launch only.
    starts: BTreeSet<u64>,
    /// What it has stopped before: it goes on there.
    passed: Option<(WaveId, u64)>,
    /// Who has done what was watched.
    acted: Option<WaveId>,
    /// That it cannot go on at an event.
    failed: Option<(u64, Option<WaveId>, EmuError)>,
    shown: bool,
}

impl Stage {
    pub(crate) fn new(
        module: Arc<Module>,
        kernel: String,
        play: Interleaving,
        gws: Gws,
        starts: BTreeSet<u64>,
    ) -> Stage {
        let memory = &play.shared.memory;
        // What the host has done for a kernel cannot be undone.
        let image = if memory.calls().is_some() { None } else { Image::of(memory, MOST_KEPT) };
        let schedule = play.shared.schedule.clone();
        let chooser = Chooser::new(&schedule);
        Stage {
            module,
            kernel,
            play,
            chooser,
            schedule,
            gws,
            image,
            starts,
            moments: Moments::default(),
            target: None,
            suspects: BTreeSet::new(),
            careful_until: 0,
            surprises: 0,
            passed: None,
            acted: None,
            failed: None,
            shown: false,
        }
    }

    /// Instructions executed so far.
    pub fn event(&self) -> u64 {
        self.play.event()
    }

    /// A workgroup that has executed more instructions is taken for one that never ends.
    pub fn limit(&mut self, instructions: u64) {
        self.play.shared.watchdog = self.play.shared.watchdog.limited(instructions);
    }

    /// From here on the stage keeps a moment each time this number of events has passed.
    pub fn keep_every(&mut self, events: u64) {
        self.moments.keep_every(events);
    }

    /// Keeps this moment if it is time to.
    fn keep(&mut self) {
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
    fn whose_turn(&mut self) -> Result<Option<WaveId>, Trouble> {
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
    fn step(&mut self, id: WaveId, memory: bool) -> Result<Vec<MemoryEvent>, Trouble> {
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
    fn fail(&mut self, trouble: Trouble) -> Result<Stopped, EmuError> {
        let (event, wave, is_fault) = (self.event(), self.play.turn(), matches!(trouble, Trouble::Fault { .. }));
        let error = self.module.error(&self.kernel, trouble, |pc| self.module.locate(pc).1);
        if is_fault && self.image.is_some() {
            self.goto(event)?;
        }
        self.failed = Some((event, wave, error.clone()));
        Ok(Stopped { why: Why::Failed(error), wave })
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

    /// The waves under way.
    pub fn waves(&self) -> Vec<Seen> {
        let of_group = |group: &crate::workgroup::Workgroup| {
            let (number, workgroup) = (group.number, group.id);
            let seen = |(wave, running): (u32, &crate::workgroup::Running)| {
                let id = WaveId { group: number, wave };
                let pc = self.module.place(self.play.address(id).unwrap_or_default());
                Seen { id, workgroup, state: running.state, pc, retired: running.instructions }
            };
            (0..).zip(&group.waves).map(seen).collect::<Vec<_>>()
        };
        self.play.groups().iter().flat_map(of_group).collect()
    }

    fn wave(&self, id: WaveId) -> Option<&Wave> {
        Some(&self.play.group(id.group)?.waves.get(id.wave as usize)?.wave)
    }

    fn retired(&self, id: WaveId) -> u64 {
        let group = self.play.group(id.group);
        group.and_then(|group| group.waves.get(id.wave as usize)).map_or(0, |running| running.instructions)
    }

    /// A wave's registers.
    pub fn registers(&mut self, id: WaveId) -> Option<Registers> {
        let limits = self.play.program().limits();
        Some(Registers::of(self.wave(id)?, limits.vgprs, limits.agprs))
    }

    /// Where a wave's scratch memory begins, and how many bytes it has for all lanes together.
    pub fn scratch(&self, id: WaveId) -> Option<(u64, u64)> {
        let (shared, group) = (&self.play.shared, self.play.group(id.group)?);
        let own = shared.dispatch.wave_scratch();
        Some((shared.scratch + shared.scratch_slot * group.slot as u64 + u64::from(id.wave) * own, own))
    }

    /// Bytes of a workgroup's LDS.
    pub fn lds(&self, group: u64) -> Option<Vec<u8>> {
        Some(self.play.group(group)?.waves.first()?.wave.lds.bytes())
    }

    /// Copies device memory as the launch sees it: its arguments and scratch included.
    ///
    /// # Errors
    /// The first address that is in no allocation.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), u64> {
        self.play.shared.memory.read(address, out)
    }

    /// The event of an instruction of a wave's: after which the wave has executed `retired` instructions and this one is next.
    /// `None` if it has not come there.
    pub fn event_of(&self, id: WaveId, retired: u64) -> Option<u64> {
        let own = self.play.log().iter().rev();
        let Stretch { event, retired: before, .. } = *own.filter(|s| s.wave == id).find(|s| s.retired <= retired)?;
        Some(event + (retired - before)).filter(|event| *event <= self.event())
    }

    /// What a wave has executed, from the instruction on that it has executed as its `first` (from 0), up to where the launch
    /// is now, where it is again afterwards. Those before `first` are not told of.
    ///
    /// # Errors
    /// The launch cannot be taken back.
    pub fn trace(&mut self, id: WaveId, first: u64, go_on: &dyn Fn() -> bool) -> Result<Vec<Executed>, EmuError> {
        let end = self.event();
        let Some(begin) = self.event_of(id, first).filter(|begin| *begin < end) else { return Ok(Vec::new()) };
        self.goto(begin)?;
        let mut all = Vec::new();
        self.play.program().set_halts(&Halts::default());
        while self.event() < end {
            match self.one_of_trace(id, end, &mut all) {
                Ok(true) if go_on() => {}
                Ok(true) => return Err(EmuError::Interrupted),
                Ok(false) => break,
                Err(trouble) => return self.fail(trouble).map(|_| all),
            }
        }
        self.goto(end)?;
        Ok(all)
    }

    fn one_of_trace(&mut self, id: WaveId, end: u64, all: &mut Vec<Executed>) -> Result<bool, Trouble> {
        let Some(now) = self.whose_turn()? else { return Ok(false) };
        if now != id && !self.play.is_within() && self.play.advance(end - self.event())? != Pace::Halted {
            return Ok(true);
        }
        if now == id {
            let exec = self.wave(id).map_or(0, Wave::exec);
            all.push((self.event(), self.module.place(self.play.address(id).unwrap_or_default()), exec));
        }
        self.step(now, false)?;
        Ok(true)
    }

    /// The schedule that leads here again.
    pub fn choices(&self) -> Schedule {
        self.chooser.made()
    }

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

    fn findings_of(&self, id: WaveId) -> &[crate::strict::RawFinding] {
        self.wave(id).and_then(|wave| wave.strict.as_ref()).map_or(&[], |strict| strict.findings())
    }

    fn told(&self, raw: crate::strict::RawFinding, id: WaveId) -> Finding {
        let workgroup = self.play.group(id.group).map_or([0; 3], |group| group.id);
        told_finding(&self.kernel, raw, (workgroup, id.wave), &self.places())
    }

    fn places(&self) -> impl crate::launch::Places + '_ {
        (&*self.module, &self.play)
    }

    /// A number that tells what is in the device's memory.
    pub(crate) fn digest(&self) -> u64 {
        self.image.as_ref().map_or(0, |image| image.digest(&self.play.shared.memory, &self.starts))
    }

    pub(crate) fn error(&self, trouble: Trouble) -> EmuError {
        self.module.error(&self.kernel, trouble, |pc| self.module.locate(pc).1)
    }

    /// Findings as reports have them.
    pub(crate) fn tell_all(&self, raw: Vec<(crate::strict::RawFinding, [u32; 3], u32)>) -> Vec<Finding> {
        let told = |(raw, workgroup, wave)| told_finding(&self.kernel, raw, (workgroup, wave), &self.places());
        raw.into_iter().map(told).collect()
    }

    /// What is there to see at a watchpoint.
    fn value(&self, watch: &Watchpoint) -> Vec<u8> {
        match *watch {
            Watchpoint::Memory { start, len, .. } => {
                let mut bytes = vec![0; len as usize];
                // What is not there has no value.
                if self.read(start, &mut bytes).is_ok() { bytes } else { Vec::new() }
            }
            Watchpoint::Lds { group, start, len, .. } => {
                let lds = self.lds(group).unwrap_or_default();
                let end = lds.len().min(start.saturating_add(len) as usize);
                lds.get(start as usize..end).map(<[u8]>::to_vec).unwrap_or_default()
            }
            Watchpoint::Register { wave, register, lane } => {
                self.wave(wave).map(|wave| register.bytes(wave, lane)).unwrap_or_default()
            }
        }
    }
}

impl Watchpoint {
    fn is_of(&self, access: &MemoryEvent) -> bool {
        let (begin, bytes, wanted, lds) = match *self {
            Watchpoint::Memory { start, len, wanted } => (start, len, wanted, false),
            Watchpoint::Lds { group, start, len, wanted } if group == access.workgroup => (start, len, wanted, true),
            _ => return false,
        };
        let (reads, writes) = (access.kind & 3 != 1, access.kind & 3 != 0);
        let kind = match wanted {
            Wanted::Reads => reads,
            Wanted::Writes | Wanted::Changes => writes,
            Wanted::Accesses => true,
        };
        let (from, to) = (access.address, access.address.saturating_add(access.size.into()));
        kind && lds == (access.kind >> 4 == Space::Lds as u8) && from < begin.saturating_add(bytes) && begin < to
    }
}

impl Register {
    fn bytes(self, wave: &Wave, lane: Option<u8>) -> Vec<u8> {
        let row = |row: u16| {
            let values = &wave.rows[usize::from(row)].0;
            match lane {
                Some(lane) => values.get(usize::from(lane)).map_or_else(Vec::new, |value| value.to_le_bytes().to_vec()),
                None => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            }
        };
        match self {
            Register::Sgpr(number) => wave.s[usize::from(number)].to_le_bytes().to_vec(),
            Register::Vgpr(number) => row(rows::VGPR + number.min(1023)),
            Register::Agpr(number) => row(rows::AGPR + number.min(767)),
            Register::Exec => wave.exec().to_le_bytes().to_vec(),
            Register::Vcc => wave.s64(scalar::VCC).to_le_bytes().to_vec(),
            Register::Scc => vec![wave.scc().into()],
            Register::M0 => wave.s[usize::from(scalar::M0)].to_le_bytes().to_vec(),
        }
    }
}
