//! From DWARF units to a [`SourceMap`].

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use gimli::{
    Abbreviations, Attribute, AttributeValue, DebugAddrBase, DebugLocListsBase, DebugRngListsBase, DebugStrOffsetsBase,
    Dwarf, DwarfFileType, EntriesRaw, Unit, UnitHeader, UnitType, constants,
};

use super::paint::{Stroke, flatten};
use super::program::{Names, Programs};
use super::sections::{Sections, Slice, Work, bad, because};
use super::{NONE, Scope, SourceMap};
use crate::LoadError;

const INFO: &str = ".debug_info";

/// Inlined calls within one another; real ones stay below a few dozen.
const MAX_NESTING: usize = 1000;

/// How often a function may refer to another one for its name.
const MAX_ORIGINS: usize = 16;

/// A function as it is described, which may be in several pieces that refer to each other. Offsets are in .debug_info.
#[derive(Clone, Copy, Default)]
struct Described<'a> {
    name: Option<Slice<'a>>,
    linkage_name: Option<Slice<'a>>,
    origin: Option<u64>,
}

/// What the attributes of a function or an inlined call say.
#[derive(Default)]
struct Entry<'a> {
    described: Described<'a>,
    low: Option<AttributeValue<Slice<'a>>>,
    high: Option<AttributeValue<Slice<'a>>>,
    ranges: Option<AttributeValue<Slice<'a>>>,
    call: (u64, u64, u64),
}

struct Builder<'s, 'a> {
    dwarf: &'s Dwarf<Slice<'s>>,
    work: Work,
    programs: Programs<'s, 'a>,
    code: &'s [Range<u64>],
    described: HashMap<u64, Described<'s>>,
    /// Until all are described, `function` is an index into this list of offsets.
    functions: Vec<u64>,
    scopes: Vec<Scope>,
    strokes: Vec<Stroke>,
}

/// The lines of the code in these ranges.
pub fn read(sections: &Sections, code: &[Range<u64>]) -> Result<SourceMap, LoadError> {
    let dwarf = sections.dwarf()?;
    let mut work = sections.work();
    let units = units(sections, &dwarf, &mut work)?;
    let starts = units.iter().filter_map(|unit| unit.program).collect();
    let mut builder = Builder {
        dwarf: &dwarf,
        work,
        programs: Programs::new(sections, starts, code),
        code,
        described: HashMap::new(),
        functions: Vec::new(),
        scopes: Vec::new(),
        strokes: Vec::new(),
    };
    for unit in &units {
        builder.unit(unit)?;
    }
    builder.finish()
}

/// A unit whose first entry was read.
pub(super) struct Opened<'s> {
    pub unit: Unit<Slice<'s>>,
    entry: Entry<'s>,
    /// The offset of its line number program.
    program: Option<usize>,
}

pub(super) fn units<'s>(
    sections: &'s Sections<'_>,
    dwarf: &'s Dwarf<Slice<'s>>,
    work: &mut Work,
) -> Result<Vec<Opened<'s>>, LoadError> {
    let mut headers = Vec::new();
    let mut all = dwarf.units();
    while let Some(header) = all.next().map_err(because(INFO))? {
        if !matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. }) {
            headers.push(header);
        }
    }
    let starts: BTreeSet<usize> = headers.iter().map(|header| header.debug_abbrev_offset().0).collect();
    let mut tables: HashMap<usize, Arc<Abbreviations>> = HashMap::new();
    let mut opened = Vec::with_capacity(headers.len());
    for header in headers {
        let offset = header.debug_abbrev_offset();
        let table = match tables.get(&offset.0) {
            Some(table) => table.clone(),
            None => {
                let end = starts.range(offset.0 + 1..).next().copied().unwrap_or(usize::MAX);
                let table = sections.abbreviations_until(end).abbreviations(offset);
                let table = Arc::new(table.map_err(because(".debug_abbrev"))?);
                tables.insert(offset.0, table.clone());
                table
            }
        };
        opened.push(open(dwarf, header, table, work)?);
    }
    Ok(opened)
}

/// Reads the first entry of a unit: the bases that all others count from come with it.
fn open<'s>(
    dwarf: &Dwarf<Slice<'s>>,
    header: UnitHeader<Slice<'s>>,
    abbreviations: Arc<Abbreviations>,
    work: &mut Work,
) -> Result<Opened<'s>, LoadError> {
    let encoding = header.encoding();
    let kind = DwarfFileType::Main;
    let mut unit = Unit {
        header,
        abbreviations: abbreviations.clone(),
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(encoding, kind),
        addr_base: DebugAddrBase(0),
        loclists_base: DebugLocListsBase::default_for_encoding_and_file(encoding, kind),
        rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, kind),
        line_program: None,
        dwo_id: None,
    };
    let mut entries = header.entries_raw(&abbreviations, None).map_err(because(INFO))?;
    let mut entry = Entry::default();
    let mut folder = None;
    let mut program = None;
    if !entries.is_empty()
        && let Some(abbreviation) = entries.read_abbreviation().map_err(because(INFO))?
    {
        work.spend(abbreviation.attributes().len() + 1)?;
        for &specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(specification).map_err(because(INFO))?;
            match (attribute.name(), attribute.value()) {
                (constants::DW_AT_comp_dir, value) => folder = Some(value),
                (constants::DW_AT_stmt_list, AttributeValue::DebugLineRef(offset)) => program = Some(offset.0),
                (constants::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => {
                    unit.str_offsets_base = base;
                }
                (constants::DW_AT_addr_base, AttributeValue::DebugAddrBase(base)) => unit.addr_base = base,
                (constants::DW_AT_rnglists_base, AttributeValue::DebugRngListsBase(base)) => unit.rnglists_base = base,
                _ => entry.place(&attribute),
            }
        }
    }
    if let Some(value) = folder {
        let text = dwarf.attr_string(&unit, value).map_err(because(INFO))?;
        work.spend(text.len())?;
        unit.comp_dir = Some(text);
    }
    if let Some(value) = entry.low {
        unit.low_pc = dwarf.attr_address(&unit, value).map_err(because(INFO))?.unwrap_or(0);
    }
    Ok(Opened { unit, entry, program })
}

impl<'s> Builder<'s, '_> {
    fn unit(&mut self, opened: &Opened<'s>) -> Result<(), LoadError> {
        let Opened { unit, entry, program } = opened;
        let dwarf = self.dwarf;
        let strings = |value| dwarf.attr_string(unit, value);
        let program = match *program {
            Some(offset) => {
                Some(self.programs.run(offset, unit.address_size(), unit.comp_dir, strings, &mut self.work)?)
            }
            None => None,
        };
        let root = self.scope(Scope { entry: 0, caller: NONE, function: NONE, file: NONE, line: 0, column: 0 })?;
        let ranges = self.ranges(unit, entry)?;
        match &program {
            // The unit does not say what it covers: what its lines cover.
            Some(program) if ranges.is_empty() => {
                let strokes = self.programs.ranges(program);
                self.strokes.extend(strokes.map(|range| Stroke { start: range.start, end: range.end, scope: root }));
            }
            _ => self.paint(ranges, root),
        }

        let mut entries = unit.entries_raw(None).map_err(because(INFO))?;
        // The entries around the next one that stand for scopes: their depth, their scope, and how many calls deep.
        let mut around: Vec<(isize, u32, usize)> = Vec::new();
        while !entries.is_empty() {
            let depth = entries.next_depth();
            let offset = (unit.header.offset().0 + entries.next_offset().0) as u64;
            let Some(abbreviation) = entries.read_abbreviation().map_err(because(INFO))? else { continue };
            self.work.spend(abbreviation.attributes().len() + 1)?;
            while around.last().is_some_and(|&(outer, ..)| outer >= depth) {
                around.pop();
            }
            let inlined = match abbreviation.tag() {
                constants::DW_TAG_subprogram => false,
                constants::DW_TAG_inlined_subroutine => true,
                _ => {
                    entries.skip_attributes(abbreviation.attributes()).map_err(because(INFO))?;
                    continue;
                }
            };
            let entry = self.entry(unit, &mut entries, abbreviation.attributes())?;
            let ranges = self.ranges(unit, &entry)?;
            if !inlined {
                self.described.insert(offset, entry.described);
                if ranges.is_empty() && !abbreviation.has_children() {
                    continue;
                }
            }
            let (caller, nesting) = match around.last() {
                Some(&(_, scope, nesting)) if inlined => (scope, nesting + 1),
                _ if inlined => (root, 1),
                _ => (NONE, 0),
            };
            if nesting > MAX_NESTING {
                return Err(bad(INFO, format!("at {offset:#x} inlined calls nest deeper than {MAX_NESTING}")));
            }
            let (file, line, column) = entry.call;
            let described = if inlined { entry.described.origin.unwrap_or(offset) } else { offset };
            self.functions.push(described);
            let scope = self.scope(Scope {
                entry: described,
                caller,
                function: self.functions.len() as u32 - 1,
                file: program.as_ref().map_or(NONE, |program| self.programs.file(program, file)),
                line: u32::try_from(line).unwrap_or(u32::MAX),
                column: u32::try_from(column).unwrap_or(u32::MAX),
            })?;
            self.paint(ranges, scope);
            if abbreviation.has_children() {
                around.push((depth, scope, nesting));
            }
        }
        Ok(())
    }

    fn scope(&mut self, scope: Scope) -> Result<u32, LoadError> {
        let number = u32::try_from(self.scopes.len()).ok().filter(|&number| number != NONE);
        self.scopes.push(scope);
        number.ok_or_else(|| bad(INFO, "more than four thousand million functions"))
    }

    fn paint(&mut self, ranges: Vec<Range<u64>>, scope: u32) {
        self.strokes.extend(ranges.into_iter().map(|range| Stroke { start: range.start, end: range.end, scope }));
    }

    fn entry(
        &mut self,
        unit: &Unit<Slice<'s>>,
        entries: &mut EntriesRaw<'_, Slice<'s>>,
        specifications: &[gimli::AttributeSpecification],
    ) -> Result<Entry<'s>, LoadError> {
        let mut entry = Entry::default();
        for &specification in specifications {
            let attribute = entries.read_attribute(specification).map_err(because(INFO))?;
            match attribute.name() {
                constants::DW_AT_name => entry.described.name = Some(self.string(unit, &attribute)?),
                constants::DW_AT_linkage_name | constants::DW_AT_MIPS_linkage_name => {
                    entry.described.linkage_name = Some(self.string(unit, &attribute)?);
                }
                constants::DW_AT_abstract_origin | constants::DW_AT_specification => {
                    entry.described.origin = match attribute.value() {
                        AttributeValue::UnitRef(offset) => {
                            unit.header.offset().0.checked_add(offset.0).map(|offset| offset as u64)
                        }
                        AttributeValue::DebugInfoRef(offset) => Some(offset.0 as u64),
                        _ => None,
                    };
                }
                constants::DW_AT_call_file => entry.call.0 = number(&attribute),
                constants::DW_AT_call_line => entry.call.1 = number(&attribute),
                constants::DW_AT_call_column => entry.call.2 = number(&attribute),
                _ => entry.place(&attribute),
            }
        }
        Ok(entry)
    }

    fn string(&mut self, unit: &Unit<Slice<'s>>, attribute: &Attribute<Slice<'s>>) -> Result<Slice<'s>, LoadError> {
        let text = self.dwarf.attr_string(unit, attribute.value()).map_err(because(INFO))?;
        self.work.spend(text.len())?;
        Ok(text)
    }

    /// The addresses that an entry covers, of those where there is code.
    fn ranges(&mut self, unit: &Unit<Slice<'s>>, entry: &Entry<'s>) -> Result<Vec<Range<u64>>, LoadError> {
        let dwarf = self.dwarf;
        let address = |value| dwarf.attr_address(unit, value).map_err(because(INFO));
        let mut found = Vec::new();
        let list = match entry.ranges {
            Some(value) => dwarf.attr_ranges(unit, value).map_err(because(".debug_ranges"))?,
            None => None,
        };
        if let Some(mut list) = list {
            while let Some(raw) = list.next_raw().map_err(because(".debug_ranges"))? {
                self.work.spend(1)?;
                if let Some(range) = list.convert_raw(raw).map_err(because(".debug_ranges"))? {
                    found.push(range.begin..range.end);
                }
            }
        } else if let (Some(low), Some(high)) = (entry.low, entry.high)
            && let Some(low) = address(low)?
        {
            let high = match high.udata_value() {
                Some(size) => low.checked_add(size),
                None => address(high)?,
            };
            found.extend(high.map(|high| low..high));
        }
        // What the linker threw away is somewhere else, at 0 as a rule.
        found.retain(|range| range.start < range.end && self.code.iter().any(|code| code.contains(&range.start)));
        Ok(found)
    }

    fn finish(self) -> Result<SourceMap, LoadError> {
        let mut names = Names::default();
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut scopes = self.scopes;
        for scope in &mut scopes {
            let Some(&offset) = self.functions.get(scope.function as usize) else { continue };
            scope.function = *known.entry(offset).or_insert_with(|| {
                name(&self.described, offset).map_or(NONE, |name| names.index(name.to_string_lossy().into_owned()))
            });
        }
        let (files, rows) = self.programs.finish();
        Ok(SourceMap { files, names: names.texts, rows, scopes, stretches: flatten(self.strokes), origins: None })
    }
}

/// The name of the function at an offset, which may stand with the function that it refers to.
fn name<'s>(described: &HashMap<u64, Described<'s>>, offset: u64) -> Option<Slice<'s>> {
    let chain = std::iter::successors(described.get(&offset), |here| described.get(&here.origin?));
    let chain: Vec<_> = chain.take(MAX_ORIGINS).collect();
    chain.iter().find_map(|here| here.name).or_else(|| chain.iter().find_map(|here| here.linkage_name))
}

fn number(attribute: &Attribute<Slice<'_>>) -> u64 {
    attribute.udata_value().unwrap_or(0)
}

impl<'a> Entry<'a> {
    fn place(&mut self, attribute: &Attribute<Slice<'a>>) {
        match attribute.name() {
            constants::DW_AT_low_pc => self.low = Some(attribute.value()),
            constants::DW_AT_high_pc => self.high = Some(attribute.value()),
            constants::DW_AT_ranges => self.ranges = Some(attribute.value()),
            _ => {}
        }
    }
}
