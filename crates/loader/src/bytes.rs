//! The bytes of a file, shared between everything that was read from it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Read-only bytes with any number of owners. A vector is taken over as it is, without a copy.
#[derive(Clone, Default)]
pub struct Bytes(Arc<Vec<u8>>);

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(Arc::new(bytes))
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        bytes.to_vec().into()
    }
}

impl From<&Vec<u8>> for Bytes {
    fn from(bytes: &Vec<u8>) -> Bytes {
        bytes.clone().into()
    }
}

impl<const N: usize> From<&[u8; N]> for Bytes {
    fn from(bytes: &[u8; N]) -> Bytes {
        bytes.to_vec().into()
    }
}

impl From<Arc<Vec<u8>>> for Bytes {
    fn from(bytes: Arc<Vec<u8>>) -> Bytes {
        Bytes(bytes)
    }
}

impl From<&Bytes> for Bytes {
    fn from(bytes: &Bytes) -> Bytes {
        bytes.clone()
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}
