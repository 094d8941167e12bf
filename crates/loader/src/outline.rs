//! Checking the metadata note of AMDHSA without building anything of it: every known key has a value of its type, and
//! where the kernels' parts are.

use std::ops::Range;

use crate::LoadError;
use crate::arguments::ArgMetadata;
use crate::bytes::Bytes;
use crate::fields::{KernelFields, MetadataFields};
use crate::msgpack::{Bad, Reader, Token};
use crate::record::{Field, Raw};

/// Where the parts of a good note are. Ranges are from the start of the description.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    /// Of the msgpack value; zeros may follow.
    pub size: usize,
    pub target: Option<String>,
    pub kernels: Vec<KernelOutline>,
}

impl Outline {
    /// What the note says besides kernels. `start` is where its description starts in the file.
    pub fn fields(&self, file: &Bytes, start: usize) -> MetadataFields {
        let raw = Raw::new(file, start..start + self.size);
        MetadataFields::from_reader(&mut Reader::new(raw.bytes()), &raw)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct KernelOutline {
    pub map: Range<usize>,
    /// The text of the strings, which is UTF-8.
    pub name: Range<usize>,
    pub symbol: Range<usize>,
}

/// Checks the whole note and builds none of it. `offset` is where the bytes lie in the file, for messages.
pub(crate) fn outline(bytes: &[u8], offset: u64) -> Result<Outline, LoadError> {
    let check = Check { offset };
    let mut reader = Reader::new(bytes);
    let count = match check.bad(reader.token())? {
        Token::Map(count) => count,
        other => return Err(check.misfit(0, String::new(), "a map", other)),
    };
    let mut outline = Outline { size: 0, target: None, kernels: Vec::new() };
    let mut seen_kernels = false;
    for _ in 0..count {
        let key = check.key(&mut reader)?;
        if key == Some(b"amdhsa.kernels") {
            let kernels = check.array(&mut reader, || "amdhsa.kernels".to_owned())?;
            for index in 0..kernels {
                let kernel = check.kernel(&mut reader, index as usize)?;
                if !seen_kernels {
                    outline.kernels.push(kernel);
                }
            }
            seen_kernels = true;
            continue;
        }
        let at = reader.at();
        let (head, value) = check.bad(reader.value())?;
        if let Some(expected) = key.and_then(|key| MetadataFields::misfit(key, head, value)) {
            return Err(check.misfit(at, text(key), expected, head));
        }
        if key == Some(b"amdhsa.target") && outline.target.is_none() {
            outline.target = String::decode(head, value);
        }
    }
    outline.size = reader.at();
    if reader.rest().iter().any(|&byte| byte != 0) {
        let reason = format!("{} bytes after the end of the msgpack value", reader.rest().len());
        return Err(LoadError::BadMetadata { offset: offset + reader.at() as u64, reason });
    }
    Ok(outline)
}

fn text(key: Option<&[u8]>) -> String {
    String::from_utf8_lossy(key.unwrap_or_default()).into_owned()
}

struct Check {
    offset: u64,
}

impl Check {
    fn bad<T>(&self, result: Result<T, Bad>) -> Result<T, LoadError> {
        result.map_err(|bad| LoadError::BadMetadata {
            offset: self.offset + bad.at as u64,
            reason: format!("not msgpack: {}", bad.reason),
        })
    }

    fn misfit(&self, at: usize, path: String, expected: &'static str, found: Token) -> LoadError {
        let (offset, found) = (self.offset + at as u64, found.type_name());
        LoadError::MetadataType { offset, path, expected, found }
    }

    fn key<'a>(&self, reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, LoadError> {
        let before = *reader;
        if let Token::Str(key) = self.bad(reader.token())? {
            return Ok(Some(key));
        }
        *reader = before;
        self.bad(reader.value())?;
        Ok(None)
    }

    fn array(&self, reader: &mut Reader, path: impl Fn() -> String) -> Result<u32, LoadError> {
        let at = reader.at();
        match self.bad(reader.token())? {
            Token::Array(count) => Ok(count),
            other => Err(self.misfit(at, path(), "an array", other)),
        }
    }

    fn map(&self, reader: &mut Reader, path: impl Fn() -> String) -> Result<u32, LoadError> {
        let at = reader.at();
        match self.bad(reader.token())? {
            Token::Map(count) => Ok(count),
            other => Err(self.misfit(at, path(), "a map", other)),
        }
    }

    fn kernel(&self, reader: &mut Reader, index: usize) -> Result<KernelOutline, LoadError> {
        // Keys begin with a dot, so that a path and a key make a path.
        let path = || format!("amdhsa.kernels[{index}]");
        let start = reader.at();
        let (mut name, mut symbol) = (None, None);
        for _ in 0..self.map(reader, path)? {
            let key = self.key(reader)?;
            if key == Some(b".args") {
                for number in 0..self.array(reader, || format!("{}.args", path()))? {
                    let path = || format!("{}.args[{number}]", path());
                    for _ in 0..self.map(reader, path)? {
                        let key = self.key(reader)?;
                        self.value(reader, key, ArgMetadata::misfit, path)?;
                    }
                }
                continue;
            }
            let slot = match key {
                Some(b".name") => &mut name,
                Some(b".symbol") => &mut symbol,
                _ => {
                    self.value(reader, key, KernelFields::misfit, path)?;
                    continue;
                }
            };
            let is_string =
                |_: &[u8], head: Token, value: &[u8]| (!String::fits(head, value)).then_some(String::EXPECTED);
            // The text ends with the value.
            let range = self.value(reader, key, is_string, path)?;
            if slot.is_none()
                && let Token::Str(text) = self.bad(Reader::new(&reader.before()[range.clone()]).token())?
            {
                *slot = Some(range.end - text.len()..range.end);
            }
        }
        let missing = |key: &str| LoadError::MetadataType {
            offset: self.offset + start as u64,
            path: format!("{}{key}", path()),
            expected: "a string",
            found: "nothing",
        };
        Ok(KernelOutline {
            map: start..reader.at(),
            name: name.ok_or_else(|| missing(".name"))?,
            symbol: symbol.ok_or_else(|| missing(".symbol"))?,
        })
    }

    /// The value of a key, which fits the key's field if it has one. Gives the value's range.
    fn value(
        &self,
        reader: &mut Reader,
        key: Option<&[u8]>,
        misfit: impl Fn(&[u8], Token, &[u8]) -> Option<&'static str>,
        path: impl Fn() -> String,
    ) -> Result<Range<usize>, LoadError> {
        let at = reader.at();
        let (head, value) = self.bad(reader.value())?;
        if let Some(expected) = key.and_then(|key| misfit(key, head, value)) {
            return Err(self.misfit(at, format!("{}{}", path(), text(key)), expected, head));
        }
        Ok(at..reader.at())
    }
}
