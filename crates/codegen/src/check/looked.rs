//! Registers that hooks look at where no instruction that follows needs them: no liveness covers them. Their value comes
//! from anywhere in the component, through calls and returns, and so has to survive every place of it.

use std::sync::OnceLock;

use luthier_isa::{RegRange, RegSet};
use luthier_lifter::{Liveness, Points, Program};

use crate::plan::{Body, Plan, Spot};

/// Of one component; worked out when a place of it is first looked at.
pub struct Looked<'a> {
    /// The component's, by function.
    spots: Vec<&'a [Spot]>,
    found: OnceLock<RegSet>,
}

impl<'a> Looked<'a> {
    pub fn new(spots: Vec<&'a [Spot]>) -> Looked<'a> {
        Looked { spots, found: OnceLock::new() }
    }

    pub fn registers(&self, program: &Program, plan: &Plan) -> &RegSet {
        self.found.get_or_init(|| {
            let mut all = RegSet::EMPTY;
            self.spots.iter().for_each(|spots| in_function(program, plan, spots, &mut all));
            all
        })
    }
}

/// The registers that an insertion looks at before, and those behind its instruction.
fn sources(program: &Program, plan: &Plan, spot: &Spot) -> [Vec<RegRange>; 2] {
    let [mut before, mut behind] = [Vec::new(), Vec::new()];
    let inst = program.inst(spot.instr);
    let follows = spot.at.is_behind();
    match &plan.insertions[spot.insertion as usize].body {
        Body::Hook { args, .. } => {
            for arg in args.iter() {
                let kept = if follows { arg.kept(inst) } else { Vec::new() };
                for range in arg.reads(inst) {
                    let into = if follows && !kept.contains(&range) { &mut behind } else { &mut before };
                    into.push(range);
                }
            }
        }
        Body::Raw(insts) => {
            let into = if follows { &mut behind } else { &mut before };
            for raw in insts.iter() {
                raw.for_each_access(|a| {
                    if a.access.reads() {
                        into.push(RegRange::new(a.reg, 1));
                    }
                });
            }
        }
        Body::Nothing => {}
    }
    [before, behind]
}

fn in_function(program: &Program, plan: &Plan, spots: &[Spot], all: &mut RegSet) {
    let mut liveness = None;
    let mut points = (None, Points::NONE);
    for spot in spots {
        let [before, behind] = sources(program, plan, spot);
        if before.is_empty() && behind.is_empty() {
            continue;
        }
        let liveness = liveness.get_or_insert_with(|| Liveness::within(program, program.func_of(spot.instr)));
        let block = program.block_of(spot.instr);
        if points.0 != Some(block) {
            liveness.points_into(block, &mut points.1);
            points.0 = Some(block);
        }
        let first = program.block(block).instrs.first;
        let Some(point) = points.1.get((spot.instr.0 - first.0) as usize) else { continue };
        for (ranges, live) in [(before, point.before), (behind, point.after)] {
            let units = ranges.iter().flat_map(|range| range.units());
            units.filter(|unit| !live.active.contains(*unit)).for_each(|unit| all.insert(unit));
        }
    }
}
