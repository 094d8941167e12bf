//! Where bytes come from: memory, or a file that is read only where a caller asks.
//!
//! Fat binaries of libraries are gigabytes, and one entry is wanted. They are not mapped into memory: a mapped file
//! that another process cuts off kills the process that reads it, where reading it is an error like any other.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::LoadError;
use crate::bytes::Bytes;

/// A range of a file, or bytes in memory.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Memory(Bytes),
    File { file: Arc<File>, path: PathBuf, start: u64, size: u64 },
}

impl Source {
    /// A regular file whole; anything else (a pipe) is read.
    pub fn open(path: &Path) -> Result<Source, LoadError> {
        let io = |source| LoadError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_file() && metadata.len() != 0 {
            return Ok(Source::File { file: Arc::new(file), path: path.to_owned(), start: 0, size: metadata.len() });
        }
        // What claims to be empty may be a file of /proc.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        Ok(Source::Memory(bytes.into()))
    }

    /// `size` bytes at `start` of something that cannot be read whole: another process's memory.
    pub fn range_of(path: &Path, start: u64, size: u64) -> Result<Source, LoadError> {
        let file = File::open(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })?;
        Ok(Source::File { file: Arc::new(file), path: path.to_owned(), start, size })
    }

    /// A part of it.
    pub fn part(&self, what: &'static str, offset: u64, size: u64) -> Result<Source, LoadError> {
        self.check(what, offset, size)?;
        Ok(match self {
            Source::Memory(_) => Source::Memory(self.read(what, offset, size)?),
            Source::File { file, path, start, .. } => {
                Source::File { file: file.clone(), path: path.clone(), start: start + offset, size }
            }
        })
    }

    pub fn size(&self) -> u64 {
        match self {
            Source::Memory(bytes) => bytes.len() as u64,
            Source::File { size, .. } => *size,
        }
    }

    fn check(&self, what: &'static str, offset: u64, size: u64) -> Result<(), LoadError> {
        if offset.checked_add(size).is_none_or(|end| end > self.size()) {
            return Err(LoadError::Truncated { what, offset, size, file_size: self.size() });
        }
        Ok(())
    }

    /// `size` bytes at `offset`; an error if there are fewer.
    pub fn slice(&self, what: &'static str, offset: u64, size: u64) -> Result<Cow<'_, [u8]>, LoadError> {
        self.check(what, offset, size)?;
        match self {
            Source::Memory(bytes) => {
                Ok(bytes.get(offset as usize..(offset + size) as usize).unwrap_or_default().into())
            }
            Source::File { file, path, start, .. } => {
                let mut buffer = Vec::new();
                let io = |source| LoadError::Io { path: path.clone(), source };
                // The file says how large it is; whether the memory is there is another question.
                buffer.try_reserve_exact(size as usize).map_err(|error| io(io::Error::other(error)))?;
                buffer.resize(size as usize, 0);
                file.read_exact_at(&mut buffer, start + offset).map_err(io)?;
                Ok(buffer.into())
            }
        }
    }

    /// The same with an owner. All of a source in memory is shared, not copied.
    pub fn read(&self, what: &'static str, offset: u64, size: u64) -> Result<Bytes, LoadError> {
        match self {
            Source::Memory(bytes) if offset == 0 && size == self.size() => Ok(bytes.clone()),
            _ => Ok(self.slice(what, offset, size)?.into_owned().into()),
        }
    }

    /// The bytes from `start` to `end`, one after the other.
    pub fn reader(&self, start: u64, end: u64) -> SourceReader<'_> {
        SourceReader { source: self, at: start, end: end.min(self.size()), buffer: Vec::new(), used: 0 }
    }
}

const BLOCK: u64 = 64 << 10;

/// A buffered reader that knows where it is.
pub(crate) struct SourceReader<'a> {
    source: &'a Source,
    /// Of the first byte that is not in the buffer.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl SourceReader<'_> {
    /// The offset of the next byte.
    pub fn position(&self) -> u64 {
        self.at - (self.buffer.len() - self.used) as u64
    }

    /// Passes over zeros; gives the offset of the first other byte.
    pub fn skip_zeros(&mut self) -> io::Result<Option<u64>> {
        loop {
            let buffer = self.fill_buf()?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let zeros = buffer.iter().position(|&byte| byte != 0);
            let count = zeros.unwrap_or(buffer.len());
            self.consume(count);
            if zeros.is_some() {
                return Ok(Some(self.position()));
            }
        }
    }
}

impl Read for SourceReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let buffer = self.fill_buf()?;
        let size = buffer.len().min(out.len());
        out[..size].copy_from_slice(&buffer[..size]);
        self.consume(size);
        Ok(size)
    }
}

impl BufRead for SourceReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used == self.buffer.len() {
            let size = self.end.saturating_sub(self.at).min(BLOCK);
            self.buffer.resize(size as usize, 0);
            self.used = 0;
            match self.source {
                Source::Memory(bytes) => {
                    let at = self.at as usize;
                    self.buffer.copy_from_slice(bytes.get(at..at + size as usize).unwrap_or_default());
                }
                Source::File { file, start, .. } => file.read_exact_at(&mut self.buffer, start + self.at)?,
            }
            self.at += size;
        }
        Ok(&self.buffer[self.used..])
    }

    fn consume(&mut self, size: usize) {
        self.used = (self.used + size).min(self.buffer.len());
    }
}
