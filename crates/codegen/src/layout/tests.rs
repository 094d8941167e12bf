//! Branches of random code, followed to where they should end.

use super::chunk::Label;
use super::*;

const S_BRANCH: u32 = 0xbf82_0000;
const FILLER: Filler = Filler { branch: S_BRANCH, nop: 0xbf80_0000 };

/// Follows branches from a word until something that is no `s_branch`.
fn follow(bytes: &[u8], start: u64, mut at: u64) -> u64 {
    for _ in 0..100 {
        let i = (at - start) as usize;
        let word = u32::from_le_bytes(bytes[i..i + 4].try_into().unwrap());
        if word & 0xffff_0000 != S_BRANCH {
            return at;
        }
        at = (at + 4).wrapping_add_signed(i64::from(word as u16 as i16) * 4);
    }
    panic!("branches in a circle");
}

/// `count` chunks of `words` words with a label every 10 words, and a branch at each 100th word to some label
/// anywhere.
fn web(count: u32, words: u32) -> (Vec<Chunk>, Vec<(usize, u32, Place)>) {
    let mut seed = 1u32;
    let mut random = move |n: u32| {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 8) % n
    };
    let labels = words / 10;
    let mut branches = Vec::new();
    let chunks = (0..count)
        .map(|c| {
            let mut chunk =
                Chunk { align: 64, words: (0..words).map(|w| 0x1000_0000 + w).collect(), ..Chunk::default() };
            chunk.labels = (0..labels).map(|l| Label { word: l * 10, falls_in: l % 7 != 0 }).collect();
            for at in (5..words).step_by(100) {
                let to = Place::Label { chunk: ChunkId(random(count)), label: random(labels) };
                chunk.words[at as usize] = S_BRANCH;
                chunk.fixups.push(Fixup::Branch { at, to });
                branches.push((c as usize, at, to));
            }
            chunk
        })
        .collect();
    (chunks, branches)
}

#[test]
fn every_branch_ends_where_it_should() {
    for (count, words) in [(1, 1000), (1, 60_000), (3, 100_000), (20, 20_000), (1, 400_000)] {
        let (chunks, branches) = web(count, words);
        let start = 0x10000;
        let layout = Layout::new(&chunks, start, FILLER).unwrap();
        let bytes = layout.emit(&chunks, &[]);
        assert_eq!(start + bytes.len() as u64, layout.end());
        for (chunk, at, to) in branches {
            let reached = follow(&bytes, start, layout.address(chunk, at));
            // A label at a pool that nothing falls into stands behind it, and one that is fallen into as well.
            let wanted = follow(&bytes, start, layout.place(&chunks, to, &[]));
            assert_eq!(reached, wanted, "{count} x {words}, chunk {chunk} word {at}");
        }
        // Nothing else has changed, and all of it is there once.
        let kept = bytes.chunks_exact(4).filter(|w| w[3] == 0x10).count() as u32;
        assert_eq!(kept, count * words - count * ((words - 5).div_ceil(100)));
    }
}

#[test]
fn a_pc_pair_gives_the_place_from_wherever_it_stands() {
    let mut chunk = Chunk { align: 256, words: vec![0; 8], ..Chunk::default() };
    chunk.fixups.push(Fixup::PcPair { getpc: 1, low: 3, high: 5, to: Place::Original(0x100) });
    let layout = Layout::new(&[chunk.clone()], 0x2000, FILLER).unwrap();
    let bytes = layout.emit(&[chunk], &[]);
    let word = |i: usize| u32::from_le_bytes(bytes[i * 4..i * 4 + 4].try_into().unwrap());
    let sum = (u64::from(word(5)) << 32 | u64::from(word(3))).wrapping_add(0x2008);
    assert_eq!(sum, 0x100);
}
