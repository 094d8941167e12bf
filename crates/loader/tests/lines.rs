//! Source lines against llvm-symbolizer, address by address, and damaged debug information.

mod support;

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use luthier_loader::fuzz::Random;
use luthier_loader::{CodeObject, LoadError, SourceMap};
use support::symbolizer::{Folder, ours, theirs};
use support::{corpus, files, llvm_tool, output};

#[derive(Default, Debug)]
struct Seen {
    addresses: usize,
    with_line: usize,
    inlined: usize,
    deepest: usize,
}

/// Compares every word of code.
fn compare(path: &Path, folder: &Folder, seen: &mut Seen) {
    let object = CodeObject::parse(std::fs::read(path).unwrap()).unwrap();
    let map = object.source_map().unwrap().unwrap_or_else(|| panic!("{}: no lines", path.display()));
    let addresses: Vec<u64> = object.code_ranges().into_iter().flat_map(|range| range.step_by(4)).collect();
    let expected = theirs(path, &addresses, folder);
    assert_eq!(expected.len(), addresses.len());
    for (&address, expected) in addresses.iter().zip(&expected) {
        let found = ours(&map.frames(address));
        assert_eq!(&found, expected, "{}: {address:#x}", path.display());
        assert_eq!(map.innermost(address), map.frames(address).first().copied());
        let line = map.line(address);
        assert_eq!(line.map_or(0, |line| u64::from(line.line)), found.first().map_or(0, |place| place.2));
        let file = line.and_then(|line| line.file).map(|index| map.files()[index as usize].as_str());
        assert_eq!(file.unwrap_or_default(), found.first().map_or("", |place| &place.1));
        seen.addresses += 1;
        seen.with_line += usize::from(found.first().is_some_and(|place| place.2 != 0));
        seen.inlined += usize::from(found.len() > 1);
        seen.deepest = seen.deepest.max(found.len());
    }
}

#[luthier_needs::needs(corpus, llvm)]
#[test]
fn triton_objects_agree_with_llvm() {
    let corpus = corpus();
    let folder = Folder::new("triton");
    let mut seen = Seen::default();
    for path in files(&corpus.join("triton"), "hsaco") {
        compare(&path, &folder, &mut seen);
    }
    println!("{seen:?}");
    assert!(seen.with_line > 100_000 && seen.inlined > 1000 && seen.deepest >= 3, "{seen:?}");
}

const HELPER: &str = "
int helper(__global int *data, int index) {
    int sum = 0;
    for (int i = 0; i < index; i++) {
        sum += data[i] * i;
    }
    return sum;
}
__attribute__((visibility(\"hidden\"), noinline)) int unused_and_long(__global int *data, int n) {
    int product = 1;
    for (int i = 0; i < n; i++) { product *= data[i] + n; data[i] = product % (n + 3); data[i + n] /= 7 + i; }
    for (int i = 0; i < n; i++) { product += data[i] / n; data[i] = product % (n + 5); data[i - n] /= 9 + i; }
    return product;
}
";

const KERNELS: &str = "
int helper(__global int *data, int index);
static inline int twice(int x) { return 2 * x; }
static inline int four_times(int x) { return twice(twice(x)) + 1; }
kernel void one(__global int *data, int n) {
    int i = __builtin_amdgcn_workitem_id_x();
    if (i < n)
        data[i] = helper(data, four_times(i));
}
kernel void two(__global int *data) {
    data[0] = four_times(data[1]) +
        twice(data[2]);
}
";

#[luthier_needs::needs(llvm)]
#[test]
fn clang_builds_agree_with_llvm() {
    let Some(clang) = llvm_tool("clang") else { return };
    let folder = Folder::new("clang");
    let (first, second) = (folder.write("helper.cl", HELPER), folder.write("kernels.cl", KERNELS));
    let common = "-target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -w -g -ffunction-sections -Wl,--gc-sections";
    let variants = [
        "-O2 -gdwarf-5",
        "-O2 -gdwarf-4",
        "-O1 -gdwarf-3",
        "-O0 -gdwarf-2",
        "-O2 -gdwarf-5 -gdwarf64",
        "-O2 -gline-tables-only",
        "-O2 -gz=zlib",
        "-O2 -gz=zstd",
        "-O2 -gno-column-info",
    ];
    for (number, variant) in variants.iter().enumerate() {
        let result = folder.0.join(format!("{number}.hsaco"));
        let mut arguments: Vec<&str> = common.split(' ').chain(variant.split(' ')).collect();
        arguments.extend([&first, &second].map(|path| path.to_str().unwrap()));
        arguments.extend(["-o", result.to_str().unwrap()]);
        output(&clang, &arguments);
        let object = CodeObject::parse(std::fs::read(&result).unwrap()).unwrap();
        let compressed = object.section(".debug_info").unwrap().flags & 1 << 11 != 0;
        assert_eq!(compressed, variant.contains("-gz="), "{variant}");
        let mut seen = Seen::default();
        compare(&result, &folder, &mut seen);
        // At -O0 nothing is inlined.
        assert!(seen.with_line > 60, "{variant}: {seen:?}");
        assert!(variant.contains("-O0") || seen.deepest >= 3, "{variant}: {seen:?}");
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn assembly_has_lines_without_functions() {
    let Some(clang) = llvm_tool("clang") else { return };
    let folder = Folder::new("assembly");
    let source = folder.write("code.s", ".text\nstart:\n  s_nop 0\n\n  v_mov_b32 v0, 1\n  s_endpgm\n");
    let result = folder.0.join("code.hsaco");
    let mut arguments: Vec<&str> = "-target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -g".split(' ').collect();
    arguments.extend([source.to_str().unwrap(), "-o", result.to_str().unwrap()]);
    output(&clang, &arguments);
    let mut seen = Seen::default();
    compare(&result, &folder, &mut seen);
    let object = CodeObject::parse(std::fs::read(&result).unwrap()).unwrap();
    let map = object.source_map().unwrap().unwrap();
    let start = object.code_ranges()[0].start;
    let lines: Vec<u32> = (0..3).map(|word| map.line(start + 4 * word).unwrap().line).collect();
    assert_eq!(lines, [3, 5, 6]);
    assert_eq!(map.innermost(start).unwrap().to_string(), format!("{}:3", source.display()));
}

#[luthier_needs::needs(llvm)]
#[test]
fn objects_without_debug_information_have_no_lines() {
    let Some(bytes) = support::small_object(&[]) else { return };
    assert!(CodeObject::parse(bytes).unwrap().source_map().unwrap().is_none());
}

/// Many threads ask one map.
#[test]
fn a_map_is_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<SourceMap>();
}

/// Whatever the bytes of the debug sections are, the answer is a map or an error, and it comes soon.
#[luthier_needs::needs(llvm)]
#[test]
fn damaged_debug_information_is_refused_or_read() {
    let variants: [&[&str]; 5] = [
        &["-g", "-gdwarf-5"],
        &["-g", "-gdwarf-4"],
        &["-g", "-gz=zlib"],
        &["-g", "-gz=zstd"],
        &["-g", "-gline-tables-only"],
    ];
    let seconds = std::env::var("LUTHIER_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let started = Instant::now();
    let mut random = Random(0x5eed_0123_4567_89ab);
    let (mut rounds, mut refused) = (0, 0);
    let mut originals = Vec::new();
    for flags in variants {
        let Some(bytes) = support::small_object(flags) else { return };
        let object = CodeObject::parse(bytes.clone()).unwrap();
        let places: Vec<_> = object
            .sections()
            .iter()
            .filter(|section| section.name.starts_with(".debug_") && section.size != 0)
            .map(|section| section.offset as usize..(section.offset + section.size) as usize)
            .collect();
        originals.push((bytes, places));
    }
    while rounds < 300 || started.elapsed() < Duration::from_secs(seconds) {
        let (bytes, places) = &originals[random.below(originals.len())];
        let mut bytes = bytes.clone();
        for _ in 0..=random.below(6) {
            let place = places[random.below(places.len())].clone();
            let at = place.start + random.below(place.len());
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.number() as u8,
                2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                _ => bytes[at..place.end].iter_mut().take(8).for_each(|byte| *byte = 0xff),
            }
        }
        let begun = Instant::now();
        match CodeObject::parse(bytes).and_then(|object| object.source_map()) {
            Ok(map) => {
                let map = map.expect("the sections are still there");
                (0..0x4000).step_by(4).for_each(|address| drop(map.frames(address)));
            }
            Err(LoadError::BadDebugInfo { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "round {rounds} took too long");
        rounds += 1;
    }
    println!("{rounds} rounds, {refused} refused");
    assert!(refused > 5 && refused < rounds);
}

/// The object with other debug sections: they are appended, and their section headers point there.
fn with_sections(original: &[u8], replaced: &[(&str, u64, Vec<u8>)]) -> CodeObject {
    let object = CodeObject::parse(original).unwrap();
    let mut bytes = original.to_vec();
    let headers = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
    for (name, flags, contents) in replaced {
        let index = object.sections().iter().position(|section| section.name == *name).expect("in the object");
        let offset = bytes.len() as u64;
        let header = headers + 64 * index;
        bytes[header + 8..header + 16].copy_from_slice(&flags.to_le_bytes());
        bytes[header + 24..header + 32].copy_from_slice(&offset.to_le_bytes());
        bytes[header + 32..header + 40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        bytes.extend(contents);
    }
    CodeObject::parse(bytes).unwrap()
}

/// A DWARF 4 unit around the entries.
fn unit(entries: &[u8]) -> Vec<u8> {
    let mut unit = (entries.len() as u32 + 7).to_le_bytes().to_vec();
    unit.extend([4, 0, 0, 0, 0, 0, 8]);
    unit.extend(entries);
    unit
}

const UNIT: [u8; 5] = [1, 0x11, 1, 0, 0];

#[luthier_needs::needs(llvm)]
#[test]
fn debug_information_that_multiplies_is_refused() {
    let Some(original) = support::small_object(&["-g", "-gdwarf-4", "-ffunction-sections"]) else { return };
    let many = 200_000;
    let abbreviations = |second: &[u8]| [&UNIT, second, &[0]].concat();

    // Entries of one byte, with two hundred thousand attributes that take no byte each.
    let flags: Vec<u8> = [2, 0x2e, 0].into_iter().chain([0x3f, 0x19].repeat(many)).chain([0, 0]).collect();
    let attributes = vec![
        (".debug_abbrev", 0, abbreviations(&flags)),
        (".debug_info", 0, unit(&[&[1u8][..], &vec![2; many]].concat())),
    ];
    // As many functions that all have the same as many ranges.
    let range = [0x10u64.to_le_bytes(), 0x20u64.to_le_bytes()].concat();
    let ranges = vec![
        (".debug_abbrev", 0, abbreviations(&[2, 0x2e, 0, 0x55, 0x17, 0, 0])),
        (".debug_info", 0, unit(&[&[1u8][..], &[2, 0, 0, 0, 0].repeat(many)].concat())),
        (".debug_ranges", 0, range.repeat(many)),
    ];
    // Inlined calls within each other.
    let nested = vec![
        (".debug_abbrev", 0, abbreviations(&[2, 0x1d, 1, 0, 0])),
        (".debug_info", 0, unit(&[&[1u8][..], &vec![2; many]].concat())),
    ];
    // Much out of little.
    let size = 1u64 << 26;
    let mut bomb = vec![0; 24];
    bomb[0] = 2;
    bomb[8..16].copy_from_slice(&size.to_le_bytes());
    bomb.extend(zstd::encode_all(std::io::repeat(0).take(size), 1).unwrap());
    let bomb = vec![(".debug_info", 1 << 11, bomb)];

    let again = "the same data over and over";
    for (sections, words) in
        [(attributes, again), (ranges, again), (nested, "deeper than 1000"), (bomb, "cannot become 67108864")]
    {
        match with_sections(&original, &sections).source_map() {
            Err(LoadError::BadDebugInfo { reason, .. }) => assert!(reason.contains(words), "{reason}"),
            other => panic!("{words}: {other:?}"),
        }
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn names_that_refer_in_a_circle_are_no_names() {
    let Some(original) = support::small_object(&["-g", "-gdwarf-4"]) else { return };
    let start = CodeObject::parse(original.clone()).unwrap().code_ranges()[0].start;
    // A function from `start` on of 16 bytes, whose origin is itself: the entry behind the unit's, at offset 12.
    let function = [&[2u8][..], &start.to_le_bytes(), &16u32.to_le_bytes(), &12u32.to_le_bytes()].concat();
    let object = with_sections(
        &original,
        &[
            (".debug_abbrev", 0, [&UNIT, &[2u8, 0x2e, 0, 0x11, 0x01, 0x12, 0x06, 0x31, 0x13, 0, 0, 0][..]].concat()),
            (".debug_info", 0, unit(&[&[1u8][..], &function, &[0]].concat())),
        ],
    );
    let map = object.source_map().unwrap().unwrap();
    assert_eq!(map.frames(start), []);
}
