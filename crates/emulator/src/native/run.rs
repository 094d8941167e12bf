//! A run of micro-ops as native code, and the micro-op that executes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::forms::writes_mask;
use super::pages::Pages;
use crate::op::{Flow, Op};
use crate::wave::Wave;

/// Rows, scalar registers, vectors of lanes to do, LDS and how many bytes it has; gives how many vectors are left.
type Entry = unsafe extern "sysv64" fn(*mut u8, *mut u32, u32, *const u8, u32) -> u32;

/// Executions that the interpreter had to finish, after which it does the run by itself: results are NaNs, or MODE is not
/// the host's.
const MOST_UNFINISHED: u32 = 1000;

/// Some micro-ops in a row, and code that does what they do.
pub struct Run {
    pub ops: Box<[Op]>,
    /// For all lanes, and for some.
    full: Entry,
    partial: Entry,
    /// Lanes of a vector.
    lanes: u32,
    needs_host32: bool,
    unfinished: AtomicU32,
    _pages: Arc<Pages>,
}

impl Run {
    /// # Safety
    /// The code at the offsets is what [`super::emit`] has made of these micro-ops.
    pub unsafe fn new(
        ops: Box<[Op]>,
        pages: Arc<Pages>,
        [full, partial]: [usize; 2],
        lanes: u32,
        needs_host32: bool,
    ) -> Run {
        // SAFETY: the caller says that functions of this type begin there.
        let entry = |offset| unsafe { std::mem::transmute::<*const u8, Entry>(pages.at(offset)) };
        let (full, partial) = (entry(full), entry(partial));
        Run { ops, full, partial, lanes, needs_host32, unfinished: AtomicU32::new(0), _pages: pages }
    }

    /// The micro-op that stands for it. It points at the run, which stays where it is as long as the op is there.
    pub fn op(&self) -> Op {
        let inst = self.ops.first().map_or(0, |op| op.inst);
        Op { run, imm: std::ptr::from_ref(self) as u64, inst, ..Op::NOTHING }
    }

    /// The interpreter does it, all but the first `done` lanes.
    #[cold]
    #[inline(never)]
    fn interpret(&self, w: &mut Wave, done: u32) -> Flow {
        self.unfinished.fetch_add(1, Relaxed);
        let done = if done == 0 { 0 } else { u64::MAX >> (64 - done) };
        let exec = w.exec();
        w.set_exec(exec & !done);
        for op in &self.ops {
            let before = w.mask(op.sdst);
            // SAFETY: the builder has checked it.
            let flow = unsafe { (op.run)(w, op) };
            if flow != Flow::Next {
                w.set_exec(exec);
                w.stopped = Some(op.inst);
                return flow;
            }
            if done != 0 && writes_mask(op) {
                let after = w.mask(op.sdst);
                w.set_mask(op.sdst, before & done | after & !done);
            }
        }
        w.set_exec(exec);
        Flow::Next
    }
}

/// Executes a [`Run`].
fn run(w: &mut Wave, op: &Op) -> Flow {
    // SAFETY: the block that holds this op holds the boxed run too, and neither moves nor drops it while the op can run.
    let run = unsafe { &*(op.imm as *const Run) };
    if run.needs_host32 && !w.mode.host32() || run.unfinished.load(Relaxed) > MOST_UNFINISHED {
        return run.interpret(w, 0);
    }
    let entry = if w.exec() == w.all_lanes() { run.full } else { run.partial };
    let vectors = w.lanes() / run.lanes;
    let (lds, len) = w.lds.place();
    // SAFETY: the code reads and writes rows of the vector file and scalar registers, as its micro-ops do, and reads LDS
    // where it has found that to be.
    let left = unsafe { entry(w.rows.as_mut_ptr().cast(), w.s.as_mut_ptr(), vectors, lds, len) };
    if left == 0 { Flow::Next } else { run.interpret(w, (vectors - left) * run.lanes) }
}
