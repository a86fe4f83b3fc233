//! `VACUUM t`: what is past the retention, and what crashes left.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use datafusion::execution::context::SessionState;
use partwise_commit::{Vacuum as Wanted, Vacuumed, Waste, WasteKind};
use partwise_table::config::PartwiseConfig;

use super::Planned;
use crate::report::{bytes, counted};
use crate::statement::Vacuum;
use crate::{Result, lookup, token};

/// Removes, or says what would be removed: a row for each thing.
///
/// # Errors
/// A table that other writers keep, or that can't be read.
pub async fn vacuum(state: &SessionState, vacuum: &Vacuum) -> Result<Planned> {
    let name = lookup::reference(&vacuum.table.to_string());
    let provider = lookup::changed(state, &name).await?;
    let table = lookup::ours(&vacuum.table, &provider)?;
    let config = PartwiseConfig::of(state.config_options());
    let wanted = Wanted {
        retain: vacuum.retain,
        dry_run: vacuum.dry_run,
        statement: token::text(state),
        lock_timeout: config.lock_timeout,
    };
    let done = table.table().vacuum(&wanted).await?;
    let message = message(&done, vacuum.dry_run);
    Ok(Planned::Told { rows: rows(&done.removed)?, message, warnings: done.warnings })
}

fn rows(removed: &[Waste]) -> Result<RecordBatch> {
    let kinds = removed.iter().map(|waste| kind(waste.kind));
    let paths = removed.iter().map(|waste| waste.path.as_str());
    let sizes = removed.iter().map(|waste| waste.bytes);
    Ok(RecordBatch::try_from_iter([
        ("kind", Arc::new(StringArray::from_iter_values(kinds)) as ArrayRef),
        ("path", Arc::new(StringArray::from_iter_values(paths))),
        ("bytes", Arc::new(UInt64Array::from_iter_values(sizes))),
    ])?)
}

fn kind(kind: WasteKind) -> &'static str {
    match kind {
        WasteKind::Retained => "retained",
        WasteKind::Orphan => "orphan",
        WasteKind::Staging => "staging",
        WasteKind::Record => "record",
    }
}

/// `removed 3 things, 1.1 MB; versions before 4 can't be read or restored any more`.
fn message(done: &Vacuumed, dry_run: bool) -> String {
    let (did, can) = match dry_run {
        true => ("would remove", "couldn't be read or restored any more"),
        false => ("removed", "can't be read or restored any more"),
    };
    if done.removed.is_empty() {
        return "nothing to remove".to_owned();
    }
    let things = counted(done.removed.len() as u64, "thing");
    let lost =
        oldest_left(&done.removed).map(|version| format!("; versions before {version} {can}"));
    format!("{did} {things}, {}{}", bytes(done.bytes()), lost.unwrap_or_default())
}

/// The oldest version that the rest still tells: what a version replaced is what the one before it
/// had.
fn oldest_left(removed: &[Waste]) -> Option<u64> {
    let told = removed.iter().filter_map(|waste| match waste.kind {
        WasteKind::Retained => waste.path.split('/').nth(1)?.parse().ok(),
        WasteKind::Record => waste.record_version().map(|version| version + 1),
        WasteKind::Orphan | WasteKind::Staging => None,
    });
    told.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waste(kind: WasteKind, path: &str) -> Waste {
        Waste { kind, path: path.to_owned(), bytes: 500 }
    }

    #[test]
    fn what_is_lost_is_said() {
        let removed = vec![
            waste(WasteKind::Retained, "retained/4/p=a/x.parquet"),
            waste(WasteKind::Record, "log/00000000000000000002.json"),
        ];
        let done = Vacuumed { removed, warnings: vec![] };
        let said = "removed 2 things, 1.0 kB; versions before 4 can't be read or restored any more";
        assert_eq!(message(&done, false), said);
        let orphan =
            Vacuumed { removed: vec![waste(WasteKind::Orphan, "purged")], warnings: vec![] };
        assert_eq!(message(&orphan, true), "would remove 1 thing, 500 B");
        assert_eq!(message(&Vacuumed::default(), true), "nothing to remove");
    }
}
