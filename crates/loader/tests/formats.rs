//! Every code object version, operating system and processor, with what LLVM's own tools say of them.

mod support;

use luthier_loader::*;
use support::{corpus, files, link, llvm_tool, output};

/// A kernel and a function.
const KERNEL: &str = "
define amdgpu_kernel void @kern(ptr addrspace(1) %p) #0 {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define void @func(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
attributes #0 = { \"amdgpu-flat-work-group-size\"=\"1,256\" }
";

/// And a compute shader, which AMDHSA does not have.
const SHADER: &str = "
define amdgpu_cs void @shader(<4 x i32> inreg %r) {
  call void @llvm.amdgcn.raw.buffer.store.i32(i32 1, <4 x i32> %r, i32 0, i32 0, i32 0)
  ret void
}
declare void @llvm.amdgcn.raw.buffer.store.i32(i32, <4 x i32>, i32, i32, i32)
";

#[luthier_needs::needs(llvm)]
#[test]
fn mesa_objects_have_headers_before_their_kernels() {
    let Some(bytes) = link(&[KERNEL, SHADER].concat(), "amdgcn-mesa-mesa3d", "gfx900", &[]) else { return };
    let object = CodeObject::parse(bytes).unwrap();
    assert_eq!((object.os_abi(), object.version()), (OsAbi::Mesa3d, 3));
    assert_eq!(object.target().processor, "gfx900");
    assert_eq!(object.isa_note().unwrap().unwrap().processor, "gfx900");
    assert!(object.kernels().is_empty(), "there are no descriptors");
    assert!(object.metadata().is_none() && object.pal_metadata().unwrap().is_none());
    let [kernel] = object.mesa_kernels() else { panic!("{:?}", object.mesa_kernels()) };
    assert_eq!(kernel.name, "kern");
    assert_eq!(kernel.entry, kernel.vaddr + 256);
    // What `llc -o -` prints of the header.
    let header = &kernel.header;
    let fields: std::collections::HashMap<_, _> = header.fields().into_iter().collect();
    for (name, value) in [
        ("amd_code_version_major", 1),
        ("amd_code_version_minor", 2),
        ("amd_machine_kind", 1),
        ("amd_machine_version_major", 9),
        ("kernel_code_entry_byte_offset", 256),
        ("kernarg_segment_byte_size", 24),
        ("kernarg_segment_alignment", 4),
        ("group_segment_alignment", 4),
        ("private_segment_alignment", 4),
        ("wavefront_size", 6),
        ("call_convention", -1),
        ("wavefront_sgpr_count", 14),
        ("workitem_vgpr_count", 2),
    ] {
        assert_eq!(fields[name], value, "{name}");
    }
    assert_eq!(object.read(kernel.vaddr, 256).unwrap(), header.as_bytes());
    let functions: Vec<_> = object.functions().iter().map(|f| (f.name.as_str(), f.vaddr)).collect();
    assert!(functions.contains(&("kern", kernel.entry)), "{functions:?}");
    assert_eq!(object.functions().len(), 3);
    let loader = MockLoader::single(object.clone(), 0x10000).unwrap();
    assert!(loader.objects()[0].segments().iter().any(|s| s.executable));
}

#[luthier_needs::needs(llvm)]
#[test]
fn pal_objects_have_pipelines() {
    let Some(bytes) = link(&[KERNEL, SHADER].concat(), "amdgcn-amd-amdpal", "gfx1030", &[]) else { return };
    let object = CodeObject::parse(bytes).unwrap();
    assert_eq!((object.os_abi(), object.version()), (OsAbi::AmdPal, 3));
    assert_eq!(object.target().to_string(), "gfx1030");
    assert_eq!(object.isa_note().unwrap().unwrap().processor, "gfx1030");
    assert!(object.kernels().is_empty() && object.mesa_kernels().is_empty());
    let pal = object.pal_metadata().unwrap().unwrap();
    let [pipeline] = &pal.pipelines[..] else { panic!("{pal:?}") };
    let (name, stage) = &pipeline.hardware_stages[0];
    assert_eq!(name, ".cs");
    assert_eq!(stage.entry_point.as_deref(), Some("_amdgpu_cs_main"));
    assert_eq!(stage.scratch_memory_size, Some(0));
    assert!(stage.vgpr_count.is_some() && stage.sgpr_count.is_some());
    assert!(object.symbol(stage.entry_point_symbol.as_deref().unwrap()).is_some());
    // COMPUTE_PGM_RSRC1 and 2 by their register numbers.
    let numbers: Vec<u64> = pipeline.registers.iter().map(|r| r.0).collect();
    assert!(numbers.contains(&0x2e12) && numbers.contains(&0x2e13), "{numbers:x?}");
    // The generic view has the same, and loses nothing.
    let metadata = object.metadata().unwrap();
    assert!(metadata.kernels.is_empty());
    assert!(metadata.others().any(|(key, _)| key == "amdpal.pipelines"));
    let note = object.notes().iter().find(|n| n.kind == 32).unwrap();
    assert_eq!(metadata.encode(), object.bytes()[note.description.clone()]);
}

/// What llvm-readelf says of the target: `Flags: 0x53f, gfx90a, xnack, sramecc` and the like.
fn readelf_flags(path: &std::path::Path, readelf: &std::path::Path) -> Vec<String> {
    let text = output(readelf, &["-h", path.to_str().unwrap()]);
    let line = text.lines().find(|line| line.trim_start().starts_with("Flags:")).unwrap();
    line.split(',').skip(1).map(|word| word.trim().to_owned()).collect()
}

#[luthier_needs::needs(llvm)]
#[test]
fn every_processor_of_llvm_has_its_flags_and_features() {
    let (Some(mc), Some(lld), Some(readelf)) = (llvm_tool("llvm-mc"), llvm_tool("ld.lld"), llvm_tool("llvm-readelf"))
    else {
        return;
    };
    // It prints its help as an error.
    let help = std::process::Command::new(&mc).args(["-triple=amdgcn", "-mcpu=help", "/dev/null"]).output().unwrap();
    let help = String::from_utf8(help.stderr).unwrap();
    let processors: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.contains("Available CPUs"))
        .take_while(|line| !line.contains("Available features"))
        .filter_map(|line| line.split_whitespace().next().filter(|word| word.starts_with("gfx")))
        .collect();
    assert!(processors.len() >= 53, "{processors:?}");
    let dir = support::scratch_dir("flags");
    let (source, relocatable, linked) = (dir.join("a.s"), dir.join("a.o"), dir.join("a.so"));
    let (mut objects, mut with_features) = (0, 0);
    for processor in &processors {
        assert!(TargetId::of_processor(*processor).is_known(), "{processor} is unknown");
        assert!(Generation::of(processor).is_some(), "{processor} has no generation");
        let generic = processor.contains("generic");
        let all = TargetId::of_processor(*processor);
        assert_eq!(all.is_generic(), generic, "{processor}");
        let mut wanted = vec![(5, String::new()), (6, String::new())];
        wanted.extend([":sramecc+", ":xnack-", ":sramecc-:xnack+"].map(|features| (6, features.to_owned())));
        for (version, features) in wanted {
            if generic && version < 6 {
                continue;
            }
            let id: TargetId = format!("{processor}{features}").parse().unwrap();
            std::fs::write(&source, format!(".amdgcn_target \"amdgcn-amd-amdhsa--{id}\"\ns_endpgm\n")).unwrap();
            let code_object_version = format!("--amdhsa-code-object-version={version}");
            let mcpu = format!("-mcpu={processor}");
            let settings = [("sramecc", id.sramecc), ("xnack", id.xnack)];
            let settings =
                settings.iter().filter_map(|&(name, on)| Some(format!("{}{name}", if on? { '+' } else { '-' })));
            let attributes = format!("-mattr={}", settings.collect::<Vec<_>>().join(","));
            let made = std::process::Command::new(&mc)
                .args(["-triple=amdgcn-amd-amdhsa", &mcpu, &attributes, &code_object_version, "-filetype=obj"])
                .args([&source, std::path::Path::new("-o"), &relocatable])
                .output()
                .unwrap();
            // LLVM refuses features that the processor does not have, and so do we.
            assert_eq!(made.status.success(), id.check().is_ok(), "{id}: {}", String::from_utf8_lossy(&made.stderr));
            if !made.status.success() {
                continue;
            }
            output(&lld, &["-shared", relocatable.to_str().unwrap(), "-o", linked.to_str().unwrap()]);
            let object = CodeObject::open(&linked).unwrap();
            assert_eq!((object.target(), object.version()), (&id, version), "{id}");
            assert_eq!(object.generic_version(), u8::from(generic));
            let mut expected = vec![processor.to_string()];
            for (name, setting) in [("xnack", object.xnack()), ("sramecc", object.sramecc())] {
                match setting {
                    FeatureSetting::Unsupported => {}
                    FeatureSetting::Any => expected.push(name.to_owned()),
                    FeatureSetting::On => expected.push(format!("{name}+")),
                    FeatureSetting::Off => expected.push(format!("{name}-")),
                }
            }
            let mut theirs = readelf_flags(&linked, &readelf);
            theirs.retain(|word| !word.starts_with("generic_v"));
            // LLVM says any for a setting that may be either, in words of its own.
            theirs.iter_mut().for_each(|word| *word = word.replace(" any", "").replace("-any", ""));
            theirs.sort();
            expected.sort();
            assert_eq!(theirs, expected, "{id}");
            objects += 1;
            with_features += usize::from(!features.is_empty());
            // Runs on itself; on the agents that settle the features as it does.
            assert!(object.runs_on(&id), "{id}");
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    println!("{} processors, {objects} objects, {with_features} with features", processors.len());
    assert!(objects >= 2 * (processors.len() - 6) && with_features > 30);
}

#[luthier_needs::needs(corpus)]
#[test]
fn the_runtime_s_rules_of_matching() {
    let id = |text: &str| text.parse::<TargetId>().unwrap();
    for (code, agent, runs) in [
        ("gfx90a", "gfx90a:sramecc+:xnack-", true),
        ("gfx90a:xnack-", "gfx90a:sramecc+:xnack-", true),
        ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-", false),
        ("gfx90a:sramecc-", "gfx90a:sramecc+:xnack-", false),
        ("gfx90a", "gfx908:sramecc+:xnack-", false),
        ("gfx9-generic", "gfx906:sramecc+:xnack-", true),
        ("gfx9-generic:xnack+", "gfx906:sramecc+:xnack-", false),
        ("gfx9-generic", "gfx908:sramecc+:xnack-", false),
        ("gfx9-4-generic:sramecc+", "gfx942:sramecc+:xnack-", true),
        ("gfx9-4-generic", "gfx950:sramecc+:xnack-", true),
        ("gfx10-1-generic", "gfx1013:xnack-", true),
        ("gfx10-1-generic", "gfx1030", false),
        ("gfx10-3-generic", "gfx1036", true),
        ("gfx11-generic", "gfx1153", true),
        ("gfx12-generic", "gfx1201", true),
        ("gfx12-generic", "gfx1250", false),
        ("gfx1100", "gfx1101", false),
    ] {
        assert_eq!(id(code).runs_on(&id(agent)), runs, "{code} on {agent}");
        // A device that leaves nothing open is a wish that means the same.
        assert_eq!(id(code).suits(&id(agent)).is_some(), runs, "{code} for {agent}");
    }
    // Generic code of version 0 runs on no processor.
    let corpus = corpus();
    let path = files(&corpus.join("clang/gfx9-generic"), "hsaco").into_iter().next().expect("is in the corpus");
    let mut bytes = std::fs::read(path).unwrap();
    assert!(CodeObject::parse(&bytes).unwrap().runs_on(&id("gfx906:sramecc+:xnack-")));
    let bundled = |bytes: &[u8]| {
        let entries = support::bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx9-generic", bytes)]);
        Container::from_bytes(entries).unwrap().select(&id("gfx906:sramecc+:xnack-")).map(|found| found.len())
    };
    assert_eq!(bundled(&bytes).unwrap(), 1);
    bytes[0x33] = 0;
    let old = CodeObject::parse(&bytes).unwrap();
    assert_eq!(old.generic_version(), 0);
    assert!(!old.runs_on(&id("gfx906:sramecc+:xnack-")));
    assert!(matches!(bundled(&bytes), Err(LoadError::NoMatchingEntry { .. })));
}

#[luthier_needs::needs(corpus, llvm)]
#[test]
fn notes_of_every_version_agree_with_readelf() {
    let corpus = corpus();
    let Some(readelf) = llvm_tool("llvm-readelf") else { return };
    let (mut old, mut notes) = (0, 0);
    for path in files(&corpus.join("clang"), "hsaco") {
        let bytes = std::fs::read(&path).unwrap();
        let text = output(&readelf, &["--notes", path.to_str().unwrap()]);
        let theirs: Vec<&str> =
            text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with("NT_"))).collect();
        let all = Note::read_all(&bytes).unwrap();
        let ours: Vec<&str> = all.iter().map(|note| note.kind_name().unwrap_or("?")).collect();
        assert_eq!(theirs, ours, "{}", path.display());
        notes += all.len();
        for note in &all {
            match note.content(&bytes) {
                NoteContent::CodeObjectVersion { major, minor } => {
                    assert!(text.contains(&format!("[Major: {major}, Minor: {minor}]")));
                    old += 1;
                }
                NoteContent::IsaVersion { vendor, architecture, major, minor, stepping } => {
                    let expected = format!(
                        "[Vendor: {vendor}, Architecture: {architecture}, Major: {major}, Minor: {minor}, Stepping: {stepping}]"
                    );
                    assert!(text.contains(&expected), "{expected}");
                }
                NoteContent::IsaName(name) => {
                    assert!(text.contains(&format!("        {name}\n")), "{name}");
                    let folder = path.parent().unwrap().file_name().unwrap().to_string_lossy();
                    let target = note.content(&bytes).target().unwrap().unwrap();
                    assert_eq!(target.processor, folder, "{}", path.display());
                }
                NoteContent::MetadataYaml(yaml) => assert!(text.contains(yaml.trim_end())),
                NoteContent::Metadata => {}
                other => panic!("{}: {other:?}", path.display()),
            }
        }
    }
    println!("{notes} notes, of v2 {old} objects");
    assert!(old > 0 && notes > 60);
}

#[luthier_needs::needs(llvm)]
#[test]
fn objects_without_section_headers_or_with_one_hash_table_are_the_same() {
    for style in ["--hash-style=sysv", "--hash-style=gnu", "--hash-style=both"] {
        let Some(bytes) = link(KERNEL, "amdgcn-amd-amdhsa", "gfx90a", &[style]) else { return };
        let whole = CodeObject::parse(&bytes).unwrap();
        let mut stripped = bytes.clone();
        stripped[0x28..0x30].fill(0);
        stripped[0x3c..0x40].fill(0);
        let stripped = CodeObject::parse(stripped).unwrap();
        let dynamic = |object: &CodeObject| -> Vec<(String, u64, u64)> {
            object.symbols().iter().filter(|s| s.dynamic).map(|s| (s.name.clone(), s.value, s.size)).collect()
        };
        assert_eq!(dynamic(&whole), dynamic(&stripped), "{style}");
        assert!(stripped.sections().is_empty() && dynamic(&whole).len() >= 3);
        let kernels = |object: &CodeObject| -> Vec<(String, u64, u64)> {
            object.kernels().iter().map(|k| (k.name.clone(), k.entry, k.code_size)).collect()
        };
        assert_eq!(kernels(&whole), kernels(&stripped), "{style}");
        assert_eq!(whole.metadata(), stripped.metadata());
    }
    // llvm-strip takes .symtab away; --strip-sections takes the headers too.
    let (Some(bytes), Some(strip)) = (link(KERNEL, "amdgcn-amd-amdhsa", "gfx1100", &[]), llvm_tool("llvm-objcopy"))
    else {
        return;
    };
    let dir = support::scratch_dir("strip");
    let (input, result) = (dir.join("in"), dir.join("out"));
    std::fs::write(&input, &bytes).unwrap();
    let whole = CodeObject::parse(&bytes).unwrap();
    for flag in ["--strip-all", "--strip-sections"] {
        output(&strip, &[flag, input.to_str().unwrap(), result.to_str().unwrap()]);
        let object = CodeObject::open(&result).unwrap();
        assert!(object.section(".symtab").is_none(), "{flag}");
        assert_eq!(object.kernels().len(), 1, "{flag}");
        assert_eq!(object.kernels()[0].entry, whole.kernels()[0].entry, "{flag}");
        assert_eq!(object.metadata(), whole.metadata(), "{flag}");
        MockLoader::single(object.clone(), 0).unwrap();
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[luthier_needs::needs(llvm)]
#[test]
fn version_three_is_version_four_with_other_flags() {
    // LLVM 22 no longer writes v3: made of v5 by hand, by the table "AMDGPU e_flags" of LLVM's usage page.
    let Some(bytes) = link(KERNEL, "amdgcn-amd-amdhsa", "gfx906", &[]) else { return };
    for (flags, expected, sramecc, xnack) in [
        (0x2fu32, "gfx906:sramecc-:xnack-", FeatureSetting::Off, FeatureSetting::Off),
        (0x12f, "gfx906:sramecc-:xnack+", FeatureSetting::Off, FeatureSetting::On),
        (0x22f, "gfx906:sramecc+:xnack-", FeatureSetting::On, FeatureSetting::Off),
        (0x12c, "gfx900:xnack+", FeatureSetting::Unsupported, FeatureSetting::On),
    ] {
        let mut v3 = bytes.clone();
        v3[8] = 1;
        v3[0x30..0x34].copy_from_slice(&flags.to_le_bytes());
        // The note must name the same processor.
        if flags == 0x12c {
            let at = v3.windows(6).position(|w| w == b"gfx906").unwrap();
            v3[at..at + 6].copy_from_slice(b"gfx900");
        }
        let object = CodeObject::parse(v3).unwrap();
        assert_eq!((object.version(), object.target().to_string().as_str()), (3, expected));
        assert_eq!((object.sramecc(), object.xnack()), (sramecc, xnack), "{flags:#x}");
        assert_eq!(object.kernels().len(), 1);
    }
}
