//! Reading and writing maps of msgpack values without losing anything.

use rmpv::Value;

use crate::LoadError;

/// Deeper nesting than any metadata has; the decoder recurses.
const MAX_DEPTH: usize = 32;

pub(crate) type Map = Vec<(Value, Value)>;

pub(crate) fn decode(bytes: &[u8], offset: u64) -> Result<Map, LoadError> {
    let bad = |reason: String| LoadError::BadMetadata { offset, reason };
    let mut rest = bytes;
    let value = rmpv::decode::read_value_with_max_depth(&mut rest, MAX_DEPTH)
        .map_err(|error| bad(format!("not msgpack: {error}")))?;
    if rest.iter().any(|&byte| byte != 0) {
        return Err(bad(format!("{} bytes after the end of the msgpack value", rest.len())));
    }
    match value {
        Value::Map(map) => Ok(map),
        other => Err(bad(format!("a map is expected, found {}", type_name(&other)))),
    }
}

pub(crate) fn encode(map: &Map) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing into a vector cannot fail.
    let _ = rmpv::encode::write_value(&mut out, &Value::Map(map.clone()));
    out
}

pub(crate) fn get<'a>(map: &'a Map, key: &str) -> Option<&'a Value> {
    map.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
}

/// Takes the value out; the key stays, with nil.
pub(crate) fn take(map: &mut Map, key: &str) -> Option<Value> {
    let (_, value) = map.iter_mut().find(|(name, _)| name.as_str() == Some(key))?;
    Some(std::mem::replace(value, Value::Nil))
}

/// Replaces the value in its place, or adds it where LLVM's key order would have it.
pub(crate) fn set(map: &mut Map, key: &str, value: Option<Value>) {
    let place = map.iter().position(|(name, _)| name.as_str() == Some(key));
    match (place, value) {
        (Some(place), Some(value)) => map[place].1 = value,
        (Some(place), None) => drop(map.remove(place)),
        (None, Some(value)) => {
            let place = map.iter().position(|(name, _)| name.as_str().is_some_and(|name| name > key));
            map.insert(place.unwrap_or(map.len()), (key.into(), value));
        }
        (None, None) => {}
    }
}

pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Boolean(_) => "a boolean",
        Value::Integer(_) => "an integer",
        Value::F32(_) | Value::F64(_) => "a float",
        Value::String(text) if text.as_str().is_none() => "a string that is not UTF-8",
        Value::String(_) => "a string",
        Value::Binary(_) => "binary data",
        Value::Array(_) => "an array",
        Value::Map(_) => "a map",
        Value::Ext(..) => "an extension value",
    }
}

/// What a typed field can hold.
pub(crate) trait Field: Sized + PartialEq {
    const EXPECTED: &'static str;
    fn from_value(value: &Value) -> Option<Self>;
    fn to_value(&self) -> Value;
}

impl Field for u64 {
    const EXPECTED: &'static str = "an unsigned integer";
    fn from_value(value: &Value) -> Option<u64> {
        value.as_u64()
    }
    fn to_value(&self) -> Value {
        (*self).into()
    }
}

impl Field for bool {
    const EXPECTED: &'static str = "a boolean";
    fn from_value(value: &Value) -> Option<bool> {
        // Some producers write 0 and 1.
        value.as_bool().or(match value.as_u64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        })
    }
    fn to_value(&self) -> Value {
        (*self).into()
    }
}

impl Field for String {
    const EXPECTED: &'static str = "a string";
    fn from_value(value: &Value) -> Option<String> {
        value.as_str().map(str::to_owned)
    }
    fn to_value(&self) -> Value {
        self.as_str().into()
    }
}

impl<T: Field> Field for Vec<T> {
    const EXPECTED: &'static str = "an array";
    fn from_value(value: &Value) -> Option<Vec<T>> {
        value.as_array()?.iter().map(T::from_value).collect()
    }
    fn to_value(&self) -> Value {
        Value::Array(self.iter().map(T::to_value).collect())
    }
}

pub(crate) fn read<T: Field>(map: &Map, key: &str, path: &str) -> Result<Option<T>, LoadError> {
    let Some(value) = get(map, key) else { return Ok(None) };
    T::from_value(value).map(Some).ok_or_else(|| LoadError::MetadataType {
        path: format!("{path}{key}"),
        expected: T::EXPECTED,
        found: type_name(value).to_owned(),
    })
}

/// Leaves the map alone where the field says what it says already, so that unchanged metadata keep their bytes.
pub(crate) fn write<T: Field>(map: &mut Map, key: &str, value: Option<&T>) {
    let current = get(map, key).and_then(T::from_value);
    if current.as_ref() != value || (value.is_none() && get(map, key).is_some()) {
        set(map, key, value.map(T::to_value));
    }
}
