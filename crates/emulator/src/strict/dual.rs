//! The two operations of one VOPD instruction, each checked as if it stood alone.

use luthier_isa::op::canonical_name;
use luthier_isa::{Field, Inst, Operand, OperandInfo};

use crate::lower::Limits;

use super::checked::{Checked, place};
use super::rules::rule;
use super::terms::{Place, Rule, Source};

/// In an order in which the first changes nothing that the second reads.
pub fn halves(inst: &Inst, pc: u64, limits: Limits) -> Vec<Checked> {
    let Some((first, second)) = inst.info().mnemonic.split_once(" :: ") else { return Vec::new() };
    let operands: Vec<_> = inst.operands().collect();
    let split = operands.iter().position(|(o, _)| o.field == Field::VdstY).unwrap_or(operands.len());
    let one = |name: &str, operands: &[(&OperandInfo, Operand)]| {
        let name = name.replacen("v_dual_", "v_", 1);
        let base = canonical_name(&name);
        let (mut sources, mut results) = (Vec::new(), Vec::new());
        for (operand, value) in operands {
            let Some(at) = place(*value, limits) else { continue };
            if operand.access.writes() {
                results.push(at);
            }
            if operand.access.reads() {
                sources.push(Source { place: at, used: !0, shift: 0 });
            }
        }
        // The mask is VCC, or named last.
        let named = sources.get(2).and_then(|source| match source.place {
            Place::Scalars(code, _) if base == "v_cndmask_b32" => Some(code),
            _ => None,
        });
        sources.truncate(if named.is_some() { 2 } else { usize::MAX });
        let mask = (base == "v_cndmask_b32").then_some(named.unwrap_or(crate::registers::scalar::VCC));
        let rule = rule(inst, base, &sources, &results, mask);
        Checked::bare(pc, limits, sources, results, rule)
    };
    let (x, y) = (one(first, &operands[..split]), one(second, &operands[split..]));
    let feeds = |from: &Checked, to: &Checked| {
        let rows = |p: &Place| if let Place::Rows(row, n) = *p { row..row + u16::from(n) } else { 0..0 };
        from.results.iter().any(|r| to.sources.iter().any(|s| rows(&s.place).any(|row| rows(r).contains(&row))))
    };
    match (feeds(&x, &y), feeds(&y, &x)) {
        (false, _) => vec![x, y],
        (true, false) => vec![y, x],
        // Each reads what the other writes: what one of them does not know, neither does.
        (true, true) => {
            let join = |a: &[Source], b: &[Source]| [a, b].concat();
            vec![Checked::bare(
                pc,
                limits,
                join(&x.sources, &y.sources),
                [&x.results[..], &y.results[..]].concat(),
                Rule::AnyOfAll,
            )]
        }
    }
}
