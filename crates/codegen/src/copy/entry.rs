//! What a kernel's copy does at its entries and before its end, for the sake of the hooks.
//!
//! At the entries nothing is changed that the application can see: only registers that it never touches are written.
//! Before `s_endpgm` nothing of the application's state is needed any more.

use luthier_isa::{EncodeError, Inst, Operand, Reg, RegSet};
use luthier_lifter::InFlight;

use super::chunk::{Chunk, ChunkId, Fixup, Label, Place};
use super::env::Env;
use super::hazard::MATRIX;
use super::ops::{LITERAL, one, pair, small};

/// With kernel arguments preloaded, the hardware starts this many bytes behind the entry; firmware that does not know
/// of preloading starts at the entry, where the compiler has put loads of the same registers.
pub const PRELOAD_ENTRY: u64 = 256;

/// The start of a kernel's chunk: its entry, and with preloading the second entry. `labels` are those of the copies
/// of the original instructions there.
pub fn entries(env: &Env, chunk: &mut Chunk, id: ChunkId, first: u32, preload: Option<u32>) -> Result<(), EncodeError> {
    let mut zero = Vec::new();
    for reg in env.counters.iter().flatten() {
        zero.push(env.ops.mov64(*reg, small(0))?);
    }
    for (vgpr, lane) in env.counter_lanes.iter().flatten() {
        zero.push(env.ops.write_lane(*vgpr, *lane, small(0))?);
        zero.push(env.ops.write_lane(*vgpr, lane + 1, small(0))?);
    }
    let Some(second) = preload else {
        zero.iter().for_each(|i| chunk.push(i));
        if first != 0 {
            branch(env, chunk, Place::Label { chunk: id, label: first })?;
        }
        return Ok(());
    };
    // Both entries get the same code and go their ways; the first may take no more room than there is.
    let words = (PRELOAD_ENTRY / 4) as usize;
    let size: usize = zero.iter().map(Inst::size).sum();
    if size / 4 < words {
        zero.iter().for_each(|i| chunk.push(i));
        branch(env, chunk, Place::Label { chunk: id, label: first })?;
        let nop = env.ops.nop(1)?;
        while chunk.words.len() < words {
            chunk.push(&nop);
        }
        zero.iter().for_each(|i| chunk.push(i));
        return branch(env, chunk, Place::Label { chunk: id, label: second });
    }
    Err(EncodeError::OutOfRange {
        mnemonic: "s_mov_b64",
        field: luthier_isa::Field::Simm16,
        value: format!("{} counters", zero.len()),
    })
}

fn branch(env: &Env, chunk: &mut Chunk, to: Place) -> Result<(), EncodeError> {
    let at = chunk.here();
    chunk.push(&Inst::build(env.ops.s_branch, &[Operand::Imm(0)])?);
    chunk.fixups.push(Fixup::Branch { at, to });
    Ok(())
}

/// Adds the counters to memory, one lane for the wave.
pub fn flush(env: &Env, chunk: &mut Chunk, loads: &InFlight, busy: &RegSet) -> Result<(), EncodeError> {
    let ops = &env.ops;
    let all = 0..env.plan.counters.len();
    let counters: Vec<usize> = all.filter(|c| env.has_counter(*c)).collect();
    if counters.is_empty() {
        return Ok(());
    }
    // Late results must not land in what is used here.
    if !loads.is_empty() {
        chunk.push(&ops.wait_all()?);
    }
    if !busy.is_empty() {
        chunk.push(&ops.nop(16)?);
        chunk.push(&ops.nop(MATRIX - 16)?);
    }
    chunk.push(&ops.mov64(Reg::EXEC_LO, small(1))?);
    let (low, high, zero) = (Reg::vgpr(0), Reg::vgpr(1), Reg::vgpr(2));
    chunk.push(&Inst::build(ops.v_mov_b32, &[one(zero), small(0)])?);
    let mut free =
        (0..50).map(|n| Reg::sgpr(n * 2)).filter(|r| !env.reserved.contains(*r) && !env.reserved.contains(r.offset(1)));
    let (Some(address), Some(value)) = (free.next(), free.next()) else {
        let (mnemonic, field) = ("s_getpc_b64", luthier_isa::Field::Sdst);
        return Err(EncodeError::OutOfRange { mnemonic, field, value: "no register".into() });
    };
    for i in counters {
        let reg = match (env.counters[i], env.counter_lanes[i]) {
            (Some(reg), _) => reg,
            (None, Some((vgpr, lane))) => {
                chunk.push(&ops.read_lane(value, vgpr, lane)?);
                chunk.push(&ops.read_lane(value.offset(1), vgpr, lane + 1)?);
                value
            }
            (None, None) => continue,
        };
        chunk.push(&Inst::build(ops.v_mov_b32, &[one(low), one(reg)])?);
        chunk.push(&Inst::build(ops.v_mov_b32, &[one(high), one(reg.offset(1))])?);
        let counter = &env.plan.counters[i];
        let to = match env.symbols.get(&counter.symbol) {
            Some(Place::Variable { index, offset }) => {
                Place::Variable { index: *index, offset: offset + counter.offset as i64 }
            }
            _ => continue, // refused when the plan was looked at
        };
        pc_pair(env, chunk, address, to)?;
        let add = Inst::build(ops.global_atomic_add_x2, &[one(zero), pair(low), pair(address)])?;
        chunk.push(&add);
    }
    Ok(())
}

/// `pair` = the address of a place. Changes SCC.
pub fn pc_pair(env: &Env, chunk: &mut Chunk, to_pair: Reg, to: Place) -> Result<(), EncodeError> {
    let ops = &env.ops;
    let getpc = chunk.here();
    chunk.push(&Inst::build(ops.s_getpc_b64, &[pair(to_pair)])?);
    chunk.push(&Inst::build(ops.s_add_u32, &[one(to_pair), one(to_pair), LITERAL])?);
    let low = chunk.here() - 1;
    let high_reg = to_pair.offset(1);
    chunk.push(&Inst::build(ops.s_addc_u32, &[one(high_reg), one(high_reg), LITERAL])?);
    chunk.fixups.push(Fixup::PcPair { getpc, low, high: chunk.here() - 1, to });
    Ok(())
}

/// A label at the next word.
pub fn label(chunk: &mut Chunk, falls_in: bool) -> u32 {
    let word = chunk.here();
    chunk.labels.push(Label { word, falls_in });
    chunk.labels.len() as u32 - 1
}
