"""Writes the corpus with openpyxl, xlsxwriter, pandas, PyExcelerate and odfpy. Run: python make/python.py"""

import datetime as dt
import json
import pathlib

import openpyxl
import pandas as pd
import pyexcelerate
import xlsxwriter
from openpyxl.styles import Font, PatternFill

root = pathlib.Path(__file__).parent.parent


def expected(case):
    return json.loads((root / case / "expected.json").read_text())


def value(cell):
    """A cell of expected.json as Python has it."""
    if not isinstance(cell, dict):
        return cell
    text = cell["date"]
    return dt.datetime.fromisoformat(text) if "T" in text else dt.date.fromisoformat(text)


def rows(case):
    return [(row[0], [value(cell) for cell in row[1:]]) for row in expected(case)["rows"]]


def openpyxl_file(case, rows, write_only=False, name="openpyxl"):
    book = openpyxl.Workbook(write_only=write_only)
    sheet = book.create_sheet("Backlog") if write_only else book.active
    sheet.append(expected(case)["columns"])
    last = 1
    for number, cells in rows:
        for _ in range(last + 1, number):
            sheet.append([])
        sheet.append(cells)
        last = number
    if not write_only:
        for cell in sheet[1]:
            cell.font = Font(bold=True)
    book.save(root / case / f"{name}.xlsx")


topics = expected("topics")["columns"]
openpyxl_file("topics", rows("topics"))
openpyxl_file("topics", rows("topics"), write_only=True, name="openpyxl-write-only")


def formulas(number):
    return [f"=B{number}*2", f'=A{number}&"!"', f"=B{number}>1", "=1/0", f"=DATE(2026,3,4)+B{number}"]


inputs = [(number, cells[:2]) for number, cells in rows("formulas")]
without = [(number, [*cells, *formulas(number)[:2]]) for number, cells in inputs]
openpyxl_file("formulas-without-results", without)


def xlsxwriter_topics(name, **options):
    book = xlsxwriter.Workbook(root / "topics" / f"{name}.xlsx", options)
    sheet = book.add_worksheet("Backlog")
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    time = book.add_format({"num_format": "dd/mm/yy hh:mm:ss"})
    percent = book.add_format({"num_format": "0.0%"})
    for column, text in enumerate(topics):
        sheet.write_string(0, column, text)
    for number, cells in rows("topics"):
        for column, cell in enumerate(cells):
            if isinstance(cell, dt.datetime):
                sheet.write_datetime(number - 1, column, cell, time)
            elif isinstance(cell, dt.date):
                sheet.write_datetime(number - 1, column, cell, day)
            elif isinstance(cell, str):
                sheet.write_string(number - 1, column, cell)
            elif cell is not None:
                sheet.write(number - 1, column, cell, percent if column == 6 else None)
    book.close()


xlsxwriter_topics("xlsxwriter")
xlsxwriter_topics("xlsxwriter-constant-memory", constant_memory=True)
xlsxwriter_topics("xlsxwriter-1904", date_1904=True)

book = xlsxwriter.Workbook(root / "formulas" / "xlsxwriter.xlsx")
sheet = book.add_worksheet()
day = book.add_format({"num_format": "d mmmm yyyy"})
for column, text in enumerate(expected("formulas")["columns"]):
    sheet.write_string(0, column, text)
for number, cells in rows("formulas"):
    sheet.write_row(number - 1, 0, cells[:2])
    for at, formula in enumerate(formulas(number)):
        result = cells[2 + at]
        if isinstance(result, dt.date):
            result = (result - dt.date(1899, 12, 30)).days
        sheet.write_formula(number - 1, 2 + at, formula, day if at == 4 else None, result)
book.close()

book = xlsxwriter.Workbook(root / "formulas-without-results" / "xlsxwriter.xlsx")
sheet = book.add_worksheet()
for column, text in enumerate(expected("formulas-without-results")["columns"]):
    sheet.write_string(0, column, text)
for number, cells in without:
    sheet.write_row(number - 1, 0, cells[:2])
    for at, formula in enumerate(cells[2:]):
        # Without a value of our own it writes 0, which cannot be told from a result.
        sheet.write_formula(number - 1, 2 + at, formula, None, "")
book.close()

# Pandas: a table as it is, and a data frame with its index.
frame = pd.DataFrame([cells + [None] * (len(topics) - len(cells)) for _, cells in rows("topics")], columns=topics, dtype=object)
blank = pd.DataFrame([[None] * len(topics)], columns=topics, dtype=object)
frame = pd.concat([frame[:3], blank, frame[3:]])
for engine, ending in [("openpyxl", "xlsx"), ("xlsxwriter", "xlsx"), ("odf", "ods")]:
    frame.to_excel(root / "topics" / f"pandas-{engine}.{ending}", index=False, engine=engine)
    pd.DataFrame(
        {
            "topic_id": ["t1", "t2"],
            "priority": ["high", None],
            "votes": [3, 0.5],
            "seen": [pd.Timestamp("2026-03-04 05:06:07"), pd.Timestamp("2026-03-05")],
            "archived": [True, False],
        }
    ).to_excel(root / "data-frame" / f"pandas-{engine}.{ending}", engine=engine)

book = pyexcelerate.Workbook()
blank_row = [None] * len(topics)
table = {number: cells for number, cells in rows("topics")}
sheet = book.new_sheet("Backlog", data=[topics, *[table.get(number, blank_row) for number in range(2, 8)]])
for column in (8, 9):
    sheet.set_col_style(column, pyexcelerate.Style(format=pyexcelerate.Format("yyyy-mm-dd hh:mm:ss")))
book.save(root / "topics" / "pyexcelerate.xlsx")

# The plan: several sheets, a title, merged cells, a filter, hidden rows and columns, formats, styled empty cells.
plan = rows("plan")
book = openpyxl.Workbook()
book.active.title = "How to use"
book.active["A1"] = "Edit the plan."
secret = book.create_sheet("Secret")
secret.append(["topic_id", "priority"])
secret.append(["t9", "low"])
secret.sheet_state = "hidden"
sheet = book.create_sheet("Plan")
sheet["A1"] = "Priorities of autumn"
sheet.merge_cells("A1:D1")
for column, text in enumerate(expected("plan")["columns"], 1):
    sheet.cell(3, column, text)
for number, cells in plan:
    for column, cell in enumerate(cells, 1):
        sheet.cell(number, column, cell)
    sheet.cell(number, 3).number_format = "ddd, d. mmm yyyy"
    sheet.cell(number, 4).number_format = "0%"
    sheet.cell(number, 5).fill = PatternFill("solid", fgColor="FFFF00")
sheet.merge_cells("B5:B6")
sheet.auto_filter.ref = "A3:D6"
sheet.freeze_panes = "B4"
sheet.row_dimensions[5].hidden = True
sheet.column_dimensions["C"].hidden = True
book.create_sheet("Archive").append(["topic_id"])
book.save(root / "plan" / "openpyxl.xlsx")

book = xlsxwriter.Workbook(root / "plan" / "xlsxwriter.xlsx")
book.add_worksheet("How to use").write("A1", "Edit the plan.")
secret = book.add_worksheet("Secret")
secret.write_row(0, 0, ["topic_id", "priority"])
secret.hide()
sheet = book.add_worksheet("Plan")
sheet.merge_range("A1:D1", "Priorities of autumn")
day = book.add_format({"num_format": '[$-409]dddd", the "d/m/yy;@'})
percent = book.add_format({"num_format": "0%"})
yellow = book.add_format({"bg_color": "yellow"})
sheet.write_row(2, 0, expected("plan")["columns"])
for number, cells in plan:
    sheet.write_string(number - 1, 0, cells[0])
    if number < 5:
        sheet.write_string(number - 1, 1, cells[1])
    sheet.write_datetime(number - 1, 2, cells[2], day)
    sheet.write_number(number - 1, 3, cells[3], percent)
    sheet.write_blank(number - 1, 4, None, yellow)
sheet.merge_range("B5:B6", plan[1][1][1])
sheet.autofilter("A3:D6")
sheet.freeze_panes(3, 1)
sheet.set_row(4, None, None, {"hidden": True})
sheet.set_column("C:C", None, None, {"hidden": True})
sheet.add_sparkline("F4", {"range": "Plan!D4:D6"})
sheet.data_validation("B4:B6", {"validate": "list", "source": ["high", "low"]})
book.add_worksheet("Archive").write("A1", "topic_id")
book.close()
