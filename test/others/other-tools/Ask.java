import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.io.PrintStream;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.StringJoiner;

/** Runs each NAME.sql of a folder on a DuckDB file by JDBC and prints {NAME: rows} as JSON: Ask FILE FOLDER. */
public class Ask {
  public static void main(String[] args) throws Exception {
    Properties readOnly = new Properties();
    readOnly.setProperty("duckdb.read_only", "true");
    StringJoiner answers = new StringJoiner(",\n", "{", "}");
    try (Connection connection = DriverManager.getConnection("jdbc:duckdb:" + args[0], readOnly);
        Statement statement = connection.createStatement();
        var files = Files.list(Path.of(args[1]))) {
      statement.execute("SET TimeZone = 'UTC'");
      for (Path file : files.sorted().toList()) {
        String name = file.getFileName().toString().replaceFirst("\\.sql$", "");
        try (ResultSet rows = statement.executeQuery(Files.readString(file))) {
          answers.add(quoted(name) + ": " + json(rows));
        }
      }
    }
    new PrintStream(System.out, true, StandardCharsets.UTF_8).println(answers);
  }

  private static String json(ResultSet rows) throws SQLException {
    StringJoiner all = new StringJoiner(",", "[", "]");
    while (rows.next()) {
      StringJoiner row = new StringJoiner(",", "[", "]");
      for (int at = 1; at <= rows.getMetaData().getColumnCount(); at++) {
        Object value = rows.getObject(at);
        boolean isPlain = value == null || value instanceof Number || value instanceof Boolean;
        row.add(isPlain ? String.valueOf(value) : quoted(value.toString()));
      }
      all.add(row.toString());
    }
    return all.toString();
  }

  private static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char one : text.toCharArray()) {
      if (one == '"' || one == '\\') out.append('\\').append(one);
      else if (one < ' ') out.append(String.format("\\u%04x", (int) one));
      else out.append(one);
    }
    return out.append('"').toString();
  }
}
