//! A kernel's arguments, built when a caller asks for them: a large library has a hundred thousand, and most callers want
//! the kernels' simple values.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use rmpv::Value;

use crate::fields::value;
use crate::msgpack::{Reader, Token};
use crate::record::{MapWriter, Raw, record};

record! {
    /// One kernel argument, explicit or hidden.
    pub struct ArgMetadata {
        address_space: String = ".address_space",
        /// From the start of the kernarg segment, in bytes.
        offset: u64 = ".offset",
        /// In bytes.
        size: u64 = ".size",
        /// `by_value`, `global_buffer`, `hidden_block_count_x`, ...
        value_kind: String = ".value_kind",
        name: String = ".name",
        type_name: String = ".type_name",
        value_type: String = ".value_type",
        pointee_align: u64 = ".pointee_align",
        access: String = ".access",
        actual_access: String = ".actual_access",
        is_const: bool = ".is_const",
        is_restrict: bool = ".is_restrict",
        is_volatile: bool = ".is_volatile",
        is_pipe: bool = ".is_pipe",
    }
}

impl ArgMetadata {
    /// The runtime fills it in; the program that launches the kernel does not give it.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.as_deref().is_some_and(|kind| kind.starts_with("hidden_"))
    }

    /// A key that has no field here.
    pub fn other(&self, key: &str) -> Option<Value> {
        self.raw.pairs().find(|pair| pair.key == Some(key.as_bytes())).map(|pair| value(pair.value))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = MapWriter::new(&self.raw);
        self.write(&mut writer);
        writer.finish()
    }
}

/// A slice of [`ArgMetadata`]; what is not built keeps its bytes.
#[derive(Clone, Default)]
pub struct Arguments {
    /// The encoded array: the check of the note has found each element to be a map whose values fit their keys.
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
