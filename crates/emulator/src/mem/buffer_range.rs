//! Strict mode's `buffer-range`: accesses outside of a buffer whose size its descriptor does not say.
//!
//! The hardware loads zeros from outside of a buffer, and drops what is stored there. A program that writes the size of its
//! array into the descriptor may mean just that, so those accesses are no finding. Triton writes 0x7ffffffe for every pointer,
//! others all ones: as much as an offset reaches. Then an offset beyond it is a mistake: an index below zero, or a product that
//! has wrapped. But one offset is how lanes are masked out: 0x80000000 (Triton's, Tensile's), and all ones where the
//! descriptor allows for more than that.

use super::Action;
use super::buffer::Resource;
use crate::masks::lanes;
use crate::op::Op;
use crate::report::FindingKind;
use crate::wave::Wave;

/// The least number of bytes that says nothing of the buffer's size.
const OPEN: u64 = 0x7fff_fffe;
/// The offset of a lane that is masked out.
const MASK: u64 = 0x8000_0000;
/// Another one, where `MASK` is within the buffer.
const ALL_ONES: u64 = 0xffff_ffff;

/// Reports the lanes that are outside and not masked out. `offset` is with the instruction's own.
#[cold]
pub fn report(
    w: &mut Wave,
    op: &Op,
    action: Action,
    resource: &Resource,
    offset: &[u64; 64],
    soffset: u64,
    outside: u64,
) {
    let (Some(records), Some(strict)) = (resource.plain_bytes().filter(|bytes| *bytes >= OPEN), &mut w.strict) else {
        return;
    };
    let masked = |lane: usize| {
        let given = offset[lane] - op.imm;
        given == MASK || given == ALL_ONES && records > MASK
    };
    // Where the program meant to be, if the offset is taken for a signed one.
    let meant = |lane: usize| resource.start(soffset).wrapping_add_signed((offset[lane] as u32 as i32).into());
    let mut wrong = lanes(outside).filter(|&lane| !masked(lane));
    let Some(first) = wrong.next() else { return };
    let (what, then) = match action {
        Action::Load(_) => ("load", "it loads zeros"),
        Action::Store(_) => ("store", "it stores nothing"),
        Action::Atomic(..) => ("atomic", "it does nothing"),
    };
    let at = offset[first];
    let message = format!("a buffer {what} at offset {at:#x}, beyond the {records:#x} bytes of the buffer: {then}");
    strict.report(FindingKind::BufferRange, Some(first as u32), Some(meant(first)), message);
    let others: Vec<_> = wrong.map(|lane| (lane as u32, Some(meant(lane)))).collect();
    strict.report_more(FindingKind::BufferRange, others.into_iter());
}
