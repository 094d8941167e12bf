//! Kernels as one run against the interpreter: what they leave in memory is the same, whatever a wave before has left in registers.

use luthier_isa::op::Op as IsaOp;

use super::phase::Skip;
use super::tests::{
    ADDRESSES, BUFFER_OFFSETS, HOST, OFFSETS, PLACES, REGISTERS, Random, held, instructions, machines, operations, run,
    run_past, scalar_operations, wave,
};
use super::whole::whole_on;
use crate::mode::Mode;
use crate::op::{Kind, Op};
use crate::registers::{Row, rows};

/// The same registers hold something in waves that begin.
fn begins_with_something(row: u16) -> bool {
    PLACES.iter().any(|&place| row == place || row == place + 1)
        || OFFSETS.contains(&row)
        || BUFFER_OFFSETS.contains(&row)
        || ADDRESSES.contains(&row)
}

fn scalar(operation: IsaOp, inst: u16) -> Op {
    let run = crate::scalar::lookup(operation).expect("a scalar operation");
    Op { run, kind: Kind::of(operation), inst, ..Op::NOTHING }
}

#[test]
fn random_kernels_leave_in_memory_what_the_interpreter_does() {
    let (operations, scalar_operations) = (operations(), scalar_operations());
    let rounds = std::env::var("LUTHIER_NATIVE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    for machine in machines() {
        let (mut kernels, mut differing) = (0, 0);
        for seed in 0..rounds {
            let mut random = Random::new(seed ^ 0x4b65);
            let known = (&operations[..], &scalar_operations[..]);
            let often = (random.of(&[1, 2, 3]), random.of(&[2, 5, 1000]));
            let [before, behind] = [1 + random.below(7), 1 + random.below(7)].map(|n| n as u16);
            let mut ops = Vec::new();
            instructions(&mut random, known, often, 0..before, &mut ops);
            let mut skip = None;
            if random.below(2) == 0 {
                let at = ops.len();
                ops.push(scalar(random.of(&[IsaOp::SCbranchExecz, IsaOp::SCbranchScc1, IsaOp::SCbranchVccz]), before));
                instructions(&mut random, known, often, before + 1..before + 1 + behind, &mut ops);
                skip = Some(Skip { at, to: ops.len() });
            }
            ops.push(scalar(IsaOp::SEndpgm, before + 1 + behind));
            let (wave64, rare) = (seed % 2 == 0, random.of(&[3, 100, 100_000]));
            let mode = random.of(&[HOST, HOST, HOST, HOST | 0x200]);
            let Some(whole) = whole_on(machine, &ops, skip, wave64, Mode(mode)) else { continue };
            kernels += 1;
            for exec in [!0, u64::from(random.next()) << 32 | u64::from(random.next()), 0x00ff_0000_ff00_00ff] {
                let [mut ours, mut theirs] = [0; 2].map(|_| wave(seed, wave64, exec, mode, rare));
                for row in (0..REGISTERS).map(|row| rows::VGPR + row).filter(|&row| !begins_with_something(row)) {
                    *theirs.row_mut(row) = Row::ZERO;
                    if whole.zeros.contains(&row) {
                        *ours.row_mut(row) = Row::ZERO;
                    }
                }
                let before = held(&theirs);
                run(&mut ours, &whole.native.ops[..1]);
                let body = &ops[..ops.len() - 1];
                run_past(&mut theirs, body, skip);
                let about = format!("{machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
                assert!(held(&ours) == held(&theirs), "memory: {about}");
                assert_eq!((ours.has_stored, ours.skipped), (theirs.has_stored, theirs.skipped), "{about}");
                differing += usize::from(held(&theirs) != before);
            }
        }
        assert!(kernels > 100 && differing > 100, "{kernels} kernels, {differing} of their runs changed memory");
    }
}
