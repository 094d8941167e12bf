//! The instructions of a finished copy: which of them are the application's, and where each branches to. What is called
//! stands where it is issued: behind each of its calls.

use luthier_isa::hazard::Facts;
use luthier_isa::msb::{self, MsbChange};
use luthier_isa::{Decoder, Flags, Inst, Op, VgprMsb};

use crate::layout::chunk::{Chunk, ChunkId, Fixup, Place};
use crate::splice::Env;

/// An instruction of the copy.
#[derive(Clone)]
pub struct Placed {
    pub word: u32,
    pub inst: Inst,
    pub facts: Facts,
    /// The application's address of it; `None` for what was inserted.
    pub origin: Option<u64>,
    /// Where it branches to, in the same copy.
    pub to: Option<usize>,
    /// It goes back to where what follows was called.
    pub returns: bool,
}

/// Set in the numbers of the application's instructions.
pub const APPLICATION: u64 = 1 << 63;

impl Placed {
    /// Control never falls through to what follows it.
    pub fn ends(&self) -> bool {
        ends(&self.inst) && !self.returns
    }

    /// It calls the application's code, or code that is not known.
    pub fn calls(&self) -> bool {
        self.inst.info().flags.contains(Flags::CALL) && self.origin.is_some()
    }

    /// What hazards know it by: numbers of inserted instructions are the lower ones, which count where ways meet.
    pub fn number(&self, at: usize) -> u64 {
        at as u64 | if self.origin.is_some() { APPLICATION } else { 0 }
    }
}

/// The instructions of a copy.
pub fn placed(env: &Env, id: ChunkId, chunk: &Chunk) -> Vec<Placed> {
    let mut branches: Vec<(u32, u32)> = Vec::new();
    for fixup in &chunk.fixups {
        if let Fixup::Branch { at, to: Place::Label { chunk: to, label } } = *fixup
            && to == id
            && let Some(label) = chunk.labels.get(label as usize)
        {
            branches.push((at, label.word));
        }
    }
    branches.sort_unstable();
    let decoder = Decoder::new(env.machine.mode);
    let bytes: Vec<u8> = chunk.words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut origins = chunk.origins.iter().copied().peekable();
    let (mut code, mut targets, mut word) = (Vec::new(), Vec::new(), 0u32);
    let mut msb = VgprMsb::ZERO;
    while let Some(rest) = bytes.get(word as usize * 4..).filter(|rest| !rest.is_empty()) {
        let Ok(mut inst) = decoder.decode(rest) else { break };
        let origin = origins.next_if(|(at, _)| *at == word).map(|(_, vaddr)| vaddr);
        let known = origin.and_then(|v| env.program.instr_at(v)).and_then(|i| env.program.inst(i).msb());
        msb = known.unwrap_or(msb);
        inst = inst.at(Some(msb));
        if let MsbChange::Sets(bits) = msb::change(&inst) {
            msb = bits;
        }
        let label = branches.binary_search_by_key(&word, |b| b.0).ok().map(|n| branches[n].1);
        // A hook's own branches need no label.
        let own = || origin.is_none().then(|| inst.branch_target(u64::from(word) * 4)).flatten();
        targets.push(label.or_else(|| u32::try_from(own()? / 4).ok()));
        code.push(Placed { word, facts: Facts::of(&inst), inst, origin, to: None, returns: false });
        word += inst.size() as u32 / 4;
    }
    for (n, target) in targets.into_iter().enumerate() {
        code[n].to = target.and_then(|word| code.binary_search_by_key(&word, |p| p.word).ok());
    }
    issued(code)
}

/// What inserted code calls, behind each of its calls.
fn issued(code: Vec<Placed>) -> Vec<Placed> {
    let called = |p: &Placed| p.to.filter(|_| p.origin.is_none() && p.inst.info().flags.contains(Flags::CALL));
    let Some(end) = code.iter().filter_map(called).min() else { return code };
    // A body goes on to its return.
    let length =
        |body: usize| code[body..].iter().position(|p| p.inst.info().op() == Op::SSetpcB64).map_or(0, |n| n + 1);
    let mut all: Vec<Placed> = Vec::with_capacity(code.len());
    let mut numbers = Vec::with_capacity(end);
    for placed in &code[..end] {
        numbers.push(all.len());
        let Some(body) = called(placed) else {
            all.push(placed.clone());
            continue;
        };
        all.push(Placed { to: None, ..placed.clone() });
        let (base, count) = (all.len(), length(body));
        for (n, inside) in code[body..body + count].iter().enumerate() {
            let to = inside.to.and_then(|to| to.checked_sub(body)).filter(|to| *to < count);
            // Numbers of the copy are told apart from those of the function by where they are.
            all.push(Placed { to: to.map(|to| base + to + MOVED), returns: n + 1 == count, ..inside.clone() });
        }
    }
    for placed in &mut all {
        placed.to = placed.to.and_then(|to| to.checked_sub(MOVED).or_else(|| numbers.get(to).copied()));
    }
    all
}

/// Added to numbers that are final.
const MOVED: usize = 1 << 40;

/// Control never falls through to what follows it.
fn ends(inst: &Inst) -> bool {
    let flags = inst.info().flags;
    flags.contains(Flags::END) || flags.contains(Flags::BRANCH) && !flags.intersects(Flags::COND_BRANCH | Flags::CALL)
}
