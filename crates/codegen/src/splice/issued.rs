//! What a wave has issued lately, on each way that leads to a place: as far back as hazards reach.

use std::cell::OnceCell;
use std::rc::Rc;

use luthier_isa::Inst;

use crate::machine::cures::WINDOW;
use crate::template::paths::Ending;

/// What was issued before a run of instructions: on each way that leads there the last few, or all, the latest last. `None`
/// where that is not known, or where there are too many ways.
pub type Ways<'a> = Rc<dyn Fn(usize) -> Option<Vec<Vec<Inst>>> + 'a>;

#[derive(Clone)]
pub struct Issued<'a> {
    /// What leads to where following began.
    before: Option<Ways<'a>>,
    /// What has been issued since, inserted code included, on each way through that.
    recent: Vec<Vec<Inst>>,
    /// What [`Issued::ways`] has found.
    ways: OnceCell<Option<Rc<Vec<Vec<Inst>>>>>,
}

impl<'a> Issued<'a> {
    /// Nothing yet, behind these ways; without, behind nothing that matters any more.
    pub fn after(before: Option<Ways<'a>>) -> Issued<'a> {
        Issued { before, recent: vec![Vec::new()], ways: OnceCell::new() }
    }

    /// Following begins anew behind these ways.
    pub fn begin(&mut self, before: Option<Ways<'a>>) {
        self.before = before;
        self.ways.take();
        self.recent.truncate(1);
        self.recent.iter_mut().for_each(Vec::clear);
    }

    /// What came before where following began matters no more.
    pub fn forget(&mut self) {
        self.before = None;
        self.ways.take();
    }

    /// On how many ways something has been issued since following began.
    pub fn count(&self) -> usize {
        self.recent.len()
    }

    /// What has been issued since following began, on each way.
    pub fn known(&self) -> Vec<Vec<Inst>> {
        self.recent.clone()
    }

    /// Instructions are issued one after the other.
    pub fn add(&mut self, insts: &[Inst]) {
        self.ways.take();
        for way in &mut self.recent {
            if way.len() > 4 * WINDOW {
                way.drain(..way.len() - 2 * WINDOW);
            }
            match *insts {
                [inst] => way.push(inst),
                _ => way.extend_from_slice(&insts[insts.len().saturating_sub(2 * WINDOW)..]),
            }
        }
    }

    /// Code that branches is issued, on one of these ways.
    pub fn add_ways(&mut self, code: &[Inst], ways: &[Ending]) {
        let mut all: Vec<Vec<Inst>> = Vec::new();
        let mut add = |mut way: Vec<Inst>| {
            way.drain(..way.len().saturating_sub(WINDOW));
            if !all.contains(&way) {
                all.push(way);
            }
        };
        for way in ways {
            let insts: Vec<Inst> = way.insts.iter().map(|n| code[*n]).collect();
            if way.whole {
                self.recent.iter().for_each(|before| add([before, &insts[..]].concat()));
            } else {
                add(insts);
            }
        }
        self.recent = all;
        self.ways.take();
    }

    /// The last instructions on each way. `None` where they are not known.
    pub fn ways(&self) -> Option<Rc<Vec<Vec<Inst>>>> {
        self.ways.get_or_init(|| self.find().map(Rc::new)).clone()
    }

    fn find(&self) -> Option<Vec<Vec<Inst>>> {
        let shortest = self.recent.iter().map(Vec::len).min().unwrap_or(0);
        let ways = match self.before.as_ref().filter(|_| shortest < WINDOW) {
            Some(ways) => ways(WINDOW - shortest)?,
            None => Vec::new(),
        };
        let mut all: Vec<Vec<Inst>> = Vec::with_capacity(ways.len());
        let mut add = |way: Vec<Inst>| {
            if !all.contains(&way) {
                all.push(way);
            }
        };
        for recent in &self.recent {
            let recent = &recent[recent.len().saturating_sub(WINDOW)..];
            let keep = WINDOW - recent.len();
            if keep == 0 || ways.is_empty() {
                add(recent.to_vec());
                continue;
            }
            ways.iter().for_each(|way| add([&way[way.len().saturating_sub(keep)..], recent].concat()));
        }
        Some(all)
    }
}
