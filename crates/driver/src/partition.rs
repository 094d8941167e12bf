//! A card of several dies as several GPUs: what the kernel's driver calls compute partitions.

use crate::card::Card;

/// The modes by their names, and how many GPUs a card is in each. CPX, a GPU of each die, is as many as there are.
const MODES: [(&str, u32); 4] = [("SPX", 1), ("DPX", 2), ("TPX", 3), ("QPX", 4)];

/// How a card is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    pub mode: &'static str,
    /// GPUs of a card.
    pub parts: u32,
}

impl Partition {
    /// The card is one GPU.
    pub const WHOLE: Partition = Partition { mode: "SPX", parts: 1 };

    /// All that a card can be divided by; none if it has one die.
    pub fn of(card: &Card) -> Vec<Partition> {
        if card.xccs == 1 {
            return Vec::new();
        }
        let even = MODES.into_iter().filter(|(_, parts)| *parts < card.xccs && card.xccs.is_multiple_of(*parts));
        even.chain([("CPX", card.xccs)]).map(|(mode, parts)| Partition { mode, parts }).collect()
    }

    /// The one with a name, in letters of either case.
    ///
    /// # Errors
    /// Which ones the card has instead, in a line.
    pub fn named(card: &Card, text: &str) -> Result<Partition, String> {
        let all = Partition::of(card);
        all.iter().find(|one| one.mode.eq_ignore_ascii_case(text)).copied().ok_or_else(|| {
            let modes: Vec<_> = all.iter().map(|one| one.mode).collect();
            match modes.join(", ") {
                none if none.is_empty() => format!("{} has one die, and no partitions", card.name),
                modes if text.is_empty() => {
                    format!("which partitions {} has is to follow the colon: {modes}", card.name)
                }
                modes => format!("{} has no partitions {text}; it has {modes}", card.name),
            }
        })
    }

    /// One of the GPUs. Each has its share of the dies and of the memory; all use the cache of the memory.
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
    fn a_card_of_eight_dies_is_one_two_four_or_eight_gpus() {
        let card = named("MI300X").expect("a card");
        let modes: Vec<_> = Partition::of(card).iter().map(|one| (one.mode, one.parts)).collect();
        assert_eq!(modes, [("SPX", 1), ("DPX", 2), ("QPX", 4), ("CPX", 8)]);
        let part = Partition::named(card, "cpx").expect("a mode").share(card);
        assert_eq!((part.compute_units, part.engines, part.xccs, part.memory), (38, 4, 1, 24));
        assert_eq!(
            Partition::named(card, "TPX"),
            Err("MI300X has no partitions TPX; it has SPX, DPX, QPX, CPX".into())
        );
    }

    #[test]
    fn nothing_of_a_card_is_lost() {
        for card in CARDS {
            for one in Partition::of(card) {
                let part = one.share(card);
                let all = [part.compute_units, part.engines, part.xccs].map(|n| n * one.parts);
                assert_eq!(all, [card.compute_units, card.engines, card.xccs], "{} {}", card.name, one.mode);
                assert_eq!(part.memory * u64::from(one.parts), card.memory);
            }
        }
    }

    #[test]
    fn a_card_of_one_die_is_not_divided() {
        let card = named("RX 7900 XTX").expect("a card");
        assert_eq!(Partition::named(card, "CPX"), Err("RX 7900 XTX has one die, and no partitions".into()));
    }
}
