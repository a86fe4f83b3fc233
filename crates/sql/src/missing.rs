//! A table that isn't there: the error says where it was looked for, and what there is.

use datafusion::common::utils::datafusion_strsim::levenshtein;

use datafusion::execution::context::SessionState;

use crate::lake::LakeSchema;
use crate::{Error, lookup};

/// Tables that the error lists; beyond, they are counted.
const LISTED: usize = 20;

/// The error for a name that no table has.
pub(crate) async fn no_table(state: &SessionState, name: &str) -> Error {
    let schema = state.schema_for_ref(lookup::reference(name)).ok();
    let lake = schema.as_ref().and_then(|schema| schema.as_ref().downcast_ref::<LakeSchema>());
    if let Some(lake) = lake {
        // What can't be listed isn't; the name is missing all the same.
        let _ = lake.refresh().await;
    }
    let known = schema.as_ref().map(|schema| schema.table_names()).unwrap_or_default();
    let place = lake.and_then(|lake| lake.lake().describe());
    Error::invalid(message(name, place.as_deref(), &known))
}

/// The planner's error, made to say what there is where it only says that a table isn't.
pub(crate) async fn with_names(state: &SessionState, error: Error) -> Error {
    let message = error.to_string();
    let name = message.strip_prefix("table '").and_then(|rest| rest.strip_suffix("' not found"));
    match name {
        Some(name) => error.saying(no_table(state, name).await.to_string()),
        None => error,
    }
}

fn message(name: &str, place: Option<&str>, known: &[String]) -> String {
    let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
    let missing = format!("table '{name}' not found{place}");
    if known.is_empty() {
        return format!("{missing}, nor any other: CREATE TABLE makes one");
    }
    match near(name, known) {
        Some(near) if known.len() == 1 => format!("{missing}; did you mean {near}?"),
        Some(near) => format!("{missing}; did you mean {near}? There are {}", list(known)),
        None => format!("{missing}; there {} {}", is_or_are(known), list(known)),
    }
}

fn is_or_are(known: &[String]) -> &'static str {
    if known.len() == 1 { "is" } else { "are" }
}

fn list(known: &[String]) -> String {
    let listed = known[..known.len().min(LISTED)].join(", ");
    match known.len().saturating_sub(LISTED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// The table whose name differs least, if it differs little.
fn near<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let name = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let may_differ = (name.chars().count() / 3).max(1);
    known
        .iter()
        .map(|table| (levenshtein(&name, &table.to_lowercase()), table.as_str()))
        .filter(|(distance, _)| *distance <= may_differ)
        .min()
        .map(|(_, table)| table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_slip_of_the_keys_is_recognized() {
        let said = message("reprot", Some("the lake x"), &known(&["modes", "report"]));
        let expected =
            "table 'reprot' not found in the lake x; did you mean report? There are modes, report";
        assert_eq!(said, expected);
        let said = message("public.Reports", None, &known(&["report"]));
        assert_eq!(said, "table 'public.Reports' not found; did you mean report?");
    }

    #[test]
    fn what_there_is_is_listed_up_to_a_point() {
        assert!(message("x", None, &[]).ends_with("CREATE TABLE makes one"));
        assert!(message("nosuch", None, &known(&["report"])).ends_with("there is report"));
        let many: Vec<String> = (0..30).map(|n| format!("table_{n:02}")).collect();
        let said = message("nosuch", None, &many);
        assert!(said.ends_with("table_19 and 10 more"), "{said}");
    }
}
