//! x
use crate::place::{env::Env, point::Splice};
use luthier_isa::RegSet;
use luthier_lifter::Live;
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Violation {
    pub address: u64,
    pub reason: String,
}
pub fn splice(_env: &Env, _address: u64, _live: &Live, _pending: &RegSet, _splice: &Splice, _out: &mut Vec<Violation>) {
}
