import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import org.apache.poi.poifs.crypt.EncryptionInfo;
import org.apache.poi.poifs.crypt.EncryptionMode;
import org.apache.poi.poifs.filesystem.POIFSFileSystem;
import org.apache.poi.ss.usermodel.*;
import org.apache.poi.ss.util.CellRangeAddress;
import org.apache.poi.xssf.streaming.SXSSFWorkbook;
import org.apache.poi.xssf.usermodel.XSSFWorkbook;
import org.apache.poi.hssf.usermodel.HSSFWorkbook;

/**
 * Writes the corpus with Apache POI. Run: cd make/poi && mvn -q dependency:copy-dependencies -DoutputDirectory=lib &&
 * java -cp 'lib/*' Corpus.java
 */
public class Corpus {
  static final Path ROOT = Path.of("../..");

  public static void main(String[] args) throws Exception {
    topics(new XSSFWorkbook(), "topics/poi.xlsx");
    topics(new SXSSFWorkbook(10), "topics/poi-streaming.xlsx");
    formulas(true, "formulas/poi.xlsx");
    formulas(false, "formulas-without-results/poi.xlsx");
    plan();
    encrypted();
    Workbook old = new HSSFWorkbook();
    old.createSheet("Topics").createRow(0).createCell(0).setCellValue("topic_id");
    save(old, "refused/poi-old-format.xls");
  }

  static void save(Workbook book, String path) throws Exception {
    try (FileOutputStream out = new FileOutputStream(ROOT.resolve(path).toFile())) {
      book.write(out);
    }
    book.close();
  }

  static CellStyle style(Workbook book, String format) {
    CellStyle style = book.createCellStyle();
    style.setDataFormat(book.createDataFormat().getFormat(format));
    return style;
  }

  static void topics(Workbook book, String path) throws Exception {
    Json expected = Json.of("topics");
    CellStyle time = style(book, "yyyy\\-mm\\-dd\\ hh:mm:ss;@");
    CellStyle percent = style(book, "0.00%");
    Sheet sheet = book.createSheet("Backlog");
    Row header = sheet.createRow(0);
    for (int at = 0; at < expected.columns.size(); at++)
      header.createCell(at).setCellValue(expected.columns.get(at));
    for (List<Object> cells : expected.rows) {
      Row row = sheet.createRow(((Double) cells.get(0)).intValue() - 1);
      for (int at = 0; at < cells.size() - 1; at++) {
        Object value = cells.get(at + 1);
        if (value == null) continue;
        Cell cell = row.createCell(at);
        if (value instanceof String text) cell.setCellValue(text);
        if (value instanceof Boolean truth) cell.setCellValue(truth);
        if (value instanceof Double number) cell.setCellValue(number);
        if (value instanceof LocalDateTime date) cell.setCellValue(date);
        if (value instanceof LocalDateTime) cell.setCellStyle(time);
        if (at == 6) cell.setCellStyle(percent);
      }
    }
    save(book, path);
  }

  static void formulas(boolean calculated, String path) throws Exception {
    Json expected = Json.of(calculated ? "formulas" : "formulas-without-results");
    Workbook book = new XSSFWorkbook();
    CellStyle day = style(book, "m/d/yy");
    Sheet sheet = book.createSheet("Backlog");
    Row header = sheet.createRow(0);
    for (int at = 0; at < expected.columns.size(); at++)
      header.createCell(at).setCellValue(expected.columns.get(at));
    for (int n = 2; n <= 3; n++) {
      List<Object> cells = expected.rows.get(n - 2);
      Row row = sheet.createRow(n - 1);
      row.createCell(0).setCellValue((String) cells.get(1));
      row.createCell(1).setCellValue((Double) cells.get(2));
      String[] all = {"B" + n + "*2", "A" + n + "&\"!\"", "B" + n + ">1", "1/0", "DATE(2026,3,4)+B" + n};
      for (int at = 0; at < expected.columns.size() - 2; at++) row.createCell(at + 2).setCellFormula(all[at]);
      if (calculated) row.getCell(6).setCellStyle(day);
    }
    if (calculated) book.getCreationHelper().createFormulaEvaluator().evaluateAll();
    save(book, path);
  }

  static void plan() throws Exception {
    Json expected = Json.of("plan");
    Workbook book = new XSSFWorkbook();
    book.createSheet("How to use").createRow(0).createCell(0).setCellValue("Edit the plan.");
    book.createSheet("Secret").createRow(0).createCell(0).setCellValue("topic_id");
    book.setSheetHidden(1, true);
    Sheet sheet = book.createSheet("Plan");
    CellStyle day = style(book, "ddd, d. mmm yyyy");
    CellStyle percent = style(book, "0%");
    CellStyle yellow = book.createCellStyle();
    yellow.setFillForegroundColor(IndexedColors.YELLOW.getIndex());
    yellow.setFillPattern(FillPatternType.SOLID_FOREGROUND);
    RichTextString title = book.getCreationHelper().createRichTextString("Priorities of autumn");
    Font bold = book.createFont();
    bold.setBold(true);
    title.applyFont(0, 10, bold);
    sheet.createRow(0).createCell(0).setCellValue(title);
    sheet.addMergedRegion(CellRangeAddress.valueOf("A1:D1"));
    Row header = sheet.createRow(2);
    for (int at = 0; at < 4; at++) header.createCell(at).setCellValue(expected.columns.get(at));
    for (List<Object> cells : expected.rows) {
      Row row = sheet.createRow(((Double) cells.get(0)).intValue() - 1);
      row.createCell(0).setCellValue((String) cells.get(1));
      if (cells.get(2) != null) row.createCell(1).setCellValue((String) cells.get(2));
      row.createCell(2).setCellValue((LocalDateTime) cells.get(3));
      row.getCell(2).setCellStyle(day);
      row.createCell(3).setCellValue((Double) cells.get(4));
      row.getCell(3).setCellStyle(percent);
      row.createCell(4).setCellStyle(yellow);
    }
    sheet.addMergedRegion(CellRangeAddress.valueOf("B5:B6"));
    sheet.setAutoFilter(CellRangeAddress.valueOf("A3:D6"));
    sheet.createFreezePane(1, 3);
    sheet.getRow(4).setZeroHeight(true);
    sheet.setColumnHidden(2, true);
    Drawing<?> drawing = sheet.createDrawingPatriarch();
    Comment comment = drawing.createCellComment(book.getCreationHelper().createClientAnchor());
    comment.setString(book.getCreationHelper().createRichTextString("not the value"));
    sheet.getRow(3).getCell(1).setCellComment(comment);
    book.createSheet("Archive").createRow(0).createCell(0).setCellValue("topic_id");
    save(book, "plan/poi.xlsx");
  }

  static void encrypted() throws Exception {
    try (POIFSFileSystem files = new POIFSFileSystem()) {
      EncryptionInfo info = new EncryptionInfo(EncryptionMode.agile);
      info.getEncryptor().confirmPassword("secret");
      try (var out = info.getEncryptor().getDataStream(files)) {
        out.write(Files.readAllBytes(ROOT.resolve("topics/poi.xlsx")));
      }
      try (FileOutputStream out = new FileOutputStream(ROOT.resolve("refused/poi-encrypted.xlsx").toFile())) {
        files.writeFilesystem(out);
      }
    }
  }

  /** Reads expected.json: texts, numbers, booleans, null, arrays, and dates as objects. */
  static class Json {
    final List<String> columns = new ArrayList<>();
    final List<List<Object>> rows = new ArrayList<>();
    private final String text;
    private int at;

    @SuppressWarnings("unchecked")
    static Json of(String name) throws Exception {
      Json json = new Json(Files.readString(ROOT.resolve(name + "/expected.json")));
      json.at = json.text.indexOf('[', json.text.indexOf("\"columns\""));
      for (Object column : (List<Object>) json.value()) json.columns.add((String) column);
      json.at = json.text.indexOf('[', json.text.indexOf("\"rows\""));
      for (Object row : (List<Object>) json.value()) json.rows.add((List<Object>) row);
      return json;
    }

    private Json(String text) {
      this.text = text;
    }

    private Object value() {
      while (" \n,:".indexOf(text.charAt(at)) >= 0) at++;
      char first = text.charAt(at);
      if (first == '[') {
        List<Object> list = new ArrayList<>();
        at++;
        while (true) {
          while (" \n,".indexOf(text.charAt(at)) >= 0) at++;
          if (text.charAt(at) == ']') break;
          list.add(value());
        }
        at++;
        return list;
      }
      if (first == '{') {
        at = text.indexOf(':', at);
        String date = (String) value();
        at = text.indexOf('}', at) + 1;
        return date.contains("T") ? LocalDateTime.parse(date) : LocalDate.parse(date).atStartOfDay();
      }
      if (first == '"') {
        StringBuilder found = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
          char character = text.charAt(at);
          if (character == '\\') {
            character = text.charAt(++at);
            if (character == 'n') character = '\n';
          }
          found.append(character);
        }
        at++;
        return found.toString();
      }
      int from = at;
      while (",]} \n".indexOf(text.charAt(at)) < 0) at++;
      String word = text.substring(from, at);
      if (word.equals("null")) return null;
      if (word.equals("true") || word.equals("false")) return word.equals("true");
      return Double.valueOf(word);
    }
  }
}
