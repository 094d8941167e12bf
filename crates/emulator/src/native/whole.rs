//! Native code of all that a wave does, from its beginning to its end.
//!
//! Behind `s_endpgm` nothing reads registers: results that nothing in the code reads are not stored, and a wave needs zeros
//! at its beginning in no other registers than those that may be read before they are written.

use std::collections::BTreeSet;

use luthier_isa::op::Op as IsaOp;

use super::addresses::{Base, Place, Rest};
use super::forms::{ScalarForm, Source, Space, Store, Which};
use super::machine::Machine;
use super::nodes::Node;
use super::phase::{self, Phase, Skip, Terms, What};
use super::run::Run;
use super::{Native, machine, native_with};
use crate::mode::Mode;
use crate::op::{Kind, Op};
use crate::registers::scalar;

/// A kernel's code as one run.
pub struct Whole {
    pub(super) native: Native,
    /// Rows that are to hold zeros when a wave begins, besides those that hold something else.
    pub zeros: Box<[u16]>,
}

impl Whole {
    pub fn run(&self) -> Option<&Run> {
        self.native.ops.first().and_then(Run::of)
    }

    /// See [`Native::is_given_up`].
    pub fn is_given_up(&self) -> bool {
        self.native.is_given_up()
    }
}

/// That of micro-ops which end in `s_endpgm`, if all others have native forms; `skip`: one is a branch onwards, to the end or to
/// something before it.
pub fn native_whole(ops: &[Op], skip: Option<Skip>, wave64: bool, mode: Mode) -> Option<Whole> {
    whole_on(machine()?, ops, skip, wave64, mode)
}

pub(super) fn whole_on(machine: Machine, ops: &[Op], skip: Option<Skip>, wave64: bool, mode: Mode) -> Option<Whole> {
    let (last, body) = ops.split_last()?;
    if last.kind != Kind::of(IsaOp::SEndpgm) {
        return None;
    }
    let terms = Terms { skip, ends: true, ..Terms::new(machine, wave64, mode, false) };
    let (end, phases) = phase::next_run(ops, 0, terms);
    if end != body.len() {
        return None;
    }
    let native = native_with(machine, ops, terms)?;
    let is_one = native.ops.len() == 2 && native.ops.first().is_some_and(|op| Run::of(op).is_some());
    is_one.then(|| Whole { native, zeros: read_first(&phases).into_iter().collect() })
}

/// Leaves out the results that no later phase reads.
pub fn forget_unread(phases: &mut [Phase]) {
    for number in (0..phases.len()).rev() {
        let (before, later) = phases.split_at_mut(number + 1);
        let Some(What::Lanes(graph)) = before.last_mut().map(|phase| &mut phase.what) else { continue };
        let read: BTreeSet<u16> = later.iter().flat_map(|phase| reads(&phase.what)).collect();
        graph.masks.retain(|&code, _| {
            code == scalar::EXEC
                || later.iter().any(|phase| may_read(&phase.what, code) || may_read(&phase.what, code + 1))
        });
        graph.rows.retain(|row, _| read.contains(row));
    }
}

/// Whether a phase may read a scalar register.
fn may_read(what: &What, code: u8) -> bool {
    let is_of = |first: u8| code == first || code == first.wrapping_add(1);
    let is_base = |base: &Base| is_of(base.code);
    match what {
        What::Lanes(graph) => graph.nodes.iter().any(|node| match node {
            Node::Scalar(it) | Node::Mask(it) => is_of(*it),
            Node::Global { place: Place { rest: Rest::Base(base), .. }, .. } => is_base(base),
            Node::Buffer { at, .. } => at.reads(code),
            _ => false,
        }),
        What::Store(store) => match &store.space {
            Space::Global { base: Some(base) } => is_base(base),
            Space::Buffer(at) => at.reads(code),
            Space::Lds | Space::Global { base: None } => false,
        },
        What::Scalar(it) => {
            let is_source = |source: &Source| matches!(source, Source::Register(it) if is_of(*it));
            let is_lane = matches!(it.form, ScalarForm::Lane(_, Which::Register(it)) if is_of(it));
            // Some change a part of what they write.
            is_lane || [it.a, it.b].iter().any(is_source) || is_of(it.dst)
        }
        What::ScalarLoad(load) => is_of(load.base) || load.offset == Some(code),
        What::Branch(_) | What::Skip(..) => is_of(scalar::VCC),
        // STATUS says whether VCC is zero.
        What::Hardware(_) => true,
        What::Fence => false,
    }
}

/// The rows that a phase reads as they were before it.
fn reads(what: &What) -> BTreeSet<u16> {
    match what {
        What::Lanes(graph) => {
            let live = graph.live();
            let nodes = graph.nodes.iter().zip(live).filter(|(_, live)| *live);
            let row = |node: &Node| match *node {
                Node::Row(row) | Node::Elsewhere { row, .. } => Some(row),
                _ => None,
            };
            nodes.filter_map(|(node, _)| row(node)).collect()
        }
        What::Store(Store { space, address, accesses, words, .. }) => {
            let high = matches!(space, Space::Global { base: None }).then_some(address + 1);
            let data = accesses.iter().flat_map(|access| access.data..access.data + words);
            [*address].into_iter().chain(high).chain(data).collect()
        }
        What::Scalar(it) => it.lane().into_iter().map(|(row, _)| row).collect(),
        What::ScalarLoad(_) | What::Hardware(_) | What::Branch(_) | What::Skip(..) | What::Fence => BTreeSet::new(),
    }
}

/// The rows that a wave may read before it has written them: in lanes that are on by then only, or by others.
pub fn read_first(phases: &[Phase]) -> BTreeSet<u16> {
    let (mut first, mut written, mut past) = (BTreeSet::new(), BTreeSet::new(), None);
    for phase in phases {
        if let Some((_, before)) = past.take_if(|(to, _)| *to == phase.ops.start) {
            // A wave that takes the branch has not written what lies in between.
            written = before;
        }
        first.extend(reads(&phase.what).difference(&written).copied());
        match &phase.what {
            What::Lanes(graph) => written.extend(graph.rows.keys().copied()),
            What::Skip(_, to) => past = Some((*to, written.clone())),
            _ => {}
        }
    }
    let changes = phases.iter().any(|phase| match &phase.what {
        What::Scalar(it) => it.widens_exec() || it.lane().is_some(),
        What::Lanes(graph) => graph
            .nodes
            .iter()
            .any(|node| matches!(node, Node::Crossed { .. } | Node::Readable(_) | Node::Elsewhere { .. })),
        _ => false,
    });
    if changes {
        // A lane may read what it was not on for when that was written.
        for phase in phases {
            if let What::Lanes(graph) = &phase.what {
                first.extend(graph.rows.keys().copied());
            }
        }
    }
    first
}
