//! Words of LDS that the lanes of a mask access, neighbours together.

use crate::masks::lanes;

/// A few runs of words.
pub struct Runs {
    runs: [(usize, usize); Runs::MOST],
    count: usize,
}

impl Runs {
    /// More are looked at lane by lane.
    const MOST: usize = 12;

    /// Of lanes that access `words` words each; `None` if they are not aligned, or lie too far apart.
    pub fn of(offsets: &[u32; 64], mask: u64, words: usize) -> Option<Runs> {
        let mut found = Runs { runs: [(0, 0); Runs::MOST], count: 0 };
        for lane in lanes(mask) {
            let at = offsets[lane];
            if !at.is_multiple_of(4) {
                return None;
            }
            let first = at as usize / 4;
            match found.runs[..found.count].last_mut() {
                Some((start, len)) if *start + *len == first => *len += words,
                // Lanes often access the same.
                Some(&mut last) if last == (first, words) => {}
                _ => {
                    *found.runs.get_mut(found.count)? = (first, words);
                    found.count += 1;
                }
            }
        }
        Some(found)
    }

    /// The first word of each, and how many.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.runs[..self.count].iter().copied()
    }

    /// The word behind the last.
    pub fn end(&self) -> usize {
        self.iter().map(|(first, count)| first + count).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_together() {
        let runs = |offsets: &dyn Fn(u32) -> u32, mask, words| {
            Runs::of(&std::array::from_fn(|i| offsets(i as u32)), mask, words).map(|r| r.iter().collect::<Vec<_>>())
        };
        assert_eq!(runs(&|i| 4 * i, 0xf0, 1), Some(vec![(4, 4)]));
        assert_eq!(runs(&|i| 16 * i, 0x7, 4), Some(vec![(0, 12)]));
        assert_eq!(runs(&|i| 4 * i, 0b1011, 1), Some(vec![(0, 2), (3, 1)]));
        assert_eq!(runs(&|_| 64, !0, 2), Some(vec![(16, 2)]));
        assert_eq!(runs(&|i| 2 * i, 0x3, 1), None);
        assert_eq!(runs(&|i| 8 * i, 0xfff, 1).map(|r| r.len()), Some(12));
        assert_eq!(runs(&|i| 8 * i, 0x1fff, 1), None);
        assert_eq!(runs(&|i| i, 0, 1), Some(vec![]));
    }
}
