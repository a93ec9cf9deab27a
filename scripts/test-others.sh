#!/usr/bin/env bash
# What other people's programs make of what this one writes, kills of a real process, and memory: npm run test:others.
# Before a release, and after a change of what they read: views, sheets, metrics, units. Its last lines name what was skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

install() {
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"
}

# Without them, tests are skipped. LibreOffice is too large to install here: libreoffice-calc-nogui.
command -v systemd-analyze >/dev/null || install systemd || true
command -v chromium >/dev/null || command -v google-chrome >/dev/null || install chromium || true
command -v promtool >/dev/null || install prometheus || true
command -v restic >/dev/null || install restic || true
# The cookbook in Python (3.11 or newer), dbt and JDBC, and Schemathesis; the tests install the packages themselves.
python3 -c 'import ensurepip' 2>/dev/null || install python3 python3-venv || true
command -v javac >/dev/null || install default-jdk-headless || true
command -v mvn >/dev/null || install maven || true

npx vitest run --project others
