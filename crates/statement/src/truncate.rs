use datafusion_sql::sqlparser::ast::ObjectName;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};

use super::insert::{PartitionItem, parse_partition};

/// `TRUNCATE [TABLE] t [PARTITION (spec)]`.
#[derive(Debug, Clone)]
pub struct Truncate {
    /// The table.
    pub table: ObjectName,
    /// What stands in `PARTITION (..)`; none: the whole table.
    pub partition: Option<Vec<PartitionItem>>,
}

/// Parses a TRUNCATE.
pub fn parse(p: &mut Parser<'_>) -> Result<Truncate, ParserError> {
    p.next_token();
    let _ = p.parse_keyword(Keyword::TABLE);
    let table = p.parse_object_name(false)?;
    let partition = match p.parse_keyword(Keyword::PARTITION) {
        true => Some(parse_partition(p)?),
        false => None,
    };
    Ok(Truncate { table, partition })
}
