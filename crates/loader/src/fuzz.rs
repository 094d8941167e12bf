//! Damaged input made of good input, and what must hold for it. Not part of the interface: it serves the tests, the
//! long run (`examples/fuzz.rs`) and the targets under `fuzz/`.
//!
//! What must hold: no panic, and for whatever is accepted the round trips. A note that was read gives its bytes back
//! when it is written, an id that was parsed is parsed from its own text.

use crate::*;

/// A small generator (xorshift64*), so that a failure can be repeated from its state.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Less than `limit`, which 0 counts as 1.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    8,
    0x40,
    0x7f,
    0xff,
    0x1000,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    1 << 40,
    i64::MAX as u64,
    u64::MAX - 7,
    u64::MAX,
];

/// Changes a few bytes, numbers or ranges of `bytes`.
pub fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            bytes.push(random.number() as u8);
        }
        // Half of the damage goes where the headers are.
        let limit = if random.below(2) == 0 { bytes.len().min(0x900) } else { bytes.len() };
        let mut at = random.below(limit);
        match random.below(9) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.number() as u8,
            // A number of a table, replaced by one that is a limit somewhere, or is near the size of the file.
            kind @ 2..=4 => {
                at &= !3;
                let value = match kind {
                    2 => random.pick(&NUMBERS),
                    3 => (bytes.len() as u64).wrapping_add(random.below(64) as u64).wrapping_sub(32),
                    _ => random.number() >> random.below(64),
                };
                let size = random.pick(&[1, 2, 4, 8, 8]).min(bytes.len() - at);
                bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            // A little more or less of something.
            5 => {
                at &= !7;
                let size = 8.min(bytes.len() - at);
                let mut word = [0; 8];
                word[..size].copy_from_slice(&bytes[at..at + size]);
                let step = random.below(33) as u64;
                let value = u64::from_le_bytes(word).wrapping_add(step).wrapping_sub(16);
                bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            6 => {
                let size = random.below(64).min(bytes.len() - at);
                let from = random.below(bytes.len() - size);
                bytes.copy_within(from..from + size, at);
            }
            7 => bytes.truncate(at.max(1)),
            _ => {
                let size = random.below(24);
                let from = random.below(bytes.len());
                let copied: Vec<u8> = bytes[from..].iter().take(size).copied().collect();
                bytes.splice(at..at, copied);
            }
        }
    }
}

const KEYS: [&str; 24] = [
    "amdhsa.kernels",
    "amdhsa.version",
    "amdhsa.target",
    "amdhsa.printf",
    "amdpal.pipelines",
    "amdpal.version",
    ".args",
    ".name",
    ".symbol",
    ".size",
    ".offset",
    ".value_kind",
    ".is_const",
    ".vgpr_count",
    ".reqd_workgroup_size",
    ".uses_dynamic_stack",
    ".hardware_stages",
    ".registers",
    ".cs",
    ".type",
    ".api",
    ".entry_point",
    ".unknown",
    "",
];

/// A msgpack value: often metadata, always of their words.
pub fn metadata_value(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    let kind = if depth > 5 { random.below(6) } else { random.below(10) };
    match kind {
        0 => drop(rmp::encode::write_uint(out, random.pick(&NUMBERS))),
        1 => drop(rmp::encode::write_sint(out, random.number() as i64 >> random.below(64))),
        2 => out.push(0xc2 + random.below(2) as u8),
        3 => drop(rmp::encode::write_str(out, random.pick(&KEYS))),
        // Longer encodings than need be, which have to survive.
        4 => out.extend([0xcd, 0, random.number() as u8]),
        5 => {
            let odd: [&[u8]; 5] = [&[0xd9, 2, b'h', b'i'], &[0xc0], &[0xc4, 1, 7], &[0xd4, 1, 2], &[0xca, 1, 2, 3, 4]];
            out.extend(random.pick(&odd));
        }
        6 | 7 => {
            let count = random.below(4);
            match random.below(3) {
                0 => out.extend([0xdc, 0, count as u8]),
                _ => out.push(0x90 | count as u8),
            }
            (0..count).for_each(|_| metadata_value(random, depth + 1, out));
        }
        _ => metadata_map(random, depth, out),
    }
}

fn metadata_map(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    let count = random.below(6);
    match random.below(4) {
        0 => out.extend([0xde, 0, count as u8]),
        _ => out.push(0x80 | count as u8),
    }
    for _ in 0..count {
        let key = random.pick(&KEYS);
        let _ = rmp::encode::write_str(out, key);
        // Mostly what the key should have.
        match (key, random.below(8)) {
            (_, 0) => metadata_value(random, depth + 1, out),
            ("amdhsa.kernels" | ".args" | "amdpal.pipelines", _) => {
                let count = random.below(3);
                out.push(0x90 | count as u8);
                for _ in 0..count {
                    kernel_map(random, depth + 1, out);
                }
            }
            (".hardware_stages" | ".registers" | ".cs", _) if depth < 5 => metadata_map(random, depth + 1, out),
            (".name" | ".symbol" | ".value_kind" | "amdhsa.target" | ".type" | ".api" | ".entry_point", _) => {
                let _ = rmp::encode::write_str(out, random.pick(&["k", "k.kd", "global_buffer", "gfx90a"]));
            }
            (".is_const" | ".uses_dynamic_stack", _) => out.push(random.pick(&[0xc2, 0xc3, 0, 1])),
            ("amdhsa.version" | "amdpal.version" | ".reqd_workgroup_size", _) => out.extend([0x92, 1, 2]),
            ("amdhsa.printf", _) => out.extend([0x91, 0xa1, b'x']),
            _ => out.push(random.below(128) as u8),
        }
    }
}

/// A map with a name and a symbol, as a kernel has.
fn kernel_map(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    let start = out.len();
    if depth > 5 {
        out.push(0x80);
        return;
    }
    metadata_map(random, depth, out);
    if random.below(4) != 0 && (0x80..0x8e).contains(&out[start]) {
        out[start] += 2;
        for (key, value) in [(".name", "k"), (".symbol", "k.kd")] {
            let _ = rmp::encode::write_str(out, key);
            let _ = rmp::encode::write_str(out, value);
        }
    }
}

/// A note's description out of nothing.
pub fn generate_metadata(random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    metadata_map(random, 0, &mut out);
    out.extend(vec![0; random.below(8).saturating_sub(4)]);
    out
}

/// A code object, and everything that the crate does with one. Gives whether it was accepted.
pub fn check_object(bytes: &[u8]) -> bool {
    let Ok(object) = CodeObject::parse(bytes) else {
        for note in Note::read_all(bytes).unwrap_or_default() {
            note.content(bytes);
        }
        return false;
    };
    for kernel in object.kernels() {
        let mut descriptor = kernel.descriptor;
        for generation in Generation::ALL {
            descriptor.fields_for(generation);
            let count = descriptor.vgpr_count(generation);
            assert_eq!(descriptor.set_vgpr_count(generation, count), count);
        }
        assert!(object.read(kernel.descriptor_vaddr, 64).is_some_and(|old| old == kernel.descriptor.as_bytes()));
        object.read(kernel.entry, kernel.code_size);
        if let Some(metadata) = kernel.metadata() {
            assert_eq!(object.metadata().and_then(|all| all.kernels.iter().find(|k| *k == metadata)), Some(metadata));
        }
    }
    for kernel in object.mesa_kernels() {
        kernel.header.fields();
    }
    for section in object.sections() {
        object.section_bytes(section);
    }
    object.code_ranges();
    assert!(object.functions().windows(2).all(|pair| pair[0].vaddr < pair[1].vaddr));
    for symbol in object.symbols().iter().take(8) {
        assert!(object.symbol(&symbol.name).is_some_and(|found| found.name == symbol.name));
    }
    for note in object.notes() {
        note.content(object.bytes());
    }
    if let Some(metadata) = object.metadata() {
        let notes: Vec<_> = object.notes().iter().filter(|note| note.kind == 32 && note.name == "AMDGPU").collect();
        let encoded = metadata.encode();
        match &notes[..] {
            [note] => assert_eq!(object.bytes()[note.description.clone()], encoded),
            _ => assert_eq!(Metadata::decode(&encoded).map(|all| all.kernels).ok().as_ref(), Some(&metadata.kernels)),
        }
    }
    let _ = object.pal_metadata();
    let _ = object.isa_note();
    let _ = object.origin_map();
    object.runs_on(object.target());
    assert!(object.target().to_string().parse::<TargetId>().is_ok_and(|target| target == *object.target()));
    // A small limit stands in for memory: an image of 4 GiB is allowed, but not here, a thousand times a second.
    let size = object.segments().iter().fold(0u64, |sum, s| sum.saturating_add(s.memsz));
    if size < 1 << 16 {
        let object = std::sync::Arc::new(object);
        for base in [None, Some(0), Some(u64::MAX)] {
            let mut loader = MockLoader::new();
            if let Ok(id) = loader.load(object.clone(), &LoadOptions { base, ..LoadOptions::default() }) {
                let end = loader.object(id).map_or(0, |object| object.span().end);
                let _ = loader.finalize();
                assert!(loader.locate(end).is_none() && loader.memory(end, 1).is_err());
            }
        }
    }
    true
}

/// A file of whatever kind. Gives whether it was accepted.
pub fn check_container(bytes: &[u8]) -> bool {
    let Ok(container) = Container::from_bytes(bytes) else { return false };
    for entry in container.entries() {
        let Ok(content) = container.read(entry.index) else { continue };
        assert_eq!(content.len() as u64, entry.size);
    }
    for target in container.targets() {
        // Only generic code of an unknown version may be refused for its own target.
        assert!(container.select(&target).is_ok() || target.is_generic());
    }
    true
}

/// A note's description. Gives whether it was accepted.
pub fn check_metadata(bytes: &[u8]) -> bool {
    let _ = PalMetadata::decode(bytes);
    let Ok(metadata) = Metadata::decode(bytes) else { return false };
    assert_eq!(metadata.encode(), bytes, "what was not changed keeps its bytes");
    metadata.to_json();
    metadata.others().count();
    // Changed, it says the change and nothing else is new.
    let mut changed = metadata.clone();
    changed.fields.target = Some("gfx90a".to_owned());
    for kernel in &mut changed.kernels {
        kernel.fields.vgpr_count = Some(77);
        kernel.args.iter_mut().for_each(|arg| arg.name = None);
    }
    let encoded = changed.encode();
    let again = Metadata::decode(&encoded).expect("what was encoded decodes");
    assert_eq!(again.target.as_deref(), Some("gfx90a"));
    assert_eq!(again.kernels.len(), metadata.kernels.len());
    assert!(again.kernels.iter().all(|kernel| kernel.vgpr_count == Some(77)));
    assert_eq!(again.encode(), encoded);
    true
}

/// Target ids and names of loaded objects. Gives whether one was accepted.
pub fn check_text(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let target = text.parse::<TargetId>();
    if let Ok(target) = &target {
        assert_eq!(target.to_string().parse::<TargetId>().ok().as_ref(), Some(target));
        let _ = target.check();
        Generation::of(&target.processor);
    }
    let uri = text.parse::<CodeObjectUri>();
    if let Ok(uri) = &uri {
        assert_eq!(uri.to_string().parse::<CodeObjectUri>().ok().as_ref(), Some(uri));
    }
    target.is_ok() || uri.is_ok()
}

/// An origin map. Gives whether it was accepted.
pub fn check_origin(bytes: &[u8]) -> bool {
    let Ok(map) = OriginMap::decode(bytes) else { return false };
    assert_eq!(OriginMap::decode(&map.encode()).ok().as_ref(), Some(&map));
    map.covers(u64::MAX);
    true
}

/// A map of hooks. Gives whether it was accepted.
pub fn check_hooks(bytes: &[u8]) -> bool {
    let Ok(map) = HookMap::decode(bytes) else { return false };
    assert_eq!(HookMap::decode(&map.encode()).ok().as_ref(), Some(&map));
    map.line(u64::MAX);
    map.gaps().count();
    true
}
