//! What a block settles of the hazards of its own instructions, once for all times that it runs.
//!
//! How many wait states lie between two instructions of a block is known when it is translated. So an instruction has
//! to look only for what can be near enough: something that the block does within the distance, or, near its beginning,
//! what came before it; and has to note only what can be looked for: within the block, or, near its end, behind it.

use crate::Reg;

use super::Facts;
use super::rules::{Apart, First, RULES, Rule};

/// The wait states that a rule asks for; `None` if its hazard does not pass with them.
fn states(rule: &Rule) -> Option<u32> {
    match rule.apart {
        Apart::States(states) => Some(states),
        Apart::Vectors { .. } | Apart::Any => None,
    }
}

/// The longest that anything asks to stay away from this; `None` if that is forever.
fn longest(first: First) -> Option<u32> {
    RULES.iter().filter(|rule| rule.first == first).map(states).try_fold(0, |most, states| Some(most.max(states?)))
}

/// Whether an instruction that does `first` is close enough before one that comes `distance` wait states behind it.
fn is_near(distance: u32, states: Option<u32>) -> bool {
    states.is_none_or(|states| distance <= states)
}

/// Leaves to the instructions of a block only what has to be looked at when they run.
pub fn prune(block: &mut [&mut Facts]) {
    let mut at = Vec::new();
    let mut end = 0;
    for facts in &*block {
        at.push(end);
        end += facts.length;
    }
    let count = block.len();
    // Which rules ask, and about which registers; what no rule asks for near the block's end is not looked for.
    let asks = |block: &[&mut Facts], p: usize, (first, reg): (First, Reg)| {
        is_near(end - at[p], longest(first))
            || (p + 1..count).take_while(|&q| is_near(at[q] - at[p], longest(first))).any(|q| {
                let asked = |&(rule, wanted): &(&Rule, Reg)| {
                    rule.first == first && wanted == reg && is_near(at[q] - at[p], states(rule))
                };
                block[q].needs.iter().any(asked)
            })
    };
    let kept: Vec<Vec<bool>> =
        (0..count).map(|p| block[p].makes.iter().map(|&make| asks(block, p, make)).collect()).collect();
    for (facts, kept) in block.iter_mut().zip(kept) {
        let mut kept = kept.into_iter();
        facts.makes.retain(|_| kept.next().unwrap_or(true));
    }
    for q in 0..count {
        let needed = |&(rule, reg): &(&'static Rule, Reg)| {
            // What came before the block ends right before it at the latest.
            is_near(at[q] + 1, states(rule))
                || (0..q)
                    .rev()
                    .take_while(|&p| is_near(at[q] - at[p], states(rule)))
                    .any(|p| block[p].makes.contains(&(rule.first, reg)))
        };
        let needs = block[q].needs.iter().copied().filter(needed).collect();
        block[q].needs = needs;
        block[q].settle();
    }
}
