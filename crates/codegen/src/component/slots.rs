//! Homes for the counters of a component: an SGPR pair that no code of it uses, else two lanes of such a VGPR.

use luthier_isa::{Reg, RegRange, RegSet};

use crate::machine::registers::Counts;
use crate::machine::{File, Machine};
use crate::plan::Rejection;
use crate::splice::SlotHome;
use crate::splice::pool::Free;

/// Where the counters are, by index into the plan's.
#[derive(Debug, Default)]
pub struct Homes {
    pub homes: Vec<Option<SlotHome>>,
    /// The registers that they take.
    pub reserved: RegSet,
    /// The SGPRs of them.
    pub pairs: RegSet,
    pub highest: Counts,
    /// Why some have none.
    pub refused: Option<Rejection>,
}

/// VGPRs that counters are flushed through.
const FLUSH_VGPRS: u16 = 3;

impl Homes {
    /// For the counters `wanted` of `count`. `touched` are the registers that the component's code and hooks look at,
    /// `limits` those that hooks may use, and `vgprs` how many VGPRs the kernels may have: from v256 on they hold counters
    /// only, as an instruction reaches them through the upper bits of VGPR numbers.
    pub fn of(
        machine: &Machine,
        count: usize,
        wanted: &[usize],
        touched: &RegSet,
        (limits, vgprs): (Counts, u16),
    ) -> Homes {
        let mut found = Homes { homes: vec![None; count], ..Homes::default() };
        let mut pairs = Free::outside(touched, File::Sgpr.first_unit(), limits.sgprs);
        let lower = FLUSH_VGPRS..limits.vgprs;
        let mut vgprs = lower.chain(256..vgprs).map(Reg::vgpr).filter(|vgpr| !touched.contains(*vgpr));
        let mut lanes: Option<(Reg, u8)> = None;
        for &counter in wanted {
            let Some(home) = found.homes.get_mut(counter) else { continue };
            if let Some(n) = pairs.find(2, 2, 0) {
                pairs.remove(n);
                pairs.remove(n + 1);
                *home = Some(SlotHome::Pair(Reg::sgpr(n)));
            } else {
                let next = lanes.filter(|(_, lane)| *lane + 1 < machine.lanes());
                let next = next.or_else(|| Some((vgprs.next()?, 0)));
                let Some((vgpr, lane)) = next else {
                    found.refused = Some(Rejection::SlotsDoNotFit {
                        slot: format!("slot {counter}"),
                        scratch: "scratch holds none yet",
                    });
                    continue;
                };
                *home = Some(SlotHome::Lanes(vgpr, lane));
                lanes = Some((vgpr, lane + 2));
            }
            if let Some(home) = *home {
                let range: RegRange = home.range();
                found.reserved.insert_range(range);
                if range.first.is_sgpr() {
                    found.pairs.insert_range(range);
                }
                found.highest.note(range);
            }
        }
        found
    }
}
