//! Finding code objects: in a file of their own, in the .hip_fatbin section of a host executable or shared object, and
//! in offload bundles.

use std::io::Read;
use std::path::Path;

use crate::bundle::{self, Bundle};
use crate::bytes::Bytes;
use crate::elf::{ElfHeader, SectionRecord};
use crate::source::Source;
use crate::target_id::generic_version;
use crate::{CodeObject, LoadError, TargetId};

/// What a file turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContainerKind {
    /// An AMDGPU ELF file.
    CodeObject,
    /// A host binary with device code in .hip_fatbin.
    FatBinary,
    /// One or more offload bundles, plain or compressed.
    Bundle,
}

/// One thing in a container; not read yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its number in [`Container::entries`].
    pub index: usize,
    /// Which bundle of the file it is in, from 0. A bundle is one translation unit for several targets.
    pub bundle: usize,
    /// As written: `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`. Of a plain code object, its target id.
    pub id: String,
    /// `None` for the host's entry, and for ids that are no AMDGPU ones.
    pub target: Option<TargetId>,
    /// In bytes. Host entries are empty as a rule.
    pub size: u64,
    offset: u64,
}

impl Entry {
    /// In the plain bundle, or in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

/// A file that holds code objects.
#[derive(Clone, Debug)]
pub struct Container {
    source: Source,
    kind: ContainerKind,
    bundles: Vec<Bundle>,
    entries: Vec<Entry>,
}

impl Container {
    /// Reads what is needed to list the entries: headers and the heads of bundles. The file stays open; an entry is read
    /// when it is asked for, and nothing else of the file ever is.
    pub fn open(path: impl AsRef<Path>) -> Result<Container, LoadError> {
        Container::from_source(Source::open(path.as_ref())?)
    }

    /// A part of a file, as [`Container::open`] treats a whole one.
    pub fn open_range(path: impl AsRef<Path>, offset: u64, size: u64) -> Result<Container, LoadError> {
        Container::from_source(Source::open(path.as_ref())?.part("file range", offset, size)?)
    }

    /// `size` bytes at `address` of a running process, `None` for this one, read now: a code object or bundle that lies
    /// in memory. Reading what is not mapped is an [`LoadError::Io`].
    pub fn from_memory(process: Option<u32>, address: u64, size: u64) -> Result<Container, LoadError> {
        let path = match process {
            Some(id) => format!("/proc/{id}/mem"),
            None => "/proc/self/mem".to_owned(),
        };
        let limit = 1 << 40;
        if size > limit {
            return Err(LoadError::MemoryRange { address, size, limit });
        }
        // Memory may be gone or changed later: so it is all read now, piece by piece, because nothing says how much of
        // the range is there.
        let source = Source::range_of(Path::new(&path), address, size)?;
        let mut bytes = Vec::new();
        let read = source.reader(0, size).read_to_end(&mut bytes);
        read.map_err(|source| LoadError::Io { path: path.into(), source })?;
        Container::from_bytes(bytes)
    }

    /// Lists what is there. Code objects are not parsed and nothing but bundle heads is decompressed.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Container, LoadError> {
        Container::from_source(Source::Memory(bytes.into()))
    }

    fn from_source(source: Source) -> Result<Container, LoadError> {
        let size = source.size();
        let head = source.slice("file", 0, size.min(64))?.into_owned();
        if bundle::is_bundle(&head) {
            return Container::from_bundles(source, ContainerKind::Bundle, 0, size);
        }
        let first_section = |offset| Ok(source.slice("first section header", offset, 64)?.into_owned());
        let header = ElfHeader::parse_with(&head, size, first_section)?;
        if header.machine == goblin::elf::header::EM_AMDGPU {
            let (_, version) = header.check_code_object()?;
            let (target, ..) = TargetId::from_flags(header.flags, version)?;
            let entry = Entry { index: 0, bundle: 0, id: target.to_string(), target: Some(target), size, offset: 0 };
            return Ok(Container {
                source,
                kind: ContainerKind::CodeObject,
                bundles: Vec::new(),
                entries: vec![entry],
            });
        }
        let (offset, size) =
            fat_section(&source, &header)?.ok_or(LoadError::NoFatBinary { machine: header.machine_name() })?;
        Container::from_bundles(source, ContainerKind::FatBinary, offset, offset + size)
    }

    fn from_bundles(source: Source, kind: ContainerKind, start: u64, end: u64) -> Result<Container, LoadError> {
        let mut container = Container { source, kind, bundles: Vec::new(), entries: Vec::new() };
        let mut at = start;
        let mut budget = (end - start).saturating_mul(4).saturating_add(1 << 16);
        loop {
            // The linker pads bundles with zeros to their alignment.
            let failed = |error| LoadError::BadBundle { offset: at, reason: format!("cannot be read: {error}") };
            let Some(next) = container.source.reader(at, end).skip_zeros().map_err(failed)? else { break };
            at = next;
            let head = container.source.slice("offload bundle", at, (end - at).min(24))?;
            if !bundle::is_bundle(&head) {
                let reason = format!("expected a bundle, found the bytes {:02x?}", &head[..head.len().min(4)]);
                return Err(LoadError::BadBundle { offset: at, reason });
            }
            let (bundle, entries) = Bundle::at(&container.source, at, end, &mut budget)?;
            at = bundle.end;
            for entry in entries {
                container.entries.push(Entry {
                    index: container.entries.len(),
                    bundle: container.bundles.len(),
                    target: if entry.id.starts_with("host") { None } else { entry.id.parse().ok() },
                    id: entry.id,
                    size: entry.size,
                    offset: entry.offset,
                });
            }
            container.bundles.push(bundle);
        }
        if container.bundles.is_empty() {
            return Err(LoadError::EmptyFatBinary { offset: start });
        }
        Ok(container)
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn bundles(&self) -> &[Bundle] {
        &self.bundles
    }

    pub fn kind(&self) -> ContainerKind {
        self.kind
    }

    /// Everything that is there, host entries included, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The bytes of an entry, decompressed. Of a file only they are read, or of a compressed bundle what lies before
    /// them.
    pub fn read(&self, index: usize) -> Result<Bytes, LoadError> {
        let entry = self.entries.get(index).ok_or(LoadError::NoSuchEntry { index, count: self.entries.len() })?;
        self.read_start(entry, entry.size)
    }

    fn read_start(&self, entry: &Entry, size: u64) -> Result<Bytes, LoadError> {
        match self.bundles.get(entry.bundle) {
            Some(bundle) => bundle.read(&self.source, entry.offset, size),
            None => self.source.read("code object", 0, size),
        }
    }

    /// Whether code for a generic processor is of a version that its members run. Others are, and what cannot be told
    /// is decided when the entry is opened.
    fn generic_version_serves(&self, entry: &Entry, target: &TargetId) -> bool {
        if !target.is_generic() || entry.size < 64 {
            return true;
        }
        let Ok(head) = self.read_start(entry, 64) else { return true };
        let Ok(header) = ElfHeader::parse_with(&head, 64, |_| Ok(vec![0; 64])) else { return true };
        match header.check_code_object() {
            Ok((_, version)) => target.serves_members(generic_version(header.flags, version)),
            Err(_) => true,
        }
    }

    /// The code object of an entry.
    pub fn code_object(&self, index: usize) -> Result<CodeObject, LoadError> {
        CodeObject::parse(self.read(index)?)
    }

    /// The entries to load on a device, or for a wish like `gfx90a`: of each bundle the one that suits it best, by the
    /// rules of [`TargetId::suits`]. At least one.
    pub fn select(&self, target: &TargetId) -> Result<Vec<&Entry>, LoadError> {
        let mut best: Vec<(u32, &Entry)> = Vec::new();
        for entry in self.device_entries() {
            let Some(code) = entry.target.as_ref() else { continue };
            let Some(score) = code.suits(target).filter(|_| self.generic_version_serves(entry, code)) else { continue };
            match best.last_mut().filter(|(_, last)| last.bundle == entry.bundle) {
                Some(last) if last.0 >= score => {}
                Some(last) => *last = (score, entry),
                None => best.push((score, entry)),
            }
        }
        if best.is_empty() {
            let mut available: Vec<String> = self.targets().iter().map(TargetId::to_string).collect();
            if available.is_empty() {
                available.push("none at all".to_owned());
            }
            return Err(LoadError::NoMatchingEntry { wanted: target.to_string(), available });
        }
        Ok(best.into_iter().map(|(_, entry)| entry).collect())
    }

    /// The different targets that there is code for, in the order of the file.
    pub fn targets(&self) -> Vec<TargetId> {
        let mut targets: Vec<TargetId> = Vec::new();
        for target in self.device_entries().filter_map(|entry| entry.target.as_ref()) {
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
        targets
    }

    fn device_entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.target.is_some() && entry.size != 0)
    }
}

/// Offset and size of .hip_fatbin, found without reading other sections.
fn fat_section(source: &Source, header: &ElfHeader) -> Result<Option<(u64, u64)>, LoadError> {
    const NAME: &[u8] = b".hip_fatbin\0";
    let record = |index: u64| -> Result<SectionRecord, LoadError> {
        let offset = header.shoff.saturating_add(index.saturating_mul(64));
        SectionRecord::read(&source.slice("section headers", offset, 64)?, offset)
    };
    if header.shnum == 0 || u64::from(header.shstrndx) >= header.shnum {
        return Ok(None);
    }
    let names = record(header.shstrndx.into())?;
    for index in 0..header.shnum {
        let section = record(index)?;
        if !section.has_bytes || u64::from(section.name) + NAME.len() as u64 > names.size {
            continue;
        }
        let Some(at) = names.offset.checked_add(section.name.into()) else { continue };
        if *source.slice("section names", at, NAME.len() as u64)? == *NAME {
            let (offset, size) = (section.offset, section.size);
            if offset.checked_add(size).is_none_or(|end| end > source.size()) {
                let index = index as usize;
                return Err(LoadError::SectionOutside {
                    index,
                    name: ".hip_fatbin".to_owned(),
                    offset,
                    size,
                    file_size: source.size(),
                });
            }
            return Ok(Some((offset, size)));
        }
    }
    Ok(None)
}
