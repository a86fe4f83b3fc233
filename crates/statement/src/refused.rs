use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;

use super::needless::begins_with;
use partwise_commit::{Error, Result};

/// Refuses what isn't there yet, naming it and the way on.
///
/// `INSERT OVERWRITE [LOCAL] DIRECTORY 'd'`; a table may have that name.
pub fn check(parser: &Parser<'_>) -> Result<()> {
    for words in [["INSERT", "OVERWRITE", "LOCAL", "DIRECTORY"].as_slice(), &DIRECTORY] {
        let path = &parser.peek_nth_token_ref(words.len()).token;
        if let (true, Token::SingleQuotedString(path)) = (begins_with(parser, words), path) {
            return Err(Error::unsupported(format!(
                "{} is not part of this version; instead: COPY (SELECT ..) TO '{path}' STORED AS \
                 PARQUET OPTIONS ('mode' 'overwrite')",
                words.join(" ")
            )));
        }
    }
    Ok(())
}

const DIRECTORY: [&str; 3] = ["INSERT", "OVERWRITE", "DIRECTORY"];
