//! The bytes of a finished layout.

use super::Layout;
use super::chunk::{Chunk, Fixup, Half};

impl Layout {
    /// The finished bytes, from the layout's start to its end. Padding is `s_nop 0`.
    pub fn emit(&self, chunks: &[Chunk], variables: &[u64]) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::with_capacity((self.end - self.start) as usize);
        for (i, chunk) in chunks.iter().enumerate() {
            while self.start + (out.len() as u64) < self.bases[i] {
                out.extend_from_slice(&self.filler.nop.to_le_bytes());
            }
            let words = self.fixed(chunks, i, variables);
            let mut done = 0;
            let (first, last) = self.sites_of[i];
            for s in first..last {
                let until = self.sites[s].word as usize;
                words[done..until].iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
                done = until;
                self.emit_pool(chunks, s, variables, &mut out);
            }
            words[done..].iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
            debug_assert_eq!(chunk.words.len(), words.len());
        }
        out
    }

    fn emit_pool(&self, chunks: &[Chunk], s: usize, variables: &[u64], out: &mut Vec<u8>) {
        let site = &self.sites[s];
        if site.islands.is_empty() {
            return;
        }
        if site.jump_over {
            out.extend_from_slice(&(self.filler.branch | site.islands.len() as u32).to_le_bytes());
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
            out.extend_from_slice(&word.to_le_bytes());
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
