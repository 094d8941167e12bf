//! A kernel's arguments, built when a caller asks for them: a large library has a hundred thousand, and most callers want
//! the kernels' simple values.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use crate::metadata::ArgMetadata;
use crate::msgpack::{Reader, Token};
use crate::record::Raw;

/// A slice of [`ArgMetadata`]; what is not built keeps its bytes.
#[derive(Clone, Default)]
pub struct Arguments {
    /// An encoded array, each element of which is a map that fits; of arguments that were given, nothing.
    raw: Raw,
    built: OnceLock<Vec<ArgMetadata>>,
}

impl Arguments {
    pub(crate) fn from_raw(raw: Raw) -> Arguments {
        Arguments { raw, built: OnceLock::new() }
    }

    /// What was built, and may have been changed.
    pub(crate) fn built(&self) -> Option<&[ArgMetadata]> {
        self.built.get().map(Vec::as_slice)
    }

    fn build(&self) -> &Vec<ArgMetadata> {
        self.built.get_or_init(|| {
            let mut reader = Reader::new(self.raw.bytes());
            match reader.token() {
                Ok(Token::Array(count)) => {
                    (0..count).map(|_| ArgMetadata::from_reader(&mut reader, &self.raw)).collect()
                }
                _ => Vec::new(),
            }
        })
    }
}

impl Deref for Arguments {
    type Target = [ArgMetadata];
    fn deref(&self) -> &[ArgMetadata] {
        self.build()
    }
}

impl DerefMut for Arguments {
    fn deref_mut(&mut self) -> &mut [ArgMetadata] {
        self.build();
        self.built.get_mut().map(Vec::as_mut_slice).unwrap_or_default()
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Arguments) -> bool {
        let unbuilt = self.built().is_none() && other.built().is_none();
        unbuilt && self.raw == other.raw || **self == **other
    }
}

impl<'a> IntoIterator for &'a Arguments {
    type Item = &'a ArgMetadata;
    type IntoIter = std::slice::Iter<'a, ArgMetadata>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
