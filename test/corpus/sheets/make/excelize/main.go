// Writes the corpus with excelize. Run: cd make/excelize && go mod tidy && go run .
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
)

const root = "../../"

type expected struct {
	Columns []any   `json:"columns"`
	Rows    [][]any `json:"rows"`
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func read(name string) expected {
	var found expected
	content, err := os.ReadFile(root + name + "/expected.json")
	must(err)
	must(json.Unmarshal(content, &found))
	for _, row := range found.Rows {
		for at, cell := range row {
			if date, is := cell.(map[string]any); is {
				text := date["date"].(string)
				if !strings.Contains(text, "T") {
					text += "T00:00:00"
				}
				moment, err := time.Parse("2006-01-02T15:04:05", text)
				must(err)
				row[at] = moment
			}
		}
	}
	return found
}

func address(column, row int) string {
	name, err := excelize.CoordinatesToCellName(column, row)
	must(err)
	return name
}

func style(book *excelize.File, format string) int {
	id, err := book.NewStyle(&excelize.Style{CustomNumFmt: &format})
	must(err)
	return id
}

func topics() {
	data := read("topics")
	book := excelize.NewFile()
	must(book.SetSheetRow("Sheet1", "A1", &data.Columns))
	seconds, percent := style(book, "yyyy/mm/dd hh:mm:ss"), style(book, "0.0%")
	for _, row := range data.Rows {
		number := int(row[0].(float64))
		for at, cell := range row[1:] {
			if cell == nil {
				continue
			}
			must(book.SetCellValue("Sheet1", address(at+1, number), cell))
			if _, is := cell.(time.Time); is {
				must(book.SetCellStyle("Sheet1", address(at+1, number), address(at+1, number), seconds))
			}
			if at == 6 {
				must(book.SetCellStyle("Sheet1", address(at+1, number), address(at+1, number), percent))
			}
		}
	}
	must(book.SaveAs(root + "topics/excelize.xlsx"))

	book = excelize.NewFile()
	seconds = style(book, "yyyy/mm/dd hh:mm:ss")
	stream, err := book.NewStreamWriter("Sheet1")
	must(err)
	must(stream.SetRow("A1", data.Columns))
	for _, row := range data.Rows {
		cells := []any{}
		for _, cell := range row[1:] {
			if moment, is := cell.(time.Time); is {
				cell = excelize.Cell{StyleID: seconds, Value: moment}
			}
			cells = append(cells, cell)
		}
		must(stream.SetRow(address(1, int(row[0].(float64))), cells))
	}
	must(stream.Flush())
	must(book.SaveAs(root + "topics/excelize-stream.xlsx"))
}

func formulas() {
	data := read("formulas-without-results")
	book := excelize.NewFile()
	must(book.SetSheetRow("Sheet1", "A1", &data.Columns))
	for _, row := range data.Rows {
		number := int(row[0].(float64))
		must(book.SetCellValue("Sheet1", address(1, number), row[1]))
		must(book.SetCellValue("Sheet1", address(2, number), row[2]))
		must(book.SetCellFormula("Sheet1", address(3, number), fmt.Sprintf("=B%d*2", number)))
		must(book.SetCellFormula("Sheet1", address(4, number), fmt.Sprintf("=A%d&\"!\"", number)))
	}
	must(book.SaveAs(root + "formulas-without-results/excelize.xlsx"))
}

func plan() {
	data := read("plan")
	book := excelize.NewFile()
	must(book.SetSheetName("Sheet1", "How to use"))
	must(book.SetCellValue("How to use", "A1", "Edit the plan."))
	for _, name := range []string{"Secret", "Plan", "Archive"} {
		_, err := book.NewSheet(name)
		must(err)
		must(book.SetCellValue(name, "A1", "topic_id"))
	}
	must(book.SetSheetVisible("Secret", false))
	must(book.SetCellRichText("Plan", "A1", []excelize.RichTextRun{
		{Text: "Priorities ", Font: &excelize.Font{Bold: true}}, {Text: "of autumn"},
	}))
	must(book.MergeCell("Plan", "A1", "D1"))
	must(book.SetSheetRow("Plan", "A3", &data.Columns))
	day, percent := style(book, "ddd, d. mmm yyyy"), style(book, "0%")
	yellow, err := book.NewStyle(&excelize.Style{
		Fill: excelize.Fill{Type: "pattern", Color: []string{"FFFF00"}, Pattern: 1},
	})
	must(err)
	for _, row := range data.Rows {
		number := int(row[0].(float64))
		for at, cell := range row[1:] {
			if cell != nil {
				must(book.SetCellValue("Plan", address(at+1, number), cell))
			}
		}
		must(book.SetCellStyle("Plan", address(3, number), address(3, number), day))
		must(book.SetCellStyle("Plan", address(4, number), address(4, number), percent))
		must(book.SetCellStyle("Plan", address(5, number), address(7, number), yellow))
	}
	must(book.MergeCell("Plan", "B5", "B6"))
	must(book.AutoFilter("Plan", "A3:D6", nil))
	must(book.SetRowVisible("Plan", 5, false))
	must(book.SetColVisible("Plan", "C", false))
	must(book.SetPanes("Plan", &excelize.Panes{Freeze: true, XSplit: 1, YSplit: 3, TopLeftCell: "B4", ActivePane: "bottomRight"}))
	must(book.SaveAs(root + "plan/excelize.xlsx"))
}

func main() {
	topics()
	formulas()
	plan()
}
