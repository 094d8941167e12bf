//! Whether a hook's body stands at each of its places, or once, and is called.

/// How bodies are placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Bodies {
    /// At each place.
    InPlace,
    /// Where a call is smaller and hardly slower: [`Bodies::LONG`] instructions or more, at more places than functions.
    #[default]
    Choose,
    /// Called wherever two SGPRs are free for the way back.
    Called,
}

impl Bodies {
    /// The call and the return are two instructions more each time: at most 6 % of a body this long.
    pub const LONG: usize = 32;

    /// Whether hooks call a body of `instructions` instructions that stands at `places` places of some functions, which
    /// are counted only where that matters: each function that calls a body has one.
    pub fn calls(self, instructions: usize, places: usize, functions: impl FnOnce() -> usize) -> bool {
        match self {
            Bodies::InPlace => false,
            Bodies::Choose => instructions >= Bodies::LONG && places > 1 && places > functions(),
            Bodies::Called => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bodies;

    #[test]
    fn long_bodies_are_called_where_that_leaves_some_out() {
        assert!(Bodies::Choose.calls(32, 2, || 1));
        assert!(!Bodies::Choose.calls(31, 1000, || 1));
        // One of each function would be as many.
        assert!(!Bodies::Choose.calls(100, 1000, || 1000));
        assert!(Bodies::Called.calls(1, 1, || 1) && !Bodies::InPlace.calls(1000, 1000, || 1));
    }
}
