//! The offload bundle formats of clang: plain, and compressed (CCOB).
//!
//! Plain: a magic, a count, and for each entry its offset (from the magic), size and id. Compressed: a small header and
//! a plain bundle behind zlib or zstd. Both from the page "Clang Offload Bundler" of the clang documentation.
//!
//! Compressed data are read as a stream: to list the entries only the head is decompressed, to get one entry only what
//! lies before its end.

use std::io::{self, BufRead, Read};

use crate::LoadError;
use crate::bytes::Bytes;
use crate::source::{Source, SourceReader};

pub(crate) const PLAIN_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
pub(crate) const COMPRESSED_MAGIC: &[u8] = b"CCOB";

/// More than any compiler writes: guards against tables that make no sense.
const MAX_ENTRIES: u64 = 1 << 14;
const MAX_ID: u64 = 1 << 12;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Coding {
    Plain,
    Zlib,
    Zstd,
}

/// One bundle in a file.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    /// File offset of the magic.
    pub start: u64,
    /// File offset of the first byte that does not belong to it.
    pub end: u64,
    /// File offset of the plain bundle, or of the compressed one.
    payload: u64,
    pub coding: Coding,
    /// Of the compressed format; 0 for the plain one.
    pub version: u16,
    /// How large the plain bundle can be: by the header, or by the file's end.
    plain_size: u64,
}

pub(crate) struct BundleEntry {
    pub id: String,
    /// In the plain bundle.
    pub offset: u64,
    pub size: u64,
}

/// Whether a bundle starts with these bytes.
pub(crate) fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(PLAIN_MAGIC) || bytes.starts_with(COMPRESSED_MAGIC)
}

impl Bundle {
    /// The bundle whose magic is at `start`; nothing of it reaches beyond `limit`. `budget` is what all entry tables of
    /// the file may take: compressed ones could expand to anything.
    pub fn at(
        source: &Source,
        start: u64,
        limit: u64,
        budget: &mut u64,
    ) -> Result<(Bundle, Vec<BundleEntry>), LoadError> {
        let head = source.slice("offload bundle", start, PLAIN_MAGIC.len().min((limit - start) as usize) as u64)?;
        let mut bundle = if *head == *PLAIN_MAGIC {
            Bundle { start, end: limit, payload: start, coding: Coding::Plain, version: 0, plain_size: limit - start }
        } else {
            Bundle::compressed(source, start, limit)?
        };
        let entries = bundle.read_entries(source, budget)?;
        if let Coding::Plain = bundle.coding {
            // `read_entries` has seen to it that they end in the file.
            let last = entries.iter().map(|entry| entry.offset + entry.size).max().unwrap_or(0);
            bundle.end = start + last.max(bundle.table_size(&entries));
        }
        Ok((bundle, entries))
    }

    fn compressed(source: &Source, start: u64, limit: u64) -> Result<Bundle, LoadError> {
        let number = |at: u64, size: u64| -> Result<u64, LoadError> {
            let what = "compressed offload bundle header";
            if start + at + size > limit {
                return Err(LoadError::Truncated { what, offset: start + at, size, file_size: limit });
            }
            let bytes = source.slice(what, start + at, size)?;
            Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        };
        let version = number(4, 2)? as u16;
        let method = number(6, 2)? as u16;
        // The hash at the end of the header is not checked: a damaged stream does not decompress.
        let (total, plain_size, header) = match version {
            1 => (None, number(8, 4)?, 20),
            2 => (Some(number(8, 4)?), number(12, 4)?, 24),
            3 => (Some(number(8, 8)?), number(16, 8)?, 32),
            version => return Err(LoadError::UnsupportedBundleVersion { offset: start, version }),
        };
        number(header - 8, 8)?;
        let coding = match method {
            0 => Coding::Zlib,
            1 => Coding::Zstd,
            method => return Err(LoadError::UnsupportedCompression { offset: start, method }),
        };
        let mut bundle = Bundle { start, end: limit, payload: start + header, coding, version, plain_size };
        if let Some(total) = total {
            if total < header {
                return Err(bundle.bad(format!("its size is {total}, less than its own header")));
            }
            if total > limit - start {
                let (what, offset) = ("compressed offload bundle", start);
                return Err(LoadError::Truncated { what, offset, size: total, file_size: limit });
            }
            bundle.end = start + total;
        } else {
            bundle.end = bundle.stream_end(source)?;
        }
        Ok(bundle)
    }

    /// Version 1 does not say how long the compressed data are: they have to be decompressed to find out.
    fn stream_end(&self, source: &Source) -> Result<u64, LoadError> {
        let limit = self.limit();
        let mut data = source.reader(self.payload, self.end);
        let copied = match self.coding {
            Coding::Zstd => {
                let mut decoder = self.zstd(&mut data)?.single_frame();
                io::copy(&mut (&mut decoder).take(limit + 1), &mut io::sink())
            }
            _ => io::copy(&mut flate2::bufread::ZlibDecoder::new(&mut data).take(limit + 1), &mut io::sink()),
        };
        match copied {
            Ok(size) if size <= limit => Ok(data.position()),
            Ok(_) => Err(self.undecodable("it decompresses to an absurd size")),
            Err(error) => Err(self.undecodable(error)),
        }
    }

    /// How much may come out of the compressed bytes: real ratios are below 100.
    fn limit(&self) -> u64 {
        (self.end - self.payload).saturating_mul(1000).saturating_add(4 << 20).min(self.plain_size)
    }

    fn bad(&self, reason: String) -> LoadError {
        LoadError::BadBundle { offset: self.start, reason }
    }

    fn undecodable(&self, error: impl std::fmt::Display) -> LoadError {
        LoadError::Decompression { offset: self.start, reason: error.to_string() }
    }

    fn zstd<R: BufRead>(&self, data: R) -> Result<zstd::stream::read::Decoder<'static, R>, LoadError> {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(data).map_err(|error| self.undecodable(error))?;
        // clang compresses large bundles with a window of the whole bundle.
        let window = (u64::BITS - self.limit().leading_zeros()).clamp(27, 31);
        decoder.window_log_max(window).map_err(|error| self.undecodable(error))?;
        Ok(decoder)
    }

    fn reader<'a>(&self, source: &'a Source) -> Result<Box<dyn Read + 'a>, LoadError> {
        let data: SourceReader<'a> = source.reader(self.payload, self.end);
        Ok(match self.coding {
            Coding::Plain => Box::new(data),
            Coding::Zlib => Box::new(flate2::bufread::ZlibDecoder::new(data)),
            Coding::Zstd => Box::new(self.zstd(data)?),
        })
    }

    fn read_entries(&self, source: &Source, budget: &mut u64) -> Result<Vec<BundleEntry>, LoadError> {
        let mut reader = self.reader(source)?;
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
            if offset.checked_add(size).is_none_or(|end| end > self.plain_size) {
                let end = match self.coding {
                    Coding::Plain => "the end of the file",
                    _ => "the bundle's end",
                };
                return Err(self.bad(format!("entry {id} ({size:#x} bytes at {offset:#x}) passes {end}")));
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
            (Coding::Plain, io::ErrorKind::UnexpectedEof) => {
                self.bad("its entry table passes the end of the file".to_owned())
            }
            (_, io::ErrorKind::UnexpectedEof) => self.undecodable("the compressed data end too early"),
            _ => self.undecodable(error),
        })
    }

    fn number(&self, reader: &mut dyn Read) -> Result<u64, LoadError> {
        let mut bytes = [0; 8];
        self.fill(reader, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The bytes of an entry. Of a plain bundle nothing else is read.
    pub fn read(&self, source: &Source, offset: u64, size: u64) -> Result<Bytes, LoadError> {
        if let Coding::Plain = self.coding {
            return source.read("bundle entry", self.start + offset, size);
        }
        if offset.checked_add(size).is_none_or(|end| end > self.limit()) {
            return Err(self.bad(format!("{size:#x} bytes at {offset:#x} cannot come out of so few compressed ones")));
        }
        let mut reader = self.reader(source)?;
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
        Ok(out.into())
    }
}
