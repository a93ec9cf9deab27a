"""Reads tables of a namespace with pyiceberg, and writes them as Parquet. The request is one JSON object on stdin."""

import json
import sys

import pyarrow.parquet
from pyiceberg.catalog import load_catalog

request = json.load(sys.stdin)
s3 = request["s3"]
catalog = load_catalog(
    "lake",
    type="rest",
    uri=request["catalog"],
    warehouse=request["warehouse"],
    **{
        "s3.endpoint": s3["endpoint"],
        "s3.access-key-id": s3["keyId"],
        "s3.secret-access-key": s3["secretKey"],
        "s3.region": "us-east-1",
        "header.X-Iceberg-Access-Delegation": "",
    },
)
for table in request["tables"]:
    rows = catalog.load_table((request["namespace"], table)).scan().to_arrow()
    pyarrow.parquet.write_table(rows, f"{request['folder']}/{table}.parquet")
