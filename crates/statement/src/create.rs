use datafusion_sql::sqlparser::ast::{ColumnDef, Ident, ObjectName, Query};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::columns;

/// `CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t [(columns)] [USING parquet] [PARTITIONED BY (..)]
/// [LOCATION '..'] [OPTIONS (..)] [AS query]`.
#[derive(Debug, Clone)]
pub struct CreateTable {
    /// The table's name.
    pub name: ObjectName,
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The declared columns; empty: the query's.
    pub columns: Vec<ColumnDef>,
    /// The format named by `USING` or `STORED AS`.
    pub format: Option<String>,
    /// The partition columns, in order.
    pub partitioned_by: Vec<Ident>,
    /// Whether they are declared in that clause, as Hive has it, behind the other columns.
    pub typed_partitions: bool,
    /// Where the table lies; none: in the lake.
    pub location: Option<String>,
    /// The write options, as given.
    pub options: Vec<(String, String)>,
    /// The rows.
    pub query: Option<Box<Query>>,
}

/// Parses a CREATE TABLE; none if something else is created (a view, an external table, ..).
pub fn parse(p: &mut Parser<'_>) -> Result<Option<CreateTable>, ParserError> {
    p.next_token();
    let or_replace = p.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    if !p.parse_keyword(Keyword::TABLE) {
        return Ok(None);
    }
    let if_not_exists = p.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = p.parse_object_name(false)?;
    let columns = match p.peek_token_ref().token {
        Token::LParen => columns::parse(p, |_| Ok(false))?,
        _ => vec![],
    };
    let mut create = CreateTable {
        name,
        or_replace,
        if_not_exists,
        columns,
        format: None,
        partitioned_by: vec![],
        typed_partitions: false,
        location: None,
        options: vec![],
        query: None,
    };
    while parse_clause(p, &mut create)? {}
    Ok(Some(create))
}

/// One clause behind the columns; they may come in any order, AS last.
fn parse_clause(p: &mut Parser<'_>, create: &mut CreateTable) -> Result<bool, ParserError> {
    if p.parse_keyword(Keyword::USING) || p.parse_keywords(&[Keyword::STORED, Keyword::AS]) {
        once(create.format.is_none(), "USING")?;
        create.format = Some(p.parse_identifier()?.value);
    } else if p.parse_keywords(&[Keyword::PARTITIONED, Keyword::BY]) {
        once(create.partitioned_by.is_empty(), "PARTITIONED BY")?;
        parse_partitioned_by(p, create)?;
    } else if p.parse_keyword(Keyword::LOCATION) {
        once(create.location.is_none(), "LOCATION")?;
        create.location = Some(p.parse_literal_string()?);
    } else if p.parse_keyword(Keyword::OPTIONS) || p.parse_keyword(Keyword::TBLPROPERTIES) {
        create.options.extend(parse_options(p)?);
    } else if p.parse_keyword(Keyword::AS) {
        create.query = Some(p.parse_query()?);
        return Ok(false);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// `(a, b)`, columns that are declared, or `(a INT, b STRING)`, Hive's form: these come behind the
/// declared ones.
fn parse_partitioned_by(p: &mut Parser<'_>, create: &mut CreateTable) -> Result<(), ParserError> {
    p.expect_token(&Token::LParen)?;
    let typed = !matches!(p.peek_nth_token_ref(1).token, Token::Comma | Token::RParen);
    let columns = p.parse_comma_separated(|p| parse_partition_column(p, typed))?;
    p.expect_token(&Token::RParen)?;
    for (name, declared) in columns {
        create.partitioned_by.push(name);
        create.columns.extend(declared);
    }
    create.typed_partitions = typed;
    Ok(())
}

fn parse_partition_column(
    p: &mut Parser<'_>,
    typed: bool,
) -> Result<(Ident, Option<ColumnDef>), ParserError> {
    if matches!(p.peek_nth_token_ref(1).token, Token::Comma | Token::RParen) == typed {
        return Err(ParserError::ParserError(format!(
            "PARTITIONED BY gives some columns a type and others none ({} ..): give all of them \
             one, which declares them here, or none, and declare them among the columns",
            p.peek_token_ref()
        )));
    }
    if !typed {
        return Ok((p.parse_identifier()?, None));
    }
    let column = p.parse_column_def()?;
    Ok((column.name.clone(), Some(column)))
}

pub(super) fn once(first: bool, clause: &str) -> Result<(), ParserError> {
    match first {
        true => Ok(()),
        false => Err(ParserError::ParserError(format!("{clause} is given twice"))),
    }
}

/// `('key' 'value', key = value, ..)`: keys quoted or dotted, with or without `=`.
pub(super) fn parse_options(p: &mut Parser<'_>) -> Result<Vec<(String, String)>, ParserError> {
    p.expect_token(&Token::LParen)?;
    let options = p.parse_comma_separated(|p| {
        let key = parse_option_text(p)?;
        let _ = p.consume_token(&Token::Eq);
        Ok((key, parse_option_text(p)?))
    })?;
    p.expect_token(&Token::RParen)?;
    Ok(options)
}

pub(super) fn parse_option_text(p: &mut Parser<'_>) -> Result<String, ParserError> {
    let token = p.next_token();
    match token.token {
        Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => Ok(text),
        Token::Number(number, _) => Ok(number),
        Token::Word(word) => {
            let mut text = word.value;
            while p.consume_token(&Token::Period) {
                text = format!("{text}.{}", p.parse_identifier()?.value);
            }
            Ok(text)
        }
        _ => p.expected("an option's name or value", token),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Statement, parse};

    #[test]
    fn the_clauses_come_in_any_order() {
        let sql = "CREATE OR REPLACE TABLE report (zone INT, m STRING) PARTITIONED BY (m) USING parquet \
                   OPTIONS ('compression' 'zstd(3)', row_group_rows = 1000) LOCATION 'dir/' AS SELECT 1, 'x'";
        let Statement::CreateTable(create) = parse(sql).unwrap() else { panic!() };
        assert!(create.or_replace && create.query.is_some());
        assert_eq!(create.columns.len(), 2);
        assert_eq!(create.partitioned_by[0].value, "m");
        assert_eq!(create.options[0], ("compression".into(), "zstd(3)".into()));
        assert_eq!(create.options[1], ("row_group_rows".into(), "1000".into()));
        assert_eq!(create.location.as_deref(), Some("dir/"));
    }

    #[test]
    fn a_column_may_be_called_as_a_constraint_begins() {
        let sql = "CREATE TABLE t (key STRING, index INT, check BOOLEAN, unique INT,)";
        let Statement::CreateTable(create) = parse(sql).unwrap() else { panic!() };
        let names: Vec<String> = create.columns.iter().map(|c| c.name.to_string()).collect();
        assert_eq!(names, ["key", "index", "check", "unique"]);
        for constraint in
            ["PRIMARY KEY (a)", "UNIQUE (a)", "CHECK (a > 0)", "CONSTRAINT c UNIQUE (a)"]
        {
            let error = parse(&format!("CREATE TABLE t (a INT, {constraint})")).unwrap_err();
            assert!(error.to_string().contains("would not be enforced"), "{error}");
        }
    }

    #[test]
    fn partition_columns_with_a_type_come_behind_the_others() {
        let sql = "CREATE TABLE t (a INT) PARTITIONED BY (d DATE, h INT) STORED AS PARQUET";
        let Statement::CreateTable(create) = parse(sql).unwrap() else { panic!() };
        let names: Vec<String> = create.columns.iter().map(|c| c.name.to_string()).collect();
        assert_eq!(names, ["a", "d", "h"]);
        assert_eq!(create.partitioned_by.len(), 2);
        for mixed in ["(d DATE, h)", "(h, d DATE)"] {
            let sql = format!("CREATE TABLE t (a INT, h INT) USING parquet PARTITIONED BY {mixed}");
            let error = parse(&sql).unwrap_err();
            assert!(error.to_string().contains("give all of them"), "{error}");
        }
    }

    #[test]
    fn a_constraint_that_nobody_enforces_is_refused() {
        let error = parse("CREATE TABLE t (a INT, PRIMARY KEY (a)) USING parquet").unwrap_err();
        assert!(error.to_string().contains("PRIMARY KEY"), "{error}");
    }
}
