//! Instructions of 16 bits whose short encodings reach only v0 to v127: a renaming has to reach all registers, so these
//! take their long encodings.

use luthier_isa::{Flags, Inst, Operand, Reg, RegRange, op::Op};

use super::{
    code::Code,
    edit::{self, Change},
};

/// Half of a file.
const HALF: u16 = 128;

/// Gives every instruction an encoding that reaches all VGPRs. An error is a sentence about the hook.
pub fn widen(code: &mut Code) -> Result<(), String> {
    if code.insts.iter().all(reaches_all) {
        return Ok(());
    }
    let changes = code.insts.iter().map(|inst| match reaches_all(inst) {
        true => Ok(Change::none(*inst)),
        false => long(inst).map(Change::none),
    });
    let changes = changes.collect::<Result<_, _>>()?;
    edit::apply(code, changes)
}

fn reaches_all(inst: &Inst) -> bool {
    inst.operands().enumerate().all(|(index, (info, value))| match value {
        Operand::Reg(range) if range.first.is_vgpr() && range.first.number() < HALF && info.fixed.is_none() => {
            let far = RegRange { first: Reg::vgpr(range.first.number() + HALF), ..range };
            // Tuples lie where they lie; short encodings have one register.
            range.count > 1 || inst.clone().set_operand(index, Operand::Reg(far)).is_ok()
        }
        _ => true,
    })
}

fn long(inst: &Inst) -> Result<Inst, String> {
    let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
    let info = inst.info();
    // With a literal as a factor or as a summand there is no long form, but the general operation takes literals as well.
    let op = match info.op() {
        Op::VFmaakF16 | Op::VFmamkF16 => Op::VFmaF16,
        op => op,
    };
    let forms = info.mode.encodings(op).filter(|form| !form.flags.intersects(Flags::SDWA | Flags::DPP));
    let mut long = forms.filter_map(|form| Inst::build(form, &operands).ok());
    long.find(reaches_all).ok_or_else(|| format!("{inst} has no encoding for every register"))
}
