//! Everything that lifting can be asked, of an object that may hold anything. The fuzz targets and the test `hostile`
//! share it.

use luthier_lifter::{ExecStates, Liveness, LoopForest, Mir, PendingLoads, Program, export};
use luthier_loader::CodeObject;

/// Lifts `bytes`, runs every analysis and prints every text. How many instructions there were; 0 if the object is refused.
///
/// # Panics
/// Something does not hold.
pub fn object(bytes: Vec<u8>) -> usize {
    let Ok(object) = CodeObject::parse(bytes) else { return 0 };
    let Ok(program) = Program::lift(&object) else { return 0 };
    for f in program.function_ids() {
        let (live, pending) = (Liveness::of(&program, f), PendingLoads::of(&program, f));
        let exec = ExecStates::of(&program, f);
        let loops = LoopForest::of(&program, f);
        for b in program.function(f).blocks.iter() {
            assert_eq!(live.points(b).iter().count() + 1, pending.points(b).len());
            assert_eq!(exec.points(b).len(), program.block(b).instrs.len());
            assert!(loops.of_block(b).is_none_or(|l| loops.contains(l, b)));
        }
        program.listing(f).for_each(|line| drop(line.to_string()));
        export::dot(&program, f);
    }
    serde_json::to_string(&export::document(&program, None)).unwrap();
    machine_code(&program);
    program.instrs().len()
}

/// Each function is in LLVM's text or left out for a reason, and each instruction of it is found again.
fn machine_code(program: &Program) {
    let all: Vec<_> = program.function_ids().collect();
    let mir = Mir::of(program, &all);
    assert_eq!(mir.functions.len() + mir.left_out.len(), all.len());
    for instr in mir.functions.iter().flat_map(|f| program.function_instrs(*f).iter()) {
        let place = mir.place(program, instr).expect("of a function that is in");
        assert_eq!(mir.instruction(program, place), Some(instr));
        assert!(mir.line(instr).is_some());
    }
}

/// Where in a good object its code is.
///
/// # Panics
/// It is not a good one.
#[allow(dead_code, reason = "the target `object` does without")]
pub fn text_range(bytes: &[u8]) -> std::ops::Range<usize> {
    let object = CodeObject::parse(bytes.to_vec()).unwrap();
    let text = object.section(".text").unwrap();
    text.offset as usize..(text.offset + text.size) as usize
}
