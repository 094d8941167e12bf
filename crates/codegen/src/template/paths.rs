//! The ways through a template that branches: what is issued right after it begins and right before it ends is not what
//! stands there in the text.

use luthier_isa::{Flags, Inst};

/// More ways than these are not told apart.
const MOST: usize = 64;

/// What may be issued before each instruction of some code.
#[cfg(feature = "llvm")]
pub struct Before(Vec<Vec<usize>>);

#[cfg(feature = "llvm")]
impl Before {
    /// More ways than these are not told apart.
    const MOST: usize = 4096;

    pub fn of(insts: &[Inst]) -> Before {
        Before(previous(&successors(insts)))
    }

    /// The last instructions, at most `length`, on each way that leads to an instruction, in the order in which they are
    /// issued. `None` if there are too many ways.
    pub fn ways(&self, at: usize, length: usize) -> Option<Vec<Vec<usize>>> {
        let mut ways = Vec::new();
        for last in &self.0[at] {
            follow(*last, (length, Before::MOST), &mut |at| Some(self.0[at].clone()), &mut Vec::new(), &mut ways);
        }
        ways.iter_mut().for_each(|way| way.reverse());
        (ways.len() < Before::MOST).then_some(ways)
    }
}

/// Ways through a template, as numbers of its instructions in the order in which they are issued.
#[derive(Debug, PartialEq, Eq)]
pub struct Paths {
    /// The first instructions on each way from the beginning.
    pub first: Vec<Vec<usize>>,
    /// The last ones on each way to the end. `None` if there are too many ways.
    pub last: Option<Vec<Ending>>,
}

/// The end of a way through a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub insts: Vec<usize>,
    /// It begins where the template does.
    pub whole: bool,
}

impl Paths {
    /// At most `length` instructions of each way. `None` for a template without branches.
    pub fn of(insts: &[Inst], length: usize) -> Option<Paths> {
        let is_branch = |inst: &Inst| inst.info().flags.intersects(Flags::BRANCH | Flags::COND_BRANCH);
        if !insts.iter().any(is_branch) {
            return None;
        }
        let next = successors(insts);
        let previous = previous(&next);
        let mut first = Vec::new();
        follow(0, (length, MOST), &mut |at| (at < insts.len()).then(|| next[at].clone()), &mut Vec::new(), &mut first);
        // Backwards, from behind the last instruction; that is no instruction itself.
        let mut last = Vec::new();
        for at in &previous[insts.len()] {
            follow(*at, (length, MOST), &mut |at| Some(previous[at].clone()), &mut Vec::new(), &mut last);
        }
        let ending = |mut way: Vec<usize>| {
            way.reverse();
            Ending { whole: way[0] == 0 && way.len() < length, insts: way }
        };
        let known = first.len() < MOST && last.len() < MOST;
        first.truncate(MOST);
        Some(Paths { first, last: known.then(|| last.into_iter().map(ending).collect()) })
    }
}

/// What may be issued after each instruction; one more than the last is the end.
fn successors(insts: &[Inst]) -> Vec<Vec<usize>> {
    let starts: Vec<u64> = insts
        .iter()
        .scan(0, |at, inst| {
            let start = *at;
            *at += inst.size() as u64;
            Some(start)
        })
        .collect();
    let successors = |(at, inst): (usize, &Inst)| {
        let flags = inst.info().flags;
        let falls = !flags.contains(Flags::BRANCH) || flags.contains(Flags::COND_BRANCH);
        let target = inst.branch_target(starts[at]);
        let to = target.map(|to| starts.binary_search(&to).unwrap_or(insts.len()));
        let mut all: Vec<usize> = falls.then_some(at + 1).into_iter().chain(to).collect();
        all.dedup();
        all
    };
    insts.iter().enumerate().map(successors).collect()
}

/// What may be issued before each instruction, and before the end.
fn previous(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut previous = vec![Vec::new(); next.len() + 1];
    for (at, to) in next.iter().enumerate() {
        to.iter().for_each(|to| previous[*to].push(at));
    }
    previous
}

/// The ways from an instruction on, of at most `length` each, or to where nothing comes; at most `most` of them.
fn follow(
    at: usize,
    (length, most): (usize, usize),
    next: &mut dyn FnMut(usize) -> Option<Vec<usize>>,
    way: &mut Vec<usize>,
    ways: &mut Vec<Vec<usize>>,
) {
    if ways.len() >= most {
        return;
    }
    let Some(to) = next(at) else {
        ways.push(way.clone());
        return;
    };
    way.push(at);
    if way.len() == length || to.is_empty() {
        ways.push(way.clone());
    } else {
        to.into_iter().for_each(|to| follow(to, (length, most), next, way, ways));
    }
    way.pop();
}

#[cfg(test)]
mod tests {
    use luthier_isa::op::Op;
    use luthier_isa::{Field, Mode, Target, Wave};

    use super::*;

    fn branch(op: Op, words: i16) -> Inst {
        let mut inst =
            Inst::new(Mode::new(Target::Gfx90a, Wave::W64).and_then(|mode| mode.plain(op)).expect("it exists"));
        inst.set_field(Field::Simm16, u32::from(words as u16)).expect("it fits");
        inst
    }

    /// 0, then a branch over a loop of 2 and 3, to 4.
    fn template() -> Vec<Inst> {
        let nop = branch(Op::SNop, 0);
        vec![nop, branch(Op::SCbranchExecz, 2), nop, branch(Op::SCbranchScc1, -2), nop]
    }

    #[test]
    fn a_template_without_branches_has_one_way() {
        assert_eq!(Paths::of(&[branch(Op::SNop, 0)], 20), None);
    }

    #[test]
    fn ways_go_over_and_through_a_loop() {
        let paths = Paths::of(&template(), 4).expect("it branches");
        assert_eq!(paths.first, [vec![0, 1, 2, 3], vec![0, 1, 4]]);
        let last = paths.last.expect("there are few");
        let over = Ending { insts: vec![0, 1, 4], whole: true };
        let once = Ending { insts: vec![1, 2, 3, 4], whole: false };
        let again = Ending { insts: vec![3, 2, 3, 4], whole: false };
        assert_eq!(last.len(), 3);
        assert!([over, once, again].iter().all(|ending| last.contains(ending)), "{last:?}");
    }

    #[test]
    fn too_many_ways_are_not_told_apart() {
        let diamonds: Vec<Inst> = (0..8).flat_map(|_| [branch(Op::SCbranchExecz, 1), branch(Op::SNop, 0)]).collect();
        assert_eq!(Paths::of(&diamonds, 20).expect("it branches").last, None);
    }
}
