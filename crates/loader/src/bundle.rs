//! The offload bundle formats of clang: plain, and compressed (CCOB).
//!
//! Plain: a magic, a count, and for each entry its offset (from the magic), size and id. Compressed: a small header and
//! a plain bundle behind zlib or zstd. Both from the page "Clang Offload Bundler" of the clang documentation.
//!
//! Compressed data are read as a stream: to list the entries only the head is decompressed, to get one entry only what
//! lies before its end.

use std::io::{self, Read};
use std::ops::Range;

use crate::LoadError;
use crate::elf::slice;

pub(crate) const PLAIN_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
pub(crate) const COMPRESSED_MAGIC: &[u8] = b"CCOB";

/// More than any compiler writes: guards against tables that make no sense.
const MAX_ENTRIES: u64 = 1 << 14;
const MAX_ID: u64 = 1 << 12;

#[derive(Clone, Copy, Debug)]
enum Coding {
    Plain,
    Zlib,
    Zstd,
}

/// One bundle in a file.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    /// File offset of the magic.
    pub start: usize,
    /// File offset of the first byte that does not belong to it.
    pub end: usize,
    /// File range of the plain bundle, or of the compressed one.
    payload: Range<usize>,
    coding: Coding,
    /// What the header says of the plain bundle's size, if it says so.
    plain_size: Option<u64>,
}

pub(crate) struct BundleEntry {
    pub id: String,
    /// In the plain bundle.
    pub offset: u64,
    pub size: u64,
}

/// Whether a bundle starts here.
pub(crate) fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(PLAIN_MAGIC) || bytes.starts_with(COMPRESSED_MAGIC)
}

impl Bundle {
    /// The bundle whose magic is at `start`; nothing of it reaches beyond `limit`. `budget` is what all entry tables of
    /// the file may take: compressed ones could expand to anything.
    pub fn at(
        bytes: &[u8],
        start: usize,
        limit: usize,
        budget: &mut u64,
    ) -> Result<(Bundle, Vec<BundleEntry>), LoadError> {
        let bytes = bytes.get(..limit).unwrap_or(bytes);
        let rest = bytes.get(start..).unwrap_or_default();
        let mut bundle = if rest.starts_with(PLAIN_MAGIC) {
            let plain_size = Some(rest.len() as u64);
            Bundle { start, end: limit, payload: start..bytes.len(), coding: Coding::Plain, plain_size }
        } else {
            Bundle::compressed(bytes, start)?
        };
        let entries = bundle.read_entries(bytes, budget)?;
        if let Coding::Plain = bundle.coding {
            let mut end = bundle.table_size(&entries);
            for entry in &entries {
                slice(rest, "bundle entry", entry.offset, entry.size).map_err(|_| {
                    bundle.bad(format!(
                        "entry {} ({:#x} bytes at {:#x}) passes the end of the file",
                        entry.id, entry.size, entry.offset
                    ))
                })?;
                end = end.max(entry.offset + entry.size);
            }
            bundle.end = start + end as usize;
            bundle.payload.end = bundle.end;
        }
        Ok((bundle, entries))
    }

    fn compressed(bytes: &[u8], start: usize) -> Result<Bundle, LoadError> {
        let offset = start as u64;
        let number = |at: u64, size: u64| -> Result<u64, LoadError> {
            let bytes = slice(bytes, "compressed offload bundle header", offset + at, size)?;
            Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        };
        let version = number(4, 2)? as u16;
        let method = number(6, 2)? as u16;
        // The hash at the end of the header is not checked: a damaged stream does not decompress.
        let (total, plain_size, header) = match version {
            1 => (None, number(8, 4)?, 20),
            2 => (Some(number(8, 4)?), number(12, 4)?, 24),
            3 => (Some(number(8, 8)?), number(16, 8)?, 32),
            version => return Err(LoadError::UnsupportedBundleVersion { offset, version }),
        };
        slice(bytes, "compressed offload bundle header", offset, header)?;
        let coding = match method {
            0 => Coding::Zlib,
            1 => Coding::Zstd,
            method => return Err(LoadError::UnsupportedCompression { offset, method }),
        };
        let body = start + header as usize;
        let mut bundle =
            Bundle { start, end: bytes.len(), payload: body..bytes.len(), coding, plain_size: Some(plain_size) };
        if let Some(total) = total {
            if total < header {
                return Err(bundle.bad(format!("its size is {total}, less than its own header")));
            }
            slice(bytes, "compressed offload bundle", offset, total)?;
            bundle.end = start + total as usize;
        } else {
            bundle.end = body + bundle.stream_length(bytes)? as usize;
        }
        bundle.payload.end = bundle.end;
        Ok(bundle)
    }

    /// Version 1 does not say how long the compressed data are.
    fn stream_length(&self, bytes: &[u8]) -> Result<u64, LoadError> {
        let data = &bytes[self.payload.clone()];
        match self.coding {
            Coding::Zstd => zstd::zstd_safe::find_frame_compressed_size(data)
                .map(|size| size as u64)
                .map_err(|code| self.undecodable(zstd::zstd_safe::get_error_name(code))),
            _ => {
                let mut decoder = flate2::bufread::ZlibDecoder::new(data);
                let limit = self.limit(data.len());
                let read = io::copy(&mut (&mut decoder).take(limit + 1), &mut io::sink());
                match read {
                    Ok(read) if read <= limit => Ok(decoder.total_in()),
                    Ok(_) => Err(self.undecodable("it decompresses to an absurd size")),
                    Err(error) => Err(self.undecodable(error)),
                }
            }
        }
    }

    /// How much may come out of a stream of `compressed` bytes: real ratios are below 100.
    fn limit(&self, compressed: usize) -> u64 {
        let limit = (64 << 20) + compressed as u64 * 1000;
        limit.min(self.plain_size.unwrap_or(limit))
    }

    fn bad(&self, reason: String) -> LoadError {
        LoadError::BadBundle { offset: self.start as u64, reason }
    }

    fn undecodable(&self, error: impl std::fmt::Display) -> LoadError {
        LoadError::Decompression { offset: self.start as u64, reason: error.to_string() }
    }

    fn reader<'a>(&self, bytes: &'a [u8]) -> Result<Box<dyn Read + 'a>, LoadError> {
        let data = bytes.get(self.payload.clone()).unwrap_or_default();
        Ok(match self.coding {
            Coding::Plain => Box::new(data),
            Coding::Zlib => Box::new(flate2::bufread::ZlibDecoder::new(data)),
            Coding::Zstd => {
                let mut decoder =
                    zstd::stream::read::Decoder::with_buffer(data).map_err(|error| self.undecodable(error))?;
                // clang compresses large bundles with a window of the whole bundle.
                let window = (u64::BITS - self.limit(data.len()).leading_zeros()).clamp(27, 31);
                decoder.window_log_max(window).map_err(|error| self.undecodable(error))?;
                Box::new(decoder)
            }
        })
    }

    fn read_entries(&self, bytes: &[u8], budget: &mut u64) -> Result<Vec<BundleEntry>, LoadError> {
        let mut reader = self.reader(bytes)?;
        let mut magic = [0; PLAIN_MAGIC.len()];
        self.fill(&mut *reader, &mut magic)?;
        if magic != PLAIN_MAGIC {
            return Err(self.bad("what it decompresses to is not a bundle".to_owned()));
        }
        let count = self.number(&mut *reader)?;
        if count > MAX_ENTRIES {
            return Err(self.bad(format!("{count} entries: the header is damaged")));
        }
        let mut entries = Vec::new();
        for index in 0..count {
            let (offset, size) = (self.number(&mut *reader)?, self.number(&mut *reader)?);
            let length = self.number(&mut *reader)?;
            if length > MAX_ID {
                return Err(self.bad(format!("the id of entry {index} is {length} bytes long: the header is damaged")));
            }
            *budget = budget
                .checked_sub(64 + length)
                .ok_or_else(|| self.bad("the entry tables of this file are absurdly large".to_owned()))?;
            let mut id = vec![0; length as usize];
            self.fill(&mut *reader, &mut id)?;
            let id = String::from_utf8(id).map_err(|_| self.bad(format!("the id of entry {index} is not UTF-8")))?;
            let plain_size = self.plain_size.unwrap_or(u64::MAX);
            if offset.checked_add(size).is_none_or(|end| end > plain_size) {
                return Err(self.bad(format!("entry {id} ({size:#x} bytes at {offset:#x}) passes the bundle's end")));
            }
            entries.push(BundleEntry { id, offset, size });
        }
        Ok(entries)
    }

    fn table_size(&self, entries: &[BundleEntry]) -> u64 {
        PLAIN_MAGIC.len() as u64 + 8 + entries.iter().map(|entry| 24 + entry.id.len() as u64).sum::<u64>()
    }

    fn fill(&self, reader: &mut dyn Read, buffer: &mut [u8]) -> Result<(), LoadError> {
        reader.read_exact(buffer).map_err(|error| match (self.coding, error.kind()) {
            (Coding::Plain, _) => self.bad("its entry table passes the end of the file".to_owned()),
            (_, io::ErrorKind::UnexpectedEof) => self.undecodable("the compressed data end too early"),
            _ => self.undecodable(error),
        })
    }

    fn number(&self, reader: &mut dyn Read) -> Result<u64, LoadError> {
        let mut bytes = [0; 8];
        self.fill(reader, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The bytes of an entry. `bytes` is the file.
    pub fn read(&self, bytes: &[u8], offset: u64, size: u64) -> Result<Vec<u8>, LoadError> {
        if let Coding::Plain = self.coding {
            let bundle = bytes.get(self.payload.clone()).unwrap_or_default();
            return Ok(slice(bundle, "bundle entry", offset, size)?.to_vec());
        }
        let limit = self.limit(self.payload.len());
        if offset.checked_add(size).is_none_or(|end| end > limit) {
            return Err(self.bad(format!("{size:#x} bytes at {offset:#x} cannot come out of so few compressed ones")));
        }
        let mut reader = self.reader(bytes)?;
        let skipped = io::copy(&mut (&mut reader).take(offset), &mut io::sink());
        if skipped.map_err(|error| self.undecodable(error))? != offset {
            return Err(self.undecodable("the compressed data end too early"));
        }
        // Grows with what really comes out, not with what the table promises.
        let mut out = Vec::new();
        reader.take(size).read_to_end(&mut out).map_err(|error| self.undecodable(error))?;
        if out.len() as u64 != size {
            return Err(self.undecodable("the compressed data end too early"));
        }
        Ok(out)
    }
}
