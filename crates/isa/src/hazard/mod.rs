//! Pairs of instructions that the hardware leaves it to software to keep apart.
//!
//! [`Hazards`] follows the instructions of a wave. Strict mode steps it with the instructions that are executed;
//! placement steps it with those that surround a place, and asks what has to come in between.
//!
//! The rules are rows of a table ([`rules`]), which say what the first instruction does to a register, what the second
//! does to it, how far apart they have to be, and what in between makes it good; [`view`] tells what an instruction
//! does. Distances are counted in wait states (one for each instruction in between, more for `s_nop`) or in VALU
//! instructions. CDNA's matrix instructions hold their registers for as long as their shape takes ([`matrix`]); some
//! of RDNA's hazards take three instructions ([`scalars`], [`forwarding`]), and some of gfx1250's instructions run beside
//! others ([`coexecution`]).

mod coexecution;
mod concern;
mod forwarding;
mod matrix;
mod opcode;
mod remedy;
mod rules;
mod scalars;
mod view;
mod within;

use std::sync::OnceLock;

use crate::{Inst, Mode, OpcodeInfo, Reg, RegRange, RegSet};

pub use self::concern::Firsts;
use self::concern::{Concerns, bit};
use self::forwarding::{Forwarding, ForwardingFacts};
use self::matrix::{MatrixFacts, MatrixHazards};
use self::opcode::Opcode;
pub use self::remedy::{Cure, Remedy};
use self::rules::{Apart, First, Marks, RULES, Rule};
use self::scalars::ScalarFacts;
pub use self::scalars::Scalars;
use self::view::View;
pub use self::within::prune;

/// An instruction as the hazard checks see it.
#[derive(Clone, Debug)]
pub struct Facts {
    makes: Vec<(First, Reg)>,
    needs: Vec<(&'static Rule, Reg)>,
    marks: Marks,
    vector: bool,
    transcendental: bool,
    matrix: MatrixFacts,
    scalars: Option<Box<ScalarFacts>>,
    forwarding: Option<Box<ForwardingFacts>>,
    /// Wait states that it takes itself.
    length: u32,
    /// What must not have been done lately for its marks not to matter, and what is over behind it.
    minded: Firsts,
    ended: Firsts,
    /// As [`Facts::concerns`]; known once its block is.
    concerns: Option<Firsts>,
}

/// The rules of one processor in one wave size.
struct Here {
    rules: Vec<&'static Rule>,
    firsts: Vec<First>,
    asked: Marks,
    concerns: Concerns,
    opcodes: Box<[OnceLock<Opcode>]>,
}

impl Here {
    fn of(mode: Mode) -> &'static Here {
        static ALL: [OnceLock<Here>; Mode::COUNT] = [const { OnceLock::new() }; Mode::COUNT];
        ALL[mode.index()].get_or_init(|| {
            let rules: Vec<&Rule> = RULES.iter().filter(|rule| (rule.on)(mode.target(), mode.wave())).collect();
            let wanted = |first: &First| rules.iter().any(|rule| rule.first == *first);
            let firsts: Vec<First> = First::ALL.into_iter().filter(wanted).collect();
            Here {
                concerns: Concerns::of(&firsts, &rules),
                firsts,
                asked: rules.iter().fold(Marks::empty(), |marks, rule| marks | rule.since | rule.ends),
                rules,
                opcodes: mode.opcodes().iter().map(|_| OnceLock::new()).collect(),
            }
        })
    }
    fn opcode(&self, info: &'static OpcodeInfo) -> &Opcode {
        self.opcodes[usize::from(info.id.0)].get_or_init(|| Opcode::of(info, self))
    }
}

/// Whether some rule counts wait states. Where none does, an instruction that does nothing has nothing to do with hazards.
pub fn counts_states(mode: Mode) -> bool {
    Here::of(mode).rules.iter().any(|rule| matches!(rule.apart, Apart::States(_)))
}

impl Facts {
    /// Of an instruction that has nothing to keep away from.
    pub fn none() -> Facts {
        Facts {
            makes: Vec::new(),
            needs: Vec::new(),
            marks: Marks::empty(),
            vector: false,
            transcendental: false,
            matrix: MatrixFacts::default(),
            scalars: None,
            forwarding: None,
            length: 1,
            minded: 0,
            ended: 0,
            concerns: Some(0),
        }
    }

    pub fn of(inst: &Inst) -> Facts {
        let here = Here::of(inst.info().mode);
        let opcode = here.opcode(inst.info());
        let view = if opcode.is_looked_at { View::new(inst, opcode) } else { View::without_registers(inst, opcode) };
        let makes = opcode.firsts.iter().flat_map(|&first| view.first(first).into_iter().map(move |reg| (first, reg)));
        let needs =
            opcode.rules.iter().flat_map(|&rule| view.second(rule.second).into_iter().map(move |reg| (rule, reg)));
        let length = if view.base == "s_nop" { inst.field(crate::Field::Simm16).unwrap_or(0) % 16 + 1 } else { 1 };
        // What no rule here asks for need not be noted.
        let marks = view.marks(here.asked);
        Facts {
            makes: makes.collect(),
            needs: needs.collect(),
            marks,
            vector: view.is_vector(),
            transcendental: view.is_transcendental(),
            matrix: MatrixFacts::of(inst),
            scalars: ScalarFacts::of(&view).map(Box::new),
            forwarding: ForwardingFacts::of(&view).map(Box::new),
            length,
            minded: if marks.is_empty() { 0 } else { here.concerns.minding(marks) },
            ended: if marks.is_empty() { 0 } else { here.concerns.ended(marks) },
            concerns: None,
        }
    }

    /// What must not have been done lately for all there is to it to be that time goes by, as long as no matrix instruction
    /// is under way ([`Hazards::is_calm`]). `None`: there is more to it anyway, or its block is not known.
    pub fn concerns(&self) -> Option<Firsts> {
        self.concerns
    }

    /// It neither needs a distance from another instruction nor asks for one.
    pub fn is_indifferent(&self) -> bool {
        self.needs.is_empty()
            && self.makes.is_empty()
            && self.matrix.is_indifferent()
            && self.scalars.is_none()
            && self.forwarding.is_none()
    }

    fn settle(&mut self) {
        let does = !self.makes.is_empty() || self.matrix.holds() || self.scalars.is_some() || self.forwarding.is_some();
        let needs = self.needs.iter().fold(self.minded, |all, (rule, _)| all | bit(rule.first));
        self.concerns = (!does).then_some(needs);
    }

    /// The scalars that it leaves marked as read by a vector instruction, where the processor has such marks.
    pub fn marked(&self) -> RegSet {
        self.scalars.as_ref().map(|scalars| scalars.marked()).unwrap_or_default()
    }

    /// How it moves the clocks on.
    pub fn steps(&self) -> Steps {
        let length = self.length as u8;
        Steps { length, vector: self.vector, transcendental: self.transcendental }
    }
}

/// How an instruction moves a wave's clocks on.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Wait states, sixteen at most.
    pub length: u8,
    pub vector: bool,
    pub transcendental: bool,
}

/// When and where something was done to a register.
#[derive(Clone, Copy, Default)]
struct Stamp {
    /// Wait states since the wave began; zero for never.
    at: u64,
    pc: u64,
    /// VALU instructions up to and with this one, and transcendental ones of them.
    vectors: u32,
    transcendentals: u32,
}

/// The latest time that each thing was done to each register.
#[derive(Clone)]
enum Stamps {
    /// By [`First`], then by unit: for code that follows a wave for long.
    Dense([Option<Box<[Stamp; Reg::COUNT]>>; First::ALL.len()]),
    /// For a few instructions.
    Sparse(Vec<(First, Reg, Stamp)>),
}

impl Stamps {
    #[inline]
    fn get(&self, first: First, reg: Reg) -> Option<Stamp> {
        match self {
            Stamps::Dense(stamps) => Some(stamps[first as usize].as_ref()?[reg.index()]),
            Stamps::Sparse(list) => {
                list.iter().rev().find(|(f, r, _)| *f == first && *r == reg).map(|(.., stamp)| *stamp)
            }
        }
    }
    #[inline]
    fn set(&mut self, first: First, reg: Reg, stamp: Stamp) {
        match self {
            Stamps::Dense(stamps) => {
                stamps[first as usize].get_or_insert_with(|| Box::new([Stamp::default(); Reg::COUNT]))[reg.index()] =
                    stamp;
            }
            Stamps::Sparse(list) => list.push((first, reg, stamp)),
        }
    }
}

/// The place of what was done in code that was not looked at: see [`Hazards::assume_anything`].
pub const ELSEWHERE: u64 = u64::MAX;

/// What is missing before an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    pub rule: &'static str,
    /// What has happened before.
    pub what: String,
    pub remedy: Remedy,
    /// Where the other instruction is, as it was told to [`Hazards::check`].
    pub first: u64,
}

/// What a wave has done lately, as far as hazards are concerned.
#[derive(Clone)]
pub struct Hazards {
    now: u64,
    /// When the wave began: stamps from before are another's.
    began: u64,
    vectors: u32,
    transcendentals: u32,
    stamps: Stamps,
    /// Up to when anything may have been done.
    elsewhere: Option<Stamp>,
    /// What was done since the wave began that a rule may still ask about.
    done: Firsts,
    /// When an instruction last had each mark.
    marked: [u64; Marks::all().bits().count_ones() as usize],
    matrix: MatrixHazards,
    scalars: Scalars,
    forwarding: Forwarding,
}

/// Long enough ago for everything.
const LONG_AGO: u64 = 64;

impl Default for Hazards {
    /// Of a wave that begins.
    fn default() -> Hazards {
        Hazards {
            now: LONG_AGO,
            began: LONG_AGO,
            vectors: 0,
            transcendentals: 0,
            stamps: Stamps::Dense([const { None }; First::ALL.len()]),
            elsewhere: None,
            done: 0,
            marked: [0; Marks::all().bits().count_ones() as usize],
            matrix: MatrixHazards::default(),
            scalars: Scalars::default(),
            forwarding: Forwarding::default(),
        }
    }
}

impl Hazards {
    /// Of a wave that begins, to be followed for a few instructions.
    pub fn brief() -> Hazards {
        Hazards { stamps: Stamps::Sparse(Vec::with_capacity(16)), ..Hazards::default() }
    }

    /// As for a wave that begins.
    pub fn restart(&mut self) {
        if let Stamps::Sparse(list) = &mut self.stamps {
            list.clear();
        }
        self.now += LONG_AGO;
        self.began = self.now;
        self.elsewhere = None;
        self.done = 0;
        self.matrix.restart();
        self.scalars.restart();
        self.forwarding.restart();
    }

    /// Takes it that vector instructions have read every scalar but those in `unread`, long ago: some hazards last
    /// for as long as that is so.
    pub fn assume_read(&mut self, unread: &RegSet) {
        self.scalars.assume_read(unread);
    }

    /// What is known of scalars that vector instructions have read, which lasts longer than anything else.
    pub fn scalars(&self) -> Scalars {
        self.scalars.clone()
    }

    /// Goes on with what was known of scalars elsewhere.
    pub fn set_scalars(&mut self, scalars: Scalars) {
        self.scalars = scalars;
    }

    /// Takes it that all scalars but those in `unwritten` have been written since they were read, and not been waited for.
    pub fn assume_written(&mut self, mode: Mode, unwritten: &RegSet) {
        self.scalars.assume_written(mode, unwritten);
    }

    /// Takes it that anything may have been issued just before now, besides what was followed: whatever a hazard's first
    /// instruction is, at [`ELSEWHERE`], with what opens the hazard. Of scalars see [`Hazards::assume_written`].
    pub fn assume_anything(&mut self, mode: Mode) {
        let Hazards { now, vectors, transcendentals, .. } = *self;
        self.elsewhere = Some(Stamp { at: now - 1, pc: ELSEWHERE, vectors, transcendentals });
        self.done = Firsts::MAX;
        self.matrix.assume_anything(mode.target(), now - 1);
        self.forwarding.assume_anything(mode);
    }

    /// Whether some hazards of a processor last for longer than a few wait states: until something ends them.
    pub fn last(mode: Mode) -> bool {
        let rules = &Here::of(mode).rules;
        Scalars::matter(mode) || rules.iter().any(|rule| !matches!(rule.apart, Apart::States(_)))
    }

    /// Registers that matrix instructions of late may still be using.
    pub fn held(&self) -> impl Iterator<Item = RegRange> + '_ {
        self.matrix.held()
    }

    /// Whether no matrix instruction is under way, and none of these things was done that a rule may still ask about.
    #[inline(always)]
    pub fn is_calm(&self, concerns: Firsts) -> bool {
        self.done & concerns == 0 && self.matrix.is_idle()
    }

    /// Passes over an instruction while [`Hazards::is_calm`] for what it [`Facts::concerns`].
    #[inline(always)]
    pub fn pass(&mut self, steps: Steps) {
        self.now += u64::from(steps.length);
        self.vectors += u32::from(steps.vector);
        self.transcendentals += u32::from(steps.transcendental);
    }

    /// Checks one instruction, at `pc`, and notes what it does. Everything that is missing before it goes to `report`.
    #[inline(always)]
    pub fn check(&mut self, facts: &Facts, pc: u64, report: impl FnMut(Missing)) {
        match facts.concerns {
            Some(concerns) if self.is_calm(concerns) => self.pass(facts.steps()),
            _ => self.look(facts, pc, report),
        }
    }

    /// Notes what one instruction does, as [`Hazards::check`] without a place; what is missing before it is not asked.
    #[inline]
    pub fn step(&mut self, facts: &Facts) {
        if facts.concerns.is_some_and(|concerns| self.is_calm(concerns)) {
            return self.pass(facts.steps());
        }
        // These two note what they check.
        if let Some(scalars) = &facts.scalars {
            self.scalars.check(scalars, 0);
        }
        if let Some(forwarding) = &facts.forwarding {
            self.forwarding.check(forwarding, 0);
        }
        self.note(facts, 0);
    }

    fn look(&mut self, facts: &Facts, pc: u64, mut report: impl FnMut(Missing)) {
        if !facts.needs.is_empty() {
            let missing = |&(rule, reg): &(&'static Rule, Reg)| self.missing(rule, reg);
            let worst = facts.needs.iter().filter_map(missing).max_by_key(|&(much, _)| much);
            worst.into_iter().for_each(|(_, missing)| report(missing));
            self.unseen(facts).into_iter().for_each(&mut report);
        }
        if !self.matrix.is_idle() {
            self.matrix.missing(&facts.matrix, self.now).into_iter().for_each(&mut report);
            self.matrix.unseen(&facts.matrix, self.now).into_iter().for_each(&mut report);
        }
        if let Some(scalars) = &facts.scalars {
            self.scalars.check(scalars, pc).into_iter().for_each(&mut report);
        }
        if let Some(forwarding) = &facts.forwarding {
            self.forwarding.check(forwarding, pc).into_iter().for_each(&mut report);
        }
        self.note(facts, pc);
    }

    /// The first thing that is missing before an instruction that is about to come. Nothing is noted.
    pub fn needed(&self, facts: &Facts) -> Option<Missing> {
        let worst = facts.needs.iter().filter_map(|&(rule, reg)| self.missing(rule, reg)).max_by_key(|&(much, _)| much);
        let matrix = || self.matrix.missing(&facts.matrix, self.now);
        let unseen = || self.unseen(facts).or_else(|| self.matrix.unseen(&facts.matrix, self.now));
        let scalars = || self.scalars.clone().check(facts.scalars.as_deref()?, 0);
        let forwarding = || self.forwarding.clone().check(facts.forwarding.as_deref()?, 0);
        worst.map(|(_, missing)| missing).or_else(matrix).or_else(scalars).or_else(forwarding).or_else(unseen)
    }

    /// Whether surely nothing of what was noted is missing before any of these instructions, if they come next, one after the
    /// other. What they do to each other does not count.
    pub fn is_clear<'f>(&self, mut code: impl Iterator<Item = &'f Facts>) -> bool {
        let far = |rule: &Rule, stamp: Stamp| match rule.apart {
            Apart::States(n) => self.now - (stamp.at + 1) >= u64::from(n),
            Apart::Vectors { .. } | Apart::Any => false,
        };
        let over = self.matrix.is_over(self.now);
        code.all(|facts| {
            let apart = |&(rule, reg): &(&'static Rule, Reg)| {
                self.elsewhere.is_none_or(|stamp| far(rule, stamp))
                    && self.stamps.get(rule.first, reg).is_none_or(|stamp| stamp.at < self.began || far(rule, stamp))
            };
            // These two are not looked into.
            facts.scalars.is_none()
                && facts.forwarding.is_none()
                && (over || facts.matrix.is_indifferent())
                && facts.needs.iter().all(apart)
        })
    }

    /// Lets an instruction go by for which only the time it takes and what it ends matter, not what it does.
    pub fn go_by(&mut self, facts: &Facts) {
        self.vectors += u32::from(facts.vector);
        self.transcendentals += u32::from(facts.transcendental);
        self.mark(facts.marks);
        self.now += u64::from(facts.length);
    }

    /// What would have to come now for nothing to be left to keep away from what `done` has done, whatever instruction is
    /// next. Registers that are not `live` are only overwritten.
    pub fn rest<'f>(
        &self,
        mode: Mode,
        done: impl Iterator<Item = &'f Facts>,
        live: impl Fn(Reg) -> bool,
    ) -> Option<Remedy> {
        let mut states = self.matrix.rest(self.now);
        for &(first, reg) in done.flat_map(|facts| &facts.makes) {
            let Some(stamp) = self.stamps.get(first, reg) else { continue };
            let here = Here::of(mode).rules.iter().filter(|rule| rule.first == first);
            for rule in here.filter(|rule| rule.second.concerns(reg) && (live(reg) || rule.second.overwrites())) {
                match rule.apart {
                    _ if self.since(rule.ends, stamp.at) => {}
                    Apart::States(n) => {
                        let have = self.now.saturating_sub(stamp.at + 1);
                        states = states.max(u64::from(n).saturating_sub(have));
                    }
                    Apart::Vectors { any, .. } => match any.saturating_sub(self.vectors - stamp.vectors) {
                        0 => {}
                        left => return Some(Remedy::Vectors(left, rule.cure)),
                    },
                    Apart::Any => return Some(Remedy::Cure(rule.cure)),
                }
            }
        }
        if let Some(cure) = self.scalars.rest(mode.target(), live) {
            return Some(Remedy::Cure(cure));
        }
        if self.forwarding.is_open() {
            return Some(Remedy::Cure(Cure::VaVdst));
        }
        (states > 0).then_some(Remedy::States(states as u32))
    }

    /// What has to be waited for in front of code that is not followed to its end. If it changes EXEC, an instruction further on
    /// may read a result from before the change beside one from behind it.
    pub fn held_before<'f>(&self, mut code: impl Iterator<Item = &'f Facts>) -> Option<Remedy> {
        let changes = |facts: &Facts| facts.forwarding.as_ref().is_some_and(|forwarding| forwarding.changes_exec);
        (self.forwarding.holds_results() && code.any(changes)).then_some(Remedy::Cure(Cure::VaVdst))
    }

    /// What waits for scalars that were written and not waited for, whether or not they are live.
    pub fn unwaited(&self, mode: Mode) -> Option<Remedy> {
        self.scalars.rest(mode.target(), |_| true).map(Remedy::Cure)
    }

    /// How much of the distance is missing, if any.
    #[inline]
    fn missing(&self, rule: &'static Rule, reg: Reg) -> Option<(u64, Missing)> {
        if self.done & bit(rule.first) == 0 {
            return None;
        }
        let stamp = self.stamps.get(rule.first, reg)?;
        if stamp.at < self.began { None } else { self.behind(rule, reg, stamp) }
    }

    /// What is missing because of what was done in code that was not looked at.
    fn unseen(&self, facts: &Facts) -> Option<Missing> {
        let elsewhere = self.elsewhere?;
        let missing = facts.needs.iter().filter_map(|&(rule, reg)| self.behind(rule, reg, elsewhere));
        missing.max_by_key(|&(much, _)| much).map(|(_, missing)| missing)
    }

    fn behind(&self, rule: &'static Rule, reg: Reg, stamp: Stamp) -> Option<(u64, Missing)> {
        let much = match rule.apart {
            // An instruction right behind another one has no wait states in between.
            Apart::States(states) => u64::from(states).saturating_sub(self.now - (stamp.at + 1)),
            Apart::Vectors { transcendental, .. } if self.transcendentals - stamp.transcendentals >= transcendental => {
                0
            }
            Apart::Vectors { any, .. } => any.saturating_sub(self.vectors - stamp.vectors).into(),
            Apart::Any => 1,
        };
        let opened = rule.since.is_empty() || stamp.pc == ELSEWHERE || self.since(rule.since, stamp.at);
        if much == 0 || self.since(rule.ends, stamp.at) || !opened {
            return None;
        }
        let remedy = match rule.apart {
            Apart::States(_) => Remedy::States(much as u32),
            Apart::Vectors { .. } => Remedy::Vectors(much as u32, rule.cure),
            Apart::Any => Remedy::Cure(rule.cure),
        };
        Some((much, Missing { rule: rule.name, what: rule.first.phrase(reg), remedy, first: stamp.pc }))
    }

    /// An instruction with one of these marks came after that time.
    fn since(&self, marks: Marks, at: u64) -> bool {
        (0..self.marked.len()).any(|k| marks.bits() >> k & 1 != 0 && self.marked[k] > at)
    }

    fn mark(&mut self, marks: Marks) {
        let mut left = marks.bits();
        while left != 0 {
            self.marked[left.trailing_zeros() as usize] = self.now;
            left &= left - 1;
        }
    }

    /// Notes an instruction at `pc`, of all but scalars and forwarding, which do so as they check.
    fn note(&mut self, facts: &Facts, pc: u64) {
        self.vectors += u32::from(facts.vector);
        self.transcendentals += u32::from(facts.transcendental);
        let stamp = Stamp { at: self.now, pc, vectors: self.vectors, transcendentals: self.transcendentals };
        self.done &= !facts.ended;
        for &(first, reg) in &facts.makes {
            self.stamps.set(first, reg, stamp);
            self.done |= bit(first);
        }
        self.mark(facts.marks);
        if !self.matrix.is_idle() || facts.matrix.holds() {
            self.matrix.note(&facts.matrix, self.now, pc);
        }
        self.now += u64::from(facts.length);
    }
}
