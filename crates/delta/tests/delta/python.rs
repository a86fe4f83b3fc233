//! The deltalake package, through the Python of the test command.

use std::path::Path;

pub use partwise_testkit::python;

/// The threads of the readers may abort an interpreter that ends in the usual way.
const END: &str = "\nimport os; sys.stdout.flush(); os._exit(0)";

/// Runs a script, which imports sys, with arguments and gives what it printed.
#[track_caller]
pub fn run_python(python: &Path, script: &str, args: &[&str]) -> String {
    partwise_testkit::run_python(python, &format!("{script}{END}"), args)
}

/// The rows of a table as the package reads them, as lines in order.
pub fn rows(python: &Path, table: &Path) -> Vec<String> {
    let script = r#"
import sys
from deltalake import DeltaTable
table = DeltaTable(sys.argv[1]).to_pyarrow_table()
for row in zip(*(column.to_pylist() for column in table.columns)):
    print(" | ".join("NULL" if value is None else str(value) for value in row))
"#;
    let text = run_python(python, script, &[table.to_str().unwrap()]);
    let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

/// Appends one row of zone, n and price with the package.
pub fn append(python: &Path, table: &Path, zone: i32) {
    let script = r#"
import sys, decimal, pyarrow as pa
from deltalake import write_deltalake
zone = pa.array([int(sys.argv[2])], pa.int32())
n = pa.array([1], pa.int64())
price = pa.array([decimal.Decimal("1.00")], pa.decimal128(20, 2))
write_deltalake(sys.argv[1], pa.table({"zone": zone, "n": n, "price": price}), mode="append")
"#;
    run_python(python, script, &[table.to_str().unwrap(), &zone.to_string()]);
}
