//! What the progress line says, at whatever width there is.

use std::time::Duration;

use console::measure_text_width;
use partwise_sql::{Progress, bytes, counted, thousands};

/// Columns of the bar.
const BAR_WIDTH: usize = 20;

/// The first of the texts that there is room for; none of them: nothing.
pub fn fitting(texts: &[String], room: usize) -> &str {
    texts.iter().find(|text| measure_text_width(text) <= room).map_or("", String::as_str)
}

/// What there is to say, from all of it to the least: a line is never cut inside a word.
pub fn texts(progress: &Progress, elapsed: Duration) -> Vec<String> {
    let said = described(progress, elapsed);
    match share(progress) {
        Some(share) => {
            let with = |front: String| said.iter().map(move |said| format!("{front} {said}"));
            let shortest = with(percent(share)).skip(1);
            with(bar(share))
                .take(said.len() - 1)
                .chain(shortest)
                .chain(said.last().cloned())
                .collect()
        }
        None => said,
    }
}

/// How much is done of what is known in advance. With everything read and nothing known of what
/// is to be written, what is left isn't known: a full bar would say it is done.
fn share(progress: &Progress) -> Option<f64> {
    let of = |done: u64, total: u64| (done < total).then(|| done as f64 / total as f64);
    let to_write = progress.rows_to_write.filter(|_| progress.files_written > 0);
    match (to_write, progress.rows_total) {
        (Some(total), _) => of(progress.rows_written, total),
        (None, Some(total)) => of(progress.rows_read, total),
        (None, None) => None,
    }
}

/// `[========>           ]  43%`.
fn bar(share: f64) -> String {
    let full = (share * BAR_WIDTH as f64) as usize;
    let done = format!("{}>", "=".repeat(full));
    format!("[{done:<BAR_WIDTH$}] {}", percent(share))
}

fn percent(share: f64) -> String {
    format!("{:>3.0}%", (share * 100.0).floor())
}

/// `12 s, read: 1,234 of 9,876 rows, 2 of 3 files, 1 partition; written: 12 rows, 1 file, 1.1 MB`,
/// and shorter.
fn described(progress: &Progress, elapsed: Duration) -> Vec<String> {
    let time = format!("{} s", elapsed.as_secs());
    let (read, written) = (read(progress), written(progress));
    let mut texts: Vec<String> = (0..=read.len().max(written.len().saturating_sub(1)))
        .map(|left_out| {
            let read = kept(&read, left_out).join(", ");
            let written = kept(&written, left_out.min(written.len().saturating_sub(2))).join(", ");
            let read = if read.is_empty() { read } else { format!(", read: {read}") };
            let written =
                if written.is_empty() { written } else { format!("; written: {written}") };
            format!("{time}{read}{written}")
        })
        .collect();
    texts.dedup();
    if texts.last() != Some(&time) {
        texts.push(time);
    }
    texts
}

/// All parts but the last ones.
fn kept(parts: &[String], left_out: usize) -> &[String] {
    &parts[..parts.len().saturating_sub(left_out)]
}

/// Rows, files, partitions: the last are the first to be left out.
fn read(progress: &Progress) -> Vec<String> {
    if progress.files_selected == 0 && progress.rows_read == 0 {
        return vec![];
    }
    let mut parts = vec![match progress.rows_total {
        Some(total) => format!("{} of {}", thousands(progress.rows_read), counted(total, "row")),
        None => counted(progress.rows_read, "row"),
    }];
    if progress.files_selected > 0 {
        let files = counted(progress.files_selected, "file");
        parts.push(format!("{} of {files}", thousands(progress.files_read)));
        parts.push(counted(progress.partitions, "partition"));
    }
    parts
}

fn written(progress: &Progress) -> Vec<String> {
    if progress.files_written == 0 {
        return vec![];
    }
    let rows = match progress.rows_to_write {
        Some(total) => {
            format!("{} of {}", thousands(progress.rows_written), counted(total, "row"))
        }
        None => counted(progress.rows_written, "row"),
    };
    vec![rows, bytes(progress.bytes_written), counted(progress.files_written, "file")]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything there is to say.
    fn whole(progress: &Progress, elapsed: Duration) -> String {
        described(progress, elapsed).remove(0)
    }

    fn read_some() -> Progress {
        Progress {
            rows_read: 1_234,
            files_read: 2,
            files_selected: 3,
            partitions: 1,
            ..Progress::default()
        }
    }

    #[test]
    fn a_total_is_named_only_where_it_is_known() {
        let mut progress = read_some();
        let second = Duration::from_millis(1_900);
        let expected = "1 s, read: 1,234 rows, 2 of 3 files, 1 partition";
        assert_eq!(whole(&progress, second), expected);
        let foreign = Progress { rows_read: 5, ..Progress::default() };
        assert_eq!(whole(&foreign, second), "1 s, read: 5 rows");
        progress.rows_total = Some(9_876);
        assert!(whole(&progress, second).contains("read: 1,234 of 9,876 rows, 2 of 3 files"));
    }

    #[test]
    fn a_bar_is_never_full_and_tells_of_the_rows_written_where_they_are_known() {
        assert_eq!(bar(0.0), "[>                   ]   0%");
        assert_eq!(bar(0.999), "[===================>]  99%");
        let mut progress = Progress { rows_read: 5, rows_total: Some(10), ..Progress::default() };
        assert_eq!(share(&progress), Some(0.5));
        progress.rows_read = 10;
        assert_eq!(share(&progress), None);
        progress.rows_to_write = Some(8);
        assert_eq!(share(&progress), None);
        (progress.rows_written, progress.files_written) = (2, 1);
        assert_eq!(share(&progress), Some(0.25));
    }

    #[test]
    fn what_is_written_is_told_once_a_file_is_whole() {
        let progress = Progress {
            rows_written: 12,
            files_written: 1,
            bytes_written: 1_100_000,
            ..Progress::default()
        };
        let expected = format!("0 s; written: 12 rows, {}, 1 file", bytes(1_100_000));
        assert_eq!(whole(&progress, Duration::ZERO), expected);
    }

    #[test]
    fn a_narrow_terminal_gets_fewer_words_but_whole_ones() {
        let progress = Progress {
            rows_read: 9_554_757,
            rows_total: Some(9_554_757),
            rows_to_write: Some(9_554_757),
            rows_written: 847_582,
            files_written: 9,
            bytes_written: 14_200_000,
            ..read_some()
        };
        let texts = texts(&progress, Duration::from_secs(12));
        let size = bytes(14_200_000);
        for (room, end) in [(150, "9 files".to_owned()), (107, size.clone()), (57, size)] {
            let text = fitting(&texts, room);
            assert!(text.ends_with(&end) && text.contains("8%"), "{room}: {text}");
        }
        assert_eq!(fitting(&texts, 4), "12 s");
        assert_eq!(fitting(&texts, 3), "");
    }
}
