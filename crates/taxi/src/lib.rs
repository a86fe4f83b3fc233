//! The calibrated taxi quarter: synthetic yellow taxi files that match published figures to the row and the cent.
//!
//! The trips are invented. Their schema, file names and shapes are those of the 2024 files of the New York City
//! Taxi & Limousine Commission, and so are their figures; the files say in their metadata that they are synthetic.
//!
//! ```text
//! Figures::at_scale        rows, buckets, cents per month
//!        |
//!      Plan                trips per (day, hour, zone), cents per day;        shape, apportion
//!        |                 rows that stand in the wrong file                  stragglers, guests
//!   rows of a day          drawn day by day, in parallel; their sum closed    trip, amounts, rows
//!        |
//!  .NAME.tmp-XXXXXX        no statistics, several row groups                  columns, write
//!        |
//!      NAME                moved into place when all four files are whole     stage
//!        |
//!      Survey              read back: measured figures, described shapes      survey, describe
//! ```
//!
//! - The same scale and seed give the same bytes, whatever the number of threads.
//! - Amounts are whole cents until they are written, and every total is the sum of its parts.
//! - A file that was not made here is never replaced.
//!
//! ```no_run
//! # fn main() -> Result<(), partwise_taxi::Error> {
//! use std::path::Path;
//! use partwise_taxi::{Figures, Progress, generate, measure};
//!
//! let made = generate(Path::new("data"), 0.02, Progress::Bar)?;
//! assert_eq!(made.figures, Figures::at_scale(0.02)?);
//! assert_eq!(made.figures, measure(Path::new("data"))?);
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]

mod amounts;
mod apportion;
mod calendar;
mod columns;
mod describe;
mod error;
mod figures;
mod found;
mod guests;
mod plan;
mod quarter;
mod random;
mod rows;
mod shape;
mod stage;
mod stragglers;
mod survey;
mod trip;
mod write;
mod zones;

pub use columns::schema;
pub use describe::describe;
pub use error::Error;
pub use figures::{Figures, MonthFigures, SCALES, SliceFigures};
pub use found::{FILES, LOOKUP, Origin, Presence, present};
pub use quarter::{Made, Quarter, SEED, generate};
pub use survey::measure;
pub use write::Progress;
