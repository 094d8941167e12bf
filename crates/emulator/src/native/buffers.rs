//! Buffers that scalar registers describe, as native code accesses them: once for all lanes it is found out which offsets are
//! inside, and where the host has these bytes.

use super::addresses::{Buffer, Size};
use crate::mem::buffer::plain;
use crate::wave::Wave;

/// Where what lanes access is, by their offsets.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where the host has what a lane with an offset of 0 accesses.
    host: u64,
    /// Lesser offsets are inside the buffer; others load zeros, and store nothing.
    inside: u32,
    /// With lesser ones the first of several words is inside.
    begins: u32,
    /// Lesser offsets lead to memory. It is 2^31 at most.
    there: u32,
}

impl Found {
    pub const INSIDE: i64 = std::mem::offset_of!(Found, inside) as i64;
    pub const BEGINS: i64 = std::mem::offset_of!(Found, begins) as i64;
    pub const THERE: i64 = std::mem::offset_of!(Found, there) as i64;

    /// `None`: what the interpreter does is right.
    fn of(w: &mut Wave, at: Buffer, write: bool) -> Option<Found> {
        let (start, bytes) = plain(w, at.resource, w.s[usize::from(at.soffset)])?;
        // At how many of these bytes an access of a size may begin.
        let firsts = |bytes: u64, size: u64| (bytes + 1).saturating_sub(size);
        let inside = |size: u64| u32::try_from(firsts(bytes, size).saturating_sub(at.offset.into())).ok();
        let (host, own, len) = w.memory.room(&mut w.recent, start.wrapping_add(at.offset.into()), write)?;
        if host.addr() & at.size.lowest() as usize != 0 {
            return None;
        }
        let size = at.size as u64;
        let there = own.min(firsts(len, size)).min(1 << 31);
        let (inside, begins) = (inside(size)?, inside(size.min(4))?);
        Some(Found { host: host.addr() as u64, inside, begins, there: there as u32 })
    }
}

/// An access, in a register.
pub fn encoded(at: Buffer, write: bool) -> u64 {
    let Buffer { resource, soffset, offset, size } = at;
    u64::from(resource)
        | u64::from(soffset) << 8
        | u64::from(size as u8) << 16
        | u64::from(write) << 24
        | u64::from(offset) << 32
}

fn decoded(access: u64) -> (Buffer, bool) {
    let byte = |at: u32| (access >> at) as u8;
    let size = match byte(16) {
        1 => Size::Byte,
        2 => Size::Half,
        8 => Size::Pair,
        16 => Size::Quad,
        _ => Size::Word,
    };
    (Buffer { resource: byte(0), soffset: byte(8), offset: (access >> 32) as u32, size }, byte(24) != 0)
}

/// What native code calls: 0 if the interpreter is to do it.
///
/// # Safety
/// The wave is there, nothing else uses it meanwhile, and `found` may be written.
pub unsafe extern "sysv64" fn find(wave: *mut Wave, access: u64, found: *mut Found) -> u32 {
    let (at, write) = decoded(access);
    // SAFETY: the caller says so.
    match Found::of(unsafe { &mut *wave }, at, write) {
        Some(known) => {
            // SAFETY: as above.
            unsafe { found.write(known) };
            1
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_is_the_same_behind_its_encoding() {
        for (size, write) in [(Size::Byte, false), (Size::Half, true), (Size::Word, true), (Size::Quad, false)] {
            let at = Buffer { resource: 120, soffset: 248, offset: 0xff_ffff, size };
            assert_eq!(decoded(encoded(at, write)), (at, write));
        }
    }
}
