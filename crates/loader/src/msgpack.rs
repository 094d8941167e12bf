//! Reading msgpack in place: tokens that borrow from the input, and values skipped without being built.
//!
//! The metadata note of a large library has a few hundred thousand values, and opening the library needs two strings of
//! each kernel. So nothing is allocated here; rmp says what a first byte means, and this says where a value ends.

use rmp::Marker;

/// Deeper nesting than any metadata has. What is deeper is refused, so code that walks checked values may recurse.
pub(crate) const MAX_DEPTH: usize = 32;

/// What is wrong, and how far into the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bad {
    pub at: usize,
    pub reason: &'static str,
}

/// The head of a value; scalars whole, the elements of an array or a map follow it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Token<'a> {
    Nil,
    Bool(bool),
    Uint(u64),
    /// Below zero.
    Int(i64),
    F32(f32),
    F64(f64),
    /// Not checked to be UTF-8.
    Str(&'a [u8]),
    Bin(&'a [u8]),
    Array(u32),
    /// The number of pairs.
    Map(u32),
    Ext(i8, &'a [u8]),
}

impl Token<'_> {
    pub fn type_name(&self) -> &'static str {
        match self {
            Token::Nil => "nil",
            Token::Bool(_) => "a boolean",
            Token::Uint(_) => "an integer",
            Token::Int(_) => "a negative integer",
            Token::F32(_) | Token::F64(_) => "a float",
            Token::Str(text) if std::str::from_utf8(text).is_err() => "a string that is not UTF-8",
            Token::Str(_) => "a string",
            Token::Bin(_) => "binary data",
            Token::Array(_) => "an array",
            Token::Map(_) => "a map",
            Token::Ext(..) => "an extension value",
        }
    }
}

/// A place in the input.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// All of the input up to here.
    pub fn before(&self) -> &'a [u8] {
        &self.bytes[..self.at]
    }

    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    #[inline]
    fn take(&mut self, size: usize) -> Result<&'a [u8], Bad> {
        let short = Bad { at: self.at, reason: "a value passes the end" };
        let end = self.at.checked_add(size).ok_or(short)?;
        let bytes = self.bytes.get(self.at..end).ok_or(short)?;
        self.at = end;
        Ok(bytes)
    }

    #[inline]
    fn number<const N: usize>(&mut self) -> Result<u64, Bad> {
        Ok(self.take(N)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn signed<const N: usize>(&mut self) -> Result<Token<'a>, Bad> {
        let shift = 64 - 8 * N as u32;
        let value = ((self.number::<N>()? << shift) as i64) >> shift;
        Ok(if value < 0 { Token::Int(value) } else { Token::Uint(value as u64) })
    }

    fn string<const N: usize>(&mut self) -> Result<Token<'a>, Bad> {
        let size = self.number::<N>()? as usize;
        Ok(Token::Str(self.take(size)?))
    }

    fn binary<const N: usize>(&mut self) -> Result<Token<'a>, Bad> {
        let size = self.number::<N>()? as usize;
        Ok(Token::Bin(self.take(size)?))
    }

    fn extension(&mut self, size: u64) -> Result<Token<'a>, Bad> {
        let kind = self.take(1)?[0] as i8;
        Ok(Token::Ext(kind, self.take(size as usize)?))
    }

    /// The next head.
    #[inline(always)]
    pub fn token(&mut self) -> Result<Token<'a>, Bad> {
        let at = self.at;
        Ok(match Marker::from_u8(self.take(1)?[0]) {
            Marker::FixPos(value) => Token::Uint(value.into()),
            Marker::FixNeg(value) => Token::Int(value.into()),
            Marker::FixStr(size) => Token::Str(self.take(size.into())?),
            Marker::FixMap(count) => Token::Map(count.into()),
            Marker::FixArray(count) => Token::Array(count.into()),
            Marker::Null => Token::Nil,
            Marker::False => Token::Bool(false),
            Marker::True => Token::Bool(true),
            Marker::U8 => Token::Uint(self.number::<1>()?),
            Marker::U16 => Token::Uint(self.number::<2>()?),
            Marker::U32 => Token::Uint(self.number::<4>()?),
            Marker::U64 => Token::Uint(self.number::<8>()?),
            Marker::I8 => self.signed::<1>()?,
            Marker::I16 => self.signed::<2>()?,
            Marker::I32 => self.signed::<4>()?,
            Marker::I64 => self.signed::<8>()?,
            Marker::F32 => Token::F32(f32::from_bits(self.number::<4>()? as u32)),
            Marker::F64 => Token::F64(f64::from_bits(self.number::<8>()?)),
            Marker::Str8 => self.string::<1>()?,
            Marker::Str16 => self.string::<2>()?,
            Marker::Str32 => self.string::<4>()?,
            Marker::Bin8 => self.binary::<1>()?,
            Marker::Bin16 => self.binary::<2>()?,
            Marker::Bin32 => self.binary::<4>()?,
            Marker::Array16 => Token::Array(self.number::<2>()? as u32),
            Marker::Array32 => Token::Array(self.number::<4>()? as u32),
            Marker::Map16 => Token::Map(self.number::<2>()? as u32),
            Marker::Map32 => Token::Map(self.number::<4>()? as u32),
            Marker::FixExt1 => self.extension(1)?,
            Marker::FixExt2 => self.extension(2)?,
            Marker::FixExt4 => self.extension(4)?,
            Marker::FixExt8 => self.extension(8)?,
            Marker::FixExt16 => self.extension(16)?,
            Marker::Ext8 => {
                let size = self.number::<1>()?;
                self.extension(size)?
            }
            Marker::Ext16 => {
                let size = self.number::<2>()?;
                self.extension(size)?
            }
            Marker::Ext32 => {
                let size = self.number::<4>()?;
                self.extension(size)?
            }
            Marker::Reserved => return Err(Bad { at, reason: "the byte c1, which msgpack never uses" }),
        })
    }

    /// The next value whole: its head, and all of its bytes.
    #[inline]
    pub fn value(&mut self) -> Result<(Token<'a>, &'a [u8]), Bad> {
        let start = self.at;
        let head = self.token()?;
        let count = match head {
            Token::Array(count) => u64::from(count),
            Token::Map(count) => 2 * u64::from(count),
            _ => 0,
        };
        if count != 0 {
            self.skip(count)?;
        }
        Ok((head, &self.bytes[start..self.at]))
    }

    /// Passes over `count` values, which are the elements of a value.
    fn skip(&mut self, count: u64) -> Result<(), Bad> {
        // How many values are left at each level.
        let mut left = [0u64; MAX_DEPTH];
        let mut depth = 0;
        left[0] = count;
        loop {
            while left[depth] == 0 {
                if depth == 0 {
                    return Ok(());
                }
                depth -= 1;
            }
            left[depth] -= 1;
            let at = self.at;
            let count = match self.token()? {
                Token::Array(count) => u64::from(count),
                Token::Map(count) => 2 * u64::from(count),
                _ => continue,
            };
            depth += 1;
            *left.get_mut(depth).ok_or(Bad { at, reason: "values are nested too deeply" })? = count;
        }
    }

    /// The pairs of a map whose head was read.
    pub fn pair(&mut self) -> Result<Pair<'a>, Bad> {
        let start = self.at;
        let (key, encoded_key) = self.value()?;
        let key = match key {
            Token::Str(name) => Some(name),
            _ => None,
        };
        let value_at = self.at;
        let (head, value) = self.value()?;
        Ok(Pair { key, encoded_key, head, value, value_at, whole: &self.bytes[start..self.at] })
    }
}

/// One key of a map with its value.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    /// `None` when it is not a string.
    pub key: Option<&'a [u8]>,
    pub encoded_key: &'a [u8],
    /// The head of the value.
    pub head: Token<'a>,
    pub value: &'a [u8],
    /// Where the value starts in the reader's input.
    pub value_at: usize,
    /// Key and value.
    pub whole: &'a [u8],
}

impl Pair<'_> {
    /// Where the value lies in the reader's input.
    pub fn value_range(&self) -> std::ops::Range<usize> {
        self.value_at..self.value_at + self.value.len()
    }
}

/// For showing. Byte strings become arrays of numbers.
pub(crate) fn to_json(reader: &mut Reader<'_>, depth: usize) -> serde_json::Value {
    use serde_json::Value as Json;
    if depth > MAX_DEPTH {
        return Json::Null;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match reader.token().unwrap_or(Token::Nil) {
        Token::Nil => Json::Null,
        Token::Bool(value) => value.into(),
        Token::Uint(value) => value.into(),
        Token::Int(value) => value.into(),
        Token::F32(value) => value.into(),
        Token::F64(value) => value.into(),
        Token::Str(value) => text(value).into(),
        Token::Bin(value) => value.into(),
        Token::Ext(kind, bytes) => serde_json::json!({ "ext": kind, "bytes": bytes }),
        Token::Array(count) => {
            let mut all = Vec::new();
            for _ in 0..count {
                if reader.rest().is_empty() {
                    break;
                }
                all.push(to_json(reader, depth + 1));
            }
            Json::Array(all)
        }
        Token::Map(count) => {
            let mut all = serde_json::Map::new();
            for _ in 0..count {
                if reader.rest().is_empty() {
                    break;
                }
                let name = match to_json(reader, depth + 1) {
                    Json::String(name) => name,
                    other => other.to_string(),
                };
                all.insert(name, to_json(reader, depth + 1));
            }
            Json::Object(all)
        }
    }
}
