//! 64-bit integer operations, and the sums of absolute differences over 64-bit sources.

use luthier_isa::op::Op as IsaOp;

use super::int32::{masked_abs_diff_bytes, sad_u8};
use super::op;
use super::shapes::{mask, read64, write64};
use crate::op::{Flow, Op, OpFlags};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

/// dst:64 = f(src1:64, src0), the order of the reversed shifts.
#[inline(always)]
fn shift(w: &mut Wave, op: &Op, f: impl Fn(u64, u32) -> u64) -> Flow {
    let b = read64(w, op.src[1]);
    let mut out = [0; 64];
    let a = w.row(op.src[0]);
    for i in 0..64 {
        out[i] = f(b[i], a.0[i] & 63);
    }
    write64(w, op.dst, &out);
    Flow::Next
}

/// dst:64 = (src0:64 << src1:32) + src2:64, by 7 at most.
#[inline(always)]
fn lshl_add(w: &mut Wave, op: &Op) -> Flow {
    let (a, c) = (read64(w, op.src[0]), read64(w, op.src[2]));
    let mut out = [0; 64];
    let by = w.row(op.src[1]);
    for i in 0..64 {
        out[i] = (a[i] << (by.0[i] & 7)).wrapping_add(c[i]);
    }
    write64(w, op.dst, &out);
    Flow::Next
}

/// dst:64, sdst = f(src0:32, src1:32, src2:64), the carry in the lanes of EXEC.
#[inline(always)]
fn mad64(w: &mut Wave, op: &Op, saturate: impl Fn(u64) -> u64, f: impl Fn(u32, u32, u64) -> (u64, bool)) -> Flow {
    let c = read64(w, op.src[2]);
    let (mut out, mut carry) = ([0; 64], [0; 64]);
    let clamp = op.flags.contains(OpFlags::CLAMP);
    let (a, b) = (w.row(op.src[0]), w.row(op.src[1]));
    for i in 0..64 {
        let (value, over) = f(a.0[i], b.0[i], c[i]);
        out[i] = if clamp & over { saturate(c[i]) } else { value };
        carry[i] = u32::from(over);
    }
    write64(w, op.dst, &out);
    let mask = mask(&carry) & w.exec();
    w.set_mask(op.sdst, mask);
    Flow::Next
}

/// Four sums of absolute differences at byte offsets 0 to 3 of a 64-bit source, accumulated in 16 bits each.
#[inline(always)]
fn quad(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) -> Flow {
    let (a, c) = (read64(w, op.src[0]), read64(w, op.src[2]));
    let clamp = op.flags.contains(OpFlags::CLAMP);
    let mut out = [0; 64];
    let b = w.row(op.src[1]);
    for i in 0..64 {
        for k in 0..4 {
            let sum = f((a[i] >> (8 * k)) as u32, b.0[i]) + ((c[i] >> (16 * k)) as u32 & 0xffff);
            let sum = if clamp { sum.min(0xffff) } else { sum & 0xffff };
            out[i] |= u64::from(sum) << (16 * k);
        }
    }
    write64(w, op.dst, &out);
    Flow::Next
}

/// As [`quad`], accumulated in 32 bits each: the destination is four rows.
#[inline(always)]
fn quad32(w: &mut Wave, op: &Op) -> Flow {
    let a = read64(w, op.src[0]);
    let clamp = op.flags.contains(OpFlags::CLAMP);
    let mut out = [Row::ZERO; 4];
    for (k, row) in out.iter_mut().enumerate() {
        let (b, c) = (w.row(op.src[1]), w.row(op.src[2] + k as u16));
        for i in 0..64 {
            let sum = masked_abs_diff_bytes((a[i] >> (8 * k)) as u32, b.0[i]);
            row.0[i] = if clamp { sum.saturating_add(c.0[i]) } else { sum.wrapping_add(c.0[i]) };
        }
    }
    for (k, row) in out.iter().enumerate() {
        w.write(op.dst + k as u16, row);
    }
    Flow::Next
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VMovB64 => op!(w, o => { let a = read64(w, o.src[0]); write64(w, o.dst, &a); Flow::Next }),
        IsaOp::VLshlAddU64 => op!(w, o => lshl_add(w, o)),
        IsaOp::VLshlrevB64 => op!(w, o => shift(w, o, |x, n| x << n)),
        IsaOp::VLshrrevB64 => op!(w, o => shift(w, o, |x, n| x >> n)),
        IsaOp::VAshrrevI64 => op!(w, o => shift(w, o, |x, n| (x as i64 >> n) as u64)),
        IsaOp::VMadU64U32 => {
            op!(w, o => mad64(w, o, |_| !0, |a, b, c| (u64::from(a) * u64::from(b)).overflowing_add(c)))
        }
        // The carry is bit 64 of the 65-bit signed sum: its sign.
        IsaOp::VMadI64I32 => op!(w, o => {
            let clamp = o.flags.contains(OpFlags::CLAMP);
            mad64(w, o, |c| if (c as i64) < 0 { 1 << 63 } else { (1 << 63) - 1 }, |a, b, c| {
                let product = i64::from(a as i32) * i64::from(b as i32);
                let (sum, over) = product.overflowing_add(c as i64);
                (sum as u64, if clamp { over } else { over ^ (sum < 0) })
            })
        }),
        IsaOp::VQsadPkU16U8 => op!(w, o => quad(w, o, sad_u8)),
        IsaOp::VMqsadPkU16U8 => op!(w, o => quad(w, o, masked_abs_diff_bytes)),
        IsaOp::VMqsadU32U8 => op!(w, o => quad32(w, o)),
        _ => return None,
    })
}
