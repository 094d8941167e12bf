//! The scalar registers that a phase reads and writes.

use super::addresses::{Buffer, Place, Rest};
use super::forms::{Branch, HardwareAccess, Scalar, ScalarForm, Source, Space, Which};
use super::nodes::Node;
use super::phase::What;
use crate::registers::scalar;

/// Registers in a row: the first one's code, and how many.
pub type Codes = (u8, u8);

/// Visits what a phase names as its sources, so that others may be put there.
pub fn for_each_source(what: &mut What, wave64: bool, visit: &mut impl FnMut(&mut u8, u8)) {
    let mask = 1 + u8::from(wave64);
    match what {
        What::Lanes(graph) => graph.nodes.iter_mut().for_each(|node| match node {
            Node::Scalar(code) => visit(code, 1),
            Node::Mask(code) => visit(code, mask),
            Node::Global { place: Place { rest: Rest::Base(base), .. }, .. } => visit(&mut base.code, 2),
            Node::Buffer { at, .. } => visit_buffer(at, visit),
            _ => {}
        }),
        What::Store(store) => match &mut store.space {
            Space::Global { base: Some(base) } => visit(&mut base.code, 2),
            Space::Buffer(at) => visit_buffer(at, visit),
            Space::Lds | Space::Global { base: None } => {}
        },
        What::Scalar(it) => {
            let width = 1 + u8::from(it.wide);
            let a = if it.form == ScalarForm::Ones { 1 } else { width };
            let b = if it.form.has_narrow_second() { 1 } else { width };
            let has_one = it.form.has_one_source();
            for (source, count) in [(&mut it.a, a), (&mut it.b, b)].into_iter().take(2 - usize::from(has_one)) {
                if let Source::Register(code) = source {
                    visit(code, count);
                }
            }
            if let ScalarForm::Lane(_, Which::Register(code)) = &mut it.form {
                visit(code, 1);
            }
        }
        What::ScalarLoad(load) => {
            visit(&mut load.base, 2);
            if let Some(offset) = &mut load.offset {
                visit(offset, 1);
            }
        }
        What::Hardware(it) => {
            if let Some(HardwareAccess::Set { value: Source::Register(code), .. }) = &mut it.access {
                visit(code, 1);
            }
        }
        What::Branch(Branch::If { code, wide, .. }) | What::Skip(Branch::If { code, wide, .. }, _) => {
            visit(code, 1 + u8::from(*wide));
        }
        What::Branch(Branch::Always) | What::Skip(Branch::Always, _) | What::Fence => {}
    }
}

fn visit_buffer(at: &mut Buffer, visit: &mut impl FnMut(&mut u8, u8)) {
    visit(&mut at.resource, 4);
    if at.has_register() {
        visit(&mut at.soffset, 1);
    }
}

/// What it reads besides.
pub fn unnamed_sources(what: &What) -> &'static [Codes] {
    const PAIR: u8 = 2;
    match what {
        What::Scalar(it) if it.form.reads_scc() => &[(scalar::SCC, 1)],
        What::Scalar(Scalar { form: ScalarForm::Lane(_, Which::First), .. }) => &[(scalar::EXEC, PAIR)],
        What::Scalar(Scalar { form: ScalarForm::SaveExec { .. }, .. }) | What::Lanes(_) | What::Store(_) => {
            &[(scalar::EXEC, PAIR)]
        }
        // STATUS has bits that say what these hold.
        What::Hardware(_) => &[(scalar::SCC, 1), (scalar::VCC, PAIR), (scalar::EXEC, PAIR)],
        What::Scalar(_) | What::ScalarLoad(_) | What::Branch(_) | What::Skip(..) | What::Fence => &[],
    }
}

/// What it writes.
pub fn written(what: &What, wave64: bool) -> Vec<Codes> {
    match what {
        What::Lanes(graph) => graph.masks.keys().map(|&code| (code, 1 + u8::from(wave64))).collect(),
        What::Scalar(it) => {
            let width = 1 + u8::from(it.wide && !it.form.is_narrowing());
            let result = it.form.writes_result().then_some((it.dst, width));
            let exec = matches!(it.form, ScalarForm::SaveExec { .. }).then_some((scalar::EXEC, width));
            [result, exec, it.form.writes_scc().then_some((scalar::SCC, 1))].into_iter().flatten().collect()
        }
        What::ScalarLoad(load) => vec![(load.dst, load.words)],
        What::Hardware(it) => match it.access {
            Some(HardwareAccess::Get { to, .. }) => vec![(to, 1)],
            Some(HardwareAccess::Set { .. }) | None => Vec::new(),
        },
        What::Store(_) | What::Branch(_) | What::Skip(..) | What::Fence => Vec::new(),
    }
}
