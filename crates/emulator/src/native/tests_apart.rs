//! Kernels as two functions, for several waves of a workgroup, against the interpreter with one wave after the other.

use luthier_isa::op::Op as IsaOp;

use super::phase::Skip;
use super::run::Run;
use super::tests::{
    HELD, HOST, Random, held, instructions, machines, operations, run, run_past, scalar_operations, wave,
};
use super::whole::{Whole, whole_on};
use crate::batch::Batch;
use crate::mem::smem::WordLoad;
use crate::mode::Mode;
use crate::op::{Flow, Kind, Op};
use crate::registers::{Row, rows};
use crate::registry::ValuOp;
use crate::wave::Wave;

/// Waves of the workgroup.
const WAVES: u32 = 3;
/// Rows that each wave begins with something in: all that the operations read.
const ROWS: usize = HELD as usize + 1;

fn scalar_op(operation: IsaOp, inst: u16) -> Op {
    let run = crate::scalar::lookup(operation).expect("a scalar operation");
    Op { run, kind: Kind::of(operation), inst, ..Op::NOTHING }
}

/// A kernel: much scalar code, and perhaps a branch to its end.
fn kernel(random: &mut Random, known: &(Vec<(IsaOp, ValuOp)>, Vec<IsaOp>)) -> (Vec<Op>, Option<Skip>) {
    let known = (&known.0[..], &known.1[..]);
    let often = (random.of(&[1, 2, 3]), random.of(&[1, 2, 2, 3]));
    let [before, behind] = [2 + random.below(9), 1 + random.below(7)].map(|n| n as u16);
    let (mut ops, mut skip) = (Vec::new(), None);
    instructions(random, known, often, 0..before, &mut ops);
    if random.below(2) == 0 {
        let at = ops.len();
        ops.push(scalar_op(random.of(&[IsaOp::SCbranchExecz, IsaOp::SCbranchScc1, IsaOp::SCbranchVccz]), before));
        instructions(random, known, often, before + 1..before + 1 + behind, &mut ops);
        skip = Some(Skip { at, to: ops.len() });
    }
    ops.push(scalar_op(IsaOp::SEndpgm, before + 1 + behind));
    (ops, skip)
}

/// What the waves begin with.
struct Beginning {
    scalars: [u32; 256],
    /// Those of all waves.
    rows: Vec<Row>,
    execs: [u64; WAVES as usize],
    mode: Mode,
}

impl Beginning {
    /// Other lanes of the same rows in each wave: what leads to memory still does.
    fn of(w: &Wave, random: &mut Random, exec: u64, last_exec: u64) -> Beginning {
        let row = |row: usize, by: usize| {
            let lanes = w.row(rows::VGPR + row as u16).0;
            Row(std::array::from_fn(|lane| lanes[(lane & 32) | (lane + by) & 31]))
        };
        let rows = (0..WAVES).flat_map(|_| {
            let by = random.of(&[0, 0, 1, 7]);
            (0..ROWS).map(move |number| (number, by))
        });
        let rows = rows.map(|(number, by)| row(number, by)).collect();
        let mut execs = [exec; WAVES as usize];
        execs[WAVES as usize - 1] = last_exec;
        Beginning { scalars: w.s, rows, execs, mode: w.mode }
    }

    fn put(&self, w: &mut Wave, number: u32) {
        let at = number as usize;
        w.s = self.scalars;
        w.set_exec(self.execs[at]);
        (w.has_stored, w.mode, w.place.wave_in_group) = (false, self.mode, number);
        for (row, from) in self.rows[at * ROWS..][..ROWS].iter().enumerate() {
            *w.row_mut(rows::VGPR + row as u16) = *from;
        }
    }

    fn batch(&self) -> Batch {
        Batch {
            ids: self.rows.as_ptr() as u64,
            id_rows: ROWS as u32,
            left: WAVES,
            exec: self.execs[0],
            last_exec: self.execs[WAVES as usize - 1],
            mode: self.mode.0,
            skips: 0,
        }
    }
}

/// How many waves took the branch; nothing if what is done once is not possible. `left`: whether a wave was left in its middle.
fn run_apart(w: &mut Wave, whole: &Whole, run_of: &Run, beginning: &Beginning, left: &mut bool) -> Option<u32> {
    let apart = run_of.apart.as_ref()?;
    beginning.put(w, 0);
    if !apart.once(run_of, w) {
        return None;
    }
    w.set_scc(false);
    let ended = match apart.waves(run_of, w, beginning.batch()) {
        None => WAVES,
        Some(flow) => {
            assert_eq!(flow, Flow::Next);
            *left = true;
            WAVES - w.batch.left + 1
        }
    };
    let mut skips = w.batch.skips + u32::from(std::mem::take(&mut w.skipped));
    for number in ended..WAVES {
        beginning.put(w, number);
        run(w, &whole.native.ops[..1]);
        skips += u32::from(std::mem::take(&mut w.skipped));
    }
    Some(skips)
}

/// Scalars are loaded once, which what waves store does not reach then.
fn loads_what_it_stores(ops: &[Op]) -> bool {
    let stores = |op: &Op| op.kind.is_of_memory() && super::forms::store(op).is_some();
    ops.iter().any(stores) && ops.iter().any(|op| WordLoad::of(op).is_some())
}

#[test]
fn waves_of_a_workgroup_leave_in_memory_what_the_interpreter_does() {
    let known = (operations(), scalar_operations());
    let rounds = std::env::var("LUTHIER_NATIVE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(6000);
    for machine in machines() {
        let (mut kernels, mut differing, mut left_early, mut restored, mut skipping) = (0, 0, 0, 0, 0);
        for seed in 0..rounds {
            let mut random = Random::new(seed ^ 0x61_7061_7274);
            let (ops, skip) = kernel(&mut random, &known);
            let (wave64, rare) = (seed % 2 == 0, random.of(&[3, 100, 100_000]));
            let mode = random.of(&[HOST, HOST, HOST, HOST | 0x200]);
            if loads_what_it_stores(&ops) {
                continue;
            }
            let Some(whole) = whole_on(machine, &ops, skip, wave64, Mode(mode)) else { continue };
            let Some(run_of) = whole.run().filter(|run| run.apart.is_some()) else { continue };
            kernels += 1;
            restored += usize::from(run_of.apart.as_ref().is_some_and(|apart| !apart.facts.restored.is_empty()));
            let some = u64::from(random.next()) << 32 | u64::from(random.next());
            for (exec, last_exec) in [(!0, !0), (!0, 0x00ff_ffff_0000_00ff), (some, 0x8000_0001)] {
                let [mut ours, mut theirs] = [0; 2].map(|_| wave(seed, wave64, exec, mode, rare));
                let beginning = Beginning::of(&ours, &mut random, ours.exec(), last_exec & ours.all_lanes());
                let before = held(&theirs);
                let mut left = false;
                if !run_of.is_for(&ours) {
                    continue;
                }
                let Some(skips) = run_apart(&mut ours, &whole, run_of, &beginning, &mut left) else { continue };
                let mut wanted = 0;
                for number in 0..WAVES {
                    beginning.put(&mut theirs, number);
                    run_past(&mut theirs, &ops[..ops.len() - 1], skip);
                    wanted += u32::from(std::mem::take(&mut theirs.skipped));
                }
                let names: Vec<_> = ops.iter().map(|op| (op.kind.operation(), op.sdst, op.src)).collect();
                let about =
                    format!("{machine:?} wave64 {wave64} {:x?} seed {seed} {skip:?} {names:?}", beginning.execs);
                // What leads to memory is there yet.
                [ours.s, theirs.s] = [beginning.scalars; 2];
                assert!(held(&ours) == held(&theirs), "memory: {about}");
                assert_eq!(skips, wanted, "{about}");
                differing += usize::from(held(&theirs) != before);
                left_early += usize::from(left);
                skipping += usize::from(skips != 0 && skips != WAVES);
            }
        }
        let all = [kernels, differing, left_early, restored, skipping];
        println!("{machine:?}: {all:?}");
        assert!(all.iter().all(|&count| count > 15), "{all:?}");
    }
}
