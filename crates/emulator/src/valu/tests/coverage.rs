//! Every vector opcode of gfx90a's table has a handler, or stands here with the reason why not.

use std::collections::BTreeSet;

use luthier_isa::{Flags, Format, Target};

/// Operations that are refused by name.
const REFUSED: &[(&str, &str)] =
    &[("v_screen_partition_4se_b32", "graphics: a table of screen areas that compilers do not use")];

#[test]
fn every_vector_opcode_is_known_or_refused() {
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
        let found = crate::valu::lookup(info.base).or_else(|| crate::matrix::lookup(info.base)).is_some();
        if found {
            known.insert(info.base)
        } else {
            unknown.insert(info.base)
        };
    }
    println!("{} vector operations known, refused: {unknown:?}", known.len());
    assert_eq!(unknown, REFUSED.iter().map(|(name, _)| *name).collect());
    assert!(known.len() > 450, "the table has only {} vector operations", known.len());
}
