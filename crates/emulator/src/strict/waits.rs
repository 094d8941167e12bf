//! Loads in flight: what they will still write, and what a wait guarantees.
//!
//! vmcnt counts in order. Of lgkmcnt's, DS operations complete in order among themselves, scalar loads in any order;
//! so a wait for more than zero guarantees only those DS operations that must be done however the rest went.

use std::collections::VecDeque;
use std::sync::Arc;

use luthier_isa::Reg;

use super::order::AccessId;
use super::{Checked, Log};
use crate::report::FindingKind;

struct InFlight {
    regs: Arc<[Reg]>,
    vm: bool,
    lgkm: bool,
    /// Completes in any order.
    unordered: bool,
    /// The access to memory shared with other waves that it makes; zero for none.
    access: AccessId,
}

pub(super) struct Waits {
    in_flight: VecDeque<InFlight>,
    /// How many loads in flight write each unit.
    pending: Box<[u8; Reg::COUNT]>,
    any: bool,
    /// Accesses that have turned out to be done.
    finished: Vec<AccessId>,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits { in_flight: VecDeque::new(), pending: Box::new([0; Reg::COUNT]), any: false, finished: Vec::new() }
    }
}

impl Waits {
    pub fn check(&mut self, inst: &Checked, log: &mut Log) {
        if let Some((vm, lgkm)) = inst.wait {
            self.wait(vm, lgkm);
            return;
        }
        if self.any {
            self.check_pending(inst, log);
        }
        if inst.vm || inst.lgkm {
            let regs = inst.loaded.clone();
            regs.iter().for_each(|r| self.pending[r.index()] = self.pending[r.index()].saturating_add(1));
            self.any |= !regs.is_empty();
            self.in_flight.push_back(InFlight {
                regs,
                vm: inst.vm,
                lgkm: inst.lgkm,
                unordered: inst.unordered,
                access: 0,
            });
        }
    }

    fn check_pending(&mut self, inst: &Checked, log: &mut Log) {
        for &(reg, written) in &inst.touched {
            if self.pending[reg.index()] == 0 {
                continue;
            }
            // A later load of the same counter returns after the earlier one.
            if written && inst.loaded.contains(&reg) && !inst.unordered {
                let same = |i: &InFlight| !i.regs.contains(&reg) || (i.vm == inst.vm && i.lgkm == inst.lgkm);
                if self.in_flight.iter().all(same) {
                    continue;
                }
            }
            let what = if written { "written" } else { "read" };
            let message = format!("{reg} is {what} while a load may still write it: no s_waitcnt guarantees the load");
            log.report(FindingKind::MissingWait, None, None, message);
        }
    }

    pub fn flat_lanes(&mut self, memory: bool, lds: bool) {
        if let Some(last) = self.in_flight.back_mut() {
            last.vm &= memory;
            last.lgkm &= lds;
            if !last.vm && !last.lgkm {
                self.retire();
            }
        }
    }

    /// The operation issued last makes this access.
    pub fn attach(&mut self, access: AccessId) {
        if let Some(last) = self.in_flight.back_mut() {
            last.access = access;
        }
    }

    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// The accesses that are done since the last time.
    pub fn finished(&mut self) -> impl Iterator<Item = AccessId> + '_ {
        self.finished.drain(..)
    }

    /// Forgets what no counter holds any more.
    fn retire(&mut self) {
        let (pending, finished) = (&mut self.pending, &mut self.finished);
        self.in_flight.retain(|item| {
            let done = !item.vm && !item.lgkm;
            if done {
                finished.extend(Some(item.access).filter(|&a| a != 0));
                item.regs.iter().for_each(|r| pending[r.index()] = pending[r.index()].saturating_sub(1));
            }
            !done
        });
        self.any = self.in_flight.iter().any(|i| !i.regs.is_empty());
    }

    /// At most `vm` and `lgkm` operations remain.
    fn wait(&mut self, vm: usize, lgkm: usize) {
        let mut left = self.in_flight.iter().filter(|i| i.vm).count().saturating_sub(vm);
        for item in self.in_flight.iter_mut().filter(|i| i.vm) {
            if left == 0 {
                break;
            }
            item.vm = false;
            left -= 1;
        }
        // The adversary picks which of the unordered ones remain, so only zero guarantees those; an ordered one is
        // done once it and its successors of the same order are more than may remain.
        let ordered = self.in_flight.iter().filter(|i| i.lgkm && !i.unordered).count();
        let mut left = ordered.saturating_sub(lgkm);
        for item in self.in_flight.iter_mut().filter(|i| i.lgkm) {
            if lgkm == 0 {
                item.lgkm = false;
            } else if !item.unordered && left > 0 {
                item.lgkm = false;
                left -= 1;
            }
        }
        self.retire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(waits: &mut Waits, reg: Reg, vm: bool, unordered: bool) {
        waits.pending[reg.index()] += 1;
        waits.any = true;
        waits.in_flight.push_back(InFlight { regs: [reg].into(), vm, lgkm: !vm, unordered, access: 0 });
    }

    #[test]
    fn vector_memory_completes_in_order() {
        let mut w = Waits::default();
        load(&mut w, Reg::vgpr(1), true, false);
        load(&mut w, Reg::vgpr(2), true, false);
        w.wait(1, 15);
        assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::vgpr(2).index()]), (0, 1));
        w.wait(0, 15);
        assert!(!w.any);
    }

    #[test]
    fn scalar_loads_are_only_done_at_zero() {
        let mut w = Waits::default();
        load(&mut w, Reg::vgpr(1), false, false);
        load(&mut w, Reg::sgpr(1), false, true);
        w.wait(63, 1);
        assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::sgpr(1).index()]), (1, 1));
        w.wait(63, 0);
        assert!(!w.any);
    }
}
