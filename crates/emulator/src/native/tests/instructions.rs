//! Random instructions of vectors and scalars and random accesses to memory, and which operations have a native form.

use std::ops::Range;

use luthier_isa::op::Op as IsaOp;

use super::random::Random;
use super::waves::{ADDRESSES, BASE, BUFFER_OFFSETS, OFFSETS, PLACES, REGISTERS, RESOURCES, SCALAR_OFFSETS};
use crate::mem::ds_words::Words;
use crate::mem::flat::{self, Encoded, NO_BASE};
use crate::mem::{Action, Transfer, buffer, ds, ds_lanes, global_words};
use crate::native::forms;
use crate::native::graph::Graph;
use crate::op::{Kind, Op, OpFlags, Semantics, Variants};
use crate::registers::{rows, scalar};
use crate::registry::ValuOp;
use crate::valu::compare::comparison;
use crate::{lower, valu};

/// Scalar registers that instructions read and write; others keep what leads to memory, and some are free.
const SCALARS: usize = 24;
/// Loads of scalars, and how many each has.
pub const LOADS: [(u8, IsaOp); 6] = [
    (1, IsaOp::SLoadDword),
    (2, IsaOp::SLoadDwordx2),
    (3, IsaOp::SLoadB96),
    (4, IsaOp::SLoadDwordx4),
    (8, IsaOp::SLoadDwordx8),
    (16, IsaOp::SLoadDwordx16),
];
const MASKS: [u8; 4] = [scalar::VCC, 20, 22, 12];

/// Vector operations that have a native form, with what the interpreter does.
pub fn operations() -> Vec<(IsaOp, ValuOp)> {
    let has_form = |operation: IsaOp| {
        // Some take no shift but by a constant.
        let src = [1, rows::CONST + 3, rows::CONST + 3];
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

/// An instruction: perhaps a scalar, a constant or a modifier for its first source, and the operation.
pub(super) fn instruction(random: &mut Random, (operation, valu): (IsaOp, ValuOp), inst: u16, ops: &mut Vec<Op>) {
    let register = |random: &mut Random| match random.below(8) {
        0 => rows::CONST + random.below(usize::from(rows::CONSTS)) as u16,
        _ => rows::VGPR + random.below(usize::from(REGISTERS)) as u16,
    };
    let mut src = [0; 3].map(|_| register(random));
    let dst = rows::VGPR + random.below(19) as u16;
    match operation {
        // Numbers of lanes are the same in all of them.
        IsaOp::VPermlane16B32 | IsaOp::VPermlanex16B32 => {
            let op = Op { dst: rows::TEMP + 8, src: [random.of(&[3, 11, 21]), 0, 0], ..Op::NOTHING };
            ops.push(Op { inst, ..lower::native_tests::splat(op) });
            let constant = rows::CONST + random.below(usize::from(rows::CONSTS)) as u16;
            (src[1], src[2]) =
                if random.below(2) == 0 { (rows::TEMP + 8, constant) } else { (constant, rows::TEMP + 8) };
        }
        IsaOp::VCmpClassF32 if random.below(2) == 0 => {
            let imm = u64::from(random.next() & 0x3ff);
            ops.push(Op {
                inst,
                ..lower::native_tests::splat_constant(Op { dst: rows::TEMP + 8, imm, ..Op::NOTHING })
            });
            src[1] = rows::TEMP + 8;
        }
        // It writes this one, too.
        IsaOp::VSwapB32 => src[2] = rows::VGPR + random.below(19) as u16,
        // Numbers of bytes, in one of some lanes' all others.
        IsaOp::VPermB32 if random.below(3) != 0 => {
            let imm = random.of(&[0x0706_0302, 0x0504_0100, 0x0c07_0c03]);
            ops.push(Op {
                inst,
                ..lower::native_tests::splat_constant(Op { dst: rows::TEMP + 8, imm, ..Op::NOTHING })
            });
            src[2] = rows::TEMP + 8;
        }
        _ => {}
    }
    let prepared = match random.below(8) {
        0 => Some(lower::native_tests::splat(Op {
            dst: rows::TEMP,
            src: [random.of(&[3, 11, 21, 126]), 0, 0],
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
        5 => {
            let (imm, imm2) = (random.below(4) as u64, random.of(&[0, 0x8000, 0x8000_8000]));
            let op = Op { dst: rows::TEMP, src: [src[0], 0, 0], imm, imm2, ..Op::NOTHING };
            Some(lower::native_tests::pick_halves(op))
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
    // What reads its destination has no other one, and some leave nothing there.
    let merges = !valu.raw_mods
        && !matches!(operation, IsaOp::VSwapB32 | IsaOp::VNop | IsaOp::VPermlane64B32)
        && random.below(4) == 0;
    let to = if merges { rows::TEMP + 2 } else { dst };
    let (sdst, ssrc) = (mask_of(operation, random.of(&MASKS)), random.of(&MASKS));
    let kind = Kind::of(operation);
    let imm = if valu.raw_mods { (random.next() & 0x1fff).into() } else { 0 };
    let run = valu.variants.select();
    let flags = if saturates(operation) && random.below(3) == 0 { OpFlags::CLAMP } else { OpFlags::empty() };
    ops.push(Op { run, kind, dst: to, src, sdst, ssrc, imm, imm2: valu.variant, flags, inst });
    // A comparison has left nothing there.
    if merges && !forms::writes_mask(&Op { kind, ..Op::NOTHING }) {
        ops.push(Op { inst, ..merge(random, dst) });
    }
    if narrows {
        ops.push(Op { inst, ..lower::native_tests::restore_exec() });
    }
}

/// Whether there is a form that saturates.
fn saturates(operation: IsaOp) -> bool {
    matches!(operation, IsaOp::VAddU32 | IsaOp::VSubU32 | IsaOp::VSubrevU32)
}

/// A half, a byte or all that a row of its own holds takes its place in a register.
fn merge(random: &mut Random, dst: u16) -> Op {
    let (imm, mask) = random.of(&[(0u64, 0xffffu64), (16, 0xffff_0000), (0, 0xff), (8, 0xff00), (24, 0xff00_0000)]);
    let imm2 = mask | random.of(&[0, 0, 1 << 32, 2 << 32]);
    lower::native_tests::merge(Op { dst, src: [rows::TEMP + 2, 0, 0], imm, imm2, ..Op::NOTHING })
}

/// The lanes of a row permuted.
fn dpp(random: &mut Random, source: u16) -> Op {
    let op = Op { dst: rows::TEMP, src: [source, 0, 0], sdst: 1, ..Op::NOTHING };
    if random.below(4) == 0 {
        let (imm, imm2) = (u64::from(random.next()) & 0xff_ffff, random.below(2) as u64);
        return lower::native_tests::permute_eight(Op { imm, imm2, ..op });
    }
    let by = 1 + random.below(15) as u64;
    let beyond = random.of(&[0x130, 0x134, 0x138, 0x13c, 0x142, 0x143]);
    let quad = u64::from(random.next()) & 0xff;
    let control =
        random.of(&[quad, quad, 0x100 | by, 0x110 | by, 0x120 | by, 0x140, 0x141, 0x150 | by, 0x160 | by, beyond]);
    let flags = random.of(&[0, 0, 1 << 16, 3 << 16, 2 << 16]);
    let enabled = match random.below(4) {
        0 => lower::native_tests::dpp_enabled(15, 1 + random.next() % 15),
        1 => lower::native_tests::dpp_enabled(random.next() & 15, 15),
        _ => !0,
    };
    lower::native_tests::permute(Op { imm: control | flags, imm2: enabled, ..op })
}

/// A load or a store of words.
fn transfer(random: &mut Random, words: u8) -> u64 {
    let action = if random.below(2) == 0 { Action::Load(Transfer::Words) } else { Action::Store(Transfer::Words) };
    Encoded::new(action, words).0
}

/// A load or a store of less.
fn part(random: &mut Random) -> u64 {
    use Transfer::*;
    let action = match random.below(3) {
        0 => Action::Store(random.of(&[U8, U16, U8Hi, B16Hi])),
        _ => Action::Load(random.of(&[U8, I8, U16, I16, U8Lo, I8Lo, B16Lo, U8Hi, I8Hi, B16Hi])),
    };
    Encoded::new(action, 1).0
}

/// An access to LDS.
fn lds_access(random: &mut Random, inst: u16) -> Op {
    let words = 1 + random.below(4) as u8;
    let offset = |random: &mut Random| 4 * random.below(200) as u64;
    let imm2 = transfer(random, words);
    let [dst, data, more] = [0; 3].map(|_| random.below(12) as u16);
    let op = Op { dst, src: [random.of(&ADDRESSES), data, more], imm: offset(random), imm2, inst, ..Op::NOTHING };
    if random.below(3) == 0 {
        let imm = op.imm + random.of(&[0, 0, 0, 1, 2, 3]);
        return Op { run: ds::single, kind: Kind::DS_PARTS, imm, imm2: part(random), ..op };
    }
    if random.below(2) == 0 {
        let run = Variants::of::<Words<false>>().select();
        return Op { run, kind: Words::<false>::KIND, ..op };
    }
    let run = Variants::of::<Words<true>>().select();
    Op { run, kind: Words::<true>::KIND, imm: op.imm | offset(random) << 32, ..op }
}

/// A load of a word of LDS.
pub fn lds_load(dst: u16, address: u16, inst: u16) -> Op {
    let run = Variants::of::<Words<false>>().select();
    let imm2 = Encoded::new(Action::Load(Transfer::Words), 1).0;
    Op { run, kind: Words::<false>::KIND, dst, src: [address, 0, 0], imm2, inst, ..Op::NOTHING }
}

/// Lanes that read others by addresses.
fn bpermute(random: &mut Random, inst: u16) -> Op {
    let operation = random.of(&[IsaOp::DsBpermuteB32, IsaOp::DsBpermuteFiB32]);
    let run = ds_lanes::lookup(operation, 0).expect("an operation");
    let [dst, data] = [0; 2].map(|_| random.below(12) as u16);
    let (address, imm) = (random.below(usize::from(REGISTERS)) as u16, random.of(&[0, 4, 132]));
    Op { run, kind: Kind::of(operation), dst, src: [address, data, 0], imm, inst, ..Op::NOTHING }
}

/// An access to device memory.
fn global_access(random: &mut Random, inst: u16) -> Op {
    let words = random.of(&[1, 1, 1, 2, 4]);
    let imm2 = transfer(random, words);
    let (address, ssrc) =
        if random.below(2) == 0 { (random.of(&PLACES), NO_BASE) } else { (random.of(&OFFSETS), BASE) };
    let imm = (4 * random.below(64) as i64 - 128) as u64;
    let [dst, data] = [0; 2].map(|_| random.below(12) as u16);
    let op = Op { dst, src: [address, data, 1], ssrc, imm, imm2, inst, ..Op::NOTHING };
    if random.below(3) == 0 {
        let imm = op.imm.wrapping_add(random.of(&[0, 0, 0, 1, 2, 3]));
        return Op { run: flat::global, kind: Kind::GLOBAL_PARTS, imm, imm2: part(random), ..op };
    }
    Op { run: Variants::of::<global_words::Words>().select(), kind: Kind::GLOBAL_WORDS, ..op }
}

/// An access to a buffer.
fn buffer_access(random: &mut Random, inst: u16) -> Op {
    let words = random.of(&[1, 1, 2, 3, 4]);
    let imm2 = if random.below(2) == 0 { part(random) } else { transfer(random, words) };
    let [dst, data] = [0; 2].map(|_| random.below(12) as u16);
    // 0, 64, and a register.
    let soffset = random.of(&[128, 128, 192, u16::from(SCALAR_OFFSETS[0])]);
    let (imm, imm2) = (random.below(64) as u64, imm2 | u64::from(buffer::OFFEN) << 32);
    let imm = if random.below(4) == 0 { imm } else { imm & !3 };
    let src = [random.of(&BUFFER_OFFSETS), data, soffset];
    let (run, kind, sdst) = (buffer::buffer as _, Kind::BUFFER, random.of(&RESOURCES));
    Op { run, kind, dst, src, sdst, imm, imm2, inst, ..Op::NOTHING }
}

/// Scalar operations that have a native form.
pub fn scalar_operations() -> Vec<IsaOp> {
    // Some have none but with a constant.
    let has_form = |&&operation: &&IsaOp| {
        crate::scalar::lookup(operation).is_some() && {
            let src = [crate::scalar::IMM, crate::scalar::IMM, 0];
            forms::scalar_form(&Op { kind: Kind::of(operation), src, ..Op::NOTHING }).is_some()
        }
    };
    IsaOp::all().iter().filter(has_form).copied().collect()
}

/// A scalar instruction, or a wait for stores.
pub(super) fn scalar_instruction(random: &mut Random, operation: IsaOp, inst: u16) -> Op {
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
    match operation {
        IsaOp::SBfeI32 | IsaOp::SBfeI64 => src[1] = crate::scalar::IMM,
        IsaOp::SBrevB32 => {
            let constant = 128 + random.below(81) as u16;
            src[0] = random.of(&[crate::scalar::IMM, crate::scalar::IMM2, constant]);
        }
        _ => {}
    }
    let sdst = if random.below(12) == 0 { random.of(&[106, 126]) } else { 2 * random.below(SCALARS / 2) as u8 };
    let [imm, imm2] = [0; 2].map(|_| u64::from(random.word(8)) << 32 | u64::from(random.word(8)));
    let kind = Kind::of(operation);
    // Some have 16 bits of it.
    let has_form =
        forms::scalar_form(&Op { kind, src: [crate::scalar::IMM, crate::scalar::IMM, 0], imm, ..Op::NOTHING })
            .is_some();
    let imm = if random.below(2) == 0 && has_form { imm } else { i64::from(imm as i16) as u64 };
    let run = crate::scalar::lookup(operation).expect("a scalar operation");
    Op { run, kind, src, sdst, imm, imm2, inst, ..Op::NOTHING }
}

/// A scalar register gets what a lane has: the first one, or one that a constant or a register says.
pub(super) fn lane_read(random: &mut Random, inst: u16) -> Op {
    let operation = random.of(&[IsaOp::VReadfirstlaneB32, IsaOp::VReadlaneB32, IsaOp::VReadlaneB32]);
    let (constant, register) = (128 + random.below(65) as u16, random.below(SCALARS) as u16);
    let number = random.of(&[constant, register]);
    let src = [rows::VGPR + random.below(usize::from(REGISTERS)) as u16, number, 0];
    let sdst = random.of(&[0, 2, 5, 9, 14, 20, 23, scalar::VCC]);
    let run = valu::lookup(operation).expect("an operation").variants.select();
    Op { run, kind: Kind::of(operation), src, sdst, inst, ..Op::NOTHING }
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

pub fn load_of(operation: IsaOp, op: Op) -> Op {
    Op { run: crate::mem::smem::lookup(operation).expect("an operation"), kind: Kind::of(operation), ..op }
}

/// Random instructions with these numbers: one in `scalars` is scalar, of the others one in `accesses` accesses memory.
pub fn instructions(
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
                5..7 => ops.push(lane_read(random, inst)),
                _ => ops.push(scalar_instruction(random, operation, inst)),
            }
        } else if random.below(accesses) == 0 {
            let access = random.of(&[lds_access, bpermute, global_access, buffer_access]);
            ops.push(access(random, inst));
        } else {
            let operation = random.of(operations);
            instruction(random, operation, inst, ops);
        }
    }
}
