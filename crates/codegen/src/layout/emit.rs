//! The bytes of a finished layout.

use rayon::prelude::*;

use super::Layout;
use super::chunk::{Chunk, Fixup, Half};

/// Bytes that are still to be written, word by word.
struct Words<'a>(&'a mut [u8]);

impl Words<'_> {
    fn put(&mut self, words: &[u32]) {
        let (now, rest) = std::mem::take(&mut self.0).split_at_mut(4 * words.len());
        now.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        self.0 = rest;
    }
}

impl Layout {
    /// The finished bytes, from the layout's start to its end. Padding is `s_nop 0`.
    pub fn emit(&self, chunks: &[Chunk], variables: &[u64]) -> Vec<u8> {
        let mut out = vec![0; (self.end - self.start) as usize];
        // Each chunk's bytes, up to where the next one begins.
        let (mut pieces, mut rest, mut at) = (Vec::with_capacity(chunks.len()), &mut out[..], self.start);
        for i in 0..chunks.len() {
            let end = self.bases.get(i + 1).copied().unwrap_or(self.end);
            let (piece, behind) = rest.split_at_mut((end - at) as usize);
            pieces.push((i, at, piece));
            (rest, at) = (behind, end);
        }
        pieces.into_par_iter().for_each(|(i, at, piece)| self.emit_chunk(chunks, (i, at), variables, piece));
        out
    }

    /// One chunk, in a piece that begins at an address, before the chunk or with it.
    fn emit_chunk(&self, chunks: &[Chunk], (i, at): (usize, u64), variables: &[u64], piece: &mut [u8]) {
        let (before, piece) = piece.split_at_mut((self.bases[i] - at) as usize);
        let mut out = Words(piece);
        let words = self.fixed(chunks, i, variables);
        let mut done = 0;
        let (first, last) = self.sites_of[i];
        for s in first..last {
            let until = self.sites[s].word as usize;
            out.put(&words[done..until]);
            done = until;
            self.emit_pool(chunks, s, variables, &mut out);
        }
        out.put(&words[done..]);
        let mut padding = Words(before);
        while !padding.0.is_empty() {
            padding.put(&[self.filler.nop]);
        }
        while !out.0.is_empty() {
            out.put(&[self.filler.nop]);
        }
    }

    fn emit_pool(&self, chunks: &[Chunk], s: usize, variables: &[u64], out: &mut Words<'_>) {
        let site = &self.sites[s];
        if site.islands.is_empty() {
            return;
        }
        if site.jump_over {
            out.put(&[self.filler.branch | site.islands.len() as u32]);
        }
        for (i, place) in site.islands.iter().enumerate() {
            let to = match self.next_hop.get(&(s, i)) {
                Some((site, island)) => self.sites[*site].island_address(*island),
                None => self.place(chunks, *place, variables),
            };
            let from = site.island_address(i);
            // An island that an earlier round wanted and the last one no longer uses may be too far from its place.
            let word = if Layout::reaches(from, to, 0) {
                self.filler.branch | offset_field(from, to)
            } else {
                self.filler.nop
            };
            out.put(&[word]);
        }
    }

    /// A chunk's words with all fixups done.
    fn fixed(&self, chunks: &[Chunk], i: usize, variables: &[u64]) -> Vec<u32> {
        let mut words = chunks[i].words.clone();
        for fixup in &chunks[i].fixups {
            match *fixup {
                Fixup::Branch { at, to } => {
                    let to = match self.first_hop.get(&(i, at)) {
                        Some((site, island)) => self.sites[*site].island_address(*island),
                        None => self.place(chunks, to, variables),
                    };
                    let word = &mut words[at as usize];
                    *word = *word & 0xffff_0000 | offset_field(self.address(i, at), to);
                }
                Fixup::PcPair { getpc, low, high, to } => {
                    let pc = self.address(i, getpc) + 4;
                    let delta = self.place(chunks, to, variables).wrapping_sub(pc);
                    words[low as usize] = delta as u32;
                    words[high as usize] = (delta >> 32) as u32;
                }
                Fixup::Relative { at, to, addend, part } => {
                    let place = self.place(chunks, to, variables).wrapping_add_signed(addend);
                    let delta = place.wrapping_sub(self.address(i, at));
                    if part != Half::High {
                        words[at as usize] = delta as u32;
                    }
                    match part {
                        Half::Low => {}
                        Half::High => words[at as usize] = (delta >> 32) as u32,
                        Half::Whole => words[at as usize + 1] = (delta >> 32) as u32,
                    }
                }
            }
        }
        words
    }
}

/// The SOPP offset field of a branch at `from` to `to`, which is in reach.
fn offset_field(from: u64, to: u64) -> u32 {
    let words = to.wrapping_sub(from + 4) as i64 / 4;
    debug_assert!((-32768..=32767).contains(&words), "a branch from {from:#x} to {to:#x} was left out of reach");
    words as u32 & 0xffff
}
