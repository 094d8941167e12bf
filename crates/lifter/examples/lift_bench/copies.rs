//! A code object with its code several times over: text, functions and kernel descriptors, and nothing else.

use luthier_loader::{CodeObject, SymbolKind};

const PAGE: u64 = 0x1000;

struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    link: u32,
    /// Of the first symbol that is not local, for a symbol table.
    info: u32,
    entry: u64,
    vaddr: u64,
    bytes: Vec<u8>,
}

/// The file with `copies` of the object's first executable range.
pub fn of(object: &CodeObject, copies: usize) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let ranges = object.code_ranges();
    let range = ranges.first().ok_or("no code")?.clone();
    let text = object.read(range.start, range.end - range.start).ok_or("no bytes")?;
    // Copies lie at the distance that keeps every page offset.
    let stride = (range.end - range.start).next_multiple_of(PAGE);
    let kernels: Vec<_> = object.kernels().iter().filter(|k| range.contains(&k.entry)).collect();
    let data = PAGE;
    let code = (data + (kernels.len() * copies * 64) as u64).next_multiple_of(PAGE) + range.start % PAGE;
    let (mut all_text, mut descriptors) = (Vec::new(), Vec::new());
    let (mut names, mut symbols) = (vec![0u8], vec![0u8; 24]);
    let mut symbol = |name: String, kind: u8, section: u16, vaddr: u64, size: u64| {
        symbols.extend((names.len() as u32).to_le_bytes());
        // Global.
        symbols.extend([1 << 4 | kind, 0]);
        symbols.extend(section.to_le_bytes());
        symbols.extend(vaddr.to_le_bytes());
        symbols.extend(size.to_le_bytes());
        names.extend(name.bytes().chain([0]));
    };
    for copy in 0..copies as u64 {
        all_text.resize((copy * stride) as usize, 0);
        all_text.extend_from_slice(text);
        for f in object.symbols().iter().filter(|s| s.kind == SymbolKind::Func && range.contains(&s.value)) {
            symbol(format!("{}.{copy}", f.name), 2, 2, code + copy * stride + f.value - range.start, f.size);
        }
        for k in &kernels {
            let at = data + descriptors.len() as u64;
            let mut bytes = object.read(k.descriptor_vaddr, 64).ok_or("no descriptor")?.to_vec();
            // Bytes 16 to 23 say how far from the descriptor the kernel starts.
            let entry = code + copy * stride + k.entry - range.start;
            bytes[16..24].copy_from_slice(&entry.wrapping_sub(at).to_le_bytes());
            descriptors.extend(bytes);
            symbol(format!("{}.{copy}.kd", k.name), 1, 1, at, 64);
        }
    }
    let section =
        |name, kind, flags, vaddr, bytes| Section { name, kind, flags, link: 0, info: 0, entry: 0, vaddr, bytes };
    let sections = vec![
        section(".rodata", 1, 2, data, descriptors),
        section(".text", 1, 6, code, all_text),
        Section { link: 4, info: 1, entry: 24, ..section(".symtab", 2, 0, 0, symbols) },
        section(".strtab", 3, 0, 0, names),
    ];
    Ok(file(object, sections))
}

/// Puts header, loaded sections, the rest and the section table together.
fn file(object: &CodeObject, mut sections: Vec<Section>) -> Vec<u8> {
    let mut names = vec![0u8];
    let mut place = |name: &str| {
        names.extend(name.bytes().chain([0]));
        (names.len() - name.len() - 1) as u32
    };
    let mut name_of: Vec<u32> = sections.iter().map(|s| place(s.name)).collect();
    name_of.push(place(".shstrtab"));
    sections.push(Section { name: "", kind: 3, flags: 0, link: 0, info: 0, entry: 0, vaddr: 0, bytes: names });
    // The identification, type, machine and flags are the original's.
    let mut out = object.bytes()[..64].to_vec();
    let loaded = sections.iter().filter(|s| s.vaddr != 0).count();
    let (mut programs, mut table) = (Vec::new(), vec![0u8; 64]);
    out.resize(64 + 56 * loaded, 0);
    for (s, name) in sections.iter().zip(name_of) {
        let at = (out.len() as u64).next_multiple_of(PAGE) + s.vaddr % PAGE;
        out.resize(at as usize, 0);
        out.extend_from_slice(&s.bytes);
        let size = s.bytes.len() as u64;
        if s.vaddr != 0 {
            let flags: u32 = if s.flags & 4 != 0 { 5 } else { 4 };
            programs.extend([1u32.to_le_bytes(), flags.to_le_bytes()].concat());
            [at, s.vaddr, s.vaddr, size, size, PAGE].iter().for_each(|n| programs.extend(n.to_le_bytes()));
        }
        table.extend([name.to_le_bytes(), s.kind.to_le_bytes()].concat());
        [s.flags, s.vaddr, at, size].iter().for_each(|n| table.extend(n.to_le_bytes()));
        table.extend([s.link.to_le_bytes(), s.info.to_le_bytes()].concat());
        [8, s.entry].iter().for_each(|n: &u64| table.extend(n.to_le_bytes()));
    }
    out[64..64 + programs.len()].copy_from_slice(&programs);
    out.resize(out.len().next_multiple_of(8), 0);
    let headers = out.len() as u64;
    out.extend(table);
    let counts = [64u16, 56, loaded as u16, 64, sections.len() as u16 + 1, sections.len() as u16];
    out[24..32].fill(0);
    out[32..40].copy_from_slice(&64u64.to_le_bytes());
    out[40..48].copy_from_slice(&headers.to_le_bytes());
    counts.iter().zip((52..).step_by(2)).for_each(|(n, at)| out[at..at + 2].copy_from_slice(&n.to_le_bytes()));
    out
}
