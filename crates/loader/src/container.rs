//! Finding code objects: in a file of their own, in the .hip_fatbin section of a host executable or shared object, and
//! in offload bundles.

use std::path::Path;

use crate::bundle::{self, Bundle};
use crate::bytes::Bytes;
use crate::elf::{ElfHeader, slice};
use crate::types::SectionKind;
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

/// A file that holds code objects.
#[derive(Clone, Debug)]
pub struct Container {
    bytes: Bytes,
    kind: ContainerKind,
    bundles: Vec<Bundle>,
    entries: Vec<Entry>,
}

impl Container {
    pub fn open(path: impl AsRef<Path>) -> Result<Container, LoadError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })?;
        Container::from_bytes(bytes)
    }

    /// Lists what is there. Code objects are not parsed and nothing but bundle heads is decompressed.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Container, LoadError> {
        let bytes = bytes.into();
        if bundle::is_bundle(&bytes) {
            let end = bytes.len();
            return Container::from_bundles(bytes, ContainerKind::Bundle, 0, end);
        }
        let header = ElfHeader::parse(&bytes)?;
        if header.machine == goblin::elf::header::EM_AMDGPU {
            let (_, version) = header.check_code_object()?;
            let (target, ..) = TargetId::from_flags(header.flags, version)?;
            let (id, size) = (target.to_string(), bytes.len() as u64);
            let entry = Entry { index: 0, bundle: 0, id, target: Some(target), size, offset: 0 };
            return Ok(Container { bytes, kind: ContainerKind::CodeObject, bundles: Vec::new(), entries: vec![entry] });
        }
        let sections = header.sections(&bytes)?;
        let section = sections
            .iter()
            .find(|s| s.name == ".hip_fatbin" && s.kind != SectionKind::NoBits)
            .ok_or(LoadError::NoFatBinary { machine: header.machine_name() })?;
        // `sections` has checked that it lies in the file.
        let (start, end) = (section.offset as usize, (section.offset + section.size) as usize);
        Container::from_bundles(bytes, ContainerKind::FatBinary, start, end)
    }

    fn from_bundles(bytes: Bytes, kind: ContainerKind, start: usize, end: usize) -> Result<Container, LoadError> {
        let mut container = Container { bytes, kind, bundles: Vec::new(), entries: Vec::new() };
        let mut at = start;
        let mut budget = (container.bytes.len() as u64).saturating_mul(4).saturating_add(1 << 16);
        loop {
            // The linker pads bundles with zeros to their alignment.
            let rest = slice(&container.bytes, "offload bundle", at as u64, (end - at) as u64)?;
            let Some(padding) = rest.iter().position(|&byte| byte != 0) else { break };
            at += padding;
            if !bundle::is_bundle(&rest[padding..]) {
                let reason = format!("expected a bundle, found the bytes {:02x?}", &rest[padding..][..4.min(end - at)]);
                return Err(LoadError::BadBundle { offset: at as u64, reason });
            }
            let (bundle, entries) = Bundle::at(&container.bytes, at, end, &mut budget)?;
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
            return Err(LoadError::EmptyFatBinary { offset: start as u64 });
        }
        Ok(container)
    }

    pub fn kind(&self) -> ContainerKind {
        self.kind
    }

    /// Everything that is there, host entries included, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The bytes of an entry, decompressed.
    pub fn read(&self, index: usize) -> Result<Bytes, LoadError> {
        let entry = self.entries.get(index).ok_or(LoadError::NoSuchEntry { index, count: self.entries.len() })?;
        match self.bundles.get(entry.bundle) {
            Some(bundle) => Ok(bundle.read(&self.bytes, entry.offset, entry.size)?.into()),
            None => Ok(self.bytes.clone()),
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
            let Some(score) = entry.target.as_ref().and_then(|t| t.suits(target)) else { continue };
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
