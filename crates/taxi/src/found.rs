//! What a folder holds: nothing, a quarter of ours, or files from elsewhere.

use std::fs::File;
use std::path::Path;

use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, SerializedFileReader};

/// The names of the three trip files, in the order of their months.
pub const FILES: [&str; 3] = [
    "yellow_tripdata_2024-01.parquet",
    "yellow_tripdata_2024-02.parquet",
    "yellow_tripdata_2024-03.parquet",
];

/// The name of the zone lookup.
pub const LOOKUP: &str = "taxi_zone_lookup.csv";

/// Where a synthetic quarter came from; written into the metadata of its trip files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// Its size, 1 for the published one.
    pub scale: f64,
    /// What its chance was derived from.
    pub seed: u64,
}

/// What a folder holds of a quarter.
#[derive(Debug, Clone, PartialEq)]
pub enum Presence {
    /// Some or all of the files are not there.
    Missing(Vec<&'static str>),
    /// All files are there and the trips are synthetic, from one run's settings.
    Synthetic(Origin),
    /// All files are there; trips come from runs with different settings, and making the quarter again mends that.
    Mixed,
    /// All files are there, and some trip file was not made here: real data, as it seems.
    Foreign,
}

const NOTE_KEY: &str = "partwise.taxi.synthetic";
const NOTE: &str = "Synthetic trips, calibrated to published figures; not records of the TLC.";
const SCALE_KEY: &str = "partwise.taxi.scale";
const SEED_KEY: &str = "partwise.taxi.seed";

impl Origin {
    pub(crate) fn metadata(self) -> Vec<KeyValue> {
        vec![
            KeyValue::new(NOTE_KEY.into(), Some(NOTE.into())),
            KeyValue::new(SCALE_KEY.into(), Some(self.scale.to_string())),
            KeyValue::new(SEED_KEY.into(), Some(self.seed.to_string())),
        ]
    }

    /// The origin of a trip file, or `None` when it was not made here (or is no Parquet file).
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        let reader = SerializedFileReader::new(File::open(path).ok()?).ok()?;
        let entries = reader.metadata().file_metadata().key_value_metadata()?;
        let value = |key: &str| entries.iter().find(|entry| entry.key == key)?.value.clone();
        let scale = value(SCALE_KEY)?.parse().ok()?;
        let seed = value(SEED_KEY)?.parse().ok()?;
        Some(Self { scale, seed })
    }
}

/// What a folder holds of a quarter; a folder that is not there lacks every file.
pub fn present(dir: &Path) -> Presence {
    let is_missing = |name: &&'static str| !dir.join(name).is_file();
    let missing: Vec<_> = FILES.into_iter().chain([LOOKUP]).filter(is_missing).collect();
    if !missing.is_empty() {
        return Presence::Missing(missing);
    }
    match FILES.map(|name| Origin::of_file(&dir.join(name))) {
        [Some(a), Some(b), Some(c)] if a == b && b == c => Presence::Synthetic(a),
        [Some(_), Some(_), Some(_)] => Presence::Mixed,
        _ => Presence::Foreign,
    }
}
