//! What a wave comes to behind a block: the next one, which may have to be translated, or a stop.

use super::tier::{Tier, is_native};
use super::{Cursor, Entry, Program, Stop, UNKNOWN};
use crate::code::{Place, Refusal};
use crate::meets::syncs;
use crate::op::Flow;
use crate::wave::Wave;

impl Program {
    /// The block that a wave comes to behind another one, or why it stops there, with the instructions that it has done.
    #[inline(always)]
    pub(super) fn follow(
        &mut self,
        w: &mut Wave,
        cursor: &mut Cursor,
        at: u32,
        flow: Flow,
        stopped: u16,
        done: u64,
    ) -> Result<u32, (Stop, u64)> {
        // The usual ways, one after the other: which of several a jump by a table takes, the host's processor guesses worse.
        let entry = &self.blocks[at as usize];
        if flow == Flow::Taken && entry.taken != UNKNOWN {
            return Ok(entry.taken);
        }
        if matches!(flow, Flow::Next | Flow::Fall) && entry.next != UNKNOWN {
            return Ok(entry.next);
        }
        self.leave(w, cursor, at, flow, stopped, done)
    }

    /// The same where it is not known yet, or no other block.
    #[inline(never)]
    fn leave(
        &mut self,
        w: &mut Wave,
        cursor: &mut Cursor,
        at: u32,
        flow: Flow,
        stopped: u16,
        done: u64,
    ) -> Result<u32, (Stop, u64)> {
        let Entry { block, next, length, .. } = &self.blocks[at as usize];
        match flow {
            Flow::Next | Flow::Fall | Flow::Yield | Flow::Barrier => {
                let (place, mut next) = (block.next, *next);
                if next == UNKNOWN {
                    match self.block_at(w, place) {
                        Ok(found) => next = found,
                        Err(refusal) if matches!(flow, Flow::Next | Flow::Fall) => return Err((refusal.into(), done)),
                        // Where the wave waits there is no fault yet.
                        Err(_) => {}
                    }
                    self.blocks[at as usize].next = next;
                }
                let after = if next == UNKNOWN { Cursor::Place(place) } else { Cursor::Block(next) };
                match flow {
                    Flow::Yield => {
                        *cursor = after;
                        Err((Stop::Yielded, done))
                    }
                    Flow::Barrier => {
                        *cursor = after;
                        Err((Stop::Barrier, done))
                    }
                    _ => Ok(next),
                }
            }
            Flow::Taken => {
                let place = block.taken.unwrap_or(Place { pc: 0, ..block.next });
                let next = self.block_at(w, place).map_err(|refusal| (refusal.into(), done))?;
                self.blocks[at as usize].taken = next;
                Ok(next)
            }
            Flow::Jump => {
                let place = Place { pc: w.pc, ..block.next };
                self.block_at(w, place).map_err(|refusal| (refusal.into(), done))
            }
            Flow::End => {
                // Where it has ended, however far it ran at a time.
                *cursor = Cursor::Place(block.last());
                Err((Stop::End, done))
            }
            Flow::Fault => {
                let at = usize::from(stopped).min(block.insts.len() - 1);
                let (pc, inst) = &block.insts[at];
                let done = done - (length - at as u64);
                let refusal = if w.fault.is_none() { block.refusal.clone() } else { None };
                Err((Stop::Fault { pc: *pc, text: inst.to_string(), refusal }, done))
            }
        }
    }

    /// The worker's number of the block that starts at a place.
    pub(super) fn block_at(&mut self, w: &Wave, place: Place) -> Result<u32, Refusal> {
        if let Some((_, at)) = self.latest.filter(|(latest, _)| *latest == place) {
            return Ok(at);
        }
        if let Some(&at) = self.by_place.get(&place) {
            self.latest = Some((place, at));
            return Ok(at);
        }
        let block = self.code.block(w, place, self.epoch)?;
        self.written.iter_mut().zip(&block.written).for_each(|(all, more)| *all |= more);
        let at = self.blocks.len() as u32;
        // What another worker, or another launch, has found hot is so here from the beginning.
        let tier = if is_native(&block) { Tier::Native } else { Tier::Ops };
        let hot = self.hot.saturating_sub(block.heat()).max(1);
        let halts = self.halts.hold(&block);
        let first = block.insts.first().filter(|_| self.code.is_apart());
        let (meets, syncs) = first.map_or((false, false), |(_, inst)| (self.code.meets(inst), syncs(inst)));
        let loops = block.taken == Some(place);
        self.blocks.push(Entry {
            length: block.insts.len() as u64,
            is_private: block.is_private,
            block,
            place,
            halts,
            meets,
            syncs,
            count: 0,
            hot,
            tier,
            loops,
            taken: UNKNOWN,
            next: UNKNOWN,
            following: self.unjoined(),
        });
        self.by_place.insert(place, at);
        Ok(at)
    }
}
