//! One parsed code object.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::elf::{self, ElfHeader, Loads};
use crate::tables::Tables;
use crate::types::*;
use crate::{FeatureSetting, KernelDescriptor, KernelMetadata, LoadError, Metadata, OriginMap, TargetId};

const NT_AMDGPU_METADATA: u32 = 32;

/// A kernel: its descriptor in read-only data, its code, and what the metadata note says of it.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Without the `.kd` of the descriptor's symbol.
    pub name: String,
    pub descriptor: KernelDescriptor,
    pub descriptor_vaddr: u64,
    /// vaddr of the first instruction.
    pub entry: u64,
    /// In bytes, from the entry to the end of the code's symbol; to the next function or the end of the executable
    /// section or segment where the object has no symbol that says it.
    pub code_size: u64,
    /// `None` when the note does not list the kernel, or there is no note.
    pub metadata: Option<KernelMetadata>,
}

/// A code range with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    pub name: String,
    pub vaddr: u64,
    /// In bytes; 0 where the symbol does not say it.
    pub size: u64,
}

/// One code object: an AMDGPU shared object, v3 to v6.
#[derive(Clone)]
pub struct CodeObject {
    bytes: Arc<[u8]>,
    target: TargetId,
    sramecc: FeatureSetting,
    xnack: FeatureSetting,
    version: u8,
    os_abi: OsAbi,
    flags: u32,
    segments: Vec<Segment>,
    loads: Loads,
    sections: Vec<Section>,
    dynamic: Vec<DynamicEntry>,
    notes: Vec<Note>,
    symbols: Vec<Symbol>,
    names: HashMap<String, usize>,
    relocations: Vec<Relocation>,
    metadata: Option<Metadata>,
    kernels: Vec<Kernel>,
    functions: Vec<Function>,
}

impl fmt::Debug for CodeObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeObject")
            .field("target", &self.target.to_string())
            .field("version", &self.version)
            .field("kernels", &self.kernels.iter().map(|k| &k.name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl CodeObject {
    /// Parses and checks a code object. What lies inside sections is only looked at when asked for.
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<CodeObject, LoadError> {
        let bytes = bytes.into();
        let header = ElfHeader::parse(&bytes)?;
        let (os_abi, version) = header.check_code_object()?;
        let (target, sramecc, xnack) = TargetId::from_flags(header.flags, version)?;
        let segments = header.segments(&bytes)?;
        let loads = Loads::new(&segments);
        let sections = header.sections(&bytes)?;
        let dynamic = elf::dynamic(&bytes, &segments)?;
        let notes = elf::notes(&bytes, &segments)?;
        let tables = Tables { bytes: &bytes, loads: &loads, sections: &sections, dynamic: &dynamic };
        let (symbols, dynamic_symbols) = tables.symbols()?;
        let relocations = tables.relocations(dynamic_symbols)?;
        let metadata = match notes.iter().find(|n| n.name == "AMDGPU" && n.kind == NT_AMDGPU_METADATA) {
            Some(note) => {
                let offset = note.description.start as u64;
                Some(Metadata::decode_at(bytes.get(note.description.clone()).unwrap_or_default(), offset)?)
            }
            None => None,
        };
        if let Some(note) = metadata.as_ref().and_then(|m| m.target.as_deref()) {
            let parsed: TargetId = note.parse()?;
            if parsed.processor != target.processor {
                return Err(LoadError::TargetMismatch { note: note.to_owned(), flags: target.to_string() });
            }
        }
        // Dynamic symbols come first, and the first of a name counts.
        let mut names = HashMap::with_capacity(symbols.len());
        for (index, symbol) in symbols.iter().enumerate() {
            names.entry(symbol.name.clone()).or_insert(index);
        }
        let mut object = CodeObject {
            bytes,
            target,
            sramecc,
            xnack,
            version,
            os_abi,
            flags: header.flags,
            segments,
            loads,
            sections,
            dynamic,
            notes,
            symbols,
            names,
            relocations,
            metadata,
            kernels: Vec::new(),
            functions: Vec::new(),
        };
        object.functions = object.find_functions();
        object.kernels = object.find_kernels()?;
        Ok(object)
    }

    /// The file.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }
    pub fn target(&self) -> &TargetId {
        &self.target
    }
    /// What e_flags say of sramecc, with "any" and "unsupported" told apart.
    pub fn sramecc(&self) -> FeatureSetting {
        self.sramecc
    }
    /// What e_flags say of xnack.
    pub fn xnack(&self) -> FeatureSetting {
        self.xnack
    }
    /// Code object version, 3 to 6.
    pub fn version(&self) -> u8 {
        self.version
    }
    /// The version of a generic processor's definition (v6), 0 for others.
    pub fn generic_version(&self) -> u8 {
        if self.version >= 6 { (self.flags >> 24) as u8 } else { 0 }
    }
    pub fn os_abi(&self) -> OsAbi {
        self.os_abi
    }
    /// e_flags as they are in the file.
    pub fn flags(&self) -> u32 {
        self.flags
    }
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// Number 0 is the null section, as in the file.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|s| s.name == name)
    }
    /// The file bytes of a section; empty for one that has none (.bss).
    pub fn section_bytes(&self, section: &Section) -> &[u8] {
        if matches!(section.kind, SectionKind::NoBits | SectionKind::Null) {
            return &[];
        }
        elf::slice(&self.bytes, "section", section.offset, section.size).unwrap_or_default()
    }
    pub fn dynamic(&self) -> &[DynamicEntry] {
        &self.dynamic
    }
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
    /// The symbols of .dynsym in file order (the null symbol left out), then those of .symtab that .dynsym lacks.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.names.get(name).map(|&index| &self.symbols[index])
    }
    /// In the order of the metadata note, then those that only have a `.kd` symbol.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }
    /// By name, with or without `.kd`.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        let name = name.strip_suffix(".kd").unwrap_or(name);
        self.kernels.iter().find(|k| k.name == name)
    }
    /// Every defined function symbol, kernels included, by address; one name for each address.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }
    /// The dynamic relocations, those the loader has to apply.
    pub fn relocations(&self) -> &[Relocation] {
        &self.relocations
    }
    /// The file offset of the byte at `vaddr`.
    pub fn file_offset(&self, vaddr: u64) -> Option<u64> {
        self.loads.file_offset(vaddr, 1)
    }
    /// `len` bytes at `vaddr` as they are in the file, unrelocated. `None` outside of the loadable segments, and in
    /// their zero-filled part, which has no bytes to borrow.
    pub fn read(&self, vaddr: u64, len: u64) -> Option<&[u8]> {
        let offset = self.loads.file_offset(vaddr, len)?;
        elf::slice(&self.bytes, "segment", offset, len).ok()
    }
    /// Executable address ranges: sections with code, or the executable segments of a file without section headers.
    pub fn code_ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = self
            .sections
            .iter()
            .filter(|s| s.executable() && s.allocated() && s.kind == SectionKind::ProgBits && s.size != 0)
            .filter(|s| self.read(s.vaddr, s.size).is_some())
            .map(|s| s.vaddr..s.vaddr + s.size)
            .collect();
        if ranges.is_empty() {
            let loads = self.segments.iter().filter(|s| s.kind == SegmentKind::Load && s.executable() && s.filesz != 0);
            ranges.extend(loads.map(|s| s.vaddr..s.vaddr + s.filesz));
        }
        ranges.sort_by_key(|range| range.start);
        ranges
    }
    /// For an instrumented object: where its new instructions came from. `None` for any other object.
    pub fn origin_map(&self) -> Result<Option<OriginMap>, LoadError> {
        self.section(OriginMap::SECTION).map(|s| OriginMap::decode(self.section_bytes(s))).transpose()
    }

    fn find_functions(&self) -> Vec<Function> {
        let mut functions: Vec<Function> = self
            .symbols
            .iter()
            .filter(|s| s.kind == SymbolKind::Func && !s.is_undefined())
            .map(|s| Function { name: s.name.clone(), vaddr: s.value, size: s.size })
            .collect();
        // Of aliases the longest stays; the sort is stable, so dynamic symbols win over local ones.
        functions.sort_by_key(|f| (f.vaddr, std::cmp::Reverse(f.size)));
        functions.dedup_by_key(|f| f.vaddr);
        functions
    }

    fn find_kernels(&self) -> Result<Vec<Kernel>, LoadError> {
        let code = self.code_ranges();
        let mut kernels: Vec<Kernel> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        if self.os_abi == OsAbi::AmdHsa {
            for metadata in self.metadata.iter().flat_map(|m| &m.kernels) {
                let symbol = self.symbol(&metadata.symbol).filter(|s| !s.is_undefined()).ok_or_else(|| {
                    LoadError::MissingDescriptor { kernel: metadata.name.clone(), symbol: metadata.symbol.clone() }
                })?;
                if !seen.insert(symbol.name.as_str()) {
                    return Err(self.listed_twice(&metadata.name));
                }
                kernels.push(self.kernel_at(symbol, Some(metadata), &code)?);
            }
        }
        let unlisted = self.symbols.iter().filter(|s| {
            s.name.len() > 3
                && s.name.ends_with(".kd")
                && s.size == 64
                && s.kind == SymbolKind::Object
                && !s.is_undefined()
        });
        for symbol in unlisted {
            if seen.insert(symbol.name.as_str()) {
                kernels.push(self.kernel_at(symbol, None, &code)?);
            }
        }
        Ok(kernels)
    }

    fn listed_twice(&self, kernel: &str) -> LoadError {
        let note = self.notes.iter().find(|n| n.kind == NT_AMDGPU_METADATA);
        let offset = note.map_or(0, |note| note.description.start as u64);
        LoadError::BadMetadata { offset, reason: format!("kernel {kernel} is listed twice") }
    }

    fn kernel_at(
        &self,
        symbol: &Symbol,
        metadata: Option<&KernelMetadata>,
        code: &[Range<u64>],
    ) -> Result<Kernel, LoadError> {
        let name = symbol.name.strip_suffix(".kd").unwrap_or(&symbol.name).to_owned();
        let vaddr = symbol.value;
        let bad = |reason| LoadError::BadDescriptor { kernel: name.clone(), vaddr, reason };
        let descriptor = self
            .read(vaddr, 64)
            .and_then(|bytes| bytes.try_into().ok())
            .map(|bytes: &[u8; 64]| KernelDescriptor::from_bytes(*bytes))
            .ok_or_else(|| bad("lies outside of the file-backed part of every loadable segment"))?;
        let entry = vaddr.wrapping_add_signed(descriptor.kernel_code_entry_byte_offset());
        let segment = self.loads.find(entry).filter(|s| s.executable()).ok_or_else(|| LoadError::BadEntryPoint {
            kernel: name.clone(),
            descriptor: vaddr,
            entry,
        })?;
        let next = self.functions.partition_point(|f| f.vaddr <= entry);
        let code_size = match next.checked_sub(1).map(|i| &self.functions[i]) {
            Some(function) if function.vaddr == entry && function.size != 0 => function.size,
            _ => {
                let after = code.partition_point(|range| range.start <= entry);
                let range = after.checked_sub(1).map(|index| &code[index]).filter(|range| range.contains(&entry));
                let end = range.map_or(segment.range().end, |range| range.end);
                self.functions.get(next).map_or(end, |f| f.vaddr.min(end)) - entry
            }
        };
        if entry.checked_add(code_size).is_none_or(|end| end > segment.range().end) {
            return Err(bad("belongs to code whose symbol passes the end of its segment"));
        }
        let metadata = metadata.cloned();
        Ok(Kernel { name, descriptor, descriptor_vaddr: vaddr, entry, code_size, metadata })
    }
}
