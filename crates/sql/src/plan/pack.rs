//! How many files a partition's rows take.

use partwise_commit::DataFile;
use partwise_table::write::WriteOptions;

/// A full file, in the unit that fullness is counted in.
const FULL: u64 = 1_000;

/// From here on a file is left as it is: what would fit into it is small.
const NEARLY_FULL: u64 = 750;

/// The number of files that these come to when the small ones among them are packed together.
pub fn packed(files: &[DataFile], options: &WriteOptions) -> usize {
    let (full, small): (Vec<u64>, Vec<u64>) =
        files.iter().map(|file| fullness(file, options)).partition(|part| *part >= NEARLY_FULL);
    let small: u64 = small.iter().sum::<u64>().max(u64::from(!small.is_empty()));
    full.len() + usize::try_from(small.div_ceil(FULL)).unwrap_or(usize::MAX)
}

/// How much of a file's target size, or of its most rows, it has.
fn fullness(file: &DataFile, options: &WriteOptions) -> u64 {
    let part = |of: u64, whole: u64| of.saturating_mul(FULL) / whole.max(1);
    let bytes = part(file.identity.size, options.target_file_bytes);
    let most = options.max_rows_per_file.map(|rows| u64::try_from(rows).unwrap_or(u64::MAX));
    let rows = file.rows.zip(most).map(|(rows, most)| part(rows, most));
    bytes.max(rows.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use partwise_commit::Identity;
    use partwise_table::config::PartwiseConfig;

    use super::*;

    fn files(sizes: &[u64]) -> Vec<DataFile> {
        let file = |size: &u64| DataFile {
            path: format!("{size}.parquet"),
            identity: Identity { size: *size, ..Identity::default() },
            rows: Some(*size),
            stats: None,
            retained: None,
            version: None,
            modified_ms: None,
        };
        sizes.iter().map(file).collect()
    }

    fn packed_at(target: u64, sizes: &[u64]) -> usize {
        let config = PartwiseConfig { target_file_bytes: target, ..PartwiseConfig::default() };
        packed(&files(sizes), &WriteOptions::from_config(&config))
    }

    #[test]
    fn small_files_are_packed_to_the_target() {
        assert_eq!(packed_at(100, &[]), 0);
        assert_eq!(packed_at(100, &[1]), 1);
        assert_eq!(packed_at(100_000, &[1; 20]), 1);
        assert_eq!(packed_at(100, &[40; 20]), 8);
        assert_eq!(packed_at(100, &[70, 70]), 2);
    }

    #[test]
    fn files_near_the_target_count_as_they_are() {
        assert_eq!(packed_at(100, &[80; 10]), 10);
        assert_eq!(packed_at(100, &[250, 10]), 2);
        assert_eq!(packed_at(100, &[100, 10, 10]), 2);
    }

    #[test]
    fn a_file_of_the_most_rows_is_full() {
        let config = PartwiseConfig { target_file_bytes: 1_000_000, ..PartwiseConfig::default() };
        let options =
            WriteOptions { max_rows_per_file: Some(10), ..WriteOptions::from_config(&config) };
        assert_eq!(packed(&files(&[10, 10, 9, 2, 2]), &options), 4);
    }
}
