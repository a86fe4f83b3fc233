//! A directory as it is on disk, byte for byte, to be compared.

use std::collections::BTreeMap;
use std::path::Path;

/// Every file below a folder by its path in it; directories have no bytes.
pub fn tree(dir: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    walk(dir, dir, &mut found);
    found
}

fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, Option<Vec<u8>>>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root).expect("below the root").display().to_string();
        if path.is_dir() {
            found.insert(format!("{name}/"), None);
            walk(root, &path, found);
        } else {
            match std::fs::read(&path) {
                Ok(bytes) => drop(found.insert(name, Some(bytes))),
                // A writer that runs takes its files away between the listing and the look.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }
}

/// The data files of a table by their path in it.
pub fn data_files(table: &Path) -> Vec<String> {
    let visible = |name: &String| name.ends_with(".parquet");
    tree(table).into_keys().filter(visible).collect()
}

/// What lies in the staging folders below `lake/_partwise`: nothing, unless a writer runs.
pub fn staged(lake: &Path) -> Vec<String> {
    let below =
        |name: &String| name.split_once("/staging/").is_some_and(|(_, rest)| !rest.is_empty());
    tree(&lake.join("_partwise")).into_keys().filter(below).collect()
}
