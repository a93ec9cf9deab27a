//! Writes the corpus with rust_xlsxwriter. Run: cd make/rust_xlsxwriter && cargo run

use rust_xlsxwriter::{Color, ExcelDateTime, Format, Formula, Table, Workbook, Worksheet, XlsxError};
use serde_json::Value;

const ROOT: &str = "../../";

fn expected(name: &str) -> Value {
    let text = std::fs::read_to_string(format!("{ROOT}{name}/expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

fn write(sheet: &mut Worksheet, row: u32, column: u16, cell: &Value, format: &Format) -> Result<(), XlsxError> {
    match cell {
        Value::String(text) => sheet.write_string(row, column, text)?,
        Value::Number(number) => sheet.write_number_with_format(row, column, number.as_f64().unwrap(), format)?,
        Value::Bool(truth) => sheet.write_boolean(row, column, *truth)?,
        Value::Object(date) => {
            let moment = ExcelDateTime::parse_from_str(date["date"].as_str().unwrap())?;
            sheet.write_datetime_with_format(row, column, &moment, format)?
        }
        _ => sheet,
    };
    Ok(())
}

fn header(sheet: &mut Worksheet, row: u32, data: &Value) -> Result<(), XlsxError> {
    for (at, text) in list(data, "columns").iter().enumerate() {
        sheet.write_string(row, at as u16, text.as_str().unwrap())?;
    }
    Ok(())
}

fn topics() -> Result<(), XlsxError> {
    let data = expected("topics");
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    let general = Format::new();
    let percent = Format::new().set_num_format("0.0%");
    let time = Format::new().set_num_format("yyyy-mm-dd hh:mm:ss");
    header(sheet, 0, &data)?;
    for row in list(&data, "rows") {
        let cells = row.as_array().unwrap();
        let number = cells[0].as_u64().unwrap() as u32;
        for (at, cell) in cells[1..].iter().enumerate() {
            let format = if cell.is_object() { &time } else if at == 6 { &percent } else { &general };
            write(sheet, number - 1, at as u16, cell, format)?;
        }
    }
    book.save(format!("{ROOT}topics/rust_xlsxwriter.xlsx"))
}

fn formulas() -> Result<(), XlsxError> {
    let data = expected("formulas");
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    let general = Format::new();
    let day = Format::new().set_num_format("dd mmm yyyy");
    header(sheet, 0, &data)?;
    for row in list(&data, "rows") {
        let cells = row.as_array().unwrap();
        let n = cells[0].as_u64().unwrap() as u32;
        write(sheet, n - 1, 0, &cells[1], &general)?;
        write(sheet, n - 1, 1, &cells[2], &general)?;
        let votes = cells[2].as_f64().unwrap();
        let all = [
            (format!("=B{n}*2"), cells[3].to_string()),
            (format!("=A{n}&\"!\""), cells[4].as_str().unwrap().to_string()),
            (format!("=B{n}>1"), cells[5].to_string().to_uppercase()),
            ("=1/0".to_string(), cells[6].as_str().unwrap().to_string()),
            (format!("=DATE(2026,3,4)+B{n}"), (46085.0 + votes).to_string()),
        ];
        for (at, (text, result)) in all.iter().enumerate() {
            let formula = Formula::new(text).set_result(result);
            let format = if at == 4 { &day } else { &general };
            sheet.write_formula_with_format(n - 1, at as u16 + 2, formula, format)?;
        }
    }
    book.save(format!("{ROOT}formulas/rust_xlsxwriter.xlsx"))
}

fn plan() -> Result<(), XlsxError> {
    let data = expected("plan");
    let mut book = Workbook::new();
    book.add_worksheet().set_name("How to use")?.write_string(0, 0, "Edit the plan.")?;
    book.add_worksheet().set_name("Secret")?.set_hidden(true).write_string(0, 0, "topic_id")?;
    let sheet = book.add_worksheet();
    sheet.set_name("Plan")?;
    let general = Format::new();
    let day = Format::new().set_num_format("ddd, d. mmm yyyy");
    let percent = Format::new().set_num_format("0%");
    let yellow = Format::new().set_background_color(Color::Yellow);
    sheet.merge_range(0, 0, 0, 3, "Priorities of autumn", &general)?;
    sheet.add_table(2, 0, 5, 3, &Table::new())?;
    header(sheet, 2, &data)?;
    for row in list(&data, "rows") {
        let cells = row.as_array().unwrap();
        let number = cells[0].as_u64().unwrap() as u32;
        for (at, cell) in cells[1..].iter().enumerate() {
            let format = [&general, &general, &day, &percent][at];
            if number < 5 || at != 1 {
                write(sheet, number - 1, at as u16, cell, format)?;
            }
        }
        sheet.write_blank(number - 1, 4, &yellow)?;
    }
    sheet.merge_range(4, 1, 5, 1, "low", &general)?;
    sheet.set_row_hidden(4)?;
    sheet.set_column_hidden(2)?;
    sheet.set_freeze_panes(3, 1)?;
    book.add_worksheet().set_name("Archive")?.write_string(0, 0, "topic_id")?;
    book.save(format!("{ROOT}plan/rust_xlsxwriter.xlsx"))
}

fn main() -> Result<(), XlsxError> {
    topics()?;
    formulas()?;
    plan()
}
