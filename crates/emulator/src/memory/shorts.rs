//! Loads of a byte or two bytes a lane.

use std::sync::atomic::Ordering::Relaxed;

use super::places::Words;
use crate::level::Work;
use crate::registers::Row;

/// Lanes that are looked at together: as many as have two bytes of what is loaded at once.
pub(super) const NEIGHBOURS: usize = 8;

/// What [`Words::gather_short`] does.
pub(super) struct Shorts<'a, const BYTES: u64> {
    pub words: &'a Words,
    pub out: &'a mut Row,
    pub lanes: usize,
}

impl<const BYTES: u64> Work for Shorts<'_, BYTES> {
    type Result = ();
    #[inline(always)]
    fn run(self) {
        let Shorts { words, out, lanes } = self;
        let (offsets, out) = (words.offsets[..lanes].as_chunks().0, out.0[..lanes].as_chunks_mut::<NEIGHBOURS>().0);
        for (offsets, out) in offsets.iter().zip(out) {
            let offsets: &[u64; NEIGHBOURS] = offsets;
            let first = words.first.at(offsets[0]);
            if BYTES == 2 && first.aligned(16) {
                let mut odd = 0;
                for k in 0..NEIGHBOURS {
                    odd |= offsets[k] ^ offsets[0].wrapping_add(2 * k as u64);
                }
                if odd == 0 {
                    for (out, word) in out.as_chunks_mut::<2>().0.iter_mut().zip(first.load128()) {
                        *out = [word & 0xffff, word >> 16];
                    }
                    continue;
                }
            }
            for k in 0..NEIGHBOURS {
                let at = words.first.at(offsets[k]);
                out[k] = if BYTES == 1 { at.a8().load(Relaxed).into() } else { at.a16().load(Relaxed).into() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Memory, Recent};
    use super::*;

    /// Where lanes access memory: half by half from an aligned or another place, with gaps, and backwards.
    #[test]
    fn each_lane_loads_its_own_two_bytes() {
        let mut memory = Memory::new();
        let start = memory.allocate(1024, true).unwrap();
        let bytes: Vec<u8> = (0..512u16).flat_map(|n| (0x1000 + n).to_le_bytes()).collect();
        memory.write(start, &bytes).unwrap();
        let orders: [fn(u64) -> u64; 6] =
            [|i| i, |i| i + 3, |i| i + 8, |i| i + i / 8 * 24, |i| if i % 8 == 5 { 400 } else { i }, |i| 100 - i];
        for (number, order) in orders.into_iter().enumerate() {
            for mask in [u64::MAX, 0xffff_ffff, 0x00ff_fef8] {
                let lanes = std::array::from_fn(|i| start + 2 * order(i as u64));
                let (mut words, mut out) = (Words::NONE, Row::ZERO);
                assert!(memory.resolve_all(&mut Recent::NONE.clone(), &lanes, mask, 2, false, &mut words));
                words.gather_short::<2>(&mut out, if mask >> 32 == 0 { 32 } else { 64 });
                for lane in crate::masks::lanes(mask) {
                    let want = 0x1000 + order(lane as u64) as u32;
                    assert_eq!(out.0[lane], want, "order {number}, lanes {mask:x}, lane {lane}");
                }
            }
        }
    }
}
