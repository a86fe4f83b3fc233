//! Every aggregate gives what the batch query gives.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type};
use datafusion::common::{Result as DFResult, ScalarValue};
use datafusion::logical_expr::{Accumulator, Volatility, create_udaf};
use partwise_stream::{MemorySink, OutputMode};

use crate::kit::{Lab, rows, run};

/// Runs the query over the stream in complete and in update mode and beside it over the files.
async fn same_as_batch(aggregate: &str) {
    for (mode, name) in [(OutputMode::Complete, "whole"), (OutputMode::Update, "changed")] {
        let lab = Lab::new();
        lab.trips(12, 5).await;
        lab.session.register_udaf(product());
        let sql = format!("SELECT zone, {aggregate} AS value FROM trips GROUP BY zone");
        let sink = MemorySink::new("result");
        run(lab.query(&sql, name, mode).await.sink(sink.clone())).await.unwrap();
        lab.session.deregister_table("trips").unwrap();
        let landing = lab.path("landing").display().to_string();
        lab.session.register_parquet("trips", &landing, Default::default()).await.unwrap();
        let batch = lab.session.sql(&sql).await.unwrap().collect().await.unwrap();
        assert_eq!(rows(sink.rows()), rows(batch), "{aggregate} in mode {mode}");
        assert!(rows(sink.rows()).len() >= 9);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_counts_and_extremes() {
    same_as_batch("count(*)").await;
    same_as_batch("count(tag) FILTER (WHERE amount > 5)").await;
    same_as_batch("sum(CAST(round(amount * 100) AS BIGINT))").await;
    same_as_batch("min(tag) || max(tag)").await;
    same_as_batch("bool_and(amount > 1)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn averages_and_deviations() {
    same_as_batch("round(avg(amount), 9)").await;
    same_as_batch("round(stddev(amount), 9)").await;
    same_as_batch("round(var_pop(amount), 9)").await;
    same_as_batch("round(corr(amount, zone), 6)").await;
    same_as_batch("median(CAST(round(amount * 100) AS BIGINT))").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn distinct_values_exact_and_estimated() {
    same_as_batch("count(DISTINCT tag)").await;
    same_as_batch("approx_distinct(tag)").await;
    same_as_batch("sum(DISTINCT CAST(round(amount * 100) AS BIGINT))").await;
    same_as_batch("array_sort(array_agg(DISTINCT tag))").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_in_an_order() {
    same_as_batch("first_value(tag ORDER BY ts, amount, tag)").await;
    same_as_batch("array_agg(tag ORDER BY ts, amount, tag)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregate_of_the_user() {
    same_as_batch("round(ln_product(amount), 6)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregate_without_groups_is_one_row() {
    let lab = Lab::new();
    lab.trips(12, 5).await;
    let sql = "SELECT count(*) AS trips, count(DISTINCT tag) AS tags FROM trips";
    let sink = MemorySink::new("result");
    run(lab.query(sql, "whole", OutputMode::Complete).await.sink(sink.clone())).await.unwrap();
    assert_eq!(rows(sink.rows()), ["1440 | 17"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn distinct_rows_are_groups() {
    let lab = Lab::new();
    lab.trips(12, 5).await;
    let sink = MemorySink::new("result");
    let sql = "SELECT DISTINCT zone FROM trips";
    run(lab.query(sql, "zones", OutputMode::Update).await.sink(sink.clone())).await.unwrap();
    assert_eq!(rows(sink.rows()).len(), 10);
}

/// The logarithm of a product, by an accumulator alone.
#[derive(Debug, Default)]
struct Product(f64);

impl Accumulator for Product {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DFResult<()> {
        self.0 +=
            values[0].as_primitive::<Float64Type>().iter().flatten().map(f64::ln).sum::<f64>();
        Ok(())
    }

    fn evaluate(&mut self) -> DFResult<ScalarValue> {
        Ok(ScalarValue::from(self.0))
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> DFResult<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::from(self.0)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DFResult<()> {
        self.0 += states[0].as_primitive::<Float64Type>().iter().flatten().sum::<f64>();
        Ok(())
    }
}

fn product() -> datafusion::logical_expr::AggregateUDF {
    let float = DataType::Float64;
    create_udaf(
        "ln_product",
        vec![float.clone()],
        Arc::new(float.clone()),
        Volatility::Immutable,
        Arc::new(|_| Ok(Box::<Product>::default())),
        Arc::new(vec![Field::new("sum", float, true).data_type().clone()]),
    )
}
