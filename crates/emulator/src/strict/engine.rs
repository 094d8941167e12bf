//! What engines do to strict mode: copies between memory and LDS that go on beside the wave, and arrivals at barriers
//! in LDS.
//!
//! What an engine does lands late: when a wait guarantees it, at the end of the wave, or when waves of the workgroup
//! have had their turn and none of them got on, for a program may rightly look for it in LDS.

use super::cells::{Touch, Toucher};
use super::order::{AccessId, Clock};
use super::{Looks, Strict, memory::with};
use crate::masks::lanes;
use crate::mem::engine::{Engine, LanePiece};
use crate::memory::Memory;
use crate::op::Flow;
use crate::report::FindingKind;
use crate::wave::Wave;

/// What is still to be done.
pub type Work = Box<dyn FnOnce(&mut Wave) -> Flow>;

pub struct Landing {
    access: AccessId,
    pc: u64,
    /// What the engine knew when it was told.
    knows: Clock,
    work: Work,
}

/// Work of a wave's engines that is under way, and that which has come to its end.
#[derive(Default)]
pub struct Landings {
    open: Vec<Landing>,
    due: Vec<Landing>,
    /// Of the one that lands now.
    knows: Option<Clock>,
}

impl Landings {
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }
    pub fn finish(&mut self, access: AccessId) {
        if self.open.iter().any(|landing| landing.access == access) {
            self.due.extend(self.open.extract_if(.., |landing| landing.access == access));
        }
    }
}

/// Does what is due.
pub fn land(w: &mut Wave) -> Flow {
    let Some(strict) = &mut w.strict else { return Flow::Next };
    let pc = strict.log.pc;
    for landing in std::mem::take(&mut strict.landings.due) {
        if let Some(strict) = &mut w.strict {
            strict.log.pc = landing.pc;
            strict.landings.knows = Some(landing.knows);
        }
        if (landing.work)(w) != Flow::Next {
            return Flow::Fault;
        }
    }
    if let Some(strict) = &mut w.strict {
        strict.log.pc = pc;
    }
    Flow::Next
}

/// Does all that the wave's engines have still to do.
pub fn land_all(w: &mut Wave) -> Flow {
    if let Some(strict) = &mut w.strict {
        let open = std::mem::take(&mut strict.landings.open);
        strict.landings.due.extend(open);
    }
    land(w)
}

/// Has an engine do something later that belongs to the access under way; gives it back if it is to be done at once.
pub fn defer(w: &mut Wave, engine: Engine, work: Work) -> Option<Work> {
    let strict = match &mut w.strict {
        Some(strict) if strict.access != 0 && strict.looks.contains(Looks::WAITS) => strict,
        _ => return Some(work),
    };
    let knows = strict.group.borrow().knowledge(strict.wave, Some(engine));
    let landing = Landing { access: strict.access, pc: strict.log.pc, knows, work };
    strict.landings.open.push(landing);
    None
}

/// Before an engine moves some pieces.
pub fn transfer(w: &mut Wave, engine: Engine, pieces: &[LanePiece], loads: bool) {
    with(w, |strict, w| strict.transfer(w.lds.len() as u64, engine, pieces, loads, &w.memory));
    for (lane, piece) in pieces {
        if let Some(address) = piece.global {
            super::tails::plain(w, !loads, lane.map(|lane| lane as usize), address, piece.len);
        }
    }
}

/// Before lanes arrive at barriers in LDS, by themselves or by an engine.
pub fn barrier(w: &mut Wave, offsets: &[u32; 64], mask: u64, engine: Option<Engine>) {
    with(w, |strict, _| strict.barrier(offsets, mask, engine));
}

/// The wave has arrived at a barrier in LDS.
pub fn arrived(w: &mut Wave, address: u32, ends: bool) {
    with(w, |strict, _| {
        let mut group = strict.group.borrow_mut();
        group.look(strict.wave, address, 8);
        let knows = group.knowledge(strict.wave, None);
        group.arrive_in_lds(address, &knows, ends);
        group.tick(strict.wave);
    });
}

/// The engine whose work lands has arrived at a barrier in LDS.
pub fn landed(w: &mut Wave, address: u32, ends: bool) {
    with(w, |strict, _| {
        if let Some(knows) = &strict.landings.knows {
            strict.group.borrow_mut().arrive_in_lds(address, knows, ends);
        }
    });
}

impl Strict {
    /// The access that an engine makes for the instruction under way.
    fn engine_access(&mut self, engine: Engine, atomic: bool) -> AccessId {
        let main = self.access == 0;
        let id = self.group.borrow_mut().begin_engine(self.wave, engine, self.log.pc, atomic, main);
        if main {
            self.access = id;
            self.waits.attach(id);
        }
        id
    }

    fn transfer(&mut self, end: u64, engine: Engine, pieces: &[LanePiece], loads: bool, memory: &Memory) {
        let id = self.engine_access(engine, false);
        let by = Toucher { id, actor: self.group.borrow().actor(self.wave, engine), touch: touch_of(loads) };
        let shared = self.group.clone();
        for &(lane, piece) in pieces {
            // What is outside is found when it moves. A store does not read what it would only drop.
            if piece.lds.saturating_add(piece.len) > end || (!loads && piece.global.is_none()) {
                continue;
            }
            let (at, len) = (piece.lds as u32, piece.len as u32);
            if loads {
                shared.borrow_mut().define_all(at, len);
                if let Some(address) = piece.global {
                    self.memory_to_lds(memory, at, address, piece.len);
                }
            } else {
                self.stored(lane, at, len, piece.global);
                if let Some(address) = piece.global {
                    self.memory_from_lds(memory, address, piece.len);
                }
            }
            let mut found = |_: usize, conflict| self.collide(conflict, "LDS", lane, at.into());
            shared.borrow_mut().touch(by, [(0, at)].into_iter(), len, &|_, _| false, &mut found);
        }
        let reach = pieces.iter().filter_map(|(_, piece)| Some((piece.global?, piece.len))).collect();
        let found = shared.borrow_mut().touch_memory(id, !loads, reach);
        if let Some((conflict, address)) = found {
            self.collide(conflict, "memory", None, address);
        }
    }

    /// What goes from LDS to memory.
    fn stored(&mut self, lane: Option<u32>, at: u32, len: u32, to: Option<u64>) {
        if !self.looks.contains(Looks::VALUES) {
            return;
        }
        let group = self.group.clone();
        let group = group.borrow();
        if let Some(byte) = group.unwritten(at, len) {
            let message = format!("a read of LDS at {byte:#x}, which nothing has written");
            self.log.report(FindingKind::UndefinedLds, lane, Some(byte.into()), message);
        } else if let Some(byte) = (at..at + len).find(|&byte| group.undefined(byte, 1, false) != 0) {
            self.log.undefined("what memory gets from LDS", [(lane, to, group.origin(byte))].into_iter());
        }
    }

    fn barrier(&mut self, offsets: &[u32; 64], mask: u64, engine: Option<Engine>) {
        let shared = self.group.clone();
        let there = shared.borrow().holding(offsets, mask, 8);
        let (id, actor) = match engine {
            Some(engine) => (self.engine_access(engine, true), shared.borrow().actor(self.wave, engine)),
            None => {
                // LDS serves a wave in order: a wave that hears of the arrival finds done what came before.
                self.waits.in_lds().for_each(|access| shared.borrow_mut().finish(access));
                (self.access(true), self.wave)
            }
        };
        for lane in lanes(there) {
            shared.borrow_mut().meet(offsets[lane]);
            if let Some(byte) = shared.borrow().unwritten(offsets[lane], 8) {
                let message = format!("an arrival at a barrier in LDS at {byte:#x}, which nothing has written");
                self.log.report(FindingKind::UndefinedLds, Some(lane as u32), Some(byte.into()), message);
            }
        }
        if !shared.borrow().is_watched() {
            return;
        }
        let by = Toucher { id, actor, touch: Touch::Meet };
        let touched = lanes(there).map(|lane| (lane, offsets[lane]));
        let mut found = |lane: usize, conflict| self.collide(conflict, "LDS", Some(lane as u32), offsets[lane].into());
        shared.borrow_mut().touch(by, touched, 8, &|_, _| false, &mut found);
    }
}

fn touch_of(loads: bool) -> Touch {
    if loads { Touch::Write } else { Touch::Read }
}
