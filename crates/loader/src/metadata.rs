//! The NT_AMDGPU_METADATA note: typed, editable, and written back with nothing lost.
//!
//! Change the public fields, then [`Metadata::encode`]: what was not changed keeps its bytes, so that metadata which
//! were not changed at all come back byte for byte. Key names and meanings: LLVM AMDGPU usage page, "Code Object
//! Metadata".
//!
//! Opening a code object only checks the note ([`outline`](crate::outline)): every known key has a value of its type. The
//! structs are built when a caller asks for them.

use std::ops::Range;

use hashbrown::HashSet;
use rmpv::Value;

use crate::LoadError;
use crate::arguments::{ArgMetadata, Arguments};
use crate::bytes::Bytes;
use crate::fields::{KernelFields, MetadataFields, value};
use crate::msgpack::{self, Pair, Reader, Token};
use crate::outline::{Outline, outline};
use crate::record::{Field, MapWriter, Raw};

/// One kernel. Its simple values are reached directly: `kernel.vgpr_count`.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelMetadata {
    pub name: String,
    /// Of the descriptor, as a rule `NAME.kd`.
    pub symbol: String,
    pub args: Arguments,
    pub fields: KernelFields,
}

impl std::ops::Deref for KernelMetadata {
    type Target = KernelFields;
    fn deref(&self) -> &KernelFields {
        &self.fields
    }
}

impl std::ops::DerefMut for KernelMetadata {
    fn deref_mut(&mut self) -> &mut KernelFields {
        &mut self.fields
    }
}

impl KernelMetadata {
    /// From a map that [`outline`] has found good.
    pub(crate) fn from_raw(raw: Raw) -> KernelMetadata {
        let (mut name, mut symbol, mut args) = (None, None, None);
        let mut fields = KernelFields::default();
        for pair in raw.pairs() {
            match (pair.key, pair.head) {
                (Some(b".name"), _) if name.is_none() => name = String::decode(pair.head, pair.value),
                (Some(b".symbol"), _) if symbol.is_none() => symbol = String::decode(pair.head, pair.value),
                (Some(b".args"), Token::Array(_)) if args.is_none() => args = Some(raw.inner(pair.value_range())),
                _ => fields.absorb(&pair),
            }
        }
        fields.raw = raw;
        KernelMetadata {
            name: name.unwrap_or_default(),
            symbol: symbol.unwrap_or_default(),
            args: args.map(Arguments::from_raw).unwrap_or_default(),
            fields,
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = MapWriter::new(&self.fields.raw);
        self.fields.write(&mut writer);
        writer.field(".name", Some(&self.name));
        writer.field(".symbol", Some(&self.symbol));
        // What was not built was not changed.
        if let Some(args) = self.args.built() {
            let args: Vec<Vec<u8>> = args.iter().map(ArgMetadata::encode).collect();
            writer.array(".args", &args);
        }
        writer.finish()
    }

    /// The explicit arguments, in the order of the launch.
    pub fn explicit_args(&self) -> impl Iterator<Item = &ArgMetadata> {
        self.args.iter().filter(|arg| !arg.is_hidden())
    }

    /// Every key that has no field here, in the order of the note.
    pub fn others(&self) -> impl Iterator<Item = (String, Value)> {
        let known = |key: &str| KernelFields::KEYS.contains(&key) || matches!(key, ".name" | ".symbol" | ".args");
        self.fields.raw.pairs().filter_map(move |pair| {
            let key = std::str::from_utf8(pair.key?).ok().filter(|key| !known(key))?;
            Some((key.to_owned(), value(pair.value)))
        })
    }
}

/// The whole note, or several that make one. Its simple values are reached directly: `metadata.target`.
#[derive(Clone, PartialEq, Debug)]
pub struct Metadata {
    pub kernels: Vec<KernelMetadata>,
    pub fields: MetadataFields,
    /// The maps of further notes: what they say beyond the fields and kernels, which are joined with the first one's.
    further: Vec<Raw>,
    /// Zeros after the msgpack value, which some writers leave.
    tail: usize,
}

impl std::ops::Deref for Metadata {
    type Target = MetadataFields;
    fn deref(&self) -> &MetadataFields {
        &self.fields
    }
}

impl std::ops::DerefMut for Metadata {
    fn deref_mut(&mut self) -> &mut MetadataFields {
        &mut self.fields
    }
}

impl Metadata {
    /// From a note's description.
    pub fn decode(bytes: &[u8]) -> Result<Metadata, LoadError> {
        let bytes = Bytes::from(bytes);
        let outline = outline(&bytes, 0)?;
        Ok(Metadata::from_outline(&bytes, 0..bytes.len(), &outline))
    }

    /// `description` is where the note's description lies in the file.
    pub(crate) fn from_outline(file: &Bytes, description: Range<usize>, outline: &Outline) -> Metadata {
        let start = description.start;
        let kernels = outline
            .kernels
            .iter()
            .map(|kernel| KernelMetadata::from_raw(Raw::new(file, start + kernel.map.start..start + kernel.map.end)));
        Metadata {
            kernels: kernels.collect(),
            fields: outline.fields(file, start),
            further: Vec::new(),
            tail: description.len() - outline.size,
        }
    }

    /// Takes in another note of the same file, which does not contradict this one.
    pub(crate) fn join(&mut self, other: Metadata) {
        let MetadataFields { version, target, printf, raw } = other.fields;
        self.kernels.extend(other.kernels);
        self.fields.version = self.fields.version.take().or(version);
        self.fields.target = self.fields.target.take().or(target);
        for format in printf.into_iter().flatten() {
            let formats = self.fields.printf.get_or_insert_default();
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
        self.further.push(raw);
    }

    /// The note's description. Padding of the note record is up to the writer of the note.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = MapWriter::new(&self.fields.raw);
        self.fields.write(&mut writer);
        let kernels: Vec<Vec<u8>> = self.kernels.iter().map(KernelMetadata::encode).collect();
        writer.array("amdhsa.kernels", &kernels);
        let unknown = |pair: &Pair| pair.key.is_none_or(|key| !is_known(key));
        for raw in &self.further {
            raw.pairs().filter(unknown).for_each(|pair| writer.adopt(pair));
        }
        let mut out = writer.finish();
        if out == self.fields.raw.bytes() {
            out.resize(out.len() + self.tail, 0);
        }
        out
    }

    pub fn kernel(&self, name: &str) -> Option<&KernelMetadata> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    pub fn kernel_mut(&mut self, name: &str) -> Option<&mut KernelMetadata> {
        self.kernels.iter_mut().find(|kernel| kernel.name == name)
    }

    /// Every key that has no field here, in the order of the note: of an AMDPAL object, `amdpal.pipelines`.
    pub fn others(&self) -> impl Iterator<Item = (String, Value)> {
        let mut seen = HashSet::new();
        std::iter::once(&self.fields.raw).chain(&self.further).flat_map(Raw::pairs).filter_map(move |pair| {
            let key = pair.key.filter(|key| !is_known(key) && seen.insert(*key))?;
            Some((std::str::from_utf8(key).ok()?.to_owned(), value(pair.value)))
        })
    }

    /// Everything, unknown keys included, for showing. Byte strings become arrays of numbers.
    pub fn to_json(&self) -> serde_json::Value {
        msgpack::to_json(&mut Reader::new(&self.encode()), 0)
    }
}

/// Whether a key of the whole note has a field.
fn is_known(key: &[u8]) -> bool {
    key == b"amdhsa.kernels" || MetadataFields::KEYS.iter().any(|known| known.as_bytes() == key)
}
