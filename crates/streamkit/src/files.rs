//! Files that arrive, and what is taken from a checkpoint.

use std::fs;
use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;

/// Writes rows under a hidden name, then puts the file at its place.
pub fn write_parquet(path: &Path, rows: &RecordBatch) {
    let temporary = path.with_file_name("_writing");
    let file = fs::File::create(&temporary).expect("a new file");
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).expect("a writer");
    writer.write(rows).expect("rows that fit");
    writer.close().expect("a whole file");
    fs::rename(temporary, path).expect("the file in its place");
}

/// Takes the last commit of a checkpoint away, as if the process had died before writing it.
pub fn forget_last_commit(checkpoint: &Path) -> u64 {
    let commits = checkpoint.join("commits");
    let names = fs::read_dir(&commits).expect("commits").map(|entry| entry.expect("a name"));
    let number = |entry: fs::DirEntry| entry.file_name().to_string_lossy().parse::<u64>();
    let last = names.map(|entry| number(entry).expect("a batch's number")).max();
    let last = last.expect("a commit");
    fs::remove_file(commits.join(last.to_string())).expect("the commit");
    last
}

/// Copies a folder with all that is in it.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("a name")) {
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}
