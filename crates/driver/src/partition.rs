//! A card that is several GPUs: its dies in equal parts, as the kernel's driver makes them of CDNA3's and CDNA4's cards.

use luthier_isa::Target;

use crate::card::Card;

/// How many GPUs a card is, and in how many domains its memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// `SPX` is one GPU, `CPX` one of each die.
    pub compute: &'static str,
    /// `NPS1` is one domain. GPUs have equal shares of the memory, whatever it is.
    pub memory: &'static str,
    /// GPUs.
    pub parts: u32,
}

/// A card that is one GPU.
pub const WHOLE: Partition = Partition { compute: "SPX", memory: "NPS1", parts: 1 };

/// All modes, and into how many parts each but the last divides; that makes a GPU of each die.
const COMPUTE: [(&str, u32); 5] = [("SPX", 1), ("DPX", 2), ("TPX", 3), ("QPX", 4), ("CPX", 0)];

/// The modes that a card has, with their numbers of GPUs. A card of one die is never divided.
pub fn computes(card: &Card) -> Vec<(&'static str, u32)> {
    let parts = COMPUTE.map(|(name, parts)| (name, if parts == 0 { card.xccs } else { parts }));
    match card.xccs {
        1 => Vec::new(),
        // Two dies share a base die, and only CPX parts them.
        xccs => parts.into_iter().filter(|(name, n)| *name == "CPX" || xccs.is_multiple_of(2 * n)).collect(),
    }
}

/// The memory partitions that a card can have in a compute mode.
pub fn memories(card: &Card, compute: &str) -> &'static [&'static str] {
    match (card.target, compute) {
        (Target::Gfx950, "DPX" | "QPX" | "CPX") => &["NPS1", "NPS2"],
        (_, "QPX" | "CPX") => &["NPS1", "NPS4"],
        _ => &["NPS1"],
    }
}

impl Partition {
    /// `CPX` or `CPX/NPS4`, in letters of either case.
    ///
    /// # Errors
    /// What the card has instead.
    pub fn of(card: &Card, text: &str) -> Result<Partition, String> {
        let (compute, memory) = text.split_once('/').unwrap_or((text, "NPS1"));
        let known = computes(card);
        let list = |names: &[&str]| names.join(", ");
        if known.is_empty() {
            return Err(format!("{} is one GPU, without partitions", card.name));
        }
        let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(compute));
        let &(compute, parts) = found.ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            format!("{} has no partitions {compute}; it has {}", card.name, list(&names))
        })?;
        let domains = memories(card, compute);
        let found = domains.iter().find(|name| name.eq_ignore_ascii_case(memory));
        let memory = found.ok_or_else(|| {
            format!("{} in {compute} has no memory partitions {memory}; it has {}", card.name, list(domains))
        })?;
        Ok(Partition { compute, memory, parts })
    }

    /// One of the card's GPUs. Each reaches all of the last cache.
    pub fn share(self, card: &Card) -> Card {
        Card {
            compute_units: card.compute_units / self.parts,
            engines: card.engines / self.parts,
            xccs: card.xccs / self.parts,
            memory: card.memory / u64::from(self.parts),
            ..*card
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{CARDS, named};

    #[test]
    fn a_card_of_eight_dies_has_the_modes_of_the_kernels_driver() {
        let card = named("MI300X").expect("known");
        assert_eq!(computes(card), [("SPX", 1), ("DPX", 2), ("QPX", 4), ("CPX", 8)]);
        let cpx = Partition::of(card, "cpx/nps4").expect("possible");
        assert_eq!(cpx, Partition { compute: "CPX", memory: "NPS4", parts: 8 });
        let share = cpx.share(card);
        assert_eq!((share.compute_units, share.engines, share.xccs, share.memory), (38, 4, 1, 24));
    }

    #[test]
    fn a_card_of_six_dies_is_one_three_or_six_gpus() {
        let card = Card { xccs: 6, compute_units: 228, engines: 24, ..*named("MI300X").expect("known") };
        assert_eq!(computes(&card), [("SPX", 1), ("TPX", 3), ("CPX", 6)]);
    }

    #[test]
    fn every_card_is_divided_without_a_rest() {
        for card in CARDS {
            for (_, parts) in computes(card) {
                let rest = [card.compute_units, card.engines, card.xccs].map(|n| n % parts);
                assert_eq!((rest, card.memory % u64::from(parts)), ([0; 3], 0), "{} in {parts}", card.name);
            }
        }
    }

    #[test]
    fn modes_that_a_card_does_not_have_are_named() {
        let error = |card, text| Partition::of(named(card).expect("known"), text).expect_err(text);
        assert_eq!(error("MI300X", "TPX"), "MI300X has no partitions TPX; it has SPX, DPX, QPX, CPX");
        assert_eq!(error("MI300X", "DPX/NPS4"), "MI300X in DPX has no memory partitions NPS4; it has NPS1");
        assert_eq!(error("MI355X", "CPX/NPS4"), "MI355X in CPX has no memory partitions NPS4; it has NPS1, NPS2");
        assert_eq!(error("MI210", "CPX"), "MI210 is one GPU, without partitions");
    }
}
