//! Completion of paths.

use std::path::Path;

use rustyline::completion::Pair;

use super::argument::at_home;

/// The entries that a path may go on with: folders with a slash, files with the closing quote
/// unless it is there already (`closed`). The home folder is written out.
pub fn complete(typed: &str, closed: bool) -> Vec<Pair> {
    let typed = match typed.starts_with("~/") {
        true => at_home(typed).display().to_string(),
        false => typed.to_owned(),
    };
    let typed = typed.as_str();
    let (folder, begun) = typed
        .rsplit_once('/')
        .map_or(("", typed), |(folder, begun)| (&typed[..folder.len() + 1], begun));
    let place = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let Ok(entries) = std::fs::read_dir(place) else { return vec![] };
    let mut found: Vec<Pair> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path().is_dir())))
        .filter(|(name, _)| name.starts_with(begun))
        .filter(|(name, _)| begun.starts_with('.') || !name.starts_with('.'))
        .map(|(name, is_dir)| pair(folder, &name, is_dir, closed))
        .collect();
    found.sort_by(|a, b| a.display.cmp(&b.display));
    found
}

fn pair(folder: &str, name: &str, is_dir: bool, closed: bool) -> Pair {
    let end = match (is_dir, closed) {
        (true, _) => "/",
        (false, true) => "",
        (false, false) => "'",
    };
    let display = format!("{name}{}", if is_dir { "/" } else { "" });
    Pair { display, replacement: format!("{folder}{}{end}", name.replace('\'', "''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_on_and_files_end() {
        let dir = std::env::temp_dir().join(format!("partwise-paths-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("days")).unwrap();
        for name in ["data.csv", ".hidden", "other"] {
            std::fs::write(dir.join(name), "").unwrap();
        }
        let base = dir.display().to_string();
        let found = |typed: &str, closed| {
            let found = complete(&format!("{base}/{typed}"), closed).into_iter();
            found.map(|pair| pair.replacement.replace(&base, "")).collect::<Vec<_>>()
        };
        assert_eq!(found("da", false), ["/data.csv'", "/days/"]);
        assert_eq!(found("oth", true), ["/other"]);
        assert_eq!(found(".h", true), ["/.hidden"]);
        assert_eq!(found("", true), ["/data.csv", "/days/", "/other"]);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
