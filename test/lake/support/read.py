"""Reads every table of a namespace with a program that shares nothing with DuckDB, and writes it as Parquet.

pyiceberg for Iceberg, polars-ducklake for DuckLake. The request is one JSON object on stdin.
"""

import json
import sys

request = json.load(sys.stdin)
s3 = request["s3"]


def iceberg():
    from pyiceberg.catalog import load_catalog

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
        yield table, catalog.load_table((request["namespace"], table)).scan().to_arrow()


def ducklake():
    from dataclasses import replace

    from polars_ducklake import scan, scan_ducklake
    from pyarrow import fs

    # polars-ducklake 0.2.1 reads all files without deletes at once and fails where only some of them come from an update,
    # which have one column more (_ducklake_internal_row_id). So each file is read by itself.
    plan = scan._plan_file
    scan._plan_file = lambda *args, **named: replace(plan(*args, **named), is_pure_passthrough=False)

    # polars insists on status 206 for a part of an object, and rclone answers 200: so it reads a copy.
    store = fs.S3FileSystem(
        access_key=s3["keyId"],
        secret_key=s3["secretKey"],
        endpoint_override=s3["endpoint"],
        region="us-east-1",
    )
    copy = f"{request['folder']}/copy/"
    fs.copy_files(request["warehouse"].removeprefix("s3://"), copy, source_filesystem=store)
    for table in request["tables"]:
        frame = scan_ducklake(request["catalog"], table, schema=request["namespace"], data_path=copy)
        yield table, frame.collect().to_arrow()


import pyarrow.parquet

for name, rows in (iceberg if request["kind"] == "iceberg" else ducklake)():
    pyarrow.parquet.write_table(rows, f"{request['folder']}/{name}.parquet")
