//! Export to text and import from it.

use std::collections::BTreeMap;

use ahash::AHashMap;
use ecs::{ComponentRegistry, Dangling, ImportLimits, World};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::data::{Pair, Place, Slots, Speed, row, shuffle, small};
use super::harness::{Clock, Table, Target};

const COUNT: usize = 10_000;

/// Two columns and names, by hand.
#[derive(Default)]
struct Plain {
    slots: Slots<u32>,
    ids: Vec<u32>,
    handles: Vec<String>,
    by_handle: AHashMap<String, super::data::Id>,
    places: Vec<Place>,
    speeds: Vec<Speed>,
}

impl Plain {
    fn push(&mut self, handle: String, place: Place, speed: Speed) {
        let id = self.slots.alloc(row(self.ids.len()));
        self.ids.push(id.index);
        self.by_handle.insert(handle.clone(), id);
        self.handles.push(handle);
        self.places.push(place);
        self.speeds.push(speed);
    }
}

#[derive(Serialize, Deserialize)]
struct Components {
    #[serde(rename = "PlaceComponent")]
    place: Place,
    #[serde(rename = "SpeedComponent")]
    speed: Speed,
}

#[derive(Serialize)]
struct EntityOut<'a> {
    #[serde(rename = "Components")]
    components: Components,
    #[serde(rename = "Handle")]
    handle: &'a str,
}

struct EntitiesOut<'a>(&'a Plain);

impl Serialize for EntitiesOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plain = self.0;
        let handles = plain.handles.iter().map(String::as_str);
        let mut sorted: Vec<(&str, usize)> = handles.zip(0..).collect();
        sorted.sort_unstable();
        let mut map = serializer.serialize_map(Some(sorted.len()))?;
        for (handle, row) in sorted {
            let (place, speed) = (plain.places[row], plain.speeds[row]);
            let components = Components { place, speed };
            map.serialize_entry(handle, &EntityOut { components, handle })?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct DocumentOut<'a> {
    #[serde(rename = "Entities")]
    entities: EntitiesOut<'a>,
}

#[derive(Deserialize)]
struct EntityIn {
    #[serde(rename = "Components")]
    components: Components,
    #[serde(rename = "Handle")]
    handle: String,
}

#[derive(Deserialize)]
struct DocumentIn {
    #[serde(rename = "Entities")]
    entities: BTreeMap<String, EntityIn>,
}

fn checksum(text: &[u8]) -> u64 {
    let sum = |sum: u64, byte: &u8| sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
    text.iter().fold(0, sum)
}

pub(crate) fn run(table: &Table) {
    let names = ["export 10k to text", "import 10k from text"];
    if !names.iter().any(|name| table.wants(name)) {
        return;
    }
    let mut order: Vec<usize> = (0..COUNT).collect();
    shuffle(&mut order);
    let mut plain = Plain::default();
    let mut world = World::new();
    for turn in order {
        let handle = format!("unit/{turn:06}");
        let pair = |x: f32| Pair { x, y: x + 0.5 };
        let (place, speed) = (Place(pair(small(turn))), Speed(pair(1.0)));
        let spawned = world.spawn_named(&handle, (place, speed));
        assert!(spawned.is_ok(), "the handle is free");
        plain.push(handle, place, speed);
    }
    let write = |plain: &Plain| {
        let mut text = Vec::new();
        let entities = EntitiesOut(plain);
        let written = serde_json::to_writer(&mut text, &DocumentOut { entities });
        assert!(written.is_ok(), "memory takes everything");
        text
    };
    let hand = |clock: &mut Clock| checksum(&clock.time(|| write(&plain)));
    let ours = |clock: &mut Clock| {
        checksum(&clock.time(|| {
            let mut text = Vec::new();
            let written = world.export_to(&mut text, Dangling::Null);
            assert!(written.is_ok(), "memory takes everything");
            text
        }))
    };
    table.pair(names[0], COUNT, Target::Absolute(600.0), hand, ours);

    let text = String::from_utf8(write(&plain)).unwrap_or_default();
    let types = ComponentRegistry::new().with::<Place>().with::<Speed>();
    let hand = |clock: &mut Clock| {
        let plain = clock.time(|| {
            let mut plain = Plain::default();
            let document = serde_json::from_str::<DocumentIn>(&text);
            for (handle, entity) in document.map(|d| d.entities).unwrap_or_default() {
                assert_eq!(handle, entity.handle, "the export names it twice");
                plain.push(handle, entity.components.place, entity.components.speed);
            }
            plain
        });
        checksum(&write(&plain))
    };
    let ours = |clock: &mut Clock| {
        let world = clock.time(|| {
            let mut world = World::new();
            let done = world.import_text(&types, &text, ImportLimits::default());
            assert!(done.is_ok(), "the export can be read back");
            world
        });
        checksum(world.export().to_string().as_bytes())
    };
    table.pair(names[1], COUNT, Target::None, hand, ours);
}
