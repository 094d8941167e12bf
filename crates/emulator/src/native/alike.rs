//! Scalars that all waves of a workgroup have alike: which of a kernel's phases compute them, once for all of these waves.
//!
//! Kernels begin with loads of arguments and arithmetic on workgroup numbers and sizes, whose results are the same in each
//! wave. These phases are taken out of what each wave does, and their results go to scalar registers that the kernel does
//! not use otherwise (*homes*), where they stay for the next wave. What a wave does itself reads them there. As registers
//! that waves begin with are not written so, what is done once may be tried, and left, without a trace.

use std::collections::BTreeSet;

use super::forms::{Scalar, ScalarForm, Source};
use super::homes::{Homes, SGPRS};
use super::phase::{Phase, What};
use super::touched::{Codes, for_each_source, unnamed_sources, written};
use crate::registers::scalar;

/// Fewer phases are not worth another call.
const FEWEST: usize = 2;

/// A kernel's phases, apart.
pub struct Split {
    /// What is done once for a workgroup.
    pub once: Vec<Phase>,
    /// What each wave does, and which of the kernel's phases that is.
    pub each: Vec<Phase>,
    pub facts: Facts,
}

/// What is to be known of the registers of such a kernel.
#[derive(Default)]
pub struct Facts {
    /// Of each phase of [`Split::each`], which one of the kernel's it is.
    pub numbers: Vec<u32>,
    /// Where each of the kernel's phases begins, the registers whose contents are in other ones, and which.
    pub moved: Vec<Vec<(u8, u8)>>,
    /// Registers that are read as waves begin with them: all of a workgroup have to have the same there.
    pub begun: BTreeSet<u8>,
    /// Those of them that a wave may change, and where their contents are for the next one.
    pub restored: Vec<(u8, u8)>,
    /// Registers that no wave may begin with something in.
    pub homes: BTreeSet<u8>,
}

/// Where the contents of a scalar register are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// As the wave began with them.
    Begun,
    /// In the register, and perhaps not what other waves have.
    Own,
    Moved(u8),
}

/// `None`: nothing is gained, or registers of both kinds are read together.
pub fn split(phases: &[Phase], wave64: bool) -> Option<Split> {
    let end = phases.last()?.ops.end;
    let leads_elsewhere = |phase: &Phase| match phase.what {
        What::Branch(_) => true,
        What::Skip(_, to) => to < end,
        _ => false,
    };
    if phases.iter().any(leads_elsewhere) {
        return None;
    }
    let mut splitter = Splitter::new(phases, wave64);
    let mut done_once = 0;
    for (number, phase) in phases.iter().enumerate() {
        let moved = (0..=scalar::SCC).filter_map(|code| match splitter.held[usize::from(code)] {
            Held::Moved(to) => Some((code, to)),
            Held::Begun | Held::Own => None,
        });
        splitter.split.facts.moved.push(moved.collect());
        if splitter.is_alike(&phase.what) {
            done_once += 1;
            splitter.once(phase)?;
        } else {
            splitter.each(number as u32, phase)?;
        }
    }
    splitter.keep_begun()?;
    (done_once >= FEWEST).then_some(splitter.split)
}

struct Splitter {
    wave64: bool,
    held: [Held; 256],
    /// How much of what each wave does comes before what registers hold was computed.
    made: [usize; 256],
    homes: Homes,
    split: Split,
    /// The wave has stored: what is loaded then may be that.
    has_stored: bool,
    /// Registers that each wave changes.
    changed: BTreeSet<u8>,
}

impl Splitter {
    fn new(phases: &[Phase], wave64: bool) -> Splitter {
        let mut held = [Held::Own; 256];
        let constants = [scalar::FIRST_CONST..209, 240..scalar::LAST_CONST + 1];
        for code in (0..scalar::EXEC).chain([scalar::SCC]).chain(constants.into_iter().flatten()) {
            held[usize::from(code)] = Held::Begun;
        }
        if !wave64 {
            // A register like others.
            held[usize::from(scalar::EXEC) + 1] = Held::Begun;
        }
        Splitter {
            wave64,
            held,
            made: [0; 256],
            homes: Homes::of(phases, wave64),
            split: Split { once: Vec::new(), each: Vec::new(), facts: Facts::default() },
            has_stored: false,
            changed: BTreeSet::new(),
        }
    }

    fn sources(&self, what: &What) -> Vec<Codes> {
        let mut all = unnamed_sources(what).to_vec();
        for_each_source(&mut what.clone(), self.wave64, &mut |code, count| all.push((*code, count)));
        all
    }

    /// Whether a phase computes the same in all waves, and nothing but what may go to other registers.
    fn is_alike(&self, what: &What) -> bool {
        let is_scalar = match what {
            What::Scalar(it) => !it.writes_exec() && it.lane().is_none(),
            What::ScalarLoad(_) => !self.has_stored,
            _ => false,
        };
        let is_known = |&code: &u8| self.held[usize::from(code)] != Held::Own;
        is_scalar
            && self.sources(what).into_iter().flat_map(codes).all(|code| is_known(&code))
            && written(what, self.wave64)
                .into_iter()
                .flat_map(codes)
                .all(|code| is_general(code) || code == scalar::SCC)
    }

    fn once(&mut self, phase: &Phase) -> Option<()> {
        let mut what = phase.what.clone();
        self.rename(&mut what)?;
        let (results, flags): (Vec<Codes>, Vec<Codes>) =
            written(&phase.what, self.wave64).into_iter().partition(|&(code, _)| code != scalar::SCC);
        for (code, count) in results {
            let home = self.home_of_result(code, count)?;
            match &mut what {
                What::Scalar(it) => it.dst = home,
                What::ScalarLoad(load) => load.dst = home,
                _ => return None,
            }
            (0..count).for_each(|k| self.held[usize::from(code + k)] = Held::Moved(home + k));
        }
        self.split.once.push(Phase { ops: phase.ops.clone(), what });
        if !flags.is_empty() {
            let home = self.home_of_result(scalar::SCC, 1)?;
            self.split.once.push(copy(scalar::SCC, home));
            self.held[usize::from(scalar::SCC)] = Held::Moved(home);
        }
        Some(())
    }

    fn each(&mut self, number: u32, phase: &Phase) -> Option<()> {
        let mut what = phase.what.clone();
        for code in unnamed_sources(&what).iter().copied().flat_map(codes) {
            match self.held[usize::from(code)] {
                Held::Moved(home) if code == scalar::SCC => {
                    self.split.each.push(copy(home, code));
                    self.split.facts.numbers.push(number);
                }
                Held::Moved(_) => return None,
                // SCC is 0 in each.
                Held::Begun if code != scalar::SCC => {
                    self.split.facts.begun.insert(code);
                }
                Held::Begun | Held::Own => {}
            }
        }
        self.rename(&mut what)?;
        for code in written(&what, self.wave64).into_iter().flat_map(codes) {
            self.held[usize::from(code)] = Held::Own;
            self.changed.insert(code);
        }
        self.has_stored |= matches!(what, What::Store(_));
        self.split.each.push(Phase { ops: phase.ops.clone(), what });
        self.split.facts.numbers.push(number);
        Some(())
    }

    /// Keeps for the next wave what this one may change.
    fn keep_begun(&mut self) -> Option<()> {
        for code in self.split.facts.begun.intersection(&self.changed).copied().collect::<Vec<u8>>() {
            let home = self.new_home(code, 1)?;
            self.split.once.push(copy(code, home));
            self.split.facts.restored.push((code, home));
        }
        Some(())
    }

    /// Has a phase read its sources where they are.
    fn rename(&mut self, what: &mut What) -> Option<()> {
        let mut all_found = Some(());
        let wave64 = self.wave64;
        for_each_source(what, wave64, &mut |code, count| match self.find(*code, count) {
            Some(found) => *code = found,
            None => all_found = None,
        });
        all_found
    }

    /// Where the contents of some registers in a row are in a row.
    fn find(&mut self, code: u8, count: u8) -> Option<u8> {
        let held: Vec<Held> = codes((code, count)).map(|code| self.held[usize::from(code)]).collect();
        let begun = codes((code, count)).zip(&held).filter(|(_, held)| **held == Held::Begun).map(|(code, _)| code);
        self.split.facts.begun.extend(begun.filter(|&code| code != scalar::SCC));
        let is_moved = |held: &Held| matches!(held, Held::Moved(_));
        match held.first()? {
            _ if !held.iter().any(is_moved) => return Some(code),
            &Held::Moved(first) if held.iter().zip(first..).all(|(&held, home)| held == Held::Moved(home)) => {
                return Some(first);
            }
            _ if held.contains(&Held::Own) => return None,
            _ => {}
        }
        let home = self.new_home(code, count)?;
        for (k, held) in (0..count).zip(held) {
            let from = if let Held::Moved(from) = held { from } else { code + k };
            self.split.once.push(copy(from, home + k));
        }
        Some(home)
    }

    /// Where a result goes: in place of what the registers held before, if nothing that waves do by themselves comes in between.
    fn home_of_result(&mut self, code: u8, count: u8) -> Option<u8> {
        let now = self.split.each.len();
        let known = self.held[usize::from(code)];
        let home = match known {
            Held::Moved(first)
                if (0..count).all(|k| {
                    let at = usize::from(code + k);
                    self.held[at] == Held::Moved(first + k) && self.made[at] == now
                }) =>
            {
                first
            }
            _ => self.new_home(code, count)?,
        };
        codes((code, count)).for_each(|code| self.made[usize::from(code)] = now);
        Some(home)
    }

    fn new_home(&mut self, code: u8, count: u8) -> Option<u8> {
        let home = self.homes.take(code, count)?;
        self.split.facts.homes.extend(codes((home, count)));
        Some(home)
    }
}

fn codes((first, count): Codes) -> impl Iterator<Item = u8> + Clone {
    first..first.saturating_add(count)
}

/// Whether the register holds what code puts there, and does nothing else.
fn is_general(code: u8) -> bool {
    usize::from(code) < SGPRS || matches!(code, scalar::VCC..scalar::TTMP)
}

fn copy(from: u8, to: u8) -> Phase {
    let from = Source::Register(from);
    let form = ScalarForm::Move;
    Phase { ops: 0..0, what: What::Scalar(Scalar { form, wide: false, a: from, b: from, dst: to }) }
}
