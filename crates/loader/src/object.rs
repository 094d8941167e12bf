//! One parsed code object.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use crate::bytes::Bytes;
use crate::elf::{self, ElfHeader, Loads};
use crate::kernel::{self, Function, Kernel, MesaKernel};
use crate::listing::Listing;
use crate::notes::{self, Note};
use crate::symbols::{Code, Defined, SymbolIndex, SymbolTables};
use crate::tables::Tables;
use crate::target_id::generic_version;
use crate::types::*;
use crate::{FeatureSetting, HookMap, KernelDescriptor, LoadError, Metadata, OriginMap, PalMetadata, TargetId};

/// One code object: an AMDGPU shared object, v3 to v6.
#[derive(Clone)]
pub struct CodeObject {
    bytes: Bytes,
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
    relocations: Vec<Relocation>,
    listing: Option<Listing>,
    kernels: Vec<Kernel>,
    mesa_kernels: Vec<MesaKernel>,
    tables: SymbolTables,
    code: Vec<Code>,
    // Built when a caller asks for them; opening the object has checked what they are built of.
    symbols: OnceLock<Vec<Symbol>>,
    index: OnceLock<SymbolIndex>,
    functions: OnceLock<Vec<Function>>,
    metadata: OnceLock<Option<Metadata>>,
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
    /// Reads a file that is a code object. For files that hold code objects there is [`crate::Container`].
    pub fn open(path: impl AsRef<Path>) -> Result<CodeObject, LoadError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })?;
        CodeObject::parse(bytes)
    }

    /// Parses and checks a code object. What lies inside sections is only looked at when asked for; symbols and metadata
    /// are checked, and built when asked for.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<CodeObject, LoadError> {
        let bytes = bytes.into();
        let header = ElfHeader::parse(&bytes)?;
        let (os_abi, version) = header.check_code_object()?;
        let (target, sramecc, xnack) = TargetId::from_flags(header.flags, version)?;
        let segments = header.segments(&bytes)?;
        let loads = Loads::new(&segments);
        let sections = header.sections(&bytes)?;
        let dynamic = elf::dynamic(&bytes, &segments)?;
        let notes = notes::notes(&bytes, &segments, &sections)?;
        let parts = Tables { bytes: &bytes, loads: &loads, sections: &sections, dynamic: &dynamic };
        let tables = parts.symbols()?;
        let Defined { data, code } = tables.check(&bytes)?;
        let relocations = parts.relocations(tables.dynamic_count())?;
        let listing = Listing::read(&bytes, &segments, &notes)?;
        for note in listing.iter().flat_map(Listing::targets) {
            let parsed: TargetId = note.parse()?;
            if parsed.processor != target.processor {
                return Err(LoadError::TargetMismatch { note: note.to_owned(), flags: target.to_string() });
            }
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
            relocations,
            listing,
            kernels: Vec::new(),
            mesa_kernels: Vec::new(),
            tables,
            code,
            symbols: OnceLock::new(),
            index: OnceLock::new(),
            functions: OnceLock::new(),
            metadata: OnceLock::new(),
        };
        match object.os_abi {
            OsAbi::AmdHsa => object.kernels = kernel::find(&object, &data)?,
            OsAbi::Mesa3d => object.mesa_kernels = kernel::find_mesa(&object, &data)?,
            OsAbi::AmdPal => {}
        }
        Ok(object)
    }

    /// The file.
    pub fn bytes(&self) -> &Bytes {
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
        generic_version(self.flags, self.version)
    }
    /// Whether the HSA runtime loads it on an agent with this target id; see [`TargetId::runs_on`]. Code for a generic
    /// processor must also have a version that its members run.
    pub fn runs_on(&self, agent: &TargetId) -> bool {
        self.target.runs_on(agent) && (!self.target.is_generic() || self.target.serves_members(self.generic_version()))
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
        elf::section_bytes(&self.bytes, section)
    }
    pub fn dynamic(&self) -> &[DynamicEntry] {
        &self.dynamic
    }
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
    /// The symbols of .dynsym in file order (the null symbol left out), then those of .symtab that .dynsym lacks.
    pub fn symbols(&self) -> &[Symbol] {
        self.symbols.get_or_init(|| self.tables.build(&self.bytes, self.sections.len()))
    }
    /// The symbol of that name; of several, the first in the order of [`CodeObject::symbols`].
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        let symbols = self.symbols();
        let index = self.index.get_or_init(|| SymbolIndex::new(symbols));
        index.find(symbols, name).map(|index| &symbols[index])
    }
    /// Of an AMDHSA object, in the order of the metadata notes, then those that only have a `.kd` symbol. Others have no
    /// kernel descriptors: see [`CodeObject::pal_metadata`] and [`CodeObject::mesa_kernels`].
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
        self.functions.get_or_init(|| kernel::functions(self))
    }
    /// The kernels of a Mesa3D object, in the order of the symbols.
    pub fn mesa_kernels(&self) -> &[MesaKernel] {
        &self.mesa_kernels
    }
    /// The metadata note; of an object that was linked from several, the notes of all as one. Of an AMDPAL object it has no
    /// kernels; see [`CodeObject::pal_metadata`].
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.get_or_init(|| self.listing.as_ref()?.metadata(&self.bytes)).as_ref()
    }
    /// What the metadata note of an AMDPAL object says of its pipelines. `None` without one.
    pub fn pal_metadata(&self) -> Result<Option<PalMetadata>, LoadError> {
        match &self.listing {
            Some(listing) if self.os_abi == OsAbi::AmdPal => {
                let range = listing.first();
                let description = self.bytes.get(range.clone()).unwrap_or_default();
                PalMetadata::decode_at(description, range.start as u64).map(Some)
            }
            _ => Ok(None),
        }
    }
    /// The target that the instruction set note names: AMDPAL and Mesa3D objects have one.
    pub fn isa_note(&self) -> Option<Result<TargetId, LoadError>> {
        self.notes.iter().find_map(|note| note.content(&self.bytes).target())
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
    /// A copy in which a kernel has another descriptor, checked like any other file; every other byte is the same. `None`
    /// when there is no such kernel.
    pub fn with_descriptor(
        &self,
        kernel: &str,
        descriptor: &KernelDescriptor,
    ) -> Option<Result<CodeObject, LoadError>> {
        let offset = self.loads.file_offset(self.kernel(kernel)?.descriptor_vaddr, 64)? as usize;
        let mut bytes = self.bytes.to_vec();
        bytes.get_mut(offset..offset + 64)?.copy_from_slice(descriptor.as_bytes());
        Some(CodeObject::parse(bytes))
    }
    /// Executable address ranges: sections with code, or the executable segments of a file without section headers.
    pub fn code_ranges(&self) -> Vec<Range<u64>> {
        elf::code_ranges(&self.segments, &self.sections, |s| self.read(s.vaddr, s.size).is_some())
    }
    /// For an instrumented object: where its new instructions came from. `None` for any other object.
    pub fn origin_map(&self) -> Result<Option<OriginMap>, LoadError> {
        self.section(OriginMap::SECTION).map(|s| OriginMap::decode(self.section_bytes(s))).transpose()
    }
    /// For an instrumented object: the hooks' lines and the tools' variables. `None` for any other object.
    pub fn hook_map(&self) -> Result<Option<HookMap>, LoadError> {
        self.section(HookMap::SECTION).map(|s| HookMap::decode(self.section_bytes(s))).transpose()
    }

    /// Whether a dynamic symbol may get its definition from another object.
    pub(crate) fn looks_elsewhere(&self) -> bool {
        self.tables.looks_elsewhere(&self.bytes)
    }
    /// Whether other objects can see dynamic symbols only.
    pub(crate) fn has_dynamic_symbols(&self) -> bool {
        self.tables.dynamic_count() != 0
    }
    pub(crate) fn listing(&self) -> Option<&Listing> {
        self.listing.as_ref()
    }
    pub(crate) fn loads(&self) -> &Loads {
        &self.loads
    }
    /// Function symbols by address, one for each address.
    pub(crate) fn code_symbols(&self) -> &[Code] {
        &self.code
    }
}
