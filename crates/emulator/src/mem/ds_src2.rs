//! `ds_*_src2_*` of GCN 5 and RDNA 1: an atomic whose second operand is in LDS as well, DS\[A\] = op(DS\[A\], DS\[B\]).
//!
//! Micro-op: `src[0]` address row, `dst` a temporary row, `imm` the offset field, `imm2` an [`Encoded`] atomic.
//!
//! The offset is no offset of A. With its bit 15 clear, B lies as many words behind A as its lower 15 bits say, as a
//! signed number; with bit 15 set the address register holds both: A in bits 16:0, the words between in bits 31:17,
//! signed. (AMD's opcode descriptions, "B = A + 4*(offset1\[7\] ? ...)", and CLRX's reference, which alone says what is
//! left of A.) Lanes act one after the other, the lowest first, each on what those before it have left.

use std::rc::Rc;

use super::access::Rows;
use super::atomic::Atomic;
use super::ds::{combine32, combine64, outside};
use super::flat::Encoded;
use super::{Action, Transfer, notice};
use crate::masks::lanes;
use crate::op::{Flow, Op};
use crate::report::FindingKind;
use crate::wave::Wave;

/// The atomic of a mnemonic and the words that it acts on.
pub fn parse(base: &str) -> Option<(Atomic, u8)> {
    let (stem, ty) = base.strip_prefix("ds_")?.split_once("_src2_")?;
    let words = if ty.ends_with("64") { 2 } else { 1 };
    let atomic = match (stem, ty.as_bytes().first()?) {
        ("write", _) => Atomic::Swap,
        ("min", b'i') => Atomic::SMin,
        ("max", b'i') => Atomic::SMax,
        ("min", b'u') => Atomic::UMin,
        ("max", b'u') => Atomic::UMax,
        (stem, first) => Atomic::from_ds_name(stem, *first == b'f')?,
    };
    Some((atomic, words))
}

/// A and B of an address register and an offset field.
fn places(address: u32, offset: u32) -> (u32, u32) {
    if offset & 0x8000 != 0 {
        let a = address & 0x1_ffff;
        return (a, a.wrapping_add_signed(4 * (address as i32 >> 17)));
    }
    let words = (offset << 17) as i32 >> 17;
    (address, address.wrapping_add_signed(4 * words))
}

pub fn src2(w: &mut Wave, op: &Op) -> Flow {
    let encoded = Encoded(op.imm2);
    let (Action::Atomic(atomic, _), words) = (encoded.action(), encoded.words()) else { return Flow::Next };
    let exec = w.exec();
    let (mut to, mut from) = ([0; 64], [0; 64]);
    for lane in lanes(exec) {
        (to[lane], from[lane]) = places(w.row(op.src[0]).0[lane], op.imm as u32);
    }
    let rows = Rows { dst: op.dst, data: op.dst, words };
    notice::lds(w, Action::Load(Transfer::Words), rows, &from, exec);
    notice::lds(w, Action::Atomic(atomic, false), rows, &to, exec);
    let lds = Rc::clone(&w.lds);
    let size = 4 * u32::from(words);
    for lane in lanes(exec) {
        for at in [to[lane], from[lane]] {
            if !at.is_multiple_of(size) {
                let message = format!("an atomic of {size} bytes on LDS at {at:#x}, which is not aligned");
                if w.bad_access(FindingKind::Misaligned, Some(lane as u32), at.into(), message) != Flow::Next {
                    return Flow::Fault;
                }
            }
        }
        let mode = w.mode;
        let read = |at: u32| match words {
            1 => lds.load32(at).map(u64::from),
            _ => lds.load(at).map(u64::from_le_bytes),
        };
        let (data, old) = (read(from[lane]), read(to[lane]));
        for (at, _) in [(from[lane], data), (to[lane], old)].into_iter().filter(|(_, found)| found.is_none()) {
            outside(w, 1 << lane, &[at; 64]);
        }
        let (Some(old), data) = (old, data.unwrap_or(0)) else { continue };
        if words == 1 {
            lds.store32(to[lane], combine32(mode, atomic, old as u32, data as u32, 0));
        } else {
            lds.store(to[lane], combine64(mode, atomic, old, data, 0).to_le_bytes());
        }
    }
    Flow::Next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_saying_where_b_is() {
        assert_eq!(places(0x40, 3), (0x40, 0x4c));
        assert_eq!(places(0x40, 0x7fff), (0x40, 0x3c));
        assert_eq!(places(0x10000, 0x4000), (0x10000, 0));
        assert_eq!(places(5 << 17 | 0x1_0010, 0x8000), (0x1_0010, 0x1_0024));
        assert_eq!(places((-2i32 as u32) << 17 | 0x40, 0xffff), (0x40, 0x38));
    }
}
