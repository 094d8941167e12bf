//! What the loader makes of objects that lld has linked one by one, against what lld makes of all of them together at
//! the same addresses.

mod support;

use std::path::{Path, PathBuf};

use luthier_loader::link::{ExecutableId, ObjectId};
use luthier_loader::{CodeObject, LoadOptions, MockLoader};
use support::{llvm_tool, output};

/// Every relocation type that lld knows, against symbols of this object, of the other, and of neither.
const A: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl f_a
.protected f_a
.type f_a,@function
.p2align 8
f_a:
 s_getpc_b64 s[4:5]
 s_add_u32 s4, s4, var_b@gotpcrel32@lo+4
 s_addc_u32 s5, s5, var_b@gotpcrel32@hi+12
 s_add_u32 s4, s4, f_b@rel32@lo+4
 s_addc_u32 s5, s5, f_b@rel32@hi+12
 s_add_u32 s4, s4, local_a@rel32@lo+4
 s_addc_u32 s5, s5, local_a@rel32@hi+12
 .long f_b - .
 .quad var_b - .
 .long local_a - .
 .long fixed
 .quad fixed
 .long var_b@gotpcrel
 s_branch other
 .size f_a, .-f_a
.section .text.other,"ax",@progbits
other:
 s_endpgm
 s_branch f_a
.data
.p2align 3
local_a:
 .quad var_b
 .quad f_b+8
 .quad local_a
 .quad f_a
 .quad fixed
.globl var_a
.type var_a,@object
var_a: .quad 17
.size var_a, 8
"#;

const B: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl f_b
.protected f_b
.type f_b,@function
.p2align 8
f_b:
 s_getpc_b64 s[4:5]
 s_add_u32 s4, s4, var_a@gotpcrel32@lo+4
 s_addc_u32 s5, s5, var_a@gotpcrel32@hi+12
 .quad var_a - .
 .long f_a - .
 s_setpc_b64 s[30:31]
 .size f_b, .-f_b
.data
.p2align 3
.globl var_b
.type var_b,@object
var_b:
 .quad var_a
 .quad var_b
.size var_b, 16
"#;

/// Where GOTPCREL fields are, with their addends and widths: they lead to the loader's own slot or the linker's.
const GOT_A: [(u64, u64, &str); 3] = [(8, 4, "var_b"), (0x10, 12, "var_b"), (0x50, 0, "var_b")];
const GOT_B: [(u64, u64, &str); 2] = [(8, 4, "var_a"), (0x10, 12, "var_a")];

struct Work {
    dir: PathBuf,
    lld: PathBuf,
}

impl Work {
    fn new(name: &str) -> Option<Work> {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let (mc, lld) = (llvm_tool("llvm-mc")?, llvm_tool("ld.lld")?);
        std::fs::create_dir_all(&dir).unwrap();
        let work = Work { dir, lld };
        for (name, source) in [("a", A), ("b", B)] {
            std::fs::write(work.path(&format!("{name}.s")), source).unwrap();
            let (input, result) = (work.path(&format!("{name}.s")), work.path(&format!("{name}.o")));
            let (input, result) = (input.to_str().unwrap(), result.to_str().unwrap());
            output(&mc, &["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj", input, "-o", result]);
        }
        Some(work)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
    /// Links a shared object in which whatever is undefined stays so.
    fn shared(&self, name: &str, flags: &[&str]) -> CodeObject {
        let (input, result) = (self.path(&format!("{name}.o")), self.path(&format!("{name}.so")));
        let mut arguments = vec!["-shared", "--noinhibit-exec", "--no-warnings", "--unresolved-symbols=ignore-all"];
        arguments.extend(flags);
        arguments.extend([input.to_str().unwrap(), "-o", result.to_str().unwrap()]);
        output(&self.lld, &arguments);
        CodeObject::parse(std::fs::read(result).unwrap()).unwrap()
    }
    /// Links both objects statically, their sections at the given addresses. Gives the sections' bytes.
    fn executable(&self, places: &[(&str, u64)]) -> Vec<Vec<u8>> {
        let mut script = "fixed = 0x12345678;\nSECTIONS {\n".to_owned();
        for (index, (input, address)) in places.iter().enumerate() {
            script += &format!(" .s{index} {address:#x} : {{ {input} }}\n");
        }
        // The GOT has to go somewhere; its place does not matter.
        script += " .got 0x200000900000 : { *(.got) }\n}\n";
        let (file, result) = (self.path("script"), self.path("exe"));
        std::fs::write(&file, script).unwrap();
        let arguments = ["-no-pie", "--no-warnings", "-T", file.to_str().unwrap(), "-o", result.to_str().unwrap()];
        // The script calls them by these names.
        let mut command = std::process::Command::new(&self.lld);
        let done = command.current_dir(&self.dir).args(arguments).args(["a.o", "b.o"]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let objcopy = llvm_tool("llvm-objcopy").unwrap();
        let section = |index: usize| {
            let dump = self.path(&format!("dump{index}"));
            let what = format!("--dump-section=.s{index}={}", dump.to_str().unwrap());
            output(&objcopy, &[&what, result.to_str().unwrap(), "/dev/null"]);
            std::fs::read(dump).unwrap()
        };
        (0..places.len()).map(section).collect()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn section(loader: &MockLoader, id: ObjectId, name: &str) -> (u64, Vec<u8>) {
    let object = loader.object(id).unwrap();
    let section = object.object().section(name).unwrap();
    let address = object.address(section.vaddr);
    (address, loader.memory(address, section.size).unwrap().to_vec())
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Follows a GOTPCREL field of 32 bits (the loader's GOT is near), and then makes it zero.
fn follow(loader: &MockLoader, text: (u64, &mut Vec<u8>), field: (u64, u64, &str)) {
    let (at, addend, name) = field;
    let place = &mut text.1[at as usize..at as usize + 4];
    let value = i64::from(number(place) as u32 as i32);
    place.fill(0);
    if addend == 12 {
        // The upper half of a distance that fits the lower one.
        assert!(value == 0 || value == -1);
        return;
    }
    let slot = (text.0 + at).wrapping_add_signed(value).wrapping_sub(addend);
    let found = number(loader.memory(slot, 8).unwrap());
    assert_eq!(found, loader.symbol(name, None).unwrap().address, "the slot at {slot:#x}");
}

fn compare(name: &str, flags: &[&str]) {
    let Some(work) = Work::new(name) else { return };
    let (a, b) = (work.shared("a", flags), work.shared("b", flags));
    for (first, second) in [(&a, &b), (&b, &a)] {
        let mut loader = MockLoader::new();
        let first_id = loader.load(first.clone(), &LoadOptions::default()).unwrap();
        let second_id = loader.load(second.clone(), &LoadOptions::default()).unwrap();
        let (a, b) = if std::ptr::eq(first, &a) { (first_id, second_id) } else { (second_id, first_id) };
        loader.define("fixed", 0x1234_5678, 0, None, ExecutableId::default()).unwrap();
        loader.finalize().unwrap();
        assert!(loader.objects().iter().all(|o| o.got().is_none()), "lld has made the slots");

        let mut ours = [(a, ".text"), (a, ".data"), (b, ".text"), (b, ".data")].map(|(id, s)| section(&loader, id, s));
        let inputs = ["a.o(.text) a.o(.text.other)", "a.o(.data)", "b.o(.text)", "b.o(.data)"];
        let places: Vec<(&str, u64)> = inputs.into_iter().zip(ours.iter().map(|s| s.0)).collect();
        // lld places sections in the script's order, which may go down.
        let mut theirs = work.executable(&places);
        for (index, fields) in [(0, &GOT_A[..]), (2, &GOT_B[..])] {
            let (address, text) = (ours[index].0, &mut ours[index].1);
            for &field in fields {
                follow(&loader, (address, &mut *text), field);
                theirs[index][field.0 as usize..][..4].fill(0);
            }
        }
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert!(ours.1.len() >= theirs.len() && !theirs.is_empty());
            assert_eq!(ours.1[..theirs.len()], theirs[..], "{} at {:#x}", inputs[index], ours.0);
        }
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn static_records_and_dynamic_rela() {
    compare("rela", &["--emit-relocs"]);
}

#[luthier_needs::needs(llvm)]
#[test]
fn dynamic_rel() {
    compare("rel", &["--emit-relocs", "-z", "rel"]);
}

#[luthier_needs::needs(llvm)]
#[test]
fn the_gnu_hash_alone_and_no_hash_table() {
    compare("gnu", &["--emit-relocs", "--hash-style=gnu"]);
    compare("sysv", &["--emit-relocs", "--hash-style=sysv"]);
}

/// At base 0, a linked object's own static records change nothing: lld has applied them already.
#[luthier_needs::needs(llvm)]
#[test]
fn static_records_of_compiled_objects_are_applied_already() {
    let Some(clang) = llvm_tool("clang") else { return };
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("emit-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let source = "
        __constant int table[5] = {1, 2, 3, 4, 5};
        static __global int hidden_counter;
        __attribute__((visibility(\"default\"))) __global int shared_counter;
        __attribute__((noinline)) int helper(int x) { return table[x & 3] + hidden_counter; }
        __attribute__((noinline)) int chain(int x) { return helper(x) * helper(x + 1) + shared_counter; }
        kernel void work(__global int *out) { out[0] = chain(out[1]); hidden_counter = out[2]; }
        kernel void print(__global char *out) { __constant char *s = \"text\"; out[0] = s[out[1] & 3]; }";
    let (input, result) = (dir.join("in.cl"), dir.join("out"));
    std::fs::write(&input, source).unwrap();
    let mut counted = 0;
    for processor in ["gfx90a", "gfx942", "gfx1100", "gfx1201"] {
        for level in ["-O0", "-O2"] {
            let (processor, input, result) =
                (format!("-mcpu={processor}"), input.to_str().unwrap(), result.to_str().unwrap());
            let flags = ["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-w", "-cl-std=CL2.0", "-Wl,--emit-relocs", "-g"];
            output(&clang, &[&flags[..], &[level, &processor, input, "-o", result]].concat());
            let object = CodeObject::parse(std::fs::read(result).unwrap()).unwrap();
            let records = object.sections().iter().filter(|s| s.name.starts_with(".rela.text"));
            counted += records.map(|s| s.size / 24).sum::<u64>();
            let loader = MockLoader::single(object.clone(), 0).unwrap();
            let loaded = &loader.objects()[0];
            assert!(loaded.got().is_none());
            let text = object.section(".text").unwrap();
            assert_eq!(loaded.read(text.vaddr, text.size), object.read(text.vaddr, text.size), "{processor} {level}");
            // And at any other base: code is position independent.
            let loader = MockLoader::single(object.clone(), 0x7000_0000_0000).unwrap();
            let moved = loader.objects()[0].read(0x7000_0000_0000 + text.vaddr, text.size);
            assert_eq!(moved, object.read(text.vaddr, text.size), "{processor} {level}");
        }
    }
    assert!(counted > 30, "only {counted} static records");
    std::fs::remove_dir_all(&dir).unwrap();
}
