//! Families of operations, which go by their names: looked up in a table, since they are asked about once or more for
//! each instruction of a library.

use std::sync::LazyLock;

use super::Op;

bitflags::bitflags! {
    #[derive(Clone, Copy)]
    struct Families: u16 {
        const WAIT = 1;
        const MESSAGE = 1 << 1;
        const CMPX = 1 << 2;
        const SAVEEXEC = 1 << 3;
        const SCALAR_MOVREL = 1 << 4;
        const GWS = 1 << 5;
        const CACHE_CONTROL = 1 << 6;
        const ENGINE = 1 << 7;
        const BVH = 1 << 8;
        const COMPARE = 1 << 9;
    }
}

const CACHE_CONTROL: [&str; 8] = [
    "s_dcache_",
    "s_icache_",
    "buffer_wb",
    "buffer_inv",
    "buffer_gl0_inv",
    "buffer_gl1_inv",
    "global_inv",
    "global_wb",
];

impl Families {
    fn of(name: &str) -> Families {
        let starts = |start: &str| name.starts_with(start);
        let moves = name.contains("_async_to_lds") || name.contains("_async_from_lds");
        let tensor = name.starts_with("tensor_") && name.contains("_lds");
        let cache = CACHE_CONTROL.into_iter().any(starts) || name.contains("_prefetch");
        [
            (Families::WAIT, starts("s_wait")),
            (Families::MESSAGE, starts("s_sendmsg")),
            (Families::CMPX, starts("v_cmpx_")),
            (Families::SAVEEXEC, name.contains("_saveexec_")),
            (Families::SCALAR_MOVREL, starts("s_movrel")),
            (Families::GWS, starts("ds_gws_")),
            (Families::CACHE_CONTROL, cache),
            (Families::ENGINE, moves || tensor || name == "ds_atomic_async_barrier_arrive_b64"),
            (Families::BVH, starts("image_bvh")),
            (Families::COMPARE, starts("v_cmp_") || starts("v_cmpx_")),
        ]
        .into_iter()
        .filter_map(|(family, belongs)| belongs.then_some(family))
        .collect()
    }
}

static TABLE: LazyLock<Box<[Families]>> =
    LazyLock::new(|| Op::all().iter().map(|op| Families::of(op.name())).collect());

impl Op {
    fn is_in(self, family: Families) -> bool {
        TABLE[self as usize].contains(family)
    }

    /// `s_waitcnt` and its kin, and what waits for anything else; [`crate::wait`] knows for what.
    pub fn is_wait(self) -> bool {
        self.is_in(Families::WAIT)
    }
    /// Waits for counters, sends a message, or has an engine move data: what uses counters without a flag of memory's.
    #[inline]
    pub(crate) fn is_wait_message_or_moved(self) -> bool {
        TABLE[self as usize].intersects(Families::WAIT | Families::MESSAGE | Families::ENGINE)
    }
    /// Between memory and LDS, without registers, while the wave goes on (gfx1250).
    pub(crate) fn is_moved_by_engine(self) -> bool {
        self.is_in(Families::ENGINE)
    }
    /// `s_sendmsg`, `s_sendmsghalt`, `s_sendmsg_rtn_*`.
    pub fn is_message(self) -> bool {
        self.is_in(Families::MESSAGE)
    }
    /// Compares, and makes the result EXEC (on GCN5 and CDNA of what is written as well).
    pub fn is_cmpx(self) -> bool {
        self.is_in(Families::CMPX)
    }
    /// Compares in each lane: the result is a mask, of lanes that are on.
    pub fn is_compare(self) -> bool {
        self.is_in(Families::COMPARE)
    }
    /// A scalar operation on EXEC that puts the old EXEC into its destination: `s_and_saveexec_b64`.
    pub fn is_saveexec(self) -> bool {
        self.is_in(Families::SAVEEXEC)
    }
    /// A scalar move whose source or destination M0 chooses.
    pub fn is_scalar_movrel(self) -> bool {
        self.is_in(Families::SCALAR_MOVREL)
    }
    /// Global wave synchronisation.
    pub fn is_gws(self) -> bool {
        self.is_in(Families::GWS)
    }
    /// Writes back, invalidates or fills a cache, and moves no data.
    pub fn is_cache_control(self) -> bool {
        self.is_in(Families::CACHE_CONTROL)
    }
    /// A ray and a tree of boxes.
    pub(crate) fn is_bvh(self) -> bool {
        self.is_in(Families::BVH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_moves_what_is_asynchronous_and_tensors() {
        let copies = |op: &&Op| op.name().contains("_async_to_lds") || op.name().contains("_async_from_lds");
        let moved: Vec<&Op> = Op::all().iter().filter(|op| op.is_moved_by_engine()).collect();
        let others: Vec<Op> = moved.iter().filter(|op| !copies(op)).map(|op| **op).collect();
        assert_eq!(moved.len() - others.len(), Op::all().iter().filter(copies).count());
        assert_eq!(others, [Op::DsAtomicAsyncBarrierArriveB64, Op::TensorLoadToLds, Op::TensorStoreFromLds]);
    }
}
