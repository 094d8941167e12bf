//! What an instruction's marks and needs have to do with: as long as a wave has done none of that lately, all there is to the
//! instruction is that time goes by.

use super::Marks;
use super::rules::{First, Rule};

/// Some [`First`]s, one bit each.
pub type Firsts = u32;

pub(super) fn bit(first: First) -> Firsts {
    1 << first as u32
}

/// The rules of one processor, by what the first instruction does: the bit of that, marks that some rule asks for, and those
/// that end the hazard, rule by rule.
pub(super) struct Concerns(Vec<(Firsts, Marks, Vec<Marks>)>);

impl Concerns {
    pub fn of(firsts: &[First], rules: &[&Rule]) -> Concerns {
        let of = |&first: &First| {
            let own = || rules.iter().filter(move |rule| rule.first == first);
            let asked = own().fold(Marks::empty(), |marks, rule| marks | rule.since | rule.ends);
            (bit(first), asked, own().map(|rule| rule.ends).collect())
        };
        Concerns(firsts.iter().map(of).collect())
    }

    /// For which firsts it matters when an instruction with these marks came.
    pub fn minding(&self, marks: Marks) -> Firsts {
        let minds = |(bit, asked, _): &(Firsts, Marks, _)| if asked.intersects(marks) { *bit } else { 0 };
        self.0.iter().map(minds).fold(0, |all, bit| all | bit)
    }

    /// The firsts that no rule asks about any more behind an instruction with these marks.
    pub fn ended(&self, marks: Marks) -> Firsts {
        let is_over = |(_, _, ends): &&(Firsts, Marks, Vec<Marks>)| ends.iter().all(|ends| ends.intersects(marks));
        self.0.iter().filter(is_over).fold(0, |all, (bit, ..)| all | bit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Here;
    use super::*;
    use crate::{Mode, Target, Wave};

    #[test]
    fn a_first_is_over_once_a_mark_ends_all_its_rules() {
        let here = Here::of(Mode::new(Target::Gfx1100, Wave::W32).expect("it has such waves"));
        let (exec, result) = (bit(First::VectorExec), bit(First::Transcendental));
        assert_eq!(here.concerns.ended(Marks::WORKING_VECTOR) & (exec | result), exec);
        assert_eq!(here.concerns.ended(Marks::RESULTS_OUT) & (exec | result), result);
        assert_eq!(here.concerns.minding(Marks::WORKING_VECTOR) & (exec | result), exec);
        // What passes with time, no mark ends.
        let here = Here::of(Mode::new(Target::Gfx90a, Wave::W64).expect("it has such waves"));
        assert_eq!(here.concerns.ended(Marks::all()) & bit(First::VectorWrite), 0);
    }
}
