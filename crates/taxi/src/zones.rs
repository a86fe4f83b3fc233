//! The 265 taxi zones: where they lie, how busy they are, and the lookup file that names them.
//!
//! Numbers and boroughs are those of the city's own list, so that real trip files join with this lookup;
//! the zone names are invented.

use std::fmt::Write;

use crate::random::mix;

/// Zones are numbered from 1 to this.
pub(crate) const ZONES: usize = 265;

pub(crate) const LAGUARDIA: u16 = 138;
pub(crate) const KENNEDY: u16 = 132;

/// One letter per zone: `M` Manhattan (`m` where green cabs serve it too), `K` Brooklyn, `Q` Queens, `A` its airports,
/// `X` the Bronx, `S` Staten Island, `E` Newark airport, `U` unknown, `N` outside the city.
const MAP: [&str; 5] = [
    "EQXMSSQQQQKMMKQQKXQXKKSMKKQQKQXXKKKKKQKKmmMSMXXMKMXKQ",
    "KKQQXXXKKKQKKKMXQKKQmmKKXMKXQQSKQMMKMKQQXQQKQSMQQMMMK",
    "MKSSKKMMSmQSXmQQKQMXmmQQQAKQQXMAQMMMMMQQXMKKMmmKKSQMX",
    "QMMMMKmXXXMQSQXQSKKQQKXXXXMSKKKQQQMKQQQXXQmQSQSQXMKMX",
    "XSQQKQQXSKQMKQKKMMMMMMXMMMMXXXmmSMXXMXSQQXKKKQXQMMMUN",
];

/// A part of the city with its own rhythm and distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Manhattan,
    Airport,
    Queens,
    Brooklyn,
    Bronx,
    StatenIsland,
    Newark,
    Unknown,
    Outside,
}

impl Place {
    /// The place of a zone (1 to [`ZONES`]).
    pub fn of(zone: u16) -> Self {
        match letter(zone) {
            b'M' | b'm' => Self::Manhattan,
            b'A' => Self::Airport,
            b'Q' => Self::Queens,
            b'K' => Self::Brooklyn,
            b'X' => Self::Bronx,
            b'S' => Self::StatenIsland,
            b'E' => Self::Newark,
            b'U' => Self::Unknown,
            _ => Self::Outside,
        }
    }

    pub fn borough(self) -> &'static str {
        match self {
            Self::Manhattan => "Manhattan",
            Self::Airport | Self::Queens => "Queens",
            Self::Brooklyn => "Brooklyn",
            Self::Bronx => "Bronx",
            Self::StatenIsland => "Staten Island",
            Self::Newark => "EWR",
            Self::Unknown => "Unknown",
            Self::Outside => "N/A",
        }
    }

    /// Trips that start or end here pay the congestion surcharge.
    pub fn is_congested(self) -> bool {
        self == Self::Manhattan
    }
}

fn letter(zone: u16) -> u8 {
    let index = usize::from(zone) - 1;
    MAP[index / 53].as_bytes()[index % 53]
}

/// The busy zones and their pickups, per thousand of all trips (about).
#[rustfmt::skip]
const BUSY: [(u16, f64); 63] = [
    (132, 49.), (161, 48.5), (237, 48.), (236, 46.), (162, 36.), (230, 36.), (186, 35.), (142, 35.), (138, 30.),
    (170, 30.), (163, 29.), (239, 28.5), (79, 27.), (234, 26.), (68, 26.), (48, 25.5), (141, 25.), (164, 23.),
    (249, 23.), (107, 21.5), (238, 21.), (140, 20.5), (229, 20.), (263, 19.5), (246, 17.5), (90, 17.5), (231, 16.),
    (233, 15.5), (262, 15.), (43, 14.5), (113, 14.), (148, 13.5), (114, 13.), (143, 13.), (144, 12.), (137, 12.),
    (100, 12.), (75, 11.5), (50, 10.5), (151, 9.), (158, 8.5), (211, 7.5), (87, 6.5), (166, 5.5), (13, 5.5),
    (125, 5.), (261, 4.5), (74, 4.5), (224, 4.), (24, 3.5), (41, 3.5), (232, 3.5), (88, 2.5), (42, 2.3),
    (45, 2.), (4, 2.), (264, 4.), (209, 1.5), (116, 1.5), (244, 1.3), (265, 1.1), (152, 1.), (12, 0.6),
];

/// The tail: what its busiest zone carries, how fast it falls, and where the fall begins to show.
const TAIL_TOP: f64 = 2.2;
const TAIL_FALL: f64 = 1.35;
const TAIL_SHOULDER: f64 = 9.0;

/// A zone's share of pickups, relative to the other zones.
pub(crate) fn popularity(zone: u16) -> f64 {
    if let Some((_, share)) = BUSY.iter().find(|(busy, _)| *busy == zone) {
        return *share;
    }
    let quieter = |other: &u16| mix(u64::from(*other)) < mix(u64::from(zone));
    let rank = (1..=ZONES as u16).filter(quieter).count() as f64;
    tail_share(Place::of(zone)) * TAIL_TOP * (1.0 + rank / TAIL_SHOULDER).powf(-TAIL_FALL)
}

/// Yellow cabs are rare where green ones cruise, and hardly seen beyond the harbour.
fn tail_share(place: Place) -> f64 {
    match place {
        Place::Manhattan | Place::Brooklyn | Place::Queens => 1.0,
        Place::Bronx => 0.5,
        Place::Newark => 0.2,
        _ => 0.04,
    }
}

/// The lookup file: `LocationID,Borough,Zone,service_zone`, one line per zone.
pub(crate) fn lookup_csv() -> String {
    let mut csv = String::from("LocationID,Borough,Zone,service_zone\n");
    for zone in 1..=ZONES as u16 {
        let (borough, name, service) = (Place::of(zone).borough(), name(zone), service(zone));
        // Writing to a string cannot fail.
        let _ = writeln!(csv, "{zone},\"{borough}\",\"{name}\",\"{service}\"");
    }
    csv
}

fn service(zone: u16) -> &'static str {
    match letter(zone) {
        b'M' => "Yellow Zone",
        b'A' => "Airports",
        b'E' => "EWR",
        b'U' | b'N' => "N/A",
        _ => "Boro Zone",
    }
}

#[rustfmt::skip]
const FIRST: [&str; 33] = [
    "Alder", "Amber", "Ashen", "Barley", "Beacon", "Birch", "Bramble", "Cinder", "Clover", "Copper", "Cormorant",
    "Drift", "Ember", "Fennel", "Flint", "Garnet", "Hazel", "Heron", "Indigo", "Juniper", "Kestrel", "Lantern",
    "Linden", "Marten", "Nettle", "Otter", "Pewter", "Quarry", "Rowan", "Saffron", "Thistle", "Umber", "Willow",
];
const SECOND: [&str; 8] = ["Quay", "Rise", "Fields", "Cross", "Row", "Mill", "Wharf", "Terrace"];

fn name(zone: u16) -> String {
    match zone {
        1 => "Far Shore Airport".into(),
        KENNEDY => "Bay Airport".into(),
        LAGUARDIA => "Sound Airport".into(),
        264 => "Not Recorded".into(),
        265 => "Beyond the City".into(),
        _ => {
            let index = usize::from(zone);
            format!("{} {}", FIRST[index % 33], SECOND[index / 33])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn the_lookup_has_the_real_ones_shape() {
        let csv = lookup_csv();
        let mut boroughs = BTreeMap::<&str, usize>::new();
        let mut names = BTreeSet::new();
        for line in csv.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').map(|field| field.trim_matches('"')).collect();
            assert_eq!(fields.len(), 4, "{line}");
            *boroughs.entry(fields[1]).or_default() += 1;
            names.insert(fields[2]);
        }
        assert_eq!(csv.lines().count(), 1 + ZONES);
        assert_eq!(names.len(), ZONES, "names are unique");
        let counts: Vec<_> = boroughs.into_iter().collect();
        let expected = [
            ("Bronx", 43),
            ("Brooklyn", 61),
            ("EWR", 1),
            ("Manhattan", 69),
            ("N/A", 1),
            ("Queens", 69),
            ("Staten Island", 20),
            ("Unknown", 1),
        ];
        assert_eq!(counts, expected);
        assert!(csv.contains("264,\"Unknown\"") && csv.contains("265,\"N/A\""));
    }
}
