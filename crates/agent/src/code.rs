//! What is loaded: executables with their code objects, which kernel object is whose, and what runs in a kernel's place.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::hsa::Handle;
use crate::memory::Shared;
use crate::message::Rule;
use crate::runtime::{Definition, Loaded, Runtime};

/// A code object that the application has loaded and not yet frozen.
pub struct Fresh {
    pub object: Handle,
    pub agent: Handle,
    /// A file with its bytes.
    pub bytes: Option<OwnedFd>,
}

/// An executable of the application's.
#[derive(Default)]
pub struct Executable {
    pub definitions: Vec<Definition>,
    pub fresh: Vec<Fresh>,
}

impl Executable {
    /// A code object was seen when it was loaded.
    pub fn has(&self, object: Handle) -> bool {
        self.fresh.iter().any(|fresh| fresh.object == object)
    }
}

/// A loaded code object, with what was made of it.
pub struct Object {
    pub number: u64,
    pub agent: Handle,
    pub executable: Handle,
    pub loaded: Loaded,
    pub definitions: Vec<Definition>,
    /// Executables of ours, with what they were loaded from.
    pub ours: Vec<(Handle, Shared)>,
    /// Variables of the tools.
    pub variables: Vec<Shared>,
}

impl Object {
    /// Frees what was made for it.
    pub fn free(self, runtime: &Runtime) {
        for (executable, _bytes) in self.ours {
            // SAFETY: it is ours; the application has destroyed the one whose kernels it stood for.
            unsafe { (runtime.executable_destroy)(executable) };
        }
        self.variables.iter().for_each(|memory| runtime.unlock(memory));
    }
}

/// What a launch of a kernel runs.
#[derive(Debug)]
pub struct Kernel {
    /// Its counter in the ledger.
    pub slot: usize,
    /// What runs in its place.
    pub instead: Option<Instead>,
    /// The tools are to hear of its launches.
    pub heard: bool,
    /// Which launches are instrumented or heard of, all if there are none; with the number of launches that each was about.
    rules: Vec<(Rule, AtomicU64)>,
}

#[derive(Clone, Copy, Debug)]
pub struct Instead {
    pub descriptor: u64,
    /// By how many bytes the private segment grows.
    pub private: u32,
    /// By how many bytes LDS grows, and the most that there can be of it.
    pub group: u32,
    pub most_group: u32,
    /// Counts down for each launch that is over.
    pub signal: u64,
}

impl Instead {
    /// A workgroup that is to have so much LDS can have what is added to it.
    pub fn fits(&self, group: u32) -> bool {
        self.group == 0 || group.saturating_add(self.group) <= self.most_group
    }
}

/// What the controller says of a kernel.
#[derive(Debug, Default)]
pub struct Answer {
    pub instead: Option<Instead>,
    pub heard: bool,
    pub rules: Vec<Rule>,
}

impl Kernel {
    pub fn new(slot: usize, answer: Answer) -> Kernel {
        let rules = answer.rules.into_iter().map(|rule| (rule, AtomicU64::new(0))).collect();
        Kernel { slot, instead: answer.instead, heard: answer.heard, rules }
    }

    /// Whether the next launch, of this size, is instrumented or heard of. Each launch is asked about once.
    pub fn wants(&self, grid: [u32; 3]) -> bool {
        let mut wanted = self.rules.is_empty();
        for (rule, seen) in &self.rules {
            if rule.grid.iter().zip(grid).all(|(rule, size)| *rule == 0 || *rule == size) {
                let n = seen.fetch_add(1, Ordering::Relaxed);
                wanted |= (rule.first == 0 || n < rule.first) && n % rule.every.max(1) == 0;
            }
        }
        wanted
    }
}

#[derive(Default)]
pub struct Code {
    pub executables: HashMap<Handle, Executable>,
    /// By base address.
    objects: BTreeMap<u64, Object>,
    kernels: HashMap<u64, Arc<Kernel>>,
    count: u64,
    slots: usize,
}

impl Code {
    pub fn kernel(&self, address: u64) -> Option<Arc<Kernel>> {
        self.kernels.get(&address).cloned()
    }

    /// Says what launches of a kernel run, if the object that it was in is still there.
    pub fn set_kernel(&mut self, address: u64, object: u64, kernel: Kernel) -> Option<Arc<Kernel>> {
        self.object_at(address).filter(|o| o.number == object)?;
        let kernel = Arc::new(kernel);
        self.kernels.insert(address, kernel.clone());
        Some(kernel)
    }

    /// Another place in the ledger.
    pub fn new_slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// The object that has an address.
    pub fn object_at(&mut self, address: u64) -> Option<&mut Object> {
        let (_, object) = self.objects.range_mut(..=address).next_back()?;
        (address - object.loaded.base < object.loaded.size).then_some(object)
    }

    /// Enters a code object; gives its number.
    pub fn add(&mut self, executable: Handle, fresh: &Fresh, loaded: Loaded, definitions: Vec<Definition>) -> u64 {
        self.count += 1;
        let object = Object {
            number: self.count,
            agent: fresh.agent,
            executable,
            definitions,
            ours: Vec::new(),
            variables: Vec::new(),
            loaded,
        };
        self.objects.insert(object.loaded.base, object);
        self.count
    }

    /// Forgets everything that is loaded; gives the numbers of the objects.
    pub fn clear(&mut self) -> Vec<u64> {
        self.executables.clear();
        self.kernels.clear();
        std::mem::take(&mut self.objects).into_values().map(|object| object.number).collect()
    }

    /// Forgets all that an executable had.
    pub fn remove(&mut self, executable: Handle) -> Vec<Object> {
        self.executables.remove(&executable);
        let bases: Vec<u64> =
            self.objects.values().filter(|o| o.executable == executable).map(|o| o.loaded.base).collect();
        let gone: Vec<Object> = bases.iter().filter_map(|base| self.objects.remove(base)).collect();
        for object in &gone {
            let (start, end) = (object.loaded.base, object.loaded.base + object.loaded.size);
            self.kernels.retain(|address, _| !(start..end).contains(address));
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(code: &mut Code, executable: u64, base: u64) -> u64 {
        let fresh = Fresh { object: Handle(1), agent: Handle(1), bytes: None };
        let loaded = Loaded { base, size: 0x100, delta: base, uri: String::new() };
        code.add(Handle(executable), &fresh, loaded, Vec::new())
    }

    #[test]
    fn an_address_is_the_objects_whose_memory_holds_it() {
        let mut code = Code::default();
        assert_eq!((add(&mut code, 1, 0x1000), add(&mut code, 2, 0x2000)), (1, 2));
        let mut at = |address| code.object_at(address).map(|o| o.number);
        assert_eq!(
            [at(0xfff), at(0x1000), at(0x10ff), at(0x1100), at(0x2080)],
            [None, Some(1), Some(1), None, Some(2)]
        );
    }

    #[test]
    fn nothing_of_a_destroyed_executable_is_remembered() {
        let mut code = Code::default();
        add(&mut code, 1, 0x1000);
        add(&mut code, 2, 0x2000);
        let kernel = |slot| Kernel::new(slot, Answer::default());
        assert!(code.set_kernel(0x1040, 1, kernel(0)).is_some() && code.set_kernel(0x2040, 2, kernel(1)).is_some());
        assert!(code.set_kernel(0x1040, 2, kernel(2)).is_none());
        assert_eq!(code.remove(Handle(1)).len(), 1);
        assert!(code.kernel(0x1040).is_none());
        assert_eq!(code.kernel(0x2040).map(|k| k.slot), Some(1));
        assert!(code.object_at(0x1040).is_none());
        assert_eq!(add(&mut code, 3, 0x1000), 3);
    }

    #[test]
    fn rules_choose_launches_by_size_and_count() {
        let rule = |grid, first, every| Rule { grid, first, every };
        let chosen = |rules: Vec<Rule>| {
            let kernel = Kernel::new(0, Answer { rules, ..Answer::default() });
            (0..8).filter(|n| kernel.wants([if n % 2 == 0 { 64 } else { 128 }, 1, 1])).collect::<Vec<u32>>()
        };
        assert_eq!(chosen(Vec::new()), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(chosen(vec![rule([0; 3], 3, 1)]), [0, 1, 2]);
        assert_eq!(chosen(vec![rule([0; 3], 0, 3)]), [0, 3, 6]);
        assert_eq!(chosen(vec![rule([128, 0, 0], 3, 2)]), [1, 5]);
        assert_eq!(chosen(vec![rule([128, 0, 0], 1, 1), rule([0; 3], 0, 6)]), [0, 1, 6]);
        assert!(chosen(vec![rule([7, 0, 0], 0, 1)]).is_empty());
    }
}
