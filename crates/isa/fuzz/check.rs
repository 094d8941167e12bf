//! What must hold for any bytes that are taken for code. The fuzz target and the test `hostile` share it.

use luthier_isa::{Inst, Mode, Operand, Target, VgprMsb, Wave};

/// Decodes `bytes` as the code of a processor that the first of them chooses, and asks everything of each instruction. How
/// many there were.
///
/// # Panics
/// Something does not hold.
pub fn code(bytes: &[u8]) -> usize {
    let [choice, msb, code @ ..] = bytes else { return 0 };
    let target = Target::ALL[usize::from(*choice) % Target::ALL.len()];
    let wave = if choice & 0x80 == 0 { Wave::W32 } else { Wave::W64 };
    let mode = Mode::new(target, wave).unwrap_or(target.into());
    let (mut at, mut found) = (0, 0);
    while at < code.len() {
        let Ok(inst) = Inst::decode(mode, &code[at..]) else {
            at += 4;
            continue;
        };
        assert!((4..=code.len() - at).contains(&inst.size()) && inst.size() % 4 == 0, "{inst}");
        let mut again = Vec::new();
        inst.encode_into(&mut again);
        assert_eq!(again, code[at..at + inst.size()], "{inst}");
        ask(inst);
        // Of gfx1250, where the upper VGPRs are in reach, and where it is not known which.
        ask(inst.at(Some(VgprMsb::from_bits(*msb))));
        ask(inst.at(None));
        at += inst.size();
        found += 1;
    }
    found
}

fn ask(inst: Inst) {
    assert!(!inst.to_string().is_empty());
    for (index, (info, value)) in inst.operands().enumerate() {
        if let Operand::Reg(range) = value {
            assert!(range.units().all(|unit| unit.index() < luthier_isa::Reg::COUNT), "{inst}");
        }
        inst.constant(info);
        inst.named(info);
        let mut changed = inst;
        if changed.set_operand(index, value).is_ok() {
            assert_eq!(changed.size(), inst.size(), "{inst}");
        }
    }
    for &(field, ..) in inst.info().layout() {
        let raw = inst.field(field).expect("a field of the layout");
        let mut changed = inst;
        if changed.set_field(field, raw).is_ok() {
            assert_eq!(changed.words(), inst.words(), "{inst} {field:?}");
        }
    }
    inst.for_each_access(|access| drop(format!("{access:?}")));
    inst.memory();
    inst.branch_target(0);
    inst.truth_table();
    inst.has_invisible_bits();
}
