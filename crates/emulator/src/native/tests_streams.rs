//! The last accesses of a wave as one pass over the vectors: which kernels and which addresses are done so, and that they and
//! all others leave what the interpreter does.

use std::sync::Arc;

use luthier_isa::Generation;
use luthier_isa::op::Op as IsaOp;

use super::machine::Machine;
use super::tests::{HOST, Random, machines, wave};
use super::tests_scalar_loads::{Why, run as outcome};
use super::whole::whole_on;
use crate::mem::flat::{Encoded, NO_BASE};
use crate::mem::{Action, Transfer, global_words};
use crate::memory::{Memory, Recent};
use crate::mode::Mode;
use crate::op::{Flow, Kind, Op, Variants};
use crate::registers::{Row, rows};
use crate::wave::Wave;
use crate::{lower, valu};

/// Bytes of the allocation, and where the kernels' arrays begin in it as a rule: far apart.
pub(super) const LEN: i64 = 16384;
const A: i64 = 0;
const B: i64 = 4096;
const TO: i64 = 8192;

/// Rows that lead to the arrays, pairs, and those that words are loaded to and stored from.
const PLACE_A: u16 = 40;
const PLACE_B: u16 = 42;
const PLACE_TO: u16 = 44;
const LOADED_A: u16 = 1;
const LOADED_B: u16 = 5;
const STORED: u16 = 9;
/// Differs from lane to lane.
const OTHER: u16 = 20;
/// A scalar, the same as a row, and a pair that is added to offsets.
const SCALAR: u16 = 5;
const SPLAT: u16 = rows::TEMP + 3;
pub(super) const BASE: u8 = 30;
const TWO: u16 = rows::CONST + 116;

/// What is done to words `n` of both arrays, by rows.
type Makes = fn(u16, u16) -> Vec<(IsaOp, u16, [u16; 3])>;

/// What kernels do between loads and the store, by the number of words of a lane, and whether several words are computed alike.
const KERNELS: [(&str, Makes, bool); 15] = [
    ("a", |_, n| vec![(IsaOp::VMovB32, STORED + n, [LOADED_A + n, 0, 0])], true),
    ("a + b", |_, n| vec![(IsaOp::VAddF32, STORED + n, [LOADED_A + n, LOADED_B + n, 0])], true),
    ("s a + b", |_, n| vec![(IsaOp::VFmaF32, STORED + n, [LOADED_A + n, SPLAT, LOADED_B + n])], true),
    (
        "2 (a + b) xor a",
        |_, n| {
            vec![
                (IsaOp::VAddF32, STORED + n, [LOADED_A + n, LOADED_B + n, 0]),
                (IsaOp::VMulF32, STORED + n, [TWO, STORED + n, 0]),
                (IsaOp::VXorB32, STORED + n, [STORED + n, LOADED_A + n, 0]),
            ]
        },
        true,
    ),
    ("s", |_, n| vec![(IsaOp::VMovB32, STORED + n, [SPLAT, 0, 0])], true),
    (
        "2 a + b, factors in any order",
        |_, n| {
            let [x, y] = if n == 1 { [TWO, LOADED_A + n] } else { [LOADED_A + n, TWO] };
            vec![(IsaOp::VFmaF32, STORED + n, [x, y, LOADED_B + n])]
        },
        true,
    ),
    ("a + b or b + a, integers", |_, n| vec![(IsaOp::VAddU32, STORED + n, in_turns(n))], true),
    // Which NaN comes out is another one.
    ("a + b or b + a", |_, n| vec![(IsaOp::VAddF32, STORED + n, in_turns(n))], false),
    ("another word of a", |words, n| vec![(IsaOp::VMovB32, STORED + n, [LOADED_A + (n + 1) % words, 0, 0])], false),
    ("a + the first word of b", |_, n| vec![(IsaOp::VAddU32, STORED + n, [LOADED_A + n, LOADED_B, 0])], false),
    ("the first word of a", |_, n| vec![(IsaOp::VMovB32, STORED + n, [LOADED_A, 0, 0])], false),
    ("a + another row", |_, n| vec![(IsaOp::VAddU32, STORED + n, [LOADED_A + n, OTHER, 0])], false),
    ("a + n", |_, n| vec![(IsaOp::VAddU32, STORED + n, [LOADED_A + n, rows::CONST + n, 0])], false),
    (
        "a + b or a - b",
        |_, n| {
            let operation = if n == 1 { IsaOp::VSubF32 } else { IsaOp::VAddF32 };
            vec![(operation, STORED + n, [LOADED_A + n, LOADED_B + n, 0])]
        },
        false,
    ),
    ("n", |_, n| vec![(IsaOp::VMovB32, STORED + n, [rows::CONST + n, 0, 0])], false),
];

/// Operands of word `n`: B's comes first in word 1, A's in all others.
fn in_turns(n: u16) -> [u16; 3] {
    if n == 1 { [LOADED_B + n, LOADED_A + n, 0] } else { [LOADED_A + n, LOADED_B + n, 0] }
}

/// How lanes' addresses are given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum By {
    Addresses,
    Offsets,
}

pub(super) fn access(action: Action, words: u16, [place, data]: [u16; 2], (by, imm): (By, i64), inst: u16) -> Op {
    let (run, imm2) = (Variants::of::<global_words::Words>().select(), Encoded::new(action, words as u8).0);
    let ssrc = if by == By::Addresses { NO_BASE } else { BASE };
    let (kind, imm) = (Kind::GLOBAL_WORDS, imm as u64);
    Op { run, kind, dst: data, src: [place, data, 1], ssrc, imm, imm2, inst, ..Op::NOTHING }
}

/// Loads both arrays, computes, and stores.
fn kernel(makes: Makes, words: u16, by: By, immediates: [i64; 3]) -> Vec<Op> {
    let (load, store) = (Action::Load(Transfer::Words), Action::Store(Transfer::Words));
    let [a, b, to] = immediates.map(|imm| (by, imm));
    let mut ops = vec![
        access(load, words, [PLACE_A, LOADED_A], a, 0),
        access(load, words, [PLACE_B, LOADED_B], b, 1),
        lower::native_tests::splat(Op { dst: SPLAT, src: [SCALAR, 0, 0], inst: 2, ..Op::NOTHING }),
    ];
    for (operation, dst, src) in (0..words).flat_map(|n| makes(words, n)) {
        let run = valu::lookup(operation).expect("an operation").variants.select();
        // The splat belongs to the first one.
        ops.push(Op { run, kind: Kind::of(operation), dst, src, inst: ops.len() as u16 - 1, ..Op::NOTHING });
    }
    ops.push(access(store, words, [PLACE_TO, STORED], to, ops.len() as u16));
    let run = crate::scalar::lookup(IsaOp::SEndpgm).expect("a scalar operation");
    ops.push(Op { run, kind: Kind::of(IsaOp::SEndpgm), inst: ops.len() as u16, ..Op::NOTHING });
    ops
}

/// Where lanes' words are, in bytes from where the allocation begins: those of the first lane, and from each lane to the next; one
/// lane may be somewhere else.
#[derive(Clone, Copy, Debug)]
struct Lie {
    first: [i64; 3],
    apart: i64,
    other: Option<(usize, i64)>,
    /// How much less the scalar base is, and offsets are more.
    back: i64,
}

const NEAR: Lie = Lie { first: [A, B, TO], apart: 4, other: None, back: 0 };

/// A wave that remembers an allocation of random words, and where that begins. Offsets have no sign.
pub(super) fn wave_with_memory(wave64: bool, exec: u64, seed: u64) -> (Wave, u64) {
    let mut w = wave(seed, wave64, exec, HOST, 3);
    let mut random = Random::new(seed);
    let mut memory = Memory::new();
    let place = memory.allocate(LEN as u64, true).expect("there is room");
    let words: Vec<u8> = (0..LEN / 4).flat_map(|_| random.word(3).to_le_bytes()).collect();
    memory.write(place, &words).expect("inside");
    w.recent = Recent::NONE;
    memory.resolve(&mut w.recent, place, 4, true).expect("inside");
    w.memory = Arc::new(memory);
    w.generation = Generation::Gfx9;
    (w, place)
}

/// A wave that is to run a kernel there, and where its memory begins.
fn wave_there(lie: Lie, by: By, wave64: bool, exec: u64, seed: u64) -> (Wave, u64) {
    let (mut w, place) = wave_with_memory(wave64, exec, seed);
    w.set_s64(BASE, place.wrapping_sub(lie.back as u64));
    for (row, first) in [PLACE_A, PLACE_B, PLACE_TO].into_iter().zip(lie.first) {
        let offset = |lane: usize| match lie.other {
            Some((other, offset)) if lane == other => first + offset,
            _ => first + lane as i64 * lie.apart,
        };
        let more = if by == By::Addresses { place as i64 } else { lie.back };
        let address = |lane: usize| more + offset(lane);
        *w.row_mut(row) = Row(std::array::from_fn(|lane| address(lane) as u32));
        *w.row_mut(row + 1) = Row(std::array::from_fn(|lane| (address(lane) >> 32) as u32));
    }
    *w.row_mut(OTHER) = Row(std::array::from_fn(|lane| lane as u32 * 0x0101));
    (w, place)
}

pub(super) fn bytes(w: &Wave, place: u64) -> Vec<u8> {
    let mut bytes = vec![0; LEN as usize];
    w.memory.read(place, &mut bytes).expect("inside");
    bytes
}

/// Whether the kernel was done in one pass, which writes no rows, and how it ended; everything else is the interpreter's.
fn outcome_of(
    (machine, wave64): (Machine, bool),
    ops: &[Op],
    make: impl Fn() -> (Wave, u64),
    about: &str,
) -> (bool, (Flow, Option<u16>, Why)) {
    let whole = whole_on(machine, ops, None, wave64, Mode(HOST)).expect("a kernel");
    let ([mut ours, mut theirs], place) = {
        let ((ours, place), (theirs, _)) = (make(), make());
        ([ours, theirs], place)
    };
    let stored = ours.row(STORED).0;
    let ended = outcome(&mut ours, &whole.native.ops[..1]);
    let wanted = outcome(&mut theirs, &ops[..ops.len() - 1]);
    assert_eq!(ended, wanted, "{about}");
    assert!(bytes(&ours, place) == bytes(&theirs, place), "memory: {about}");
    assert_eq!(ours.has_stored, theirs.has_stored, "{about}");
    (ours.row(STORED).0 == stored && theirs.row(STORED).0 != stored, ended)
}

fn ways() -> Vec<(Machine, bool)> {
    machines().into_iter().flat_map(|machine| [(machine, true), (machine, false)]).collect()
}

#[test]
fn words_that_are_computed_alike_are_done_in_one_pass() {
    for (way, (name, makes, is_alike)) in ways().into_iter().flat_map(|way| KERNELS.map(|kernel| (way, kernel))) {
        for (words, by) in [1, 2, 4].into_iter().flat_map(|n| [By::Addresses, By::Offsets].map(|by| (n, by))) {
            let lie = Lie { apart: 4 * i64::from(words), ..NEAR };
            let ops = kernel(makes, words, by, [0; 3]);
            for seed in 0..4 {
                let about = format!("{way:?} {words} words of {name}, by {by:?}, seed {seed}");
                let (is_one_pass, ended) = outcome_of(way, &ops, || wave_there(lie, by, way.1, !0, seed), &about);
                assert_eq!(ended.0, Flow::Next, "{about}");
                assert_eq!(is_one_pass, is_alike || words == 1, "{about}");
            }
        }
    }
}

#[test]
fn what_is_loaded_is_not_what_has_been_stored() {
    for (way, words) in ways().into_iter().flat_map(|way| [1, 2, 4].map(|words| (way, words))) {
        let (lane, lanes) = (4 * i64::from(words), if way.1 { 64 } else { 32 });
        let (all, end) = (lane * lanes, LEN - lane * lanes);
        // From a's beginning to that of what is stored, and whether one pass may do it.
        let shifts = [
            (0, true),
            (4, false),
            (-4, false),
            (lane, false),
            (-lane, false),
            (64, false),
            (all - 4, false),
            (4 - all, false),
            (all, true),
            (-all, true),
            (all + 4, true),
            (-all - 4, true),
        ];
        let by_shift = shifts.map(|(shift, may)| ([4096, 12000, 4096 + shift], may));
        // Another array in the same place, words that begin anywhere, and the allocation's beginning and its end.
        let others = [
            ([4096, 8192, 8192], true),
            ([4096, 8196, 8192], false),
            ([4, 4100, 8196], true),
            ([end, B, TO], true),
            ([A, B, end], true),
            ([all, 2 * all, 0], true),
        ];
        for ((first, may), by) in
            by_shift.into_iter().chain(others).flat_map(|case| [By::Addresses, By::Offsets].map(|by| (case, by)))
        {
            for (immediates, (_, makes, _)) in [[0; 3], [-4, 8, 64]].into_iter().zip([KERNELS[0], KERNELS[1]]) {
                let lie = Lie { first: std::array::from_fn(|k| first[k] - immediates[k]), apart: lane, ..NEAR };
                // Offsets have no sign, and lanes' addresses must not begin anew: the allocation's is a multiple of 4 GiB.
                if lie.first.iter().any(|&first| first < 0) {
                    continue;
                }
                let ops = kernel(makes, words, by, immediates);
                let about = format!("{way:?} {words} words, {first:?}, {immediates:?}, by {by:?}");
                let (is_one_pass, ended) = outcome_of(way, &ops, || wave_there(lie, by, way.1, !0, 7), &about);
                assert_eq!((is_one_pass, ended.0), (may, Flow::Next), "{about}");
            }
        }
    }
}

#[test]
fn lanes_that_are_off_or_elsewhere_and_faults_are_left_to_the_phases() {
    for (way, words) in ways().into_iter().flat_map(|way| [1, 2, 4].map(|words| (way, words))) {
        let (lane, lanes) = (4 * i64::from(words), if way.1 { 64 } else { 32 });
        let end = LEN - lane * lanes;
        let near = Lie { apart: lane, ..NEAR };
        let at = |first| Lie { first, ..near };
        let cases = [
            (near, !1, Flow::Next),
            (near, 0xffff_ff7f_ffff_ff7f, Flow::Next),
            (near, 0, Flow::Next),
            (Lie { apart: lane - 4, ..near }, !0, Flow::Next),
            (Lie { apart: lane + 4, ..near }, !0, Flow::Next),
            (Lie { apart: 0, ..near }, !0, Flow::Next),
            (Lie { apart: -lane, first: [2048, 6144, 10240], ..near }, !0, Flow::Next),
            (Lie { other: Some((lanes as usize - 1, 0)), ..near }, !0, Flow::Next),
            (Lie { other: Some((17, 4)), ..near }, !0, Flow::Next),
            (at([end + 4, B, TO]), !0, Flow::Fault),
            (at([A, end + lane, TO]), !0, Flow::Fault),
            (at([A, B, end + 4]), !0, Flow::Fault),
            (at([A, B, end + lane]), !0, Flow::Fault),
            (at([A, B, -4]), !0, Flow::Fault),
            (at([A, 1 << 40, TO]), !0, Flow::Fault),
            (Lie { other: Some((9, 1 << 40)), ..near }, !0, Flow::Fault),
            (Lie { other: Some((9, 1 << 32)), ..near }, !0, Flow::Fault),
        ];
        for ((lie, exec, flow), (name, makes, _)) in
            cases.into_iter().flat_map(|case| [KERNELS[0], KERNELS[1]].map(|kernel| (case, kernel)))
        {
            let ops = kernel(makes, words, By::Addresses, [0; 3]);
            let about = format!("{way:?} {words} words of {name}, {lie:?}, EXEC {exec:#x}");
            let make = || wave_there(lie, By::Addresses, way.1, exec, 11);
            let (is_one_pass, ended) = outcome_of(way, &ops, make, &about);
            assert_eq!((is_one_pass, ended.0), (false, flow), "{about}");
        }
    }
}

#[test]
fn offsets_that_begin_anew_are_left_to_the_phases() {
    const ALL: i64 = 1 << 32;
    for (way, words) in ways().into_iter().flat_map(|way| [1, 2, 4].map(|words| (way, words))) {
        let (lane, lanes) = (4 * i64::from(words), if way.1 { 64 } else { 32 });
        let before = |lanes: i64| (ALL - TO - lanes * lane, false, Flow::Fault);
        for (back, may, flow) in [(ALL - LEN, true, Flow::Next), before(8), before(lanes - 1)] {
            let lie = Lie { apart: lane, back, ..NEAR };
            let ops = kernel(KERNELS[1].1, words, By::Offsets, [0; 3]);
            let about = format!("{way:?} {words} words, {lie:?}");
            let (is_one_pass, ended) = outcome_of(way, &ops, || wave_there(lie, By::Offsets, way.1, !0, 3), &about);
            assert_eq!((is_one_pass, ended.0), (may, flow), "{about}");
        }
    }
}
