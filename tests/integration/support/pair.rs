//! Each answer also without pruning.

use super::Folder;
use super::session::Session;

/// Two sessions on one lake: one that prunes, one that reads everything.
pub struct Pair {
    pub folder: Folder,
    pub pruned: Session,
    pub unpruned: Session,
}

impl Pair {
    /// After these statements.
    pub async fn after(statements: &[&str]) -> Self {
        let pair = Self::on(Folder::new()).await;
        pair.pruned.all(statements).await;
        pair
    }

    /// On what a folder's lake holds.
    pub async fn on(folder: Folder) -> Self {
        let pruned = Session::open(&folder).await;
        let unpruned = Session::open(&folder).await;
        unpruned.all(&["SET partwise.prune = false"]).await;
        Self { folder, pruned, unpruned }
    }

    /// The rows of a query, in order of their text, the same without pruning.
    pub async fn same(&self, query: &str) -> Vec<String> {
        let rows = sorted(self.pruned.rows(query).await);
        assert_eq!(rows, sorted(self.unpruned.rows(query).await), "without pruning: {query}");
        rows
    }

    /// The answer of a query that gives one row.
    pub async fn one(&self, query: &str) -> String {
        let rows = self.same(query).await;
        assert_eq!(rows.len(), 1, "{query}: {rows:?}");
        rows[0].clone()
    }

    /// `key=n/m` of the first scan of a query, as EXPLAIN tells.
    pub async fn selected(&self, key: &str, query: &str) -> String {
        let plan = self.pruned.rows(&format!("EXPLAIN FORMAT INDENT {query}")).await.join("\n");
        value_of(&plan, key).unwrap_or_else(|| panic!("{key} in {plan}"))
    }

    /// A figure of EXPLAIN ANALYZE, of all scans together.
    pub async fn figure(&self, key: &str, query: &str) -> usize {
        let plan = self.pruned.rows(&format!("EXPLAIN ANALYZE {query}")).await.join("\n");
        let key = format!(" {key}=");
        let found = plan.split(&key).skip(1);
        let figures: Vec<usize> = found.filter_map(leading_number).collect();
        assert!(!figures.is_empty(), "{key} in {plan}");
        figures.iter().sum()
    }
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

fn value_of(plan: &str, key: &str) -> Option<String> {
    let (_, rest) = plan.split_once(&format!(" {key}="))?;
    Some(rest.chars().take_while(|c| c.is_ascii_digit() || "/?".contains(*c)).collect())
}

fn leading_number(text: &str) -> Option<usize> {
    text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}
