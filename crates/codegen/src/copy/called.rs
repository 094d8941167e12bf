//! Hooks that are called: each body with its registers stands once behind the function's copy.
//!
//! Once in each function, and not once in the object: calls reach, and functions are copied side by side.

use luthier_isa::Inst;

use super::Refusal;
use super::literals::write;
use crate::layout::chunk::{Chunk, ChunkId, Fixup, Place};
use crate::splice::called::Body;
use crate::splice::{Env, Literal};

/// The bodies of one function, and the words of its chunk that call them.
#[derive(Debug, Default)]
pub struct Bodies {
    list: Vec<Body>,
    calls: Vec<(u32, usize)>,
}

impl Bodies {
    /// A word of the chunk calls a body.
    pub fn call(&mut self, word: u32, template: u32, insts: &[Inst], literals: Vec<Literal>) {
        let same = |body: &Body| body.template == template && body.literals == literals && body.insts == insts;
        let number = self.list.iter().position(same).unwrap_or_else(|| {
            self.list.push(Body { template, insts: insts.to_vec(), literals });
            self.list.len() - 1
        });
        self.calls.push((word, number));
    }

    /// The copier has put `words` words in front of the chunk, with calls of their own.
    pub fn behind(&mut self, front: Bodies, words: u32) {
        self.calls.iter_mut().for_each(|(word, _)| *word += words);
        for (word, number) in front.calls {
            let Body { template, insts, literals } = &front.list[number];
            self.call(word, *template, insts, literals.clone());
        }
    }

    /// Each calling word with what it calls.
    pub fn calls(&self) -> impl Iterator<Item = (u32, &Body)> {
        self.calls.iter().map(|(word, number)| (*word, &self.list[*number]))
    }

    /// Puts the bodies behind all other code of a chunk, and aims the calls. Gives the number of instructions.
    pub fn append(&self, env: &Env, id: ChunkId, chunk: &mut Chunk) -> Result<usize, Refusal> {
        let mut labels = Vec::with_capacity(self.list.len());
        for body in &self.list {
            let here = chunk.here();
            labels.push(chunk.label_at(here, false));
            chunk.hooks.push((here, body.template));
            write(env, &body.insts, 0..body.insts.len(), &body.literals, chunk)?;
        }
        let aimed = self.calls.iter().map(|(at, number)| {
            let to = Place::Label { chunk: id, label: labels[*number] };
            Fixup::Branch { at: *at, to }
        });
        chunk.fixups.extend(aimed);
        Ok(self.list.iter().map(|body| body.insts.len()).sum())
    }
}
