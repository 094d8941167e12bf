//! What instrumented code has of its tools: where in their source the hooks' instructions come from, and the variables.
//!
//! A hook that is placed many times has the same instructions everywhere, in registers of the place's own. So its rows
//! are there once, as a *body*, and each placement is an address and the number of a body.
//!
//! Encoding (section `.luthier.hooks`): the bytes `LHOK`, a version byte 1, then LEB128 numbers, and texts as a length
//! and UTF-8. The count of texts, and the texts. The count of lines; for each the numbers of the texts of its function
//! and its file, the line and the column. The count of bodies; for each its length in bytes, its count of rows, and for
//! each row its offset less the last one's and the number of its line. The count of placements; for each its address
//! less the last one's, and the number of its body. The count of variables; for each its address less the end of the
//! last one, its size, and the number of the text of its symbol.

use std::ops::Range;

use crate::LoadError;
use crate::leb::{Bad, Input, put};

const MAGIC: &[u8; 5] = b"LHOK\x01";

/// A place in the source of a hook.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HookLine {
    /// The function: the hook's own, or one that it calls.
    pub function: String,
    pub file: String,
    /// From 1, as the column.
    pub line: u32,
    pub column: u32,
}

/// A tool's variable in the instrumented object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookVariable {
    pub symbol: String,
    pub vaddr: u64,
    /// In bytes.
    pub size: u64,
}

/// A hook's instructions: their length, and from which offset on they come from which line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Body {
    length: u64,
    rows: Vec<(u64, u32)>,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HookMap {
    lines: Vec<HookLine>,
    bodies: Vec<Body>,
    /// Address and body, by address.
    placements: Vec<(u64, u32)>,
    /// By address.
    variables: Vec<HookVariable>,
}

impl HookMap {
    /// The name of the section that holds it.
    pub const SECTION: &'static str = ".luthier.hooks";

    /// Adds a body of `length` bytes, given the offset from which on the instructions come from each line; gives its
    /// number.
    pub fn add_body(&mut self, length: u64, rows: impl IntoIterator<Item = (u64, HookLine)>) -> u32 {
        let mut body = Body { length, rows: Vec::new() };
        for (offset, line) in rows {
            let number = self.lines.iter().position(|known| *known == line).unwrap_or_else(|| {
                self.lines.push(line);
                self.lines.len() - 1
            });
            body.rows.push((offset, number as u32));
        }
        self.bodies.push(body);
        self.bodies.len() as u32 - 1
    }

    /// At these addresses are the bodies with these numbers.
    pub fn place(&mut self, placements: impl IntoIterator<Item = (u64, u32)>) {
        self.placements.extend(placements);
        self.placements.sort_unstable();
    }

    pub fn add_variable(&mut self, variable: HookVariable) {
        let at = self.variables.partition_point(|known| known.vaddr < variable.vaddr);
        self.variables.insert(at, variable);
    }

    /// Where in a hook's source the instruction at `vaddr` comes from; `None` for what is no hook's, or if nothing is
    /// known of its source.
    pub fn line(&self, vaddr: u64) -> Option<&HookLine> {
        let (start, body) = self.placements[..self.placements.partition_point(|p| p.0 <= vaddr)].last()?;
        let (offset, body) = (vaddr - start, self.bodies.get(*body as usize)?);
        let row = body.rows[..body.rows.partition_point(|row| row.0 <= offset)].last()?;
        (offset < body.length).then(|| self.lines.get(row.1 as usize)).flatten()
    }

    /// By address.
    pub fn variables(&self) -> &[HookVariable] {
        &self.variables
    }

    /// Bytes between the variables, which belong to no variable.
    pub fn gaps(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let pairs = self.variables.windows(2);
        pairs.map(|pair| pair[0].vaddr + pair[0].size..pair[1].vaddr).filter(|gap| !gap.is_empty())
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut texts: Vec<&str> = Vec::new();
        let mut number = |text| {
            texts.iter().position(|known| *known == text).unwrap_or_else(|| {
                texts.push(text);
                texts.len() - 1
            }) as u64
        };
        let lines: Vec<[u64; 4]> =
            self.lines.iter().map(|l| [number(&l.function), number(&l.file), l.line.into(), l.column.into()]).collect();
        let symbols: Vec<u64> = self.variables.iter().map(|v| number(&v.symbol)).collect();
        let mut out = MAGIC.to_vec();
        put(&mut out, texts.len() as u64);
        for text in texts {
            put(&mut out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        put(&mut out, lines.len() as u64);
        lines.iter().flatten().for_each(|number| put(&mut out, *number));
        put(&mut out, self.bodies.len() as u64);
        for body in &self.bodies {
            put(&mut out, body.length);
            put(&mut out, body.rows.len() as u64);
            let mut last = 0;
            for &(offset, line) in &body.rows {
                put(&mut out, offset - last);
                put(&mut out, line.into());
                last = offset;
            }
        }
        put(&mut out, self.placements.len() as u64);
        let mut last = 0;
        for &(address, body) in &self.placements {
            put(&mut out, address - last);
            put(&mut out, body.into());
            last = address;
        }
        put(&mut out, self.variables.len() as u64);
        let mut end = 0;
        for (variable, symbol) in self.variables.iter().zip(symbols) {
            put(&mut out, variable.vaddr - end);
            put(&mut out, variable.size);
            put(&mut out, symbol);
            end = variable.vaddr + variable.size;
        }
        out
    }

    /// Refuses whatever `encode` does not write. Memory is bounded by a fixed multiple of the input.
    pub fn decode(bytes: &[u8]) -> Result<HookMap, LoadError> {
        let bad = |(offset, reason)| LoadError::BadHookMap { offset: offset + MAGIC.len(), reason };
        let body = bytes.strip_prefix(MAGIC).ok_or(LoadError::BadHookMap {
            offset: 0,
            reason: "it does not start with LHOK and version 1; it was written by another version",
        })?;
        let mut input = Input::new(body);
        HookMap::read(&mut input).map_err(bad)
    }

    fn read(input: &mut Input<'_>) -> Result<HookMap, Bad> {
        let mut map = HookMap::default();
        let mut texts = Vec::new();
        for _ in 0..input.count()? {
            texts.push(input.text()?);
        }
        let text = |input: &mut Input<'_>| -> Result<String, Bad> {
            let number = input.number()?;
            let found = usize::try_from(number).ok().and_then(|number| texts.get(number));
            found.map(|text| (*text).to_owned()).ok_or_else(|| input.bad("a text that is not there"))
        };
        // A text that many lines name is there for each of them: their sum is bounded, too.
        let mut room = 64 * input.len();
        let mut spend = |input: &Input<'_>, bytes: usize| {
            room = room.checked_sub(bytes).ok_or_else(|| input.bad("too many long texts"))?;
            Ok(())
        };
        for _ in 0..input.count()? {
            let (function, file) = (text(input)?, text(input)?);
            spend(input, function.len() + file.len())?;
            let (line, column) = (input.small()?, input.small()?);
            map.lines.push(HookLine { function, file, line, column });
        }
        for _ in 0..input.count()? {
            let mut body = Body { length: input.number()?, rows: Vec::new() };
            let mut offset = 0;
            for _ in 0..input.count()? {
                offset = input.step(offset, "an offset overflows")?;
                let line = input.small()?;
                if line as usize >= map.lines.len() || offset >= body.length {
                    return Err(input.bad("a row outside of its body, or of a line that is not there"));
                }
                body.rows.push((offset, line));
            }
            map.bodies.push(body);
        }
        let mut address = 0;
        for _ in 0..input.count()? {
            address = input.step(address, "an address overflows")?;
            let body = input.small()?;
            if body as usize >= map.bodies.len() {
                return Err(input.bad("a placement of a body that is not there"));
            }
            map.placements.push((address, body));
        }
        let mut end = 0;
        for _ in 0..input.count()? {
            let vaddr = input.step(end, "the address of a variable overflows")?;
            let size = input.number()?;
            end = vaddr
                .checked_add(size)
                .filter(|&end| end <= i64::MAX as u64)
                .ok_or_else(|| input.bad("a variable overflows"))?;
            let symbol = text(input)?;
            spend(input, symbol.len())?;
            map.variables.push(HookVariable { symbol, vaddr, size });
        }
        if input.is_empty() { Ok(map) } else { Err(input.bad("bytes after the end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: u32) -> HookLine {
        HookLine { function: "count".into(), file: "tool.py".into(), line, column: 9 }
    }

    fn sample() -> HookMap {
        let mut map = HookMap::default();
        let body = map.add_body(24, [(4, line(3)), (12, line(5))]);
        let other = map.add_body(8, []);
        map.place([(0x2000, body), (0x1000, body), (0x3000, other)]);
        let variable = |symbol: &str, vaddr, size| HookVariable { symbol: symbol.into(), vaddr, size };
        map.add_variable(variable("tool.b", 0x5100, 12));
        map.add_variable(variable("tool.a", 0x5000, 8));
        map
    }

    #[test]
    fn an_instruction_has_the_line_of_the_last_row_before_it() {
        let map = sample();
        let of = |vaddr| map.line(vaddr).map(|l| l.line);
        let expected = [(0x1000, None), (0x1004, Some(3)), (0x1008, Some(3)), (0x1014, Some(5)), (0x1018, None)];
        expected.iter().for_each(|&(vaddr, line)| assert_eq!((vaddr, of(vaddr)), (vaddr, line)));
        assert_eq!((of(0x200c), of(0x3004), of(0xfff)), (Some(5), None, None));
    }

    #[test]
    fn what_lies_between_variables_is_a_gap() {
        assert!(sample().gaps().eq(std::iter::once(0x5008..0x5100)));
    }

    #[test]
    fn what_is_written_is_read_again_and_every_damage_is_refused_or_another_map() {
        let (map, bytes) = (sample(), sample().encode());
        assert_eq!(HookMap::decode(&bytes).unwrap(), map);
        for end in 0..bytes.len() {
            assert!(HookMap::decode(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() {
            for value in 0..=255 {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                if let Ok(other) = HookMap::decode(&damaged) {
                    other.line(0x1004);
                    assert_eq!(HookMap::decode(&other.encode()).unwrap(), other);
                }
            }
        }
    }
}
