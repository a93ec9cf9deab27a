#!/usr/bin/env bash
# What other people's programs make of what this one writes, kills of a real process, and memory: npm run test:others.
# Before a release, and after a change of what they read: views, sheets, metrics, units, the lake.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

install() {
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"
}

# Without them, tests are skipped, and the last lines name them.
command -v systemd-analyze >/dev/null || install systemd || true
command -v chromium >/dev/null || command -v google-chrome >/dev/null || install chromium || true
command -v promtool >/dev/null || install prometheus || true
command -v restic >/dev/null || install restic || true
# The cookbook in Python, dbt and JDBC, and Schemathesis; the tests install the packages themselves.
python3 -c 'import ensurepip' 2>/dev/null || install python3 python3-venv || true
command -v javac >/dev/null || install default-jdk-headless || true
command -v mvn >/dev/null || install maven || true
skipped=()
command -v systemd-analyze >/dev/null || skipped+=('test/others/systemd.test.ts: systemd')
command -v chromium >/dev/null || command -v google-chrome >/dev/null || skipped+=('test/others/{page,report,sheets-page,two-people}.test.ts: chromium')
command -v promtool >/dev/null || skipped+=('test/others/alerts.test.ts: prometheus')
command -v restic >/dev/null || skipped+=('test/others/restic.test.ts: restic')
python3 -c 'import ensurepip' 2>/dev/null || skipped+=('test/others/schemathesis.test.ts: python3-venv')
python3 -c 'import ensurepip, sys; assert sys.version_info >= (3, 11)' 2>/dev/null ||
  skipped+=('Python and dbt in test/others/cookbook.test.ts: python3-venv, 3.11 or newer')
command -v javac >/dev/null && command -v mvn >/dev/null ||
  skipped+=('JDBC in test/others/cookbook.test.ts: default-jdk-headless, maven')
command -v soffice >/dev/null || skipped+=('LibreOffice in test/others/spreadsheets.test.ts: libreoffice-calc-nogui')

npx vitest run --project others
# The first time downloads about 500 MB.
while read -r missing; do skipped+=("test/lake: $missing"); done < <(bash scripts/lake-services.sh install 2>&1 | sed -n 's/^missing: //p')
npx vitest run --project lake

for one in "${skipped[@]}"; do echo "SKIPPED, because something is missing: $one"; done
