//! Nanoseconds that a wave's accesses to device memory take, by form: `memory_speed [NAME...]`. One thread; needs clang-22.

#[path = "../tests/support/mod.rs"]
mod support;

use luthier_emulator::{DeviceConfig, Strict};
use support::{hip, load_with};

const ROUNDS: u32 = 40;
const ITEMS: u32 = 1 << 18;

const KERNELS: &str = "
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x4 __attribute__((ext_vector_type(4)));
#define I (group_x * 256 + local_x)
KERNEL copy_1(const f32 *a, f32 *b) { b[I] = a[I]; }
KERNEL copy_2(const f32x2 *a, f32x2 *b) { b[I] = a[I]; }
KERNEL copy_4(const f32x4 *a, f32x4 *b) { b[I] = a[I]; }
KERNEL load_4(const f32x4 *a, f32 *b) { f32x4 v = a[I]; b[I] = v.x + v.y + v.z + v.w; }
KERNEL store_4(const f32 *a, f32x4 *b) { f32 v = a[I]; b[I] = (f32x4){v, v, v, v}; }
KERNEL shifted(const f32 *a, f32 *b) { b[I] = a[I + 1]; }
KERNEL stencil(const f32 *a, f32 *b) { b[I + 1] = a[I] + a[I + 1] + a[I + 2]; }
KERNEL strided(const f32 *a, f32 *b) { b[I] = a[2 * I] + a[3 * I]; }
KERNEL partial_4(const f32x4 *a, f32x4 *b) { if (I % 3) b[I] = a[I]; }
";

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let loaded = load_with(&hip(KERNELS, "-O3"), DeviceConfig { threads: 1, ..DeviceConfig::default() });
    let zeros = vec![0; 4 * ITEMS as usize + 4];
    let args = [0; 2].map(|_| loaded.buffer(&zeros));
    let names = KERNELS.split("KERNEL ").skip(1).filter_map(|text| text.split('(').next());
    for name in names.filter(|name| wanted.is_empty() || wanted.iter().any(|w| w == name)) {
        let run = || loaded.launch(name, [ITEMS, 1, 1], [256, 1, 1], &args, Strict::Off).expect("runs").seconds;
        let best = (0..ROUNDS).map(|_| run()).fold(f64::INFINITY, f64::min);
        println!("{:>10.1} ns a wave   {name}", best * 1e9 * 64.0 / f64::from(ITEMS));
    }
}
