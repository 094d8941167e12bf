//! The names that the ROCm runtime gives to loaded code objects: a range of a file, or of a process's memory.
//!
//! `file:///usr/lib/libx.so#offset=4096&size=8192`, `memory://1234#offset=0x7f0000001000&size=8192`. The grammar is that
//! of "Loaded Code Object Path Uniform Resource Identifier" in the LLVM AMDGPU usage page.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::{Container, LoadError};

/// Where a code object lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodeObjectUri {
    /// Bytes `offset..offset + size` of a file, or all of it.
    File { path: PathBuf, range: Option<(u64, u64)> },
    /// `size` bytes at an address of a process.
    Memory { process: u32, address: u64, size: u64 },
}

impl CodeObjectUri {
    /// What lies there.
    pub fn open(&self) -> Result<Container, LoadError> {
        match self {
            CodeObjectUri::File { path, range: None } => Container::open(path),
            CodeObjectUri::File { path, range: Some((offset, size)) } => Container::open_range(path, *offset, *size),
            CodeObjectUri::Memory { process, address, size } => Container::from_memory(Some(*process), *address, *size),
        }
    }
}

impl FromStr for CodeObjectUri {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<CodeObjectUri, LoadError> {
        let bad = |reason| LoadError::BadUri { text: text.chars().take(200).collect(), reason };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad("it has no ://"))?;
        let (place, range) = match rest.split_once(['#', '?']) {
            Some((place, range)) => (place, Some(range)),
            None => (rest, None),
        };
        let range = match range {
            Some(range) => {
                let (offset, size) = range.split_once('&').ok_or_else(|| bad("a range is offset=N&size=N"))?;
                let number = |part: &str, name: &str| -> Option<u64> {
                    let digits = part.strip_prefix(name)?.strip_prefix('=')?;
                    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
                        Some(digits) => u64::from_str_radix(digits, 16).ok(),
                        None => digits.parse().ok(),
                    }
                };
                match (number(offset, "offset"), number(size, "size")) {
                    (Some(offset), Some(size)) => Some((offset, size)),
                    _ => return Err(bad("a range is offset=N&size=N")),
                }
            }
            None => None,
        };
        match (scheme, range) {
            ("file", range) => {
                let path = unescape(place).ok_or_else(|| bad("a % is not followed by two hexadecimal digits"))?;
                Ok(CodeObjectUri::File { path, range })
            }
            ("memory", Some((address, size))) => {
                let process = place.parse().map_err(|_| bad("the process is not a number"))?;
                Ok(CodeObjectUri::Memory { process, address, size })
            }
            ("memory", None) => Err(bad("memory has to have a range")),
            _ => Err(bad("it begins with neither file:// nor memory://")),
        }
    }
}

fn unescape(text: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = text.bytes();
    let mut path = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        path.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                (digit(bytes.next())? * 16 + digit(bytes.next())?) as u8
            }
            byte => byte,
        });
    }
    Some(std::ffi::OsString::from_vec(path).into())
}

impl fmt::Display for CodeObjectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use std::os::unix::ffi::OsStrExt;
        match self {
            CodeObjectUri::File { path, range } => {
                f.write_str("file://")?;
                for &byte in path.as_os_str().as_bytes() {
                    match byte {
                        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                            write!(f, "{}", char::from(byte))?;
                        }
                        other => write!(f, "%{other:02X}")?,
                    }
                }
                match range {
                    Some((offset, size)) => write!(f, "#offset={offset}&size={size}"),
                    None => Ok(()),
                }
            }
            CodeObjectUri::Memory { process, address, size } => {
                write!(f, "memory://{process}#offset={address:#x}&size={size}")
            }
        }
    }
}
