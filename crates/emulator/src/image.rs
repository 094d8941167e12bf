//! What a launch can write, as it was at one moment: so that it can be taken back, and outcomes told apart.
//!
//! Pages that did not change since an earlier image are shared with it, and pages of zeros take no room.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::memory::Memory;

/// Bytes that are kept or shared together.
const PAGE: usize = 1 << 12;

/// One writable allocation.
struct Kept {
    start: u64,
    len: u64,
    /// `None` for zeros.
    pages: Vec<Option<Arc<[u8]>>>,
}

/// All of them, and how many bytes are not shared with an image before.
pub struct Image(Vec<Kept>, u64);

impl Image {
    /// The memory as it is; `None` if more than `most` bytes of it can be written.
    pub fn of(memory: &Memory, most: u64) -> Option<Image> {
        Image::after(None, memory, most)
    }

    /// The same, where pages that are as in an image before are kept once.
    pub fn after(before: Option<&Image>, memory: &Memory, most: u64) -> Option<Image> {
        let written = || memory.allocations().iter().filter(|a| a.writable);
        if written().map(|a| a.len).fold(0, u64::saturating_add) > most {
            return None;
        }
        let mut own = 0;
        let mut keep = |start: u64, len: u64| {
            let known = before.and_then(|image| image.0.iter().find(|kept| kept.start == start));
            let mut pages = Vec::with_capacity(len.div_ceil(PAGE as u64) as usize);
            each_page(memory, start, len, |number, bytes| {
                let same = known.and_then(|kept| kept.pages.get(number)?.as_ref()).filter(|page| &page[..] == bytes);
                let is_set = || bytes.iter().any(|&byte| byte != 0);
                let mut copy = || {
                    own += bytes.len() as u64;
                    Arc::from(bytes)
                };
                pages.push(same.cloned().or_else(|| is_set().then(&mut copy)));
            });
            Kept { start, len, pages }
        };
        let kept = written().map(|a| keep(a.start, a.len)).collect();
        Some(Image(kept, own))
    }

    /// Bytes that it does not share with the image before.
    pub fn own_bytes(&self) -> u64 {
        self.1
    }

    /// Makes the memory what it was.
    pub fn restore(&self, memory: &Memory) {
        self.differences(memory, |address, kept, now| {
            let zeros = [0; PAGE];
            let bytes = kept.unwrap_or(&zeros[..now.len()]);
            // It is there as long as the launch is.
            let _ = memory.write(address, bytes);
        });
    }

    /// A number that tells what is in the allocations that begin at these addresses, against the image.
    pub fn digest(&self, memory: &Memory, starts: &BTreeSet<u64>) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut inside = false;
        let mut last = 0..0;
        self.differences(memory, |address, _, now| {
            if !last.contains(&address) {
                let kept = self.0.iter().find(|kept| kept.start <= address && address < kept.start + kept.len);
                (last, inside) = kept
                    .map_or((0..0, false), |kept| (kept.start..kept.start + kept.len, starts.contains(&kept.start)));
            }
            if inside {
                (address, now).hash(&mut hasher);
            }
        });
        hasher.finish()
    }

    /// Tells of each page that is not what it was: its address, what it was (`None` for zeros), and what it is.
    fn differences(&self, memory: &Memory, mut tell: impl FnMut(u64, Option<&[u8]>, &[u8])) {
        for Kept { start, len, pages } in &self.0 {
            each_page(memory, *start, *len, |number, now| {
                let kept = pages[number].as_deref();
                let same = kept.map_or_else(|| now.iter().all(|&byte| byte == 0), |kept| kept == now);
                if !same {
                    tell(start + (number * PAGE) as u64, kept, now);
                }
            });
        }
    }
}

/// The pages of an allocation: number and contents.
fn each_page(memory: &Memory, start: u64, len: u64, mut tell: impl FnMut(usize, &[u8])) {
    let mut bytes = [0; PAGE];
    for (number, at) in (0..len).step_by(PAGE).enumerate() {
        let page = &mut bytes[..(len - at).min(PAGE as u64) as usize];
        if memory.read(start + at, page).is_ok() {
            tell(number, page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_what_was_written_has_a_number() {
        let mut memory = Memory::new();
        let own = memory.allocate(3 * PAGE as u64 + 8, true).expect("room");
        let other = memory.allocate(64, true).expect("room");
        memory.write(own + 5, &[1, 2, 3]).expect("there");
        let (image, starts) = (Image::of(&memory, 1 << 20).expect("small"), BTreeSet::from([own]));
        let before = image.digest(&memory, &starts);
        memory.write(other, &[9]).expect("there");
        assert_eq!(image.digest(&memory, &starts), before, "another allocation does not count");
        memory.write(own + 3 * PAGE as u64 + 7, &[7]).expect("there");
        let after = image.digest(&memory, &starts);
        assert_ne!(after, before);
        memory.write(own + 5, &[0; 3]).expect("there");
        assert_ne!(image.digest(&memory, &starts), after);
        image.restore(&memory);
        let mut found = [0; 8];
        memory.read(own + 3, &mut found).expect("there");
        assert_eq!(found, [0, 0, 1, 2, 3, 0, 0, 0]);
        assert_eq!(image.digest(&memory, &starts), before);
        assert!(Image::of(&memory, PAGE as u64).is_none(), "too big");
    }
}
