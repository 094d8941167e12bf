//! Which texels a coordinate asks for. Whole textures: tests/device/test_textures.py and tests/driver/test_textures.py.

use super::*;

/// A sampler whose directions all have this CLAMP code, with a filter of points (0) or a linear one (1).
fn sampler(clamp: u32, filter: u32) -> Sampler {
    let words = [clamp | clamp << 3 | clamp << 6, 0, filter << 20 | filter << 22, 0];
    Sampler::of(words, Shape::D3).expect("is modelled")
}

#[test]
fn points_are_the_texel_below_a_coordinate_of_eight_bits() {
    let at = |clamp, x| sampler(clamp, 0).along(0, x, 8, false)[0].0;
    assert_eq!(at(2, 3.0), Some(3));
    assert_eq!(at(2, 3.99), Some(3));
    // Less than half a 256th below the next one.
    assert_eq!(at(2, 3.999), Some(4));
    assert_eq!(at(2, -1.0), Some(0));
    assert_eq!(at(2, 1e30), Some(7));
    assert_eq!(at(2, f32::NAN), Some(0));
    assert_eq!(at(6, -0.5), None);
    assert_eq!(at(6, 8.0), None);
}

#[test]
fn truncation_leaves_a_point_where_it_is() {
    let words = [2 | 1 << 27, 0, 0, 0];
    let sampler = Sampler::of(words, Shape::D1).expect("is modelled");
    assert_eq!(sampler.along(0, 3.999, 8, false)[0].0, Some(3));
}

#[test]
fn neighbours_at_the_edges_follow_the_mode() {
    let at = |clamp, x| sampler(clamp, 1).along(0, x, 4, true).map(|(texel, _)| texel);
    // Half a texel is an eighth: the middle of the left half of the first texel.
    assert_eq!(at(0, 0.0625), [Some(3), Some(0)]);
    assert_eq!(at(1, 0.0625), [Some(0), Some(0)]);
    assert_eq!(at(2, 0.0625), [Some(0), Some(0)]);
    assert_eq!(at(6, 0.0625), [None, Some(0)]);
    // A round and a mirror image later.
    assert_eq!(at(0, 1.25), [Some(0), Some(1)]);
    assert_eq!(at(1, 1.25), [Some(3), Some(2)]);
    assert_eq!(at(1, -0.25), [Some(1), Some(0)]);
}

#[test]
fn weights_are_256ths() {
    let weights = sampler(2, 1).along(0, 2.8, 8, false);
    assert_eq!(weights, [(Some(2), 256 - 77), (Some(3), 77)]);
}

#[test]
fn what_is_not_modelled_is_refused_by_the_fields_name() {
    let refused = |words: [u32; 4], shape| Sampler::of(words, shape).err().expect("is refused");
    for (words, field) in [
        ([3, 0, 0, 0], "CLAMP_X 3"),
        ([4 << 3, 0, 0, 0], "CLAMP_Y 4"),
        ([1 << 19, 0, 0, 0], "MC_COORD_TRUNC"),
        ([1 << 20, 0, 0, 0], "FORCE_DEGAMMA"),
        ([1 << 29, 0, 0, 0], "FILTER_MODE"),
        ([0, 0, 1 << 20, 0], "XY_MIN_FILTER 0 with XY_MAG_FILTER 1"),
        ([0, 0, 2 << 20 | 2 << 22, 0], "XY_MAG_FILTER 2"),
        ([6, 0, 0, 1 << 30], "BORDER_COLOR_TYPE 1"),
        ([1 << 27, 0, 5 << 20, 0], "TRUNC_COORD"),
    ] {
        assert!(refused(words, Shape::D2).contains(field), "{field}");
    }
    assert!(refused([0, 0, 1 << 24 | 5 << 20, 0], Shape::D3).contains("Z_FILTER 1"));
    // What another direction would be does not matter to an image without it.
    assert!(Sampler::of([3 << 3, 0, 0, 0], Shape::D1).is_ok());
}
