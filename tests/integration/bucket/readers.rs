//! Readers while partitions in a bucket are overwritten.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use partwise::{Lake, PartwiseContext};

use super::bucket;

/// How many; 200 of them take a minute.
const OVERWRITES: &str = "PARTWISE_BUCKET_OVERWRITES";
const FEW: usize = 40;
const TOTAL: &str =
    "SELECT CAST(sum(n) AS BIGINT) AS s, count(DISTINCT n) AS kinds, count(*) AS c FROM r";

/// The one row of the totals: sum, kinds of rows, rows.
async fn totals(context: &PartwiseContext) -> (i64, i64, i64) {
    use partwise::datafusion::arrow::array::AsArray;
    use partwise::datafusion::arrow::datatypes::Int64Type;
    let batches = context.sql(TOTAL).await.unwrap().collect().await.unwrap();
    let value = |column: usize| batches[0].column(column).as_primitive::<Int64Type>().value(0);
    (value(0), value(1), value(2))
}

#[test]
fn a_reader_sees_old_or_new_totals_across_three_partitions_at_once() {
    let Some(bucket) = bucket("readers of a bucket") else { return };
    let overwrites = crate::faults::number_or(OVERWRITES, FEW);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let seen = runtime.block_on(async {
        let open = || {
            PartwiseContext::open(Lake::Store { store: bucket.store(), prefix: bucket.prefix() })
        };
        let writer = open().await.unwrap();
        let create = "CREATE TABLE r (n BIGINT, p STRING) USING parquet PARTITIONED BY (p)";
        writer.execute(create).await.unwrap();
        let write = |n: usize| {
            format!("INSERT OVERWRITE r SELECT {n}, p FROM (VALUES ('a'), ('b'), ('c')) AS v(p)")
        };
        writer.execute(&write(0)).await.unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let reader = {
            let (context, done) = (open().await.unwrap(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut seen = BTreeSet::new();
                while !done.load(Ordering::Relaxed) {
                    let (sum, kinds, rows) = totals(&context).await;
                    assert_eq!((kinds, rows, sum % 3), (1, 3, 0), "a mixture: {sum}");
                    seen.insert(sum / 3);
                }
                seen
            })
        };
        for n in 1..=overwrites {
            writer.execute(&write(n)).await.unwrap();
        }
        done.store(true, Ordering::Relaxed);
        let seen = reader.await.unwrap();
        assert_eq!(totals(&writer).await, (3 * overwrites as i64, 1, 3));
        seen
    });
    println!("{} of {overwrites} overwrites were seen by the reader", seen.len());
    assert!(seen.len() > 1, "the reader read beside the overwrites: {seen:?}");
}
