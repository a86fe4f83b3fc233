"""Where the raw files are, and where one system keeps its tables."""

import shutil
from pathlib import Path

TASKS = {
    "report": "the report, 3 partitions",
    "by_day": "trips by day, 91 partitions",
    "one_day": "one day of 91",
    "february": "February again",
    "many": "one of {many:,} partitions",
}

#: The tables that a task makes or, for the queries, reads.
TABLE = {"report": "report", "february": "report", "by_day": "trips", "one_day": "trips"}

#: Tasks that need another one's table first.
NEEDS = {"one_day": "by_day", "february": "report"}

QUARTER = ("2024-01-01", "2024-04-01")
FEBRUARY = ("2024-02-01", "2024-03-01")
DAY = "2024-01-15"
THREADS = 2


class Place:
    """The files of one run, as one system sees them."""

    def __init__(self, data, out, system, many):
        self.data = Path(data).resolve()
        self.work = Path(out).resolve() / system
        self.many_table = Path(out).resolve() / "partwise" / "lake" / "many"
        self.many = many
        #: The one partition that the query over many asks for.
        self.key = many * 7 // 9

    def files(self):
        return [str(self.data / f"yellow_tripdata_2024-0{month}.parquet") for month in (1, 2, 3)]

    def table(self, task):
        if task == "many":
            return self.many_table
        below = "lake" if self.work.name == "partwise" else ""
        return self.work / below / TABLE[task]

    def clear(self, task):
        """Takes away what an earlier run of a task that makes a table left."""
        if task in ("report", "by_day"):
            shutil.rmtree(self.table(task), ignore_errors=True)
            shutil.rmtree(self.work / "lake" / "_partwise" / TABLE[task], ignore_errors=True)
