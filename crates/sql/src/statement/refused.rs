use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::{Error, Result};

/// Statements that this version doesn't have, by their first words, and what does the job today.
const REFUSED: [(&[&str], &str); 9] = [
    (&["OPTIMIZE"], "INSERT OVERWRITE t PARTITION (..) SELECT .. FROM t rewrites a partition"),
    (&["VACUUM"], "each commit sweeps what dead writers left and what is past the retention"),
    (&["MSCK"], "there is nothing to repair: the directory's listing is the truth"),
    (&["ALTER"], "CREATE OR REPLACE TABLE t .. AS SELECT makes the table anew"),
    (
        &["TRUNCATE"],
        "with partition_overwrite_mode = 'static', INSERT OVERWRITE t SELECT .. WHERE false empties it",
    ),
    (&["DELETE"], "INSERT OVERWRITE the partition with the rows that stay"),
    (&["UPDATE"], "INSERT OVERWRITE the partition with the rows as they should be"),
    (&["MERGE"], "INSERT OVERWRITE the partition with the merged rows"),
    (&["CREATE", "STREAM"], "run the statement on a schedule"),
];

/// Refuses what isn't there yet, naming it and the way on.
pub fn check(parser: &mut Parser<'_>) -> Result<()> {
    for (words, instead) in REFUSED {
        let found = words.iter().enumerate().all(|(n, word)| {
            matches!(&parser.peek_nth_token_ref(n).token, Token::Word(w) if w.value.eq_ignore_ascii_case(word))
        });
        if found {
            let name = words.join(" ");
            return Err(Error::unsupported(format!(
                "{name} is not part of this version; instead: {instead}"
            )));
        }
    }
    Ok(())
}
