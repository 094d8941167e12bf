//! Launches, and ends of launches, that the tools hear of while the program goes on: entries of one size in memory that the
//! controller has as well.
//!
//! A message for each would cost a system call, and its room would be full soon. An entry is written and read without either
//! side's waiting for the other, and what a process has written is there when it is killed. The thread that has the connection
//! writes; the controller, one thread of it, reads.
//!
//! Each entry says how many messages were said before it: by that the controller knows the order of the two. It waits for
//! messages as long as there is nothing in the ring, and says so in a word of the memory; the agent then sends it a message with
//! the next entry, to wake it. Each side writes what the other one looks at, and looks at what the other one writes, with a fence
//! between the two: one of them sees what the other one has written.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::memory::Shared;
use crate::message::By;

/// Entries that there is room for. What a slow tool has yet to hear of when the program has ended is no more than this.
pub const ENTRIES: u64 = 2048;
/// Words of an entry.
pub const WORDS: usize = 16;
/// Where the memory has its words of 64 bits: how many entries were written, how many were read (each in a cache line of its
/// own), whether the controller sleeps, and the first entry.
const WRITTEN: usize = 0;
const READ: usize = 16;
const SLEEPS: usize = 32;
const FIRST: usize = 48;
/// First words of entries.
const LAUNCHED: u64 = 1;
const COMPLETED: u64 = 2;

/// What an entry tells of.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// A kernel of whose launches tools are to hear is about to be launched, by a packet of these words. `number` counts
    /// launches.
    Launched { slot: usize, number: u64, packet: [u64; 8], by: By },
    /// A launch is over; when it began and ended, in nanoseconds of the runtime's clock.
    Completed { slot: usize, number: u64, start: u64, end: u64 },
}

impl Entry {
    /// The entry, `said` messages having been said before it.
    fn words(&self, said: u64) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        match *self {
            Entry::Launched { slot, number, packet, by } => {
                words[..6].copy_from_slice(&[LAUNCHED, said, slot as u64, number, by.queue, by.thread]);
                words[6..14].copy_from_slice(&packet);
            }
            Entry::Completed { slot, number, start, end } => {
                words[..6].copy_from_slice(&[COMPLETED, said, slot as u64, number, start, end]);
            }
        }
        words
    }
}

/// This side of it.
pub struct Ring {
    memory: Shared,
    written: u64,
}

impl Ring {
    /// A new one, and the file for the controller.
    pub fn new() -> io::Result<(Ring, OwnedFd)> {
        let (memory, file) = Shared::new(8 * (FIRST + WORDS * ENTRIES as usize))?;
        Ok((Ring { memory, written: 0 }, file))
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // All indices are of the layout above.
        self.memory.counter(index).unwrap_or_else(|| std::process::abort())
    }

    /// The memory.
    pub fn memory(&self) -> &Shared {
        &self.memory
    }

    /// Whether one more entry can be written; an error if the controller has not kept to the rules.
    pub fn has_room(&self) -> Result<bool, String> {
        match self.written.wrapping_sub(self.word(READ).load(Ordering::Acquire)) {
            unread @ 0..=ENTRIES => Ok(unread < ENTRIES),
            unread => Err(format!("it has read {} launches that were not told", unread.wrapping_neg())),
        }
    }

    /// Writes an entry, for which there has to be room; whether the controller sleeps and is to be woken.
    #[must_use]
    pub fn put(&mut self, entry: &Entry, said: u64) -> bool {
        let at = FIRST + WORDS * (self.written % ENTRIES) as usize;
        for (n, word) in entry.words(said).into_iter().enumerate() {
            self.word(at + n).store(word, Ordering::Relaxed);
        }
        self.written += 1;
        self.word(WRITTEN).store(self.written, Ordering::Release);
        // The controller says that it sleeps, and looks at what is written then.
        fence(Ordering::SeqCst);
        let sleeps = self.word(SLEEPS);
        sleeps.load(Ordering::Relaxed) != 0 && sleeps.swap(0, Ordering::SeqCst) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(number: u64) -> Entry {
        Entry::Completed { slot: 1, number, start: 2, end: 3 }
    }

    /// The controller's side: takes one entry.
    fn read(ring: &Ring) -> Option<[u64; WORDS]> {
        let read = ring.word(READ).load(Ordering::Relaxed);
        if ring.word(WRITTEN).load(Ordering::Acquire) == read {
            return None;
        }
        let at = FIRST + WORDS * (read % ENTRIES) as usize;
        let words = std::array::from_fn(|n| ring.word(at + n).load(Ordering::Relaxed));
        ring.word(READ).store(read + 1, Ordering::Release);
        Some(words)
    }

    #[test]
    fn entries_are_words() {
        let (mut ring, _file) = Ring::new().unwrap();
        let by = By { queue: 8, thread: 9 };
        let packet = [10, 11, 12, 13, 14, 15, 16, u64::MAX];
        assert!(!ring.put(&Entry::Launched { slot: 5, number: 6, packet, by }, 7));
        assert!(!ring.put(&Entry::Completed { slot: 5, number: 6, start: 1, end: u64::MAX }, 8));
        assert_eq!(read(&ring), Some([1, 7, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, u64::MAX, 0, 0]));
        assert_eq!(read(&ring), Some([2, 8, 5, 6, 1, u64::MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(read(&ring), None);
    }

    #[test]
    fn there_is_room_for_as_many_as_were_not_read() {
        let (mut ring, _file) = Ring::new().unwrap();
        for number in 0..3 * ENTRIES {
            assert_eq!(ring.has_room(), Ok(true), "{number}");
            assert!(!ring.put(&over(number), 0));
            if number >= ENTRIES - 1 {
                assert_eq!(ring.has_room(), Ok(false), "{number}");
                assert_eq!(read(&ring).map(|words| words[3]), Some(number - (ENTRIES - 1)));
            }
        }
    }

    #[test]
    fn a_controller_that_has_read_more_than_there_was_is_found_out() {
        let (ring, _file) = Ring::new().unwrap();
        ring.word(READ).store(3, Ordering::Release);
        assert_eq!(ring.has_room(), Err("it has read 3 launches that were not told".to_owned()));
    }

    #[test]
    fn one_entry_wakes_a_controller_that_sleeps() {
        let (mut ring, _file) = Ring::new().unwrap();
        ring.word(SLEEPS).store(1, Ordering::SeqCst);
        assert_eq!([0, 1].map(|number| ring.put(&over(number), 0)), [true, false]);
    }

    /// One thread writes, and wakes the other one, which reads all in their order: none is left behind while it sleeps.
    #[test]
    fn no_entry_is_left_while_the_controller_sleeps() {
        const COUNT: u64 = 200_000;
        let (mut ring, file) = Ring::new().unwrap();
        let theirs = Ring { memory: Shared::of_file(&file).unwrap(), written: 0 };
        let (wake, woken) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut next = 0;
            while next < COUNT {
                if let Some(words) = read(&theirs) {
                    assert_eq!(words[3], next);
                    next += 1;
                    continue;
                }
                theirs.word(SLEEPS).store(1, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                if theirs.word(WRITTEN).load(Ordering::Acquire) == next {
                    let patience = std::time::Duration::from_secs(20);
                    woken.recv_timeout(patience).expect("the entry that was written wakes the reader");
                } else {
                    theirs.word(SLEEPS).store(0, Ordering::SeqCst);
                }
            }
        });
        for number in 0..COUNT {
            while ring.has_room() != Ok(true) {
                std::thread::yield_now();
            }
            if ring.put(&over(number), 0) {
                // The reader may have come to its end.
                let _ = wake.send(());
            }
        }
        reader.join().unwrap();
    }
}
