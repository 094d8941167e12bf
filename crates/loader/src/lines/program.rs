//! The line number programs: which file, line and column each instruction comes from.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use gimli::{ColumnType, DebugLineOffset, LineProgramHeader, SectionId};

use super::sections::{Sections, Slice, Work, bad, because};
use super::{NONE, Row};
use crate::LoadError;

const SECTION: &str = ".debug_line";

/// What one file takes in a header is far less than what it takes in memory, so headers must not be enormous.
const MAX_HEADER: u64 = 1 << 20;

/// The rows from one address on, without a gap.
struct Sequence {
    start: u64,
    end: u64,
    rows: Range<usize>,
}

/// One program that was run.
#[derive(Clone)]
pub struct Program {
    /// Index into the file names for each of the program's own numbers, which start at `first_file`.
    files: Range<usize>,
    first_file: u64,
    /// Its part of the sequences.
    sequences: Range<usize>,
}

/// All programs of an object, each run once however many units name it.
pub struct Programs<'s, 'a> {
    sections: &'s Sections<'a>,
    /// Where programs start, to tell where each has to end.
    starts: BTreeSet<usize>,
    code: &'s [Range<u64>],
    done: HashMap<usize, Program>,
    pub names: Names,
    /// For each file number of each program: the index of its name.
    files: Vec<u32>,
    rows: Vec<Row>,
    sequences: Vec<Sequence>,
}

/// Names, each once.
#[derive(Default)]
pub struct Names {
    pub texts: Vec<String>,
    indices: HashMap<String, u32>,
}

impl Names {
    pub fn index(&mut self, text: String) -> u32 {
        let texts = &mut self.texts;
        *self.indices.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() as u32 - 1
        })
    }
}

impl<'s, 'a> Programs<'s, 'a> {
    /// `code` are the executable address ranges: what the linker threw away stands at other addresses.
    pub fn new(sections: &'s Sections<'a>, starts: BTreeSet<usize>, code: &'s [Range<u64>]) -> Programs<'s, 'a> {
        Programs {
            sections,
            starts,
            code,
            done: HashMap::new(),
            names: Names::default(),
            files: Vec::new(),
            rows: Vec::new(),
            sequences: Vec::new(),
        }
    }

    /// Runs the program at `offset` for a unit compiled in `folder`.
    pub fn run(
        &mut self,
        offset: usize,
        address_size: u8,
        folder: Option<Slice<'_>>,
        strings: impl Fn(gimli::AttributeValue<Slice<'s>>) -> gimli::Result<Slice<'s>>,
        work: &mut Work,
    ) -> Result<Program, LoadError> {
        if let Some(done) = self.done.get(&offset) {
            return Ok(done.clone());
        }
        let end = self.starts.range(offset + 1..).next().copied().unwrap_or(usize::MAX);
        check_header(self.sections.bytes(SectionId::DebugLine), offset)?;
        let program = self
            .sections
            .lines_until(end)
            .program(DebugLineOffset(offset), address_size, None, None)
            .map_err(because(SECTION))?;
        let files = self.files.len();
        let first_file = u64::from(program.header().version() <= 4);
        for file in program.header().file_names() {
            let path = path(program.header(), file, folder, &strings, work)?;
            self.files.push(self.names.index(path));
        }
        let sequences = self.sequences.len();
        let mut made = Program { files: files..self.files.len(), first_file, sequences: sequences..sequences };
        let mut rows = program.rows();
        let (mut first, mut valid) = (self.rows.len(), true);
        while let Some((_, row)) = rows.next_row().map_err(because(SECTION))? {
            let address = row.address();
            let empty = self.rows.len() == first;
            if empty {
                valid = self.code.iter().any(|range| range.contains(&address));
            } else {
                valid &= self.rows[first..].last().is_none_or(|last| last.address <= address);
            }
            if row.end_sequence() {
                if valid && !empty && self.rows[first].address < address {
                    let start = self.rows[first].address;
                    self.sequences.push(Sequence { start, end: address, rows: first..self.rows.len() });
                } else {
                    self.rows.truncate(first);
                }
                (first, valid) = (self.rows.len(), true);
            } else if valid || empty {
                let column = match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(u32::MAX),
                };
                let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(u32::MAX));
                let file = self.file(&made, row.file_index());
                let new = Row { address, file, line, column, statement: row.is_stmt() };
                match self.rows[first..].last_mut() {
                    // Of several rows for an address the last counts.
                    Some(last) if last.address == address => *last = new,
                    Some(last) if *last == Row { address: last.address, ..new } => {}
                    _ => self.rows.push(new),
                }
            }
        }
        // Rows that no end of sequence follows.
        self.rows.truncate(first);
        made.sequences.end = self.sequences.len();
        self.done.insert(offset, made.clone());
        Ok(made)
    }

    /// The name of a program's file, by its number there.
    pub fn file(&self, program: &Program, number: u64) -> u32 {
        let index = number.checked_sub(program.first_file).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.files[program.files.clone()].get(index)).copied().unwrap_or(NONE)
    }

    /// The addresses that a program has lines for.
    pub fn ranges(&self, program: &Program) -> impl Iterator<Item = Range<u64>> {
        self.sequences[program.sequences.clone()].iter().map(|sequence| sequence.start..sequence.end)
    }

    /// The file names, and all rows by address. A row without file and line stands where a sequence ends.
    pub fn finish(mut self) -> (Vec<String>, Vec<Row>) {
        self.sequences.sort_by_key(|sequence| sequence.start);
        let mut rows: Vec<Row> = Vec::with_capacity(self.rows.len() + self.sequences.len());
        for (index, sequence) in self.sequences.iter().enumerate() {
            // Where sequences overlap, the later one has the rest.
            let end = self.sequences.get(index + 1).map_or(sequence.end, |next| next.start.min(sequence.end));
            if rows.last().is_some_and(|last| last.address == sequence.start) {
                rows.pop();
            }
            let own = &self.rows[sequence.rows.clone()];
            rows.extend(own.iter().take_while(|row| row.address < end));
            rows.push(Row { address: end, file: NONE, line: 0, column: 0, statement: false });
        }
        (self.names.texts, rows)
    }
}

/// Refuses a header that is larger than any real one. Whatever else is wrong with it gimli says.
fn check_header(section: &[u8], offset: usize) -> Result<(), LoadError> {
    let number = |at: usize, size: usize| {
        let bytes = section.get(offset.checked_add(at)?..)?.get(..size)?;
        Some(bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte)))
    };
    let long = number(0, 4) == Some(0xffff_ffff);
    let (version_at, size) = if long { (12, 8) } else { (4, 4) };
    let after_version = if number(version_at, 2) == Some(5) { 4 } else { 2 };
    match number(version_at + after_version, size) {
        Some(length) if length > MAX_HEADER => Err(bad(
            SECTION,
            format!("the header at {offset:#x} has {length} bytes: more than the {MAX_HEADER} that one may"),
        )),
        _ => Ok(()),
    }
}

/// The path of a file: its own, behind its folder, behind the unit's folder, as far as these are relative.
fn path<'s>(
    header: &LineProgramHeader<Slice<'s>>,
    file: &gimli::FileEntry<Slice<'s>>,
    folder: Option<Slice<'_>>,
    strings: &impl Fn(gimli::AttributeValue<Slice<'s>>) -> gimli::Result<Slice<'s>>,
    work: &mut Work,
) -> Result<String, LoadError> {
    let mut text = |value| -> Result<String, LoadError> {
        let slice = strings(value).map_err(because(SECTION))?;
        work.spend(slice.len())?;
        Ok(slice.to_string_lossy().into_owned())
    };
    let name = text(file.path_name())?;
    if name.starts_with('/') {
        return Ok(name);
    }
    let mut parts = vec![name];
    let number = file.directory_index();
    // Up to version 4, folder 0 is the unit's and stands in no list.
    if !(number == 0 && header.version() <= 4)
        && let Some(value) = header.directory(number)
    {
        parts.push(text(value)?);
    }
    if let Some(folder) = folder.filter(|_| !parts.last().is_some_and(|part| part.starts_with('/'))) {
        work.spend(folder.len())?;
        parts.push(folder.to_string_lossy().into_owned());
    }
    parts.reverse();
    parts.retain(|part| !part.is_empty());
    Ok(parts.iter().map(|part| part.trim_end_matches('/')).collect::<Vec<_>>().join("/"))
}
