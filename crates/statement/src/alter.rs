use datafusion_sql::sqlparser::ast::{ColumnDef, DataType, Ident, ObjectName};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::create::{parse_option_text, parse_options};
use super::insert::{PartitionItem, parse_partition};
use super::is_word;
use super::needless::begins_with;

/// `ALTER TABLE [IF EXISTS] t ..`.
#[derive(Debug, Clone)]
pub struct Alter {
    /// The table.
    pub table: ObjectName,
    /// Nothing is to do where it isn't there.
    pub if_exists: bool,
    /// What becomes of it.
    pub action: AlterAction,
}

/// What an ALTER TABLE does.
#[derive(Debug, Clone)]
pub enum AlterAction {
    /// `DROP [IF EXISTS] PARTITION (spec) [, PARTITION (spec)]`.
    DropPartitions {
        /// Each names partitions.
        specs: Vec<Vec<PartitionItem>>,
        /// Where it isn't there, that is fine.
        if_exists: bool,
    },
    /// `ADD COLUMN [IF NOT EXISTS] c TYPE`, `ADD COLUMNS (c TYPE, ..)`.
    AddColumns {
        /// Name and type of each.
        columns: Vec<ColumnDef>,
        /// Where it is there, that is fine.
        if_not_exists: bool,
    },
    /// `ALTER COLUMN c [SET DATA] TYPE t`.
    SetType {
        /// Its name.
        column: Ident,
        /// The type it is to have.
        data_type: DataType,
    },
    /// `SET TBLPROPERTIES ('name' = 'value', ..)`.
    SetProperties(Vec<(String, String)>),
    /// `UNSET TBLPROPERTIES [IF EXISTS] ('name', ..)`.
    UnsetProperties {
        /// The properties.
        names: Vec<String>,
        /// Where it isn't there, that is fine.
        if_exists: bool,
    },
    /// `RENAME TO u`.
    RenameTo(ObjectName),
    /// `RECOVER PARTITIONS`, which a listing makes needless.
    Recover,
    /// What a table can't, by its words, and what to do instead.
    Refused {
        /// The statement's first words.
        words: String,
        /// What does the job.
        instead: &'static str,
    },
}

/// What a table can't, by the words of its action.
const REFUSED: [(&[&str], &str); 10] = [
    (&["DROP", "COLUMN"], MAKE_ANEW),
    (&["DROP"], MAKE_ANEW),
    (&["RENAME", "COLUMN"], MAKE_ANEW),
    (&["REPLACE"], MAKE_ANEW),
    (&["CHANGE"], "ALTER COLUMN c TYPE t widens a column; for its name, make the table anew"),
    (
        &["RENAME", "PARTITION"],
        "INSERT the partition's rows under the new value, then ALTER TABLE t DROP PARTITION (..)",
    ),
    (&["PARTITION"], "INSERT OVERWRITE t PARTITION (..) SELECT .. replaces a partition"),
    (&["ADD", "PARTITION"], ROWS_MAKE_PARTITIONS),
    (&["ADD", "IF", "NOT", "EXISTS", "PARTITION"], ROWS_MAKE_PARTITIONS),
    (&["SET", "LOCATION"], "move the directory, or ALTER TABLE t RENAME TO u"),
];

const MAKE_ANEW: &str = "CREATE OR REPLACE TABLE t .. AS SELECT .. FROM t makes the table anew";
const ROWS_MAKE_PARTITIONS: &str =
    "a partition is there once it has rows: INSERT INTO t PARTITION (..)";

/// Parses an ALTER TABLE.
pub fn parse(p: &mut Parser<'_>) -> Result<Alter, ParserError> {
    p.next_token();
    if !p.parse_keyword(Keyword::TABLE) {
        return p.expected_ref("TABLE after ALTER", p.peek_token_ref());
    }
    let if_exists = p.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let table = p.parse_object_name(false)?;
    let action = parse_action(p)?;
    if p.peek_token_ref().token == Token::Comma {
        let action = refused(p, "ALTER TABLE t .., ..".to_owned(), "an ALTER TABLE for each");
        return Ok(Alter { table, if_exists, action });
    }
    Ok(Alter { table, if_exists, action })
}

fn parse_action(p: &mut Parser<'_>) -> Result<AlterAction, ParserError> {
    if let Some(specs) = parse_drop(p)? {
        return Ok(specs);
    }
    if let Some((words, instead)) = REFUSED.iter().find(|(words, _)| begins_with(p, words)) {
        return Ok(refused(p, words.join(" "), instead));
    }
    if p.parse_keyword(Keyword::ADD) {
        parse_add(p)
    } else if is_word(p, "ALTER") || is_word(p, "MODIFY") {
        parse_column_change(p)
    } else if p.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        Ok(AlterAction::RenameTo(p.parse_object_name(false)?))
    } else if begins_with(p, &["RECOVER", "PARTITIONS"]) {
        take(p, 2);
        Ok(AlterAction::Recover)
    } else {
        parse_properties(p)
    }
}

fn take(p: &mut Parser<'_>, tokens: usize) {
    for _ in 0..tokens {
        p.next_token();
    }
}

/// The rest of the statement isn't read.
fn refused(p: &mut Parser<'_>, words: String, instead: &'static str) -> AlterAction {
    while !matches!(p.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        p.next_token();
    }
    AlterAction::Refused { words, instead }
}

fn parse_drop(p: &mut Parser<'_>) -> Result<Option<AlterAction>, ParserError> {
    let if_exists = begins_with(p, &["DROP", "IF", "EXISTS", "PARTITION"]);
    if !if_exists && !begins_with(p, &["DROP", "PARTITION"]) {
        return Ok(None);
    }
    take(p, if if_exists { 3 } else { 1 });
    let specs = p.parse_comma_separated(|p| {
        p.expect_keyword(Keyword::PARTITION)?;
        parse_partition(p)
    })?;
    // Hive's word for what doesn't go to the bin; here RESTORE brings it back within the retention.
    let _ = p.parse_keyword(Keyword::PURGE);
    Ok(Some(AlterAction::DropPartitions { specs, if_exists }))
}

fn parse_add(p: &mut Parser<'_>) -> Result<AlterAction, ParserError> {
    skip_column(p);
    let if_not_exists = p.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let in_parentheses = p.consume_token(&Token::LParen);
    let columns = p.parse_comma_separated(|p| {
        if !in_parentheses && p.parse_keyword(Keyword::ADD) {
            skip_column(p);
        }
        p.parse_column_def()
    })?;
    if in_parentheses {
        p.expect_token(&Token::RParen)?;
    }
    if is_word(p, "FIRST") || is_word(p, "AFTER") {
        let words = "ADD COLUMN .. FIRST or AFTER".to_owned();
        return Ok(refused(p, words, "a column that is added comes behind the others"));
    }
    Ok(AlterAction::AddColumns { columns, if_not_exists })
}

fn skip_column(p: &mut Parser<'_>) {
    let _ = p.parse_keyword(Keyword::COLUMN) || p.parse_keyword(Keyword::COLUMNS);
}

fn parse_column_change(p: &mut Parser<'_>) -> Result<AlterAction, ParserError> {
    p.next_token();
    skip_column(p);
    let column = p.parse_identifier()?;
    let _ = p.parse_keywords(&[Keyword::SET, Keyword::DATA]);
    if !p.parse_keyword(Keyword::TYPE) {
        let words = format!("ALTER COLUMN {column} {}", p.peek_token_ref());
        return Ok(refused(p, words, "ALTER COLUMN c TYPE t, or make the table anew"));
    }
    Ok(AlterAction::SetType { column, data_type: p.parse_data_type()? })
}

fn parse_properties(p: &mut Parser<'_>) -> Result<AlterAction, ParserError> {
    let sets = p.parse_keyword(Keyword::SET);
    let unsets = !sets && p.parse_keyword(Keyword::UNSET);
    let named = p.parse_keyword(Keyword::TBLPROPERTIES) || p.parse_keyword(Keyword::OPTIONS);
    if !named || !(sets || unsets) {
        return p.expected_ref(
            "DROP PARTITION, ADD COLUMN, ALTER COLUMN, RENAME TO or SET TBLPROPERTIES",
            p.peek_token_ref(),
        );
    }
    if sets {
        return Ok(AlterAction::SetProperties(parse_options(p)?));
    }
    let if_exists = p.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    p.expect_token(&Token::LParen)?;
    let names = p.parse_comma_separated(parse_option_text)?;
    p.expect_token(&Token::RParen)?;
    Ok(AlterAction::UnsetProperties { names, if_exists })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Statement, parse};

    fn action(sql: &str) -> AlterAction {
        match parse(sql).unwrap() {
            Statement::Alter(alter) => alter.action,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_come_alone_in_a_list_or_one_by_one() {
        for sql in [
            "ALTER TABLE t ADD COLUMNS (a INT, b STRING)",
            "ALTER TABLE t ADD COLUMN a INT, b STRING",
            "ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b STRING",
            "alter table t add a int, b decimal(10, 2);",
        ] {
            let AlterAction::AddColumns { columns, .. } = action(sql) else { panic!("{sql}") };
            let names: Vec<&str> = columns.iter().map(|c| c.name.value.as_str()).collect();
            assert_eq!(names, ["a", "b"], "{sql}");
        }
        let sql = "ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT";
        assert!(matches!(action(sql), AlterAction::AddColumns { if_not_exists: true, .. }));
    }

    #[test]
    fn partitions_are_dropped_by_one_spec_or_several() {
        let sql = "ALTER TABLE t DROP IF EXISTS PARTITION (dt = 'a', hr > 1), PARTITION (dt = 'b')";
        let AlterAction::DropPartitions { specs, if_exists } = action(sql) else { panic!() };
        assert_eq!((specs.len(), specs[0].len(), if_exists), (2, 2, true));
        let sql = "ALTER TABLE t DROP PARTITION (dt = 'a') PURGE";
        assert!(matches!(action(sql), AlterAction::DropPartitions { if_exists: false, .. }));
    }

    #[test]
    fn what_a_table_can_not_is_known_by_its_words() {
        for (sql, said) in [
            ("ALTER TABLE t DROP COLUMN a", "DROP COLUMN"),
            ("ALTER TABLE t RENAME COLUMN a TO b", "RENAME COLUMN"),
            ("ALTER TABLE t ADD PARTITION (dt = 'a') LOCATION 'x'", "ADD PARTITION"),
            ("ALTER TABLE t SET LOCATION 'x'", "SET LOCATION"),
            ("ALTER TABLE t ADD COLUMN a INT AFTER b", "ADD COLUMN .. FIRST or AFTER"),
            ("ALTER TABLE t ALTER COLUMN a SET NOT NULL", "ALTER COLUMN a SET"),
        ] {
            let AlterAction::Refused { words, .. } = action(sql) else { panic!("{sql}") };
            assert_eq!(words, said, "{sql}");
        }
    }

    #[test]
    fn types_properties_and_names() {
        for sql in [
            "ALTER TABLE t ALTER COLUMN a TYPE BIGINT",
            "ALTER TABLE t ALTER a SET DATA TYPE BIGINT",
        ] {
            assert!(matches!(action(sql), AlterAction::SetType { .. }), "{sql}");
        }
        let sql = "ALTER TABLE t SET TBLPROPERTIES ('retention' = '1 day', sort_by 'a')";
        let AlterAction::SetProperties(set) = action(sql) else { panic!() };
        assert_eq!(set[1], ("sort_by".to_owned(), "a".to_owned()));
        let sql = "ALTER TABLE t UNSET TBLPROPERTIES ('retention')";
        assert!(matches!(action(sql), AlterAction::UnsetProperties { .. }));
        assert!(matches!(action("ALTER TABLE t RENAME TO u"), AlterAction::RenameTo(_)));
        assert!(parse("ALTER TABLE t").is_err());
        assert!(parse("ALTER VIEW v AS SELECT 1").is_err());
    }
}
