//! Where the arguments of a call of OpenCL's `printf` lie.
//!
//! Up to LLVM 22 the table has sizes of strings that count a zero at the end, which the kernel does not store: behind a
//! string that fills whole words, everything stands one word earlier than the sizes say, and the last word of the call
//! stays as it was (llvm-project #207772). As the buffer is filled with [`UNUSED`] before, such calls can be told.

use super::opencl::Conversion;

/// A word of the buffer that has not been written.
pub const UNUSED: [u8; 4] = 0x8bad_f00d_u32.to_le_bytes();

#[derive(Clone, Copy)]
struct Argument {
    size: usize,
    is_text: bool,
    /// The bytes that are stored.
    stored: usize,
}

fn has_unused(bytes: &[u8]) -> bool {
    bytes.chunks(4).any(|word| word == UNUSED)
}

impl Argument {
    /// Whether these bytes can be the argument, in a call with strings that are a word shorter than the table says
    /// (`short`: this one is), or without such strings.
    fn can_be(&self, bytes: &[u8], some_are_short: bool, short: bool) -> bool {
        if !self.is_text {
            let (stored, room) = bytes.split_at(self.stored.min(bytes.len()));
            return !has_unused(stored) && room.chunks_exact(4).all(|word| word == UNUSED);
        }
        // What stands for an empty string.
        if bytes == [0, 0xff, 0xff, 0xff] {
            return true;
        }
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let ends_here = match short {
            true => end == bytes.len(),
            false => end + 4 > bytes.len() && bytes[end..].iter().all(|&byte| byte == 0),
        };
        // Only later compilers leave the zero out and say so.
        !has_unused(bytes) && ends_here && (short || !some_are_short || end < bytes.len())
    }
}

/// The arguments of a call, by the sizes in the table.
pub fn arguments<'a>(format: &[u8], sizes: &[usize], call: &'a [u8]) -> Result<Vec<&'a [u8]>, String> {
    let conversions = Conversion::all(format)?;
    let argument = |(n, &size): (usize, &usize)| {
        let conversion = conversions.get(n);
        let is_text = conversion.is_some_and(|conversion| conversion.letter == b's');
        // A vector of three has room for a fourth.
        let is_three = conversion.is_some_and(|conversion| conversion.count == Some(3));
        Argument { size, is_text, stored: if is_three { size / 4 * 3 } else { size } }
    };
    let all: Vec<Argument> = sizes.iter().enumerate().map(argument).collect();
    let unused = call.chunks_exact(4).rev().take_while(|word| **word == UNUSED).count();
    let mut found = Vec::new();
    for short in 0..=unused.min(all.iter().filter(|argument| argument.is_text).count()) {
        let mut cuts = Cuts { some_are_short: short != 0, so_far: Vec::new(), found: &mut found };
        cuts.add(&all, &call[..call.len() - 4 * short], short);
    }
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        0 => Err("the kernel has spoiled the buffer that it prints into".into()),
        _ => Err("printf has strings whose lengths cannot be told: the table of LLVM up to 22 has wrong sizes".into()),
    }
}

/// The ways to cut a call into arguments; more than two are no matter.
struct Cuts<'a, 'b> {
    some_are_short: bool,
    so_far: Vec<&'a [u8]>,
    found: &'b mut Vec<Vec<&'a [u8]>>,
}

impl<'a> Cuts<'a, '_> {
    /// Shares the bytes that are left among the arguments that are left; this many of them are short by a word.
    fn add(&mut self, all: &[Argument], call: &'a [u8], short: usize) {
        let Some((first, others)) = all.split_first() else {
            if short == 0 && call.is_empty() {
                self.found.push(self.so_far.clone());
            }
            return;
        };
        for less in 0..=usize::from(first.is_text && first.size >= 8).min(short) {
            if let Some((bytes, after)) = call.split_at_checked(first.size - 4 * less)
                && first.can_be(bytes, self.some_are_short, less == 1)
                && self.found.len() < 2
            {
                self.so_far.push(bytes);
                self.add(others, after, short - less);
                self.so_far.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: u32 = u32::from_le_bytes(UNUSED);

    fn cuts(format: &str, sizes: &[usize], words: &[u32]) -> Result<Vec<usize>, String> {
        let call: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        arguments(format.as_bytes(), sizes, &call).map(|all| all.iter().map(|bytes| bytes.len()).collect())
    }

    #[test]
    fn strings_of_whole_words_have_a_word_less_than_llvm_22_says() {
        let [left, trun, cate, d] = [*b"left", *b"trun", *b"cate", *b"d\0\0\0"].map(u32::from_le_bytes);
        assert_eq!(cuts("%s|%s|%d", &[8, 12, 4], &[left, trun, cate, d, 7, NONE]).unwrap(), [4, 12, 4]);
        assert_eq!(cuts("%s%s", &[12, 8], &[left, trun, left, NONE, NONE]).unwrap(), [8, 4]);
        assert_eq!(cuts("%s%s", &[8, 4], &[left, 0xffff_ff00, NONE]).unwrap(), [4, 4]);
        // Later ones say it right.
        assert_eq!(cuts("%s|%s|%d", &[4, 12, 4], &[left, trun, cate, d, 7]).unwrap(), [4, 12, 4]);
        assert_eq!(cuts("%s%v3f", &[4, 16], &[left, 1, 2, 3, NONE]).unwrap(), [4, 16]);
        assert_eq!(cuts("%s%v3f", &[8, 16], &[left, d, 1, 2, 3, NONE]).unwrap(), [8, 16]);
    }

    #[test]
    fn calls_that_no_lengths_fit_are_refused() {
        let left = u32::from_le_bytes(*b"left");
        assert!(cuts("%s%d", &[8, 4], &[left, NONE, NONE]).is_err_and(|error| error.contains("has spoiled")));
        assert!(cuts("%s%d", &[8, 4], &[left, 0x700, 7]).is_err_and(|error| error.contains("has spoiled")));
    }
}
