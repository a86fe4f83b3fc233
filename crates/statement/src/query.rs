//! `START QUERY` and what is said of queries that run.

use std::time::Duration;

use datafusion_sql::sqlparser::ast::{Ident, ObjectName, Query};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::create::{once, parse_options};
use super::needless::begins_with;
use super::{interval, is_word};

/// `START QUERY q [OUTPUT MODE m] [TRIGGER ..] CHECKPOINT 'dir/' INTO sink AS query`.
#[derive(Debug, Clone)]
pub struct StartQuery {
    /// The query's name.
    pub name: Ident,
    /// The output mode, as given; none: append.
    pub mode: Option<String>,
    /// When batches run; none: all that is there now.
    pub trigger: Option<QueryTrigger>,
    /// The checkpoint's folder.
    pub checkpoint: String,
    /// Where the rows go.
    pub sink: QuerySink,
    /// The rows.
    pub query: Box<Query>,
}

/// When batches run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryTrigger {
    /// `TRIGGER AVAILABLE NOW`.
    AvailableNow,
    /// `TRIGGER EVERY '5 seconds'`.
    Every(Duration),
    /// `TRIGGER ONCE`.
    Once,
}

/// `INTO kind [target] [LOCATION '..'] [PARTITIONED BY (..)] [KEYS (..)] [OPTIONS (..)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct QuerySink {
    /// The kind: `TABLE`, `MEMORY`, `CONSOLE`, `KAFKA`, ..
    pub kind: String,
    /// The table or name it writes to, for kinds that have one.
    pub target: Option<ObjectName>,
    /// Where a table lies that is made; none: in the lake.
    pub location: Option<String>,
    /// Partition columns of a table that is made.
    pub partitioned_by: Vec<Ident>,
    /// The columns that tell rows apart; empty: the group columns.
    pub keys: Vec<Ident>,
    /// The sink's options, as given.
    pub options: Vec<(String, String)>,
}

/// What is said of a query by its name.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryOrder {
    /// `AWAIT QUERY q`: waits for its end.
    Await(Ident),
    /// `STOP QUERY q`: has it end with the running batch.
    Stop(Ident),
}

/// Parses a START QUERY; none if the text is another statement.
pub fn parse_start(p: &mut Parser<'_>) -> Result<Option<StartQuery>, ParserError> {
    if !begins_with(p, &["START", "QUERY"]) {
        return Ok(None);
    }
    p.next_token();
    p.next_token();
    let name = p.parse_identifier()?;
    let mut clauses = Clauses::default();
    while clauses.parse(p)? {}
    let Clauses { mode, trigger, checkpoint, sink } = clauses;
    if !p.parse_keyword(Keyword::AS) {
        let expected = "OUTPUT MODE, TRIGGER, CHECKPOINT, INTO, or AS and the query";
        return p.expected_ref(expected, p.peek_token_ref());
    }
    let query = p.parse_query()?;
    let lacks = |what: &str| ParserError::ParserError(format!("START QUERY {name} lacks {what}"));
    let checkpoint = checkpoint.ok_or_else(|| {
        lacks("CHECKPOINT 'dir/', a folder of its own that says how far it has come")
    })?;
    let sink = sink.ok_or_else(|| lacks("INTO and where its rows go, such as INTO TABLE t"))?;
    Ok(Some(StartQuery { name, mode, trigger, checkpoint, sink, query }))
}

/// What stands between name and query, in any order.
#[derive(Default)]
struct Clauses {
    mode: Option<String>,
    trigger: Option<QueryTrigger>,
    checkpoint: Option<String>,
    sink: Option<QuerySink>,
}

impl Clauses {
    /// Parses one; false if there is no more.
    fn parse(&mut self, p: &mut Parser<'_>) -> Result<bool, ParserError> {
        if begins_with(p, &["OUTPUT", "MODE"]) {
            once(self.mode.is_none(), "OUTPUT MODE")?;
            p.next_token();
            p.next_token();
            self.mode = Some(p.parse_identifier()?.value);
        } else if is_word(p, "TRIGGER") {
            once(self.trigger.is_none(), "TRIGGER")?;
            p.next_token();
            self.trigger = Some(parse_trigger(p)?);
        } else if is_word(p, "CHECKPOINT") {
            once(self.checkpoint.is_none(), "CHECKPOINT")?;
            p.next_token();
            self.checkpoint = Some(p.parse_literal_string()?);
        } else if p.parse_keyword(Keyword::INTO) {
            once(self.sink.is_none(), "INTO")?;
            self.sink = Some(parse_sink(p)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

fn parse_trigger(p: &mut Parser<'_>) -> Result<QueryTrigger, ParserError> {
    if begins_with(p, &["AVAILABLE", "NOW"]) {
        p.next_token();
        p.next_token();
        return Ok(QueryTrigger::AvailableNow);
    }
    if is_word(p, "ONCE") {
        p.next_token();
        return Ok(QueryTrigger::Once);
    }
    if is_word(p, "EVERY") {
        p.next_token();
        let every = interval::parse(p)?;
        return match every.is_zero() {
            true => p.expected_ref(
                "a length of time above zero after EVERY; AVAILABLE NOW takes what is there",
                p.peek_token_ref(),
            ),
            false => Ok(QueryTrigger::Every(every)),
        };
    }
    p.expected_ref("EVERY '5 seconds', AVAILABLE NOW or ONCE after TRIGGER", p.peek_token_ref())
}

fn parse_sink(p: &mut Parser<'_>) -> Result<QuerySink, ParserError> {
    let kind = p.parse_identifier()?.value.to_ascii_uppercase();
    let target = match has_target(p) {
        true => Some(p.parse_object_name(false)?),
        false => None,
    };
    let (location, partitioned_by, keys) = (None, vec![], vec![]);
    let mut sink = QuerySink { kind, target, location, partitioned_by, keys, options: vec![] };
    while parse_sink_clause(p, &mut sink)? {}
    Ok(sink)
}

/// Whether what comes next is a name rather than a clause.
fn has_target(p: &Parser<'_>) -> bool {
    const CLAUSES: [&[&str]; 9] = [
        &["AS"],
        &["OPTIONS"],
        &["KEYS"],
        &["LOCATION"],
        &["PARTITIONED", "BY"],
        &["CHECKPOINT"],
        &["OUTPUT", "MODE"],
        &["TRIGGER"],
        &["INTO"],
    ];
    let named = matches!(
        p.peek_token_ref().token,
        Token::Word(_) | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)
    );
    named && !CLAUSES.iter().any(|words| begins_with(p, words))
}

fn parse_sink_clause(p: &mut Parser<'_>, sink: &mut QuerySink) -> Result<bool, ParserError> {
    if p.parse_keywords(&[Keyword::PARTITIONED, Keyword::BY]) {
        once(sink.partitioned_by.is_empty(), "PARTITIONED BY")?;
        sink.partitioned_by = parse_names(p)?;
    } else if is_word(p, "KEYS") {
        once(sink.keys.is_empty(), "KEYS")?;
        p.next_token();
        sink.keys = parse_names(p)?;
    } else if p.parse_keyword(Keyword::LOCATION) {
        once(sink.location.is_none(), "LOCATION")?;
        sink.location = Some(p.parse_literal_string()?);
    } else if p.parse_keyword(Keyword::OPTIONS) {
        sink.options.extend(parse_options(p)?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn parse_names(p: &mut Parser<'_>) -> Result<Vec<Ident>, ParserError> {
    p.expect_token(&Token::LParen)?;
    let names = p.parse_comma_separated(Parser::parse_identifier)?;
    p.expect_token(&Token::RParen)?;
    Ok(names)
}

/// Parses `AWAIT QUERY q` or `STOP QUERY q`; none if the text is another statement.
pub fn parse_order(p: &mut Parser<'_>) -> Result<Option<QueryOrder>, ParserError> {
    let waits = begins_with(p, &["AWAIT", "QUERY"]);
    if !waits && !begins_with(p, &["STOP", "QUERY"]) {
        return Ok(None);
    }
    p.next_token();
    p.next_token();
    let name = p.parse_identifier()?;
    Ok(Some(if waits { QueryOrder::Await(name) } else { QueryOrder::Stop(name) }))
}

/// `DROP CHECKPOINT [IF EXISTS] 'dir/'`.
#[derive(Debug, Clone, PartialEq)]
pub struct DropCheckpoint {
    /// Its folder.
    pub path: String,
    /// Where it isn't there, that is fine.
    pub if_exists: bool,
}

/// Parses a DROP CHECKPOINT; none if something else is dropped.
pub fn parse_drop(p: &mut Parser<'_>) -> Result<Option<DropCheckpoint>, ParserError> {
    if !begins_with(p, &["DROP", "CHECKPOINT"]) {
        return Ok(None);
    }
    p.next_token();
    p.next_token();
    let if_exists = p.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Some(DropCheckpoint { path: p.parse_literal_string()?, if_exists }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Statement, parse};

    fn started(sql: &str) -> StartQuery {
        match parse(sql) {
            Ok(Statement::StartQuery(start)) => *start,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn a_query_says_when_what_and_where() {
        let start = started(
            "START QUERY page_aggs OUTPUT MODE update TRIGGER EVERY '5 seconds' CHECKPOINT 'ck/a/' \
             INTO TABLE views PARTITIONED BY (day) KEYS (window_start, page) \
             OPTIONS ('compression' 'zstd(3)') AS \
             SELECT tumble(ts, INTERVAL '5 minutes') AS window_start, page, count(*) AS views \
             FROM clicks GROUP BY 1, 2;",
        );
        assert_eq!(
            (start.name.value.as_str(), start.mode.as_deref()),
            ("page_aggs", Some("update"))
        );
        assert_eq!(start.trigger, Some(QueryTrigger::Every(Duration::from_secs(5))));
        assert_eq!(start.checkpoint, "ck/a/");
        assert_eq!(start.sink.kind, "TABLE");
        assert_eq!(start.sink.target.map(|name| name.to_string()).as_deref(), Some("views"));
        assert_eq!((start.sink.partitioned_by.len(), start.sink.keys.len()), (1, 2));
        assert_eq!(start.sink.options, [("compression".into(), "zstd(3)".into())]);
    }

    #[test]
    fn clauses_come_in_any_order_and_some_kinds_have_no_target() {
        let start = started(
            "START QUERY q INTO kafka OPTIONS ('topic' 't') KEYS (a) CHECKPOINT 'ck' \
             TRIGGER AVAILABLE NOW AS WITH c AS (SELECT 1) SELECT * FROM c",
        );
        assert_eq!((start.sink.kind.as_str(), start.sink.target), ("KAFKA", None));
        assert_eq!(start.trigger, Some(QueryTrigger::AvailableNow));
        let start = started("START QUERY q INTO CONSOLE TRIGGER ONCE CHECKPOINT 'c' AS SELECT 1");
        assert_eq!((start.trigger, start.sink.target), (Some(QueryTrigger::Once), None));
        let start = started(
            "START QUERY q INTO TABLE 'dir/t' LOCATION 'x/' CHECKPOINT 'c' AS SELECT 1 AS output",
        );
        assert_eq!(start.sink.location.as_deref(), Some("x/"));
    }

    #[test]
    fn what_is_missing_or_twice_is_named() {
        for (sql, words) in [
            ("START QUERY q INTO CONSOLE AS SELECT 1", "lacks CHECKPOINT 'dir/'"),
            ("START QUERY q CHECKPOINT 'c' AS SELECT 1", "lacks INTO"),
            ("START QUERY q CHECKPOINT 'c' INTO CONSOLE", "AS and the query"),
            (
                "START QUERY q CHECKPOINT 'c' CHECKPOINT 'd' INTO CONSOLE",
                "CHECKPOINT is given twice",
            ),
            ("START QUERY q TRIGGER soon AS SELECT 1", "EVERY '5 seconds'"),
            ("START QUERY q TRIGGER EVERY soon AS SELECT 1", "INTERVAL '5 seconds'"),
            ("START QUERY q CHECKPOINT 'c' INTO TABLE t KEYS a AS SELECT 1", "("),
            ("AWAIT QUERY", "identifier"),
        ] {
            let error = parse(sql).unwrap_err().to_string();
            assert!(error.contains(words), "{sql}: {error}");
        }
    }

    #[test]
    fn queries_are_waited_for_and_stopped_by_name() {
        assert!(matches!(parse("AWAIT QUERY q;"), Ok(Statement::Query(QueryOrder::Await(_)))));
        assert!(matches!(parse("stop query q"), Ok(Statement::Query(QueryOrder::Stop(_)))));
        assert!(matches!(parse("SHOW QUERIES"), Ok(Statement::ShowQueries)));
        assert!(matches!(parse("SHOW STREAMS;"), Ok(Statement::ShowStreams)));
        let dropped = parse("DROP CHECKPOINT IF EXISTS 'ck/q/'").expect("a statement");
        assert!(
            matches!(dropped, Statement::DropCheckpoint(d) if d.if_exists && d.path == "ck/q/")
        );
    }
}
