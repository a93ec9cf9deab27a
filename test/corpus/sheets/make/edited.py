"""Writes the case edited with openpyxl and pandas: a title above the header, a row that is hidden. Run: python make/edited.py"""

import json
import pathlib

import openpyxl
import pandas as pd

folder = pathlib.Path(__file__).parent.parent / "edited"
case = json.loads((folder / "expected.json").read_text())
title = "Priorities for the third quarter"
hidden = 5

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Topics"
sheet["A1"] = title
for column, name in enumerate(case["columns"], 1):
    sheet.cell(case["headerRow"], column, name)
for number, *cells in case["rows"]:
    for column, cell in enumerate(cells, 1):
        sheet.cell(number, column, cell)
sheet.row_dimensions[hidden].hidden = True
sheet.auto_filter.ref = f"A{case['headerRow']}:G8"
book.save(folder / "openpyxl.xlsx")

numbers = range(case["headerRow"] + 1, case["rows"][-1][0] + 1)
by_number = {number: cells for number, *cells in case["rows"]}
frame = pd.DataFrame([by_number.get(number, []) for number in numbers], columns=case["columns"])
with pd.ExcelWriter(folder / "pandas.xlsx", engine="openpyxl") as writer:
    frame.to_excel(writer, sheet_name="Topics", startrow=case["headerRow"] - 1, index=False)
    writer.sheets["Topics"]["A1"] = title
    writer.sheets["Topics"].row_dimensions[hidden].hidden = True
