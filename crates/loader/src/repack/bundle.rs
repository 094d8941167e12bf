//! A bundle with other entries, in the format that it had.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::alignment;
use crate::LoadError;
use crate::bundle::{Bundle, COMPRESSED_MAGIC, Coding, PLAIN_MAGIC};
use crate::bytes::Bytes;
use crate::container::{Container, Entry};

/// The bundle `old` of `container`, with `entries`; those in `new` are replaced.
pub(super) fn rewritten(
    container: &Container,
    old: &Bundle,
    entries: &[&Entry],
    new: &BTreeMap<usize, Bytes>,
) -> Result<Vec<u8>, LoadError> {
    let contents = entries.iter().map(|entry| match new.get(&entry.index) {
        Some(bytes) => Ok(bytes.clone()),
        None => container.read(entry.index),
    });
    let contents = contents.collect::<Result<Vec<Bytes>, LoadError>>()?;
    let plain = plain(entries, &contents);
    match old.coding {
        Coding::Plain => Ok(plain),
        _ => compressed(old, &plain),
    }
}

/// The format without compression. Entries are aligned as the old ones were.
fn plain(entries: &[&Entry], contents: &[Bytes]) -> Vec<u8> {
    let filled = entries.iter().filter(|entry| entry.size != 0);
    let align = filled.map(|entry| alignment(entry.offset())).min().unwrap_or(1);
    let table = PLAIN_MAGIC.len() + 8 + entries.iter().map(|entry| 24 + entry.id.len()).sum::<usize>();
    let mut offsets = Vec::with_capacity(entries.len());
    let mut end = table as u64;
    for content in contents {
        end = end.next_multiple_of(align);
        offsets.push(end);
        end += content.len() as u64;
    }
    let mut out = Vec::with_capacity(end as usize);
    out.extend_from_slice(PLAIN_MAGIC);
    out.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    for ((entry, content), offset) in entries.iter().zip(contents).zip(&offsets) {
        for number in [*offset, content.len() as u64, entry.id.len() as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(entry.id.as_bytes());
    }
    for (content, offset) in contents.iter().zip(&offsets) {
        out.resize(*offset as usize, 0);
        out.extend_from_slice(content);
    }
    out
}

/// The header of the old bundle's version, and the plain one compressed in the old one's way.
fn compressed(old: &Bundle, plain: &[u8]) -> Result<Vec<u8>, LoadError> {
    let failed =
        |error: io::Error| LoadError::BadBundle { offset: old.start, reason: format!("cannot be compressed: {error}") };
    let (method, data) = match old.coding {
        Coding::Zlib => (0u16, zlib(plain).map_err(failed)?),
        _ => (1, zstd(plain).map_err(failed)?),
    };
    // Sizes have 32 bits before version 3.
    let large = plain.len().max(data.len() + 32) > u32::MAX as usize;
    let version = if large { 3 } else { old.version };
    let (header, wide) = match version {
        1 => (20, false),
        2 => (24, false),
        _ => (32, true),
    };
    let mut out = Vec::with_capacity(header + data.len());
    out.extend_from_slice(COMPRESSED_MAGIC);
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&method.to_le_bytes());
    let sizes = [header + data.len(), plain.len()];
    for size in if version == 1 { &sizes[1..] } else { &sizes } {
        out.extend_from_slice(&(*size as u64).to_le_bytes()[..if wide { 8 } else { 4 }]);
    }
    // The hash of the plain bundle is the first half of its MD5.
    out.extend_from_slice(&md5::compute(plain).0[..8]);
    out.extend_from_slice(&data);
    Ok(out)
}

fn zlib(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain)?;
    encoder.finish()
}

/// The code for several processors is much the same: a window of the whole bundle finds that.
fn zstd(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
    let window = (usize::BITS - plain.len().leading_zeros()).clamp(17, 30);
    encoder.window_log(window)?;
    encoder.long_distance_matching(true)?;
    encoder.set_pledged_src_size(Some(plain.len() as u64))?;
    encoder.include_contentsize(true)?;
    encoder.write_all(plain)?;
    encoder.finish()
}
