"""Runs each NAME.sql of a folder on a DuckDB file and prints {NAME: rows} as JSON.

ask.py FILE FOLDER rows|pandas|polars
"""

import json
import sys
from pathlib import Path

import duckdb

file, folder, how = sys.argv[1:]
connection = duckdb.connect(file, read_only=True)
connection.execute("SET TimeZone = 'UTC'")


def rows(sql):
    if how == "rows":
        return connection.execute(sql).fetchall()
    if how == "polars":
        return connection.sql(sql).pl().rows()
    return json.loads(connection.sql(sql).df().to_json(orient="values", date_format="iso"))


answers = {path.stem: rows(path.read_text("utf-8")) for path in sorted(Path(folder).glob("*.sql"))}
print(json.dumps(answers, default=str))
