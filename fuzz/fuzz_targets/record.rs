//! Records, `table.json` and `published`: anything is read or refused, and what is read is written
//! as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| partwise_commit::fuzzing::read_log_file(text));
