#!/usr/bin/env bash
# Builds the image and runs it as its users would: not as root, on a read-only tree, with the key from a file; a nightly
# run against the sandbox, SIGTERM in the middle of one, a restart, and `serve`. Prints what it weighs and how fast it is.
#
#   scripts/container-check.sh                      with docker
#   ENGINE=podman scripts/container-check.sh        with podman
#   ENGINE=buildah scripts/container-check.sh       with buildah alone, as root: for a machine that runs no containers
#
# BASE names a copy of the Dockerfile's base image in another registry, BUILD_FLAGS are handed to the build, KEEP=1 leaves what it made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ENGINE=${ENGINE:-docker}
IMAGE=${IMAGE:-signalhouse-check}
PORT=${PORT:-48010}
SERVE_PORT=$((PORT + 1))
key=svc_container_check_key
work=$(mktemp -d)
names=()

say() { printf '%-46s %s\n' "$1" "${2:-ok}"; }
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  # What the programs said, which goes with the folder.
  tail -n 5 "$work"/*.err >&2 2>/dev/null || true
  exit 1
}
now() { date +%s%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f s", (b - a) / 1e9 }'; }

# ---- engines: build, size, start NAME ARG..., signal NAME, code NAME (waits), peek COMMAND..., health NAME ----
env_of=(SIGNALHOUSE_BASE_URL="http://127.0.0.1:$PORT/v1" SIGNALHOUSE_API_KEY_FILE=/run/secrets/api_key
  SIGNALHOUSE_RATE_LIMIT_REQUESTS=60 SIGNALHOUSE_RATE_LIMIT_WINDOW_MS=1000)

if [ "$ENGINE" = buildah ]; then
  # No container runtime: the image's tree, bound read-only into namespaces of its own, by hand.
  build() { buildah bud --format docker ${BUILD_FLAGS:-} ${BASE:+--build-arg BASE="$BASE"} -t "$IMAGE" . >"$work/build" 2>&1; }
  size() { buildah images --format '{{.Size}}' "$IMAGE"; }
  prepare() {
    container=$(buildah from --pull-never "$IMAGE")
    root=$(buildah mount "$container")
    mapfile -t image_env < <(buildah inspect --type image --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' "$IMAGE" | sed '/^$/d')
    mapfile -t entrypoint < <(buildah inspect --type image --format '{{range .OCIv1.Config.Entrypoint}}{{println .}}{{end}}' "$IMAGE" | sed '/^$/d')
    user=$(buildah inspect --type image --format '{{.OCIv1.Config.User}}' "$IMAGE")
    ids="$(awk -F: -v u="$user" '$1 == u { print $3 ":" $4 }' "$root/etc/passwd")"
    [ -n "$ids" ] || fail "the image has no user of its own: '$user'"
  }
  enter() {
    exec unshare --mount --pid --fork --kill-child sh -euc '
      root=$1 work=$2 ids=$3
      shift 3
      mount --bind "$root" "$root"
      mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
      mount -t tmpfs tmpfs "$root/run"
      mkdir -p "$root/run/secrets"
      touch "$root/run/secrets/api_key"
      mount --bind "$work/api_key" "$root/run/secrets/api_key"
      mount --bind "$work/data" "$root/data"
      mount --rbind /dev "$root/dev"
      mount -t proc proc "$root/proc"
      mount -o remount,bind,ro "$root"
      exec chroot --userspec="$ids" "$root" /bin/sh -c "cd /data && exec \"\$@\"" sh "$@"
    ' sh "$root" "$work" "$ids" env -i "${image_env[@]}" "${env_of[@]}" HOME=/tmp "$@"
  }
  start() {
    local name=$1
    shift
    names+=("$name")
    (enter "${entrypoint[@]}" "$@") >"$work/$name.out" 2>"$work/$name.err" &
    echo $! >"$work/$name.pid"
  }
  # The program's first process is the child of the one that made the namespaces.
  first() { ps -o pid= --ppid "$(cat "$work/$1.pid")" | tr -d ' '; }
  signal() { kill -TERM "$(first "$1")"; }
  code() {
    local status=0
    wait "$(cat "$work/$1.pid")" || status=$?
    echo "$status" >"$work/$1.code"
  }
  peek() { (enter "$@"); }
  health() { nsenter -t "$(first "$1")" --mount --pid chroot --userspec="$ids" "$root" node /app/scripts/healthcheck.mjs; }
  cleanup() {
    # The first process ends all others of its namespace; who made that does not, once the user has changed.
    for name in "${names[@]}"; do kill -KILL $(first "$name") "$(cat "$work/$name.pid")" 2>/dev/null || true; done
    [ -n "${container:-}" ] && buildah rm "$container" >/dev/null
    [ -n "${KEEP:-}" ] || rm -rf "$work"
  }
else
  run_flags=(--user node --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges --network host
    --volume "$work/data:/data" --volume "$work/api_key:/run/secrets/api_key:ro")
  for one in "${env_of[@]}"; do run_flags+=(--env "$one"); done
  build() { "$ENGINE" build ${BUILD_FLAGS:-} ${BASE:+--build-arg BASE="$BASE"} -t "$IMAGE" . >"$work/build" 2>&1; }
  size() { "$ENGINE" image inspect --format '{{.Size}}' "$IMAGE" | awk '{ printf "%.0f MB", $1 / 1e6 }'; }
  prepare() { :; }
  start() {
    local name=$1
    shift
    names+=("$name")
    "$ENGINE" run --detach --name "$IMAGE-$name" "${run_flags[@]}" "$IMAGE" "$@" >/dev/null
  }
  signal() { "$ENGINE" kill --signal TERM "$IMAGE-$1" >/dev/null; }
  code() {
    "$ENGINE" wait "$IMAGE-$1" >"$work/$1.code"
    "$ENGINE" logs "$IMAGE-$1" >"$work/$1.out" 2>"$work/$1.err"
  }
  peek() { "$ENGINE" run --rm "${run_flags[@]}" --entrypoint "$1" "$IMAGE" "${@:2}"; }
  health() { "$ENGINE" exec "$IMAGE-$1" node /app/scripts/healthcheck.mjs; }
  cleanup() {
    for name in "${names[@]}"; do "$ENGINE" rm --force "$IMAGE-$name" >/dev/null 2>&1 || true; done
    [ -n "${KEEP:-}" ] || rm -rf "$work"
  }
fi
trap cleanup EXIT

ends() { # NAME CODE: waits for the end, which must have that exit code
  code "$1"
  [ "$(cat "$work/$1.code")" = "$2" ] || { cat "$work/$1.out" "$work/$1.err" >&2; fail "$1 ended with $(cat "$work/$1.code"), not $2"; }
}
field() { node -p "JSON.parse(require('fs').readFileSync('$work/$1.out', 'utf8')).$2"; }
answers() { # URL: waits until it does
  for _ in $(seq 150); do curl -fsS -o /dev/null "$1" 2>/dev/null && return; sleep 0.2; done
  fail "nobody answers at $1"
}

# ---- the image ----
started=$(now)
build || { tail -30 "$work/build" >&2; fail 'the image does not build'; }
say 'built in' "$(since "$started")"
say 'size' "$(size)"
mkdir "$work/data"
printf 'apiKey: %s\nrate: { requests: 60, windowMs: 1000 }\n' "$key" >"$work/data/sandbox.yaml"
chmod 644 "$work/data/sandbox.yaml"
printf '%s\n' "$key" >"$work/api_key"
# As a mounted secret and a volume are: the user of the image may read the one and write to the other.
chmod 755 "$work"
chown 1000:1000 "$work/data" "$work/api_key" 2>/dev/null || chmod 777 "$work/data"
chmod 440 "$work/api_key"
prepare
# The Dockerfile's tag is the one source: BASE may be a copy of that image from another registry, and no other.
wanted=$(sed -n 's/^ARG BASE=.*node:\([0-9.]*\)-\([a-z]*\).*/v\1 \2/p' Dockerfile)
found=$(peek sh -c '. /etc/os-release && echo "$(node --version) $VERSION_CODENAME"')
[ -z "$wanted" ] || [ "$found" = "$wanted" ] ||
  fail "the base image has $found, but the Dockerfile's tag says $wanted: change the tag, or name another BASE"
say 'base image as the Dockerfile says' "$found"
[ "$(peek id -u)" != 0 ] || fail 'it runs as root'
say 'not root' "user $(peek id -un)"
peek sh -c '! touch /app/x 2>/dev/null && ! touch /x 2>/dev/null && touch /data/x /tmp/x && rm /data/x' || fail 'the tree is not read-only, or /data and /tmp are'
say 'read-only but for /data and /tmp'
dev=$(peek sh -c 'cd /app/node_modules && ls -d vitest typescript @typescript @biomejs dependency-cruiser playwright-core 2>/dev/null || true')
[ -z "$dev" ] || fail "development dependencies are in it: $dev"
say 'production dependencies only' "$(peek sh -c 'du -sm /app | cut -f1') MB of program"
started=$(now)
peek node /app/dist/main.js --version >/dev/null
say 'start-up (--version)' "$(since "$started")"

# ---- the service, from the same image ----
for port in "$PORT" "$SERVE_PORT"; do
  ! curl -sS -o /dev/null "http://127.0.0.1:$port/" 2>/dev/null || fail "port $port is in use (PORT names another pair)"
done
start sandbox sandbox --port "$PORT" --settings /data/sandbox.yaml --topics 30 --people 60 --companies 8 --messages 600
answers "http://127.0.0.1:$PORT/__sandbox/stats"

# ---- exit codes ----
start nothing sync --config /nowhere.yaml
ends nothing 2
say 'wrong settings: exit 2'

# ---- a night, ended in the middle, and the next one ----
start night sync --push --max-minutes 50 --json
for _ in $(seq 100); do grep -q 'fetched' "$work/night.err" 2>/dev/null && break; [ "$ENGINE" = buildah ] || { sleep 3; break; }; sleep 0.1; done
sleep 1
started=$(now)
signal night
ends night 0
say 'SIGTERM in the middle: exit 0 after' "$(since "$started")"
[ "$(field night outcome)" = stopped ] || fail 'it was not in the middle of anything'
before=$(field night requests.total)
start again sync --push --max-minutes 50 --json
ends again 0
[ "$(field again left.due)" = 0 ] || fail 'something is left due'
say 'the next one completes it: requests' "$before, then $(field again requests.total)"
for name in night again; do
  node -e 'for (const line of require("fs").readFileSync(process.argv[1], "utf8").trim().split("\n")) if (line) JSON.parse(line)' "$work/$name.err" || fail 'the log is not JSON'
done
say 'the log is JSON lines'
! grep -qF "$key" "$work"/{night,again,nothing}.{out,err} || fail 'the key is in an output'
say 'the key is in no output'

# ---- serve ----
started=$(now)
start serve serve --port "$SERVE_PORT"
answers "http://127.0.0.1:$SERVE_PORT/healthz"
say 'serve answers after' "$(since "$started")"
health serve || fail 'the health check says no'
say 'the health check'
answers "http://127.0.0.1:$SERVE_PORT/readyz"
made_up() { grep -q '^signalhouse_runs_total{job="nightly",outcome="done"[^}]*} 1$' <<<"$metrics"; }
metrics=
for _ in $(seq 300); do
  metrics=$(curl -fsS "http://127.0.0.1:$SERVE_PORT/metrics")
  made_up && break
  sleep 0.2
done
made_up || fail 'the job that was missed did not run'
say 'the missed night is made up for'
say 'memory of serve' "$(awk '/^process_resident_memory_bytes/ { printf "%.0f MB", $2 / 1e6 }' <<<"$metrics")"
started=$(now)
signal serve
ends serve 0
say 'SIGTERM: serve ends with 0 after' "$(since "$started")"
signal sandbox
ends sandbox 0
say 'All is well' ''
