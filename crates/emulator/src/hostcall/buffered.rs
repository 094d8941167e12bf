//! Printing into a buffer, which the host reads when the launch is over: OpenCL's `printf`, and HIP's with
//! `-mprintf-kind=buffered`.
//!
//! The buffer begins with two words of 32 bits: the bytes that are taken, and its size. A call of `printf` takes as many
//! bytes as it needs of those behind the two words, or none if there is no room: then it returns -1. The table
//! `amdhsa.printf` of the code object's metadata has the formats:
//!
//! | entry | call in the buffer |
//! |---|---|
//! | OpenCL: `ID:COUNT:SIZE:...:FORMAT`, where the compiler has escaped some characters | the number, 4 bytes, and the arguments, of these sizes |
//! | HIP: `0:0:HASH,FORMAT` | 4 bytes: bit 0 for standard error, bit 1 for a format by its hash, and above the bytes of the call; then the hash, or else the format, and the arguments, all in words of 8 bytes |
//!
//! Source: LLVM (AMDGPUPrintfRuntimeBinding.cpp, AMDGPUEmitPrintf.cpp), and the device library's `__printf_alloc`.

use std::collections::HashMap;
use std::sync::Arc;

use super::cut::{self, UNUSED};
use super::opencl::as_in_c;
use super::{Output, Printed, format};
use crate::buffer::Buffer;
use crate::memory::Memory;

/// Where calls begin.
const CALLS: usize = 8;

/// A format of OpenCL's, and the bytes of its arguments.
#[derive(Debug)]
struct Sized {
    sizes: Vec<usize>,
    format: Vec<u8>,
}

#[derive(Debug)]
enum Formats {
    ByNumber(HashMap<u32, Sized>),
    ByHash(HashMap<u64, Vec<u8>>),
}

/// The buffer of one launch.
#[derive(Debug)]
pub struct PrintBuffer {
    start: u64,
    formats: Formats,
    output: Arc<Output>,
}

impl PrintBuffer {
    /// Bytes of the buffer: what AMD's runtime gives OpenCL.
    pub const SIZE: u32 = 4 << 20;

    /// Puts a buffer into memory, for these entries of the table; `None` if there is no room.
    pub fn new(memory: &mut Memory, table: &[String], output: Arc<Output>) -> Option<PrintBuffer> {
        let start = memory.next_address(Self::SIZE.into());
        if !memory.insert_exact(start, Self::SIZE.into(), true, Arc::new(Buffer::zeroed(Self::SIZE.into())?)) {
            return None;
        }
        memory.write(start, &UNUSED.repeat(Self::SIZE as usize / UNUSED.len())).ok()?;
        memory.write(start, &u64::from(Self::SIZE).rotate_left(32).to_le_bytes()).ok()?;
        Some(PrintBuffer { start, formats: Formats::of(table), output })
    }

    /// The hidden argument.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Prints what the launch has left.
    ///
    /// # Errors
    /// What stands there makes no sense, or cannot be printed; what precedes it is printed.
    pub fn flush(&self, memory: &Memory) -> Result<(), String> {
        let spoiled = |_| "the kernel has spoiled the buffer that it prints into".to_owned();
        let mut taken = [0; 4];
        memory.read(self.start, &mut taken).map_err(spoiled)?;
        let mut calls = vec![0; (u32::from_le_bytes(taken) as usize).min(Self::SIZE as usize - CALLS)];
        memory.read(self.start + CALLS as u64, &mut calls).map_err(spoiled)?;
        let mut rest = &calls[..];
        while !rest.is_empty() {
            let (printed, after) = self.formats.call(rest)?;
            self.output.push(printed);
            rest = after;
        }
        Ok(())
    }
}

/// Bytes that a call takes from the front of others.
fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8], String> {
    let (taken, rest) = bytes.split_at_checked(len).ok_or("the kernel has spoiled the buffer that it prints into")?;
    *bytes = rest;
    Ok(taken)
}

fn number<const N: usize>(bytes: &mut &[u8]) -> Result<u64, String> {
    Ok(take(bytes, N)?.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)))
}

impl Formats {
    fn of(table: &[String]) -> Formats {
        let hashed = |entry: &String| {
            let (hash, format) = entry.strip_prefix("0:0:")?.split_once(',')?;
            Some((u64::from_str_radix(hash, 16).ok()?, format.as_bytes().to_vec()))
        };
        let by_hash: HashMap<u64, Vec<u8>> = table.iter().filter_map(hashed).collect();
        if !by_hash.is_empty() {
            return Formats::ByHash(by_hash);
        }
        // A colon within a format is escaped.
        let sized = |entry: &String| {
            let (rest, format) = entry.rsplit_once(':')?;
            let mut fields = rest.split(':').map(str::parse::<usize>);
            let (number, _count) = (fields.next()?.ok()?, fields.next()?.ok()?);
            let sizes = fields.collect::<Result<_, _>>().ok()?;
            Some((number as u32, Sized { sizes, format: unescaped(format.as_bytes()) }))
        };
        Formats::ByNumber(table.iter().filter_map(sized).collect())
    }

    /// The first of some calls, and those behind it.
    fn call<'a>(&self, mut bytes: &'a [u8]) -> Result<(Printed, &'a [u8]), String> {
        let control = number::<4>(&mut bytes)?;
        let formats = match self {
            Formats::ByNumber(formats) => {
                let known = formats.get(&(control as u32));
                let Sized { sizes, format } = known.ok_or(format!("printf has no format of number {control}"))?;
                let call = take(&mut bytes, sizes.iter().fold(0, |all: usize, &size| all.saturating_add(size)))?;
                let arguments = cut::arguments(format, sizes, call)?;
                let (format, arguments) = as_in_c(format, &arguments)?;
                let text = format::format_with(&format, &arguments)?;
                return Ok((Printed { is_error: false, text }, bytes));
            }
            Formats::ByHash(formats) => formats,
        };
        let len = (control >> 2).checked_sub(4).ok_or("the kernel has spoiled the buffer that it prints into")?;
        let mut call = take(&mut bytes, len as usize)?;
        let text = if control & 2 != 0 {
            let hash = number::<8>(&mut call)?;
            let format = formats.get(&hash).ok_or(format!("printf has no format of hash {hash:#x}"))?;
            format::format_with(format, call)?
        } else {
            format::format(call)?
        };
        Ok((Printed { is_error: control & 1 != 0, text }, bytes))
    }
}

/// A format as the program has it.
fn unescaped(format: &[u8]) -> Vec<u8> {
    const ESCAPES: [(&[u8], u8); 7] =
        [(b"\\a", 7), (b"\\b", 8), (b"\\f", 12), (b"\\n", b'\n'), (b"\\r", b'\r'), (b"\\v", 11), (b"\\72", b':')];
    let (mut out, mut rest) = (Vec::new(), format);
    while let Some((&first, others)) = rest.split_first() {
        let escape = ESCAPES.iter().find(|(escape, _)| rest.starts_with(escape));
        let (byte, after) = escape.map_or((first, others), |(escape, byte)| (*byte, &rest[escape.len()..]));
        out.push(byte);
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(table: &[&str], calls: &[u8]) -> Result<Vec<String>, String> {
        let formats = Formats::of(&table.iter().map(ToString::to_string).collect::<Vec<_>>());
        let (mut all, mut rest) = (Vec::new(), calls);
        while !rest.is_empty() {
            let (printed, after) = formats.call(rest)?;
            all.push(String::from_utf8_lossy(&printed.text).into_owned());
            rest = after;
        }
        Ok(all)
    }

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn calls_of_opencl_have_arguments_of_the_sizes_that_the_table_says() {
        let table = ["1:2:4:8:%d %s\\72\\n", "2:0:plain %%", "3:3:4:16:8:%.1f|%v4f|%v3hx", "4:1:4:%v2hi"];
        let one = bytes(&[1, 7u32.wrapping_neg(), u32::from_le_bytes(*b"text"), 0x21]);
        let three = bytes(&[3, 1.5f32.to_bits(), 0x3f80_0000, 0, 0xbf80_0000, 0x4000_0000, 0x0002_0001, 0xdead_ffff]);
        let calls = [one, bytes(&[2]), three, bytes(&[4, 0xffff_0001])].concat();
        let all = text(&table, &calls).unwrap();
        assert_eq!(all, ["-7 text!:\n", "plain %", "1.5|1.000000,0.000000,-1.000000,2.000000|1,2,ffff", "1,-1"]);
    }

    #[test]
    fn calls_of_hip_have_formats_by_hash_or_with_them() {
        let table = ["0:0:abc,%d: %s, %g\n"];
        let by_hash = bytes(&[(36 << 2) | 2, 0xabc, 0, 5, 0, u32::from_le_bytes(*b"four"), 0, 0, 0x3ff8_0000]);
        let whole = bytes(&[(20 << 2) | 1, u32::from_le_bytes(*b"%i!\0"), 0, 3, 0]);
        assert_eq!(text(&table, &[by_hash, whole].concat()).unwrap(), ["5: four, 1.5\n", "3!"]);
    }

    #[test]
    fn spoiled_buffers_are_refused() {
        let table = ["1:1:8:%ld"];
        for (calls, why) in [(&[9][..], "no format of number 9"), (&[1, 5], "has spoiled"), (&[0x101], "no format")] {
            assert!(text(&table, &bytes(calls)).is_err_and(|error| error.contains(why)), "{calls:?}");
        }
        assert!(text(&["1:0:%d"], &bytes(&[1])).is_err_and(|error| error.contains("fewer arguments")));
        assert!(text(&["1:1:12:%v4d"], &bytes(&[1, 2, 3, 4])).is_err_and(|error| error.contains("12 bytes")));
        assert!(text(&["0:0:abc,%d"], &bytes(&[2])).is_err_and(|error| error.contains("has spoiled")));
    }
}
