//! Scalar instructions, each a few of the host's.

use luthier_isa::op::Op as IsaOp;

use crate::op::Op;
use crate::registers::scalar;
use crate::scalar::{IMM, IMM2};

/// A scalar operation with a native form.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    pub form: ScalarForm,
    /// On 64 bits.
    pub wide: bool,
    pub a: Source,
    pub b: Source,
    pub dst: u8,
}

#[derive(Clone, Copy, Debug)]
pub enum Source {
    Register(u8),
    Constant(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// x86's conditions: SCC is kept as one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Below,
    BelowEqual,
    Above,
    AboveEqual,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalarForm {
    Move,
    /// SCC says whether the result is not zero.
    Not,
    Logic {
        logic: Logic,
        inverts_b: bool,
        inverts: bool,
    },
    /// EXEC becomes that of the source and EXEC, which goes to the destination.
    SaveExec {
        logic: Logic,
        inverts_source: bool,
        inverts_exec: bool,
        inverts: bool,
    },
    /// SCC is the carry, and may be one before.
    Add {
        carries: bool,
    },
    Subtract {
        borrows: bool,
    },
    /// SCC is an overflow.
    AddSigned,
    SubtractSigned,
    ShiftLeft,
    ShiftRight,
    ShiftSigned,
    Multiply,
    /// SCC stays what it is.
    AddQuietly,
    SubtractQuietly,
    /// SCC alone is written.
    Compare(When),
    Select,
    /// The first source where the condition holds, which SCC says; the second one else.
    Extreme(When),
}

/// The form of a scalar micro-op.
pub fn scalar_form(op: &Op) -> Option<Scalar> {
    use ScalarForm::{Compare, Extreme, SaveExec, Select};
    let logic = |logic, inverts_b, inverts| ScalarForm::Logic { logic, inverts_b, inverts };
    let save = |logic, inverts_source, inverts_exec, inverts| SaveExec { logic, inverts_source, inverts_exec, inverts };
    let (and, or, xor) = (Logic::And, Logic::Or, Logic::Xor);
    let mut immediate = None;
    let mut own = false;
    let mut inline = |value: u64| immediate = Some(value);
    let (form, wide) = match op.kind.operation()? {
        IsaOp::SMovB32 => (ScalarForm::Move, false),
        IsaOp::SMovB64 => (ScalarForm::Move, true),
        IsaOp::SMovkI32 => {
            let value = Source::Constant(op.imm as u32 as u64);
            return Some(Scalar { form: ScalarForm::Move, wide: false, a: value, b: value, dst: op.sdst });
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
        _ => return None,
    };
    // Pairs behind the last code begin anew; no instruction has them.
    let last = if wide { 252 } else { scalar::SCC };
    let source = |k: usize| match op.src[k] {
        IMM => Some(Source::Constant(op.imm)),
        IMM2 => Some(Source::Constant(op.imm2)),
        code => u8::try_from(code).ok().filter(|&code| code <= last).map(Source::Register),
    };
    let is_one = matches!(form, ScalarForm::Move | ScalarForm::Not | SaveExec { .. });
    let a = if own { Source::Register(op.sdst) } else { source(0)? };
    let b = match immediate {
        Some(value) => Source::Constant(value),
        None if is_one => a,
        None => source(1)?,
    };
    (op.sdst < scalar::SCC).then_some(Scalar { form, wide, a, b, dst: op.sdst })
}

impl Scalar {
    /// Whether other lanes are on behind it.
    pub fn writes_exec(&self) -> bool {
        let writes = self.dst..=self.dst + u8::from(self.wide);
        matches!(self.form, ScalarForm::SaveExec { .. })
            || !matches!(self.form, ScalarForm::Compare(_))
                && (writes.contains(&scalar::EXEC) || writes.contains(&(scalar::EXEC + 1)))
    }
}
