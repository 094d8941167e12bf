//! Wide vectors: comparisons that stay in mask registers.
//!
//! What a comparison gives is words of ones and zeros for the graph, as other operations may compute with them. Most are only
//! chosen by, or stored as a mask; then the host's mask register is all that is needed.

use iced_x86::Register;

use super::super::machine::Machine;
use super::super::nodes::{Binary, Node, Value};
use super::Plan;

/// Registers for them; K0 cannot be one, and those before are taken.
const REGISTERS: [Register; 3] = [Register::K5, Register::K6, Register::K7];

/// Which comparisons are masks only, and where those are that have been made.
#[derive(Clone)]
pub(super) struct Masks {
    only: Vec<bool>,
    held: [Option<Value>; REGISTERS.len()],
}

impl Masks {
    pub fn of(plan: &Plan, machine: Machine) -> Masks {
        let nodes = &plan.graph.nodes;
        // Functions need not keep mask registers.
        let calls = nodes.iter().any(|node| matches!(node, Node::Called { .. }));
        let is_comparison = |node: &Node| {
            matches!(node, Node::CompareF(..) | Node::Binary(Binary::Equal | Binary::GreaterS | Binary::Below, ..))
        };
        let mut only: Vec<bool> = nodes.iter().map(|node| machine.wide && !calls && is_comparison(node)).collect();
        for (node, _) in nodes.iter().zip(&plan.live).filter(|(_, live)| **live) {
            let words = |value: &Value| !matches!(*node, Node::Select { mask, yes, no } if *value == mask && mask != yes && mask != no);
            node.sources().filter(words).for_each(|value| only[value.0 as usize] = false);
        }
        plan.graph.rows.values().chain(&plan.checks).for_each(|value| only[value.0 as usize] = false);
        Masks { only, held: [None; REGISTERS.len()] }
    }

    /// A register for a comparison, if it is a mask only and there is one.
    pub fn take(&mut self, value: Value) -> Option<Register> {
        let free = self.held.iter().position(Option::is_none).filter(|_| self.only[value.0 as usize])?;
        self.held[free] = Some(value);
        Some(REGISTERS[free])
    }

    /// The register that has a comparison.
    pub fn register(&self, value: Value) -> Option<Register> {
        self.held.iter().position(|held| *held == Some(value)).map(|at| REGISTERS[at])
    }

    /// It is needed no more.
    pub fn give(&mut self, value: Value) {
        self.held.iter_mut().filter(|held| **held == Some(value)).for_each(|held| *held = None);
    }
}
