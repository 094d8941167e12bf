//! The copy of one function as it is made: what it is made for, what is known of the function, and what there is of it.

use std::rc::Rc;

use luthier_isa::{Inst, RegRange, VgprMsb};
use luthier_lifter::{InFlight, InstrId, Live, Liveness, PendingLoads, Points};

use super::bodies::Inserter;
use super::indexing::Indexing;
use super::pcrel::PcPlans;
use super::{Spot, Task};
use crate::layout::chunk::Place;
use crate::splice::seams::Seam;

/// Copies one function.
pub struct Copier<'a, 'k> {
    pub task: Task<'a>,
    pub known: Known<'k>,
    pub put: Inserter<'a>,
    pub edges: Vec<Edge<'a>>,
}

/// What is known of the function before any of it is copied.
pub struct Known<'a> {
    /// What is inserted into it, sorted.
    pub spots: &'a [Spot],
    pub liveness: Liveness<'a>,
    /// Of the block that is being copied.
    pub points: Points,
    pub plans: PcPlans,
    pub indexing: Indexing,
    pub loads: PendingLoads<'a>,
    /// Instructions that something else stands for; ascending.
    pub absent: Rc<[InstrId]>,
}

/// The taken way of a branch with insertions on it.
pub struct Edge<'a> {
    pub address: u64,
    pub inst: Inst,
    pub insertions: Vec<u32>,
    /// There are insertions that are on the other way as well.
    pub shared: bool,
    pub loads: InFlight,
    /// Large, and the list of ways grows.
    pub live: Box<Live>,
    pub seam: Box<Seam<'a>>,
    pub indexed: bool,
    pub msb: VgprMsb,
    pub olds: Vec<(RegRange, RegRange)>,
    pub to: Place,
}
