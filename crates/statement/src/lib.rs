//! Statements: what is ours, read in front of DataFusion's parser.
//!
//! DataFusion's dialect has no `CREATE TABLE .. USING`, no `PARTITION (..)` with mixed specs, no
//! `WITH .. INSERT`. What starts like one of ours is parsed here with sqlparser's own parts
//! (tokens, identifiers, expressions, queries); everything else goes to DataFusion as it is.
//!
//! ```text
//!   text --tokens--> refused? --> ours?        --> Statement::Insert, ..
//!                                 DataFusion's --> Statement::DataFusion
//! ```
//!
//! ```
//! use partwise_statement::{Statement, parse};
//!
//! let read = parse("INSERT OVERWRITE t PARTITION (dt = 'd1', hr) SELECT 1, 2")?;
//! assert!(matches!(read, Statement::Insert(insert) if insert.overwrite));
//! # Ok::<(), partwise_commit::Error>(())
//! ```

#![deny(missing_docs)]

mod alter;
mod columns;
mod create;
mod delete;
mod insert;
mod interval;
mod merge;
mod needless;
mod optimize;
mod query;
mod refused;
mod restore;
mod stream;
mod target;
mod truncate;
mod update;
mod vacuum;

pub use alter::{Alter, AlterAction};
pub use create::CreateTable;
pub use delete::Delete;
pub use insert::{Insert, PartitionItem};
pub use merge::{Action, Clause, Matching, Merge};
pub use needless::Needless;
pub use optimize::Optimize;
pub use query::{DropCheckpoint, QueryOrder, QuerySink, QueryTrigger, StartQuery};
pub use restore::{Restore, RestorePoint};
pub use stream::{CreateStream, DropStream};
pub use target::{Setting, Target, alone};
pub use truncate::Truncate;
pub use update::Update;
pub use vacuum::Vacuum;

use datafusion_common::DataFusionError;
use datafusion_sql::parser::{
    CopyToStatement, CreateExternalTable, DFParserBuilder, ExplainStatement, ResetStatement,
    Statement as DFStatement,
};
use datafusion_sql::sqlparser::ast::{ObjectName, ObjectType, Set, Statement as SQLStatement};
use datafusion_sql::sqlparser::dialect::GenericDialect;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::{Token, Tokenizer};

use partwise_commit::{Error, Result};

/// What can be asked about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// One row per partition.
    Partitions,
    /// One row per data file.
    Files,
    /// One row per commit, the newest first.
    History,
}

/// A statement, sorted by who plans it.
#[derive(Debug, Clone)]
pub enum Statement {
    /// `INSERT INTO` and `INSERT OVERWRITE`.
    Insert(Box<Insert>),
    /// `CREATE TABLE`, with or without `AS`.
    CreateTable(Box<CreateTable>),
    /// `CREATE EXTERNAL TABLE`: ours for Parquet directories, else DataFusion's.
    CreateExternal(Box<CreateExternalTable>),
    /// `COPY .. TO`: ours for Parquet directories, else DataFusion's.
    Copy(Box<CopyToStatement>),
    /// `DROP TABLE [IF EXISTS] t [PURGE]`.
    DropTable {
        /// Its name.
        name: ObjectName,
        /// Where it isn't there, that is fine.
        if_exists: bool,
        /// Its files are to be deleted.
        purge: bool,
    },
    /// `SHOW PARTITIONS t`, `DESCRIBE HISTORY t`.
    Show(About, ObjectName),
    /// `SHOW CREATE TABLE t`.
    ShowCreate(ObjectName),
    /// `MSCK REPAIR TABLE t` and its like: nothing to do.
    Needless(Needless),
    /// `DELETE`, `UPDATE` and `MERGE`.
    Rewrite(Box<Rewrite>),
    /// `PREVIEW` of a statement that writes.
    Preview(Box<Previewed>),
    /// `RESTORE TABLE t TO VERSION n`.
    Restore(Restore),
    /// `ALTER TABLE t ..`.
    Alter(Box<Alter>),
    /// `OPTIMIZE t`.
    Optimize(Box<Optimize>),
    /// `TRUNCATE TABLE t`.
    Truncate(Truncate),
    /// `VACUUM t`.
    Vacuum(Vacuum),
    /// `SHOW TABLES`.
    ShowTables,
    /// `CREATE STREAM s FROM ..`.
    CreateStream(Box<CreateStream>),
    /// `DROP STREAM s`.
    DropStream(DropStream),
    /// `SHOW STREAMS`.
    ShowStreams,
    /// `START QUERY q .. AS ..`.
    StartQuery(Box<StartQuery>),
    /// `AWAIT QUERY q`, `STOP QUERY q`.
    Query(QueryOrder),
    /// `SHOW QUERIES`.
    ShowQueries,
    /// `DROP CHECKPOINT 'dir/'`.
    DropCheckpoint(DropCheckpoint),
    /// `EXPLAIN` around a statement of ours.
    Explain(Box<Explain>),
    /// `SET name = value`, for names that other systems use.
    SetForeign {
        /// Its name.
        name: String,
        /// What it is set to.
        value: String,
    },
    /// `RESET name`, for names that DataFusion doesn't reset.
    Reset(String),
    /// Everything else: DataFusion's.
    DataFusion(Box<DFStatement>),
}

/// A statement that changes rows that are there.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "one of them is read at a time")]
pub enum Rewrite {
    /// `DELETE FROM t`.
    Delete(Delete),
    /// `UPDATE t SET`.
    Update(Update),
    /// `MERGE INTO t`.
    Merge(Merge),
}

/// What `PREVIEW` goes with.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "one of them is read at a time")]
pub enum Previewed {
    /// `PREVIEW INSERT ..`.
    Insert(Insert),
    /// `PREVIEW DELETE ..`, `UPDATE ..`, `MERGE ..`.
    Rewrite(Rewrite),
}

/// `EXPLAIN [ANALYZE] [VERBOSE] [FORMAT f]` around a statement of ours.
#[derive(Debug, Clone)]
pub struct Explain {
    /// Runs the statement, as in PostgreSQL.
    pub analyze: bool,
    /// All plans, not only the last.
    pub verbose: bool,
    /// `indent`, `tree`, ...; none: the session's.
    pub format: Option<String>,
    /// What is explained.
    pub statement: Statement,
}

/// Parses one statement.
///
/// # Errors
/// The first token that doesn't fit, with its place; statements that this version refuses.
pub fn parse(sql: &str) -> Result<Statement> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql)
        .tokenize_with_location()
        .map_err(|e| syntax(e.into()))?;
    let mut parser = Parser::new(&GenericDialect {}).with_tokens_with_locations(tokens);
    refused::check(&parser)?;
    match parse_ours(&mut parser).map_err(syntax)? {
        Some(statement) => Ok(statement),
        None => parse_datafusion(sql),
    }
}

/// A statement of ours up to the end of the text, or none if it isn't one.
fn parse_ours(p: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    let statement = match p.peek_token_ref().token.clone() {
        Token::Word(word) => match word.keyword {
            Keyword::INSERT
            | Keyword::WITH
            | Keyword::DELETE
            | Keyword::UPDATE
            | Keyword::MERGE => parse_change(p)?.map(|change| match change {
                Previewed::Insert(insert) => Statement::Insert(Box::new(insert)),
                Previewed::Rewrite(rewrite) => Statement::Rewrite(Box::new(rewrite)),
            }),
            Keyword::CREATE => parse_create(p)?,
            Keyword::DROP => parse_drop(p)?,
            _ if is_word(p, "START") => {
                query::parse_start(p)?.map(|start| Statement::StartQuery(Box::new(start)))
            }
            _ if is_word(p, "AWAIT") || is_word(p, "STOP") => {
                query::parse_order(p)?.map(Statement::Query)
            }
            Keyword::SHOW => parse_show(p)?,
            Keyword::EXPLAIN => parse_explain(p)?,
            Keyword::DESCRIBE | Keyword::DESC => parse_history(p)?,
            Keyword::ALTER => Some(Statement::Alter(Box::new(alter::parse(p)?))),
            Keyword::OPTIMIZE => Some(Statement::Optimize(Box::new(optimize::parse(p)?))),
            Keyword::TRUNCATE => Some(Statement::Truncate(truncate::parse(p)?)),
            Keyword::VACUUM => Some(Statement::Vacuum(vacuum::parse(p)?)),
            _ if is_word(p, "PREVIEW") => parse_preview(p)?,
            _ if ["MSCK", "REFRESH", "ANALYZE"].iter().any(|word| is_word(p, word)) => {
                needless::parse(p)?.map(Statement::Needless)
            }
            _ if is_word(p, "RESTORE") => Some(Statement::Restore(restore::parse(p)?)),
            _ => None,
        },
        _ => None,
    };
    if statement.is_some() {
        let _ = p.consume_token(&Token::SemiColon);
        p.expect_token(&Token::EOF)?;
    }
    Ok(statement)
}

/// A statement that writes rows, behind a `WITH` or without; none if the text is a query.
fn parse_change(p: &mut Parser<'_>) -> Result<Option<Previewed>, ParserError> {
    let with = insert::parse_with(p)?;
    let keyword = match &p.peek_token_ref().token {
        Token::Word(word) => word.keyword,
        _ => return Ok(None),
    };
    Ok(match keyword {
        Keyword::INSERT => Some(Previewed::Insert(insert::parse(p, with)?)),
        Keyword::DELETE => Some(Previewed::Rewrite(Rewrite::Delete(delete::parse(p, with)?))),
        Keyword::UPDATE => Some(Previewed::Rewrite(Rewrite::Update(update::parse(p, with)?))),
        Keyword::MERGE => Some(Previewed::Rewrite(Rewrite::Merge(merge::parse(p, with)?))),
        _ => None,
    })
}

/// `CREATE STREAM` and `CREATE TABLE`.
fn parse_create(p: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    if let Some(stream) = stream::parse_create(p)? {
        return Ok(Some(Statement::CreateStream(Box::new(stream))));
    }
    Ok(create::parse(p)?.map(|create| Statement::CreateTable(Box::new(create))))
}

/// `DROP STREAM` and `DROP CHECKPOINT`; DataFusion reads the others.
fn parse_drop(p: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    if let Some(stream) = stream::parse_drop(p)? {
        return Ok(Some(Statement::DropStream(stream)));
    }
    Ok(query::parse_drop(p)?.map(Statement::DropCheckpoint))
}

fn parse_show(p: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    p.next_token();
    if p.parse_keyword(Keyword::TABLES) {
        return Ok(matches!(p.peek_token_ref().token, Token::EOF | Token::SemiColon)
            .then_some(Statement::ShowTables));
    }
    for (word, statement) in
        [("STREAMS", Statement::ShowStreams), ("QUERIES", Statement::ShowQueries)]
    {
        if is_word(p, word) {
            p.next_token();
            return Ok(Some(statement));
        }
    }
    if p.parse_keywords(&[Keyword::CREATE, Keyword::TABLE]) {
        return Ok(Some(Statement::ShowCreate(p.parse_object_name(false)?)));
    }
    if !is_word(p, "PARTITIONS") {
        return Ok(None);
    }
    p.next_token();
    Ok(Some(Statement::Show(About::Partitions, p.parse_object_name(false)?)))
}

/// `DESCRIBE HISTORY t`; a table of that name is described by DataFusion.
fn parse_history(p: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    p.next_token();
    let names_table = matches!(p.peek_nth_token_ref(1).token, Token::EOF | Token::SemiColon);
    if !is_word(p, "HISTORY") || names_table {
        return Ok(None);
    }
    p.next_token();
    Ok(Some(Statement::Show(About::History, p.parse_object_name(false)?)))
}

fn parse_preview(p: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    p.next_token();
    match parse_change(p)? {
        Some(change) => Ok(Some(Statement::Preview(Box::new(change)))),
        None => {
            let expected = "INSERT, DELETE, UPDATE or MERGE after PREVIEW";
            p.expected_ref(expected, p.peek_token_ref())
        }
    }
}

fn parse_explain(p: &mut Parser<'_>) -> Result<Option<Statement>, ParserError> {
    p.next_token();
    let analyze = p.parse_keyword(Keyword::ANALYZE);
    let verbose = p.parse_keyword(Keyword::VERBOSE);
    let format = match p.parse_keyword(Keyword::FORMAT) {
        true => Some(p.parse_identifier()?.value),
        false => None,
    };
    let Some(statement) = parse_ours(p)? else {
        return Ok(None);
    };
    Ok(Some(Statement::Explain(Box::new(Explain { analyze, verbose, format, statement }))))
}

/// Whether the next token is this word, keyword of the dialect or not.
fn is_word(p: &Parser<'_>, word: &str) -> bool {
    matches!(&p.peek_token_ref().token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

fn parse_datafusion(sql: &str) -> Result<Statement> {
    let parsed = DFParserBuilder::new(sql).build().and_then(|mut parser| parser.parse_statements());
    let mut statements = parsed.map_err(unread)?;
    let one = statements.pop_front().ok_or_else(|| Error::invalid("an empty statement"))?;
    if !statements.is_empty() {
        return Err(Error::invalid("more than one statement: split them at the semicolons"));
    }
    Ok(match one {
        DFStatement::CopyTo(copy) => Statement::Copy(Box::new(copy)),
        DFStatement::CreateExternalTable(create) => Statement::CreateExternal(Box::new(create)),
        DFStatement::Statement(statement) => sort_sql(*statement)?,
        DFStatement::Reset(ResetStatement::Variable(name))
            if !name.to_string().to_ascii_lowercase().starts_with("datafusion.") =>
        {
            Statement::Reset(name.to_string())
        }
        DFStatement::Explain(explain) => explain_copy(explain),
        other => Statement::DataFusion(Box::new(other)),
    })
}

/// EXPLAIN around a COPY is planned as the COPY is.
fn explain_copy(explain: ExplainStatement) -> Statement {
    match *explain.statement {
        DFStatement::CopyTo(copy) => Statement::Explain(Box::new(Explain {
            analyze: explain.options.analyze,
            verbose: explain.options.verbose,
            format: explain.options.format.map(|format| format.to_string()),
            statement: Statement::Copy(Box::new(copy)),
        })),
        _ => Statement::DataFusion(Box::new(DFStatement::Explain(explain))),
    }
}

fn sort_sql(statement: SQLStatement) -> Result<Statement> {
    match statement {
        SQLStatement::Drop {
            object_type: ObjectType::Table, if_exists, mut names, purge, ..
        } => match (names.pop(), names.is_empty()) {
            (Some(name), true) => Ok(Statement::DropTable { name, if_exists, purge }),
            _ => Err(Error::unsupported("DROP TABLE takes one table at a time")),
        },
        SQLStatement::Set(Set::SingleAssignment { variable, values, .. })
            if is_foreign(&variable.to_string()) =>
        {
            let value = values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            Ok(Statement::SetForeign {
                name: variable.to_string(),
                value: value.trim_matches('\'').to_owned(),
            })
        }
        other => Ok(Statement::DataFusion(Box::new(DFStatement::Statement(Box::new(other))))),
    }
}

/// Whether a setting is Spark's or Hive's.
fn is_foreign(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("spark.") || name.starts_with("hive.")
}

/// A parser's error in the words of an [`Error`].
pub fn syntax(error: ParserError) -> Error {
    Error::invalid(match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => "the statement is nested too deeply".to_owned(),
    })
}

/// What DataFusion's parser can't read.
fn unread(error: DataFusionError) -> Error {
    match error {
        DataFusionError::SQL(error, _) => syntax(*error),
        DataFusionError::Diagnostic(_, inner) => unread(*inner),
        DataFusionError::NotImplemented(text) => Error::unsupported(text),
        other => Error::invalid(other.strip_backtrace()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(sql: &str) -> String {
        match parse(sql) {
            Ok(statement) => {
                let text = format!("{statement:?}");
                text.split(['(', ' ']).next().unwrap_or_default().to_owned()
            }
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn each_statement_goes_to_the_one_who_plans_it() {
        for (sql, expected) in [
            ("INSERT INTO t VALUES (1)", "Insert"),
            ("WITH a AS (SELECT 1) INSERT OVERWRITE t SELECT * FROM a", "Insert"),
            ("WITH a AS (SELECT 1) SELECT * FROM a", "DataFusion"),
            ("CREATE TABLE t (a INT) USING parquet", "CreateTable"),
            ("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'd/'", "CreateExternal"),
            ("CREATE VIEW v AS SELECT 1", "DataFusion"),
            ("COPY (SELECT 1) TO 'd/' STORED AS PARQUET", "Copy"),
            ("DROP TABLE IF EXISTS t PURGE", "DropTable"),
            ("SHOW PARTITIONS t;", "Show"),
            ("DESCRIBE HISTORY t", "Show"),
            ("DESCRIBE history", "DataFusion"),
            ("PREVIEW INSERT OVERWRITE t SELECT 1", "Preview"),
            ("PREVIEW DELETE FROM t", "Preview"),
            ("delete from t as a where a.v = 1;", "Rewrite"),
            (
                "WITH w AS (SELECT 1 AS v) UPDATE t SET v = 2 WHERE v IN (SELECT v FROM w)",
                "Rewrite",
            ),
            ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", "Rewrite"),
            ("EXPLAIN DELETE FROM t USING s WHERE t.a = s.a", "Explain"),
            ("RESTORE TABLE t TO VERSION 3", "Restore"),
            ("OPTIMIZE t WHERE p = 1", "Optimize"),
            ("OPTIMIZE TABLE t;", "Optimize"),
            ("VACUUM t RETAIN 5 HOURS DRY RUN", "Vacuum"),
            ("TRUNCATE TABLE t PARTITION (p = 1)", "Truncate"),
            ("ALTER TABLE t ADD COLUMN c INT", "Alter"),
            ("SHOW TABLES", "ShowTables"),
            ("SHOW CREATE TABLE t", "ShowCreate"),
            ("MSCK REPAIR TABLE t SYNC PARTITIONS;", "Needless"),
            ("refresh table t", "Needless"),
            ("ANALYZE TABLE t PARTITION (p = 1) COMPUTE STATISTICS FOR ALL COLUMNS", "Needless"),
            ("INSERT OVERWRITE directory SELECT 1", "Insert"),
            ("SET hive.exec.dynamic.partition.mode = nonstrict", "SetForeign"),
            ("EXPLAIN ANALYZE INSERT INTO t SELECT 1", "Explain"),
            ("EXPLAIN SELECT 1", "DataFusion"),
            ("SET spark.sql.sources.partitionOverwriteMode = dynamic", "SetForeign"),
            ("SET partwise.prune = false", "DataFusion"),
        ] {
            assert_eq!(kind(sql), expected, "{sql}");
        }
    }

    #[test]
    fn what_is_not_there_yet_is_refused_by_name() {
        for (sql, word) in [
            ("INSERT OVERWRITE DIRECTORY 'd' USING parquet SELECT 1", "COPY (SELECT ..) TO 'd'"),
            ("INSERT OVERWRITE LOCAL DIRECTORY 'd' SELECT 1", "LOCAL DIRECTORY"),
        ] {
            let error = parse(sql).unwrap_err();
            assert_eq!(error.kind(), partwise_commit::ErrorKind::Unsupported, "{sql}");
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
