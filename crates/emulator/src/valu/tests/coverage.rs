//! Every vector opcode of gfx90a's table has a handler.

use std::collections::BTreeSet;

use luthier_isa::{Flags, Format, Target};

#[test]
fn every_vector_opcode_is_known() {
    let vector = |format| {
        matches!(
            format,
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3a | Format::Vop3b | Format::Vop3p | Format::Mai
        )
    };
    let (mut known, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for info in Target::Gfx90a.opcodes() {
        let other = info.flags.intersects(Flags::SDWA | Flags::DPP);
        if !vector(info.format) && !other {
            continue;
        }
        let found = crate::valu::lookup(info.op())
            .or_else(|| crate::matrix::lookup(info.op(), info.mode.target().generation()))
            .is_some();
        if found {
            known.insert(info.base)
        } else {
            unknown.insert(info.base)
        };
    }
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(known.len() > 450, "the table has only {} vector operations", known.len());
}
