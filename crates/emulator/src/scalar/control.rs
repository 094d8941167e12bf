//! Control flow, waits, messages and everything else that changes how a wave goes on.

use super::{getreg, next, s32, s64, set32, setreg};
use crate::error::FaultKind;
use crate::op::{Flow, Handler, Op};
use crate::wave::{Wave, scalar};

fn branch(taken: bool) -> Flow {
    if taken { Flow::Taken } else { Flow::Fall }
}

fn jump(w: &mut Wave, to: u64) -> Flow {
    w.pc = to;
    Flow::Jump
}

macro_rules! flow {
    (|$w:ident, $op:ident| $body:expr) => {{
        fn run($w: &mut Wave, $op: &Op) -> Flow {
            $body
        }
        Some(run as Handler)
    }};
}

pub(super) fn lookup(base: &str) -> Option<Handler> {
    match base {
        "s_branch" => flow!(|_w, _op| Flow::Taken),
        "s_cbranch_scc0" => flow!(|w, _op| branch(!w.scc())),
        "s_cbranch_scc1" => flow!(|w, _op| branch(w.scc())),
        "s_cbranch_vccz" => flow!(|w, _op| branch(w.vcc() == 0)),
        "s_cbranch_vccnz" => flow!(|w, _op| branch(w.vcc() != 0)),
        "s_cbranch_execz" => flow!(|w, _op| branch(w.exec() == 0)),
        "s_cbranch_execnz" => flow!(|w, _op| branch(w.exec() != 0)),
        // No debugger is attached: the debug conditions are false.
        "s_cbranch_cdbgsys" | "s_cbranch_cdbguser" | "s_cbranch_cdbgsys_or_user" | "s_cbranch_cdbgsys_and_user" => {
            flow!(|_w, _op| Flow::Fall)
        }
        // The lowering puts the address of the next instruction into imm2.
        "s_getpc_b64" => next!(|w, op| w.set_s64(op.sdst, op.imm2)),
        "s_setpc_b64" => flow!(|w, op| {
            let to = s64(w, op, 0);
            jump(w, to)
        }),
        "s_swappc_b64" => flow!(|w, op| {
            let to = s64(w, op, 0);
            w.set_s64(op.sdst, op.imm2);
            jump(w, to)
        }),
        "s_call_b64" => flow!(|w, op| {
            w.set_s64(op.sdst, op.imm2);
            Flow::Taken
        }),
        "s_endpgm" | "s_endpgm_saved" | "s_endpgm_ordered_ps_done" => flow!(|_w, _op| Flow::End),
        "s_barrier" => flow!(|_w, _op| Flow::Barrier),
        "s_sleep" => flow!(|_w, _op| Flow::Yield),
        // Memory operations complete at once and results are there; strict mode has its own micro-ops for waits.
        "s_nop" | "s_waitcnt" | "s_setprio" | "s_icache_inv" | "s_incperflevel" | "s_decperflevel" | "s_ttracedata"
        | "s_inst_prefetch" | "s_sethalt" | "s_wakeup" => next!(|_w, _op| ()),
        "s_trap" => flow!(|w, op| {
            w.fault(FaultKind::Unsupported, format!("trap {} is raised (2 is llvm.trap, 3 a debug trap)", op.imm & 255))
        }),
        "s_sendmsg" | "s_sendmsghalt" => flow!(|w, op| {
            match op.imm & 15 {
                // Deallocating VGPRs, and interrupts to a host that does not listen.
                0 | 1 | 3 => Flow::Next,
                other => {
                    w.fault(FaultKind::Unsupported, format!("message {other} is not one that a compute wave sends"))
                }
            }
        }),
        "s_getreg_b32" => flow!(|w, op| match getreg(w, op.imm) {
            Ok(value) => {
                set32(w, op, value);
                Flow::Next
            }
            Err(id) => w.fault(FaultKind::Unsupported, format!("hardware register {id} is not modelled")),
        }),
        "s_setreg_b32" | "s_setreg_imm32_b32" => flow!(|w, op| {
            let value = s32(w, op, 0);
            match setreg(w, op.imm, value) {
                Ok(()) => Flow::Next,
                Err(id) => w.fault(FaultKind::Unsupported, format!("hardware register {id} is not modelled")),
            }
        }),
        // The lowering knows the mode from the instruction itself; M0 keeps it in bits 15 to 12.
        "s_set_gpr_idx_on" => next!(|w, op| {
            let m0 = usize::from(scalar::M0);
            w.s[m0] = w.s[m0] & !0xf0ff | s32(w, op, 0) & 255 | ((op.imm as u32 & 15) << 12)
        }),
        "s_set_gpr_idx_idx" => next!(|w, op| {
            let m0 = usize::from(scalar::M0);
            w.s[m0] = w.s[m0] & !255 | s32(w, op, 0) & 255
        }),
        "s_set_gpr_idx_mode" => next!(|w, op| {
            let m0 = usize::from(scalar::M0);
            w.s[m0] = w.s[m0] & !0xf000 | ((op.imm as u32 & 15) << 12)
        }),
        "s_set_gpr_idx_off" => next!(|_w, _op| ()),
        _ => None,
    }
}
