//! Writers and readers at the same time.

use partwise_commit::*;
use partwise_testkit::FaultyDisk;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    two_writers_append_and_nothing_is_lost,
    two_overwrites_leave_one_of_them,
    a_reader_sees_the_old_table_or_the_new_one,
    two_first_writers_make_one_table,
    a_token_applies_once_when_its_writers_race,
);

async fn two_writers_append_and_nothing_is_lost(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[]).await?;
    let append = async |text: &'static str| {
        for _ in 0..10 {
            write(&table, Operation::Append, &[("a", &[text])]).await?;
        }
        Ok::<(), Error>(())
    };
    futures::try_join!(append("x"), append("y"))?;
    let rows = &content(&table).await?["p=a"];
    assert_eq!(rows.iter().filter(|row| *row == "x").count(), 10);
    assert_eq!(rows.len(), 20);
    assert_eq!(table.records().await?[0].version, 21);
    Ok(())
}

async fn two_overwrites_leave_one_of_them(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["0"]), ("b", &["0"])]).await?;
    for _ in 0..10 {
        let overwrite = async |text: &'static str| {
            write(&table, dynamic(), &[("a", &[text, text]), ("b", &[text])]).await
        };
        futures::try_join!(overwrite("x"), overwrite("y"))?;
        let now = content(&table).await?;
        let x = rows(&[("a", &["x", "x"]), ("b", &["x"])]);
        let y = rows(&[("a", &["y", "y"]), ("b", &["y"])]);
        assert!(now == x || now == y, "{now:?}");
        assert_eq!(place.data_files().await.len(), 2);
    }
    Ok(())
}

async fn a_reader_sees_the_old_table_or_the_new_one(place: Place) -> Result<()> {
    read_across_overwrites(place.table()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_exchange_a_reader_sees_the_old_table_or_the_new_one() -> Result<()> {
    let lake = tempfile::tempdir().unwrap();
    let disk = std::sync::Arc::new(FaultyDisk::sound().without_exchange());
    read_across_overwrites(Table::new(Location::Local { disk, dir: lake.path().join("report") }))
        .await
}

async fn read_across_overwrites(table: Table) -> Result<()> {
    write(&table, Operation::Create, &[("a", &["0"]), ("b", &["0"]), ("c", &["0"])]).await?;
    let writer = {
        let table = table.clone();
        tokio::spawn(async move {
            for n in 1..=200 {
                let text = n.to_string();
                let rows: &[&str] = &[&text];
                let files = [("a", rows), ("b", rows), ("c", rows)];
                let operation = if n % 3 == 0 { fixed(&[]) } else { dynamic() };
                write(&table, operation, &files).await?;
            }
            Ok::<(), Error>(())
        })
    };
    let mut answers = 0;
    while !writer.is_finished() {
        let seen = content(&table).await?;
        let values: Vec<&Vec<String>> = seen.values().collect();
        assert_eq!(values.len(), 3, "{seen:?}");
        assert!(values.iter().all(|rows| rows.len() == 1 && *rows == values[0]), "{seen:?}");
        answers += 1;
    }
    writer.await.unwrap()?;
    assert!(answers > 0);
    Ok(())
}

async fn two_first_writers_make_one_table(place: Place) -> Result<()> {
    let table = place.table();
    let append =
        async |text: &'static str| write(&table, Operation::Append, &[("a", &[text])]).await;
    futures::try_join!(append("x"), append("y"))?;
    assert_eq!(content(&table).await?, rows(&[("a", &["x", "y"])]));
    assert_eq!(table.records().await?.len(), 2);
    let create = async |text: &'static str| {
        let table = Table::new(place.location("other"));
        write(&table, Operation::Create, &[("a", &[text])]).await
    };
    let (x, y) = futures::join!(create("x"), create("y"));
    assert!(x.is_ok() != y.is_ok(), "{x:?} {y:?}");
    Ok(())
}

async fn a_token_applies_once_when_its_writers_race(place: Place) -> Result<()> {
    let table = place.table();
    let append = async || {
        let token = Token { job: "j".into(), run: 1, step: 0, digest: "d".into() };
        write_with(&table, Operation::Append, &[("a", &["1"])], |c| c.token = Some(token)).await
    };
    let (x, y) = futures::try_join!(append(), append())?;
    assert!(x.replayed != y.replayed);
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    Ok(())
}
