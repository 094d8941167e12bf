//! AQL packets.
//!
//! Sources: the HSA Platform System Architecture Specification, 2.9 ("Architected Queuing Language"); ROCr's
//! `hsa_ext_amd.h` for AMD's own packets.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of any packet.
pub const SIZE: usize = 64;

/// Types of packets: the low byte of the header.
pub mod kind {
    /// AMD's own; its format is in the third byte.
    pub const VENDOR: u8 = 0;
    /// The place is taken, and the packet is not written yet.
    pub const INVALID: u8 = 1;
    pub const DISPATCH: u8 = 2;
    pub const BARRIER_AND: u8 = 3;
    pub const BARRIER_OR: u8 = 5;
}

/// Formats of AMD's packets.
pub mod format {
    /// A jump to PM4 packets.
    pub const PM4_IB: u8 = 1;
    pub const BARRIER_VALUE: u8 = 2;
    /// A dispatch that may be one of clusters.
    pub const CLUSTER_DISPATCH: u8 = 3;
}

/// The header of a dispatch that acquires and releases at system scope.
pub const SYSTEM_FENCES: u16 = 0b10 << 9 | 0b10 << 11;

/// A packet of whatever kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub struct Packet(pub [u8; SIZE]);

impl Packet {
    /// One of [`kind`], or a number that no kind has.
    pub fn kind(&self) -> u8 {
        self.0[0]
    }

    /// The [`format`](mod@format) of a vendor's packet.
    pub fn format(&self) -> u8 {
        self.0[2]
    }

    /// The same bytes as one of this module's layouts.
    pub fn read<T: Layout>(&self) -> T {
        T::of_bytes(self.0)
    }

    pub fn write<T: Layout>(&mut self, packet: T) {
        self.0 = packet.to_bytes();
    }

    /// The signal that counts down when the packet is done, or 0. All kinds have it in the same place.
    pub fn completion_signal(&self) -> u64 {
        self.read::<Barrier>().completion_signal
    }

    pub fn words(&self) -> [u64; 8] {
        zerocopy::transmute!(self.0)
    }

    pub fn set_words(&mut self, words: [u64; 8]) {
        self.0 = zerocopy::transmute!(words);
    }
}

/// `hsa_kernel_dispatch_packet_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Dispatch {
    pub header: u16,
    /// How many dimensions the grid has: bits 0 and 1.
    pub setup: u16,
    /// Work-items of a workgroup.
    pub workgroup: [u16; 3],
    pub reserved0: u16,
    /// Work-items in all.
    pub grid: [u32; 3],
    /// Bytes of scratch of a work-item, and of LDS of a workgroup.
    pub private: u32,
    pub group: u32,
    /// The address of the kernel's descriptor.
    pub kernel_object: u64,
    pub kernarg: u64,
    pub reserved2: u64,
    pub completion_signal: u64,
}

/// `hsa_amd_ext_kernel_dispatch_packet_t`: what launches clusters of workgroups (gfx1250).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ClusterDispatch {
    pub header: u16,
    pub format: u8,
    pub setup: u8,
    /// Work-items of a workgroup.
    pub workgroup: [u16; 3],
    pub reserved0: u16,
    /// Clusters in all: the first dimension, and the other two.
    pub clusters_x: u32,
    pub clusters_yz: [u16; 2],
    /// Workgroups of a cluster.
    pub cluster: [u8; 3],
    pub hint: u8,
    pub private: u32,
    pub group: u32,
    pub kernel_object: u64,
    pub kernarg: u64,
    /// A signal that has to be zero first, or 0.
    pub dependency: u64,
    pub completion_signal: u64,
}

/// `hsa_barrier_and_packet_t` and `hsa_barrier_or_packet_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Barrier {
    pub header: u16,
    pub reserved0: [u16; 3],
    /// Signals that the packet waits for: an AND barrier until all are zero, an OR barrier until one is; 0 for none.
    pub signals: [u64; 5],
    pub reserved2: u64,
    pub completion_signal: u64,
}

/// `hsa_amd_barrier_value_packet_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BarrierValue {
    pub header: u16,
    pub format: u8,
    pub reserved0: [u8; 5],
    pub signal: u64,
    pub value: i64,
    pub mask: i64,
    /// `hsa_signal_condition_t`: 0 equal, 1 not equal, 2 less, 3 at least.
    pub condition: u32,
    pub reserved1: u32,
    pub reserved2: [u64; 2],
    pub completion_signal: u64,
}

/// A jump to PM4 packets in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Pm4 {
    pub header: u16,
    pub format: u16,
    /// A PM4 packet that jumps.
    pub jump: [u32; 4],
    pub remaining: u32,
    pub reserved: [u32; 8],
    pub completion_signal: [u32; 2],
}

/// A layout of a packet's 64 bytes.
pub trait Layout: FromBytes + IntoBytes + Immutable + Copy {
    fn to_bytes(self) -> [u8; SIZE];
    fn of_bytes(bytes: [u8; SIZE]) -> Self;
}

macro_rules! layouts {
    ($($packet:ident)*) => {$(
        const _: () = assert!(size_of::<$packet>() == SIZE);
        impl Layout for $packet {
            fn to_bytes(self) -> [u8; SIZE] {
                zerocopy::transmute!(self)
            }
            fn of_bytes(bytes: [u8; SIZE]) -> Self {
                zerocopy::transmute!(bytes)
            }
        }
    )*};
}

layouts! { Dispatch ClusterDispatch Barrier BarrierValue Pm4 }

const _: () = assert!(std::mem::offset_of!(Dispatch, private) == std::mem::offset_of!(ClusterDispatch, private));
const _: () = assert!(std::mem::offset_of!(Dispatch, kernarg) == std::mem::offset_of!(ClusterDispatch, kernarg));
const _: () = assert!(std::mem::offset_of!(Barrier, completion_signal) == 56);
const _: () = assert!(std::mem::offset_of!(Dispatch, completion_signal) == 56);
const _: () = assert!(std::mem::offset_of!(BarrierValue, completion_signal) == 56);
const _: () = assert!(std::mem::offset_of!(Pm4, completion_signal) == 56);

/// How many dimensions a grid has, as a packet's setup says.
pub fn dimensions(grid: [u32; 3]) -> u16 {
    match grid {
        [_, _, z] if z > 1 => 3,
        [_, y, _] if y > 1 => 2,
        _ => 1,
    }
}

/// What a packet launches, if it launches anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Work-items in all, of a workgroup; workgroups of a cluster.
    pub grid: [u32; 3],
    pub workgroup: [u32; 3],
    pub cluster: [u32; 3],
}

impl Launch {
    pub fn of(packet: &Packet) -> Option<Launch> {
        match (packet.kind(), packet.format()) {
            (kind::DISPATCH, _) => {
                let packet: Dispatch = packet.read();
                Some(Launch { grid: packet.grid, workgroup: packet.workgroup.map(u32::from), cluster: [1; 3] })
            }
            (kind::VENDOR, format::CLUSTER_DISPATCH) => {
                let packet: ClusterDispatch = packet.read();
                let [y, z] = packet.clusters_yz.map(u32::from);
                let clusters = [packet.clusters_x, y, z];
                let (workgroup, cluster) = (packet.workgroup.map(u32::from), packet.cluster.map(u32::from));
                let grid = |i: usize| clusters[i].saturating_mul(cluster[i]).saturating_mul(workgroup[i]);
                Some(Launch { grid: std::array::from_fn(grid), workgroup, cluster })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_dispatch_are_where_the_specification_has_them() {
        let packet = Packet(std::array::from_fn(|i| i as u8));
        let found: Dispatch = packet.read();
        assert_eq!((found.header, found.setup), (0x0100, 0x0302));
        assert_eq!(found.workgroup, [0x0504, 0x0706, 0x0908]);
        assert_eq!(found.grid, [0x0f0e_0d0c, 0x1312_1110, 0x1716_1514]);
        assert_eq!((found.private, found.group), (0x1b1a_1918, 0x1f1e_1d1c));
        assert_eq!((found.kernel_object, found.kernarg), (0x2726_2524_2322_2120, 0x2f2e_2d2c_2b2a_2928));
        assert_eq!(packet.completion_signal(), 0x3f3e_3d3c_3b3a_3938);
    }

    #[test]
    fn fields_of_a_dispatch_of_clusters_are_where_rocr_has_them() {
        let packet = Packet(std::array::from_fn(|i| i as u8));
        let found: ClusterDispatch = packet.read();
        assert_eq!((found.format, found.setup, found.workgroup), (2, 3, [0x0504, 0x0706, 0x0908]));
        assert_eq!((found.clusters_x, found.clusters_yz), (0x0f0e_0d0c, [0x1110, 0x1312]));
        assert_eq!((found.cluster, found.hint, found.private), ([20, 21, 22], 23, 0x1b1a_1918));
        assert_eq!((found.kernel_object, found.dependency), (0x2726_2524_2322_2120, 0x3736_3534_3332_3130));
    }

    #[test]
    fn a_launch_of_clusters_counts_them() {
        let mut packet = Packet([0; SIZE]);
        packet.write(ClusterDispatch {
            format: format::CLUSTER_DISPATCH,
            workgroup: [32, 2, 1],
            clusters_x: 3,
            clusters_yz: [5, 1],
            cluster: [2, 4, 1],
            ..ClusterDispatch::default()
        });
        let launch = Launch::of(&packet).expect("it launches");
        assert_eq!((launch.grid, launch.workgroup, launch.cluster), ([192, 40, 1], [32, 2, 1], [2, 4, 1]));
        packet.write(Dispatch { header: kind::BARRIER_AND.into(), ..Dispatch::default() });
        assert_eq!(Launch::of(&packet), None);
    }
}
