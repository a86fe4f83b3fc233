use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, ObjectName, Query, With, visit_expressions,
};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{IsOptional, Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

/// `[WITH ..] INSERT INTO|OVERWRITE t [PARTITION (..)] [(columns)] [BY NAME] query`.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The table written to.
    pub table: ObjectName,
    /// `OVERWRITE`, not `INTO`.
    pub overwrite: bool,
    /// What stands in `PARTITION (..)`; none: no clause.
    pub partition: Option<Vec<PartitionItem>>,
    /// `IF NOT EXISTS` behind the clause.
    pub if_not_exists: bool,
    /// The columns that the query's columns go to; empty: all, by position.
    pub columns: Vec<Ident>,
    /// `BY NAME`: the query's column names say where they go.
    pub by_name: bool,
    /// The rows, with a leading `WITH` moved inside.
    pub query: Box<Query>,
}

/// One item of a `PARTITION (..)` clause.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionItem {
    /// `column`: its values come from the query.
    Dynamic(Ident),
    /// `column = constant`: an expression without columns.
    Constant(Ident, Expr),
    /// Any other predicate: a declared scope.
    Predicate(Expr),
}

/// Parses an INSERT, what stands in front of it given.
pub fn parse(p: &mut Parser<'_>, with: Option<With>) -> Result<Insert, ParserError> {
    p.expect_keyword(Keyword::INSERT)?;
    let overwrite = match p.parse_one_of_keywords(&[Keyword::INTO, Keyword::OVERWRITE]) {
        Some(Keyword::OVERWRITE) => {
            let _ = p.parse_keyword(Keyword::INTO);
            true
        }
        Some(_) => false,
        None => return p.expected_ref("INTO or OVERWRITE after INSERT", p.peek_token_ref()),
    };
    let _ = p.parse_keyword(Keyword::TABLE);
    let table = p.parse_object_name(false)?;
    let mut columns = parse_columns(p)?;
    let partition = match p.parse_keyword(Keyword::PARTITION) {
        true => Some(parse_partition(p)?),
        false => None,
    };
    let if_not_exists = p.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    if columns.is_empty() {
        columns = parse_columns(p)?;
    }
    let by_name = p.parse_keyword(Keyword::BY) && {
        if !super::is_word(p, "NAME") {
            return p.expected_ref("NAME after BY", p.peek_token_ref());
        }
        p.next_token();
        true
    };
    let mut query = p.parse_query()?;
    merge_with(&mut query, with);
    Ok(Insert { table, overwrite, partition, if_not_exists, columns, by_name, query })
}

/// `WITH ..` in front of a statement; none without one.
pub fn parse_with(p: &mut Parser<'_>) -> Result<Option<With>, ParserError> {
    if !p.parse_keyword(Keyword::WITH) {
        return Ok(None);
    }
    Ok(Some(With {
        with_token: AttachedToken::empty(),
        recursive: p.parse_keyword(Keyword::RECURSIVE),
        cte_tables: p.parse_comma_separated(Parser::parse_cte)?,
    }))
}

/// The outer `WITH` comes first, so that the query's own may use it.
fn merge_with(query: &mut Query, outer: Option<With>) {
    let Some(mut outer) = outer else { return };
    if let Some(inner) = query.with.take() {
        outer.recursive |= inner.recursive;
        outer.cte_tables.extend(inner.cte_tables);
    }
    query.with = Some(outer);
}

/// A column list, unless the parenthesis opens a query.
fn parse_columns(p: &mut Parser<'_>) -> Result<Vec<Ident>, ParserError> {
    let opens_query = match &p.peek_nth_token_ref(1).token {
        Token::LParen => true,
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::FROM | Keyword::TABLE
        ),
        _ => false,
    };
    if p.peek_token_ref().token != Token::LParen || opens_query {
        return Ok(vec![]);
    }
    p.parse_parenthesized_column_list(IsOptional::Mandatory, false)
}

/// `(spec)` behind the word PARTITION.
pub(super) fn parse_partition(p: &mut Parser<'_>) -> Result<Vec<PartitionItem>, ParserError> {
    p.expect_token(&Token::LParen)?;
    let items = p.parse_comma_separated(|p| p.parse_expr().map(item))?;
    p.expect_token(&Token::RParen)?;
    Ok(items)
}

fn item(expr: Expr) -> PartitionItem {
    match expr {
        Expr::Identifier(name) => PartitionItem::Dynamic(name),
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match (*left, *right) {
            (Expr::Identifier(name), constant) if is_constant(&constant) => {
                PartitionItem::Constant(name, constant)
            }
            (left, right) => PartitionItem::Predicate(Expr::BinaryOp {
                left: Box::new(left),
                op: BinaryOperator::Eq,
                right: Box::new(right),
            }),
        },
        other => PartitionItem::Predicate(other),
    }
}

/// No column and no query in it: the same for every row.
fn is_constant(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::CompoundFieldAccess { .. }
        | Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_continue()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Statement, parse};

    fn insert(sql: &str) -> Insert {
        match parse(sql).unwrap() {
            Statement::Insert(insert) => *insert,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_spec_mixes_constants_and_columns() {
        let found = insert(
            "INSERT OVERWRITE TABLE t PARTITION (dt = 'd1', hr, n = -1, d = DATE '2024-01-01', v IN (1, 2)) SELECT 1",
        );
        let items = found.partition.unwrap();
        assert!(matches!(&items[0], PartitionItem::Constant(n, _) if n.value == "dt"));
        assert_eq!(items[1], PartitionItem::Dynamic(Ident::new("hr")));
        assert!(matches!(&items[2], PartitionItem::Constant(..)));
        assert!(matches!(&items[3], PartitionItem::Constant(..)));
        assert!(matches!(&items[4], PartitionItem::Predicate(_)));
    }

    #[test]
    fn an_expression_without_columns_is_a_constant() {
        let found = insert(
            "INSERT INTO t PARTITION (a = upper('x') || 'y', b = c, d = (SELECT 1), e = current_date) SELECT 1",
        );
        let items = found.partition.unwrap();
        assert!(matches!(&items[0], PartitionItem::Constant(..)));
        assert!(matches!(&items[1], PartitionItem::Predicate(_)));
        assert!(matches!(&items[2], PartitionItem::Predicate(_)));
        assert!(matches!(&items[3], PartitionItem::Constant(..)));
    }

    #[test]
    fn a_column_list_is_told_from_a_query_in_parentheses() {
        assert_eq!(insert("INSERT INTO t (a, b) SELECT 1, 2").columns.len(), 2);
        assert_eq!(insert("INSERT INTO t PARTITION (a) (b) VALUES (1)").columns.len(), 1);
        assert!(insert("INSERT INTO t (SELECT 1, 2)").columns.is_empty());
        assert!(insert("INSERT INTO t BY NAME SELECT 1 AS a").by_name);
    }

    #[test]
    fn a_leading_with_moves_into_the_query() {
        let found = insert(
            "WITH a AS (SELECT 1) INSERT INTO t WITH b AS (SELECT * FROM a) SELECT * FROM b",
        );
        assert_eq!(found.query.with.unwrap().cte_tables.len(), 2);
    }
}
