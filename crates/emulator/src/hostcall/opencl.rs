//! OpenCL's `printf` in terms of C's: a vector is as many conversions with commas in between, and arguments of as many
//! bytes become what [`super::format`] takes.

use super::format::padded;
use crate::fp::small::F16;

/// A format of C's and its arguments, from one of OpenCL's and the bytes of each argument.
pub fn as_in_c(mut format: &[u8], arguments: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>), String> {
    let mut arguments = arguments.iter().copied();
    let (mut out, mut words) = (Vec::new(), Vec::new());
    while let Some(at) = format.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&format[..at]);
        format = &format[at + 1..];
        if let Some(rest) = format.strip_prefix(b"%") {
            out.extend_from_slice(b"%%");
            format = rest;
            continue;
        }
        let conversion = Conversion::take(&mut format)?;
        let argument = arguments.next().ok_or("printf has fewer arguments than its format asks for")?;
        let pieces = conversion.elements(argument, &mut words)?;
        let piece = [b"%", conversion.head, conversion.length(), &[conversion.letter]].concat();
        out.extend(vec![piece; pieces].join(&b','));
    }
    out.extend_from_slice(format);
    Ok((out, words))
}

/// One conversion: `%-8.3v4hlf`.
pub struct Conversion<'a> {
    /// Flags, width and precision.
    head: &'a [u8],
    /// Of a vector: its elements.
    pub count: Option<usize>,
    length: &'a [u8],
    pub letter: u8,
}

/// The bytes in front that are among these.
fn skip<'a>(format: &mut &'a [u8], wanted: &[u8]) -> &'a [u8] {
    let len = format.iter().position(|byte| !wanted.contains(byte)).unwrap_or(format.len());
    let (skipped, rest) = format.split_at(len);
    *format = rest;
    skipped
}

impl<'a> Conversion<'a> {
    /// Those of a format.
    pub fn all(mut format: &'a [u8]) -> Result<Vec<Conversion<'a>>, String> {
        let mut all = Vec::new();
        while let Some(at) = format.iter().position(|&byte| byte == b'%') {
            format = &format[at + 1..];
            match format.strip_prefix(b"%") {
                Some(rest) => format = rest,
                None => all.push(Conversion::take(&mut format)?),
            }
        }
        Ok(all)
    }

    fn take(format: &mut &'a [u8]) -> Result<Conversion<'a>, String> {
        let whole = *format;
        let head = skip(format, b"-+ #0123456789.");
        let count = match format.strip_prefix(b"v") {
            Some(rest) => {
                *format = rest;
                let count =
                    std::str::from_utf8(skip(format, b"0123456789")).ok().and_then(|digits| digits.parse().ok());
                Some(count.filter(|count| [2, 3, 4, 8, 16].contains(count)).unwrap_or(0))
            }
            None => None,
        };
        let length = skip(format, b"hljztL");
        let letter = format.first().copied().unwrap_or(0);
        let is_known = match count {
            None => b"diouxXfFeEgGaAcsp".contains(&letter),
            Some(count) => count != 0 && b"diouxXfFeEgGaA".contains(&letter),
        };
        *format = format.get(1..).unwrap_or_default();
        if !is_known {
            let shown = String::from_utf8_lossy(&whole[..whole.len() - format.len()]);
            return Err(format!("printf's conversion %{shown} is not known"));
        }
        Ok(Conversion { head, count, length, letter })
    }

    fn is_float(&self) -> bool {
        b"fFeEgGaA".contains(&self.letter)
    }

    /// As C has it: `hl` stands for elements of 32 bits, and the sizes of all others than integers are known.
    fn length(&self) -> &'a [u8] {
        if self.length == b"hl" || self.is_float() || b"csp".contains(&self.letter) { b"" } else { self.length }
    }

    /// Appends what is printed to other words, and says how many values it is.
    fn elements(&self, argument: &[u8], words: &mut Vec<u8>) -> Result<usize, String> {
        if self.letter == b's' {
            // The compiler has left the zero out where the string fills whole words.
            let text = argument.split(|&byte| byte == 0).next().unwrap_or_default();
            words.extend_from_slice(text);
            words.resize(words.len() + padded(text.len()) - text.len(), 0);
            return Ok(1);
        }
        let count = self.count.unwrap_or(1);
        // A vector of three has room for a fourth.
        let size = argument.len() / if count == 3 { 4 } else { count };
        if ![1, 2, 4, 8].contains(&size) || size == 1 && self.is_float() {
            let letter = char::from(self.letter);
            return Err(format!("printf has an argument of {} bytes for {count} values of %{letter}", argument.len()));
        }
        for element in argument.chunks(size).take(count) {
            let bits = element.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
            let word = match (self.is_float(), size) {
                (true, 2) => f64::from(F16.to_f32(bits as u32)).to_bits(),
                (true, 4) => f64::from(f32::from_bits(bits as u32)).to_bits(),
                (false, 1 | 2 | 4) if self.letter != b'p' => {
                    ((bits << (64 - 8 * size)) as i64 >> (64 - 8 * size)) as u64
                }
                _ => bits,
            };
            words.extend_from_slice(&word.to_le_bytes());
        }
        Ok(count)
    }
}
