//! What is loaded: executables with their code objects, which kernel object is whose, and what runs in a kernel's place.

use std::collections::{BTreeMap, HashMap};

use crate::hsa::Handle;
use crate::memory::Shared;
use crate::runtime::{Definition, Loaded, Runtime};

/// A code object that the application has loaded and not yet frozen.
pub struct Fresh {
    pub object: Handle,
    pub agent: Handle,
    pub bytes: Option<Shared>,
}

/// An executable of the application's.
#[derive(Default)]
pub struct Executable {
    pub definitions: Vec<Definition>,
    pub fresh: Vec<Fresh>,
}

/// A loaded code object, with what was made of it.
pub struct Object {
    pub number: u64,
    pub agent: Handle,
    pub executable: Handle,
    pub loaded: Loaded,
    pub definitions: Vec<Definition>,
    /// Executables of ours, with the files that they were loaded from.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Its counter in the ledger.
    pub slot: usize,
    /// Its descriptor, where something else runs in its place, and by how much the segments grow.
    pub instead: Option<Instead>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instead {
    pub descriptor: u64,
    pub segments: [u32; 2],
}

#[derive(Default)]
pub struct Code {
    pub executables: HashMap<Handle, Executable>,
    /// By base address.
    objects: BTreeMap<u64, Object>,
    kernels: HashMap<u64, Kernel>,
    count: u64,
    slots: usize,
}

impl Code {
    pub fn kernel(&self, address: u64) -> Option<Kernel> {
        self.kernels.get(&address).copied()
    }

    pub fn set_kernel(&mut self, address: u64, kernel: Kernel) {
        self.kernels.insert(address, kernel);
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
        let kernel = Kernel { slot: 0, instead: Some(Instead { descriptor: 1, segments: [0, 0] }) };
        code.set_kernel(0x1040, kernel);
        code.set_kernel(0x2040, kernel);
        assert_eq!(code.remove(Handle(1)).len(), 1);
        assert_eq!((code.kernel(0x1040), code.kernel(0x2040)), (None, Some(kernel)));
        assert!(code.object_at(0x1040).is_none());
        assert_eq!(add(&mut code, 3, 0x1000), 3);
    }
}
