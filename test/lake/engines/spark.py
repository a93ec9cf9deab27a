"""Runs SQL in Spark. Each line of stdin is a JSON text: first the settings of the session as an object, then one statement a line. Each is answered by one line: the rows as JSON, or an object with the error."""

import json
import sys

from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]").appName("lake")
for name, value in json.loads(sys.stdin.readline()).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
for line in sys.stdin:
    try:
        answer = [list(row) for row in spark.sql(json.loads(line)).collect()]
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer, default=str), flush=True)
