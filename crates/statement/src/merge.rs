//! `MERGE INTO t USING s ON .. WHEN ..`.

use datafusion_sql::sqlparser::ast::{Expr, Ident, TableFactor, With};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{IsOptional, Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::is_word;
use super::target::{Setting, Target, or_default, parse_settings, parse_star, refuse_returning};

/// `[WITH ..] MERGE INTO t [[AS] a] USING source ON condition WHEN ..`.
#[derive(Debug, Clone)]
pub struct Merge {
    /// The common table expressions in front.
    pub with: Option<With>,
    /// The table merged into.
    pub target: Target,
    /// A table or a query.
    pub source: TableFactor,
    /// Which rows belong together.
    pub on: Expr,
    /// What is done; of those for a row, the first whose condition is true.
    pub clauses: Vec<Clause>,
}

/// `WHEN .. [AND condition] THEN action`.
#[derive(Debug, Clone)]
pub struct Clause {
    /// Which rows it is for.
    pub of: Matching,
    /// Which of them; none: all.
    pub condition: Option<Expr>,
    /// What is done with them.
    pub action: Action,
}

/// Rows that a clause of MERGE is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// A row of the table with a row of the source.
    Matched,
    /// A row of the source without one of the table.
    NotMatched,
    /// A row of the table without one of the source.
    NotMatchedBySource,
}

/// What a clause of MERGE does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `UPDATE SET a = ..`.
    Update(Vec<Setting>),
    /// `UPDATE SET *`: every column from the source's of that name.
    UpdateAll,
    /// `DELETE`.
    Delete,
    /// `INSERT [(columns)] VALUES (..)`; a value that is none: the default, NULL.
    Insert(Vec<Ident>, Vec<Option<Expr>>),
    /// `INSERT *`.
    InsertAll,
    /// `DO NOTHING`.
    Nothing,
}

/// Parses a MERGE.
pub fn parse(p: &mut Parser<'_>, with: Option<With>) -> Result<Merge, ParserError> {
    p.expect_keyword(Keyword::MERGE)?;
    let _ = p.parse_keyword(Keyword::INTO);
    let target = Target::parse(p)?;
    p.expect_keyword(Keyword::USING)?;
    let source = p.parse_table_factor()?;
    p.expect_keyword(Keyword::ON)?;
    let on = p.parse_expr()?;
    let mut clauses = Vec::new();
    while p.parse_keyword(Keyword::WHEN) {
        clauses.push(parse_clause(p)?);
    }
    if clauses.is_empty() {
        return p.expected_ref("WHEN MATCHED or WHEN NOT MATCHED", p.peek_token_ref());
    }
    refuse_returning(p)?;
    Ok(Merge { with, target, source, on, clauses })
}

fn parse_clause(p: &mut Parser<'_>) -> Result<Clause, ParserError> {
    let not = p.parse_keyword(Keyword::NOT);
    p.expect_keyword(Keyword::MATCHED)?;
    let of = match not {
        false => Matching::Matched,
        true if p.parse_keywords(&[Keyword::BY, Keyword::SOURCE]) => Matching::NotMatchedBySource,
        true => {
            if p.parse_keyword(Keyword::BY) && !p.parse_keyword(Keyword::TARGET) {
                return p.expected_ref("SOURCE or TARGET after BY", p.peek_token_ref());
            }
            Matching::NotMatched
        }
    };
    let condition = match p.parse_keyword(Keyword::AND) {
        true => Some(p.parse_expr()?),
        false => None,
    };
    p.expect_keyword(Keyword::THEN)?;
    Ok(Clause { of, condition, action: parse_action(p, of)? })
}

fn parse_action(p: &mut Parser<'_>, of: Matching) -> Result<Action, ParserError> {
    if p.parse_keyword(Keyword::DO) {
        if !is_word(p, "NOTHING") {
            return p.expected_ref("NOTHING after DO", p.peek_token_ref());
        }
        p.next_token();
        return Ok(Action::Nothing);
    }
    if of == Matching::NotMatched {
        p.expect_keyword(Keyword::INSERT)?;
        return parse_insert(p);
    }
    if p.parse_keyword(Keyword::DELETE) {
        return Ok(Action::Delete);
    }
    if !p.parse_keyword(Keyword::UPDATE) {
        let expected = "UPDATE SET, DELETE or DO NOTHING for rows of the table";
        return p.expected_ref(expected, p.peek_token_ref());
    }
    p.expect_keyword(Keyword::SET)?;
    match of == Matching::Matched && parse_star(p) {
        true => Ok(Action::UpdateAll),
        false => parse_settings(p).map(Action::Update),
    }
}

fn parse_insert(p: &mut Parser<'_>) -> Result<Action, ParserError> {
    if parse_star(p) {
        return Ok(Action::InsertAll);
    }
    let columns = p.parse_parenthesized_column_list(IsOptional::Optional, false)?;
    p.expect_keyword(Keyword::VALUES)?;
    p.expect_token(&Token::LParen)?;
    let values = p.parse_comma_separated(Parser::parse_expr)?;
    p.expect_token(&Token::RParen)?;
    Ok(Action::Insert(columns, values.into_iter().map(or_default).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::{Rewrite, Statement, parse};
    use super::*;

    fn merge(clauses: &str) -> Vec<Clause> {
        match parse(&format!("MERGE INTO t AS a USING s ON a.k = s.k {clauses}")).unwrap() {
            Statement::Rewrite(rewrite) => match *rewrite {
                Rewrite::Merge(merge) => merge.clauses,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn clauses_are_for_matched_rows_or_for_either_side() {
        let found = merge(
            "WHEN MATCHED AND s.gone THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v, (w, x) = (1, DEFAULT) \
             WHEN NOT MATCHED BY TARGET THEN INSERT (k, v) VALUES (s.k, DEFAULT) \
             WHEN NOT MATCHED BY SOURCE AND a.v > 1 THEN DO NOTHING",
        );
        let of: Vec<_> = found.iter().map(|clause| clause.of).collect();
        use Matching::*;
        assert_eq!(of, [Matched, Matched, NotMatched, NotMatchedBySource]);
        let Action::Update(settings) = &found[1].action else { panic!() };
        assert_eq!(settings.len(), 3);
        assert_eq!(settings[2].value, None);
        assert!(matches!(&found[2].action, Action::Insert(c, v) if c.len() == 2 && v[1].is_none()));
        assert_eq!(found[3].action, Action::Nothing);
    }

    #[test]
    fn a_star_stands_for_all_columns() {
        let found = merge("WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *");
        assert_eq!(found[0].action, Action::UpdateAll);
        assert_eq!(found[1].action, Action::InsertAll);
    }

    #[test]
    fn an_action_goes_with_the_rows_there_are() {
        for wrong in [
            "WHEN NOT MATCHED THEN UPDATE SET v = 1",
            "WHEN MATCHED THEN INSERT VALUES (1)",
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *",
            "WHEN MATCHED THEN NOTHING",
            "",
        ] {
            let sql = format!("MERGE INTO t USING s ON t.k = s.k {wrong}");
            assert!(parse(&sql).is_err(), "{wrong}");
        }
    }
}
