//! Waits that placement inserts, taken away one at a time: where the checker finds nothing, strict mode finds nothing when
//! the kernel runs, so that the wait was there for a way of getting to the place that this kernel has not.

use luthier_emulator::{Device, DeviceConfig, Launch, Strict};
use luthier_isa::op::Op;
use luthier_isa::{Decoder, Mode};
use luthier_loader::CodeObject;

use super::kernels::BUFFER;
use crate::layout::chunk::Chunk;

/// What the device finds in strict mode.
pub fn findings(mode: Mode, object: &CodeObject) -> Result<usize, String> {
    let text = |e: luthier_emulator::EmuError| e.to_string();
    let device = Device::new(mode.target(), DeviceConfig { threads: 1, ..DeviceConfig::default() });
    let buffer = device.alloc(4096).map_err(text)?;
    assert_eq!(buffer, BUFFER, "the first allocation is where the kernel expects it");
    let module = device.load(object).map_err(text)?;
    let lanes = mode.wave().lanes();
    let launch = Launch {
        module,
        kernel: "busy".into(),
        grid: [lanes, 1, 1],
        workgroup: [lanes, 1, 1],
        kernarg: buffer.to_le_bytes().to_vec(),
        dynamic_lds: 0,
        strict: Strict::On,
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    };
    device.launch(&launch).map(|report| report.findings.len()).map_err(text)
}

/// Words of the chunk at which waits for dependencies or long `s_nop`s have been inserted.
pub fn inserted(mode: Mode, chunk: &Chunk) -> Vec<(u32, String)> {
    let decoder = Decoder::new(mode);
    let (mut found, mut word) = (Vec::new(), 0);
    while word < chunk.words.len() {
        let bytes: Vec<u8> = chunk.words[word..].iter().take(5).flat_map(|w| w.to_le_bytes()).collect();
        let Ok(inst) = decoder.decode(&bytes) else { break };
        let ours = chunk.origins.binary_search_by_key(&(word as u32), |o| o.0).is_err();
        let waits =
            inst.info().op() == Op::SWaitcntDepctr || inst.info().op() == Op::SNop && chunk.words[word] & 0xf != 0;
        if ours && waits {
            found.push((word as u32, inst.info().base.to_owned()));
        }
        word += inst.size() / 4;
    }
    found
}

/// The instrumented object with `s_nop 0` at a word of its one copy.
pub fn without(object: &CodeObject, word: u32) -> CodeObject {
    let section = object.section(".luthier.text").expect("it is instrumented");
    let symbol = object.symbols().iter().find(|s| s.name == "busy.instrumented").expect("the copy");
    let at = (section.offset + symbol.value - section.vaddr) as usize + 4 * word as usize;
    let mut bytes = object.bytes().to_vec();
    bytes[at..at + 4].copy_from_slice(&NOP.to_le_bytes());
    CodeObject::parse(bytes).expect("only an instruction has changed")
}

/// `s_nop 0`, on every processor.
pub const NOP: u32 = 0xbf80_0000;
