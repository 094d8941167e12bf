//! Scalar moves, selections and bitwise logic, and the logic that also writes EXEC.

use luthier_isa::op::Op as IsaOp;

use super::{next, s32, s64, set32};
use crate::op::{Handler, Op};
use crate::registers::scalar;
use crate::wave::Wave;

fn logic32(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) {
    let value = f(s32(w, op, 0), s32(w, op, 1));
    set32(w, op, value);
    w.set_scc(value != 0);
}

fn logic64(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> u64) {
    let value = f(s64(w, op, 0), s64(w, op, 1));
    w.set_s64(op.sdst, value);
    w.set_scc(value != 0);
}

/// sdst = EXEC; EXEC = f(source, EXEC); SCC = EXEC is not zero.
fn saveexec(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> u64) {
    let (source, exec) = (s64(w, op, 0), w.s64(scalar::EXEC));
    let new = f(source, exec);
    w.set_s64(op.sdst, exec);
    w.set_s64(scalar::EXEC, new);
    w.set_scc(new != 0);
}

/// As [`saveexec`], of EXEC_LO.
fn saveexec32(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) {
    let (source, exec) = (s32(w, op, 0), w.s[usize::from(scalar::EXEC)]);
    let new = f(source, exec);
    set32(w, op, exec);
    w.s[usize::from(scalar::EXEC)] = new;
    w.set_scc(new != 0);
}

/// As [`wrexec`], of EXEC_LO.
fn wrexec32(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) {
    let new = f(s32(w, op, 0), w.s[usize::from(scalar::EXEC)]);
    w.s[usize::from(scalar::EXEC)] = new;
    set32(w, op, new);
    w.set_scc(new != 0);
}

/// EXEC = sdst = f(source, EXEC); SCC = it is not zero.
fn wrexec(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> u64) {
    let new = f(s64(w, op, 0), w.s64(scalar::EXEC));
    w.set_s64(scalar::EXEC, new);
    w.set_s64(op.sdst, new);
    w.set_scc(new != 0);
}

/// Every group of four bits becomes all ones if any of them is set.
fn wqm(v: u64) -> u64 {
    let any = v | v >> 1 | v >> 2 | v >> 3;
    (any & 0x1111_1111_1111_1111) * 15
}

/// One bit for each group of four: whether any of them is set.
fn quadmask(v: u64, bits: u32) -> u64 {
    (0..bits / 4).fold(0, |r, i| r | u64::from(v >> (4 * i) & 15 != 0) << i)
}

/// The register that M0 points `code` at.
fn indexed(w: &Wave, code: usize) -> usize {
    (code + w.s[usize::from(scalar::M0)] as usize).min(usize::from(scalar::EXEC))
}

pub(super) fn lookup(op: IsaOp) -> Option<Handler> {
    match op {
        IsaOp::SMovB32 => next!(|w, op| set32(w, op, s32(w, op, 0))),
        IsaOp::SMovB64 => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0))),
        IsaOp::SMovkI32 => next!(|w, op| set32(w, op, op.imm as u32)),
        IsaOp::SCmovB32 => next!(|w, op| if w.scc() {
            set32(w, op, s32(w, op, 0))
        }),
        IsaOp::SCmovB64 => next!(|w, op| if w.scc() {
            w.set_s64(op.sdst, s64(w, op, 0))
        }),
        IsaOp::SCmovkI32 => next!(|w, op| if w.scc() {
            set32(w, op, op.imm as u32)
        }),
        IsaOp::SCselectB32 => next!(|w, op| set32(w, op, if w.scc() { s32(w, op, 0) } else { s32(w, op, 1) })),
        IsaOp::SCselectB64 => {
            next!(|w, op| w.set_s64(op.sdst, if w.scc() { s64(w, op, 0) } else { s64(w, op, 1) }))
        }
        IsaOp::SAndB32 => next!(|w, op| logic32(w, op, |a, b| a & b)),
        IsaOp::SOrB32 => next!(|w, op| logic32(w, op, |a, b| a | b)),
        IsaOp::SXorB32 => next!(|w, op| logic32(w, op, |a, b| a ^ b)),
        IsaOp::SAndn2B32 => next!(|w, op| logic32(w, op, |a, b| a & !b)),
        IsaOp::SOrn2B32 => next!(|w, op| logic32(w, op, |a, b| a | !b)),
        IsaOp::SNandB32 => next!(|w, op| logic32(w, op, |a, b| !(a & b))),
        IsaOp::SNorB32 => next!(|w, op| logic32(w, op, |a, b| !(a | b))),
        IsaOp::SXnorB32 => next!(|w, op| logic32(w, op, |a, b| !(a ^ b))),
        IsaOp::SAndB64 => next!(|w, op| logic64(w, op, |a, b| a & b)),
        IsaOp::SOrB64 => next!(|w, op| logic64(w, op, |a, b| a | b)),
        IsaOp::SXorB64 => next!(|w, op| logic64(w, op, |a, b| a ^ b)),
        IsaOp::SAndn2B64 => next!(|w, op| logic64(w, op, |a, b| a & !b)),
        IsaOp::SOrn2B64 => next!(|w, op| logic64(w, op, |a, b| a | !b)),
        IsaOp::SNandB64 => next!(|w, op| logic64(w, op, |a, b| !(a & b))),
        IsaOp::SNorB64 => next!(|w, op| logic64(w, op, |a, b| !(a | b))),
        IsaOp::SXnorB64 => next!(|w, op| logic64(w, op, |a, b| !(a ^ b))),
        IsaOp::SNotB32 => next!(|w, op| {
            let v = !s32(w, op, 0);
            set32(w, op, v);
            w.set_scc(v != 0)
        }),
        IsaOp::SNotB64 => next!(|w, op| {
            let v = !s64(w, op, 0);
            w.set_s64(op.sdst, v);
            w.set_scc(v != 0)
        }),
        IsaOp::SWqmB32 => next!(|w, op| {
            let v = wqm(s32(w, op, 0).into()) as u32;
            set32(w, op, v);
            w.set_scc(v != 0)
        }),
        IsaOp::SWqmB64 => next!(|w, op| {
            let v = wqm(s64(w, op, 0));
            w.set_s64(op.sdst, v);
            w.set_scc(v != 0)
        }),
        IsaOp::SQuadmaskB32 => next!(|w, op| {
            let v = quadmask(s32(w, op, 0).into(), 32) as u32;
            set32(w, op, v);
            w.set_scc(v != 0)
        }),
        IsaOp::SQuadmaskB64 => next!(|w, op| {
            let v = quadmask(s64(w, op, 0), 64);
            w.set_s64(op.sdst, v);
            w.set_scc(v != 0)
        }),
        IsaOp::SAndSaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| s & e)),
        IsaOp::SOrSaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| s | e)),
        IsaOp::SXorSaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| s ^ e)),
        IsaOp::SAndn1SaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| !s & e)),
        IsaOp::SAndn2SaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| s & !e)),
        IsaOp::SOrn1SaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| !s | e)),
        IsaOp::SOrn2SaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| s | !e)),
        IsaOp::SNandSaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| !(s & e))),
        IsaOp::SNorSaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| !(s | e))),
        IsaOp::SXnorSaveexecB64 => next!(|w, op| saveexec(w, op, |s, e| !(s ^ e))),
        IsaOp::SAndn1WrexecB64 => next!(|w, op| wrexec(w, op, |s, e| !s & e)),
        IsaOp::SAndn2WrexecB64 => next!(|w, op| wrexec(w, op, |s, e| s & !e)),
        IsaOp::SAndSaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| s & e)),
        IsaOp::SOrSaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| s | e)),
        IsaOp::SXorSaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| s ^ e)),
        IsaOp::SAndn1SaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| !s & e)),
        IsaOp::SAndn2SaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| s & !e)),
        IsaOp::SOrn1SaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| !s | e)),
        IsaOp::SOrn2SaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| s | !e)),
        IsaOp::SNandSaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| !(s & e))),
        IsaOp::SNorSaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| !(s | e))),
        IsaOp::SXnorSaveexecB32 => next!(|w, op| saveexec32(w, op, |s, e| !(s ^ e))),
        IsaOp::SAndn1WrexecB32 => next!(|w, op| wrexec32(w, op, |s, e| !s & e)),
        IsaOp::SAndn2WrexecB32 => next!(|w, op| wrexec32(w, op, |s, e| s & !e)),
        IsaOp::SMovrelsd2B32 => next!(|w, op| {
            let m0 = w.s[usize::from(scalar::M0)] as usize;
            let place = |code: usize, by: usize| (code + (by & 0x3ff)).min(usize::from(scalar::EXEC));
            let (from, to) = (place(usize::from(op.src[0] & 255), m0), place(usize::from(op.sdst), m0 >> 16));
            w.s[to] = w.s[from]
        }),
        IsaOp::SMovrelsB32 => next!(|w, op| {
            let from = indexed(w, usize::from(op.src[0] & 255));
            set32(w, op, w.s[from])
        }),
        IsaOp::SMovrelsB64 => next!(|w, op| {
            let from = indexed(w, usize::from(op.src[0] & 255));
            w.set_s64(op.sdst, w.s64(from as u8))
        }),
        IsaOp::SMovreldB32 => next!(|w, op| {
            let to = indexed(w, usize::from(op.sdst));
            w.s[to] = s32(w, op, 0)
        }),
        IsaOp::SMovreldB64 => next!(|w, op| {
            let to = indexed(w, usize::from(op.sdst));
            w.set_s64(to as u8, s64(w, op, 0))
        }),
        _ => None,
    }
}
