"""Runs one query in Spark against an Iceberg REST catalog and prints its rows as JSON. The request is one JSON object on stdin."""

import json
import sys

from pyspark.sql import SparkSession

request = json.load(sys.stdin)
builder = SparkSession.builder.master("local[1]").appName("lake")
for name, value in request["settings"].items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
print(json.dumps([list(row) for row in spark.sql(request["sql"]).collect()]))
