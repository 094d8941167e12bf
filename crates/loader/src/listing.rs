//! What the metadata notes of a file say together.
//!
//! An object that was linked from several has the note of each. They make one list, as comgr makes one of them, which the
//! HIP runtime asks: the kernels one behind the other, one version, the formats of printf of all. A kernel that several
//! objects define (an instance of a template, say) is in several notes; the linker keeps the first definition, so the first
//! note tells of it. Notes that contradict each other are an error.

use std::ops::Range;

use hashbrown::HashMap;

use crate::bytes::Bytes;
use crate::notes::Note;
use crate::outline::{self, KernelOutline, Outline};
use crate::record::Raw;
use crate::types::{Segment, SegmentKind};
use crate::{KernelMetadata, LoadError, Metadata};

/// The metadata notes, checked; at least one.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    parts: Vec<Part>,
}

/// One of them.
#[derive(Clone, Debug)]
struct Part {
    /// File range.
    description: Range<usize>,
    outline: Outline,
}

impl Listing {
    /// Of the notes in segments; only where these have none, of those in sections, as comgr does it: tools that write notes
    /// elsewhere leave sections behind. `None` without a metadata note.
    pub fn read(file: &Bytes, segments: &[Segment], notes: &[Note]) -> Result<Option<Listing>, LoadError> {
        let loaded: Vec<_> = segments.iter().filter(|s| s.kind == SegmentKind::Note).collect();
        let in_segment = |note: &Note| {
            let (start, end) = (note.description.start as u64, note.description.end as u64);
            loaded.iter().any(|s| s.offset <= start && end <= s.offset + s.filesz)
        };
        let any = notes.iter().any(|note| note.is_metadata() && in_segment(note));
        let mut parts = Vec::new();
        for note in notes.iter().filter(|note| note.is_metadata() && (!any || in_segment(note))) {
            let description = note.description.clone();
            let bytes = file.get(description.clone()).unwrap_or_default();
            parts.push(Part { outline: outline::outline(bytes, description.start as u64)?, description });
        }
        if parts.len() > 1 {
            agree(file, &mut parts)?;
        }
        Ok((!parts.is_empty()).then_some(Listing { parts }))
    }

    /// File range of the first note's description.
    pub fn first(&self) -> Range<usize> {
        self.parts.first().map_or(0..0, |part| part.description.clone())
    }

    /// The targets that notes name.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| part.outline.target.as_deref())
    }

    /// The kernels of all notes, and where in the file their ranges count from.
    pub fn kernels(&self) -> impl Iterator<Item = (usize, &KernelOutline)> {
        self.parts.iter().flat_map(|part| part.outline.kernels.iter().map(|kernel| (part.description.start, kernel)))
    }

    pub fn metadata(&self, file: &Bytes) -> Option<Metadata> {
        let mut all = self.parts.iter().map(|part| part.metadata(file));
        let mut whole = all.next()?;
        all.for_each(|further| whole.join(further));
        Some(whole)
    }
}

impl Part {
    fn metadata(&self, file: &Bytes) -> Metadata {
        Metadata::from_outline(file, self.description.clone(), &self.outline)
    }

    fn kernel(&self, file: &Bytes, kernel: &KernelOutline) -> KernelMetadata {
        let start = self.description.start;
        KernelMetadata::from_raw(Raw::new(file, start + kernel.map.start..start + kernel.map.end))
    }
}

/// Takes out what an earlier note has told of already, and finds contradictions.
fn agree(file: &Bytes, parts: &mut [Part]) -> Result<(), LoadError> {
    let start = |parts: &[Part], index: usize| parts[index].description.start as u64;
    let disagree = |parts: &[Part], first: usize, second: usize, what: String| {
        Err(LoadError::NotesDisagree { first: start(parts, first), second: start(parts, second), what })
    };
    let mut version: Option<(usize, Vec<u64>)> = None;
    let mut formats: HashMap<String, (usize, String)> = HashMap::new();
    let mut listed: HashMap<Vec<u8>, (usize, Range<usize>)> = HashMap::new();
    for index in 0..parts.len() {
        let fields = parts[index].outline.fields(file, parts[index].description.start);
        if let Some(found) = fields.version {
            match &version {
                Some((first, known)) if *known != found => {
                    return disagree(parts, *first, index, format!("amdhsa.version: {known:?} and {found:?}"));
                }
                Some(_) => {}
                None => version = Some((index, found)),
            }
        }
        for format in fields.printf.into_iter().flatten() {
            // `NUMBER:COUNT:SIZES:TEXT`: the kernel tells the runtime the number.
            let number = format.split(':').next().unwrap_or_default().to_owned();
            match formats.get(&number) {
                Some((first, known)) if *first != index && *known != format => {
                    return disagree(parts, *first, index, format!("amdhsa.printf, the format with number {number}"));
                }
                Some(_) => {}
                None => drop(formats.insert(number, (index, format))),
            }
        }
        let part = &parts[index];
        let mut twice = Vec::new();
        for (number, kernel) in part.outline.kernels.iter().enumerate() {
            let start = part.description.start;
            let symbol = file.get(start + kernel.symbol.start..start + kernel.symbol.end).unwrap_or_default();
            match listed.get(symbol) {
                // Twice in one note is for who looks for the descriptors to find.
                Some((first, _)) if *first == index => {}
                Some((first, map)) => {
                    let (known, found) =
                        (KernelMetadata::from_raw(Raw::new(file, map.clone())), part.kernel(file, kernel));
                    if !takes_the_same(&known, &found) {
                        return disagree(parts, *first, index, format!("the arguments of kernel {}", found.name));
                    }
                    twice.push(number);
                }
                None => {
                    let map = start + kernel.map.start..start + kernel.map.end;
                    listed.insert(symbol.to_owned(), (index, map));
                }
            }
        }
        let mut number = 0;
        let mut twice = twice.into_iter().peekable();
        parts[index].outline.kernels.retain(|_| {
            number += 1;
            twice.next_if_eq(&(number - 1)).is_none()
        });
    }
    Ok(())
}

/// Whether who launches the kernel gives it the same arguments. How many registers it has may differ: two compilations of one
/// definition, and the linker has taken the first.
fn takes_the_same(one: &KernelMetadata, other: &KernelMetadata) -> bool {
    let args = |kernel: &KernelMetadata| -> Vec<_> {
        kernel.explicit_args().map(|arg| (arg.offset, arg.size, arg.value_kind.clone())).collect()
    };
    args(one) == args(other)
}
