//! Where inserted code meets other code, in the finished copy of a function, whatever placement thought of each seam:
//! wait states and waits for dependencies by isa's table, along every way of a few branches; and memory instructions
//! that are replayed in a row.
//!
//! What the application's own instructions do to each other is the application's.

use std::collections::{BTreeMap, BTreeSet};

use luthier_isa::hazard::{ELSEWHERE, Hazards, Scalars};
use luthier_isa::{Flags, Mode, Op, Reg, RegSet};
use luthier_lifter::{Function, FunctionKind};

use super::arrivals::arrivals;
use super::marked::{marked, unread};
use super::placed::{APPLICATION, Placed, placed};
use super::{Violation, Wrong};
use crate::layout::chunk::{Chunk, ChunkId};
use crate::splice::Env;

/// No hazard lasts longer, `s_nop` aside.
const WINDOW: usize = 20;
/// Branches that are followed, one behind the other, within a window.
const HOPS: usize = 3;

/// All that is wrong at the seams of one function's copy.
pub fn seams(env: &Env, chunk: ChunkId, code: &Chunk) -> Vec<Violation> {
    let code = placed(env, chunk, code);
    let padding = padding(&code);
    let unread = unread(env, &code);
    let unknown = unknown(env, &code);
    let known = if Scalars::matter(env.machine.mode) {
        arrivals(&code, &padding, (&entered(env, &code), &unknown), env.machine.mode, &unread)
    } else {
        BTreeMap::new()
    };
    let (mode, state) = (env.machine.mode, Hazards::default());
    let mut pass = Pass { mode, unread, unknown, code: &code, state, found: Vec::new() };
    pass.restart();
    // Straight on.
    let mut branches = BTreeMap::new();
    for (at, placed) in code.iter().enumerate() {
        if padding.contains(&at) {
            continue;
        }
        if at == 0 || code[at - 1].ends() || padding.contains(&(at - 1)) {
            pass.restart();
            known.get(&at).into_iter().for_each(|known| pass.state.set_scalars(known.clone()));
        }
        pass.step(at);
        // What a branch leads to has to know what was read in front of it, however far.
        if placed.to.is_some() && !known.is_empty() {
            branches.insert(at, pass.state.scalars());
        }
    }
    // Along the branches.
    for at in (0..code.len()).filter(|at| code[*at].to.is_some()) {
        pass.restart();
        let from = before(&code, at);
        // What is missing up to here was found on the way straight on.
        (from..=at).for_each(|n| pass.pass(n));
        if let Some(known) = branches.remove(&at) {
            pass.state.set_scalars(known);
        }
        pass.follow(code[at].to.unwrap_or(at), WINDOW, HOPS);
    }
    let (mut found, unread) = (pass.found, pass.unread);
    if Scalars::matter(env.machine.mode) {
        found.extend(marked(env, &unread, &code));
    }
    if env.replays {
        found.extend(replays(&code));
    }
    found.sort_by_key(|v| v.0);
    found.dedup();
    found.into_iter().map(|(at, kind)| Violation { address: address(&code, at), kind }).collect()
}

/// What nothing comes to: LLVM fills up the code in front of a loop, behind a branch as well.
fn padding(code: &[Placed]) -> BTreeSet<usize> {
    let targets: BTreeSet<usize> = code.iter().filter_map(|placed| placed.to).collect();
    let mut padding = BTreeSet::new();
    for at in 1..code.len() {
        let is_behind_an_end = code[at - 1].ends() || padding.contains(&(at - 1));
        let is_filling = code[at].origin.is_none() && code[at].inst.info().op() == Op::SNop;
        if is_behind_an_end && is_filling && !targets.contains(&at) {
            padding.insert(at);
        }
    }
    padding
}

/// Where it is not known what was issued last: a caller's code, or a callee's.
fn unknown(env: &Env, code: &[Placed]) -> BTreeSet<usize> {
    let mut unknown: BTreeSet<usize> = (1..code.len()).filter(|at| code[at - 1].calls()).collect();
    let kind = function(env, code).map(|f| f.kind);
    if kind != Some(FunctionKind::Kernel) {
        unknown.insert(0);
        unknown.extend(entered(env, code));
    }
    unknown
}

/// The function that this is the copy of.
fn function<'a>(env: &Env<'a>, code: &[Placed]) -> Option<&'a Function> {
    let instr = code.iter().find_map(|p| p.origin).and_then(|vaddr| env.program.instr_at(vaddr))?;
    Some(env.program.function(env.program.func_of(instr)))
}

/// Where code elsewhere may lead to.
fn entered(env: &Env, code: &[Placed]) -> Vec<usize> {
    let Some(function) = function(env, code) else { return Vec::new() };
    let first = env.program.block_vaddr(function.entry);
    let inside = |p: &Placed| p.origin.is_some_and(|v| v == first || function.entered_inside.contains(&v));
    // What is inserted in front runs as well.
    let first = |at: usize| (0..at).rev().take_while(|n| code[*n].origin.is_none()).last().unwrap_or(at);
    code.iter().enumerate().filter(|(_, p)| inside(p)).map(|(at, _)| first(at)).collect()
}

/// The application's address next to an instruction.
fn address(code: &[Placed], at: usize) -> u64 {
    let behind = code[at..].iter().find_map(|p| p.origin);
    behind.or_else(|| code[..at].iter().rev().find_map(|p| p.origin)).unwrap_or(0)
}

/// The first instruction of the straight run, at most a window long, that leads to this one.
fn before(code: &[Placed], at: usize) -> usize {
    let mut from = at;
    while from > 0 && at - from < WINDOW && !code[from - 1].ends() {
        from -= 1;
    }
    from
}

struct Pass<'a> {
    mode: Mode,
    unknown: BTreeSet<usize>,
    /// Scalars that no vector instruction has read in all of the wave.
    unread: RegSet,
    code: &'a [Placed],
    state: Hazards,
    found: Vec<(usize, Wrong)>,
}

impl Pass<'_> {
    /// Nothing is known of what came before, but that vector instructions may have read whatever they read anywhere.
    fn restart(&mut self) {
        self.state.restart();
        self.state.assume_read(&self.unread);
    }

    /// Control gets to an instruction.
    fn arrive(&mut self, at: usize) {
        if self.unknown.contains(&at) {
            self.state.assume_anything(self.mode);
            self.state.assume_written(self.mode, &self.unread);
        }
    }

    /// With nothing to find.
    fn pass(&mut self, at: usize) {
        self.arrive(at);
        self.state.check(&self.code[at].facts, self.code[at].number(at), |_| {});
    }

    fn step(&mut self, at: usize) {
        self.arrive(at);
        let Pass { code, state, found, .. } = self;
        let placed = &code[at];
        state.check(&placed.facts, placed.number(at), |missing| {
            // What the application's own instructions may do elsewhere is the application's too.
            let first = Some((missing.first & !APPLICATION) as usize).filter(|_| missing.first != ELSEWHERE);
            let first = first.and_then(|first| code.get(first));
            if placed.origin.is_none() || first.is_some_and(|first| first.origin.is_none()) {
                let what = format!("{}: {}: {}", missing.rule, missing.what, missing.remedy);
                found.push((at, Wrong::Hazard { inst: Box::new(placed.inst), what }));
            }
        });
    }

    fn follow(&mut self, from: usize, window: usize, hops: usize) {
        for (n, at) in (from..self.code.len()).enumerate().take(window) {
            self.step(at);
            if self.code[at].ends() {
                if let Some(to) = self.code[at].to.filter(|_| hops > 0) {
                    self.follow(to, window - n, hops - 1);
                }
                return;
            }
        }
    }
}

/// A run of memory instructions of one kind is replayed as a whole after a page fault: where code of two sides is in it,
/// none may write what one reads.
fn replays(code: &[Placed]) -> Vec<(usize, Wrong)> {
    let mut found = Vec::new();
    let (mut reads, mut writes): (RegSet, RegSet) = (RegSet::EMPTY, RegSet::EMPTY);
    let (mut kind, mut mixed, mut last) = (None, false, false);
    for (at, placed) in code.iter().enumerate() {
        let flags = placed.inst.info().flags;
        let memory = flags.intersects(Flags::SMEM | Flags::VMEM | Flags::FLAT);
        let now = memory.then_some(flags.contains(Flags::SMEM));
        if now.is_none() || now != kind {
            (reads, writes, mixed) = (RegSet::EMPTY, RegSet::EMPTY, false);
        } else {
            mixed |= last != placed.origin.is_some();
        }
        (kind, last) = (now, placed.origin.is_some());
        if now.is_none() {
            continue;
        }
        placed.inst.for_each_access(|a| {
            let exec = matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI);
            if a.access.writes() {
                writes.insert(a.reg);
            }
            // A load keeps what lanes that are off have in its destination; that is no source of a replay.
            if matches!(a.access, luthier_isa::Access::Read | luthier_isa::Access::CondRead) && !exec {
                reads.insert(a.reg);
            }
        });
        if mixed && writes.intersects(&reads) {
            found.push((at, Wrong::Replay { inst: Box::new(placed.inst) }));
        }
    }
    found
}
