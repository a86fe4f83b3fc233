//! Windows over event time: `tumble`, and which group column is a window.
//!
//! ```text
//! group column -> followed down to the stream's columns -> tumble | date_bin | date_trunc | ts
//!                                                          start + width = the window's end
//! ```

mod key;
mod time;
mod tumble;

pub(crate) use key::{WindowKey, window_key};
pub(crate) use time::{EventTime, numbers};
pub use tumble::tumble_udf;
