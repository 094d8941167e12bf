//! Placement: where hooks go, which registers they get, and what becomes of the code around them.
//!
//! The unit of decision is the call-graph *component*: kernels and device functions that may run in one wave. A
//! component with a hook anywhere is copied as a whole into a new segment. Its originals stay where they are; a
//! function's first instruction becomes a branch to its copy, so that pointers need not be found. In a copy:
//!
//! - an instruction is the original's, bit for bit, except for branches, which aim at copies, and sums on
//!   `s_getpc_b64`, which come to the original's value ([`pcrel`]);
//! - a hook stands before or behind its instruction, or on the edges behind a branch, with its registers renamed onto
//!   free ones ([`point`]): dead there, or never used by the component. Taking the lowest free register first prefers
//!   those that are allocated already; what goes beyond raises the kernels' counts ([`resources`]);
//! - a counter has an SGPR pair that no code of the component uses, set to zero at the kernels' entries and added to
//!   memory before `s_endpgm` ([`preamble`]); where there is none left, two lanes of a VGPR.
//!
//! If something in a component is not understood, the component is left as it is, and the report says why.
//!
//! | module | one idea |
//! |---|---|
//! | [`ops`] | the few instructions that placement writes itself |
//! | [`prepared`] | a template, looked at once |
//! | [`renamed`] | a template as it was renamed lately |
//! | [`pool`] | free registers |
//! | [`env`] | what all points of a component have in common |
//! | [`point`] | the hooks of one point |
//! | [`borrow`] | live SGPRs kept in lanes where too few are free |
//! | [`hazard`] | wait states at a hook's borders |
//! | [`indexing`] | where VGPR operands are indexed |
//! | [`copy`] | copying a function |
//! | [`pcrel`] | the program counter in copies |
//! | [`preamble`] | entries and ends of kernels |
//! | [`resources`] | register counts and occupancy |
//! | [`chunk`], [`layout`] | code without addresses; addresses, islands, bytes |
//! | [`patch`] | from the originals to the copies |

pub mod borrow;
pub mod chunk;
pub mod copy;
pub mod env;
pub mod hazard;
pub mod indexing;
pub mod layout;
pub mod ops;
pub mod patch;
pub mod pcrel;
pub mod point;
pub mod pool;
pub mod preamble;
pub mod prepared;
pub mod renamed;
pub mod resources;
