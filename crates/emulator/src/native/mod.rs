//! Native code for hot blocks, on x86-64 with AVX2 or AVX-512.
//!
//! A block that has run often gets a second form ([`native_block`]): runs of vector instructions that have a native form
//! ([`forms`]) become one micro-op each, whose handler calls code made for them; all others stay what they are. So
//! whatever else an instruction may do (faults, barriers, what strict mode and observers look at) is done by the
//! interpreter, and both forms of a block may take turns at any border of blocks.
//!
//! What a run computes is the interpreter's, bit for bit. Where the host's arithmetic would choose a NaN, or does not
//! round and flush as MODE asks, or an access to memory is not one of the regular ones, the code gives up before it has
//! stored anything of those lanes, and the interpreter does them ([`run`]).
//!
//! `LUTHIER_NATIVE=0` switches it off, and so does a host that gives no executable memory. Another number is that of
//! executions after which a block is hot; `random:SEED` has blocks change between both forms all the time.
//!
//! | module | one idea |
//! |---|---|
//! | [`forms`] | what each operation computes |
//! | [`graph`], [`nodes`], [`addresses`] | what lanes compute as a graph of values; its operations; what of memory they access |
//! | [`functions`] | what native code calls |
//! | [`phase`] | a run as graphs and stores, one after the other |
//! | [`emit`], [`machine`](mod@machine) | from a graph to instructions; which instructions the host has |
//! | [`pages`] | memory for code |
//! | [`run`] | executing it |
//! | [`stream`] | a wave's last loads and its store, vector by vector |
//! | [`signal`] | what comes right before a wait for a barrier |
//! | [`whole`] | all that a wave does as one run |
//! | [`alike`], [`apart`] | what all waves of a workgroup have alike, done once |
//! | [`homes`] | scalar registers for it |
//! | [`touched`] | the scalar registers that a phase reads and writes |

mod addresses;
mod alike;
mod apart;
mod buffers;
mod emit;
mod forms;
mod functions;
mod graph;
mod homes;
#[cfg(test)]
mod lockstep;
mod machine;
mod nodes;
mod pages;
mod phase;
mod run;
mod signal;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_apart;
#[cfg(test)]
mod tests_scalar_loads;
#[cfg(test)]
mod tests_scattered;
#[cfg(test)]
mod tests_signed_offsets;
#[cfg(test)]
mod tests_streams;
#[cfg(test)]
mod tests_whole;
mod touched;
mod whole;
mod words_alike;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

pub use apart::Apart;
use emit::{Code64, Purpose};
use machine::Machine;
use pages::Pages;
pub use phase::Skip;
use phase::{Phase, Terms, What};
pub use run::Run;
pub use signal::are_barrier;
pub use whole::{Whole, native_whole};

use crate::level::level;
use crate::mode::Mode;
use crate::op::Op;

/// Executions of a block by one worker, after which native code is made: about as long as that takes.
const HOT: u64 = 400;
/// Micro-ops of one run at most.
const LONGEST: usize = 160;
/// Micro-ops that are worth a call, a branch back to them included; one that accesses memory is worth it alone.
const SHORTEST: usize = 3;
/// Bytes of native code that a process has at most.
const MOST_BYTES: usize = 64 << 20;

/// Bytes of native code that there are.
static BYTES: AtomicUsize = AtomicUsize::new(0);
/// The host gives no executable memory.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// What says when blocks get native code.
pub const VARIABLE: &str = "LUTHIER_NATIVE";

/// When blocks get native code, and run it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    Never,
    /// After this many executions of a block.
    Hot(u64),
    /// They change between native code and micro-ops at random moments; for tests.
    Random(u64),
}

impl When {
    /// What [`VARIABLE`] says: a number of executions, 0 for never, or `random:SEED`.
    ///
    /// # Errors
    /// It says something else; in a line.
    pub fn of(text: &str) -> Result<When, String> {
        let number = |text: &str| text.parse().ok();
        match (text, text.strip_prefix("random:").and_then(number), number(text)) {
            ("", ..) => Ok(When::Hot(HOT)),
            (_, Some(seed), _) => Ok(When::Random(seed)),
            (_, _, Some(0)) => Ok(When::Never),
            (_, _, Some(executions)) => Ok(When::Hot(executions)),
            _ => Err(format!("{VARIABLE}={text} is not possible: it is a number, or random:SEED")),
        }
    }
}

/// What the environment says.
///
/// # Panics
/// As [`When::of`] refuses: who makes devices asks [`crate::environment::check`] first.
pub fn when() -> When {
    static CHOSEN: OnceLock<When> = OnceLock::new();
    *CHOSEN.get_or_init(|| When::of(&crate::environment::word(VARIABLE)).unwrap_or_else(|why| panic!("{why}")))
}

/// The host's vectors, if native code can be made.
fn machine() -> Option<Machine> {
    Machine::of(level()).filter(|_| !REFUSED.load(Relaxed))
}

/// A block's micro-ops with native runs among them.
pub struct Native {
    pub ops: Arc<[Op]>,
    /// What micro-ops point at.
    #[allow(clippy::vec_box)] // ops point at them
    runs: Vec<Box<Run>>,
    bytes: usize,
}

impl Native {
    /// Whether the interpreter does a part of it from now on.
    pub fn is_given_up(&self) -> bool {
        self.runs.iter().any(|run| run.is_given_up())
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        BYTES.fetch_sub(self.bytes, Relaxed);
    }
}

/// The native form of a block, if it has one that is worth having; instructions with probes stay the interpreter's. `mode` is
/// that of a wave that runs it; `loops`: its branch, if it is taken, leads to the block itself.
pub fn native_block(ops: &[Op], wave64: bool, mode: Mode, loops: bool) -> Option<Native> {
    native_on(machine()?, ops, wave64, mode, loops)
}

/// The same of two blocks' micro-ops in a row, the first one's last one being a branch that leads past some of the second one's;
/// none unless one run has the branch and where it leads. [`Wave::skipped`](crate::wave::Wave::skipped) says which way it went.
pub fn native_pair(ops: &[Op], skip: Skip, wave64: bool, mode: Mode) -> Option<Native> {
    let machine = machine()?;
    native_with(machine, ops, Terms { skip: Some(skip), ..Terms::new(machine, wave64, mode, false) })
}

fn native_on(machine: Machine, ops: &[Op], wave64: bool, mode: Mode, loops: bool) -> Option<Native> {
    native_with(machine, ops, Terms::new(machine, wave64, mode, loops))
}

/// The run that begins at a micro-op, and its code, if it is worth that. Where a phase needs more of the stack than there is, phases
/// are shorter.
fn emitted(ops: &[Op], at: usize, machine: Machine, terms: Terms) -> (usize, Vec<Phase>, Option<Code64>) {
    let mut terms = terms;
    loop {
        let (end, mut phases) = phase::next_run(ops, at, terms);
        let ends = terms.ends && end + 1 == ops.len();
        if ends {
            whole::forget_unread(&mut phases);
        }
        let is_worth_it = end > at && (end - at >= SHORTEST || phases.iter().any(|phase| phase.what.moves_lanes()));
        if !is_worth_it {
            return (end, phases, None);
        }
        let purpose = if ends { Purpose::End } else { Purpose::Part };
        if let Ok(code) = emit::emit(&phases, machine, terms.wave64, purpose) {
            return (end, phases, Some(code));
        }
        terms.longest /= 2;
        if terms.longest < SHORTEST {
            return (end, phases, None);
        }
    }
}

fn native_with(machine: Machine, ops: &[Op], terms: Terms) -> Option<Native> {
    if BYTES.load(Relaxed) >= MOST_BYTES {
        return None;
    }
    let ops = &*signal::signal_late(ops, terms.skip, terms.wave64);
    let (mut code, mut made) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < ops.len() {
        let (end, phases, emitted) = emitted(ops, at, machine, terms);
        if let Some(emitted) = emitted {
            let ends = terms.ends && end + 1 == ops.len();
            code.resize(code.len().next_multiple_of(64), 0xcc);
            let entries = [emitted.full, emitted.partial].map(|entry| code.len() + entry);
            code.extend(emitted.bytes);
            let apart = if ends && at == 0 { apart::emit(&phases, machine, terms.wave64, &mut code) } else { None };
            made.push((at..end, entries, phases, apart));
            at = end;
        } else {
            at = end.max(phase::after_instruction(ops, at));
        }
    }
    let has_skip = |skip: Skip| made.iter().any(|(run, ..)| skip.within(run).is_some());
    if made.is_empty() || terms.skip.is_some_and(|skip| !has_skip(skip)) {
        return None;
    }
    let Ok(pages) = Pages::new(&code) else {
        REFUSED.store(true, Relaxed);
        return None;
    };
    let bytes = pages.len();
    BYTES.fetch_add(bytes, Relaxed);
    let pages = Arc::new(pages);
    let (mut all, mut runs, mut done) = (Vec::new(), Vec::new(), 0);
    for (Range { start, end }, entries, phases, apart) in made {
        all.extend_from_slice(&ops[done..start]);
        let terms = Terms { skip: terms.skip.and_then(|skip| skip.within(&(start..end))), ..terms };
        let ops = ops[start..end].into();
        // SAFETY: `emit` has made the code at these offsets of these micro-ops.
        let run = Box::new(unsafe { Run::new(ops, &phases, Arc::clone(&pages), entries, (machine, terms), apart) });
        all.push(run.op());
        runs.push(run);
        done = end;
    }
    all.extend_from_slice(&ops[done..]);
    Some(Native { ops: all.into(), runs, bytes })
}
