//! Messages that kernels send in pieces: each is a call of `printf`.
//!
//! The first word of a piece describes it: bit 0 begins a message, bit 1 ends it, bits 5 to 7 count the words that follow,
//! and from bit 8 on there is the message's number, which the answer to its first piece gives.

use super::Printed;
use super::format::format;

const BEGIN: u64 = 1;
const END: u64 = 2;
const NUMBER: u32 = 8;

/// Those under way, by their numbers.
#[derive(Default, Debug)]
pub struct Messages {
    slots: Vec<Option<Vec<u64>>>,
    assertion: Option<String>,
    error: Option<String>,
}

/// What a message that has ended was for.
const TO_STANDARD_ERROR: u64 = 1;

impl Messages {
    /// Takes a piece; gives the answer, and what is printed if this was the last one.
    pub fn take(&mut self, words: [u64; 8]) -> Result<(u64, Option<Printed>), String> {
        let described = words[0];
        let number = if described & BEGIN != 0 {
            let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
            if free == self.slots.len() {
                self.slots.push(None);
            }
            self.slots[free] = Some(Vec::new());
            free
        } else {
            (described >> NUMBER) as usize
        };
        let Some(message) = self.slots.get_mut(number).and_then(Option::as_mut) else {
            return Err(format!("a host call goes on with message {number}, which no call has begun"));
        };
        message.extend_from_slice(&words[1..][..(described >> 5 & 7) as usize]);
        if described & END == 0 {
            let flags = described & ((1 << NUMBER) - 1) & !BEGIN;
            return Ok((flags | (number as u64) << NUMBER, None));
        }
        let whole = self.slots[number].take().unwrap_or_default();
        let (&control, rest) = whole.split_first().ok_or("a host call prints a message without a word")?;
        if control & !TO_STANDARD_ERROR != 0 {
            return Err(format!("a host call prints with the flags {control:#x}, of which only bit 0 is known"));
        }
        let text = format(&rest.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())?;
        let printed = Printed { is_error: control & TO_STANDARD_ERROR != 0, text };
        self.remember(&printed);
        Ok((printed.text.len() as u64, Some(printed)))
    }

    fn remember(&mut self, printed: &Printed) {
        let text = || String::from_utf8_lossy(&printed.text).trim().to_owned();
        // Both `assert` of C and Triton's say "assertion".
        if printed.text.windows(8).any(|word| word == b"ssertion") {
            self.assertion = Some(text());
        } else if printed.is_error {
            self.error = Some(text());
        }
    }

    /// The assertion that was printed last, or else what went to standard error last.
    pub fn last_words(&self) -> Option<String> {
        self.assertion.clone().or_else(|| self.error.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(flags: u64, number: u64, words: &[u64]) -> [u64; 8] {
        let mut all = [0; 8];
        all[0] = flags | (words.len() as u64) << 5 | number << NUMBER;
        all[1..=words.len()].copy_from_slice(words);
        all
    }

    #[test]
    fn messages_of_lanes_are_put_together_each() {
        let mut all = Messages::default();
        let text = |s: &[u8; 8]| u64::from_le_bytes(*s);
        let (first, _) = all.take(piece(BEGIN, 0, &[0])).unwrap();
        let (second, _) = all.take(piece(BEGIN, 0, &[1])).unwrap();
        assert_eq!([first >> NUMBER, second >> NUMBER], [0, 1]);
        assert_eq!(all.take(piece(0, 0, &[text(b"%d of %d")])).unwrap().1, None);
        assert_eq!(all.take(piece(0, 0, &[text(b"\n\0\0\0\0\0\0\0")])).unwrap().1, None);
        let (count, error) = all.take(piece(END, 1, &[text(b"no asser"), text(b"tion\0\0\0\0")])).unwrap();
        assert_eq!((count, error), (12, Some(Printed { is_error: true, text: b"no assertion".to_vec() })));
        let (count, printed) = all.take(piece(END, 0, &[3, 4])).unwrap();
        assert_eq!((count, printed), (7, Some(Printed { is_error: false, text: b"3 of 4\n".to_vec() })));
        assert_eq!(all.last_words().as_deref(), Some("no assertion"));
        assert!(all.take(piece(0, 1, &[3])).is_err() && all.take(piece(BEGIN | END, 0, &[2, 0])).is_err());
    }
}
