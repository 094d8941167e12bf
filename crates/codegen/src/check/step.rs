//! One instruction outside of the hooks: only what placement is known to need is understood.

use luthier_isa::msb::{self, MsbChange};
use luthier_isa::{Access, DataType, Field, Format, Generation, Inst, Op, Operand, Reg, RegRange, VgprMsb};

use super::state::{Both, Held, State, is_vector};
use super::value::Value;
use super::wrong::Wrong;

/// What else an instruction does.
pub enum Effect {
    Nothing,
    /// It loads a vector unit from a place in scratch.
    Load {
        reg: Reg,
        offset: u32,
    },
    Store {
        offset: u32,
    },
    /// It loads scalar units.
    LoadScalars(RegRange),
}

/// A field of a hardware register.
struct HwField {
    unit: Reg,
    mask: u32,
}

/// Carries values along. An error is an instruction that is not understood.
pub fn step(state: &mut State, inst: &Inst) -> Result<Effect, Wrong> {
    let unknown = || Wrong::Unknown { inst: Box::new(*inst) };
    upper_bits(state, inst)?;
    let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
    let info = inst.info();
    match (info.op(), operands.as_slice()) {
        (Op::SNop | Op::DsNop | Op::VNop | Op::SWaitcnt | Op::SWaitcntDepctr | Op::SDelayAlu, _) => {}
        // To null.
        (Op::SMovB32, [Operand::Special(125), _]) => {}
        (Op::SMovB32 | Op::SMovB64, [Operand::Reg(to), from]) if !is_vector(to.first) => {
            let values = scalars(state, *to, *from, inst);
            to.units().zip(values).for_each(|(unit, value)| state.set(unit, value));
        }
        (Op::VMovB32, [Operand::Reg(to), from]) if info.format == Format::Vop1 && is_whole(to) => {
            let value = held(state, *from).ok_or_else(unknown)?;
            state.set_vector(to.first, value);
        }
        (Op::VAndB32, [Operand::Reg(to), Operand::Literal(mask), Operand::Reg(from)]) if is_whole(to) => {
            let value = match state.held(from.first).whole().active {
                Value::Own(of) => Value::Bits { of, mask: *mask },
                _ => Value::Unknown,
            };
            state.set_vector(to.first, Held::same(value));
        }
        (Op::VLshlOrB32, [Operand::Reg(to), Operand::Reg(from), shift, Operand::Reg(with)]) if is_whole(to) => {
            let (own, shift) = (Value::Own, shift.bits(DataType::B32));
            let (from, with) = (state.both(from.first), state.both(with.first));
            let packed =
                |from: Value, with: Value| match (from == own(Reg::vgpr(1)), from == own(Reg::vgpr(2)), shift, with) {
                    (true, _, Some(10), with) if with == own(Reg::vgpr(0)) => Value::Packed(2),
                    (_, true, Some(20), Value::Packed(2)) => Value::Packed(3),
                    _ => Value::Unknown,
                };
            let (active, inactive) = (packed(from.active, with.active), packed(from.inactive, with.inactive));
            state.set_vector(to.first, Held::of(Both { active, inactive }));
        }
        (Op::VAccvgprReadB32 | Op::VAccvgprWriteB32 | Op::VAccvgprMovB32, [Operand::Reg(to), from]) if is_whole(to) => {
            let value = held(state, *from).ok_or_else(unknown)?;
            match writes_all_lanes(inst, to.first) {
                true => state.set_whole(to.first, value),
                false => state.set_vector(to.first, value),
            }
        }
        (Op::VWritelaneB32, [Operand::Reg(to), from, Operand::Inline(lane @ 128..=191)]) => {
            let value = scalars(state, RegRange::new(to.first, 1), *from, inst)[0];
            let lane = lane_of(inst, *lane).ok_or_else(unknown)?;
            state.set_lane(to.first, lane, value);
        }
        (Op::VReadlaneB32, [Operand::Reg(to), Operand::Reg(from), Operand::Inline(lane @ 128..=191)]) => {
            let lane = lane_of(inst, *lane).ok_or_else(unknown)?;
            state.set(to.first, state.lane(from.first, lane));
        }
        (Op::SSubU32, [Operand::Reg(to), Operand::Reg(from), by]) if to.count == 1 && from.count == 1 => {
            let value = match (state.get(from.first), by.bits(DataType::B32).or(inst.literal().map(u64::from))) {
                (Value::Own(of), Some(by)) => Value::Less { of, by: by as u32, round: false },
                _ => Value::Unknown,
            };
            state.set(to.first, value);
            state.set(Reg::SCC, Value::Unknown);
        }
        // With the negative of 16.
        (Op::SAndB32, [Operand::Reg(to), Operand::Reg(from), Operand::Inline(208)]) if to.count == 1 => {
            let value = match state.get(from.first) {
                Value::Less { of, by, .. } => Value::Less { of, by, round: true },
                _ => Value::Unknown,
            };
            state.set(to.first, value);
            state.set(Reg::SCC, Value::Unknown);
        }
        // 1 if SCC, else 0.
        (Op::SCselectB32, [Operand::Reg(to), Operand::Inline(129), Operand::Inline(128)]) => {
            let scc = state.get(Reg::SCC);
            state.set(to.first, if scc == Value::Own(Reg::SCC) { scc } else { Value::Unknown });
        }
        // SCC, if it was kept so, or as a hook wants it.
        (Op::SCmpLgU32, [Operand::Reg(from), Operand::Inline(128)]) => {
            let value = match state.get(from.first) {
                value @ (Value::Own(Reg::SCC) | Value::Result { .. }) => value,
                _ => Value::Unknown,
            };
            state.set(Reg::SCC, value);
        }
        (Op::SGetregB32, [Operand::Reg(to), ..]) => {
            let field = hardware_field(inst).ok_or_else(unknown)?;
            let value = match field.unit {
                // The field is moved down, and is compared only with fields that begin at bit zero.
                Reg::MODE if field.mask & 1 != 0 => Value::Mode(state.bits.copied(field.mask)),
                Reg::FLAT_SCRATCH_BASE_LO | Reg::FLAT_SCRATCH_BASE_HI if field.mask == u32::MAX => {
                    state.get(field.unit)
                }
                _ => Value::Unknown,
            };
            let value = match value {
                Value::Mode(_) if field.mask == u32::MAX && state.mode_result.is_some() => {
                    state.mode_result.unwrap_or(value)
                }
                value => value,
            };
            state.set(to.first, value);
        }
        (
            Op::SLoadDword | Op::SLoadDwordx2 | Op::SLoadDwordx4 | Op::SLoadDwordx8,
            [Operand::Reg(to), Operand::Reg(base), ..],
        ) => {
            let (low, high) = (state.get(base.first), state.get(base.first.offset(1)));
            let offset =
                inst.field(Field::Offset).filter(|_| inst.operands().all(|(_, v)| !is_register_offset(v, *to, *base)));
            let (Value::Own(of), Some(first)) = (low, offset.filter(|o| *o < 1 << 20)) else { return Err(unknown()) };
            if high != Value::Own(of.offset(1)) || to.units().any(|unit| base.units().any(|b| b == unit)) {
                return Err(unknown());
            }
            for (n, unit) in to.units().enumerate() {
                state.set(unit, Value::Loaded { of, offset: first + 4 * n as u32 });
            }
            return Ok(Effect::LoadScalars(*to));
        }
        (Op::SSetregB32 | Op::SSetregImm32B32, _) => set_hardware(state, inst)?,
        (Op::SSetVgprMsb, _) => {
            if let MsbChange::Sets(bits) = msb::change(inst) {
                state.bits.set_msb(Some(bits));
            }
        }
        (Op::ScratchLoadDword, [Operand::Reg(to), ..]) if to.count == 1 => {
            let offset = scratch_offset(state, inst).ok_or_else(unknown)?;
            let value = state.slot(offset);
            state.set_vector(to.first, value);
            return Ok(Effect::Load { reg: to.first, offset });
        }
        (Op::ScratchStoreDword, [Operand::Reg(from), ..]) if from.count == 1 => {
            let offset = scratch_offset(state, inst).ok_or_else(unknown)?;
            state.store(offset, from.first);
            return Ok(Effect::Store { offset });
        }
        _ => return Err(unknown()),
    }
    Ok(Effect::Nothing)
}

/// Whatever EXEC says.
fn writes_all_lanes(inst: &Inst, reg: Reg) -> bool {
    let mut all = false;
    inst.for_each_access(|a| all |= a.reg == reg && a.access == Access::Write);
    all
}

/// An operand that is neither what is loaded nor where from.
fn is_register_offset(value: Operand, to: RegRange, base: RegRange) -> bool {
    matches!(value, Operand::Reg(range) if range != to && range != base)
}

fn is_whole(range: &RegRange) -> bool {
    range.count == 1 && !range.is_half()
}

/// The instruction means the registers that it is taken to mean.
fn upper_bits(state: &State, inst: &Inst) -> Result<(), Wrong> {
    let info = inst.info();
    if info.mode.target().vgprs() <= 256 {
        return Ok(());
    }
    let vector = |r: RegRange| r.first.is_vgpr();
    let named = info.operands.iter().filter(|o| msb::slot(info, o.field).is_some());
    let mut named = named.filter_map(|o| inst.named(o).reg());
    let (taken, runs) = (inst.msb(), state.bits.msb());
    if named.any(vector) && (taken.is_none() || taken != runs) {
        let bits = |msb: Option<VgprMsb>| msb.map(VgprMsb::bits);
        return Err(Wrong::WrongUpperBits { inst: Box::new(*inst), taken: bits(taken), runs: bits(runs) });
    }
    Ok(())
}

/// What a scalar move puts into each unit.
fn scalars(state: &State, to: RegRange, from: Operand, inst: &Inst) -> Vec<Value> {
    match from {
        Operand::Reg(from) if from.count == to.count && !from.is_half() && !is_vector(from.first) => {
            from.units().map(|u| state.get(u)).collect()
        }
        // SCC as a source is 0 or 1.
        Operand::Special(253) if to.count == 1 => vec![state.get(Reg::SCC)],
        constant => {
            let number = |ty| constant.bits(ty);
            let wide = if inst.info().op() == Op::SMovB64 { number(DataType::B64) } else { number(DataType::B32) };
            let part = |n: u32| wide.map_or(Value::Unknown, |w| Value::Number((w >> (32 * n)) as u32));
            (0..u32::from(to.count)).map(part).collect()
        }
    }
}

/// What a vector move puts into the lanes.
fn held(state: &State, from: Operand) -> Option<Held> {
    match from {
        Operand::Reg(from) if from.count == 1 && !from.is_half() => Some(state.held(from.first)),
        constant => {
            let value = constant.bits(DataType::B32)?;
            Some(Held::same(Value::Number(value as u32)))
        }
    }
}

/// The lane that an inline constant from 0 to 63 names.
fn lane_of(inst: &Inst, code: u16) -> Option<u8> {
    let lane = (code - 128) as u8;
    (u32::from(lane) < inst.info().mode.wave().lanes()).then_some(lane)
}

fn hardware_field(inst: &Inst) -> Option<HwField> {
    let field = inst.field(Field::Simm16)?;
    let (offset, width) = (field >> 6 & 0x1f, (field >> 11 & 0x1f) + 1);
    let mask = (u32::MAX >> (32 - width)) << offset;
    let mut unit = None;
    inst.for_each_access(|a| {
        if a.implicit && a.reg.is_state() {
            unit = unit.or(Some(a.reg));
        }
    });
    Some(HwField { unit: unit?, mask })
}

fn set_hardware(state: &mut State, inst: &Inst) -> Result<(), Wrong> {
    let unknown = || Wrong::Unknown { inst: Box::new(*inst) };
    let field = hardware_field(inst).ok_or_else(unknown)?;
    let literal = inst.info().op() == Op::SSetregImm32B32;
    let source = inst.operands().find_map(|(_, value)| value.reg());
    let value = source.map_or(Value::Unknown, |range| state.get(range.first));
    match field.unit {
        Reg::MODE => {
            let keeps = state.mode_result.take();
            if literal {
                let shift = field.mask.trailing_zeros();
                state.bits.set(field.mask, inst.literal().unwrap_or(0) << shift);
            } else {
                match value {
                    Value::Mode(bits) if field.mask & 1 != 0 => state.bits.put(field.mask, bits),
                    Value::Result { .. } if field.mask == u32::MAX => state.set(Reg::MODE, value),
                    _ => state.bits.lose(field.mask),
                }
            }
            if keeps.is_some() && state.mode_result.is_none() {
                // What the hook left has been changed again.
                state.bits.lose(u32::MAX);
            }
            match msb::change(inst) {
                MsbChange::Sets(bits) => state.bits.set_msb(Some(bits)),
                MsbChange::Keeps | MsbChange::Unknown => {}
            }
            Ok(())
        }
        unit @ (Reg::FLAT_SCRATCH_BASE_LO | Reg::FLAT_SCRATCH_BASE_HI) if field.mask == u32::MAX && !literal => {
            state.set(unit, value);
            Ok(())
        }
        _ => Err(unknown()),
    }
}

/// The offset of a scratch access whose only address is a scalar with a known number, or none; in bytes of each lane.
fn scratch_offset(state: &State, inst: &Inst) -> Option<u32> {
    if inst.operand_in(Field::Addr).is_some() || inst.operand_in(Field::Vaddr).is_some() {
        return None;
    }
    let base = match inst.operand_in(Field::Saddr) {
        None => 0,
        Some(Operand::Reg(range)) => match state.get(range.first) {
            Value::Number(n) => n,
            value => state.base(value)?,
        },
        Some(_) => return None,
    };
    let generation = inst.info().mode.target().generation();
    let sign = match generation {
        Generation::Gfx10 => 11,
        Generation::Gfx12 | Generation::Gfx1250 => 23,
        _ => 12,
    };
    inst.field(Field::Offset).filter(|raw| raw >> sign == 0)?.checked_add(base)
}
