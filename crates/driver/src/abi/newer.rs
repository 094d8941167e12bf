//! Structures as ROCm 7 has them: with fields in the middle that 5.2.3 does not know; all may be zero.

use super::{LinkProperties, NodeProperties};

/// Behind these bytes of 5.2.3's structure four new ones follow: cores of another kind, more capabilities, and the engine
/// that it passes for.
const NODE: [usize; 3] = [8, 32, 72];
/// Which engines copy best over this link.
const LINK: [usize; 1] = [44];

const _: () = assert!(std::mem::offset_of!(NodeProperties, memory_banks) == NODE[0]);
const _: () = assert!(std::mem::offset_of!(NodeProperties, waves_per_simd) == NODE[1]);
const _: () = assert!(std::mem::offset_of!(NodeProperties, vendor) == NODE[2]);
const _: () = assert!(std::mem::offset_of!(LinkProperties, flags) == LINK[0]);

/// `HsaNodeProperties`, up to the family's number.
pub type Node = [u8; 368];
/// `HsaIoLinkProperties`.
pub type Link = [u8; 52];

pub fn node(old: &NodeProperties) -> Node {
    widen(old, &NODE)
}

pub fn link(old: &LinkProperties) -> Link {
    widen(old, &LINK)
}

/// The bytes of a structure, with four zeros before each of some places.
fn widen<T: Copy, const N: usize>(old: &T, places: &[usize]) -> [u8; N] {
    // SAFETY: structures of numbers without padding, as they are packed.
    let bytes = unsafe { std::slice::from_raw_parts(std::ptr::from_ref(old).cast::<u8>(), size_of::<T>()) };
    let mut out = [0; N];
    for (i, byte) in bytes.iter().enumerate() {
        out[i + 4 * places.iter().filter(|place| **place <= i).count()] = *byte;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_newer_header_has_them() {
        // SAFETY: numbers and arrays of them.
        let mut old: NodeProperties = unsafe { std::mem::zeroed() };
        (old.simds, old.memory_banks, old.capability, old.waves_per_simd) = (1, 2, 3, 4);
        (old.engine_id, old.vendor, old.family) = (5, 6, 7);
        let new = node(&old);
        let at = |place: usize| u32::from_le_bytes(new[place..place + 4].try_into().expect("four bytes"));
        assert_eq!([4, 8, 12, 32, 36, 40, 76, 80, 364].map(at), [1, 0, 2, 3, 0, 4, 5, 0, 7]);
        assert_eq!(at(84) & 0xffff, 6);
        let new = link(&LinkProperties { to: 3, transfer_size: 8, flags: 9, ..Default::default() });
        assert_eq!((new[16], new[40], new[44], new[48]), (3, 8, 0, 9));
    }
}
