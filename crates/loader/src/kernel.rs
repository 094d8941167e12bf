//! The kernels and functions of a code object: symbols, descriptors and metadata brought together.

use std::ops::Range;
use std::sync::OnceLock;

use hashbrown::{HashMap, HashSet};

use crate::listing::Listing;
use crate::outline::KernelOutline;
use crate::record::Raw;
use crate::symbols::Datum;
use crate::types::*;
use crate::{CodeObject, KernelCode, KernelDescriptor, KernelMetadata, LoadError};

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
    note: Option<Raw>,
    metadata: OnceLock<Box<KernelMetadata>>,
}

impl Kernel {
    /// `None` when the note does not list the kernel, or there is no note.
    pub fn metadata(&self) -> Option<&KernelMetadata> {
        let note = self.note.as_ref()?;
        Some(self.metadata.get_or_init(|| Box::new(KernelMetadata::from_raw(note.clone()))))
    }
}

/// A kernel of a Mesa3D object: its code lies behind a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MesaKernel {
    pub name: String,
    /// Of the header.
    pub vaddr: u64,
    pub header: KernelCode,
    /// vaddr of the first instruction.
    pub entry: u64,
    /// In bytes, from the entry to the end of the symbol.
    pub code_size: u64,
}

/// A code range with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    pub name: String,
    pub vaddr: u64,
    /// In bytes; 0 where the symbol does not say it.
    pub size: u64,
}

/// A name that was checked to be UTF-8.
fn text(object: &CodeObject, name: &Range<usize>) -> String {
    let name = object.bytes().get(name.clone()).unwrap_or_default();
    std::str::from_utf8(name).map(str::to_owned).unwrap_or_default()
}

pub(crate) fn functions(object: &CodeObject) -> Vec<Function> {
    let code = object.code_symbols().iter();
    let mut functions: Vec<Function> =
        code.map(|code| Function { name: text(object, &code.name), vaddr: code.vaddr, size: code.size }).collect();
    if !object.mesa_kernels().is_empty() {
        let kernels = object.mesa_kernels().iter();
        functions.extend(kernels.map(|k| Function { name: k.name.clone(), vaddr: k.entry, size: k.code_size }));
        functions.sort_by_key(|f| f.vaddr);
        functions.dedup_by_key(|f| f.vaddr);
    }
    functions
}

/// The kernels that the notes list, in their order, then those that only have a descriptor.
pub(crate) fn find(object: &CodeObject, data: &[Datum]) -> Result<Vec<Kernel>, LoadError> {
    let bytes = object.bytes();
    let name_of = |datum: &Datum| bytes.get(datum.name.clone()).unwrap_or_default();
    let listed: Vec<(usize, &KernelOutline)> = object.listing().into_iter().flat_map(Listing::kernels).collect();
    let finder = Finder { object, code: object.code_ranges() };
    let mut kernels = Vec::with_capacity(listed.len());
    let mut seen = vec![false; data.len()];
    if !listed.is_empty() {
        // The first symbol of a name counts; data symbols with the names of descriptors are looked at before others.
        let mut by_name: HashMap<&[u8], usize> = HashMap::with_capacity(data.len().min(2 * listed.len()));
        for (index, datum) in data.iter().enumerate().filter(|(_, datum)| name_of(datum).ends_with(b".kd")) {
            by_name.entry(name_of(datum)).or_insert(index);
        }
        let mut all: Option<HashMap<&[u8], usize>> = None;
        for (start, kernel) in listed {
            let string = |range: &Range<usize>| start + range.start..start + range.end;
            let symbol = bytes.get(string(&kernel.symbol)).unwrap_or_default();
            let found = by_name.get(symbol).copied().or_else(|| {
                let index = |(index, datum)| (name_of(datum), index);
                let all = all.get_or_insert_with(|| data.iter().enumerate().rev().map(index).collect());
                all.get(symbol).copied()
            });
            let Some(index) = found.filter(|&index| data[index].defined) else {
                let (kernel, symbol) = (text(object, &string(&kernel.name)), text(object, &string(&kernel.symbol)));
                return Err(LoadError::MissingDescriptor { kernel, symbol });
            };
            if std::mem::replace(&mut seen[index], true) {
                let (offset, kernel) = ((start + kernel.map.start) as u64, text(object, &string(&kernel.name)));
                return Err(LoadError::KernelTwice { offset, kernel });
            }
            let range = start + kernel.map.start..start + kernel.map.end;
            kernels.push(finder.kernel(&data[index], Some(Raw::new(bytes, range)))?);
        }
    }
    let listed_too = data.iter().zip(&seen).filter(|(_, seen)| **seen);
    let mut names: HashSet<&[u8]> = listed_too.map(|(datum, _)| name_of(datum)).collect();
    for datum in data.iter().filter(|d| d.size == 64 && d.kind == SymbolKind::Object && d.defined) {
        let name = name_of(datum);
        if name.len() > 3 && name.ends_with(b".kd") && names.insert(name) {
            kernels.push(finder.kernel(datum, None)?);
        }
    }
    Ok(kernels)
}

struct Finder<'a> {
    object: &'a CodeObject,
    code: Vec<Range<u64>>,
}

impl Finder<'_> {
    fn kernel(&self, datum: &Datum, note: Option<Raw>) -> Result<Kernel, LoadError> {
        let object = self.object;
        let mut name = text(object, &datum.name);
        if name.ends_with(".kd") {
            name.truncate(name.len() - 3);
        }
        let vaddr = datum.vaddr;
        let bad = |reason| LoadError::BadDescriptor { kernel: name.clone(), vaddr, reason };
        let descriptor = object
            .read(vaddr, 64)
            .and_then(|bytes| bytes.try_into().ok())
            .map(|bytes: &[u8; 64]| KernelDescriptor::from_bytes(*bytes))
            .ok_or_else(|| bad("lies outside of the file-backed part of every loadable segment"))?;
        let entry = vaddr.wrapping_add_signed(descriptor.kernel_code_entry_byte_offset());
        let segment = object
            .loads()
            .find(entry)
            .filter(|s| s.executable())
            .ok_or_else(|| LoadError::BadEntryPoint { kernel: name.clone(), descriptor: vaddr, entry })?;
        let functions = object.code_symbols();
        let next = functions.partition_point(|f| f.vaddr <= entry);
        let code_size = match next.checked_sub(1).map(|i| &functions[i]) {
            Some(function) if function.vaddr == entry && function.size != 0 => function.size,
            _ => {
                let after = self.code.partition_point(|range| range.start <= entry);
                let range = after.checked_sub(1).map(|index| &self.code[index]).filter(|range| range.contains(&entry));
                let end = range.map_or(segment.range().end, |range| range.end);
                functions.get(next).map_or(end, |f| f.vaddr.min(end)) - entry
            }
        };
        if entry.checked_add(code_size).is_none_or(|end| end > segment.range().end) {
            return Err(bad("belongs to code whose symbol passes the end of its segment"));
        }
        Ok(Kernel { name, descriptor, descriptor_vaddr: vaddr, entry, code_size, note, metadata: OnceLock::new() })
    }
}

/// The kernels of a Mesa3D object.
pub(crate) fn find_mesa(object: &CodeObject, data: &[Datum]) -> Result<Vec<MesaKernel>, LoadError> {
    let mut kernels: Vec<MesaKernel> = Vec::new();
    let mut seen = HashSet::new();
    for datum in data.iter().filter(|d| d.kind == SymbolKind::AmdgpuHsaKernel && d.defined) {
        // .symtab repeats what .dynsym has.
        if !seen.insert(datum.vaddr) {
            continue;
        }
        let (name, vaddr) = (text(object, &datum.name), datum.vaddr);
        let header = object.read(vaddr, KernelCode::SIZE as u64).and_then(KernelCode::from_bytes).ok_or_else(|| {
            LoadError::BadDescriptor {
                kernel: name.clone(),
                vaddr,
                reason: "(amd_kernel_code_t) lies outside of the file-backed part of every loadable segment",
            }
        })?;
        let entry = vaddr.wrapping_add_signed(header.kernel_code_entry_byte_offset());
        let end = vaddr.wrapping_add(datum.size);
        if object.loads().find(entry).is_none_or(|s| !s.executable() || end < entry || end > s.range().end) {
            return Err(LoadError::BadEntryPoint { kernel: name, descriptor: vaddr, entry });
        }
        kernels.push(MesaKernel { name, vaddr, header, entry, code_size: end - entry });
    }
    Ok(kernels)
}
