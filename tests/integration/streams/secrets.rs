//! What a statement's options give away is told nowhere.

use super::{CLICKS, two_files};
use crate::support::tree::tree;

#[test]
fn a_password_is_in_no_error_no_listing_no_log_and_no_checkpoint() {
    let folder = two_files();
    let unknown = "OPTIONS ('password' 'hush', 'colour' 'red')";
    let sql = format!("CREATE STREAM s FROM FILES 'landing/' {unknown}");
    let ran = folder.sql(&sql).fails(1, &[]);
    assert!(!ran.err.contains("hush"), "{}", ran.err);
    for sink in [
        "POSTGRES OPTIONS ('url' 'postgres://me:hush@127.0.0.1:1/db', 'table' 't')",
        "KAFKA OPTIONS ('bootstrap.servers' '127.0.0.1:1', 'topic' 't', 'sasl.password' 'hush', \
         'nosuch' 'hush')",
        "TABLE t OPTIONS ('compression' 'hush', 'token' 'hush')",
    ] {
        let start =
            format!("START QUERY q CHECKPOINT 'ck/q' INTO {sink} AS SELECT page FROM clicks");
        let ran = folder.sql(&format!("{CLICKS} {start}"));
        assert_ne!(ran.status, Some(0), "{sink}");
        assert!(!ran.err.contains("hush") && !ran.out.contains("hush"), "{}", ran.err);
    }
    let told = tree(folder.path()).into_iter().filter(|(_, bytes)| {
        bytes.as_ref().is_some_and(|bytes| bytes.windows(4).any(|part| part == b"hush"))
    });
    assert_eq!(told.map(|(name, _)| name).collect::<Vec<_>>(), [] as [String; 0]);
}
