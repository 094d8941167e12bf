//! The note section, with the metadata in it replaced. An object that was linked from several has a metadata note of each,
//! which become one.

use luthier_loader::{CodeObject, Metadata};

const NT_AMDGPU_METADATA: u32 = 32;

/// A fresh note section: the object's notes in their order, the metadata note with the new description.
pub fn section(object: &CodeObject, metadata: &Metadata) -> Vec<u8> {
    let mut out = Vec::new();
    let mut metadata = Some(metadata);
    for note in object.notes() {
        let replaced = match (note.name == "AMDGPU" && note.kind == NT_AMDGPU_METADATA, metadata) {
            (true, None) => continue,
            (true, Some(all)) => {
                metadata = None;
                Some(all.encode())
            }
            (false, _) => None,
        };
        let old = object.bytes().get(note.description.clone()).unwrap_or_default();
        let description = replaced.as_deref().unwrap_or(old);
        out.extend_from_slice(&(note.name.len() as u32 + 1).to_le_bytes());
        out.extend_from_slice(&(description.len() as u32).to_le_bytes());
        out.extend_from_slice(&note.kind.to_le_bytes());
        out.extend_from_slice(note.name.as_bytes());
        out.push(0);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend_from_slice(description);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    out
}

#[cfg(test)]
mod tests {
    use luthier_loader::CodeObject;

    #[luthier_needs::needs(corpus)]
    #[test]
    fn an_unchanged_note_section_comes_out_the_same() {
        let corpus = crate::testing::corpus();
        let bytes = std::fs::read(corpus.join("clang/gfx90a/hip_gfx90a_v5.hsaco")).unwrap();
        let object = CodeObject::parse(bytes).unwrap();
        let old = object.section_bytes(object.section(".note").unwrap()).to_vec();
        assert_eq!(super::section(&object, object.metadata().unwrap()), old);
    }
}
