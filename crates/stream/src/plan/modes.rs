//! Which output mode goes with which query.

use crate::definition::{OutputMode, Watermark};
use crate::{Error, Result};

/// Whether a mode is allowed: `windowed` is none without an aggregate, else whether a group column
/// is a window over event time.
///
/// # Errors
/// The reason, and the ways on.
pub(super) fn check(
    mode: OutputMode,
    watermark: Option<&Watermark>,
    windowed: Option<bool>,
) -> Result<()> {
    match (mode, windowed) {
        (OutputMode::Complete, None) => Err(Error::invalid(
            "OUTPUT MODE complete gives out the whole result with each batch, and without an \
             aggregate that is every row there ever was: use append",
        )),
        (OutputMode::Append, Some(_)) if watermark.is_none() => Err(Error::invalid(
            "OUTPUT MODE append gives out rows that will never change, and without a watermark a \
             group can always change: declare WATERMARK FOR .. on the stream and group by \
             tumble(ts, INTERVAL ..), or use update or complete",
        )),
        (OutputMode::Append, Some(false)) => Err(Error::invalid(format!(
            "OUTPUT MODE append gives out a group once the watermark has passed its end, and none of \
             the group columns is a window over {}: group by tumble({0}, INTERVAL ..), or use update \
             or complete",
            watermark.map_or("the event time", |watermark| watermark.column.as_str())
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_table_of_modes() {
        let late = Watermark { column: "ts".to_owned(), delay: Duration::ZERO };
        let allowed = |mode, watermark: Option<&Watermark>, windowed| {
            check(mode, watermark, windowed).is_ok()
        };
        use OutputMode::{Append, Complete, Update};
        for watermark in [None, Some(&late)] {
            assert!(allowed(Append, watermark, None));
            assert!(allowed(Update, watermark, None));
            assert!(!allowed(Complete, watermark, None));
            for windowed in [Some(false), Some(true)] {
                assert!(allowed(Update, watermark, windowed));
                assert!(allowed(Complete, watermark, windowed));
                let closes = watermark.is_some() && windowed == Some(true);
                assert_eq!(allowed(Append, watermark, windowed), closes);
            }
        }
    }
}
