//! Native code against the interpreter: rows, masks and scalars are the same, bit for bit, after random runs.

mod accesses;
mod compare;
mod halves;
mod instructions;
mod large;
mod loops;
mod powers;
mod random;
mod waves;

use luthier_isa::op::Op as IsaOp;

pub(super) use compare::{HOST, OVERFLOWS, machines, run, run_past};
use compare::{compare, compare_past};
pub(super) use instructions::{LOADS, instructions, load_of, operations, scalar_operations};
use instructions::{instruction, lane_read, scalar_instruction};
pub(super) use random::Random;
pub(super) use waves::{ADDRESSES, BUFFER_OFFSETS, HELD, OFFSETS, PLACES, REGISTERS, held, wave};

use super::native_on;
use super::phase::Skip;
use crate::mode::Mode;
use crate::op::{Flow, Kind, Op, Semantics, Variants};
use crate::registers::rows;
use crate::wave::Wave;
use crate::{lower, valu};

#[test]
fn the_environment_says_when() {
    use super::When::{self, Hot, Never, Random};
    assert_eq!(["", "0", "1", "random:7"].map(When::of), [Hot(super::HOT), Never, Hot(1), Random(7)].map(Ok));
    for word in ["often", "random:x", "-1", " 1"] {
        let why = format!("LUTHIER_NATIVE={word} is not possible: it is a number, or random:SEED");
        assert_eq!(When::of(word), Err(why));
    }
}

#[test]
fn each_operation_computes_what_the_interpreter_does() {
    let operations = operations();
    assert!(operations.len() > 170, "{} operations have a native form", operations.len());
    let machines = machines();
    for (number, &operation) in operations.iter().enumerate() {
        for (machine, wave64) in machines.iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
            for seed in 0..12 {
                let mut random = Random::new(seed * 1000 + number as u64);
                let mut ops = Vec::new();
                (0..4).for_each(|inst| instruction(&mut random, operation, inst, &mut ops));
                // Flushed denormals, IEEE's NaNs, rounded up, f16 that stay finite, f32 denormals flushed alone.
                for mode in [HOST, [0, HOST | 0x200, HOST | 1, HOST | OVERFLOWS, 0xc0][seed as usize % 5]] {
                    compare(machine, &ops, wave64, seed, mode, if seed % 2 == 0 { 4 } else { 400 });
                }
            }
        }
    }
}

#[test]
fn each_scalar_operation_computes_what_the_interpreter_does() {
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        for (number, operation) in scalar_operations().into_iter().enumerate() {
            for seed in 0..12 {
                let mut random = Random::new(seed * 1000 + number as u64);
                let ops: Vec<Op> = (0..5).map(|inst| scalar_instruction(&mut random, operation, inst)).collect();
                assert_ne!(compare(machine, &ops, wave64, seed, HOST, 8), 0, "{operation:?} has no native form");
            }
        }
    }
}

#[test]
fn scalars_of_lanes_are_the_interpreters() {
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let ops: Vec<Op> = (0..5).map(|inst| lane_read(&mut random, inst)).collect();
            assert_ne!(compare(machine, &ops, wave64, seed, HOST, 8), 0, "no native form");
        }
    }
}

#[test]
fn random_runs_compute_what_the_interpreter_does() {
    let (operations, scalar_operations) = (operations(), scalar_operations());
    assert!(scalar_operations.len() > 105, "{} scalar operations", scalar_operations.len());
    let rounds = std::env::var("LUTHIER_NATIVE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let mut replaced = 0;
    for machine in machines() {
        for seed in 0..rounds {
            let mut random = Random::new(seed);
            let mut ops = Vec::new();
            let length = 1 + random.below(220);
            let often = (random.of(&[3, 8, 1000]), random.of(&[2, 5, 1000]));
            instructions(&mut random, (&operations, &scalar_operations), often, 0..length as u16, &mut ops);
            // Where NaNs are rare, whole runs are native; where they are not, some lanes are.
            let rare = random.of(&[3, 100, 100_000]);
            let mode = random.of(&[HOST, HOST, HOST, HOST | 0x200, 0]);
            replaced += compare(machine, &ops, seed % 2 == 0, seed, mode, rare);
        }
    }
    assert!(machines().is_empty() || replaced > 1000, "{replaced} micro-ops were saved");
}

#[test]
fn random_runs_with_a_branch_onwards_compute_what_the_interpreter_does() {
    use IsaOp::{SCbranchExecnz, SCbranchExecz, SCbranchScc0, SCbranchScc1, SCbranchVccnz, SCbranchVccz};
    let (operations, scalar_operations) = (operations(), scalar_operations());
    let rounds = std::env::var("LUTHIER_NATIVE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for machine in machines() {
        let (mut replaced, mut pairs) = (0, 0);
        for seed in 0..rounds {
            let mut random = Random::new(seed ^ 0x5eed);
            let mut ops = Vec::new();
            // Parts may be empty but for that between the branch and where it leads.
            let [before, between, behind] = [random.below(6), 1 + random.below(8), random.below(12)].map(|n| n as u16);
            let often = (random.of(&[3, 8, 1000]), random.of(&[2, 5, 1000]));
            let known = (&operations[..], &scalar_operations[..]);
            instructions(&mut random, known, often, 0..before, &mut ops);
            let at = ops.len();
            let operation = random.of(&[
                SCbranchExecz,
                SCbranchExecz,
                SCbranchExecnz,
                SCbranchScc0,
                SCbranchScc1,
                SCbranchVccz,
                SCbranchVccnz,
            ]);
            let run = crate::scalar::lookup(operation).expect("a scalar operation");
            ops.push(Op { run, kind: Kind::of(operation), inst: before, ..Op::NOTHING });
            instructions(&mut random, known, often, before + 1..before + 1 + between, &mut ops);
            let to = ops.len();
            let first = before + 1 + between;
            instructions(&mut random, known, often, first..first + behind, &mut ops);
            let rare = random.of(&[3, 100, 100_000]);
            let mode = random.of(&[HOST, HOST, HOST, HOST | 0x200, 0]);
            let saved = compare_past(machine, &ops, Some(Skip { at, to }), seed % 2 == 0, seed, mode, rare);
            replaced += saved;
            pairs += usize::from(saved != 0);
        }
        assert!(pairs > 60 && replaced > 600, "{replaced} micro-ops were saved, by {pairs} of {rounds}");
    }
}

#[test]
fn dpp_reads_what_lanes_that_are_off_hold_behind_a_move() {
    let mov = valu::lookup(IsaOp::VMovB32).expect("an operation").variants.select();
    let mov = |dst, source, inst| {
        let src = [source, 0, 0];
        Op { run: mov, kind: Kind::of(IsaOp::VMovB32), dst, src, inst, ..Op::NOTHING }
    };
    let from = |source, inst| Op { dst: rows::TEMP, src: [source, 0, 0], inst, ..Op::NOTHING };
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        // Each lane reads the other one of its pair; v1 has become v2, or a scalar, in the lanes that are on.
        let pairs = 0o67_45_23_01;
        for moved in
            [mov(1, 2, 0), lower::native_tests::splat(Op { dst: rows::TEMP + 1, src: [5, 0, 0], ..Op::NOTHING })]
        {
            let second = mov(1, moved.dst.max(2), 1);
            let permute = lower::native_tests::permute_eight(Op { imm: pairs, imm2: 1, ..from(1, 2) });
            let ops = [moved, second, permute, mov(3, rows::TEMP, 2), mov(4, 2, 3), mov(5, 2, 4), mov(6, 2, 5)];
            compare(machine, &ops, wave64, 5, HOST, 100);
        }
    }
}

#[test]
fn what_has_no_native_form_stays_between_runs() {
    let Some(machine) = machines().pop() else { return };
    let add = valu::lookup(IsaOp::VAddU32).expect("an operation").variants.select();
    let add = Op { run: add, kind: Kind::of(IsaOp::VAddU32), dst: 1, src: [1, 2, 0], ..Op::NOTHING };
    let foreign = Op { run: Variants::scalar::<Foreign>().select(), ..Op::NOTHING };
    let ops: Vec<Op> = [add, add, add, foreign, add, add, add, add, foreign, add, add]
        .into_iter()
        .zip(0..)
        .map(|(op, inst)| Op { inst, ..op })
        .collect();
    let native = native_on(machine, &ops, true, Mode(HOST), false).expect("runs of three and four");
    // The last two are not worth a call.
    assert_eq!(native.ops.iter().map(|op| op.inst).collect::<Vec<_>>(), [0, 3, 4, 8, 9, 10]);
    assert_eq!(compare(machine, &ops, true, 7, HOST, 100), 5);
}

/// s40 and v1's first lane change places.
struct Foreign;
impl Semantics for Foreign {
    fn run(w: &mut Wave, _op: &Op) -> Flow {
        std::mem::swap(&mut w.s[40], &mut w.rows[1].0[0]);
        Flow::Next
    }
}
