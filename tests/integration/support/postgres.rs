//! PostgreSQL, to answer the same statements.

use partwise_testkit::PostgresServer;

/// A server that ends with the value.
pub struct Postgres(PostgresServer);

/// What a statement gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The number of rows that it says it changed, and those that a query finds afterwards.
    Rows(u64, Vec<String>),
    /// The error.
    Error(String),
}

impl Postgres {
    /// Starts one; none where it isn't installed: says what is skipped, and fails with CI=true.
    pub fn start() -> Option<Self> {
        let server = PostgresServer::start("PostgreSQL's answers").expect("PostgreSQL starts");
        server.map(Self)
    }

    /// What each statement gives, each on the tables as `setup` makes them; `ask` is the query for
    /// the rows afterwards.
    pub fn answers(&self, setup: &str, statements: &[&str], ask: &str) -> Vec<Answer> {
        let mut script = String::new();
        for statement in statements {
            script.push_str(&format!(
                "\\set QUIET on\nBEGIN;\n{setup}\n\\set QUIET off\n\\echo #\n{statement};\n\
                 \\set QUIET on\n{ask};\nROLLBACK;\n"
            ));
        }
        let said = self.0.psql(&script).expect("psql runs");
        let answers: Vec<Answer> = said.split("#\n").skip(1).map(answer).collect();
        assert_eq!(answers.len(), statements.len(), "{said}");
        answers
    }
}

/// `DELETE 2`, then the rows; or an error.
fn answer(said: &str) -> Answer {
    if let Some(error) = said.lines().find(|line| line.contains("ERROR:")) {
        return Answer::Error(error.to_owned());
    }
    let mut lines = said.lines();
    let tag = lines.next().unwrap_or_default();
    let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
    let count = count.unwrap_or_else(|| panic!("{tag} names no count: {said}"));
    Answer::Rows(count, lines.map(str::to_owned).collect())
}
