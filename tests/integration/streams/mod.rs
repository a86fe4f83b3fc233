//! Streams and streaming queries through the binary.
//!
//! | asks for more | |
//! |---|---|
//! | `PARTWISE_STREAM_KILLS=50` | kills of a query, over the run of its 60 files |

mod answers;
#[cfg(feature = "full")]
mod connectors;
mod ending;
mod instances;
mod kills;
mod refused;
mod secrets;
mod shared;
mod statements;

use crate::support::Folder;

/// A stream of the clicks that the tests put into `landing/`.
const CLICKS: &str = "CREATE STREAM clicks (user_id BIGINT, page STRING, ts TIMESTAMP, \
     WATERMARK FOR ts AS ts - INTERVAL '10 minutes') FROM FILES 'landing/' \
     OPTIONS ('format' 'csv', 'max_files_per_trigger' '1');";

/// Views of each page, kept up to date.
const VIEWS: &str = "START QUERY views OUTPUT MODE update TRIGGER AVAILABLE NOW CHECKPOINT 'ck/views/' \
     INTO TABLE views AS SELECT page, count(*) AS views FROM clicks GROUP BY page;";

/// Rows by the clock, counted by key until somebody stops it.
const ENDLESS: &str = "CREATE STREAM ticks FROM RATE OPTIONS ('rows_per_second' '1000'); \
     START QUERY ticking OUTPUT MODE complete TRIGGER EVERY '50 milliseconds' CHECKPOINT 'ck/ticking' \
     INTO TABLE ticks_by_key AS SELECT value % 3 AS k, count(*) AS n FROM ticks GROUP BY 1;";

/// A folder with files of clicks in `landing/`, each a list of `user,page,time`.
fn landed(files: &[&[&str]]) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("landing")).expect("a folder");
    files.iter().enumerate().for_each(|(number, clicks)| land(&folder, number, clicks));
    folder
}

/// Puts a file of clicks there.
fn land(folder: &Folder, number: usize, clicks: &[&str]) {
    let text = format!("user_id,page,ts\n{}\n", clicks.join("\n"));
    let landing = folder.path().join("landing");
    let hidden = landing.join(format!("_{number}.csv"));
    std::fs::write(&hidden, text).expect("a file");
    std::fs::rename(hidden, landing.join(format!("{number}.csv"))).expect("a rename");
}

/// Two files: three views of home, one of about.
fn two_files() -> Folder {
    landed(&[
        &["1,home,2024-01-01 00:00:00", "2,about,2024-01-01 00:01:00"],
        &["1,home,2024-01-01 00:05:00", "3,home,2024-01-01 00:06:00"],
    ])
}
