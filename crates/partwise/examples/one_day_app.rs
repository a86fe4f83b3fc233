//! An analytics app that serves one-day questions: `one_day_app TABLE DAY...` opens a table
//! partitioned by `day` once and answers for all the days at the same time. Each answer reads the
//! one directory of its day. Then a day is corrected, and the next answer is the new one.

use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;

use partwise::datafusion::arrow::array::AsArray;
use partwise::datafusion::arrow::datatypes::{Float64Type, Int64Type};
use partwise::datafusion::functions_aggregate::expr_fn::{count, sum};
use partwise::datafusion::physical_plan::collect;
use partwise::datafusion::prelude::*;
use partwise::{Error, Overwrite, SaveMode, ScanTotals, Table, WritePartitioned};
use tokio::task::JoinSet;

/// The app: one table, open as long as the app runs.
#[derive(Clone)]
struct App {
    session: SessionContext,
    trips: Table,
}

/// What a question gave, and what was read for it.
struct Answer {
    day: String,
    trips: i64,
    revenue: f64,
    read: ScanTotals,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { day, trips, revenue, read } = self;
        let ScanTotals { partitions, rows, .. } = read;
        write!(f, "{day}: {trips} trips, {revenue:.2}; partitions={partitions}, rows_read={rows}")
    }
}

impl App {
    async fn open(table: &str) -> Result<Self, Error> {
        let session = SessionContext::new();
        let trips = Table::open_in(&session, table).await?;
        Ok(Self { session, trips })
    }

    /// How many trips a day had, and what they brought.
    async fn one_day(&self, day: String) -> Result<Answer, Error> {
        let rows = self.trips.dataframe()?.filter(col("day").eq(lit(day.as_str())))?;
        let totals = rows.aggregate(vec![], vec![count(col("fare")), sum(col("fare"))])?;
        let plan = totals.create_physical_plan().await?;
        let rows = collect(Arc::clone(&plan), self.session.task_ctx()).await?;
        Ok(Answer {
            day,
            trips: rows[0].column(0).as_primitive::<Int64Type>().value(0),
            revenue: rows[0].column(1).as_primitive::<Float64Type>().value(0),
            read: ScanTotals::of(&plan).unwrap_or_default(),
        })
    }

    /// Answers for all days at once, in the order in which they are done.
    async fn answer(&self, days: &[String]) -> Result<(), Error> {
        let mut questions = JoinSet::new();
        for day in days.iter().cloned() {
            let app = self.clone();
            questions.spawn(async move { app.one_day(day).await });
        }
        for answer in questions.join_all().await {
            println!("{}", answer?);
        }
        Ok(())
    }

    /// A correction of one day, as another program would do it: all fares doubled.
    async fn correct(&self, path: &str, day: &str) -> Result<(), Error> {
        let rows = self.trips.dataframe()?.filter(col("day").eq(lit(day)))?;
        let rows = rows.with_column("fare", col("fare") * lit(2.0))?;
        let write = rows.write_partitioned(path).mode(SaveMode::Overwrite);
        println!("{}", write.overwrite(Overwrite::partitions([("day", day)])).save().await?);
        Ok(())
    }
}

async fn serve(path: &str, days: &[String]) -> Result<(), Error> {
    let app = App::open(path).await?;
    app.answer(days).await?;
    for day in days.iter().take(1) {
        app.correct(path, day).await?;
        println!("{}", app.one_day(day.clone()).await?);
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((table, days)) = arguments.split_first() else { return ExitCode::from(2) };
    match serve(table, days).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
