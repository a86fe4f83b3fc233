//! A statement is read or refused, and reads the same with a semicolon behind it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partwise_statement::{Statement, parse};

fuzz_target!(|text: &str| {
    read(text);
    read(&format!("INSERT OVERWRITE t PARTITION ({text}) SELECT 1"));
    read(&format!("WITH q AS (SELECT 1) INSERT INTO t {text}"));
    read(&format!("ALTER TABLE t DROP PARTITION ({text})"));
});

fn read(sql: &str) {
    let Ok(statement) = parse(sql) else { return };
    // What ends in a comment takes the semicolon for a part of it.
    if matches!(statement, Statement::Insert(_)) && !sql.contains("--") {
        let again = parse(&format!("{sql};"));
        let again = again.unwrap_or_else(|error| panic!("with a semicolon: {error}"));
        assert_eq!(format!("{statement:?}"), format!("{again:?}"));
    }
}
