//! Files of host code, programs and shared libraries: which function and which line of the source an address in one is.

use std::path::Path;

use crate::elf::{self, ElfHeader, Loads};
use crate::tables::Tables;
use crate::types::{Segment, SegmentKind};
use crate::{LoadError, SourceMap, lines};

/// Bytes of a file up to which it is read.
const MOST: u64 = 1 << 30;

/// A 64-bit little-endian ELF file of any machine's: its functions by its symbols, and its lines by its DWARF.
///
/// Places are offsets in the file, which is what a process's list of mappings leads to.
pub struct HostFile {
    segments: Vec<Segment>,
    /// By address.
    functions: Vec<Function>,
    lines: SourceMap,
}

struct Function {
    start: u64,
    size: u64,
    name: String,
}

impl HostFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, has more than a gibibyte, or is no such file. Damaged DWARF is none: lines are missing then.
    pub fn open(path: impl AsRef<Path>) -> Result<HostFile, LoadError> {
        let path = path.as_ref();
        let io = |source| LoadError::Io { path: path.to_owned(), source };
        let size = std::fs::metadata(path).map_err(io)?.len();
        if size > MOST {
            return Err(io(std::io::Error::from(std::io::ErrorKind::FileTooLarge)));
        }
        HostFile::parse(&std::fs::read(path).map_err(io)?)
    }

    /// The same of a file's contents.
    ///
    /// # Errors
    /// As for [`HostFile::open`].
    pub fn parse(bytes: &[u8]) -> Result<HostFile, LoadError> {
        let header = ElfHeader::parse(bytes)?;
        let segments = header.segments(bytes)?;
        let sections = header.sections(bytes)?;
        let dynamic = elf::dynamic(bytes, &segments)?;
        let loads = Loads::new(&segments);
        let tables = Tables { bytes, loads: &loads, sections: &sections, dynamic: &dynamic };
        let symbols = tables.symbols()?.check(bytes)?.code.into_iter();
        let functions = symbols.map(|symbol| Function {
            start: symbol.vaddr,
            size: symbol.size,
            name: String::from_utf8_lossy(bytes.get(symbol.name).unwrap_or_default()).into_owned(),
        });
        let functions = functions.collect();
        let code = elf::code_ranges(&segments, &sections, |_| true);
        let lines = lines::host_lines(bytes, &sections, &code).unwrap_or_default();
        Ok(HostFile { segments, functions, lines })
    }

    fn vaddr(&self, offset: u64) -> Option<u64> {
        let loads = self.segments.iter().filter(|segment| segment.kind == SegmentKind::Load);
        loads
            .map(|s| (offset.wrapping_sub(s.offset), s))
            .find(|(at, s)| *at < s.filesz)
            .map(|(at, s)| s.vaddr.wrapping_add(at))
    }

    /// The symbol of the function at a place, as the linker has it.
    pub fn function(&self, offset: u64) -> Option<&str> {
        let address = self.vaddr(offset)?;
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions[..after].last().filter(|function| address - function.start < function.size)?;
        Some(&function.name)
    }

    /// The place in the source, and the calls that were inlined around it, the innermost first; empty without DWARF.
    pub fn frames(&self, offset: u64) -> Vec<lines::Frame<'_>> {
        self.vaddr(offset).map_or_else(Vec::new, |address| self.lines.frames(address))
    }
}
