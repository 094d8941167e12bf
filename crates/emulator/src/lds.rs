//! A workgroup's local data share. One worker runs all waves of a workgroup, so plain cells do.

use std::cell::Cell;

/// The LDS of one workgroup.
pub struct Lds {
    bytes: Box<[Cell<u8>]>,
    /// In strict mode: whether a byte was ever written.
    written: Option<Box<[Cell<bool>]>>,
}

impl Lds {
    /// `len` bytes of zero.
    pub fn new(len: usize) -> Lds {
        Lds { bytes: vec![Cell::new(0); len].into_boxed_slice(), written: None }
    }
    /// As [`Lds::new`], remembering which bytes were written.
    pub fn tracked(len: usize) -> Lds {
        Lds { written: Some(vec![Cell::new(false); len].into_boxed_slice()), ..Lds::new(len) }
    }
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// `N` bytes at `address`; `None` if any is outside.
    #[inline(always)]
    pub fn load<const N: usize>(&self, address: u32) -> Option<[u8; N]> {
        let at = address as usize;
        let cells = self.bytes.get(at..at + N)?;
        Some(std::array::from_fn(|i| cells[i].get()))
    }
    /// Stores `N` bytes; `None` if any is outside (then nothing is stored).
    #[inline(always)]
    pub fn store<const N: usize>(&self, address: u32, value: [u8; N]) -> Option<()> {
        let at = address as usize;
        let cells = self.bytes.get(at..at + N)?;
        for i in 0..N {
            cells[i].set(value[i]);
        }
        if let Some(written) = &self.written {
            written[at..at + N].iter().for_each(|w| w.set(true));
        }
        Some(())
    }
    /// Whether strict mode knows that a byte of `address..address + len` was never written.
    pub fn undefined(&self, address: u32, len: u32) -> bool {
        let range = address as usize..address as usize + len as usize;
        self.written.as_ref().is_some_and(|w| w.get(range).is_some_and(|w| w.iter().any(|w| !w.get())))
    }
    #[inline(always)]
    pub fn load32(&self, address: u32) -> Option<u32> {
        self.load(address).map(u32::from_le_bytes)
    }
    #[inline(always)]
    pub fn store32(&self, address: u32, value: u32) -> Option<()> {
        self.store(address, value.to_le_bytes())
    }
}
