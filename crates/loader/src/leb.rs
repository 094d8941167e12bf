//! LEB128 numbers, as the sections of instrumented objects are written in them.

/// Appends a number.
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Where something is wrong, and what.
pub type Bad = (usize, &'static str);

/// Bytes that are read from front to back.
pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, at: 0 }
    }

    /// Of all bytes, those that are read already too.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// All is read.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub fn bad(&self, reason: &'static str) -> Bad {
        (self.at, reason)
    }

    pub fn number(&mut self) -> Result<u64, Bad> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(|| self.bad("it ends within a number"))?;
            self.at += 1;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.bad("a number has more than 64 bits"))
    }

    /// One of 32 bits.
    pub fn small(&mut self) -> Result<u32, Bad> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.bad("a number has more than 32 bits"))
    }

    /// A count of things that take at least a byte each.
    pub fn count(&mut self) -> Result<u64, Bad> {
        let count = self.number()?;
        if count > (self.bytes.len() - self.at) as u64 {
            return Err(self.bad("a count is larger than what follows"));
        }
        Ok(count)
    }

    /// An address, as the distance from another one.
    pub fn step(&mut self, from: u64, reason: &'static str) -> Result<u64, Bad> {
        let step = self.number()?;
        from.checked_add(step).filter(|&to| to <= i64::MAX as u64).ok_or_else(|| self.bad(reason))
    }

    pub fn text(&mut self) -> Result<&'a str, Bad> {
        let length = self.count()? as usize;
        let bytes = &self.bytes[self.at..self.at + length];
        self.at += length;
        std::str::from_utf8(bytes).map_err(|_| self.bad("a text is not UTF-8"))
    }
}
