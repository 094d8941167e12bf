//! New code before it has an address.
//!
//! A chunk is a run of words (a function's copy, with its preamble when it is a kernel) with labels that branches may
//! aim at, and fixups: words whose value is known only when everything has an address.

use crate::RelocKind;

/// By index into the list of chunks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChunkId(pub u32);

/// Something with an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    Label {
        chunk: ChunkId,
        label: u32,
    },
    /// An address of the original object.
    Original(u64),
    /// A byte within a tool's variable (index into the plan's list).
    Variable {
        index: u32,
        offset: i64,
    },
    /// A byte of the hooks' constants.
    Constant {
        offset: u64,
    },
}

/// A position branches may aim at. Between a label and the word before it, islands may be put.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    pub word: u32,
    /// Control may come from the word before.
    pub falls_in: bool,
}

/// Words to fill in. Positions are word indices within the chunk.
#[derive(Clone, Copy, Debug)]
pub enum Fixup {
    /// The 16-bit word offset of a SOPP branch or of `s_call_b64`.
    Branch { at: u32, to: Place },
    /// Two literals which, added to what the `s_getpc_b64` at `getpc` returns, give the place's address.
    PcPair { getpc: u32, low: u32, high: u32, to: Place },
    /// The place's address minus the literal's own, plus an addend: which part of it.
    Relative { at: u32, to: Place, addend: i64, part: Half },
}

/// What of a 64-bit value goes into a literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    Low,
    High,
    /// All of it, in two words.
    Whole,
}

impl Fixup {
    /// The fixup of a template's relocation; `at` is the last word of the instruction.
    pub fn relative(at: u32, to: Place, addend: i64, kind: RelocKind) -> Fixup {
        let part = match kind {
            RelocKind::Rel32Lo | RelocKind::Abs32Lo => Half::Low,
            RelocKind::Rel32Hi | RelocKind::Abs32Hi => Half::High,
            RelocKind::Rel64 | RelocKind::Abs64 => Half::Whole,
        };
        Fixup::Relative { at: if part == Half::Whole { at - 1 } else { at }, to, addend, part }
    }

    /// Its words are this many further on.
    fn shift(&mut self, by: u32) {
        match self {
            Fixup::Branch { at, .. } | Fixup::Relative { at, .. } => *at += by,
            Fixup::PcPair { getpc, low, high, .. } => [getpc, low, high].into_iter().for_each(|word| *word += by),
        }
    }
}

/// Code that was copied or made, not yet placed.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    pub name: String,
    /// Bytes; a power of two.
    pub align: u64,
    pub words: Vec<u32>,
    pub labels: Vec<Label>,
    pub fixups: Vec<Fixup>,
    /// Words that stand for an original instruction, with its address; ascending in the word.
    pub origins: Vec<(u32, u64)>,
    /// Those of them that are another operation, with the original instruction.
    pub others: Vec<(u32, luthier_isa::Inst)>,
    /// Words where a hook begins, with the number of its template.
    pub hooks: Vec<(u32, u32)>,
    /// This many words at the start stay together: no islands are put among them, nor before them.
    pub fixed: u32,
}

impl Chunk {
    /// Where the next word goes.
    pub fn here(&self) -> u32 {
        self.words.len() as u32
    }
    pub fn push(&mut self, inst: &luthier_isa::Inst) {
        // Nearly all are this short, and a copy of unknown length is a call.
        match *inst.words() {
            [word] => self.words.push(word),
            [first, second] => self.words.extend_from_slice(&[first, second]),
            ref words => self.words.extend_from_slice(words),
        }
    }
    /// A label at the next word; gives its index.
    pub fn label(&mut self, falls_in: bool) -> u32 {
        self.label_at(self.here(), falls_in)
    }
    /// A label at a word that is there already.
    pub fn label_at(&mut self, word: u32, falls_in: bool) -> u32 {
        self.labels.push(Label { word, falls_in });
        self.labels.len() as u32 - 1
    }
    /// Puts code without labels in front of all other. No islands are put into it.
    pub fn prepend(&mut self, front: Chunk) {
        let by = front.here();
        self.words.splice(0..0, front.words);
        self.labels.iter_mut().for_each(|label| label.word += by);
        self.origins.iter_mut().for_each(|(word, _)| *word += by);
        self.others.iter_mut().for_each(|(word, _)| *word += by);
        self.hooks.iter_mut().for_each(|(word, _)| *word += by);
        self.hooks.splice(0..0, front.hooks);
        self.fixups.iter_mut().for_each(|fixup| fixup.shift(by));
        self.fixups.extend(front.fixups);
        self.fixed += by;
    }
    pub fn size(&self) -> u64 {
        self.words.len() as u64 * 4
    }
}
