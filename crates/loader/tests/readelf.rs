//! Segments, sections, symbols, relocations and metadata against llvm-readelf.

mod support;

use luthier_loader::{CodeObject, RelocKind};
use support::{corpus, files, llvm_tool, output};

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_else(|_| panic!("{text} is no number"))
}

/// The lines of the text from the one that contains `start` to the next empty one.
fn part<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| !line.contains(start)).skip(1);
    lines.take_while(|line| !line.trim().is_empty()).collect()
}

#[luthier_needs::needs(corpus, llvm)]
#[test]
fn everything_agrees_with_readelf() {
    let corpus = corpus();
    let Some(readelf) = llvm_tool("llvm-readelf") else { return };
    let (mut objects, mut symbols, mut relocations) = (0, 0, 0);
    for path in files(&corpus, "hsaco") {
        let Ok(object) = CodeObject::parse(std::fs::read(&path).unwrap()) else { continue };
        let name = path.to_str().unwrap();
        let text = output(&readelf, &["-W", "-h", "-l", "-S", "--dyn-syms", "-r", name]);
        let header = part(&text, "ELF Header").join("\n");
        assert!(header.contains(&format!("ABI Version:                       {}", object.version() - 2)), "{name}");
        assert!(header.contains(&format!(", {}", object.target().processor)), "{name}\n{header}");

        let rows = part(&text, "Program Headers:");
        assert_eq!(rows.len() - 1, object.segments().len(), "{name}");
        for (row, segment) in rows[1..].iter().zip(object.segments()) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let numbers = [segment.offset, segment.vaddr];
            assert_eq!([hex(words[1]), hex(words[2])], numbers, "{name}: {row}");
            assert_eq!([hex(words[4]), hex(words[5])], [segment.filesz, segment.memsz], "{name}: {row}");
            assert_eq!(hex(words[words.len() - 1]), segment.align, "{name}: {row}");
        }

        let rows = part(&text, "Section Headers:");
        let rows: Vec<&&str> = rows.iter().filter(|row| row.trim_start().starts_with('[')).skip(1).collect();
        assert_eq!(rows.len(), object.sections().len(), "{name}");
        for (row, section) in rows.iter().zip(object.sections()).skip(1) {
            let words: Vec<&str> = row.split(']').nth(1).unwrap().split_whitespace().collect();
            assert_eq!(words[0], section.name, "{name}: {row}");
            let numbers = [section.vaddr, section.offset, section.size];
            assert_eq!([hex(words[2]), hex(words[3]), hex(words[4])], numbers, "{name}: {row}");
            if !section.kind.to_string().starts_with("0x") {
                assert_eq!(words[1], section.kind.to_string(), "{name}: {row}");
            }
        }

        let rows = part(&text, "Symbol table '.dynsym'");
        let dynamic: Vec<_> = object.symbols().iter().filter(|s| s.dynamic).collect();
        assert_eq!(rows.len() - 2, dynamic.len(), "{name}");
        for (row, symbol) in rows[2..].iter().zip(&dynamic) {
            let words: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(hex(words[1]), symbol.value, "{name}: {row}");
            assert_eq!(words[2], symbol.size.to_string(), "{name}: {row}");
            assert_eq!(words[3], symbol.kind.to_string(), "{name}: {row}");
            assert_eq!(words[4], symbol.binding.to_string(), "{name}: {row}");
            assert_eq!(words[5], symbol.visibility.to_string(), "{name}: {row}");
            assert_eq!(words.get(7).copied().unwrap_or(""), symbol.name, "{name}: {row}");
            symbols += 1;
        }

        let rows: Vec<&str> = text.lines().filter(|line| line.contains(" R_AMDGPU_")).collect();
        assert_eq!(rows.len(), object.relocations().len(), "{name}");
        for (row, record) in rows.iter().zip(object.relocations()) {
            let words: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(hex(words[0]), record.offset, "{name}: {row}");
            assert_eq!(words[2], record.kind.to_string(), "{name}: {row}");
            if record.kind != RelocKind::Relative64 {
                assert_eq!(words[4], object.symbols()[record.symbol.unwrap()].name, "{name}: {row}");
            }
            relocations += 1;
        }

        // The YAML of the note: each kernel's numbers, in order.
        let text = output(&readelf, &["--notes", name]);
        for (key, get) in [
            (
                ".kernarg_segment_size",
                (|k| k.kernarg_segment_size) as fn(&luthier_loader::KernelMetadata) -> Option<u64>,
            ),
            (".kernarg_segment_align", |k| k.kernarg_segment_align),
            (".group_segment_fixed_size", |k| k.group_segment_fixed_size),
            (".private_segment_fixed_size", |k| k.private_segment_fixed_size),
            (".wavefront_size", |k| k.wavefront_size),
            (".sgpr_count", |k| k.sgpr_count),
            (".vgpr_count", |k| k.vgpr_count),
            (".agpr_count", |k| k.agpr_count),
            (".sgpr_spill_count", |k| k.sgpr_spill_count),
            (".vgpr_spill_count", |k| k.vgpr_spill_count),
            (".max_flat_workgroup_size", |k| k.max_flat_workgroup_size),
            (".uniform_work_group_size", |k| k.uniform_work_group_size),
            (".workgroup_processor_mode", |k| k.workgroup_processor_mode),
        ] {
            let theirs: Vec<u64> = text
                .lines()
                .filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix(key)?.strip_prefix(':'))
                .map(|value| value.trim().parse().unwrap())
                .collect();
            let ours: Vec<u64> = object.metadata().iter().flat_map(|m| &m.kernels).filter_map(get).collect();
            assert_eq!(theirs, ours, "{name}: {key}");
        }
        let theirs = text.matches(".value_kind:").count();
        let kernels = object.metadata().map_or(&[][..], |m| &m.kernels);
        let ours = kernels.iter().flat_map(|k| &k.args).filter(|arg| arg.value_kind.is_some()).count();
        assert_eq!(theirs, ours, "{name}");
        objects += 1;
    }
    println!("{objects} objects, {symbols} symbols, {relocations} relocations");
    assert!(objects > 300);
}
