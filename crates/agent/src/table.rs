//! The table through which ROCr calls its own functions: what is in it, and putting something else there.
//!
//! A table says in its version how many bytes it has. What is behind that does not exist, and what a newer runtime has
//! behind the functions that are known here stays as it is.

use std::ptr::NonNull;

use crate::calls::Function;
use crate::functions;

/// The newest versions that the agent knows: of the whole table, ROCm 6.1's to 7.2's, and of each table in it.
const MAJOR: u32 = 3;
const PART_MAJOR: u32 = 2;
/// Bytes of a version, which every table begins with.
const HEADER: usize = 16;
const ENTRY: usize = 8;

/// Which of the tables a function is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Core,
    AmdExt,
    /// Of images, which a runtime may do without.
    Image,
}

impl Part {
    /// In the order of the table.
    pub fn functions(self) -> &'static [Function] {
        match self {
            Part::Core => &functions::CORE,
            Part::AmdExt => &functions::AMD,
            Part::Image => &functions::IMAGE,
        }
    }
    /// How many functions of later versions stand before one, in a table of this many entries. Three times ROCm has put new
    /// ones between the others of AMD's table, under the same major version; all that came later is at the end.
    fn inserted(self, index: usize, entries: usize) -> usize {
        // What stands behind the new ones in 5.2.3's order, how many there are, and entries of the first table with them.
        const INSERTED: [(usize, usize, usize); 3] = [(47, 3, 51), (16, 1, 52), (16, 1, 53)];
        if self != Part::AmdExt {
            return 0;
        }
        INSERTED
            .iter()
            .filter(|(first, _, since)| index >= *first && entries >= *since)
            .map(|(_, count, _)| count)
            .sum()
    }
    /// Of the pointer to the table in the root.
    fn offset(self) -> usize {
        match self {
            Part::Core => HEADER,
            Part::AmdExt => HEADER + ENTRY,
            Part::Image => HEADER + 3 * ENTRY,
        }
    }
}

/// Why a table cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableError {
    Missing { what: &'static str },
    Major { what: &'static str, major: u32, known: u32 },
    Function { name: String },
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TableError::Missing { what } => write!(f, "the runtime's API table has no {what}"),
            TableError::Major { what, major, known } => {
                write!(f, "the runtime's {what} has major version {major}, and this agent knows 1 to {known}")
            }
            TableError::Function { name } => write!(f, "the runtime has no {name}"),
        }
    }
}

/// A runtime's API table.
#[derive(Clone, Copy)]
pub struct Table {
    root: NonNull<u8>,
}

// SAFETY: a table is the runtime's, and lives as long as it; entries are read and written whole.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// # Safety
    /// `root` is what ROCr gives to `OnLoad`: an `HsaApiTable`, and its tables, as large as their versions say.
    ///
    /// # Errors
    /// A version that is not known, or a table that is not there.
    pub unsafe fn new(root: *mut u8) -> Result<Table, TableError> {
        let root = NonNull::new(root).ok_or(TableError::Missing { what: "contents" })?;
        let table = Table { root };
        let (major, size) = table.version(root);
        if !(1..=MAJOR).contains(&major) {
            return Err(TableError::Major { what: "API table", major, known: MAJOR });
        }
        for (part, what) in [(Part::Core, "core table"), (Part::AmdExt, "table of AMD's extensions")] {
            if part.offset() + ENTRY > size {
                return Err(TableError::Missing { what });
            }
            let found = table.part(part).ok_or(TableError::Missing { what })?;
            let (major, size) = table.version(found);
            if !(1..=PART_MAJOR).contains(&major) {
                return Err(TableError::Major { what, major, known: PART_MAJOR });
            }
            if size < HEADER {
                return Err(TableError::Missing { what });
            }
        }
        Ok(table)
    }

    /// Major version, and size in bytes, which stands in the place of the minor one.
    fn version(&self, table: NonNull<u8>) -> (u32, usize) {
        let words = table.cast::<u32>();
        // SAFETY: every table begins with its version.
        unsafe { (words.read(), words.add(1).read() as usize) }
    }

    fn part(&self, part: Part) -> Option<NonNull<u8>> {
        if part.offset() + ENTRY > self.version(self.root).1 {
            return None;
        }
        // SAFETY: within the root.
        NonNull::new(unsafe { self.root.byte_add(part.offset()).cast::<*mut u8>().read() })
    }

    /// Where a function's address is.
    fn entry(&self, part: Part, name: &str) -> Result<NonNull<usize>, TableError> {
        let missing = || TableError::Function { name: name.to_owned() };
        let index = part.functions().iter().position(|f| f.name == name).ok_or_else(missing)?;
        let known = |table: &NonNull<u8>| (1..=PART_MAJOR).contains(&self.version(*table).0);
        let table = self.part(part).filter(known).ok_or_else(missing)?;
        let size = self.version(table).1;
        let at = HEADER + ENTRY * (index + part.inserted(index, size.saturating_sub(HEADER) / ENTRY));
        if at + ENTRY > size {
            return Err(missing());
        }
        // SAFETY: within the table.
        Ok(unsafe { table.byte_add(at).cast() })
    }

    /// The function that is in the table now.
    ///
    /// # Errors
    /// The runtime does not have it.
    pub fn get(&self, part: Part, name: &str) -> Result<usize, TableError> {
        // SAFETY: `entry` gives places within the table.
        let address = unsafe { self.entry(part, name)?.read() };
        if address == 0 { Err(TableError::Function { name: name.to_owned() }) } else { Ok(address) }
    }

    /// Puts another function there; gives the one that was.
    ///
    /// # Errors
    /// The runtime does not have it.
    pub fn replace(&self, part: Part, name: &str, address: usize) -> Result<usize, TableError> {
        let before = self.get(part, name)?;
        // SAFETY: as above.
        unsafe { self.entry(part, name)?.write(address) };
        Ok(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A runtime's tables with `core` entries in the core table, which says that it has `claimed`.
    struct Made {
        root: Vec<u64>,
        core: Vec<u64>,
        amd: Vec<u64>,
    }

    fn version(major: u32, size: usize) -> [u64; 2] {
        [u64::from(major) | (size as u64) << 32, 0]
    }

    impl Made {
        fn new(major: u32, core: usize, amd: usize) -> Made {
            let table = |entries: usize| {
                let mut words = version(major, HEADER + ENTRY * entries).to_vec();
                words.extend((0..entries as u64).map(|i| 0x1000 + i));
                words
            };
            let mut made = Made { root: version(1, 48).to_vec(), core: table(core), amd: table(amd) };
            made.root.extend([made.core.as_mut_ptr() as u64, made.amd.as_mut_ptr() as u64, 0, 0]);
            made
        }
        fn table(&mut self) -> Result<Table, TableError> {
            // SAFETY: the tables are as large as they say.
            unsafe { Table::new(self.root.as_mut_ptr().cast()) }
        }
    }

    #[test]
    fn a_longer_table_keeps_what_is_new_in_it() {
        let mut made = Made::new(1, functions::CORE.len() + 40, functions::AMD.len());
        let table = made.table().unwrap();
        for (part, all) in [(Part::Core, &functions::CORE[..]), (Part::AmdExt, &functions::AMD[..])] {
            for (i, name) in all.iter().map(|f| f.name).enumerate() {
                assert_eq!(table.replace(part, name, 7), Ok(0x1000 + i), "{name}");
            }
        }
        assert!(made.core[2..][..functions::CORE.len()].iter().all(|e| *e == 7));
        let new = &made.core[2 + functions::CORE.len()..];
        assert!(new.iter().enumerate().all(|(i, e)| *e == (0x1000 + functions::CORE.len() + i) as u64));
    }

    #[test]
    fn a_shorter_table_is_not_read_beyond_its_end() {
        let mut made = Made::new(1, 10, 3);
        let table = made.table().unwrap();
        assert!(table.get(Part::Core, functions::CORE[9].name).is_ok());
        let name = functions::CORE[10].name.to_owned();
        assert_eq!(table.get(Part::Core, &name), Err(TableError::Function { name }));
        assert!(table.replace(Part::AmdExt, functions::AMD[3].name, 7).is_err());
    }

    /// Places from 0, as hsa_api_trace.h of these versions has them.
    #[test]
    fn functions_are_found_where_each_version_of_the_header_has_them() {
        let places = |major: u32, entries: usize| {
            let mut made = Made::new(major, 125, entries);
            made.root[0] = version(if major == 1 { 1 } else { 3 }, 48)[0];
            let table = made.table().unwrap();
            let place = |name| table.get(Part::AmdExt, name).map(|at| at - 0x1000).unwrap();
            ["hsa_amd_memory_async_copy", "hsa_amd_agent_memory_pool_get_info", "hsa_amd_queue_cu_get_mask"].map(place)
        };
        assert_eq!(places(1, 48), [15, 16, 47]);
        assert_eq!(places(1, 51), [15, 16, 50]);
        assert_eq!(places(1, 52), [15, 17, 51]);
        assert_eq!(places(1, 53), [15, 18, 52]);
        assert_eq!(places(2, 68), [15, 18, 52]);
        assert_eq!(places(2, 75), [15, 18, 52]);
    }

    #[test]
    fn another_major_version_is_refused_by_its_number() {
        let refused = Made::new(3, 200, 80).table().err().map(|e| e.to_string());
        assert_eq!(
            refused.as_deref(),
            Some("the runtime's core table has major version 3, and this agent knows 1 to 2")
        );
        let mut made = Made::new(1, 200, 80);
        made.root[0] = version(4, 48)[0];
        assert_eq!(made.table().err(), Some(TableError::Major { what: "API table", major: 4, known: 3 }));
        let mut made = Made::new(1, 200, 80);
        made.root[0] = version(1, 24)[0];
        assert_eq!(made.table().err(), Some(TableError::Missing { what: "table of AMD's extensions" }));
    }
}
