//! Which memory an instruction reaches, and how many bytes of it.

use crate::{Field, Flags, Format, Inst, OpcodeInfo};

/// How the address of a memory access is to be understood.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Space {
    /// A 64-bit address in one of the apertures: global memory, LDS or scratch, as it turns out.
    Flat,
    /// A 64-bit address of global memory. Scalar loads too.
    Global,
    /// An offset into the wave's or the lane's scratch memory.
    Scratch,
    /// The workgroup's local data share.
    Lds,
    /// The global data share.
    Gds,
    /// An offset into what a buffer resource describes.
    Buffer,
    /// Coordinates in an image resource.
    Image,
}

impl Space {
    pub const ALL: [Space; 7] =
        [Space::Flat, Space::Global, Space::Scratch, Space::Lds, Space::Gds, Space::Buffer, Space::Image];

    /// `flat`, `global`, `scratch`, `lds`, `gds`, `buffer`, `image`.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Flat => "flat",
            Space::Global => "global",
            Space::Scratch => "scratch",
            Space::Lds => "lds",
            Space::Gds => "gds",
            Space::Buffer => "buffer",
            Space::Image => "image",
        }
    }
}

/// A memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct MemoryAccess {
    pub space: Space,
    /// Bytes: for each lane that is on, of scalar instructions for the wave. Of the two places of `ds_read2_b32` and
    /// its like both; of a compare-and-swap what is in memory. `None` where the resource says it (images, typed
    /// buffers) and where no fixed number does.
    pub width: Option<u16>,
    pub reads: bool,
    pub writes: bool,
    /// Reads and writes as one.
    pub atomic: bool,
    /// The data go to LDS or come from there, not from registers. The rest says what happens to the other memory.
    pub lds: bool,
}

/// The places that an instruction accesses for each lane (of scalar instructions for the wave), in order: one, or two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    places: [MemoryAccess; 2],
    count: usize,
}

impl std::ops::Deref for Places {
    type Target = [MemoryAccess];

    fn deref(&self) -> &[MemoryAccess] {
        &self.places[..self.count]
    }
}

impl Inst {
    /// The places that the instruction accesses, each with an address and a width of its own: two of `ds_read2_b32` and
    /// its like; of a transfer between memory and LDS the one in memory, then the one in LDS.
    ///
    /// `None` if it accesses no memory, or as many places as something else than the instruction says: texels of an image,
    /// nodes of a tree of volumes, the elements of a tensor's tile, and the two operands of `ds_add_src2_u32` and its like,
    /// which may be one.
    pub fn accesses(&self) -> Option<Places> {
        let access = self.memory()?;
        let info = self.info();
        if access.space == Space::Image
            || info.format == Format::Tensor
            || info.base.contains("_src2_")
            || info.base.contains("bvh")
        {
            return None;
        }
        if access.lds {
            // What is narrower than a word is extended to one in LDS; not so by asynchronous copies.
            let least = if info.base.contains("async") { 1 } else { 4 };
            let (width, reads) = (access.width.map(|bytes| bytes.max(least)), access.writes);
            let inside = MemoryAccess { space: Space::Lds, width, reads, writes: !reads, atomic: false, lds: false };
            return Some(Places { places: [access, inside], count: 2 });
        }
        if self.is_pair() {
            let one = MemoryAccess { width: access.width.map(|bytes| bytes / 2), ..access };
            return Some(Places { places: [one; 2], count: 2 });
        }
        Some(Places { places: [access; 2], count: 1 })
    }

    /// It accesses two places of LDS, each with an offset of its own.
    fn is_pair(&self) -> bool {
        self.info().flags.contains(Flags::DS) && names_a_pair(self.info().base)
    }

    /// The memory that the instruction reads or writes. `None` for all others: those that only move data between lanes,
    /// wait, or look after caches.
    pub fn memory(&self) -> Option<MemoryAccess> {
        let mut access = of_opcode(self.info())?;
        if access.space == Space::Lds && self.field(Field::Gds) == Some(1) {
            access.space = Space::Gds;
        }
        access.lds |= access.space == Space::Buffer && self.field(Field::Lds) == Some(1);
        if access.lds {
            // The tables count both sides.
            access.writes = self.info().base.contains("store");
            access.reads = !access.writes;
        }
        Some(access)
    }

    /// Whether it is an image atomic that does not return what was in memory: a bit says so. (Other atomics have opcodes
    /// of their own for that.)
    pub fn discards_result(&self) -> bool {
        const RETURN: u32 = 1;
        let flags = self.info().flags;
        flags.contains(Flags::MIMG | Flags::ATOMIC)
            && self.field(Field::Glc).or(self.field(Field::TemporalHint)).is_some_and(|bits| bits & RETURN == 0)
    }
}

/// What the opcode alone says.
fn of_opcode(info: &OpcodeInfo) -> Option<MemoryAccess> {
    let (flags, base) = (info.flags, info.base);
    let (reads, writes) = (flags.contains(Flags::LOAD), flags.contains(Flags::STORE));
    let space = if flags.contains(Flags::DS) || info.format == Format::Ldsdir {
        Space::Lds
    } else if flags.contains(Flags::SCRATCH) || base.starts_with("s_scratch_") {
        Space::Scratch
    } else if flags.contains(Flags::GLOBAL) || info.format == Format::Tensor {
        Space::Global
    } else if flags.contains(Flags::FLAT) {
        Space::Flat
    } else if flags.intersects(Flags::MUBUF | Flags::MTBUF) || base.starts_with("s_buffer_") {
        Space::Buffer
    } else if flags.contains(Flags::MIMG) {
        Space::Image
    } else if flags.contains(Flags::SMEM) {
        Space::Global
    } else {
        return None;
    };
    // The tables go by what LLVM must not reorder: global wave synchronisation stands there as an access.
    if !(reads || writes)
        || base.starts_with("s_waitcnt")
        || base.contains("_gws_")
        || base.contains("prefetch")
        || base == "tensor_stop"
    {
        return None;
    }
    let atomic = flags.contains(Flags::ATOMIC);
    let lds = base.split('_').skip(1).any(|part| part == "lds");
    let width = if info.format == Format::Ldsdir { Some(4) } else { width(space, base, atomic) };
    Some(MemoryAccess { space, width, reads, writes, atomic, lds })
}

fn width(space: Space, base: &str, atomic: bool) -> Option<u16> {
    let parts = || base.split('_');
    let has = |part: &str| parts().any(|other| other == part);
    if space == Space::Image || has("format") || has("block") || has("bvh") {
        return None;
    }
    if has("append") || has("consume") || base.starts_with("ds_ordered_count") || has("pk") {
        return Some(4);
    }
    match parts().find_map(of_part) {
        // Two places, with an offset each.
        Some(one) if space == Space::Lds && names_a_pair(base) => Some(2 * one),
        Some(one) => Some(one),
        None if atomic && has("x2") => Some(8),
        // The older names of 32-bit atomics leave the type out.
        None if atomic => Some(4),
        None => None,
    }
}

/// `ds_read2_b32`, `ds_write2st64_b64`, `ds_wrxchg2_rtn_b32`, `ds_load_2addr_b32`, `ds_storexchg_2addr_stride64_rtn_b64`.
fn names_a_pair(base: &str) -> bool {
    let pair = |part: &str| ["read2", "write2", "wrxchg2"].iter().any(|pair| part.starts_with(pair));
    base.split('_').any(|part| part == "2addr") || base.split('_').nth(1).is_some_and(pair)
}

/// The bytes that a part of a name stands for.
fn of_part(part: &str) -> Option<u16> {
    match part {
        "ubyte" | "sbyte" | "byte" => return Some(1),
        "ushort" | "sshort" | "short" => return Some(2),
        "dword" => return Some(4),
        _ => {}
    }
    if let Some(count) = part.strip_prefix("dwordx") {
        return count.parse().ok().map(|count: u16| 4 * count);
    }
    // b128, u8, f64; a D16 says where in the register the data are.
    let digits = part.strip_prefix(['b', 'u', 'i', 'f'])?;
    digits.parse().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64 | 96 | 128 | 256 | 512)).map(|bits: u16| bits / 8)
}
