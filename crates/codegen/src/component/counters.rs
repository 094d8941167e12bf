//! Homes for the counters of a component: an SGPR pair that no code of it uses, else two lanes of such a VGPR.

use luthier_isa::{Reg, RegRange, RegSet};

use crate::machine::registers::Counts;
use crate::machine::{File, Machine};
use crate::plan::Rejection;
use crate::splice::CounterHome;
use crate::splice::pool::Free;

/// Where the counters are, by index into the plan's.
#[derive(Debug, Default)]
pub struct Homes {
    pub homes: Vec<Option<CounterHome>>,
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
    /// For the counters `wanted` of `count`. `touched` are the registers that the component's code and hooks look at.
    pub fn of(machine: &Machine, count: usize, wanted: &[usize], touched: &RegSet, limits: Counts) -> Homes {
        let mut found = Homes { homes: vec![None; count], ..Homes::default() };
        let mut pairs = Free::outside(touched, File::Sgpr.first_unit(), limits.sgprs);
        let mut vgprs = Free::outside(touched, File::Vgpr.first_unit(), limits.vgprs);
        (0..FLUSH_VGPRS).for_each(|n| vgprs.remove(n));
        let mut lanes: Option<(Reg, u8)> = None;
        for &counter in wanted {
            let Some(home) = found.homes.get_mut(counter) else { continue };
            if let Some(n) = pairs.find(2, 2, 0) {
                pairs.remove(n);
                pairs.remove(n + 1);
                *home = Some(CounterHome::Pair(Reg::sgpr(n)));
            } else {
                let next = lanes.filter(|(_, lane)| *lane + 1 < machine.lanes()).or_else(|| {
                    let n = vgprs.find(1, 1, 0)?;
                    vgprs.remove(n);
                    Some((Reg::vgpr(n), 0))
                });
                let Some((vgpr, lane)) = next else {
                    found.refused = Some(Rejection::CountersDoNotFit { wanted: wanted.len() });
                    continue;
                };
                *home = Some(CounterHome::Lanes(vgpr, lane));
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
