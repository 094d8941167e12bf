//! Structs over msgpack maps that lose nothing.
//!
//! A record has typed fields and the bytes that they were read from. Written back, a field that still says what the
//! bytes say gives those bytes, whatever encoding the writer chose; unknown keys, duplicate keys and the order stay.

use std::borrow::Cow;
use std::ops::Range;

use crate::bytes::Bytes;
use crate::msgpack::{Pair, Reader, Token};

/// An encoded map: a range of a file, or nothing for a record made from scratch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raw {
    source: Bytes,
    range: Range<usize>,
}

impl PartialEq for Raw {
    fn eq(&self, other: &Raw) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Raw {
    /// `range` of the file must hold one value that [`Reader::value`] has accepted.
    pub fn new(source: &Bytes, range: Range<usize>) -> Raw {
        Raw { source: source.clone(), range }
    }

    pub fn bytes(&self) -> &[u8] {
        self.source.get(self.range.clone()).unwrap_or_default()
    }

    pub fn head(&self) -> Token<'_> {
        Reader::new(self.bytes()).token().unwrap_or(Token::Nil)
    }

    /// Where it lies in its source.
    pub fn start(&self) -> usize {
        self.range.start
    }

    /// A value inside of this one.
    pub fn inner(&self, range: Range<usize>) -> Raw {
        let start = self.range.start;
        Raw { source: self.source.clone(), range: start + range.start..start + range.end }
    }

    /// The pairs in their order; none when it is no map.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        let mut reader = Reader::new(self.bytes());
        let count = match reader.token() {
            Ok(Token::Map(count)) => count,
            _ => 0,
        };
        (0..count).map_while(move |_| reader.pair().ok())
    }

    /// The elements of the array `value` at `offset` in this one.
    pub fn elements(&self, value: &[u8], offset: usize) -> Vec<Raw> {
        let mut reader = Reader::new(value);
        let Ok(Token::Array(count)) = reader.token() else { return Vec::new() };
        let mut all = Vec::new();
        for _ in 0..count {
            let at = reader.at();
            let Ok((_, element)) = reader.value() else { break };
            all.push(self.inner(offset + at..offset + at + element.len()));
        }
        all
    }

    /// The bytes before the first pair, if the map has `count` pairs.
    fn head_for(&self, count: usize) -> Option<&[u8]> {
        let mut reader = Reader::new(self.bytes());
        match reader.token() {
            Ok(Token::Map(pairs)) if pairs as usize == count => self.bytes().get(..reader.at()),
            _ => None,
        }
    }
}

/// What a typed field can hold.
pub(crate) trait Field: Sized + PartialEq {
    const EXPECTED: &'static str;
    /// Whether a value with this head and these bytes is one, found out without building it.
    fn fits(head: Token, value: &[u8]) -> bool;
    fn decode(head: Token, value: &[u8]) -> Option<Self>;
    fn encode(&self, out: &mut Vec<u8>);
}

impl Field for u64 {
    const EXPECTED: &'static str = "an unsigned integer";
    fn fits(head: Token, _: &[u8]) -> bool {
        matches!(head, Token::Uint(_))
    }
    fn decode(head: Token, _: &[u8]) -> Option<u64> {
        match head {
            Token::Uint(value) => Some(value),
            _ => None,
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        // Writing into a vector cannot fail.
        let _ = rmp::encode::write_uint(out, *self);
    }
}

impl Field for bool {
    const EXPECTED: &'static str = "a boolean";
    fn fits(head: Token, _: &[u8]) -> bool {
        // Some producers write 0 and 1.
        matches!(head, Token::Bool(_) | Token::Uint(0 | 1))
    }
    fn decode(head: Token, _: &[u8]) -> Option<bool> {
        match head {
            Token::Bool(value) => Some(value),
            Token::Uint(value @ (0 | 1)) => Some(value == 1),
            _ => None,
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let _ = rmp::encode::write_bool(out, *self);
    }
}

impl Field for String {
    const EXPECTED: &'static str = "a string";
    fn fits(head: Token, _: &[u8]) -> bool {
        matches!(head, Token::Str(text) if std::str::from_utf8(text).is_ok())
    }
    fn decode(head: Token, _: &[u8]) -> Option<String> {
        match head {
            Token::Str(text) => std::str::from_utf8(text).ok().map(str::to_owned),
            _ => None,
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let _ = rmp::encode::write_str(out, self);
    }
}

impl<T: Field> Field for Vec<T> {
    const EXPECTED: &'static str = "an array";
    fn fits(head: Token, value: &[u8]) -> bool {
        let Token::Array(count) = head else { return false };
        let mut reader = Reader::new(value);
        reader.token().is_ok() && (0..count).all(|_| reader.value().is_ok_and(|(head, value)| T::fits(head, value)))
    }
    fn decode(head: Token, value: &[u8]) -> Option<Vec<T>> {
        let Token::Array(count) = head else { return None };
        let mut reader = Reader::new(value);
        reader.token().ok()?;
        let mut all = Vec::new();
        for _ in 0..count {
            let (head, value) = reader.value().ok()?;
            all.push(T::decode(head, value)?);
        }
        Some(all)
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let _ = rmp::encode::write_array_len(out, self.len() as u32);
        self.iter().for_each(|element| element.encode(out));
    }
}

fn encoded<T: Field>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

/// A map being written: the pairs of the old one, with some values replaced.
pub(crate) struct MapWriter<'a> {
    raw: &'a Raw,
    old: Vec<Pair<'a>>,
    pairs: Vec<NewPair<'a>>,
}

/// Key and value as they will be written, and the key's name.
type NewPair<'a> = (Cow<'a, [u8]>, Option<&'a [u8]>);

impl<'a> MapWriter<'a> {
    pub fn new(raw: &'a Raw) -> MapWriter<'a> {
        let old: Vec<Pair> = raw.pairs().collect();
        let pairs = old.iter().map(|pair| (Cow::Borrowed(pair.whole), pair.key)).collect();
        MapWriter { raw, old, pairs }
    }

    fn old(&self, key: &str) -> Option<Pair<'a>> {
        self.old.iter().find(|pair| pair.key == Some(key.as_bytes())).copied()
    }

    /// Sets a typed field, or takes the key away. A value that the old bytes say already stays as it is.
    pub fn field<T: Field>(&mut self, key: &'a str, value: Option<&T>) {
        let old = self.old(key);
        if old.is_none() && value.is_none() {
            return;
        }
        if value.is_some() && old.and_then(|pair| T::decode(pair.head, pair.value)).as_ref() == value {
            return;
        }
        self.set(key, value.map(encoded));
    }

    /// Sets an array of encoded values; an empty one only where there was an array.
    pub fn array(&mut self, key: &'a str, elements: &[Vec<u8>]) {
        let old = self.old(key);
        if old.is_none() && elements.is_empty() {
            return;
        }
        let mut bytes = Vec::new();
        let mut reader = Reader::new(old.map_or(&[], |pair| pair.value));
        match (old, reader.token()) {
            (Some(pair), Ok(Token::Array(count))) if count as usize == elements.len() => {
                bytes.extend(&pair.value[..reader.at()]);
            }
            _ => drop(rmp::encode::write_array_len(&mut bytes, elements.len() as u32)),
        }
        elements.iter().for_each(|element| bytes.extend(element));
        if old.is_none_or(|pair| pair.value != bytes) {
            self.set(key, Some(bytes));
        }
    }

    /// Takes a pair of another map over, unless there is one with this key, or, without a key, the same.
    pub fn adopt(&mut self, pair: Pair<'a>) {
        let there = |(whole, key): &NewPair| if key.is_some() { *key == pair.key } else { **whole == *pair.whole };
        if !self.pairs.iter().any(there) {
            self.pairs.push((Cow::Borrowed(pair.whole), pair.key));
        }
    }

    /// Replaces a value in its place, or adds it where LLVM's order of keys would have it.
    fn set(&mut self, key: &'a str, value: Option<Vec<u8>>) {
        let place = self.pairs.iter().position(|(_, name)| *name == Some(key.as_bytes()));
        match (place, value) {
            (Some(place), Some(value)) => {
                let old = self.old(key).map_or(&[][..], |pair| pair.encoded_key);
                self.pairs[place].0 = [old, &value].concat().into();
            }
            // Of a key that is there twice neither may stay.
            (Some(_), None) => self.pairs.retain(|(_, name)| *name != Some(key.as_bytes())),
            (None, Some(value)) => {
                let later = |name: &Option<&[u8]>| name.is_some_and(|name| name > key.as_bytes());
                let place = self.pairs.iter().position(|(_, name)| later(name)).unwrap_or(self.pairs.len());
                let pair = [encoded(&key.to_owned()), value].concat();
                self.pairs.insert(place, (pair.into(), Some(key.as_bytes())));
            }
            (None, None) => {}
        }
    }

    pub fn finish(self) -> Vec<u8> {
        let mut out = match self.raw.head_for(self.pairs.len()) {
            Some(head) => head.to_vec(),
            None => {
                let mut head = Vec::new();
                let _ = rmp::encode::write_map_len(&mut head, self.pairs.len() as u32);
                head
            }
        };
        self.pairs.iter().for_each(|(pair, _)| out.extend_from_slice(pair));
        out
    }
}

/// A struct over a msgpack map: each field has a key; the bytes of the map stay beside them.
macro_rules! record {
    (
        $(#[$struct_doc:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $ty:ty = $key:literal,)* }
    ) => {
        $(#[$struct_doc])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $name {
            $($(#[$doc])* pub $field: Option<$ty>,)*
            pub(crate) raw: $crate::record::Raw,
        }

        impl $name {
            /// What the key's value should be and is not. `None` when it is, and for keys without a field.
            #[inline]
            pub(crate) fn misfit(key: &[u8], head: $crate::msgpack::Token, value: &[u8]) -> Option<&'static str> {
                $(if key == $key.as_bytes() {
                    return (!<$ty as $crate::record::Field>::fits(head, value))
                        .then_some(<$ty as $crate::record::Field>::EXPECTED);
                })*
                None
            }

            /// Takes the value of a key that has a field. Of a key that is there twice the first counts.
            #[inline]
            pub(crate) fn absorb(&mut self, pair: &$crate::msgpack::Pair) {
                let Some(key) = pair.key else { return };
                $(if key == $key.as_bytes() {
                    if self.$field.is_none() {
                        self.$field = $crate::record::Field::decode(pair.head, pair.value);
                    }
                    return;
                })*
            }

            /// From the reader's next value, a map whose pairs fit. `raw` is what the reader reads.
            #[allow(dead_code, reason = "not every record stands alone")]
            pub(crate) fn from_reader(reader: &mut $crate::msgpack::Reader, raw: &$crate::record::Raw) -> $name {
                let mut record = $name::default();
                let start = reader.at();
                if let Ok($crate::msgpack::Token::Map(count)) = reader.token() {
                    for pair in (0..count).map_while(|_| reader.pair().ok()) {
                        record.absorb(&pair);
                    }
                }
                record.raw = raw.inner(start..reader.at());
                record
            }

            #[allow(dead_code, reason = "some records are only read")]
            pub(crate) fn write<'a>(&'a self, writer: &mut $crate::record::MapWriter<'a>) {
                $(writer.field($key, self.$field.as_ref());)*
            }

            /// The keys that have a field here.
            pub const KEYS: &'static [&'static str] = &[$($key),*];
        }
    };
}
pub(crate) use record;
