//! Instructions of the host, one after the other, and jumps to places that are yet to come.

use iced_x86::{Code, Encoder, IcedError, Instruction};

use super::TooLarge;

/// Code that is being written.
pub struct Assembler {
    encoder: Encoder,
    /// Bytes so far.
    pub at: usize,
    /// Where jumps end that lead onwards, and to where.
    jumps: Vec<(usize, usize)>,
}

/// A jump onwards, as a number.
#[derive(Clone, Copy)]
pub struct Jump(usize);

impl Assembler {
    pub fn new() -> Assembler {
        Assembler { encoder: Encoder::new(64), at: 0, jumps: Vec::new() }
    }

    pub fn put(&mut self, instruction: Result<Instruction, IcedError>) -> Result<(), TooLarge> {
        let instruction = instruction.map_err(|_| TooLarge)?;
        self.at += self.encoder.encode(&instruction, self.at as u64).map_err(|_| TooLarge)?;
        Ok(())
    }

    /// A jump to a place that is yet to come.
    pub fn jump(&mut self, code: Code) -> Result<Jump, TooLarge> {
        self.put(Instruction::with_branch(code, self.at as u64))?;
        self.jumps.push((self.at, self.at));
        Ok(Jump(self.jumps.len() - 1))
    }

    /// This is the place.
    pub fn land(&mut self, jump: Jump) {
        self.jumps[jump.0].1 = self.at;
    }

    pub fn finish(mut self) -> Vec<u8> {
        let mut bytes = self.encoder.take_buffer();
        for (end, target) in self.jumps {
            bytes[end - 4..end].copy_from_slice(&(target as i32 - end as i32).to_le_bytes());
        }
        bytes
    }

    pub fn data(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.encoder.write_u8(byte);
        }
        self.at += bytes.len();
    }
}
