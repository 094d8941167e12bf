//! A run of micro-ops as native code, and the micro-op that executes it.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use super::apart::{Apart, Emitted};
use super::emit::OUT;
use super::forms::writes_mask;
use super::machine::Machine;
use super::pages::Pages;
use super::phase::{Phase, Terms, What};
use super::{Native, native_with};
use crate::fp::half::plain_f16;
use crate::memory::Recent;
use crate::op::{Flow, Handler, Op};
use crate::wave::Wave;

/// Rows, scalar registers, vectors of lanes to do, LDS and how many bytes it has, and allocations that are remembered; gives
/// how many vectors are left, and which phase they belong to ([`super::emit`]).
pub(super) type Entry = unsafe extern "sysv64" fn(*mut u8, *mut u32, u32, *const u8, u32, *mut Recent) -> u32;

/// Executions that the interpreter had to finish, after which it does the run by itself: results are NaNs, MODE is not
/// the host's, or lanes access memory irregularly.
const MOST_UNFINISHED: u32 = 1000;
/// Executions of a wave that make up for one that was not finished.
const MAKES_UP: u32 = 32;
/// The most of them that are kept in mind.
const MOST_FINISHED: u32 = 1 << 16;

/// Some micro-ops in a row, and code that does what they do. What entering it takes is in one line of the host's cache.
#[repr(C, align(64))]
pub struct Run {
    /// For all lanes, and for some.
    full: Entry,
    partial: Entry,
    unfinished: AtomicU32,
    /// What it was made for.
    machine: Machine,
    needs_mode32: bool,
    flushes: bool,
    needs_host64: bool,
    needs_plain16: bool,
    /// It loads or stores.
    accesses: bool,
    /// Whether some of them are to device memory.
    is_global: bool,
    pub ops: Box<[Op]>,
    /// Which of them each phase is.
    phases: Box<[Range<usize>]>,
    terms: Terms,
    /// The same without accesses to device memory, where those are irregular.
    rest: OnceLock<Option<Native>>,
    /// The same for the waves of a workgroup, if they have something to do once.
    pub apart: Option<Apart>,
    _pages: Arc<Pages>,
}

impl Run {
    /// # Safety
    /// The code at the offsets, and at those of `apart`, is what [`super::emit`] has made of these micro-ops' phases.
    pub unsafe fn new(
        ops: Box<[Op]>,
        phases: &[Phase],
        pages: Arc<Pages>,
        [full, partial]: [usize; 2],
        (machine, terms): (Machine, Terms),
        apart: Option<Emitted>,
    ) -> Run {
        // SAFETY: the caller says that functions of this type begin there.
        let entry = |offset| unsafe { std::mem::transmute::<*const u8, Entry>(pages.at(offset)) };
        let (full, partial) = (entry(full), entry(partial));
        let apart =
            apart.map(|Emitted { once, waves, facts }| Apart { once: entry(once), waves: waves.map(entry), facts });
        let graphs =
            || phases.iter().filter_map(|phase| if let What::Lanes(graph) = &phase.what { Some(graph) } else { None });
        let moves = |phase: &Phase| matches!(phase.what, What::Store(_) | What::ScalarLoad(_));
        let is_global = ops.iter().any(|op| op.kind.is_of_memory());
        Run {
            ops,
            phases: phases.iter().map(|phase| phase.ops.clone()).collect(),
            full,
            partial,
            machine,
            terms,
            needs_mode32: graphs().any(|graph| graph.needs_mode32),
            flushes: graphs().any(|graph| graph.flushes),
            needs_host64: graphs().any(|graph| graph.needs_host64),
            needs_plain16: graphs().any(|graph| graph.needs_plain16),
            accesses: graphs().any(|graph| graph.accesses()) || phases.iter().any(moves),
            is_global,
            unfinished: AtomicU32::new(0),
            rest: OnceLock::new(),
            apart,
            _pages: pages,
        }
    }

    /// The micro-op that stands for it. It points at the run, which stays where it is as long as the op is there.
    pub fn op(&self) -> Op {
        let inst = self.ops.first().map_or(0, |op| op.inst);
        Op { run, imm: std::ptr::from_ref(self) as u64, inst, ..Op::NOTHING }
    }

    /// Whether the interpreter does it from now on.
    pub fn is_given_up(&self) -> bool {
        self.unfinished.load(Relaxed) > MOST_UNFINISHED
    }

    /// Whether the code does for the wave what the interpreter does.
    #[inline(always)]
    fn suits(&self, w: &Wave) -> bool {
        let mode32 = if self.flushes { w.mode.flushes32() } else { w.mode.host32() };
        let is_other = self.needs_mode32 && !mode32
            || self.needs_host64 && !w.mode.host16_64()
            || self.needs_plain16 && !plain_f16(w.mode);
        !(is_other || self.accesses && w.is_watched)
    }

    /// What is done where the code was left too often.
    #[inline(never)]
    fn give_up(&self, w: &mut Wave) -> Flow {
        let make =
            || native_with(self.machine, &self.ops, Terms { global: false, loops: false, ends: false, ..self.terms });
        // Of two blocks that were one, each is for itself then.
        let is_worth_it = self.is_global && self.terms.skip.is_none();
        let Some(rest) = self.rest.get_or_init(|| if is_worth_it { make() } else { None }) else {
            return self.interpret(w, 0);
        };
        for op in &*rest.ops {
            // SAFETY: as in `interpret`; the native code among them is kept by `rest`.
            let flow = unsafe { (op.run)(w, op) };
            if flow != Flow::Next {
                w.stopped.get_or_insert(op.inst);
                return flow;
            }
        }
        Flow::Next
    }

    /// The interpreter does it.
    #[cold]
    #[inline(never)]
    fn interpret(&self, w: &mut Wave, from: usize) -> Flow {
        let mut at = from;
        while let Some(op) = self.ops.get(at) {
            // SAFETY: the builder has checked it.
            let flow = unsafe { (op.run)(w, op) };
            match self.terms.skip.filter(|skip| skip.at == at) {
                Some(skip) if flow == Flow::Taken => {
                    (w.skipped, at) = (true, skip.to);
                    continue;
                }
                Some(_) if flow == Flow::Fall => {}
                _ if flow == Flow::Next => {}
                _ => {
                    w.stopped = Some(op.inst);
                    return flow;
                }
            }
            at += 1;
        }
        Flow::Next
    }

    /// The interpreter does what is left: of a phase all but the first `done` lanes, and the phases behind it.
    #[cold]
    #[inline(never)]
    pub(super) fn finish(&self, w: &mut Wave, phase: usize, done: u32) -> Flow {
        match w.finished.checked_sub(MAKES_UP) {
            Some(rest) => w.finished = rest,
            None => drop(self.unfinished.fetch_add(1, Relaxed)),
        }
        let done = if done == 0 { 0 } else { u64::MAX >> (64 - done) };
        let exec = w.exec();
        w.set_exec(exec & !done);
        let ops = self.phases[phase].clone();
        for op in &self.ops[ops.clone()] {
            let before = w.mask(op.sdst);
            // SAFETY: the builder has checked it.
            let flow = unsafe { (op.run)(w, op) };
            if flow != Flow::Next {
                w.set_exec(exec);
                w.stopped = Some(op.inst);
                return flow;
            }
            if done != 0 && writes_mask(op) {
                let after = w.mask(op.sdst);
                w.set_mask(op.sdst, before & done | after & !done);
            }
        }
        // A comparison may have changed it, for the lanes before in the code.
        w.set_exec(exec & done | w.exec() & !done);
        self.interpret(w, ops.end)
    }
}

impl Run {
    /// The run that a micro-op stands for, if it does.
    pub fn of(op: &Op) -> Option<&Run> {
        // SAFETY: as in `run`.
        std::ptr::fn_addr_eq(op.run, run as Handler).then(|| unsafe { &*(op.imm as *const Run) })
    }

    /// Whether the code is to be executed for the wave.
    pub fn is_for(&self, w: &Wave) -> bool {
        self.suits(w) && !self.is_given_up()
    }

    /// Executes it for a wave that the code is right for.
    #[inline(always)]
    pub fn go(&self, w: &mut Wave) -> Flow {
        match self.enter(of_lanes([self.full, self.partial], w), w) {
            Ok(flow) => flow,
            Err(Left { phase, done }) => self.finish(w, phase, done),
        }
    }

    /// Has one of its functions do what it does.
    #[inline(always)]
    pub(super) fn enter(&self, entry: Entry, w: &mut Wave) -> Result<Flow, Left> {
        let lanes = self.machine.lanes();
        let vectors = w.lanes() / lanes;
        let (lds, len) = w.lds.place();
        let (rows, scalars) = (w.rows.as_mut_ptr().cast(), w.s.as_mut_ptr());
        let wave = std::ptr::from_mut(w);
        // SAFETY: the code reads and writes rows of the vector file and scalar registers, as its micro-ops do; it accesses LDS
        // and what the wave remembers of memory where it has found that to be, which other threads access by atomics only, and
        // so does the host's processor each word of a vector. It writes whether the wave has stored, too.
        let left = unsafe { entry(rows, scalars, vectors, lds, len, &raw mut (*wave).recent) };
        if left == 0 || left & OUT == OUT {
            w.finished = (w.finished + 1).min(MOST_FINISHED);
            return Ok(match left >> 24 {
                _ if left == 0 => Flow::Next,
                0 => Flow::Fall,
                _ => Flow::Taken,
            });
        }
        Err(Left { phase: left as usize >> 8, done: (vectors - (left & 0xff)) * lanes })
    }
}

/// The entry for all lanes, or for some. Which ones are on is looked at where it matters only: that has just been stored, perhaps
/// in another width, and would be waited for.
#[inline(always)]
pub(super) fn of_lanes([full, partial]: [Entry; 2], w: &Wave) -> Entry {
    if std::ptr::fn_addr_eq(full, partial) || w.exec() == w.all_lanes() { full } else { partial }
}

/// Where code was left: which of its phases, and how many lanes were done by then.
pub(super) struct Left {
    pub phase: usize,
    pub done: u32,
}

/// Executes a [`Run`].
fn run(w: &mut Wave, op: &Op) -> Flow {
    // SAFETY: the block that holds this op holds the boxed run too, and neither moves nor drops it while the op can run.
    let run = unsafe { &*(op.imm as *const Run) };
    if !run.suits(w) {
        return run.interpret(w, 0);
    }
    if run.is_given_up() {
        return run.give_up(w);
    }
    run.go(w)
}
