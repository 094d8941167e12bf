//! The native form that a scalar operation has.

use luthier_isa::op::Op as IsaOp;

use super::scalar::{Logic, Scalar, ScalarForm, Source, When, Which};
use crate::op::Op;
use crate::registers::{inline_constant32, scalar};
use crate::scalar::{IMM, IMM2};

/// The form of a scalar micro-op.
pub fn scalar_form(op: &Op) -> Option<Scalar> {
    use ScalarForm::{Compare, Extreme, SaveExec, Select};
    let logic = |logic, inverts_b, inverts| ScalarForm::Logic { logic, inverts_b, inverts };
    let save = |logic, inverts_source, inverts_exec, inverts| SaveExec { logic, inverts_source, inverts_exec, inverts };
    let (and, or, xor) = (Logic::And, Logic::Or, Logic::Xor);
    let mut immediate = None;
    let mut own = false;
    let mut inline = |value: u64| immediate = Some(value);
    // These compare with a constant of 16 bits; the signed ones extend its sign, and the unsigned ones do not.
    let constant = |when, bits: u32, inline: &mut dyn FnMut(u64)| {
        let value = i16::try_from(op.imm as i64).ok()?;
        inline((i32::from(value) as u32 & bits).into());
        Some(Compare(when))
    };
    let (form, wide) = match op.kind.operation()? {
        IsaOp::SMovB32 => (ScalarForm::Move, false),
        IsaOp::SMovB64 => (ScalarForm::Move, true),
        IsaOp::SMovkI32 => {
            return Some(of_constant(Source::Constant(op.imm as u32 as u64), op.sdst));
        }
        IsaOp::SNotB32 => (ScalarForm::Not, false),
        IsaOp::SNotB64 => (ScalarForm::Not, true),
        IsaOp::SAndB32 => (logic(and, false, false), false),
        IsaOp::SAndB64 => (logic(and, false, false), true),
        IsaOp::SOrB32 => (logic(or, false, false), false),
        IsaOp::SOrB64 => (logic(or, false, false), true),
        IsaOp::SXorB32 => (logic(xor, false, false), false),
        IsaOp::SXorB64 => (logic(xor, false, false), true),
        IsaOp::SAndn2B32 => (logic(and, true, false), false),
        IsaOp::SAndn2B64 => (logic(and, true, false), true),
        IsaOp::SOrn2B32 => (logic(or, true, false), false),
        IsaOp::SOrn2B64 => (logic(or, true, false), true),
        IsaOp::SNandB32 => (logic(and, false, true), false),
        IsaOp::SNandB64 => (logic(and, false, true), true),
        IsaOp::SNorB32 => (logic(or, false, true), false),
        IsaOp::SNorB64 => (logic(or, false, true), true),
        IsaOp::SXnorB32 => (logic(xor, false, true), false),
        IsaOp::SXnorB64 => (logic(xor, false, true), true),
        IsaOp::SAndSaveexecB32 => (save(and, false, false, false), false),
        IsaOp::SAndSaveexecB64 => (save(and, false, false, false), true),
        IsaOp::SOrSaveexecB32 => (save(or, false, false, false), false),
        IsaOp::SOrSaveexecB64 => (save(or, false, false, false), true),
        IsaOp::SXorSaveexecB32 => (save(xor, false, false, false), false),
        IsaOp::SXorSaveexecB64 => (save(xor, false, false, false), true),
        IsaOp::SAndn1SaveexecB32 => (save(and, true, false, false), false),
        IsaOp::SAndn1SaveexecB64 => (save(and, true, false, false), true),
        IsaOp::SAndn2SaveexecB32 => (save(and, false, true, false), false),
        IsaOp::SAndn2SaveexecB64 => (save(and, false, true, false), true),
        IsaOp::SOrn1SaveexecB32 => (save(or, true, false, false), false),
        IsaOp::SOrn1SaveexecB64 => (save(or, true, false, false), true),
        IsaOp::SOrn2SaveexecB32 => (save(or, false, true, false), false),
        IsaOp::SOrn2SaveexecB64 => (save(or, false, true, false), true),
        IsaOp::SAddU32 => (ScalarForm::Add { carries: false }, false),
        IsaOp::SAddcU32 => (ScalarForm::Add { carries: true }, false),
        IsaOp::SSubU32 => (ScalarForm::Subtract { borrows: false }, false),
        IsaOp::SSubbU32 => (ScalarForm::Subtract { borrows: true }, false),
        IsaOp::SAddI32 => (ScalarForm::AddSigned, false),
        IsaOp::SSubI32 => (ScalarForm::SubtractSigned, false),
        IsaOp::SAddkI32 => {
            own = true;
            inline(op.imm as u32 as u64);
            (ScalarForm::AddSigned, false)
        }
        IsaOp::SMulkI32 => {
            own = true;
            inline(op.imm as u32 as u64);
            (ScalarForm::Multiply, false)
        }
        IsaOp::SLshlB32 => (ScalarForm::ShiftLeft, false),
        IsaOp::SLshlB64 => (ScalarForm::ShiftLeft, true),
        IsaOp::SLshrB32 => (ScalarForm::ShiftRight, false),
        IsaOp::SLshrB64 => (ScalarForm::ShiftRight, true),
        IsaOp::SAshrI32 => (ScalarForm::ShiftSigned, false),
        IsaOp::SAshrI64 => (ScalarForm::ShiftSigned, true),
        IsaOp::SMulI32 => (ScalarForm::Multiply, false),
        IsaOp::SMulU64 => (ScalarForm::Multiply, true),
        IsaOp::SAddNcU64 => (ScalarForm::AddQuietly, true),
        IsaOp::SSubNcU64 => (ScalarForm::SubtractQuietly, true),
        IsaOp::SCselectB32 => (Select, false),
        IsaOp::SCselectB64 => (Select, true),
        IsaOp::SMinI32 => (Extreme(When::Less), false),
        IsaOp::SMinU32 => (Extreme(When::Below), false),
        IsaOp::SMaxI32 => (Extreme(When::GreaterEqual), false),
        IsaOp::SMaxU32 => (Extreme(When::AboveEqual), false),
        IsaOp::SCmpEqI32 | IsaOp::SCmpEqU32 => (Compare(When::Equal), false),
        IsaOp::SCmpLgI32 | IsaOp::SCmpLgU32 => (Compare(When::NotEqual), false),
        IsaOp::SCmpGtI32 => (Compare(When::Greater), false),
        IsaOp::SCmpGeI32 => (Compare(When::GreaterEqual), false),
        IsaOp::SCmpLtI32 => (Compare(When::Less), false),
        IsaOp::SCmpLeI32 => (Compare(When::LessEqual), false),
        IsaOp::SCmpGtU32 => (Compare(When::Above), false),
        IsaOp::SCmpGeU32 => (Compare(When::AboveEqual), false),
        IsaOp::SCmpLtU32 => (Compare(When::Below), false),
        IsaOp::SCmpLeU32 => (Compare(When::BelowEqual), false),
        IsaOp::SCmpEqU64 => (Compare(When::Equal), true),
        IsaOp::SCmpLgU64 => (Compare(When::NotEqual), true),
        IsaOp::SCmpkEqI32 => (constant(When::Equal, !0, &mut inline)?, false),
        IsaOp::SCmpkLgI32 => (constant(When::NotEqual, !0, &mut inline)?, false),
        IsaOp::SCmpkGtI32 => (constant(When::Greater, !0, &mut inline)?, false),
        IsaOp::SCmpkGeI32 => (constant(When::GreaterEqual, !0, &mut inline)?, false),
        IsaOp::SCmpkLtI32 => (constant(When::Less, !0, &mut inline)?, false),
        IsaOp::SCmpkLeI32 => (constant(When::LessEqual, !0, &mut inline)?, false),
        IsaOp::SCmpkEqU32 => (constant(When::Equal, 0xffff, &mut inline)?, false),
        IsaOp::SCmpkLgU32 => (constant(When::NotEqual, 0xffff, &mut inline)?, false),
        IsaOp::SCmpkGtU32 => (constant(When::Above, 0xffff, &mut inline)?, false),
        IsaOp::SCmpkGeU32 => (constant(When::AboveEqual, 0xffff, &mut inline)?, false),
        IsaOp::SCmpkLtU32 => (constant(When::Below, 0xffff, &mut inline)?, false),
        IsaOp::SCmpkLeU32 => (constant(When::BelowEqual, 0xffff, &mut inline)?, false),
        IsaOp::SMulHiU32 => (ScalarForm::MultiplyHigh { signed: false }, false),
        IsaOp::SMulHiI32 => (ScalarForm::MultiplyHigh { signed: true }, false),
        IsaOp::SLshl1AddU32 => (ScalarForm::ShiftAdd(1), false),
        IsaOp::SLshl2AddU32 => (ScalarForm::ShiftAdd(2), false),
        IsaOp::SLshl3AddU32 => (ScalarForm::ShiftAdd(3), false),
        IsaOp::SLshl4AddU32 => (ScalarForm::ShiftAdd(4), false),
        IsaOp::SBfeU32 => (ScalarForm::Field, false),
        IsaOp::SBfeU64 => (ScalarForm::Field, true),
        IsaOp::SBfeI32 => (signed_field(op, 31)?, false),
        IsaOp::SBfeI64 => (signed_field(op, 63)?, true),
        IsaOp::SBfmB32 => (ScalarForm::Ones, false),
        IsaOp::SBfmB64 => (ScalarForm::Ones, true),
        IsaOp::SBitcmp0B32 => (ScalarForm::TestBit(false), false),
        IsaOp::SBitcmp1B32 => (ScalarForm::TestBit(true), false),
        IsaOp::SBitcmp0B64 => (ScalarForm::TestBit(false), true),
        IsaOp::SBitcmp1B64 => (ScalarForm::TestBit(true), true),
        IsaOp::SBitset0B32 => (ScalarForm::SetBit(false), false),
        IsaOp::SBitset1B32 => (ScalarForm::SetBit(true), false),
        IsaOp::SBitset0B64 => (ScalarForm::SetBit(false), true),
        IsaOp::SBitset1B64 => (ScalarForm::SetBit(true), true),
        IsaOp::SPackLlB32B16 => (ScalarForm::Pack { upper_a: false, upper_b: false }, false),
        IsaOp::SPackLhB32B16 => (ScalarForm::Pack { upper_a: false, upper_b: true }, false),
        IsaOp::SPackHlB32B16 => (ScalarForm::Pack { upper_a: true, upper_b: false }, false),
        IsaOp::SPackHhB32B16 => (ScalarForm::Pack { upper_a: true, upper_b: true }, false),
        IsaOp::SSextI32I8 => (ScalarForm::Extend { byte: true }, false),
        IsaOp::SSextI32I16 => (ScalarForm::Extend { byte: false }, false),
        IsaOp::SFf1I32B32 => (ScalarForm::FirstBit { highest: false }, false),
        IsaOp::SFf1I32B64 => (ScalarForm::FirstBit { highest: false }, true),
        IsaOp::SFlbitI32B32 => (ScalarForm::FirstBit { highest: true }, false),
        IsaOp::SFlbitI32B64 => (ScalarForm::FirstBit { highest: true }, true),
        IsaOp::SBcnt1I32B32 => (ScalarForm::CountOnes, false),
        IsaOp::SBcnt1I32B64 => (ScalarForm::CountOnes, true),
        IsaOp::SAbsI32 => (ScalarForm::Absolute { difference: false }, false),
        IsaOp::SAbsdiffI32 => (ScalarForm::Absolute { difference: true }, false),
        IsaOp::SGetpcB64 => {
            let value = Source::Constant(op.imm2);
            return Some(Scalar { wide: true, ..of_constant(value, op.sdst) }).filter(|it| it.dst < scalar::SCC);
        }
        IsaOp::SBrevB32 => {
            let value = match op.src[0] {
                IMM => op.imm as u32,
                IMM2 => op.imm2 as u32,
                code => inline_constant32(u8::try_from(code).ok()?)?,
            };
            return Some(of_constant(Source::Constant(value.reverse_bits().into()), op.sdst))
                .filter(|it| it.dst < scalar::SCC);
        }
        IsaOp::VReadfirstlaneB32 => return lane_of(op, Which::First),
        IsaOp::VReadlaneB32 => {
            let code = u8::try_from(op.src[1]).ok()?;
            return lane_of(op, inline_constant32(code).map_or(Which::Register(code), Which::Number));
        }
        _ => return None,
    };
    let source = |k: usize, wide: bool| match op.src[k] {
        IMM => Some(Source::Constant(op.imm)),
        IMM2 => Some(Source::Constant(op.imm2)),
        // Pairs behind the last code begin anew; no instruction has them.
        code => {
            let last = if wide { 252 } else { scalar::SCC };
            u8::try_from(code).ok().filter(|&code| code <= last).map(Source::Register)
        }
    };
    let a = match form {
        _ if own => Source::Register(op.sdst),
        ScalarForm::SetBit(_) => Source::Register(op.sdst),
        // Both sources are of 32 bits.
        ScalarForm::Ones => source(0, false)?,
        _ => source(0, wide)?,
    };
    let b = match immediate {
        Some(value) => Source::Constant(value),
        None if form.has_one_source() => a,
        None => source(usize::from(!matches!(form, ScalarForm::SetBit(_))), wide && !form.has_narrow_second())?,
    };
    (op.sdst < scalar::SCC).then_some(Scalar { form, wide, a, b, dst: op.sdst })
}

fn lane_of(op: &Op, which: Which) -> Option<Scalar> {
    let is_known = !matches!(which, Which::Register(code) if code > scalar::SCC);
    let of = of_constant(Source::Constant(0), op.sdst);
    (is_known && op.sdst < scalar::SCC).then(|| Scalar { form: ScalarForm::Lane(op.src[0], which), ..of })
}

fn of_constant(value: Source, dst: u8) -> Scalar {
    Scalar { form: ScalarForm::Move, wide: false, a: value, b: value, dst }
}

/// A field with a sign, if it is known where it is; of offsets these bits count.
fn signed_field(op: &Op, bits: u64) -> Option<ScalarForm> {
    let field = match op.src[1] {
        IMM => op.imm,
        IMM2 => op.imm2,
        _ => return None,
    };
    Some(ScalarForm::SignedField { at: (field & bits) as u8, width: (field >> 16 & 127) as u8 })
}
