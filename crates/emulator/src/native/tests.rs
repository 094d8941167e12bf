//! Native code against the interpreter: rows, masks and scalars are the same, bit for bit, after random runs.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use luthier_isa::Generation;
use luthier_isa::op::Op as IsaOp;

use super::graph::Graph;
use super::machine::Machine;
use super::phase::{Skip, Terms};
use super::{forms, native_on, native_with};
use crate::lds::Lds;
use crate::level::{Level, level};
use crate::mem::ds_words::Words;
use crate::mem::flat::{Encoded, NO_BASE};
use crate::mem::{Action, Transfer, global_words};
use crate::memory::Memory;
use crate::mode::Mode;
use crate::op::{Flow, Kind, Op, Semantics, Variants};
use crate::registers::{Row, rows, scalar};
use crate::registry::ValuOp;
use crate::valu::compare::comparison;
use crate::wave::Wave;
use crate::{lower, valu};

pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 32) as u32
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
    /// A word as operands have it; one in `rare` is a NaN, an infinity, a denormal or a zero.
    pub fn word(&mut self, rare: usize) -> u32 {
        const SPECIAL: [u32; 12] = [
            0x7fc0_0000,
            0x7f80_0001,
            0xffc1_2345,
            0x7f80_0000,
            0xff80_0000,
            0,
            0x8000_0000,
            1,
            0x8000_0001,
            0x007f_ffff,
            !0,
            0x7f7f_ffff,
        ];
        match self.below(4) {
            _ if self.below(rare) == 0 => self.of(&SPECIAL),
            0 => self.next() & 63,
            // Floats whose sums and products are neither infinite nor denormal.
            1 | 2 => self.next() & 0x83ff_ffff | 0x3c00_0000,
            _ => self.next() & 0xbfff_ffff,
        }
    }
}

/// Machines that this host can be.
pub(super) fn machines() -> Vec<Machine> {
    let levels = [Level::Avx2, Level::Avx512];
    let reach = match level() {
        Level::Base => 0,
        Level::Avx2 => 1,
        Level::Avx512 => 2,
    };
    levels[..reach].iter().filter_map(|&level| Machine::of(level)).collect()
}

/// Vector operations that have a native form, with what the interpreter does.
pub(super) fn operations() -> Vec<(IsaOp, ValuOp)> {
    let has_form = |operation: IsaOp| {
        // Some take no shift but by a constant.
        let src = [rows::CONST + 3; 3];
        let op = Op { kind: Kind::of(operation), src, sdst: mask_of(operation, 20), ssrc: 22, ..Op::NOTHING };
        forms::add(&mut Graph::default(), &op, true).is_ok()
    };
    let all = IsaOp::all().iter().filter(|&&operation| has_form(operation));
    all.filter_map(|&operation| Some((operation, valu::lookup(operation)?))).collect()
}

/// Where a comparison's result goes: v_cmpx writes nothing but EXEC where it has a native form.
fn mask_of(operation: IsaOp, otherwise: u8) -> u8 {
    if comparison(operation).is_some_and(|comparison| comparison.to_exec) { scalar::EXEC } else { otherwise }
}

pub(super) const REGISTERS: u16 = 24;
/// Those that hold addresses of LDS, and are not written.
pub(super) const ADDRESSES: [u16; 4] = [20, 21, 22, 23];
/// Pairs of them with addresses in device memory, and offsets from a scalar base.
pub(super) const PLACES: [u16; 2] = [24, 26];
pub(super) const OFFSETS: [u16; 2] = [28, 29];
pub(super) const HELD: u16 = 30;
/// Scalar registers that instructions read and write; others keep what leads to memory, and some are free.
const SCALARS: usize = 24;
/// The scalar base, and behind it one in the other allocation, and one that may lie within a word.
const BASE: u8 = 26;
/// Loads of scalars, and scalars that hold offsets for them.
pub(super) const LOADS: [(u8, IsaOp); 6] = [
    (1, IsaOp::SLoadDword),
    (2, IsaOp::SLoadDwordx2),
    (3, IsaOp::SLoadB96),
    (4, IsaOp::SLoadDwordx4),
    (8, IsaOp::SLoadDwordx8),
    (16, IsaOp::SLoadDwordx16),
];
const SCALAR_OFFSETS: [u8; 3] = [32, 33, scalar::M0];
const LDS: usize = 4096;
/// Words of an allocation. Accesses reach the middle ones.
const DEVICE: usize = 1536;
const MASKS: [u8; 4] = [scalar::VCC, 20, 22, 12];

/// A load or a store of words.
fn transfer(random: &mut Random, words: u8) -> u64 {
    let action = if random.below(2) == 0 { Action::Load(Transfer::Words) } else { Action::Store(Transfer::Words) };
    Encoded::new(action, words).0
}

/// An access to LDS.
fn lds_access(random: &mut Random, inst: u16) -> Op {
    let words = 1 + random.below(4) as u8;
    let offset = |random: &mut Random| 4 * random.below(200) as u64;
    let imm2 = transfer(random, words);
    let [dst, data, more] = [0; 3].map(|_| random.below(12) as u16);
    let op = Op { dst, src: [random.of(&ADDRESSES), data, more], imm: offset(random), imm2, inst, ..Op::NOTHING };
    if random.below(2) == 0 {
        let run = Variants::of::<Words<false>>().select();
        return Op { run, kind: Words::<false>::KIND, ..op };
    }
    let run = Variants::of::<Words<true>>().select();
    Op { run, kind: Words::<true>::KIND, imm: op.imm | offset(random) << 32, ..op }
}

/// An access to device memory.
fn global_access(random: &mut Random, inst: u16) -> Op {
    let words = random.of(&[1, 1, 1, 2, 4]);
    let imm2 = transfer(random, words);
    let (address, ssrc) =
        if random.below(2) == 0 { (random.of(&PLACES), NO_BASE) } else { (random.of(&OFFSETS), BASE) };
    let imm = (4 * random.below(64) as i64 - 128) as u64;
    let [dst, data] = [0; 2].map(|_| random.below(12) as u16);
    let run = Variants::of::<global_words::Words>().select();
    Op { run, kind: Kind::GLOBAL_WORDS, dst, src: [address, data, 1], ssrc, imm, imm2, inst, ..Op::NOTHING }
}

/// Scalar operations that have a native form.
pub(super) fn scalar_operations() -> Vec<IsaOp> {
    // Some have none but with a constant.
    let has_form = |&&operation: &&IsaOp| {
        let src = [1, crate::scalar::IMM, 0];
        forms::scalar_form(&Op { kind: Kind::of(operation), src, ..Op::NOTHING }).is_some()
    };
    IsaOp::all().iter().filter(has_form).copied().collect()
}

/// A scalar instruction, or a wait for stores.
fn scalar_instruction(random: &mut Random, operation: IsaOp, inst: u16) -> Op {
    if random.below(16) == 0 {
        return Op { run: crate::scalar::wait, kind: Kind::FENCE, inst, ..Op::NOTHING };
    }
    let source = |random: &mut Random| match random.below(6) {
        0 => crate::scalar::IMM,
        1 => crate::scalar::IMM2,
        2 => random.of(&[106, 126]),
        _ => random.below(SCALARS) as u16,
    };
    let mut src = [0; 3].map(|_| source(random));
    if matches!(operation, IsaOp::SBfeI32 | IsaOp::SBfeI64) {
        src[1] = crate::scalar::IMM;
    }
    let sdst = if random.below(12) == 0 { random.of(&[106, 126]) } else { 2 * random.below(SCALARS / 2) as u8 };
    let [imm, imm2] = [0; 2].map(|_| u64::from(random.word(8)) << 32 | u64::from(random.word(8)));
    let kind = Kind::of(operation);
    // Some have 16 bits of it.
    let has_form = forms::scalar_form(&Op { kind, src: [1, crate::scalar::IMM, 0], imm, ..Op::NOTHING }).is_some();
    let imm = if random.below(2) == 0 && has_form { imm } else { i64::from(imm as i16) as u64 };
    let run = crate::scalar::lookup(operation).expect("a scalar operation");
    Op { run, kind, src, sdst, imm, imm2, inst, ..Op::NOTHING }
}

/// An access to a hardware register that all processors have, and no clock: mostly one that has a native form. Perhaps with what
/// sets the upper bits of VGPR numbers, as on gfx1250.
fn hardware_access(random: &mut Random, inst: u16, ops: &mut Vec<Op>) {
    let of = |id: u64, at: u64, bits: u64| (id | at << 6 | (bits - 1) << 11) as i16 as i64 as u64;
    let msb = Op { inst, ..lower::native_tests::set_msb(random.next() as u8) };
    let sdst = random.of(&[7, 20, 22, scalar::VCC]);
    let (operation, imm) = match random.below(8) {
        0 => return ops.push(msb),
        1..4 => (IsaOp::SGetregB32, of(random.of(&[1, 2, 5]), random.below(32) as u64, 1 + random.below(32) as u64)),
        4 => (IsaOp::SSetregB32, of(1, random.below(4) as u64, 1 + random.below(8) as u64)),
        _ => (IsaOp::SSetregB32, of(random.of(&[1, 1, 2, 3]), 24 + random.below(5) as u64, 1 + random.below(3) as u64)),
    };
    let source = random.of(&[crate::scalar::IMM2, 9, 21, u16::from(scalar::VCC)]);
    let (run, kind) = (crate::scalar::lookup(operation).expect("a scalar operation"), Kind::of(operation));
    let op = Op { run, kind, sdst, src: [source, 0, 0], imm, imm2: random.next().into(), inst, ..Op::NOTHING };
    ops.push(op);
    if operation == IsaOp::SSetregB32 && random.below(2) == 0 {
        ops.push(msb);
    }
}

/// A load of scalars, mostly with an offset in a register.
fn scalar_load(random: &mut Random, inst: u16) -> Op {
    let (words, operation) = random.of(&LOADS);
    let sdst = random.below(SCALARS + 1 - usize::from(words)) as u8;
    let offset = if random.below(3) == 0 { crate::scalar::NONE } else { random.of(&SCALAR_OFFSETS).into() };
    let imm = (random.below(128) as i64 - 64) as u64;
    let dst = random.of(&[0, 0, 4]);
    let src = [random.of(&[BASE, BASE + 2, BASE + 4]).into(), offset, 0];
    load_of(operation, Op { dst, src, sdst, imm, imm2: words.into(), inst, ..Op::NOTHING })
}

pub(super) fn load_of(operation: IsaOp, op: Op) -> Op {
    Op { run: crate::mem::smem::lookup(operation).expect("an operation"), kind: Kind::of(operation), ..op }
}

/// An instruction: perhaps a scalar, a constant or a modifier for its first source, and the operation.
fn instruction(random: &mut Random, (operation, valu): (IsaOp, ValuOp), inst: u16, ops: &mut Vec<Op>) {
    let register = |random: &mut Random| match random.below(8) {
        0 => rows::CONST + random.below(usize::from(rows::CONSTS)) as u16,
        _ => rows::VGPR + random.below(usize::from(REGISTERS)) as u16,
    };
    let mut src = [0; 3].map(|_| register(random));
    let dst = rows::VGPR + random.below(19) as u16;
    let prepared = match random.below(7) {
        0 => Some(lower::native_tests::splat(Op {
            dst: rows::TEMP,
            src: [random.of(&[3, 11, 21]), 0, 0],
            ..Op::NOTHING
        })),
        1 => {
            let imm = random.word(4).into();
            Some(lower::native_tests::splat_constant(Op { dst: rows::TEMP, imm, ..Op::NOTHING }))
        }
        2 => {
            let (imm, imm2) = (random.of(&[0xffff_ffff, 0x7fff_ffff]), random.of(&[0, 0x8000_0000]));
            let op = Op { dst: rows::TEMP, src: [src[0], 0, 0], imm, imm2, ..Op::NOTHING };
            Some(lower::native_tests::and_xor(op))
        }
        3 => {
            let (imm, imm2) = (random.of(&[0, 8, 16, 24]), random.of(&[8, 16, 8 | 1 << 32, 16 | 1 << 32]));
            let op = Op { dst: rows::TEMP, src: [src[0], 0, 0], imm, imm2, ..Op::NOTHING };
            Some(lower::native_tests::extract(op))
        }
        // A lane of another vector may be named, and lanes that are left out; what v_cmpx makes of EXEC would be lost.
        4 if mask_of(operation, 0) == 0 => Some(dpp(random, src[0])),
        _ => None,
    };
    let narrows = prepared.is_some_and(|op| matches!(op.kind, Kind::PERMUTE | Kind::PERMUTE_EIGHT));
    if let Some(op) = prepared {
        ops.push(Op { inst, ..op });
        src[0] = rows::TEMP;
    }
    if valu.accumulates {
        src[2] = dst;
    }
    let (sdst, ssrc) = (mask_of(operation, random.of(&MASKS)), random.of(&MASKS));
    let kind = Kind::of(operation);
    let imm = if valu.raw_mods { (random.next() & 0x1fff).into() } else { 0 };
    let run = valu.variants.select();
    ops.push(Op { run, kind, dst, src, sdst, ssrc, imm, imm2: valu.variant, inst, ..Op::NOTHING });
    if narrows {
        ops.push(Op { inst, ..lower::native_tests::restore_exec() });
    }
}

/// The lanes of a row permuted.
fn dpp(random: &mut Random, source: u16) -> Op {
    let op = Op { dst: rows::TEMP, src: [source, 0, 0], sdst: 1, ..Op::NOTHING };
    if random.below(4) == 0 {
        let (imm, imm2) = (u64::from(random.next()) & 0xff_ffff, random.below(2) as u64);
        return lower::native_tests::permute_eight(Op { imm, imm2, ..op });
    }
    let by = 1 + random.below(15) as u64;
    let quad = u64::from(random.next()) & 0xff;
    let control =
        random.of(&[quad, quad, 0x100 | by, 0x110 | by, 0x120 | by, 0x140, 0x141, 0x142, 0x150 | by, 0x160 | by]);
    let flags = random.of(&[0, 0, 1 << 16, 3 << 16, 2 << 16]);
    let enabled = match random.below(4) {
        0 => lower::native_tests::dpp_enabled(15, 1 + random.next() % 15),
        1 => lower::native_tests::dpp_enabled(random.next() & 15, 15),
        _ => !0,
    };
    lower::native_tests::permute(Op { imm: control | flags, imm2: enabled, ..op })
}

pub(super) fn wave(seed: u64, wave64: bool, exec: u64, mode: u32, rare: usize) -> Wave {
    let mut random = Random(seed);
    let mut w = Wave::new();
    w.set_lanes(if wave64 { 64 } else { 32 });
    w.mode = Mode(mode);
    let generations = [Generation::Gfx9, Generation::Gfx11, Generation::Gfx12, Generation::Gfx1250];
    w.generation = generations[seed as usize % generations.len()];
    for row in 0..REGISTERS {
        *w.row_mut(rows::VGPR + row) = Row(std::array::from_fn(|_| random.word(rare)));
    }
    for code in 0..scalar::FIRST_CONST {
        w.s[usize::from(code)] = random.word(8);
    }
    w.set_exec(exec);
    w.lds = Rc::new(Lds::new(LDS));
    for word in 0..LDS as u32 / 4 {
        w.lds.store32(4 * word, random.word(rare)).expect("inside");
    }
    let mut memory = Memory::new();
    let places = [0; 2].map(|_| memory.allocate(4 * DEVICE as u64, true).expect("there is room"));
    for place in places {
        let words: Vec<u8> = (0..DEVICE).flat_map(|_| random.word(rare).to_le_bytes()).collect();
        memory.write(place, &words).expect("inside");
    }
    // Most waves remember both; the others come upon them.
    for place in places.iter().filter(|_| random.below(4) != 0) {
        memory.resolve(&mut w.recent, *place, 4, true).expect("inside");
    }
    w.memory = Arc::new(memory);
    w.set_s64(BASE, places[0] + 1024);
    w.set_s64(BASE + 2, places[1] + 512);
    w.set_s64(BASE + 4, places[0] + 512 + random.below(4) as u64);
    for code in SCALAR_OFFSETS {
        w.s[usize::from(code)] = random.below(900) as u32;
    }
    for (row, is_pair) in PLACES.map(|row| (row, true)).into_iter().chain(OFFSETS.map(|row| (row, false))) {
        let (place, first, how) = (random.of(&places), 4 * random.below(400) as u64, random.below(6));
        let offsets: [u64; 64] = std::array::from_fn(|lane| match how {
            0 => first,
            1 | 2 => first + 4 * lane as u64,
            3 => first + 4 * (lane as u64 % 16),
            4 => 4 * random.below(1000) as u64,
            _ => first + 4 * lane as u64 + u64::from(lane == 37) * 8,
        });
        let addresses = offsets.map(|offset| place + 1024 + offset);
        *w.row_mut(row) = Row(std::array::from_fn(|i| if is_pair { addresses[i] as u32 } else { offsets[i] as u32 }));
        if is_pair {
            *w.row_mut(row + 1) = Row(addresses.map(|at| (at >> 32) as u32));
        }
    }
    for row in ADDRESSES {
        let (first, how) = (4 * random.below(400) as u32, random.below(5));
        let addresses = std::array::from_fn(|lane| match how {
            0 => first,
            1 => first + 4 * lane as u32,
            2 => first + 4 * (lane as u32 % 16),
            3 => 4 * random.below(800) as u32,
            // Some are outside, or within a word.
            _ => first + 8 * lane as u32 + if random.below(40) == 0 { random.next() } else { 0 },
        });
        *w.row_mut(row) = Row(addresses);
    }
    w
}

/// What LDS and device memory hold.
pub(super) fn held(w: &Wave) -> Vec<u32> {
    let mut all: Vec<u32> = (0..LDS as u32 / 4).map(|word| w.lds.load32(4 * word).expect("inside")).collect();
    let mut bytes = vec![0; 4 * DEVICE];
    for place in [w.s64(BASE) - 1024, w.s64(BASE + 2) - 512] {
        w.memory.read(place, &mut bytes).expect("inside");
        all.extend(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)));
    }
    all
}

pub(super) fn run(w: &mut Wave, ops: &[Op]) {
    for op in ops {
        // SAFETY: handlers of this host, on rows that there are.
        assert_eq!(unsafe { (op.run)(w, op) }, Flow::Next);
    }
}

/// The same where one is a branch onwards, if there is one.
pub(super) fn run_past(w: &mut Wave, ops: &[Op], skip: Option<Skip>) {
    let Some(skip) = skip else { return run(w, ops) };
    run(w, &ops[..skip.at]);
    // SAFETY: as in `run`.
    match unsafe { (ops[skip.at].run)(w, &ops[skip.at]) } {
        Flow::Taken => w.skipped = true,
        flow => {
            assert_eq!(flow, Flow::Fall);
            run(w, &ops[skip.at + 1..skip.to]);
        }
    }
    run(w, &ops[skip.to..]);
}

/// Runs both, and says how many micro-ops fewer there are with native code.
fn compare(machine: Machine, ops: &[Op], wave64: bool, seed: u64, mode: u32, rare: usize) -> usize {
    compare_past(machine, ops, None, wave64, seed, mode, rare)
}

/// The same where one of them is a branch onwards.
fn compare_past(
    machine: Machine,
    ops: &[Op],
    skip: Option<Skip>,
    wave64: bool,
    seed: u64,
    mode: u32,
    rare: usize,
) -> usize {
    let terms = Terms { skip, ..Terms::new(machine, wave64, Mode(mode), false) };
    let Some(native) = native_with(machine, ops, terms) else { return 0 };
    let mut random = Random(seed ^ 0x1234_5678);
    let some = u64::from(random.next()) << 32 | u64::from(random.next());
    for exec in [!0, some, 0, 0x8000_0001, 0x00ff_0000_ff00_00ff] {
        let [mut ours, mut theirs] = [0; 2].map(|_| wave(seed, wave64, exec, mode, rare));
        run(&mut ours, &native.ops);
        run_past(&mut theirs, ops, skip);
        assert_eq!(ours.skipped, theirs.skipped, "{machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        assert_eq!(ours.s[..], theirs.s[..], "scalars: {machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        assert!(held(&ours) == held(&theirs), "memory: {machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        assert_eq!(ours.has_stored, theirs.has_stored, "{machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        assert_eq!(ours.mode, theirs.mode, "{machine:?} wave64 {wave64} exec {exec:#x} seed {seed}");
        for row in 0..=HELD {
            let (ours, theirs) = (ours.row(row).0, theirs.row(row).0);
            let lane = (0..64).find(|&lane| ours[lane] != theirs[lane]);
            if let Some(lane) = lane {
                let names: Vec<_> = ops.iter().map(|op| (op.kind.operation(), op.dst, op.src)).collect();
                panic!(
                    "v{row} lane {lane}: {:#x}, not {:#x}: {machine:?} wave64 {wave64} exec {exec:#x} seed {seed} {names:?}",
                    ours[lane], theirs[lane]
                );
            }
        }
    }
    ops.len() - native.ops.len()
}

pub(super) const HOST: u32 = 0xf0;

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
                let mut random = Random(seed * 1000 + number as u64);
                let mut ops = Vec::new();
                (0..4).for_each(|inst| instruction(&mut random, operation, inst, &mut ops));
                // Flushed denormals, IEEE's NaNs, rounded up.
                for mode in [HOST, [0, HOST | 0x200, HOST | 1][seed as usize % 3]] {
                    compare(machine, &ops, wave64, seed, mode, if seed % 2 == 0 { 4 } else { 400 });
                }
            }
        }
    }
}

/// Random instructions with these numbers: one in `scalars` is scalar, of the others one in `accesses` accesses memory.
pub(super) fn instructions(
    random: &mut Random,
    (operations, scalar_operations): (&[(IsaOp, ValuOp)], &[IsaOp]),
    (accesses, scalars): (usize, usize),
    numbers: Range<u16>,
    ops: &mut Vec<Op>,
) {
    for inst in numbers {
        if random.below(scalars) == 0 {
            let operation = random.of(scalar_operations);
            match random.below(16) {
                0 => hardware_access(random, inst, ops),
                1..5 => ops.push(scalar_load(random, inst)),
                _ => ops.push(scalar_instruction(random, operation, inst)),
            }
        } else if random.below(accesses) == 0 {
            let access = random.of(&[lds_access, global_access]);
            ops.push(access(random, inst));
        } else {
            let operation = random.of(operations);
            instruction(random, operation, inst, ops);
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
            let mut random = Random(seed);
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
            let mut random = Random(seed ^ 0x5eed);
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

#[test]
fn regular_accesses_are_done_without_the_interpreter() {
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        let select = |words: bool| match words {
            true => (Variants::of::<global_words::Words>().select(), Kind::GLOBAL_WORDS),
            false => (Variants::of::<Words<false>>().select(), Kind::DS_WORDS),
        };
        let access = |global: bool, action, address, row, inst| {
            let ((run, kind), imm2) = (select(global), Encoded::new(action, 1).0);
            let imm = if global { 64 } else { 32 };
            Op { run, kind, dst: row, src: [address, row, 1], ssrc: NO_BASE, imm, imm2, inst, ..Op::NOTHING }
        };
        let (load, store) = (Action::Load(Transfer::Words), Action::Store(Transfer::Words));
        let ops = [
            access(true, load, 24, 1, 0),
            access(false, load, 20, 2, 1),
            access(false, store, 20, 1, 2),
            access(true, store, 24, 2, 3),
        ];
        let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run of four");
        assert_eq!(native.ops.len(), 1);
        for exec in [!0, 0xff, 0x0fff_ffff, 0] {
            let mut waves = [0; 2].map(|_| wave(1, wave64, exec, HOST, 100));
            for w in &mut waves {
                let place = w.s64(BASE);
                w.memory.resolve(&mut w.recent, place, 4, true).expect("inside");
                *w.row_mut(20) = Row(std::array::from_fn(|lane| 4 * lane as u32));
                *w.row_mut(24) = Row(std::array::from_fn(|lane| place as u32 + 4 * lane as u32));
                *w.row_mut(25) = Row([(place >> 32) as u32; 64]);
            }
            let [ours, theirs] = &mut waves;
            run(ours, &native.ops);
            run(theirs, &ops);
            assert!(held(ours) == held(theirs) && ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0);
            assert_eq!(ours.finished, 1, "{machine:?} wave64 {wave64} exec {exec:#x}");
        }
    }
}

#[test]
fn lanes_of_lds_may_count_from_one_that_is_off_before_it_begins() {
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        let access = |action, dst, data, offset, inst| {
            let (run, imm2) = (Variants::of::<Words<false>>().select(), Encoded::new(action, 1).0);
            let src = [20, data, 0];
            Op { run, kind: Words::<false>::KIND, dst, src, imm: offset, imm2, inst, ..Op::NOTHING }
        };
        let (load, store) = (Action::Load(Transfer::Words), Action::Store(Transfer::Words));
        let ops =
            [access(load, 1, 0, 8, 0), access(load, 2, 0, 0, 1), access(store, 0, 3, 4, 2), access(store, 0, 4, 0, 3)];
        let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run of four");
        assert_eq!(native.ops.len(), 1);
        for (first, exec) in [(-4i32, !1), (-20, !0x1f), (-60, 1 << 15), (-28, 0xff80), (LDS as i32 - 16, 3), (8, 0)] {
            let mut waves = [0; 2].map(|_| wave(1, wave64, exec, HOST, 100));
            for w in &mut waves {
                // Behind the first vectors the lanes begin anew.
                *w.row_mut(20) = Row(std::array::from_fn(|lane| match lane {
                    0..16 => first.wrapping_add(4 * lane as i32) as u32,
                    _ => 4 * lane as u32,
                }));
            }
            let [ours, theirs] = &mut waves;
            run(ours, &native.ops);
            run(theirs, &ops);
            let about = format!("{machine:?} wave64 {wave64} first {first} exec {exec:#x}");
            assert!(held(ours) == held(theirs), "memory: {about}");
            assert!(ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0, "{about}");
            assert_eq!(ours.finished, 1, "{about}");
        }
    }
}

#[test]
fn each_scalar_operation_computes_what_the_interpreter_does() {
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        for (number, operation) in scalar_operations().into_iter().enumerate() {
            for seed in 0..12 {
                let mut random = Random(seed * 1000 + number as u64);
                let ops: Vec<Op> = (0..5).map(|inst| scalar_instruction(&mut random, operation, inst)).collect();
                assert_ne!(compare(machine, &ops, wave64, seed, HOST, 8), 0, "{operation:?} has no native form");
            }
        }
    }
}

#[test]
fn irregular_accesses_leave_the_arithmetic_beside_them_native() {
    let Some(machine) = machines().pop() else { return };
    let (run_load, imm2) =
        (Variants::of::<global_words::Words>().select(), Encoded::new(Action::Load(Transfer::Words), 1).0);
    let add = valu::lookup(IsaOp::VAddU32).expect("an operation").variants.select();
    let add = |inst| Op { run: add, kind: Kind::of(IsaOp::VAddU32), dst: 1, src: [1, 2, 0], inst, ..Op::NOTHING };
    let load =
        Op { run: run_load, kind: Kind::GLOBAL_WORDS, dst: 2, src: [24, 0, 1], ssrc: NO_BASE, imm2, ..Op::NOTHING };
    let ops = [add(0), add(1), add(2), Op { inst: 3, ..load }, add(4), add(5), add(6)];
    let native = native_on(machine, &ops, true, Mode(HOST), false).expect("a run");
    let mut waves = [0; 2].map(|_| wave(3, true, !0, HOST, 100));
    for w in &mut waves {
        let place = w.s64(BASE);
        *w.row_mut(24) = Row(std::array::from_fn(|lane| place as u32 + 8 * (lane as u32 % 7)));
        *w.row_mut(25) = Row([(place >> 32) as u32; 64]);
    }
    let [ours, theirs] = &mut waves;
    for round in 0..1100 {
        run(ours, &native.ops);
        run(theirs, &ops);
        assert!(ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0, "round {round}");
    }
    // Of the rounds after the thousandth two runs each were done.
    assert!(ours.finished > 100, "{} runs were native", ours.finished);
}

/// A block that counts s10 down while it adds, until its branch falls through.
fn counting(branch: IsaOp, mask: u8, accesses: bool) -> Vec<Op> {
    let add = valu::lookup(IsaOp::VAddU32).expect("an operation").variants.select();
    let add = Op { run: add, kind: Kind::of(IsaOp::VAddU32), dst: 1, src: [1, 2, 0], ..Op::NOTHING };
    let scalar = |operation: IsaOp, op: Op| Op {
        run: crate::scalar::lookup(operation).expect("a scalar operation"),
        kind: Kind::of(operation),
        ..op
    };
    let (imm, one) = (crate::scalar::IMM, Op { imm: 1, sdst: 10, ..Op::NOTHING });
    let load = (Variants::of::<Words<false>>().select(), Encoded::new(Action::Load(Transfer::Words), 1).0);
    let load = Op { run: load.0, kind: Kind::DS_WORDS, dst: 2, src: [20, 0, 0], imm2: load.1, ..Op::NOTHING };
    let mut ops = vec![
        add,
        scalar(IsaOp::SSubU32, Op { src: [10, imm, 0], ..one }),
        scalar(IsaOp::SCmpLgU32, Op { src: [10, imm, 0], imm: 0, ..one }),
    ];
    if accesses {
        ops.insert(0, load);
    }
    if matches!(branch, IsaOp::SCbranchScc0) {
        ops.push(scalar(IsaOp::SCmpEqU32, Op { src: [10, imm, 0], imm: 0, ..one }));
    }
    if mask != scalar::SCC {
        // The mask is what is left to count, in both of its halves' lower one.
        ops.push(scalar(IsaOp::SMovB32, Op { src: [10, 0, 0], sdst: mask, ..Op::NOTHING }));
        ops.push(scalar(IsaOp::SMovB32, Op { src: [imm, 0, 0], imm: 0, sdst: mask + 1, ..Op::NOTHING }));
    }
    ops.push(scalar(branch, Op::NOTHING));
    (0..).zip(&mut ops).for_each(|(inst, op)| op.inst = inst);
    ops
}

/// Turns of a block while it leads to itself and may be turned, and how the last one ends.
fn turns(w: &mut Wave, ops: &[Op], most: u32) -> (Flow, u32) {
    let mut turned = 0;
    loop {
        let mut flow = Flow::Next;
        for op in ops {
            // SAFETY: handlers of this host, on rows that there are.
            flow = unsafe { (op.run)(w, op) };
            if flow != Flow::Next {
                break;
            }
        }
        turned += std::mem::take(&mut w.turned);
        if flow != Flow::Taken || turned == most {
            return (flow, turned);
        }
        turned += 1;
    }
}

#[test]
fn blocks_that_lead_to_themselves_turn_as_often_as_they_may() {
    use IsaOp::{SCbranchExecnz, SCbranchScc0, SCbranchScc1, SCbranchVccnz};
    let branches = [
        (SCbranchScc1, scalar::SCC),
        (SCbranchScc0, scalar::SCC),
        (SCbranchVccnz, scalar::VCC),
        (SCbranchExecnz, scalar::EXEC),
    ];
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        for ((branch, mask), accesses) in branches.iter().flat_map(|&it| [(it, true), (it, false)]) {
            let ops = counting(branch, mask, accesses);
            let native = native_on(machine, &ops, wave64, Mode(HOST), true).expect("a run");
            assert_eq!(native.ops.len(), 1);
            for (most, count) in [0, 1, 2, 7, 1000].into_iter().flat_map(|most| [(most, 1), (most, 5), (most, 300)]) {
                let mut waves = [0; 2].map(|_| wave(1, wave64, 0x00ff_ffff_ffff_ff0f, HOST, 100));
                for w in &mut waves {
                    w.s[10] = count;
                    *w.row_mut(20) = Row(std::array::from_fn(|lane| 4 * lane as u32));
                }
                let [ours, theirs] = &mut waves;
                ours.may_turn = most;
                let about = format!("{machine:?} wave64 {wave64} {branch:?} {accesses} most {most} of {count}");
                // SAFETY: a handler of this host.
                let flow = unsafe { (native.ops[0].run)(ours, &native.ops[0]) };
                assert_eq!((flow, ours.turned), turns(theirs, &ops, most), "{about}");
                assert_eq!(ours.s[..], theirs.s[..], "{about}");
                assert!(ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0, "{about}");
            }
        }
    }
}

#[test]
fn a_loop_that_the_interpreter_has_to_finish_goes_on_behind_it() {
    for machine in machines() {
        let ops = counting(IsaOp::SCbranchScc1, scalar::SCC, true);
        let native = native_on(machine, &ops, true, Mode(HOST), true).expect("a run");
        let mut waves = [0; 2].map(|_| wave(1, true, !0, HOST, 100));
        for w in &mut waves {
            w.s[10] = 9;
            // The last lanes' addresses are outside of LDS.
            *w.row_mut(20) = Row(std::array::from_fn(|lane| 4 * lane as u32 + if lane > 40 { 1 << 20 } else { 0 }));
        }
        let [ours, theirs] = &mut waves;
        let mut flow = Flow::Taken;
        while flow == Flow::Taken {
            ours.may_turn = 100;
            // SAFETY: a handler of this host.
            flow = unsafe { (native.ops[0].run)(ours, &native.ops[0]) };
        }
        assert_eq!((flow, 8), turns(theirs, &ops, 100), "{machine:?}");
        assert_eq!(ours.s[..], theirs.s[..], "{machine:?}");
        assert!(ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0, "{machine:?}");
    }
}
