//! Source lines for code that was copied and has instructions inserted.
//!
//! What the object has of debug information stays where it is; one more unit is written behind it, for the copies. Its
//! functions and inlined calls refer to the entries of the originals, so that names, types and declarations are there
//! once. It is of DWARF 4, which needs no tables that units share; versions may differ from unit to unit.
//!
//! An inserted instruction has the line of the application's instruction that it stands before, but is no place to
//! stop at: a breakpoint on a line stops at the application's own instruction.

use std::collections::HashMap;

use gimli::write::{
    Address, AttributeValue, DebugInfoRef, Dwarf, EndianVec, FileId, LineProgram, LineString, Range, RangeList,
    Result as Written, Sections as Tables, Unit, UnitEntryId, Writer,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian, SectionId, constants};

use super::sections::{Sections, bad};
use super::{NONE, Row, SourceMap, build};
use crate::{CodeObject, LoadError};

const ENCODING: Encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };

/// A copy of an instruction, and what was inserted in front of it: `start..end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeCopy {
    pub start: u64,
    /// The copy; `end` if there is none.
    pub at: u64,
    pub end: u64,
    /// The address of the instruction that was copied. `None` for inserted code with none behind it, which belongs to
    /// no line.
    pub original: Option<u64>,
}

/// A section of debug information, not compressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugSection {
    pub name: &'static str,
    pub bytes: Vec<u8>,
}

/// The debug sections of `object` with lines, functions and inlined calls for the copies as well: those that change, or
/// that it did not have. Nothing where the object has no debug information of the code that was copied.
///
/// `copies` are sorted by address.
///
/// # Errors
/// The debug information is damaged, of a kind that is not read, or too large for offsets of 32 bits.
pub fn lines_of_copies(object: &CodeObject, copies: &[CodeCopy]) -> Result<Vec<DebugSection>, LoadError> {
    if object.section(".debug_info").is_none_or(|section| section.size == 0) {
        return Ok(Vec::new());
    }
    let old = Sections::of(object)?;
    let map = build::read(&old, &object.code_ranges())?;
    let scopes: Vec<u32> = copies.iter().map(|copy| copy.original.map_or(NONE, |a| map.scope_at(a))).collect();
    if scopes.iter().all(|scope| *scope == NONE) {
        return Ok(Vec::new());
    }
    let mut unit = Unit::new(ENCODING, LineProgram::none());
    let mut lines = Lines::new(&map);
    lines.write(copies);
    let files = std::mem::take(&mut lines.files);
    unit.line_program = lines.program;
    functions(&map, copies, scopes, &files, &mut unit);
    let mut dwarf = Dwarf::new();
    dwarf.units.add(unit);

    let mut tables = Tables::new(Table(EndianVec::new(LittleEndian)));
    let changed = [
        SectionId::DebugAbbrev,
        SectionId::DebugInfo,
        SectionId::DebugLine,
        SectionId::DebugRanges,
        SectionId::DebugStr,
    ];
    let damaged = |error: gimli::write::Error| bad(".debug_info", format!("lines of copies: {error}"));
    for id in changed {
        if let Some(table) = tables.get_mut(id) {
            table.write(old.bytes(id)).map_err(damaged)?;
        }
    }
    dwarf.write(&mut tables).map_err(damaged)?;
    let grown = changed.into_iter().filter_map(|id| {
        let bytes = tables.get_mut(id).map(|table| table.0.take())?;
        (bytes.len() > old.bytes(id).len()).then(|| DebugSection { name: id.name(), bytes })
    });
    Ok(grown.collect())
}

/// A section under construction. A reference to a symbol is one to an entry that was there before, by its offset.
#[derive(Clone)]
struct Table(EndianVec<LittleEndian>);

impl Writer for Table {
    type Endian = LittleEndian;
    fn endian(&self) -> LittleEndian {
        LittleEndian
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn write(&mut self, bytes: &[u8]) -> Written<()> {
        self.0.write(bytes)
    }
    fn write_at(&mut self, offset: usize, bytes: &[u8]) -> Written<()> {
        self.0.write_at(offset, bytes)
    }
    fn write_reference(&mut self, symbol: usize, size: u8) -> Written<()> {
        self.write_udata(symbol as u64, size)
    }
}

/// The line number program of the copies.
struct Lines<'a> {
    map: &'a SourceMap,
    program: LineProgram,
    /// The program's numbers of the map's files.
    files: HashMap<u32, FileId>,
    /// Where the sequence begins.
    from: u64,
    /// What the last row said.
    last: Option<Row>,
}

impl<'a> Lines<'a> {
    fn new(map: &'a SourceMap) -> Lines<'a> {
        let steps = LineEncoding { minimum_instruction_length: 4, ..LineEncoding::default() };
        let nameless = || LineString::String(b"??".to_vec());
        let program = LineProgram::new(ENCODING, steps, nameless(), None, nameless(), None);
        let mut lines = Lines { map, program, files: HashMap::new(), from: 0, last: None };
        // The calls' as well, which may be in files that have no line here.
        let numbers = map.rows.iter().map(|row| row.file).chain(map.scopes.iter().map(|scope| scope.file));
        let mut numbers: Vec<u32> = numbers.filter(|number| *number != NONE).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().for_each(|number| lines.add_file(number));
        lines
    }

    fn add_file(&mut self, number: u32) {
        let name = self.map.file(number).filter(|name| !name.is_empty()).unwrap_or("??");
        let name = name.bytes().filter(|byte| *byte != 0).collect();
        let folder = self.program.default_directory();
        self.files.insert(number, self.program.add_file(LineString::String(name), folder, None));
    }

    fn write(&mut self, copies: &[CodeCopy]) {
        let mut end = 0;
        for copy in copies {
            if copy.start != end {
                self.end(end);
            }
            let row = copy.original.and_then(|address| self.map.row(address)).filter(|row| row.file != NONE);
            match (copy.original, row.copied()) {
                (Some(original), Some(row)) => {
                    if copy.start < copy.at {
                        self.row(copy.start, Row { statement: false, ..row });
                    }
                    // Its own row begins here, or somewhere before.
                    let statement = row.statement && row.address == original;
                    self.row(copy.at, Row { statement, ..row });
                }
                (Some(_), None) => self.end(copy.start),
                (None, _) if self.last.is_some() => {
                    self.row(copy.start, Row { address: 0, file: NONE, line: 0, column: 0, statement: false });
                }
                (None, _) => {}
            }
            end = copy.end;
        }
        self.end(end);
    }

    /// From here on. A row that says what the last one said is only written if a statement begins.
    fn row(&mut self, address: u64, row: Row) {
        let begun = self.last.is_some();
        let same = |last: Row| (last.file, last.line, last.column) == (row.file, row.line, row.column);
        if self.last.is_some_and(same) && !row.statement {
            return;
        }
        if !begun {
            self.program.begin_sequence(Some(Address::Constant(address)));
            self.from = address;
        }
        let file = self.files.get(&row.file).copied();
        let next = self.program.row();
        next.address_offset = address - self.from;
        next.line = row.line.into();
        next.column = row.column.into();
        next.is_statement = row.statement;
        if let Some(file) = file {
            next.file = file;
        }
        self.program.generate_row();
        self.last = Some(row);
    }

    fn end(&mut self, address: u64) {
        if self.last.take().is_some() {
            self.program.end_sequence(address - self.from);
        }
    }
}

/// Entries for the functions and the inlined calls that the copies belong to.
fn functions(
    map: &SourceMap,
    copies: &[CodeCopy],
    mut scopes: Vec<u32>,
    files: &HashMap<u32, FileId>,
    unit: &mut Unit,
) {
    // What belongs to no line is at the end of its function, in none of the calls.
    for n in 1..copies.len() {
        if copies[n].original.is_none() && copies[n].start == copies[n - 1].end {
            scopes[n] = around(map, scopes[n - 1]).last().unwrap_or(NONE);
        }
    }
    let mut covered: Vec<Vec<(u64, u64)>> = vec![Vec::new(); map.scopes.len()];
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (copy, scope) in copies.iter().zip(scopes).filter(|(copy, scope)| *scope != NONE && copy.start < copy.end) {
        extend(&mut all, copy);
        around(map, scope).for_each(|scope| extend(&mut covered[scope as usize], copy));
    }
    let root = unit.root();
    let text = |text: &str| AttributeValue::String(text.into());
    unit.get_mut(root).set(constants::DW_AT_producer, text(concat!("Luthier ", env!("CARGO_PKG_VERSION"))));
    unit.get_mut(root).set(constants::DW_AT_name, text("instrumented copies"));
    // What addresses in lists of ranges count from.
    unit.get_mut(root).set(constants::DW_AT_low_pc, AttributeValue::Address(Address::Constant(0)));
    ranges(unit, root, &all);
    let mut entries: HashMap<u32, UnitEntryId> = HashMap::new();
    for (number, scope) in map.scopes.iter().enumerate() {
        let covered = &covered[number];
        // A unit is no function.
        if covered.is_empty() || scope.entry == 0 {
            continue;
        }
        let caller = entries.get(&scope.caller).copied();
        let is_call = scope.caller != NONE;
        let tag = if is_call { constants::DW_TAG_inlined_subroutine } else { constants::DW_TAG_subprogram };
        let id = unit.add(caller.unwrap_or(root), tag);
        entries.insert(number as u32, id);
        ranges(unit, id, covered);
        let described = AttributeValue::DebugInfoRef(DebugInfoRef::Symbol(scope.entry as usize));
        let entry = unit.get_mut(id);
        entry.set(constants::DW_AT_abstract_origin, described);
        if is_call {
            entry.set(constants::DW_AT_call_file, AttributeValue::FileIndex(files.get(&scope.file).copied()));
            entry.set(constants::DW_AT_call_line, AttributeValue::Udata(scope.line.into()));
            entry.set(constants::DW_AT_call_column, AttributeValue::Udata(scope.column.into()));
        }
    }
}

/// A scope and what it is in, outwards; units, which are no functions, included.
fn around(map: &SourceMap, scope: u32) -> impl Iterator<Item = u32> + '_ {
    let known = |scope: u32| map.scopes.get(scope as usize).map(|_| scope);
    std::iter::successors(known(scope), move |scope| known(map.scopes[*scope as usize].caller))
}

fn extend(covered: &mut Vec<(u64, u64)>, copy: &CodeCopy) {
    match covered.last_mut() {
        Some((_, end)) if *end == copy.start => *end = copy.end,
        _ => covered.push((copy.start, copy.end)),
    }
}

fn ranges(unit: &mut Unit, entry: UnitEntryId, covered: &[(u64, u64)]) {
    let address = Address::Constant;
    match covered {
        [(start, end)] if entry != unit.root() => {
            unit.get_mut(entry).set(constants::DW_AT_low_pc, AttributeValue::Address(address(*start)));
            unit.get_mut(entry).set(constants::DW_AT_high_pc, AttributeValue::Udata(end - start));
        }
        _ => {
            let list =
                covered.iter().map(|(begin, end)| Range::StartEnd { begin: address(*begin), end: address(*end) });
            let list = unit.ranges.add(RangeList(list.collect()));
            unit.get_mut(entry).set(constants::DW_AT_ranges, AttributeValue::RangeListRef(list));
        }
    }
}

impl SourceMap {
    /// The number of the scope at an address of the original; [`NONE`] where there is none.
    fn scope_at(&self, address: u64) -> u32 {
        let after = self.stretches.partition_point(|stretch| stretch.start <= address);
        self.stretches[..after].last().map_or(NONE, |stretch| stretch.scope)
    }
}
