//! `scalar_atomic_*`: atomics that the wave does once with scalar registers alone, by instructions that some processors have.
//!
//! LLVM has no intrinsic for them, so each is inline assembly. As `wave_add`'s, it is a call of an unknown function during
//! optimisation: whether anything asks for the old value shows last. They do not look at EXEC.

use inkwell::{
    builder::{Builder, BuilderError},
    context::Context,
    module::Module,
    types::BasicType,
    values::{BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue, IntValue},
};
use llvm_sys::{
    LLVMAtomicOrdering::{self, LLVMAtomicOrderingAcquire, LLVMAtomicOrderingRelease},
    core::{LLVMBuildFenceSyncScope, LLVMGetSyncScopeID},
};
use luthier_isa::{Mode, op::Op};

use super::{
    first_lane::{self, From},
    place,
    refusal::Refusal,
    wave_add::{accesses_memory, is_scalar_address},
};

/// The start of what stands for them in IR; behind it are operation and type, as in `luthier.scalar_atomic.add.i32`.
pub const SCALAR_ATOMIC: &str = "luthier.scalar_atomic.";

/// The operations, by their names in IR, as assembly has them.
const OPERATIONS: [(&str, &str); 13] = [
    ("add", "add"),
    ("sub", "sub"),
    ("min", "smin"),
    ("umin", "umin"),
    ("max", "smax"),
    ("umax", "umax"),
    ("and", "and"),
    ("or", "or"),
    ("xor", "xor"),
    ("inc", "inc"),
    ("dec", "dec"),
    ("exchange", "swap"),
    ("cas", "cmpswap"),
];

/// The scope in which other accesses of the hook are ordered with them.
const SCOPE: &str = "agent-one-as";

/// What the assembly ends with: its result is there, and its operands may change.
const WAIT: &str = "s_waitcnt lgkmcnt(0)";

/// Whether the processor has them.
pub fn has_them(mode: Mode) -> bool {
    mode.plain(Op::SAtomicAdd).is_some()
}

/// Why not.
pub fn refused(mode: Mode) -> String {
    let name = mode.target().name();
    format!(
        "{name} has no scalar atomics: lt.wave_atomic_add and lt.wave_atomic_exchange act for the wave on every processor"
    )
}

/// A negative number that is put into a pair of registers, for assembly, by one move with a literal of 32 bits: LLVM 22 does
/// that as if the literal's sign were extended, and B64 operations extend literals by zeros.
fn is_miscompiled(constant: i64) -> bool {
    i32::try_from(constant).is_ok_and(|constant| constant < -16)
}

/// Replaces every call in the module.
pub fn expand<'c>(cx: &'c Context, module: &Module<'c>, mode: Mode, from: From) -> Result<(), Refusal> {
    let builder = cx.create_builder();
    for function in module.get_functions() {
        let calls: Vec<_> = calls(function).collect();
        let is_ordered = !calls.is_empty() && accesses_memory(function);
        for (call, operation) in calls {
            if !has_them(mode) {
                return Err(Refusal::at(place::of(call), refused(mode)));
            }
            let expand = Expand { cx, module, builder: &builder, from, is_ordered };
            expand.call(call, operation).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

/// Calls of such functions, and their operations in assembly.
fn calls<'c>(function: FunctionValue<'c>) -> impl Iterator<Item = (InstructionValue<'c>, &'static str)> {
    let all = function.get_basic_block_iter().flat_map(|block| block.get_instructions());
    all.filter(|inst| inst.get_opcode() == InstructionOpcode::Call).filter_map(|call| {
        let callee = CallSiteValue::try_from(call).ok()?.get_called_fn_value()?;
        let (name, _) = callee.get_name().to_str().ok()?.strip_prefix(SCALAR_ATOMIC)?.split_once('.')?;
        OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, assembly)| (call, *assembly))
    })
}

struct Expand<'a, 'c> {
    cx: &'c Context,
    module: &'a Module<'c>,
    builder: &'a Builder<'c>,
    from: From,
    /// The function has other accesses to memory.
    is_ordered: bool,
}

impl<'c> Expand<'_, 'c> {
    fn call(&self, call: InstructionValue<'c>, operation: &str) -> Result<(), BuilderError> {
        let operand = |n| call.get_operand(n).and_then(|operand| operand.value());
        let (Some(BasicValueEnum::PointerValue(address)), Some(BasicValueEnum::IntValue(value))) =
            (operand(0), operand(1))
        else {
            return Err(BuilderError::UnsetPosition);
        };
        let bits = value.get_type().get_bit_width();
        self.builder.position_before(&call);
        let address = match self.from {
            From::FirstLane if !is_scalar_address(address) => {
                first_lane::of_address(self.cx, self.module, self.builder, address)?
            }
            _ => address,
        };
        let value = self.scalar(value)?;
        let data = match operand(2) {
            Some(BasicValueEnum::IntValue(stored)) if operation == "cmpswap" => {
                self.pair(self.scalar(stored)?, value)?
            }
            _ => value.into(),
        };
        let wide = if bits == 64 { "_x2" } else { "" };
        let operands = [data.into(), address.into()];
        let types = [data.get_type().into(), address.get_type().into()];
        let asm = |ty, text: String, constraints: &str| {
            let text = format!("{text}\n{WAIT}");
            self.cx.create_inline_asm(ty, text, format!("{constraints},~{{memory}}"), true, false, None, false)
        };
        self.fence(LLVMAtomicOrderingRelease);
        if call.get_first_use().is_none() {
            let ty = self.cx.void_type().fn_type(&types, false);
            let asm = asm(ty, format!("s_atomic_{operation}{wide} $0, $1, 0x0"), "s,s");
            self.builder.build_indirect_call(ty, asm, &operands, "")?;
            self.fence(LLVMAtomicOrderingAcquire);
        } else {
            let ty = data.get_type().fn_type(&types, false);
            let asm = asm(ty, format!("s_atomic_{operation}{wide} $0, $2, 0x0 glc"), "=&s,0,s");
            let found = self.builder.build_indirect_call(ty, asm, &operands, "found")?.try_as_basic_value().basic();
            self.fence(LLVMAtomicOrderingAcquire);
            let old = match found.ok_or(BuilderError::UnsetPosition)? {
                BasicValueEnum::VectorValue(both) => {
                    let first = self.cx.i32_type().const_zero();
                    self.builder.build_extract_element(both, first, "old")?.into_int_value()
                }
                found if bits == 32 && found.get_type() != value.get_type().into() => {
                    self.builder.build_int_truncate(found.into_int_value(), value.get_type(), "old")?
                }
                found => found.into_int_value(),
            };
            call.replace_all_uses_with(&old.as_instruction().ok_or(BuilderError::UnsetPosition)?);
        }
        call.erase_from_basic_block();
        Ok(())
    }

    /// An operand that a scalar register has.
    fn scalar(&self, value: IntValue<'c>) -> Result<IntValue<'c>, BuilderError> {
        match (self.from, value.get_type().get_bit_width()) {
            (_, 64) if value.get_sign_extended_constant().is_some_and(is_miscompiled) => self.hidden(value),
            (From::FirstLane, 32) if !value.is_const() => {
                first_lane::of_word(self.cx, self.module, self.builder, value)
            }
            (From::FirstLane, 64) if !value.is_const() => {
                first_lane::of_pair(self.cx, self.module, self.builder, value)
            }
            _ => Ok(value),
        }
    }

    /// A constant whose lower half LLVM does not know any more.
    fn hidden(&self, value: IntValue<'c>) -> Result<IntValue<'c>, BuilderError> {
        let (word, pair, builder) = (self.cx.i32_type(), self.cx.i64_type(), self.builder);
        let ty = word.fn_type(&[word.into()], false);
        let asm = self.cx.create_inline_asm(ty, String::new(), "=s,0".to_owned(), false, false, None, false);
        let low = builder.build_int_truncate(value, word, "low")?;
        let low = builder.build_indirect_call(ty, asm, &[low.into()], "low")?.try_as_basic_value().basic();
        let low = low.ok_or(BuilderError::UnsetPosition)?.into_int_value();
        let high = pair.const_int(u64::MAX << 32, false);
        builder.build_or(builder.build_int_z_extend(low, pair, "low")?, high, "whole")
    }

    /// What is to be stored, and behind it what has to be there.
    fn pair(&self, stored: IntValue<'c>, expected: IntValue<'c>) -> Result<BasicValueEnum<'c>, BuilderError> {
        let (long, builder) = (self.cx.i64_type(), self.builder);
        if stored.get_type() == long {
            let number = |n| self.cx.i32_type().const_int(n, false);
            let both = builder.build_insert_element(long.vec_type(2).get_poison(), stored, number(0), "stored")?;
            return Ok(builder.build_insert_element(both, expected, number(1), "both")?.into());
        }
        let [stored, expected] = [stored, expected].map(|word| builder.build_int_z_extend(word, long, "word"));
        let expected = builder.build_left_shift(expected?, long.const_int(32, false), "expected")?;
        Ok(builder.build_or(stored?, expected, "both")?.into())
    }

    /// Vector accesses reach memory by another way: without it they could overtake, or find what was there before.
    fn fence(&self, ordering: LLVMAtomicOrdering) {
        if self.is_ordered {
            // SAFETY: the builder stands in a function of this context; the name is read at once.
            unsafe {
                let scope = LLVMGetSyncScopeID(self.cx.raw(), SCOPE.as_ptr().cast(), SCOPE.len());
                LLVMBuildFenceSyncScope(self.builder.as_mut_ptr(), ordering, scope, c"".as_ptr());
            }
        }
    }
}
