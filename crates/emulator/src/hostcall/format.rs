//! C's formatted printing, of arguments as the device library passes them.
//!
//! A message has the format, ended by a zero byte and padded to whole words, and behind it the arguments: a word each, or a
//! string, ended and padded as well. Every conversion is the C library's own, by `snprintf`, of a value that has the type
//! which the conversion takes; what has no defined meaning there is refused.

use std::ffi::{CString, c_char, c_int, c_longlong, c_ulonglong, c_void};

/// A width or precision that C would take, but no program means.
const WIDEST: u32 = 1 << 16;

/// The text of a message.
pub fn format(message: &[u8]) -> Result<Vec<u8>, String> {
    let format = until_zero(message).ok_or("printf has a format that has no end")?;
    format_with(format, message.get(padded(format.len())..).unwrap_or_default())
}

fn until_zero(bytes: &[u8]) -> Option<&[u8]> {
    bytes.iter().position(|&byte| byte == 0).map(|end| &bytes[..end])
}

/// Bytes that a string takes with its zero.
pub fn padded(len: usize) -> usize {
    (len + 1).next_multiple_of(8)
}

/// The arguments that are left.
struct Arguments<'a> {
    bytes: &'a [u8],
}

impl<'a> Arguments<'a> {
    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.bytes.split_first_chunk::<8>()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*word))
    }
    fn string(&mut self) -> Option<&'a [u8]> {
        let text = until_zero(self.bytes)?;
        self.bytes = self.bytes.get(padded(text.len())..)?;
        Some(text)
    }
}

/// The next character, if it is one of these.
fn skip(format: &mut &[u8], wanted: &[u8]) -> Option<char> {
    let (&byte, rest) = format.split_first().filter(|(byte, _)| wanted.contains(byte))?;
    *format = rest;
    Some(char::from(byte))
}

/// A width or a precision, which may be the next argument.
fn number(format: &mut &[u8], arguments: &mut Arguments<'_>) -> Result<Option<i64>, String> {
    if skip(format, b"*").is_some() {
        return Ok(Some(i64::from(arguments.word().ok_or_else(missing)? as i32)));
    }
    let mut value = None;
    while let Some(digit) = skip(format, b"0123456789") {
        let so_far = value.unwrap_or(0) * 10 + i64::from(digit as u8 - b'0');
        value = Some(so_far.min(i64::from(i32::MAX)));
    }
    Ok(value)
}

fn limited(value: i64) -> Result<u32, String> {
    let limited = u32::try_from(value).ok().filter(|&value| value <= WIDEST);
    limited.ok_or_else(|| format!("printf with a width or precision of {value}"))
}

/// One conversion: `%-*.3lld`.
#[derive(Default)]
struct Conversion {
    flags: String,
    width: Option<u32>,
    precision: Option<u32>,
    length: String,
    letter: u8,
}

/// The text of a format with its arguments.
pub fn format_with(mut format: &[u8], arguments: &[u8]) -> Result<Vec<u8>, String> {
    let arguments = &mut Arguments { bytes: arguments };
    let mut out = Vec::new();
    while let Some(at) = format.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&format[..at]);
        format = &format[at + 1..];
        if let Some(rest) = format.strip_prefix(b"%") {
            out.push(b'%');
            format = rest;
            continue;
        }
        let conversion = Conversion::take(&mut format, arguments)?;
        out.extend(conversion.print(arguments)?);
    }
    out.extend_from_slice(format);
    Ok(out)
}

/// The argument that a conversion asks for is not there.
fn missing() -> String {
    "printf has fewer arguments than its format asks for".into()
}

impl Conversion {
    /// Reads what stands behind the percent sign.
    fn take(format: &mut &[u8], arguments: &mut Arguments<'_>) -> Result<Conversion, String> {
        let whole = *format;
        let mut conversion = Conversion::default();
        while let Some(flag) = skip(format, b"-+ #0") {
            if !conversion.flags.contains(flag) {
                conversion.flags.push(flag);
            }
        }
        if let Some(width) = number(format, arguments)? {
            if width < 0 && !conversion.flags.contains('-') {
                conversion.flags.push('-');
            }
            conversion.width = Some(limited(width.abs())?);
        }
        if skip(format, b".").is_some() {
            // A precision below zero is as none.
            let precision = number(format, arguments)?.unwrap_or(0);
            conversion.precision = if precision < 0 { None } else { Some(limited(precision)?) };
        }
        while let Some(length) = skip(format, b"hljztL") {
            conversion.length.push(length);
        }
        if let Some((&letter, rest)) = format.split_first() {
            (conversion.letter, *format) = (letter, rest);
        }
        match (conversion.length.as_str(), conversion.letter) {
            ("" | "h" | "hh" | "l" | "ll" | "j" | "z" | "t", b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'n')
            | ("" | "l" | "L", b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A')
            | ("", b'c' | b's' | b'p') => Ok(conversion),
            _ => {
                let shown = String::from_utf8_lossy(&whole[..whole.len() - format.len()]);
                Err(format!("printf's conversion %{shown} is not known"))
            }
        }
    }

    /// The bits of an integer of the conversion's type, sign or zeros above them.
    fn integer(&self, word: u64, signed: bool) -> u64 {
        match (self.length.as_str(), signed) {
            ("hh", true) => word as i8 as u64,
            ("hh", false) => word as u8 as u64,
            ("h", true) => word as i16 as u64,
            ("h", false) => word as u16 as u64,
            ("", true) => word as i32 as u64,
            ("", false) => word as u32 as u64,
            _ => word,
        }
    }

    fn print(&self, arguments: &mut Arguments<'_>) -> Result<Vec<u8>, String> {
        if self.letter == b's' {
            let text = CString::new(arguments.string().ok_or_else(missing)?).unwrap_or_default();
            let ptr = text.as_ptr();
            // SAFETY: %s takes a string that is ended, as this is.
            return Ok(print(&self.spec("s"), |to, len, spec| unsafe { libc::snprintf(to, len, spec, ptr) }));
        }
        let word = arguments.word().ok_or_else(missing)?;
        let letter = char::from(self.letter);
        Ok(match self.letter {
            b'd' | b'i' => {
                let value = self.integer(word, true) as c_longlong;
                let spec = self.spec(&format!("ll{letter}"));
                // SAFETY: %lld takes a long long, and so for the others below.
                print(&spec, |to, len, spec| unsafe { libc::snprintf(to, len, spec, value) })
            }
            b'o' | b'u' | b'x' | b'X' => {
                let value = self.integer(word, false) as c_ulonglong;
                let spec = self.spec(&format!("ll{letter}"));
                // SAFETY: as above.
                print(&spec, |to, len, spec| unsafe { libc::snprintf(to, len, spec, value) })
            }
            b'c' => {
                let value = word as c_int;
                // SAFETY: as above.
                print(&self.spec("c"), |to, len, spec| unsafe { libc::snprintf(to, len, spec, value) })
            }
            b'p' => {
                let value: *const c_void = std::ptr::without_provenance(word as usize);
                // SAFETY: as above.
                print(&self.spec("p"), |to, len, spec| unsafe { libc::snprintf(to, len, spec, value) })
            }
            // Nothing is stored, as AMD's runtime has it.
            b'n' => Vec::new(),
            _ => {
                let value = f64::from_bits(word);
                let spec = self.spec(&letter.to_string());
                // SAFETY: as above; the device's long double is a double.
                print(&spec, |to, len, spec| unsafe { libc::snprintf(to, len, spec, value) })
            }
        })
    }

    /// The conversion as C has it, with a length and a letter.
    fn spec(&self, end: &str) -> CString {
        let width = self.width.map(|n| n.to_string()).unwrap_or_default();
        let precision = self.precision.map(|n| format!(".{n}")).unwrap_or_default();
        CString::new(format!("%{}{width}{precision}{end}", self.flags)).unwrap_or_default()
    }
}

/// Calls `snprintf` until there is room.
fn print(spec: &CString, call: impl Fn(*mut c_char, usize, *const c_char) -> c_int) -> Vec<u8> {
    let mut out = vec![0u8; 128];
    loop {
        let len = call(out.as_mut_ptr().cast(), out.len(), spec.as_ptr());
        let len = usize::try_from(len).unwrap_or(0);
        if len < out.len() {
            out.truncate(len);
            return out;
        }
        out.resize(len + 1, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Vec<u64> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(padded(text.len()), 0);
        bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect()
    }

    fn printed(text: &str, arguments: &[u64]) -> Result<String, String> {
        let message = [string(text), arguments.to_vec()].concat();
        format(&message.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
            .map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn integers_have_the_types_that_their_lengths_say() {
        let all = |spec: &str| printed(spec, &[0xffff_ffff_8000_81ff]).unwrap();
        assert_eq!(["%hhd", "%hd", "%d", "%lld"].map(all), ["-1", "-32257", "-2147450369", "-2147450369"]);
        assert_eq!(["%hhu", "%hx", "%u", "%#lx"].map(all), ["255", "81ff", "2147516927", "0xffffffff800081ff"]);
        assert_eq!(printed("%5d|%-5i|%05d|%+.3d", &[7; 4]).unwrap(), "    7|7    |00007|+007");
        assert_eq!(printed("%*d|%-*d|%.*d", &[4, 7, 4, 7, 3, 7]).unwrap(), "   7|7   |007");
        assert_eq!(printed("%*d|%.*d", &[-4i64 as u64, 7, -1i64 as u64, 7]).unwrap(), "7   |7");
    }

    #[test]
    fn strings_take_the_words_that_they_fill() {
        let arguments = [string("12345678"), vec![65], string(""), string("abcdef"), vec![9]].concat();
        assert_eq!(printed("%s %c%s %.3s %d%%\n", &arguments).unwrap(), "12345678 A abc 9%\n");
        assert_eq!(printed("no end", &[]).unwrap(), "no end");
        assert_eq!(printed("%300d|", &[1]).unwrap().len(), 301);
    }

    #[test]
    fn what_c_leaves_undefined_is_refused() {
        for (text, why) in [
            ("%d %d", "fewer arguments"),
            ("%ls", "%ls is not known"),
            ("%v4f", "%v is not known"),
            ("%", "% is not known"),
            ("%hf", "%hf is not known"),
            ("%999999999d", "width or precision of 999999999"),
        ] {
            assert!(printed(text, &[1]).is_err_and(|error| error.contains(why)), "{text}");
        }
    }
}
