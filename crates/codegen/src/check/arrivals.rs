//! What is known of scalars where control arrives by branches only: reads and writes of them matter for longer than any
//! other hazard lasts, over any number of branches.

use std::collections::{BTreeMap, BTreeSet};

use luthier_isa::hazard::{Hazards, Scalars};
use luthier_isa::{Mode, RegSet};

use super::placed::Placed;

/// For each instruction behind one that control does not go on from, and each that is branched to, but for `padding`, which
/// nothing comes to. `entered` are those that code elsewhere may lead to; at `unknown` places a caller or a callee may have
/// written anything last.
pub fn arrivals(
    code: &[Placed],
    padding: &BTreeSet<usize>,
    (entered, unknown): (&[usize], &BTreeSet<usize>),
    mode: Mode,
    unread: &RegSet,
) -> BTreeMap<usize, Scalars> {
    let mut incoming: BTreeMap<usize, u32> = BTreeMap::new();
    incoming.insert(0, 0);
    entered.iter().for_each(|at| *incoming.entry(*at).or_default() += 0);
    for (at, placed) in code.iter().enumerate() {
        if placed.ends() && at + 1 < code.len() && !padding.contains(&(at + 1)) {
            incoming.entry(at + 1).or_default();
        }
        placed.to.into_iter().for_each(|to| *incoming.entry(to).or_default() += 1);
    }
    let mut anything = Scalars::default();
    anything.assume_read(unread);
    let falls_into = |at: usize| at > 0 && !code[at - 1].ends() && !padding.contains(&(at - 1));
    let root = |at: usize, branches: u32| branches == 0 && !falls_into(at) || entered.contains(&at);
    let roots = incoming.iter().filter(|(at, branches)| root(**at, **branches)).map(|(at, _)| *at);
    let mut known: BTreeMap<usize, Scalars> = roots.map(|at| (at, anything.clone())).collect();
    let mut work: Vec<usize> = known.keys().copied().collect();
    while let Some(start) = work.pop() {
        let mut wave = Hazards::brief();
        wave.set_scalars(known[&start].clone());
        let mut arrive = |at: usize, scalars: Scalars| {
            let more = match known.get_mut(&at) {
                Some(before) => before.join(&scalars),
                None => {
                    known.insert(at, scalars);
                    true
                }
            };
            if more {
                work.push(at);
            }
        };
        for (at, placed) in code.iter().enumerate().skip(start) {
            if unknown.contains(&at) {
                wave.assume_written(mode, unread);
            }
            wave.check(&placed.facts, placed.number(at), |_| {});
            placed.to.into_iter().for_each(|to| arrive(to, wave.scalars()));
            if placed.ends() {
                break;
            }
            if incoming.contains_key(&(at + 1)) {
                arrive(at + 1, wave.scalars());
                break;
            }
        }
    }
    known
}
