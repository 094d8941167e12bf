//! The metadata of AMDPAL objects: pipelines, their hardware stages and register values.
//!
//! Key names from the LLVM AMDGPU usage page, "Code Object Metadata" of AMDPAL. Read only; everything that has no field
//! here is still in [`crate::Metadata::to_json`].

use crate::bytes::Bytes;
use crate::msgpack::{self, Reader, Token};
use crate::record::{Field, Raw, record};
use crate::{LoadError, outline};

record! {
    /// What one hardware stage of a pipeline runs: the code of the symbol [`entry_point_symbol`] or [`entry_point`].
    ///
    /// [`entry_point_symbol`]: PalHardwareStage::entry_point_symbol
    /// [`entry_point`]: PalHardwareStage::entry_point
    pub struct PalHardwareStage {
        /// The name of the interface: `_amdgpu_cs_main`.
        entry_point: String = ".entry_point",
        /// The name in the symbol table.
        entry_point_symbol: String = ".entry_point_symbol",
        /// In bytes, as are the sizes below.
        scratch_memory_size: u64 = ".scratch_memory_size",
        lds_size: u64 = ".lds_size",
        perf_data_buffer_size: u64 = ".perf_data_buffer_size",
        vgpr_count: u64 = ".vgpr_count",
        agpr_count: u64 = ".agpr_count",
        sgpr_count: u64 = ".sgpr_count",
        vgpr_limit: u64 = ".vgpr_limit",
        sgpr_limit: u64 = ".sgpr_limit",
        threadgroup_dimensions: Vec<u64> = ".threadgroup_dimensions",
        wavefront_size: u64 = ".wavefront_size",
        uses_uavs: bool = ".uses_uavs",
        uses_rovs: bool = ".uses_rovs",
        writes_uavs: bool = ".writes_uavs",
        writes_depth: bool = ".writes_depth",
        uses_append_consume: bool = ".uses_append_consume",
        uses_prim_id: bool = ".uses_prim_id",
    }
}

record! {
    /// The fields of a pipeline that are simple values.
    pub struct PalPipelineFields {
        name: String = ".name",
        /// `VsPs`, `Cs`, ...
        kind: String = ".type",
        api: String = ".api",
        internal_pipeline_hash: Vec<u64> = ".internal_pipeline_hash",
        user_data_limit: u64 = ".user_data_limit",
        spill_threshold: u64 = ".spill_threshold",
        uses_viewport_array_index: bool = ".uses_viewport_array_index",
    }
}

/// One pipeline.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PalPipeline {
    pub fields: PalPipelineFields,
    /// By name: `.cs`, `.ps`, `.vs`, `.gs`, `.es`, `.hs`, `.ls`.
    pub hardware_stages: Vec<(String, PalHardwareStage)>,
    /// Register numbers and their values.
    pub registers: Vec<(u64, u64)>,
}

/// The note of an AMDPAL object.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PalMetadata {
    /// `amdpal.version`: major, minor.
    pub version: Option<Vec<u64>>,
    pub pipelines: Vec<PalPipeline>,
}

impl PalMetadata {
    /// From the note's description.
    pub fn decode(bytes: &[u8]) -> Result<PalMetadata, LoadError> {
        PalMetadata::decode_at(bytes, 0)
    }

    /// `offset` is where the bytes lie in the file, for messages.
    pub(crate) fn decode_at(bytes: &[u8], offset: u64) -> Result<PalMetadata, LoadError> {
        let size = outline::outline(bytes, offset)?.size;
        let reader = Place { offset };
        let source = Bytes::from(bytes);
        let raw = Raw::new(&source, 0..size);
        let mut pal = PalMetadata::default();
        for pair in raw.pairs() {
            match pair.key {
                Some(b"amdpal.version") => {
                    pal.version = Some(reader.field(pair.head, pair.value, pair.value_at, "amdpal.version")?);
                }
                Some(b"amdpal.pipelines") => {
                    reader.expect(pair.head, pair.value_at, "amdpal.pipelines", "an array")?;
                    for (index, element) in raw.elements(pair.value, pair.value_at).into_iter().enumerate() {
                        pal.pipelines.push(reader.pipeline(element, &format!("amdpal.pipelines[{index}]"))?);
                    }
                }
                _ => {}
            }
        }
        Ok(pal)
    }
}

struct Place {
    offset: u64,
}

impl Place {
    fn wrong(&self, at: usize, path: &str, expected: &'static str, found: Token) -> LoadError {
        let (offset, found) = (self.offset + at as u64, found.type_name());
        LoadError::MetadataType { offset, path: path.to_owned(), expected, found }
    }

    fn field<T: Field>(&self, head: Token, value: &[u8], at: usize, path: &str) -> Result<T, LoadError> {
        T::decode(head, value).ok_or_else(|| self.wrong(at, path, T::EXPECTED, head))
    }

    /// That the value is an array or a map.
    fn expect(&self, head: Token, at: usize, path: &str, expected: &'static str) -> Result<(), LoadError> {
        match head {
            Token::Array(_) if expected == "an array" => Ok(()),
            Token::Map(_) if expected == "a map" => Ok(()),
            other => Err(self.wrong(at, path, expected, other)),
        }
    }

    /// That the values of a record's keys fit its fields.
    fn record(
        &self,
        raw: &Raw,
        path: &str,
        misfit: impl Fn(&[u8], Token, &[u8]) -> Option<&'static str>,
    ) -> Result<(), LoadError> {
        self.expect(raw.head(), raw.start(), path, "a map")?;
        for pair in raw.pairs() {
            let Some(key) = pair.key else { continue };
            if let Some(expected) = misfit(key, pair.head, pair.value) {
                let path = format!("{path}{}", String::from_utf8_lossy(key));
                return Err(self.wrong(raw.start() + pair.value_at, &path, expected, pair.head));
            }
        }
        Ok(())
    }

    fn pipeline(&self, raw: Raw, path: &str) -> Result<PalPipeline, LoadError> {
        self.record(&raw, path, PalPipelineFields::misfit)?;
        let mut pipeline = PalPipeline::default();
        for pair in raw.pairs() {
            let at = raw.start() + pair.value_at;
            match pair.key {
                Some(b".hardware_stages") => {
                    let path = format!("{path}.hardware_stages");
                    self.expect(pair.head, at, &path, "a map")?;
                    let stages = raw.inner(pair.value_range());
                    for stage in stages.pairs() {
                        let Some(name) = stage.key.and_then(|key| std::str::from_utf8(key).ok()) else { continue };
                        let record = stages.inner(stage.value_range());
                        self.record(&record, &format!("{path}{name}"), PalHardwareStage::misfit)?;
                        pipeline.hardware_stages.push((
                            name.to_owned(),
                            PalHardwareStage::from_reader(&mut Reader::new(record.bytes()), &record),
                        ));
                    }
                }
                Some(b".registers") => {
                    let path = format!("{path}.registers");
                    self.expect(pair.head, at, &path, "a map")?;
                    for register in raw.inner(pair.value_range()).pairs() {
                        let key = Reader::new(register.encoded_key).token().unwrap_or(Token::Nil);
                        let number = self.field(key, register.encoded_key, at, &path)?;
                        pipeline.registers.push((number, self.field(register.head, register.value, at, &path)?));
                    }
                }
                _ => {}
            }
        }
        pipeline.fields = PalPipelineFields::from_reader(&mut Reader::new(raw.bytes()), &raw);
        Ok(pipeline)
    }
}

impl PalHardwareStage {
    /// Everything, unknown keys included, for showing.
    pub fn to_json(&self) -> serde_json::Value {
        msgpack::to_json(&mut Reader::new(self.raw.bytes()), 0)
    }
}

impl PalPipelineFields {
    /// The whole pipeline, unknown keys included, for showing.
    pub fn to_json(&self) -> serde_json::Value {
        msgpack::to_json(&mut Reader::new(self.raw.bytes()), 0)
    }
}
