//! Which counters an instruction is counted by, and which ones it waits for.

use luthier_isa::{Field, Flags, Generation, Inst, Reg};

use super::waits::{ASYNC, Counters, LDS, LOADS, OWN_ORDER, SCALAR, STORES, TENSOR, Wait};

/// The counters that an instruction raises.
pub fn counters(inst: &Inst) -> Counters {
    let info = inst.info();
    let generation = info.mode.target().generation();
    let flag = |f| info.flags.contains(f);
    let is_rdna = !generation.is_gfx9_family();
    let writes_back = matches!(info.base, "global_wb" | "global_wbinv");
    let returns = flag(Flags::ATOMIC_RETURN) && !inst.discards_result();
    let stores = flag(Flags::STORE) && !returns || writes_back;
    let memory = match () {
        () if !flag(Flags::VM_CNT) => 0,
        () if is_rdna && stores => STORES,
        () => LOADS,
    };
    let scalar_apart = matches!(generation, Generation::Gfx12 | Generation::Gfx1250);
    let lds = match () {
        () if scalar_apart && flag(Flags::SMEM) => SCALAR,
        // A load straight into LDS counts as the vector memory access that it is, and there alone (LLVM's
        // SIInsertWaitcnts waits with vmcnt for what it writes).
        () if flag(Flags::VMEM) && info.implicit_reads.contains(&Reg::M0) => 0,
        () if flag(Flags::LGKM_CNT) => LDS,
        () => 0,
    };
    // Between memory and LDS, without registers.
    let moves = match info.base {
        "tensor_load_to_lds" | "tensor_store_from_lds" => TENSOR,
        base if base.contains("_async_to_lds") || base.contains("_async_from_lds") => ASYNC,
        "ds_atomic_async_barrier_arrive_b64" => ASYNC,
        _ => 0,
    };
    memory | lds | moves
}

/// The order of completion among what one counter counts.
pub fn order(inst: &Inst) -> u8 {
    if inst.info().base.contains("_async_from_lds") { OWN_ORDER } else { 0 }
}

/// Whether an instruction lets no DS operation remain.
pub fn waits_for_ds(inst: &Inst) -> bool {
    wait(inst).is_some_and(|wait| wait.counters & LDS != 0 && wait.limits[LDS.trailing_zeros() as usize] == 0)
}

/// What an instruction waits for.
pub fn wait(inst: &Inst) -> Option<Wait> {
    let info = inst.info();
    let simm = inst.field(Field::Simm16).unwrap_or(0);
    let all = Wait { counters: LOADS | LDS | STORES | SCALAR | ASYNC | TENSOR, ..Wait::default() };
    // A register besides the immediate says what only the wave knows; compilers name `null`.
    let fixed = !matches!(inst.operand_in(Field::Sdst), Some(luthier_isa::Operand::Reg(_)));
    let one = |counter| Some(Wait::of(counter, simm & 0x3f));
    match info.base {
        "s_waitcnt" => {
            let (loads, lds) = match info.mode.target().generation() {
                // expcnt [2:0], lgkmcnt [9:4], vmcnt [15:10]
                Generation::Gfx11 => (simm >> 10 & 0x3f, simm >> 4 & 0x3f),
                // vmcnt [15:14] and [3:0], expcnt [6:4], lgkmcnt [13:8]
                Generation::Gfx10 => (simm & 15 | simm >> 10 & 0x30, simm >> 8 & 0x3f),
                // The same with two bits less of lgkmcnt.
                _ => (simm & 15 | simm >> 10 & 0x30, simm >> 8 & 15),
            };
            Some(Wait::of(LOADS, loads).and(Wait::of(LDS, lds)))
        }
        "s_waitcnt_vscnt" if fixed => one(STORES),
        "s_waitcnt_vmcnt" if fixed => one(LOADS),
        "s_waitcnt_lgkmcnt" if fixed => one(LDS),
        "s_wait_loadcnt" => one(LOADS),
        "s_wait_storecnt" => one(STORES),
        "s_wait_dscnt" => one(LDS),
        "s_wait_asynccnt" => one(ASYNC),
        "s_wait_tensorcnt" => one(TENSOR),
        "s_wait_kmcnt" => one(SCALAR),
        "s_wait_loadcnt_dscnt" => Some(Wait::of(LOADS, simm >> 8 & 0x3f).and(Wait::of(LDS, simm & 0x3f))),
        "s_wait_storecnt_dscnt" => Some(Wait::of(STORES, simm >> 8 & 0x3f).and(Wait::of(LDS, simm & 0x3f))),
        "s_wait_idle" => Some(all),
        _ => None,
    }
}
