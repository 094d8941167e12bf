//! Whether a hook's body stands at each of its places, or once, and is called.

/// How bodies are placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Bodies {
    /// At each place.
    #[default]
    InPlace,
    /// Where a call is smaller and hardly slower: [`Bodies::LONG`] instructions or more, at two places or more.
    Choose,
    /// Called wherever two SGPRs are free for the way back.
    Called,
}

impl Bodies {
    /// The call and the return are two instructions more each time: at most 6 % of a body this long.
    pub const LONG: usize = 32;

    /// Whether hooks call a body of `instructions` instructions that stands at `places` places.
    pub fn calls(self, instructions: usize, places: usize) -> bool {
        match self {
            Bodies::InPlace => false,
            Bodies::Choose => instructions >= Bodies::LONG && places > 1,
            Bodies::Called => true,
        }
    }
}
