#!/bin/sh
# Writes the corpus with LibreOffice, which opens files of other writers, calculates, and saves. Run: sh make/libreoffice.sh
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

save() { # folder, source, ending
  soffice --headless "-env:UserInstallation=file://$work/profile" --convert-to "$3" --outdir "$work/out" "$1/$2" >/dev/null 2>&1
  mv "$work/out/${2%.*}.$3" "$1/libreoffice.$3"
}

for ending in xlsx ods; do
  save topics rust_xlsxwriter.xlsx "$ending"
  save formulas poi.xlsx "$ending"
  save plan openpyxl.xlsx "$ending"
  save edited openpyxl.xlsx "$ending"
done
save edited openpyxl.xlsx csv
