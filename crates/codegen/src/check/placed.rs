//! The instructions of a finished copy: which of them are the application's, and where each branches to.

use luthier_isa::hazard::Facts;
use luthier_isa::msb::{self, MsbChange};
use luthier_isa::{Decoder, Flags, Inst, VgprMsb};

use crate::layout::chunk::{Chunk, ChunkId, Fixup, Place};
use crate::splice::Env;

/// An instruction of the copy.
pub struct Placed {
    pub word: u32,
    pub inst: Inst,
    pub facts: Facts,
    /// The application's address of it; `None` for what was inserted.
    pub origin: Option<u64>,
    /// Where it branches to, in the same copy.
    pub to: Option<usize>,
}

/// Set in the numbers of the application's instructions.
pub const APPLICATION: u64 = 1 << 63;

impl Placed {
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
        code.push(Placed { word, facts: Facts::of(&inst), inst, origin, to: None });
        word += inst.size() as u32 / 4;
    }
    for (n, target) in targets.into_iter().enumerate() {
        code[n].to = target.and_then(|word| code.binary_search_by_key(&word, |p| p.word).ok());
    }
    code
}

/// Control never falls through to what follows it.
pub fn ends(inst: &Inst) -> bool {
    let flags = inst.info().flags;
    flags.contains(Flags::END) || flags.contains(Flags::BRANCH) && !flags.intersects(Flags::COND_BRANCH | Flags::CALL)
}
