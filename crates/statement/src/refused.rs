use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;

use super::needless::begins_with;
use partwise_commit::{Error, Result};

/// Statements that this version doesn't have, by their first words, and what does the job today.
const REFUSED: [(&[&str], &str); 1] = [(&["CREATE", "STREAM"], "run the statement on a schedule")];

/// Refuses what isn't there yet, naming it and the way on.
pub fn check(parser: &mut Parser<'_>) -> Result<()> {
    for (words, instead) in REFUSED {
        if begins_with(parser, words) {
            return Err(refused(&words.join(" "), instead));
        }
    }
    check_directory(parser)
}

fn refused(name: &str, instead: &str) -> Error {
    Error::unsupported(format!("{name} is not part of this version; instead: {instead}"))
}

/// `INSERT OVERWRITE [LOCAL] DIRECTORY 'd'`; a table may have that name.
fn check_directory(parser: &Parser<'_>) -> Result<()> {
    for words in [["INSERT", "OVERWRITE", "LOCAL", "DIRECTORY"].as_slice(), &DIRECTORY] {
        let path = &parser.peek_nth_token_ref(words.len()).token;
        if let (true, Token::SingleQuotedString(path)) = (begins_with(parser, words), path) {
            let instead = format!(
                "COPY (SELECT ..) TO '{path}' STORED AS PARQUET OPTIONS ('mode' 'overwrite')"
            );
            return Err(refused(&words.join(" "), &instead));
        }
    }
    Ok(())
}

const DIRECTORY: [&str; 3] = ["INSERT", "OVERWRITE", "DIRECTORY"];
