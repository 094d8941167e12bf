//! The NT_AMDGPU_METADATA note: typed, editable, and written back with nothing lost.
//!
//! Change the public fields, then [`Metadata::encode`]: keys keep their order, unknown keys their values, and metadata
//! that were not changed give the same bytes. Key names and meanings: LLVM AMDGPU usage page, "Code Object Metadata".

use rmpv::Value;

use crate::LoadError;
use crate::msgpack::{self, Map};

/// A struct over a msgpack map: each field has a key; the map with everything in it stays beside them.
macro_rules! record {
    (
        $(#[$struct_doc:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $ty:ty = $key:literal,)* }
    ) => {
        $(#[$struct_doc])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $name {
            $($(#[$doc])* pub $field: Option<$ty>,)*
            raw: Map,
        }

        impl $name {
            fn read_fields(raw: Map, path: &str) -> Result<$name, LoadError> {
                Ok($name { $($field: msgpack::read(&raw, $key, path)?,)* raw })
            }

            fn write_fields(&self) -> Map {
                let mut raw = self.raw.clone();
                $(msgpack::write(&mut raw, $key, self.$field.as_ref());)*
                raw
            }

            /// The keys that have a field here.
            pub const KEYS: &'static [&'static str] = &[$($key),*];
        }
    };
}

record! {
    /// One kernel argument, explicit or hidden.
    pub struct ArgMetadata {
        name: String = ".name",
        type_name: String = ".type_name",
        /// In bytes.
        size: u64 = ".size",
        /// From the start of the kernarg segment, in bytes.
        offset: u64 = ".offset",
        /// `by_value`, `global_buffer`, `hidden_block_count_x`, ...
        value_kind: String = ".value_kind",
        value_type: String = ".value_type",
        pointee_align: u64 = ".pointee_align",
        address_space: String = ".address_space",
        access: String = ".access",
        actual_access: String = ".actual_access",
        is_const: bool = ".is_const",
        is_restrict: bool = ".is_restrict",
        is_volatile: bool = ".is_volatile",
        is_pipe: bool = ".is_pipe",
    }
}

impl ArgMetadata {
    /// Filled in by the runtime, not given by whoever launches the kernel.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.as_deref().is_some_and(|kind| kind.starts_with("hidden_"))
    }

    /// A key that has no field here.
    pub fn other(&self, key: &str) -> Option<&Value> {
        msgpack::get(&self.raw, key)
    }
}

record! {
    /// The fields of one kernel that are simple values.
    pub struct KernelFields {
        language: String = ".language",
        language_version: Vec<u64> = ".language_version",
        reqd_workgroup_size: Vec<u64> = ".reqd_workgroup_size",
        workgroup_size_hint: Vec<u64> = ".workgroup_size_hint",
        vec_type_hint: String = ".vec_type_hint",
        device_enqueue_symbol: String = ".device_enqueue_symbol",
        /// In bytes, hidden arguments included.
        kernarg_segment_size: u64 = ".kernarg_segment_size",
        kernarg_segment_align: u64 = ".kernarg_segment_align",
        /// Static LDS of a workgroup, in bytes.
        group_segment_fixed_size: u64 = ".group_segment_fixed_size",
        /// Scratch of a work-item, in bytes.
        private_segment_fixed_size: u64 = ".private_segment_fixed_size",
        wavefront_size: u64 = ".wavefront_size",
        sgpr_count: u64 = ".sgpr_count",
        /// gfx90a, gfx94x: VGPRs and AGPRs of the unified file together.
        vgpr_count: u64 = ".vgpr_count",
        agpr_count: u64 = ".agpr_count",
        sgpr_spill_count: u64 = ".sgpr_spill_count",
        vgpr_spill_count: u64 = ".vgpr_spill_count",
        max_flat_workgroup_size: u64 = ".max_flat_workgroup_size",
        uniform_work_group_size: u64 = ".uniform_work_group_size",
        uses_dynamic_stack: bool = ".uses_dynamic_stack",
        workgroup_processor_mode: u64 = ".workgroup_processor_mode",
        cluster_dims: Vec<u64> = ".cluster_dims",
        kind: String = ".kind",
    }
}

/// One kernel. Its simple values are reached directly: `kernel.vgpr_count`.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelMetadata {
    pub name: String,
    /// Of the descriptor, as a rule `NAME.kd`.
    pub symbol: String,
    pub args: Vec<ArgMetadata>,
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
    fn decode(value: Value, index: usize) -> Result<KernelMetadata, LoadError> {
        // Keys begin with a dot, so that a path and a key make a path.
        let path = &format!("amdhsa.kernels[{index}]");
        let mut raw = into_map(value, path)?;
        let missing = |key: &str| LoadError::MetadataType {
            path: format!("{path}{key}"),
            expected: "a string",
            found: "nothing".to_owned(),
        };
        let name = msgpack::read(&raw, ".name", path)?.ok_or_else(|| missing(".name"))?;
        let symbol = msgpack::read(&raw, ".symbol", path)?.ok_or_else(|| missing(".symbol"))?;
        let mut args = Vec::new();
        // The arguments live in `args` alone; their key stays, to keep its place.
        if let Some(value) = msgpack::take(&mut raw, ".args") {
            for (number, value) in into_array(value, &format!("{path}.args"))?.into_iter().enumerate() {
                let path = format!("{path}.args[{number}]");
                args.push(ArgMetadata::read_fields(into_map(value, &path)?, &path)?);
            }
        }
        Ok(KernelMetadata { name, symbol, args, fields: KernelFields::read_fields(raw, path)? })
    }

    fn encode(&self) -> Value {
        let mut map = self.fields.write_fields();
        msgpack::write(&mut map, ".name", Some(&self.name));
        msgpack::write(&mut map, ".symbol", Some(&self.symbol));
        if !self.args.is_empty() || msgpack::get(&map, ".args").is_some() {
            let args = self.args.iter().map(|arg| Value::Map(arg.write_fields())).collect();
            msgpack::set(&mut map, ".args", Some(Value::Array(args)));
        }
        Value::Map(map)
    }

    /// The explicit arguments, in the order of the launch.
    pub fn explicit_args(&self) -> impl Iterator<Item = &ArgMetadata> {
        self.args.iter().filter(|arg| !arg.is_hidden())
    }

    /// Every key that has no field here, in the order of the note.
    pub fn others(&self) -> impl Iterator<Item = (&str, &Value)> {
        let known = |key: &str| KernelFields::KEYS.contains(&key) || matches!(key, ".name" | ".symbol" | ".args");
        self.fields.raw.iter().filter_map(move |(key, value)| Some((key.as_str().filter(|k| !known(k))?, value)))
    }
}

/// The whole note.
#[derive(Clone, PartialEq, Debug)]
pub struct Metadata {
    /// `amdhsa.version`: major, minor.
    pub version: Option<Vec<u64>>,
    /// `amdhsa.target`: `amdgcn-amd-amdhsa--gfx90a:sramecc+` (from v4 on).
    pub target: Option<String>,
    pub printf: Option<Vec<String>>,
    pub kernels: Vec<KernelMetadata>,
    raw: Map,
}

impl Metadata {
    /// From the note's description.
    pub fn decode(bytes: &[u8]) -> Result<Metadata, LoadError> {
        Metadata::decode_at(bytes, 0)
    }

    /// `offset` is where the bytes lie in the file, for messages.
    pub(crate) fn decode_at(bytes: &[u8], offset: u64) -> Result<Metadata, LoadError> {
        let mut raw = msgpack::decode(bytes, offset)?;
        let mut kernels = Vec::new();
        if let Some(value) = msgpack::take(&mut raw, "amdhsa.kernels") {
            for (index, value) in into_array(value, "amdhsa.kernels")?.into_iter().enumerate() {
                kernels.push(KernelMetadata::decode(value, index)?);
            }
        }
        Ok(Metadata {
            version: msgpack::read(&raw, "amdhsa.version", "")?,
            target: msgpack::read(&raw, "amdhsa.target", "")?,
            printf: msgpack::read(&raw, "amdhsa.printf", "")?,
            kernels,
            raw,
        })
    }

    fn to_map(&self) -> Map {
        let mut map = self.raw.clone();
        msgpack::write(&mut map, "amdhsa.version", self.version.as_ref());
        msgpack::write(&mut map, "amdhsa.target", self.target.as_ref());
        msgpack::write(&mut map, "amdhsa.printf", self.printf.as_ref());
        if !self.kernels.is_empty() || msgpack::get(&map, "amdhsa.kernels").is_some() {
            let kernels = self.kernels.iter().map(KernelMetadata::encode).collect();
            msgpack::set(&mut map, "amdhsa.kernels", Some(Value::Array(kernels)));
        }
        map
    }

    /// The note's description. Padding of the note record is up to the writer of the note.
    pub fn encode(&self) -> Vec<u8> {
        msgpack::encode(&self.to_map())
    }

    pub fn kernel(&self, name: &str) -> Option<&KernelMetadata> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    pub fn kernel_mut(&mut self, name: &str) -> Option<&mut KernelMetadata> {
        self.kernels.iter_mut().find(|kernel| kernel.name == name)
    }

    /// Everything, unknown keys included, for showing. Byte strings become arrays of numbers.
    pub fn to_json(&self) -> serde_json::Value {
        json(&Value::Map(self.to_map()))
    }
}

fn into_map(value: Value, path: &str) -> Result<Map, LoadError> {
    match value {
        Value::Map(map) => Ok(map),
        other => Err(wrong(path, "a map", &other)),
    }
}

fn into_array(value: Value, path: &str) -> Result<Vec<Value>, LoadError> {
    match value {
        Value::Array(array) => Ok(array),
        other => Err(wrong(path, "an array", &other)),
    }
}

fn wrong(path: &str, expected: &'static str, found: &Value) -> LoadError {
    LoadError::MetadataType { path: path.to_owned(), expected, found: msgpack::type_name(found).to_owned() }
}

fn json(value: &Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        Value::Nil => Json::Null,
        Value::Boolean(value) => (*value).into(),
        Value::Integer(value) => match (value.as_u64(), value.as_i64()) {
            (Some(value), _) => value.into(),
            (None, value) => value.into(),
        },
        Value::F32(value) => (*value).into(),
        Value::F64(value) => (*value).into(),
        Value::String(value) => String::from_utf8_lossy(value.as_bytes()).into(),
        Value::Binary(value) => value.as_slice().into(),
        Value::Array(values) => values.iter().map(json).collect(),
        Value::Map(pairs) => {
            let name = |key: &Value| key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            pairs.iter().map(|(key, value)| (name(key), json(value))).collect()
        }
        Value::Ext(kind, bytes) => serde_json::json!({ "ext": kind, "bytes": bytes }),
    }
}
