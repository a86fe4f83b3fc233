//! How the prompt shows results; its `\` commands change it.

use crate::output::{Shape, wants_colours};

/// Rows of a result that are shown, unless `\limit` says otherwise.
const ROW_LIMIT: usize = 40;

/// What the prompt's switches stand at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Display {
    /// Rows shown of a result; none: all.
    pub row_limit: Option<usize>,
    /// One line per column.
    pub expanded: bool,
    /// Results go through `$PAGER`, whole.
    pub pager: bool,
    /// The line after each query and write tells the time.
    pub timing: bool,
    /// What a statement scans and writes is shown before it runs.
    pub explain: bool,
    /// Results are made to fit where no terminal is, too: a script has asked for it.
    pub anywhere: bool,
}

impl Default for Display {
    fn default() -> Self {
        let row_limit = Some(ROW_LIMIT);
        Self {
            row_limit,
            expanded: false,
            pager: false,
            timing: true,
            explain: false,
            anywhere: false,
        }
    }
}

impl Display {
    /// What a script's own switches start from: everything as without them.
    pub fn of_script() -> Self {
        Self { row_limit: None, timing: false, anywhere: true, ..Self::default() }
    }

    /// The shape of a result on a terminal of this width.
    pub fn shape(&self, width: usize) -> Shape {
        let expanded = self.expanded;
        match self.pager {
            true => Shape { expanded, ..Shape::WHOLE },
            false => Shape { width, row_limit: self.row_limit, expanded, colours: wants_colours() },
        }
    }

    /// The line on the rows that weren't shown; none when all were.
    pub fn left_out(&self, rows: u64) -> Option<String> {
        let shown = self.row_limit.filter(|_| !self.pager)? as u64;
        (rows > shown).then(|| {
            let all = partwise_sql::thousands(rows);
            format!(
                "{shown} of {all} rows shown: \\limit all shows every row, \\limit N the first N"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_that_were_not_shown_are_mentioned() {
        let mut display = Display::default();
        assert_eq!(display.left_out(40), None);
        assert!(display.left_out(1_041).unwrap().starts_with("40 of 1,041 rows shown: \\limit"));
        display.pager = true;
        assert_eq!(display.left_out(1_041), None);
        assert_eq!(display.shape(80).row_limit, None);
    }
}
