//! Vector files that no wave uses.

use std::sync::{Mutex, PoisonError};

use crate::registers::VectorFile;
use crate::wave::Wave;

/// Files that are kept, of 180 KB each.
const MOST_SPARE: usize = 64;

/// Vector files that no wave uses: making one takes longer than a small launch.
#[derive(Default)]
pub struct Spare(Mutex<Vec<VectorFile>>);

impl Spare {
    /// One of them, or a new one.
    pub fn take(&self) -> VectorFile {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_default()
    }
    pub fn give(&self, waves: impl Iterator<Item = Box<Wave>>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_SPARE.saturating_sub(files.len());
        files.extend(waves.take(room).map(|wave| wave.into_file()));
    }
}
