//! What lies near an address, for people.

use luthier_emulator::memory::{PRIVATE_BASE, SHARED_BASE};

use super::{Memory, lock};
use crate::abi::pointer;

impl Memory {
    /// What an address is to a node's GPU, in words that go on from "it is" or "it lies".
    pub fn describe(&self, address: u64, node: u32) -> String {
        let table = lock(&self.table);
        let bit = 1u64 << node;
        let name = |start: u64, len: u64, of: u32, kind: u32| {
            let what = match kind {
                pointer::REGISTERED => "registered host memory".into(),
                pointer::SHARED => "memory of another process".into(),
                _ if self.config.is_gpu(of) => format!("memory of GPU {}", of.saturating_sub(1)),
                _ => "host memory for GPUs".into(),
            };
            format!("the {len} bytes of {what} at {start:#x}")
        };
        if let Some((start, b)) = table.block_at(address) {
            let what = name(start, b.asked, b.node, b.kind);
            return match b.mapped & bit {
                _ if address >= start + b.asked => {
                    format!("{} bytes past the end of {what}", address - (start + b.asked))
                }
                0 => format!("{} bytes into {what}, which this GPU has no access to", address - start),
                _ => format!("{} bytes into {what}", address - start),
            };
        }
        if let Some((start, placed)) = table.apart.placed_at(address) {
            let what = format!("the {} bytes of mapped memory of GPU {}", placed.len, placed.node.saturating_sub(1));
            let access = if placed.mapped & bit == 0 { ", which this GPU has no access to" } else { "" };
            return format!("{} bytes into {what} at {start:#x}{access}", address - start);
        }
        if let Some((start, reserved)) = table.apart.reserved_at(address) {
            let (into, len) = (address - start, reserved.len);
            return format!("{into} bytes into {len} reserved addresses at {start:#x}, where no memory is mapped");
        }
        if let Some((start, r)) = table.registered_at(address) {
            let what = name(start, r.len, 0, pointer::REGISTERED);
            let into =
                [start, r.gpu_address(start)].map(|first| address.wrapping_sub(first)).into_iter().min().unwrap_or(0);
            return format!("{into} bytes into {what}");
        }
        if let Some(&(start, len)) = table.freed.iter().rev().find(|(start, len)| address.wrapping_sub(*start) < *len) {
            return format!("{} bytes into {len} bytes at {start:#x} that were freed", address - start);
        }
        match address >> 32 {
            high if high == SHARED_BASE >> 32 => return "in the aperture of LDS".into(),
            high if high == PRIVATE_BASE >> 32 => return "in the aperture of scratch memory".into(),
            _ => {}
        }
        if address < 4096 {
            return "next to the null pointer".into();
        }
        let before = table.blocks.range(..=address).next_back().map(|(s, b)| (*s, b.asked, b.node, b.kind));
        let after = table.blocks.range(address..).next().map(|(s, b)| (*s, b.asked, b.node, b.kind));
        let behind = before.map(|b| (address - (b.0 + b.1), b)).filter(|(far, _)| *far < 1 << 30);
        let ahead = after.map(|a| (a.0 - address, a)).filter(|(far, _)| *far < 1 << 30);
        match (behind, ahead) {
            (Some((far, b)), ahead) if ahead.is_none_or(|(other, _)| far <= other) => {
                format!("{far} bytes past the end of {}", name(b.0, b.1, b.2, b.3))
            }
            (_, Some((far, a))) => format!("{far} bytes before {}", name(a.0, a.1, a.2, a.3)),
            _ => "near nothing that was allocated".into(),
        }
    }
}
