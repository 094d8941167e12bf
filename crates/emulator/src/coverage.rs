//! Which opcodes the device implements.

use std::collections::BTreeMap;

use luthier_isa::{Inst, Target};

use crate::lower::{Builder, Limits};

/// An operation by its base mnemonic, and why it is refused if it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    pub base: &'static str,
    pub refusal: Option<String>,
}

/// Every operation of a target, by name. One is implemented if all of its encodings are.
pub fn coverage(target: Target) -> Vec<Coverage> {
    let mut all: BTreeMap<&'static str, Option<String>> = BTreeMap::new();
    for info in target.opcodes() {
        let mut builder = Builder::new(Limits { vgprs: 256, agprs: 256 }, 0);
        let refusal = builder.instruction(&Inst::new(info), 0, 0).err();
        let known = all.entry(info.base).or_default();
        if known.is_none() {
            *known = refusal;
        }
    }
    all.into_iter().map(|(base, refusal)| Coverage { base, refusal }).collect()
}
