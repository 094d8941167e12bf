//! Control flow, waits, messages and everything else that changes how a wave goes on.

use luthier_isa::op::Op as IsaOp;

use super::{getreg, next, s32, s64, set32, setreg};
use crate::error::FaultKind;
use crate::hostcall::HostCalls;
use crate::memory::Recent;
use crate::mode::Mode;
use crate::op::{Flow, Handler, Op};
use crate::registers::scalar;
use crate::wave::Wave;

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
pub fn is_idle(op: IsaOp) -> bool {
    matches!(
        op,
        IsaOp::SNop | IsaOp::SWaitcnt | IsaOp::SSetprio | IsaOp::SIcacheInv | IsaOp::SIncperflevel | IsaOp::SDecperflevel | IsaOp::STtracedata | IsaOp::SInstPrefetch | IsaOp::SSethalt | IsaOp::SWakeup | IsaOp::SClause | IsaOp::SDelayAlu | IsaOp::SVersion | IsaOp::SWaitcntDepctr | IsaOp::SWaitcntVscnt | IsaOp::SWaitcntVmcnt | IsaOp::SWaitcntExpcnt | IsaOp::SWaitcntLgkmcnt | IsaOp::SWaitIdle | IsaOp::SWaitEvent | IsaOp::STtracedataImm | IsaOp::SWaitLoadcnt | IsaOp::SWaitStorecnt | IsaOp::SWaitSamplecnt | IsaOp::SWaitBvhcnt | IsaOp::SWaitExpcnt | IsaOp::SWaitDscnt | IsaOp::SWaitKmcnt | IsaOp::SWaitLoadcntDscnt | IsaOp::SWaitStorecntDscnt | IsaOp::SWaitXcnt | IsaOp::SWaitAsynccnt | IsaOp::SWaitTensorcnt | IsaOp::SSetprioIncWg | IsaOp::SSetVgprMsb
            // It wakes waves of a barrier that sleep; here none sleeps longer than until its next turn.
            | IsaOp::SWakeupBarrier
    )
}

pub(super) fn lookup(op: IsaOp) -> Option<Handler> {
    match op {
        IsaOp::SBranch => flow!(|_w, _op| Flow::Taken),
        IsaOp::SCbranchScc0 => flow!(|w, _op| branch(!w.scc())),
        IsaOp::SCbranchScc1 => flow!(|w, _op| branch(w.scc())),
        IsaOp::SCbranchVccz => flow!(|w, _op| branch(w.vcc() == 0)),
        IsaOp::SCbranchVccnz => flow!(|w, _op| branch(w.vcc() != 0)),
        IsaOp::SCbranchExecz => flow!(|w, _op| branch(w.exec() == 0)),
        IsaOp::SCbranchExecnz => flow!(|w, _op| branch(w.exec() != 0)),
        // No debugger is attached: the debug conditions are false.
        IsaOp::SCbranchCdbgsys
        | IsaOp::SCbranchCdbguser
        | IsaOp::SCbranchCdbgsysOrUser
        | IsaOp::SCbranchCdbgsysAndUser => {
            flow!(|_w, _op| Flow::Fall)
        }
        // The lowering puts the address of the next instruction into imm2.
        IsaOp::SGetpcB64 => next!(|w, op| w.set_s64(op.sdst, op.imm2)),
        IsaOp::SSetpcB64 => flow!(|w, op| {
            let to = s64(w, op, 0);
            jump(w, to)
        }),
        IsaOp::SSwappcB64 => flow!(|w, op| {
            let to = s64(w, op, 0);
            w.set_s64(op.sdst, op.imm2);
            jump(w, to)
        }),
        IsaOp::SAddPcI64 => flow!(|w, op| {
            let by = s64(w, op, 0);
            jump(w, op.imm2.wrapping_add(by))
        }),
        IsaOp::SCallB64 => flow!(|w, op| {
            w.set_s64(op.sdst, op.imm2);
            Flow::Taken
        }),
        IsaOp::SEndpgm | IsaOp::SEndpgmSaved | IsaOp::SEndpgmOrderedPsDone => flow!(|_w, _op| Flow::End),
        IsaOp::SBarrier => flow!(|w, _op| {
            w.barrier.wait_for_all(w.place.wave_in_group);
            Flow::Barrier
        }),
        IsaOp::SSleep | IsaOp::SSleepVar | IsaOp::SMonitorSleep => flow!(|_w, _op| Flow::Yield),
        // As AMD's runtime has its trap handler: 3, a debug trap, returns at once where there is no debugger.
        IsaOp::STrap => flow!(|w, op| match op.imm & 255 {
            3 => Flow::Next,
            2 => {
                let trap = "trap 2 is raised: llvm.trap, which aborts the queue";
                let said = w.memory.calls().and_then(HostCalls::last_words);
                w.fault(FaultKind::Trap, said.map_or(trap.to_owned(), |said| format!("{said} ({trap})")))
            }
            other => w.fault(FaultKind::Trap, format!("trap {other} is raised, which is a debugger's")),
        }),
        // The KILL bit.
        IsaOp::SSetkill => flow!(|_w, op| if op.imm & 1 != 0 { Flow::End } else { Flow::Fall }),
        IsaOp::SAllocVgpr => next!(|w, op| {
            let wanted = s32(w, op, 0) & 0x1ff;
            w.allocate_vgprs(wanted);
        }),
        IsaOp::SSendmsg | IsaOp::SSendmsghalt => flow!(|w, op| {
            match op.imm & 15 {
                1 => {
                    if let Some(host) = w.memory.host() {
                        host.interrupt();
                    }
                    match w.memory.calls().map_or(Ok(()), |calls| calls.serve(&w.memory)) {
                        Ok(()) => {
                            // A block that it has touched may be gone.
                            w.recent = Recent::NONE;
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
        IsaOp::SGetShaderCyclesU64 => next!(|w, op| w.set_s64(op.sdst, crate::mem::smem::nanoseconds())),
        IsaOp::SRoundMode => next!(|w, op| w.mode = Mode(w.mode.0 & !15 | op.imm as u32 & 15)),
        IsaOp::SDenormMode => next!(|w, op| w.mode = Mode(w.mode.0 & !0xf0 | (op.imm as u32 & 15) << 4)),
        // The lowering puts the message into imm2 and the width of the answer into imm.
        IsaOp::SSendmsgRtnB32 | IsaOp::SSendmsgRtnB64 => flow!(|w, op| match op.imm2 & 0xff {
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
        IsaOp::SGetregB32 => flow!(|w, op| match getreg(w, op.imm) {
            Ok(value) => {
                set32(w, op, value);
                Flow::Next
            }
            Err(id) => w.fault(FaultKind::Unsupported, format!("hardware register {id} is not modelled")),
        }),
        IsaOp::SSetregB32 | IsaOp::SSetregImm32B32 => flow!(|w, op| {
            let value = s32(w, op, 0);
            match setreg(w, op.imm, value) {
                Ok(()) => Flow::Next,
                Err(id) => w.fault(FaultKind::Unsupported, format!("hardware register {id} is not modelled")),
            }
        }),
        // The lowering knows the mode from the instruction itself; M0 keeps it in bits 15 to 12.
        IsaOp::SSetGprIdxOn => next!(|w, op| {
            let m0 = usize::from(scalar::M0);
            w.s[m0] = w.s[m0] & !0xf0ff | s32(w, op, 0) & 255 | ((op.imm as u32 & 15) << 12)
        }),
        IsaOp::SSetGprIdxIdx => next!(|w, op| {
            let m0 = usize::from(scalar::M0);
            w.s[m0] = w.s[m0] & !255 | s32(w, op, 0) & 255
        }),
        IsaOp::SSetGprIdxMode => next!(|w, op| {
            let m0 = usize::from(scalar::M0);
            w.s[m0] = w.s[m0] & !0xf000 | ((op.imm as u32 & 15) << 12)
        }),
        IsaOp::SSetGprIdxOff => next!(|_w, _op| ()),
        op if is_idle(op) => next!(|_w, _op| ()),
        _ => super::barrier::lookup(op).or_else(|| super::fork::lookup(op)),
    }
}
