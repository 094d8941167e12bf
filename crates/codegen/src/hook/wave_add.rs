//! `wave_atomic_add`: one add for the wave, whatever EXEC is.
//!
//! No LLVM intrinsic runs a vector instruction in a wave whose EXEC is zero, so the add is inline assembly that sets
//! EXEC to its first lane and restores it. During optimisation it is a call of an unknown function; replacing it last
//! shows whether the amount is a constant or its upper half zero, which saves instructions. The VGPRs it uses are high
//! ones that LLVM has no use for; placement renames them anyway.
//!
//! Of an operand in a VGPR (see [`first_lane`]) the lane that adds may have nothing. EXEC as an amount LLVM hands over as
//! EXEC. In both cases all is compiled again, and the first active lane's value is taken.

use inkwell::{
    AddressSpace,
    builder::{Builder, BuilderError},
    context::Context,
    module::Module,
    values::{
        BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue, IntValue, PointerValue,
    },
};

use super::{
    first_lane::{self, From},
    lower::WAVE_ADD,
    processor,
};
use luthier_isa::{Flags, Inst, Mode, Operand, Reg, Wave};

/// What accesses memory, once LLVM has made values of all variables.
const MEMORY: [InstructionOpcode; 4] =
    [InstructionOpcode::Load, InstructionOpcode::Store, InstructionOpcode::AtomicRMW, InstructionOpcode::AtomicCmpXchg];

/// Replaces every call in the module.
pub fn expand<'c>(cx: &'c Context, module: &Module<'c>, mode: Mode, from: From) -> Result<(), BuilderError> {
    let builder = cx.create_builder();
    for function in module.get_functions() {
        let accesses = accesses_memory(function);
        for block in function.get_basic_block_iter() {
            let mut next = block.get_first_instruction();
            while let Some(call) = next {
                next = call.get_next_instruction();
                if let Some((ptr, value)) = wave_add(call) {
                    builder.position_before(&call);
                    one_lane_add(cx, module, &builder, (ptr, value), mode, from, accesses)?;
                    call.erase_from_basic_block();
                }
            }
        }
    }
    Ok(())
}

/// Whether a function accesses memory by itself, beside what assembly does.
pub fn accesses_memory(function: FunctionValue<'_>) -> bool {
    let mut all = function.get_basic_block_iter().flat_map(|block| block.get_instructions());
    all.any(|inst| MEMORY.contains(&inst.get_opcode()))
}

/// Whether an add gets its operands from where it must not: a VGPR whose written lanes are others than the one that
/// adds, or EXEC, which the add has changed. The moves to its own registers stand behind that change.
pub fn reads_what_changes(insts: &[Inst]) -> bool {
    let one_lane = |inst: &Inst| {
        inst.info().flags.contains(Flags::SALU)
            && inst.operands().any(|(o, v)| o.access.writes() && matches!(v, Operand::Reg(r) if is_exec(r.first)))
            && inst.operands().any(|(_, v)| v.is_constant())
    };
    let mut starts = insts.iter().enumerate().filter(|(_, inst)| one_lane(inst));
    starts.any(|(at, _)| {
        let moves = insts[at + 1..].iter().take_while(|inst| inst.info().flags.contains(Flags::VALU));
        moves.flat_map(Inst::operands).any(|(o, v)| {
            !o.access.writes() && matches!(v, Operand::Reg(r) if r.first.is_vgpr() || r.units().any(is_exec))
        })
    })
}

/// The operands, if the instruction is such a call.
fn wave_add(call: InstructionValue<'_>) -> Option<(PointerValue<'_>, IntValue<'_>)> {
    if call.get_opcode() != InstructionOpcode::Call {
        return None;
    }
    let site = CallSiteValue::try_from(call).ok()?;
    let callee = site.get_called_fn_value()?;
    callee.get_name().to_str().ok()?.strip_prefix(WAVE_ADD)?;
    match (call.get_operand(0)?.value()?, call.get_operand(1)?.value()?) {
        (BasicValueEnum::PointerValue(ptr), BasicValueEnum::IntValue(value)) => Some((ptr, value)),
        _ => None,
    }
}

fn one_lane_add<'c>(
    cx: &'c Context,
    module: &Module<'c>,
    builder: &Builder<'c>,
    (ptr, value): (PointerValue<'c>, IntValue<'c>),
    mode: Mode,
    from: From,
    after_accesses: bool,
) -> Result<(), BuilderError> {
    let processor = processor::wave_add(mode);
    let (mov, exec, mask) = match mode.wave() {
        Wave::W64 => ("s_mov_b64", "exec", cx.i64_type()),
        Wave::W32 => ("s_mov_b32", "exec_lo", cx.i32_type()),
    };
    let wide = value.get_type().get_bit_width() == 64;
    let i32_type = cx.i32_type();
    let (low, high) = if !wide {
        (value, None)
    } else if let Some(constant) = value.get_zero_extended_constant() {
        (i32_type.const_int(constant & 0xffff_ffff, false), Some(i32_type.const_int(constant >> 32, false)))
    } else {
        let low = builder.build_int_truncate(value, i32_type, "low")?;
        let high = if upper_half_is_zero(value) {
            i32_type.const_zero()
        } else {
            let shifted = builder.build_right_shift(value, value.get_type().const_int(32, false), false, "shifted")?;
            builder.build_int_truncate(shifted, i32_type, "high")?
        };
        (low, Some(high))
    };

    let first_lane = |value: IntValue<'c>| match value.get_zero_extended_constant() {
        None if from == From::FirstLane => first_lane::of_word(cx, module, builder, value),
        _ => Ok(value),
    };
    let (low, high) = (first_lane(low)?, high.map(first_lane).transpose()?);
    let scalar_address = is_scalar_address(ptr);
    let ptr = if from == From::FirstLane && !scalar_address {
        first_lane::of_address(cx, module, builder, ptr)?
    } else {
        ptr
    };

    let lines = |lines: &[&str]| lines.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>();
    let mut asm = if after_accesses { lines(processor.begin) } else { Vec::new() };
    asm.extend([format!("{mov} $0, {exec}"), format!("{mov} {exec}, 1")]);
    let mut operands = vec![ptr.into()];
    let mut constraints = "=&s,s".to_owned();
    let mut set = |asm: &mut Vec<String>, reg: &str, value: IntValue<'c>| {
        let text = match value.get_zero_extended_constant() {
            Some(constant) => (constant as u32 as i32).to_string(),
            None => {
                operands.push(value.into());
                constraints.push_str(",s");
                format!("${}", operands.len())
            }
        };
        asm.push(format!("v_mov_b32_e32 {reg}, {text}"));
    };
    // The address offset is 0; so, nearly always, is the upper half of a 64-bit amount: then one register is both.
    let high = high.filter(|h| h.get_zero_extended_constant() != Some(0));
    let address = if high.is_some() { "v251" } else { "v253" };
    set(&mut asm, address, i32_type.const_zero());
    set(&mut asm, "v252", low);
    if let Some(high) = high {
        set(&mut asm, "v253", high);
    }
    if !scalar_address {
        asm.extend(lines(processor.address));
    }
    let (add, scope) = (processor.add[usize::from(wide)], processor.scope);
    let data = if wide { "v[252:253]" } else { "v252" };
    asm.push(format!("{add} {address}, {data}, $1{scope}"));
    asm.extend(lines(processor.end));
    asm.push(format!("{mov} {exec}, $0"));
    constraints.push_str(",~{v251},~{v252},~{v253},~{memory}");

    let types: Vec<_> = std::iter::once(cx.ptr_type(AddressSpace::from(1)).into())
        .chain(operands[1..].iter().map(|_| i32_type.into()))
        .collect();
    let ty = mask.fn_type(&types, false);
    let asm = cx.create_inline_asm(ty, asm.join("\n"), constraints, true, false, None, false);
    let operands: Vec<_> = operands.into_iter().map(|v: BasicValueEnum<'c>| v.into()).collect();
    builder.build_indirect_call(ty, asm, &operands, "exec")?;
    Ok(())
}

fn is_exec(reg: Reg) -> bool {
    reg == Reg::EXEC_LO || reg == Reg::EXEC_HI
}

/// The address comes from scalar code for sure: a variable or an argument.
pub fn is_scalar_address(ptr: PointerValue<'_>) -> bool {
    ptr.is_const() || ptr.as_instruction().is_none()
}

/// Whether an i64 is known to fit 32 bits, by the instruction that makes it.
fn upper_half_is_zero(value: IntValue<'_>) -> bool {
    let Some(from) = value.as_instruction() else { return false };
    match from.get_opcode() {
        InstructionOpcode::ZExt => true,
        InstructionOpcode::Call => CallSiteValue::try_from(from)
            .ok()
            .and_then(CallSiteValue::get_called_fn_value)
            .is_some_and(|f| f.get_name().to_bytes().starts_with(b"llvm.ctpop.")),
        InstructionOpcode::And => from
            .get_operand(1)
            .and_then(|o| o.value())
            .filter(|v| v.is_int_value())
            .and_then(|v| v.into_int_value().get_zero_extended_constant())
            .is_some_and(|mask| mask >> 32 == 0),
        _ => false,
    }
}
