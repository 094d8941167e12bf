//! Handlers run on edge cases and random lanes, against computations that share no code with them.

mod coverage;
