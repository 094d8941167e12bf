//! Scalar moves, selections and bitwise logic, and the logic that also writes EXEC.

use super::{next, s32, s64, set32};
use crate::op::{Handler, Op};
use crate::wave::{Wave, scalar};

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

pub(super) fn lookup(base: &str) -> Option<Handler> {
    match base {
        "s_mov_b32" => next!(|w, op| set32(w, op, s32(w, op, 0))),
        "s_mov_b64" => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0))),
        "s_movk_i32" => next!(|w, op| set32(w, op, op.imm as u32)),
        "s_cmov_b32" => next!(|w, op| if w.scc() {
            set32(w, op, s32(w, op, 0))
        }),
        "s_cmov_b64" => next!(|w, op| if w.scc() {
            w.set_s64(op.sdst, s64(w, op, 0))
        }),
        "s_cmovk_i32" => next!(|w, op| if w.scc() {
            set32(w, op, op.imm as u32)
        }),
        "s_cselect_b32" => next!(|w, op| set32(w, op, if w.scc() { s32(w, op, 0) } else { s32(w, op, 1) })),
        "s_cselect_b64" => {
            next!(|w, op| w.set_s64(op.sdst, if w.scc() { s64(w, op, 0) } else { s64(w, op, 1) }))
        }
        "s_and_b32" => next!(|w, op| logic32(w, op, |a, b| a & b)),
        "s_or_b32" => next!(|w, op| logic32(w, op, |a, b| a | b)),
        "s_xor_b32" => next!(|w, op| logic32(w, op, |a, b| a ^ b)),
        "s_andn2_b32" => next!(|w, op| logic32(w, op, |a, b| a & !b)),
        "s_orn2_b32" => next!(|w, op| logic32(w, op, |a, b| a | !b)),
        "s_nand_b32" => next!(|w, op| logic32(w, op, |a, b| !(a & b))),
        "s_nor_b32" => next!(|w, op| logic32(w, op, |a, b| !(a | b))),
        "s_xnor_b32" => next!(|w, op| logic32(w, op, |a, b| !(a ^ b))),
        "s_and_b64" => next!(|w, op| logic64(w, op, |a, b| a & b)),
        "s_or_b64" => next!(|w, op| logic64(w, op, |a, b| a | b)),
        "s_xor_b64" => next!(|w, op| logic64(w, op, |a, b| a ^ b)),
        "s_andn2_b64" => next!(|w, op| logic64(w, op, |a, b| a & !b)),
        "s_orn2_b64" => next!(|w, op| logic64(w, op, |a, b| a | !b)),
        "s_nand_b64" => next!(|w, op| logic64(w, op, |a, b| !(a & b))),
        "s_nor_b64" => next!(|w, op| logic64(w, op, |a, b| !(a | b))),
        "s_xnor_b64" => next!(|w, op| logic64(w, op, |a, b| !(a ^ b))),
        "s_not_b32" => next!(|w, op| {
            let v = !s32(w, op, 0);
            set32(w, op, v);
            w.set_scc(v != 0)
        }),
        "s_not_b64" => next!(|w, op| {
            let v = !s64(w, op, 0);
            w.set_s64(op.sdst, v);
            w.set_scc(v != 0)
        }),
        "s_wqm_b32" => next!(|w, op| {
            let v = wqm(s32(w, op, 0).into()) as u32;
            set32(w, op, v);
            w.set_scc(v != 0)
        }),
        "s_wqm_b64" => next!(|w, op| {
            let v = wqm(s64(w, op, 0));
            w.set_s64(op.sdst, v);
            w.set_scc(v != 0)
        }),
        "s_quadmask_b32" => next!(|w, op| {
            let v = quadmask(s32(w, op, 0).into(), 32) as u32;
            set32(w, op, v);
            w.set_scc(v != 0)
        }),
        "s_quadmask_b64" => next!(|w, op| {
            let v = quadmask(s64(w, op, 0), 64);
            w.set_s64(op.sdst, v);
            w.set_scc(v != 0)
        }),
        "s_and_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| s & e)),
        "s_or_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| s | e)),
        "s_xor_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| s ^ e)),
        "s_andn1_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| !s & e)),
        "s_andn2_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| s & !e)),
        "s_orn1_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| !s | e)),
        "s_orn2_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| s | !e)),
        "s_nand_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| !(s & e))),
        "s_nor_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| !(s | e))),
        "s_xnor_saveexec_b64" => next!(|w, op| saveexec(w, op, |s, e| !(s ^ e))),
        "s_andn1_wrexec_b64" => next!(|w, op| wrexec(w, op, |s, e| !s & e)),
        "s_andn2_wrexec_b64" => next!(|w, op| wrexec(w, op, |s, e| s & !e)),
        "s_and_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| s & e)),
        "s_or_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| s | e)),
        "s_xor_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| s ^ e)),
        "s_andn1_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| !s & e)),
        "s_andn2_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| s & !e)),
        "s_orn1_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| !s | e)),
        "s_orn2_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| s | !e)),
        "s_nand_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| !(s & e))),
        "s_nor_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| !(s | e))),
        "s_xnor_saveexec_b32" => next!(|w, op| saveexec32(w, op, |s, e| !(s ^ e))),
        "s_andn1_wrexec_b32" => next!(|w, op| wrexec32(w, op, |s, e| !s & e)),
        "s_andn2_wrexec_b32" => next!(|w, op| wrexec32(w, op, |s, e| s & !e)),
        "s_movrelsd_2_b32" => next!(|w, op| {
            let m0 = w.s[usize::from(scalar::M0)] as usize;
            let place = |code: usize, by: usize| (code + (by & 0x3ff)).min(usize::from(scalar::EXEC));
            let (from, to) = (place(usize::from(op.src[0] & 255), m0), place(usize::from(op.sdst), m0 >> 16));
            w.s[to] = w.s[from]
        }),
        "s_movrels_b32" => next!(|w, op| {
            let from = indexed(w, usize::from(op.src[0] & 255));
            set32(w, op, w.s[from])
        }),
        "s_movrels_b64" => next!(|w, op| {
            let from = indexed(w, usize::from(op.src[0] & 255));
            w.set_s64(op.sdst, w.s64(from as u8))
        }),
        "s_movreld_b32" => next!(|w, op| {
            let to = indexed(w, usize::from(op.sdst));
            w.s[to] = s32(w, op, 0)
        }),
        "s_movreld_b64" => next!(|w, op| {
            let to = indexed(w, usize::from(op.sdst));
            w.set_s64(to as u8, s64(w, op, 0))
        }),
        _ => None,
    }
}
