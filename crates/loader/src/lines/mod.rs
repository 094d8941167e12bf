//! Which source line an instruction comes from, and through which inlined calls.
//!
//! DWARF is read once, into a table that is this module's own: rows of the line table by address, and a tree of
//! functions and inlined calls painted onto the addresses that they cover. So a [`SourceMap`] borrows nothing, may be
//! used by many threads, and answers in two binary searches.
//!
//! DWARF is hostile input like everything else: its references may go in circles, its lists may be shared by a million
//! entries, its compressed sections may explode. Reading costs at most a fixed multiple of the size of the debug
//! sections, whatever is in them; beyond that it is an error.
//!
//! Read are versions 2 to 5 of DWARF in the object itself. Of split DWARF (`-gsplit-dwarf`) only the part that stays in
//! the object is here: lines, without inlined calls.

mod build;
mod copies;
mod paint;
mod parameters;
mod program;
mod sections;

use std::fmt;
use std::ops::Range;

use sections::Sections;

use crate::types::Section;
use crate::{CodeObject, LoadError, OriginMap};

pub use copies::{CodeCopy, DebugSection, lines_of_copies};
pub use parameters::{NumberKind, Parameter, ParameterType, parameters};

/// "None" among indices.
const NONE: u32 = u32::MAX;

/// One place in the source, and the function that it is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame<'a> {
    /// The name as the source has it (`DW_AT_name`), the linkage name where there is only that. `None` for code outside
    /// of every function.
    pub function: Option<&'a str>,
    /// The path that the compiler was given, behind its working directory unless it was absolute.
    pub file: Option<&'a str>,
    /// From 1; 0 where the compiler says that the code belongs to no line.
    pub line: u32,
    /// From 1; 0 where the compiler did not say.
    pub column: u32,
}

/// `saxpy at /src/saxpy.hip:6:3`.
impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = self.function {
            write!(f, "{function} at ")?;
        }
        write!(f, "{}:{}", self.file.unwrap_or("??"), self.line)?;
        if self.column != 0 { write!(f, ":{}", self.column) } else { Ok(()) }
    }
}

/// What the line table says of an address. Columns and lines as in [`Frame`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SourceLine {
    /// Index into [`SourceMap::files`].
    pub file: Option<u32>,
    pub line: u32,
    pub column: u32,
}

/// Code from `address` up to the next row's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    address: u64,
    file: u32,
    line: u32,
    column: u32,
    /// A good place to stop at.
    statement: bool,
}

/// A unit, a function in it, or a call that was inlined into a function.
#[derive(Clone, Copy, Debug)]
struct Scope {
    /// The entry in .debug_info that describes the function; 0 for units.
    entry: u64,
    /// What it is inlined into; [`NONE`] for functions and units.
    caller: u32,
    /// Index into the names.
    function: u32,
    /// Of an inlined call: where it was called.
    file: u32,
    line: u32,
    column: u32,
}

/// Code from `start` up to the next stretch belongs to `scope`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stretch {
    start: u64,
    scope: u32,
}

/// The source lines of a code object. Addresses are those of the object, before any load base. In an instrumented object
/// the copies of the application's instructions have the lines of the originals, and inserted ones have none.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<String>,
    names: Vec<String>,
    rows: Vec<Row>,
    scopes: Vec<Scope>,
    stretches: Vec<Stretch>,
    origins: Option<OriginMap>,
}

impl SourceMap {
    /// The source of the instruction at `address`, innermost first: the line itself, then, for inlined code, the call
    /// in the function around it, and so on out to the function that the code really is in. Empty where DWARF says
    /// nothing.
    pub fn frames(&self, address: u64) -> Vec<Frame<'_>> {
        let mut frames = Vec::new();
        let Some(address) = self.original(address) else { return frames };
        let Some(mut scope) = self.scope(address) else { return frames };
        frames.extend(self.innermost_at(address));
        while let (Some(_), Some(caller)) = (frames.last(), self.scopes.get(scope.caller as usize)) {
            frames.push(Frame {
                function: self.name(caller.function),
                file: self.file(scope.file),
                line: scope.line,
                column: scope.column,
            });
            scope = caller;
        }
        frames
    }

    /// The first of [`SourceMap::frames`].
    pub fn innermost(&self, address: u64) -> Option<Frame<'_>> {
        self.innermost_at(self.original(address)?)
    }

    fn innermost_at(&self, address: u64) -> Option<Frame<'_>> {
        let function = self.name(self.scope(address)?.function);
        let (file, line, column) = match self.row(address) {
            Some(row) => (self.file(row.file), row.line, row.column),
            None if function.is_some() => (None, 0, 0),
            None => return None,
        };
        Some(Frame { function, file, line, column })
    }

    /// The line of the instruction at `address`, in numbers, for those who ask for many.
    pub fn line(&self, address: u64) -> Option<SourceLine> {
        let address = self.original(address)?;
        self.scope(address)?;
        let row = self.row(address)?;
        Some(SourceLine { file: (row.file != NONE).then_some(row.file), line: row.line, column: row.column })
    }

    /// The source files.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Where the application had the instruction at `address`; `None` for one that it had nowhere.
    fn original(&self, address: u64) -> Option<u64> {
        match &self.origins {
            Some(origins) if origins.covers(address) => origins.origin(address),
            _ => Some(address),
        }
    }

    fn row(&self, address: u64) -> Option<&Row> {
        let after = self.rows.partition_point(|row| row.address <= address);
        // A row without file and line ends a sequence.
        self.rows[..after].last().filter(|row| row.file != NONE || row.line != 0)
    }

    fn scope(&self, address: u64) -> Option<&Scope> {
        let after = self.stretches.partition_point(|stretch| stretch.start <= address);
        self.scopes.get(self.stretches[..after].last()?.scope as usize)
    }

    fn name(&self, index: u32) -> Option<&str> {
        self.names.get(index as usize).map(String::as_str)
    }

    fn file(&self, index: u32) -> Option<&str> {
        self.files.get(index as usize).map(String::as_str)
    }
}

/// The lines of host code, in a file that has these sections and its code in these ranges; empty where there is no DWARF.
pub(crate) fn host_lines(bytes: &[u8], sections: &[Section], code: &[Range<u64>]) -> Result<SourceMap, LoadError> {
    build::read(&Sections::read(bytes, sections)?, code)
}

impl CodeObject {
    /// Reads the object's DWARF, which costs time and memory in proportion to it. `None` where there is none; an error
    /// where it is damaged, or of a kind that is not read.
    pub fn source_map(&self) -> Result<Option<SourceMap>, LoadError> {
        if self.section(".debug_info").is_none_or(|section| section.size == 0) {
            return Ok(None);
        }
        Ok(Some(SourceMap { origins: self.origin_map()?, ..build::read(&Sections::of(self)?, &self.code_ranges())? }))
    }
}
