//! Constants in front of a run's code.

use std::collections::HashMap;

use super::super::addresses::Size;
use super::super::machine::Machine;
use super::super::nodes::Node;
use super::super::{Phase, What};
use super::{TooLarge, convert};

/// One bit for each lane with an odd number.
pub const ODD_LANES: u32 = 0xaaaa;

/// All ones in some lanes of a vector.
pub fn words(lanes: u16) -> [u32; 16] {
    std::array::from_fn(|lane| u32::from(lanes >> lane & 1).wrapping_neg())
}

/// Constants in front of the code.
#[derive(Default)]
pub struct Pool {
    pub words: Vec<u32>,
    at: HashMap<u32, usize>,
    doubles: HashMap<u64, usize>,
    /// A vector each.
    vectors: HashMap<[u32; 16], usize>,
    /// A word for each lane of a wave.
    tables: HashMap<[u8; 64], usize>,
    /// Where the bits of lanes are.
    pub bits: usize,
    /// Where it is how many units, bytes of halves and bytes of words there are from a first lane to the others.
    lanes: usize,
    halves: usize,
    words_apart: usize,
    pairs: usize,
    quads: usize,
}

impl Pool {
    pub fn of(phases: &[Phase], machine: Machine) -> Pool {
        let mut pool = Pool::default();
        for phase in phases {
            let What::Lanes(graph) = &phase.what else { continue };
            for node in &graph.nodes {
                match *node {
                    Node::Constant(value) => pool.add(value),
                    Node::ConstantD(bits) => pool.add_double(bits),
                    Node::Crossed { how, .. } | Node::Readable(how) => {
                        pool.add(how.valid.into());
                        pool.add_vector(how.from.map(u32::from), machine);
                    }
                    Node::Widened { second, .. } => {
                        pool.add_vector(if second { convert::SECOND } else { convert::FIRST }, machine);
                    }
                    Node::Narrowed { .. } => {
                        let back = if machine.wide { convert::WIDE_BACK } else { convert::NARROW_BACK };
                        pool.add_vector(back, machine);
                    }
                    Node::Table(numbers) => {
                        let next = pool.words.len();
                        if *pool.tables.entry(numbers).or_insert(next) == next {
                            pool.words.extend(numbers.map(u32::from));
                        }
                    }
                    Node::Lanes(lanes) => {
                        pool.add(lanes.into());
                        pool.add_vector(words(lanes), machine);
                    }
                    _ => {}
                }
            }
        }
        // Which bit of a piece of a mask is a lane's, and neighbours.
        pool.bits = pool.words.len();
        pool.words.extend((0..8).map(|lane| 1u32 << lane));
        let [lanes, halves, words, pairs, quads] =
            [&mut pool.lanes, &mut pool.halves, &mut pool.words_apart, &mut pool.pairs, &mut pool.quads];
        for (at, unit) in [(lanes, 1), (halves, 2), (words, 4), (pairs, 8), (quads, 16)] {
            *at = pool.words.len();
            pool.words.extend((0..machine.lanes()).map(|lane| unit * lane));
        }
        [1, 3, !3, 0xff, 0xffff, !0, ODD_LANES].into_iter().for_each(|word| pool.add(word));
        pool
    }

    /// Where it is by how much lanes differ from the first one, if they are neighbours: in bytes of what they access, or in
    /// such units.
    pub fn steps(&self, size: Size, in_units: bool) -> usize {
        match size {
            _ if in_units => self.lanes,
            Size::Byte => self.lanes,
            Size::Half => self.halves,
            Size::Word => self.words_apart,
            Size::Pair => self.pairs,
            Size::Quad => self.quads,
        }
    }

    fn add(&mut self, word: u32) {
        let next = self.words.len();
        if *self.at.entry(word).or_insert(next) == next {
            self.words.push(word);
        }
    }

    fn add_double(&mut self, bits: u64) {
        let next = self.words.len();
        if *self.doubles.entry(bits).or_insert(next) == next {
            self.words.extend([bits as u32, (bits >> 32) as u32]);
        }
    }

    fn add_vector(&mut self, lanes: [u32; 16], machine: Machine) {
        let next = self.words.len();
        if *self.vectors.entry(lanes).or_insert(next) == next {
            self.words.extend_from_slice(&lanes[..machine.lanes() as usize]);
        }
    }

    /// Which of the words a vector begins with.
    pub fn vector(&self, lanes: [u32; 16]) -> Result<usize, TooLarge> {
        self.vectors.get(&lanes).copied().ok_or(TooLarge)
    }

    /// Which of the words a table begins with.
    pub fn table(&self, numbers: [u8; 64]) -> Result<usize, TooLarge> {
        self.tables.get(&numbers).copied().ok_or(TooLarge)
    }

    /// Which of the words an f64 begins with.
    pub fn double(&self, bits: u64) -> Result<usize, TooLarge> {
        self.doubles.get(&bits).copied().ok_or(TooLarge)
    }

    /// Which of the words a constant is.
    pub fn place(&self, constant: u32) -> Result<usize, TooLarge> {
        self.at.get(&constant).copied().ok_or(TooLarge)
    }
}
