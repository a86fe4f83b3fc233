//! `COPY .. FROM STDIN (FORMAT binary)`, a piece at a time.

use std::pin::pin;

use bytes::{BufMut, Bytes, BytesMut};
use futures::SinkExt;
use tokio_postgres::{CopyInSink, Transaction};

use super::Origin;
use crate::encode::{CopyRows, encoders};
use crate::rows::Rows;
use crate::target::{BATCH_ID, Column, QUERY_ID, ROW_ID, Target, list};
use crate::trouble::Trouble;

/// Adds all rows to the table, numbered.
pub(super) async fn into_table(
    transaction: &Transaction<'_>,
    target: &Target,
    rows: &Rows,
    origin: Origin,
) -> Result<(), Trouble> {
    let own = [QUERY_ID, BATCH_ID, ROW_ID].map(str::to_owned);
    let names = list(target.columns.iter().map(|column| &column.name).chain(&own));
    let copy = format!("COPY {} ({names}) FROM STDIN (FORMAT binary)", target.name);
    let behind = |row: i64, out: &mut BytesMut| {
        out.put_i32(16);
        out.put_slice(origin.query.as_bytes());
        for number in [origin.batch, row] {
            out.put_i32(8);
            out.put_i64(number);
        }
    };
    run(transaction, &copy, &target.columns, rows, &behind, own.len()).await
}

/// Adds all rows to a temporary table, each with its number behind.
pub(super) async fn into_staging(
    transaction: &Transaction<'_>,
    copy: &str,
    columns: &[Column],
    rows: &Rows,
) -> Result<(), Trouble> {
    let behind = |row: i64, out: &mut BytesMut| {
        out.put_i32(8);
        out.put_i64(row);
    };
    run(transaction, copy, columns, rows, &behind, 1).await
}

async fn run(
    transaction: &Transaction<'_>,
    copy: &str,
    columns: &[Column],
    rows: &Rows,
    behind: &(dyn Fn(i64, &mut BytesMut) + Sync),
    behind_columns: usize,
) -> Result<(), Trouble> {
    let sink: CopyInSink<Bytes> = transaction.copy_in(copy).await?;
    let mut sink = pin!(sink);
    let mut out = CopyRows::begin();
    for piece in rows.pieces()? {
        let (first, piece) = piece?;
        let encoders = encoders(columns, &piece)?;
        let mut row = 0;
        while row < piece.num_rows() {
            let numbered = |row: usize, out: &mut BytesMut| behind(first + row as i64, out);
            row = out.add(&encoders, piece.num_rows(), row, &numbered, behind_columns)?;
            if let Some(full) = out.piece() {
                sink.send(full).await?;
            }
        }
    }
    sink.send(out.end()).await?;
    sink.finish().await?;
    Ok(())
}
