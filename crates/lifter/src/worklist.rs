//! Which blocks of a function an analysis has yet to look at.

/// Blocks by their number in the function, one bit each.
pub(crate) struct WorkList {
    words: Vec<u64>,
    /// No word before the first of these, and none from the second on, has a block in it.
    used: (usize, usize),
}

impl WorkList {
    /// An empty list for a function of `blocks` blocks.
    pub fn new(blocks: usize) -> WorkList {
        let words = blocks.div_ceil(64);
        WorkList { words: vec![0; words], used: (words, 0) }
    }

    /// All of a function's `blocks` blocks.
    pub fn all(blocks: usize) -> WorkList {
        let mut all = WorkList::new(blocks);
        all.words.fill(u64::MAX);
        if let (Some(last), Some(rest)) = (all.words.last_mut(), blocks.checked_rem(64).filter(|n| *n > 0)) {
            *last >>= 64 - rest;
        }
        all.used = (0, all.words.len());
        all
    }

    pub fn insert(&mut self, block: usize) {
        let at = block / 64;
        self.words[at] |= 1 << (block % 64);
        self.used = (self.used.0.min(at), self.used.1.max(at + 1));
    }

    /// Takes out the first block: close to reverse postorder in compiled code, which is what forward analyses want.
    pub fn pop_first(&mut self) -> Option<usize> {
        while self.used.0 < self.used.1 {
            let at = self.used.0;
            let word = self.words[at];
            if word != 0 {
                self.words[at] &= word - 1;
                return Some(at * 64 + word.trailing_zeros() as usize);
            }
            self.used.0 += 1;
        }
        self.used = (self.words.len(), 0);
        None
    }

    /// Takes out the last block, for backward analyses.
    pub fn pop_last(&mut self) -> Option<usize> {
        while self.used.0 < self.used.1 {
            let at = self.used.1 - 1;
            let word = self.words[at];
            if word != 0 {
                let bit = 63 - word.leading_zeros() as usize;
                self.words[at] &= !(1 << bit);
                return Some(at * 64 + bit);
            }
            self.used.1 -= 1;
        }
        self.used = (self.words.len(), 0);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn takes_out_what_was_put_in() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n as u64) as usize
        };
        for blocks in [0, 1, 63, 64, 65, 300] {
            let (mut list, mut set) = (WorkList::all(blocks), (0..blocks).collect::<BTreeSet<_>>());
            for _ in 0..2000 {
                match next(5) {
                    0 | 1 if blocks > 0 => {
                        let block = next(blocks);
                        list.insert(block);
                        set.insert(block);
                    }
                    2 | 3 => assert_eq!(list.pop_first(), set.pop_first()),
                    _ => assert_eq!(list.pop_last(), set.pop_last()),
                }
            }
        }
    }
}
