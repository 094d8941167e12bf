//! The constants of all templates, each once, as they are to stand in the object.

use std::collections::HashMap;

use crate::RelocKind;
use crate::layout::chunk::Place;
use crate::template::Blob;
use crate::template::prepared::Prepared;

/// The bytes, and the names that templates have for places in them.
#[derive(Debug, Default)]
pub struct Constants {
    pub bytes: Vec<u8>,
    pub places: HashMap<String, Place>,
}

impl Constants {
    pub fn of(templates: &[Prepared]) -> Constants {
        let mut all = Constants::default();
        let mut offsets: HashMap<&str, u64> = HashMap::new();
        let mut taken: Vec<(u64, &Blob)> = Vec::new();
        for blob in templates.iter().flat_map(|template| &template.data) {
            if offsets.contains_key(blob.name.as_str()) {
                continue;
            }
            let start = (all.bytes.len() as u64).next_multiple_of(blob.align.max(1));
            all.bytes.resize(start as usize, 0);
            all.bytes.extend_from_slice(&blob.bytes);
            all.places.insert(blob.name.clone(), Place::Constant { offset: start });
            offsets.insert(&blob.name, start);
            taken.push((start, blob));
        }
        for (start, blob) in taken {
            for reloc in &blob.relocs {
                let Some(to) = offsets.get(reloc.to.as_str()) else { continue };
                let (at, size) = (start + reloc.at, if reloc.kind == RelocKind::Rel64 { 8 } else { 4 });
                let distance = to.wrapping_add_signed(reloc.addend).wrapping_sub(at);
                let bytes = all.bytes.get_mut(at as usize..at as usize + size);
                bytes.into_iter().for_each(|bytes| bytes.copy_from_slice(&distance.to_le_bytes()[..size]));
            }
        }
        all
    }
}
