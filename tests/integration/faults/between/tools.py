"""A tool beside Partwise: does to a table what it is told, line by line."""
import os, shutil, sys

tool = sys.argv[1]


def delete(path):
    shutil.rmtree(path + '/p=a')


if tool == 'duckdb':
    import duckdb

    new = "copy (select 77::bigint v, 'a' p) to '{}' (format parquet, partition_by (p), {})"

    def make(path):
        duckdb.sql(f"copy (select 1::bigint v, 'a' p union all select 2, 'b') to '{path}' (format parquet, partition_by (p))")

    def append(path):
        duckdb.sql(new.format(path, 'append'))

    def overwrite(path):
        duckdb.sql(f"copy (select 77::bigint v) to '{path}/p=a' (format parquet, per_thread_output, overwrite)")

    def reuse(path):
        duckdb.sql(new.format(path, 'overwrite_or_ignore'))

    def read(path):
        return duckdb.connect().execute(f"select p, v from read_parquet('{path}/**/*.parquet', hive_partitioning = true)").fetchall()

if tool == 'polars':
    import polars as pl

    def write(path, *rows):
        pl.DataFrame({'v': [v for v, _ in rows], 'p': [p for _, p in rows]}).write_parquet(path + '/', partition_by='p')

    def make(path):
        write(path, (1, 'a'), (2, 'b'))

    def append(path):
        pl.DataFrame({'v': [77]}).write_parquet(path + '/p=a/more.parquet')

    def overwrite(path):
        delete(path)
        write(path, (77, 'a'))

    def reuse(path):
        write(path, (77, 'a'))

    def read(path):
        return pl.scan_parquet(path + '/', hive_partitioning=True).select('p', 'v').collect().rows()

if tool == 'pyarrow':
    import pyarrow as pa, pyarrow.dataset as ds

    def write(path, how, *rows, name='part-{i}.parquet'):
        table = pa.table({'v': [v for v, _ in rows], 'p': [p for _, p in rows]})
        ds.write_dataset(table, path, format='parquet', partitioning=['p'], partitioning_flavor='hive',
                         existing_data_behavior=how, basename_template=name)

    def make(path):
        write(path, 'error', (1, 'a'), (2, 'b'))

    def append(path):
        write(path, 'overwrite_or_ignore', (77, 'a'), name='more-{i}.parquet')

    def overwrite(path):
        write(path, 'delete_matching', (77, 'a'))

    def reuse(path):
        write(path, 'overwrite_or_ignore', (77, 'a'))

    def read(path):
        table = ds.dataset(path, partitioning='hive', format='parquet').to_table()
        return zip(table['p'].to_pylist(), table['v'].to_pylist())

if tool == 'spark':
    from pyspark.sql import SparkSession

    spark = (SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
             .config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.host', '127.0.0.1')
             .config('spark.sql.shuffle.partitions', '2')
             .config('spark.sql.sources.partitionOverwriteMode', 'dynamic').getOrCreate())
    spark.sparkContext.setLogLevel('OFF')

    def write(path, mode, *rows):
        frame = spark.createDataFrame(rows, 'v bigint, p string').coalesce(1)
        frame.write.mode(mode).partitionBy('p').parquet(path)

    def make(path):
        write(path, 'error', (1, 'a'), (2, 'b'))

    def append(path):
        write(path, 'append', (77, 'a'))

    def overwrite(path):
        write(path, 'overwrite', (77, 'a'))

    def delete(path):
        partition = spark._jvm.org.apache.hadoop.fs.Path(path + '/p=a')
        partition.getFileSystem(spark._jsc.hadoopConfiguration()).delete(partition, True)

    def read(path):
        return [(row.p, row.v) for row in spark.read.parquet(path).select('p', 'v').collect()]

print('ready', flush=True)
for line in sys.stdin:
    verb, path = line.rstrip('\n').split(' ', 1)
    rows = globals()[verb](path) or []
    print(';'.join(f'{p}={v}' for p, v in sorted(rows)), flush=True)
