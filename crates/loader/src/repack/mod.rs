//! Writing a container back with other code objects in it.
//!
//! A bundle is written anew when one of its entries is replaced: same format, same entries in the same order. A file of
//! bundles is put together from them. In a host binary the bundles stay where they are if they fit; otherwise
//! .hip_fatbin moves behind everything else ([`host`]).

mod bundle;
mod host;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::bytes::Bytes;
use crate::container::{Container, ContainerKind, Entry};
use crate::{CodeObject, LoadError};

/// What the start of a bundle is aligned to in a file or section, at most: what clang does.
const ALIGN: u64 = 4096;

impl Container {
    /// The whole file with other code objects as some of its entries, by their numbers. Entries that are not named stay
    /// as they are, byte for byte, and so do bundles without a new entry.
    ///
    /// A new code object must be for the processor of the entry whose place it takes. In a host binary everything but
    /// .hip_fatbin, and the pointers to it, is as before.
    pub fn with_entries(&self, new: &BTreeMap<usize, Bytes>) -> Result<Vec<u8>, LoadError> {
        for (&index, bytes) in new {
            self.check_replacement(index, bytes)?;
        }
        if self.kind() == ContainerKind::CodeObject {
            return match new.get(&0) {
                Some(bytes) => Ok(bytes.to_vec()),
                None => Ok(self.read(0)?.to_vec()),
            };
        }
        let whole = self.source().slice("file", 0, self.source().size())?;
        let mut bundles = Vec::with_capacity(self.bundles().len());
        for (number, old) in self.bundles().iter().enumerate() {
            let entries: Vec<&Entry> = self.entries().iter().filter(|entry| entry.bundle == number).collect();
            let touched = entries.iter().any(|entry| new.contains_key(&entry.index));
            let bytes = match touched {
                true => Cow::Owned(bundle::rewritten(self, old, &entries, new)?),
                false => Cow::Borrowed(whole.get(old.start as usize..old.end as usize).unwrap_or_default()),
            };
            bundles.push(NewBundle { start: old.start, bytes });
        }
        match self.kind() {
            ContainerKind::FatBinary => host::with_bundles(&whole, &bundles),
            _ => Ok(joined(&bundles)),
        }
    }

    fn check_replacement(&self, index: usize, bytes: &Bytes) -> Result<(), LoadError> {
        let entry = self.entries().get(index).ok_or(LoadError::NoSuchEntry { index, count: self.entries().len() })?;
        let object = CodeObject::parse(bytes.clone())?;
        let fits = entry.target.as_ref().is_some_and(|target| target.processor == object.target().processor);
        if fits {
            Ok(())
        } else {
            Err(LoadError::EntryMismatch { entry: entry.id.clone(), code: object.target().to_string() })
        }
    }
}

/// A bundle, and where in the old file it starts.
struct NewBundle<'a> {
    start: u64,
    bytes: Cow<'a, [u8]>,
}

/// Bundles behind each other, each aligned as it was.
fn joined(bundles: &[NewBundle]) -> Vec<u8> {
    let mut out = Vec::new();
    for bundle in bundles {
        let align = alignment(bundle.start);
        out.resize(out.len().next_multiple_of(align as usize), 0);
        out.extend_from_slice(&bundle.bytes);
    }
    out
}

/// The power of two, up to [`ALIGN`], that an offset is a multiple of.
fn alignment(offset: u64) -> u64 {
    1 << offset.trailing_zeros().min(ALIGN.trailing_zeros())
}
