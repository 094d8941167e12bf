//! The hooks of one place: a [`site`] (what is live, in flight, free), the hooks' [`demand`]s, an allocation that is a
//! pure function of both ([`mod@allocate`]), and its emission ([`mod@emit`], with what stands `around` the hooks and the
//! `moves` of values between them). What has to stand between inserted code and its surroundings is [`seams`]'.

pub mod allocate;
pub mod allocation;
mod around;
pub mod asked;
pub mod assign;
pub mod called;
mod cells;
pub mod convention;
pub mod demand;
pub mod emit;
pub mod env;
mod issued;
pub mod keeper;
mod moves;
pub mod pool;
pub mod prologue;
pub mod seams;
pub mod settled;
pub mod site;
pub mod slots;

pub use allocate::allocate;
pub use allocation::Allocation;
pub use demand::Demand;
pub use emit::{Literal, Splice, emit};
pub use env::{Carried, Env, Given, HookId, Registers};
pub use site::Site;
