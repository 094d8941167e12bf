//! Origin maps: meaning, compactness, round trips.

mod support;

use luthier_loader::fuzz::Random;
use luthier_loader::{OriginMap, OriginMapBuilder};

#[test]
fn lookups_tell_original_inserted_and_outside() {
    let mut builder = OriginMap::builder();
    builder.range(0x2000, 0x2020).range(0x1000, 0x1010);
    builder.push(0x2008, 0x100).push(0x1000, 0x204).push(0x1008, 0x200);
    let map = builder.finish().unwrap();
    assert_eq!([map.origin(0x1000), map.origin(0x1004), map.origin(0x1008)], [Some(0x204), None, Some(0x200)]);
    assert_eq!([map.origin(0x2008), map.origin(0x3000), map.origin(0)], [Some(0x100), None, None]);
    let covered = [0xfff, 0x1000, 0x100f, 0x1010, 0x201f, 0x2020].map(|at| map.covers(at));
    assert_eq!(covered, [false, true, true, false, true, false]);
    let application = [0x1000, 0x1004, 0x1010, 0x2008].map(|at| map.is_application(at));
    assert_eq!(application, [true, false, true, true]);
    assert_eq!(OriginMap::decode(&map.encode()).unwrap(), map);
    let empty = OriginMapBuilder::default().finish().unwrap();
    assert_eq!(OriginMap::decode(&empty.encode()).unwrap(), empty);
    assert!(!empty.covers(0));
}

#[test]
fn a_stand_in_of_another_operation_has_the_originals_words() {
    let mut builder = OriginMap::builder();
    builder.range(0x1000, 0x1010).push(0x1000, 0x200).push(0x1008, 0x208);
    builder.other(0x1008, &[0xbeb6_0003]);
    let map = builder.clone().finish().unwrap();
    assert_eq!(map.original_words(0x1008), Some(&[0xbeb6_0003][..]));
    assert_eq!([map.original_words(0x1000), map.original_words(0x1004)], [None, None]);
    assert_eq!(OriginMap::decode(&map.encode()).unwrap(), map);
    for wrong in [(0x1004, 1), (0x1000, 0), (0x1000, 6), (0x1008, 1)] {
        let mut builder = builder.clone();
        builder.other(wrong.0, &vec![7; wrong.1]);
        assert!(builder.finish().unwrap_err().to_string().contains("stand-in"), "{wrong:?}");
    }
    let mut bytes = map.encode();
    let last = bytes.len() - 1;
    bytes.truncate(last);
    assert!(OriginMap::decode(&bytes).is_err());
}

#[test]
fn impossible_maps_are_refused() {
    let with = |edit: fn(&mut OriginMapBuilder) -> &mut OriginMapBuilder| {
        let mut builder = OriginMap::builder();
        builder.range(0x1000, 0x1010);
        edit(&mut builder);
        builder.finish().unwrap_err().to_string()
    };
    assert!(with(|b| b.push(0x1010, 0)).contains("outside"));
    assert!(with(|b| b.push(0xffc, 0)).contains("outside"));
    assert!(with(|b| b.push(0x1000, 0).push(0x1000, 4)).contains("two originals"));
    assert!(with(|b| b.range(0x100c, 0x1020)).contains("overlap"));
    assert!(with(|b| b.range(0x3000, 0x3000)).contains("empty"));
    assert!(with(|b| b.range(0x3000, u64::MAX)).contains("2^63"));
}

#[test]
fn random_maps_round_trip_and_stay_small() {
    let mut random = Random(77);
    for round in 0..200 {
        let mut builder = OriginMap::builder();
        let (mut new, mut original) = (random.number() >> 20, random.number() >> 20);
        let mut pairs = 0;
        for _ in 0..random.below(5) {
            new += random.below(1 << 20) as u64;
            let start = new;
            for _ in 0..random.below(1000) {
                builder.push(new, original);
                pairs += 1;
                let size = 4 + 4 * random.below(2) as u64;
                new += size + if round % 2 == 0 { 0 } else { 4 * random.below(6) as u64 };
                original = if random.below(50) == 0 { random.number() >> 20 } else { original + size };
            }
            new += 4;
            builder.range(start, new);
        }
        let map = builder.finish().unwrap();
        assert_eq!(map.pairs().len(), pairs);
        let bytes = map.encode();
        assert!(bytes.len() < 64 + 3 * pairs, "{} bytes for {pairs} pairs", bytes.len());
        assert_eq!(OriginMap::decode(&bytes).unwrap(), map);
    }
}
