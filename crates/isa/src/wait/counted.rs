//! Which counters an instruction counts on, and in which order what they count completes.

use super::Counter;
use crate::{Field, Flags, Format, Generation, Inst, Op};

/// A kind of operation. Those of one kind complete in the order in which they were issued, where [`Kind::is_in_order`];
/// those of two kinds on one counter in any order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Vector memory without a sampler.
    Memory,
    Sample,
    Bvh,
    Lds,
    /// Of an address in memory, LDS or scratch, as it turns out.
    Flat,
    Gds,
    Scalar,
    Message,
    /// Exports, and parameters from LDS.
    Export,
    AsyncLoad,
    AsyncStore,
    Tensor,
    /// A cache is written back or invalidated, and there is nothing to come back.
    Cache,
}

impl Kind {
    pub const fn is_in_order(self) -> bool {
        !matches!(self, Kind::Flat | Kind::Gds | Kind::Scalar | Kind::Message)
    }
}

/// An operation as one counter has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    pub counter: Counter,
    pub kind: Kind,
    /// What it may add to the counter, at most.
    pub most: u8,
}

/// The counters that an instruction raises: three at most.
pub fn counted(inst: &Inst) -> impl Iterator<Item = Counted> {
    let info = inst.info();
    let one = |counter: Option<Counter>, kind: Kind| {
        // A scalar load of more than one dword counts twice.
        counter.map(|counter| Counted { counter, kind, most: if kind == Kind::Scalar { 2 } else { 1 } })
    };
    let mut found = [None; 3];
    if !info.flags.intersects(COUNTS) && !info.op().is_message() && !info.op().is_moved_by_engine() {
        return found.into_iter().flatten();
    }
    let generation = info.mode.target().generation();
    let flag = |f| info.flags.contains(f);
    let split = matches!(generation, Generation::Gfx12 | Generation::Gfx1250);
    let lgkm = |own: Counter| Some(if split { own } else { Counter::Lgkm });
    let is_flat = flag(Flags::FLAT) && !info.flags.intersects(Flags::GLOBAL | Flags::SCRATCH);
    if flag(Flags::VM_CNT) {
        let (counter, kind) = vector_memory(inst, generation, is_flat);
        found[0] = one(Some(counter), kind);
    }
    let is_gds = info.op().is_gws() || inst.field(Field::Gds) == Some(1);
    found[1] = match () {
        () if info.op().is_message() => one(lgkm(Counter::Km), Kind::Message),
        () if info.op().is_moved_by_engine() => {
            let (counter, kind) = engine(info.op());
            one(Some(counter), kind)
        }
        () if !flag(Flags::LGKM_CNT) => None,
        () if is_gds => one(lgkm(Counter::Ds), Kind::Gds),
        () if flag(Flags::DS) => one(lgkm(Counter::Ds), Kind::Lds),
        () if flag(Flags::SMEM) => one(lgkm(Counter::Km), Kind::Scalar),
        () if is_flat => one(lgkm(Counter::Ds), Kind::Flat),
        // A load straight into LDS counts as the vector memory access that it is, and there alone (LLVM's
        // SIInsertWaitcnts waits with vmcnt for what it writes).
        () => None,
    };
    let translated = generation == Generation::Gfx1250 && info.flags.intersects(Flags::VMEM | Flags::SMEM);
    found[2] = match () {
        () if flag(Flags::EXPORT) || info.format == Format::Ldsdir => one(Some(Counter::Exp), Kind::Export),
        () if is_gds && generation != Generation::Gfx1250 => one(Some(Counter::Exp), Kind::Gds),
        () if translated && flag(Flags::SMEM) => one(Some(Counter::X), Kind::Scalar),
        () if translated => one(Some(Counter::X), Kind::Memory),
        () => None,
    };
    found.into_iter().flatten()
}

/// The instruction may count on a counter, or waits for one. All others are as if they were not there.
#[inline]
pub fn concerns(inst: &Inst) -> bool {
    let info = inst.info();
    info.flags.intersects(COUNTS) || info.op().is_wait_message_or_moved()
}

const COUNTS: Flags = Flags::VM_CNT
    .union(Flags::LGKM_CNT)
    .union(Flags::EXPORT)
    .union(Flags::EXP_CNT)
    .union(Flags::VMEM)
    .union(Flags::SMEM);

/// GCN and CDNA have one order and one counter for all of it; RDNA counts what only writes apart, and orders only what
/// goes the same way.
fn vector_memory(inst: &Inst, generation: Generation, is_flat: bool) -> (Counter, Kind) {
    let info = inst.info();
    let flag = |f| info.flags.contains(f);
    let gfx9 = generation.is_gfx9_family();
    let kind = match () {
        () if is_flat => Kind::Flat,
        () if gfx9 && flag(Flags::MIMG) => Kind::Memory,
        () if !flag(Flags::MIMG) && !info.flags.intersects(Flags::LOAD | Flags::STORE | Flags::ATOMIC) => Kind::Cache,
        () if !flag(Flags::MIMG) => Kind::Memory,
        () if info.op().is_bvh() => Kind::Bvh,
        () if info.op() == Op::ImageMsaaLoad || info.operands.iter().any(|o| o.field == Field::Ssamp) => Kind::Sample,
        () => Kind::Memory,
    };
    let only_writes = match () {
        () if flag(Flags::ATOMIC) => !flag(Flags::ATOMIC_RETURN) || inst.discards_result(),
        () if kind == Kind::Cache => matches!(info.op(), Op::GlobalWb | Op::GlobalWbinv),
        () => flag(Flags::STORE) && !flag(Flags::LOAD),
    };
    let counter = match kind {
        _ if gfx9 => Counter::Vm,
        _ if only_writes => Counter::Vs,
        Kind::Sample if generation == Generation::Gfx12 => Counter::Sample,
        Kind::Bvh if generation == Generation::Gfx12 => Counter::Bvh,
        _ => Counter::Vm,
    };
    (counter, kind)
}

fn engine(op: Op) -> (Counter, Kind) {
    match op {
        Op::TensorLoadToLds | Op::TensorStoreFromLds => (Counter::Tensor, Kind::Tensor),
        op if op.name().contains("_async_from_lds") => (Counter::Async, Kind::AsyncStore),
        _ => (Counter::Async, Kind::AsyncLoad),
    }
}
