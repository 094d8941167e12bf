//! Control flow, waits, messages and everything else that changes how a wave goes on.

use super::{getreg, next, s32, s64, set32, setreg};
use crate::error::FaultKind;
use crate::hostcall::HostCalls;
use crate::memory::Span;
use crate::mode::Mode;
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

/// Whether an operation has nothing to do here: memory operations complete at once and results are there; strict mode has
/// its own micro-ops for waits.
pub fn is_idle(base: &str) -> bool {
    matches!(
        base,
        "s_nop"
            | "s_waitcnt"
            | "s_setprio"
            | "s_icache_inv"
            | "s_incperflevel"
            | "s_decperflevel"
            | "s_ttracedata"
            | "s_inst_prefetch"
            | "s_sethalt"
            | "s_wakeup"
            | "s_set_inst_prefetch_distance"
            | "s_clause"
            | "s_delay_alu"
            | "s_version"
            | "s_waitcnt_depctr"
            | "s_waitcnt_vscnt"
            | "s_waitcnt_vmcnt"
            | "s_waitcnt_expcnt"
            | "s_waitcnt_lgkmcnt"
            | "s_wait_idle"
            | "s_wait_event"
            | "s_ttracedata_imm"
            | "s_wait_alu"
            | "s_wait_loadcnt"
            | "s_wait_storecnt"
            | "s_wait_samplecnt"
            | "s_wait_bvhcnt"
            | "s_wait_expcnt"
            | "s_wait_dscnt"
            | "s_wait_kmcnt"
            | "s_wait_loadcnt_dscnt"
            | "s_wait_storecnt_dscnt"
            | "s_wait_xcnt"
            | "s_wait_asynccnt"
            | "s_wait_tensorcnt"
            | "s_setprio_inc_wg"
            | "s_set_vgpr_msb"
            // It wakes waves of a barrier that sleep; here none sleeps longer than until its next turn.
            | "s_wakeup_barrier"
    )
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
        "s_add_pc_i64" => flow!(|w, op| {
            let by = s64(w, op, 0);
            jump(w, op.imm2.wrapping_add(by))
        }),
        "s_call_b64" => flow!(|w, op| {
            w.set_s64(op.sdst, op.imm2);
            Flow::Taken
        }),
        "s_endpgm" | "s_endpgm_saved" | "s_endpgm_ordered_ps_done" => flow!(|_w, _op| Flow::End),
        "s_barrier" => flow!(|w, _op| {
            w.barrier.wait_for_all(w.place.wave_in_group);
            Flow::Barrier
        }),
        "s_sleep" | "s_sleep_var" | "s_monitor_sleep" => flow!(|_w, _op| Flow::Yield),
        // As AMD's runtime has its trap handler: 3, a debug trap, returns at once where there is no debugger.
        "s_trap" => flow!(|w, op| match op.imm & 255 {
            3 => Flow::Next,
            2 => {
                let trap = "trap 2 is raised: llvm.trap, which aborts the queue";
                let said = w.memory.calls().and_then(HostCalls::last_words);
                w.fault(FaultKind::Trap, said.map_or(trap.to_owned(), |said| format!("{said} ({trap})")))
            }
            other => w.fault(FaultKind::Trap, format!("trap {other} is raised, which is a debugger's")),
        }),
        // The KILL bit.
        "s_setkill" => flow!(|_w, op| if op.imm & 1 != 0 { Flow::End } else { Flow::Fall }),
        "s_alloc_vgpr" => next!(|w, op| {
            let wanted = s32(w, op, 0) & 0x1ff;
            w.allocate_vgprs(wanted);
        }),
        "s_sendmsg" | "s_sendmsghalt" => flow!(|w, op| {
            match op.imm & 15 {
                1 => {
                    if let Some(host) = w.memory.host() {
                        host.interrupt();
                    }
                    match w.memory.calls().map_or(Ok(()), |calls| calls.serve(&w.memory)) {
                        Ok(()) => {
                            // A block that it has touched may be gone.
                            w.span = Span::NONE;
                            Flow::Next
                        }
                        Err(message) => w.fault(FaultKind::Unsupported, message),
                    }
                }
                // Deallocating VGPRs.
                0 | 3 => Flow::Next,
                other => {
                    w.fault(FaultKind::Unsupported, format!("message {other} is not one that a compute wave sends"))
                }
            }
        }),
        "s_get_shader_cycles_u64" => next!(|w, op| w.set_s64(op.sdst, crate::mem::smem::nanoseconds())),
        "s_round_mode" => next!(|w, op| w.mode = Mode(w.mode.0 & !15 | op.imm as u32 & 15)),
        "s_denorm_mode" => next!(|w, op| w.mode = Mode(w.mode.0 & !0xf0 | (op.imm as u32 & 15) << 4)),
        // The lowering puts the message into imm2 and the width of the answer into imm.
        "s_sendmsg_rtn_b32" | "s_sendmsg_rtn_b64" => flow!(|w, op| match op.imm2 & 0xff {
            // GET_REALTIME, the 100 MHz clock.
            131 => {
                let now = crate::mem::smem::nanoseconds() / 10;
                if op.imm == 64 {
                    w.set_s64(op.sdst, now)
                } else {
                    set32(w, op, now as u32)
                }
                Flow::Next
            }
            other =>
                w.fault(FaultKind::Unsupported, format!("message {other} that asks for an answer is not modelled")),
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
        base if is_idle(base) => next!(|_w, _op| ()),
        _ => super::barrier::lookup(base).or_else(|| super::fork::lookup(base)),
    }
}
