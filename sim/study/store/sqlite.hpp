#pragma once
// SQLite as values with an owner. Every failure is a ConfigError that names the file, what went
// wrong, and that what was committed before is kept.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace headroom {

class Database;

// A prepared statement; it must not outlive its database.
class Statement {
 public:
  // Parameters and columns are counted from 0.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view text);
  Statement& bind_null(int parameter);

  // True: there is a row to read.
  [[nodiscard]] bool step();
  // Runs it to its end and makes it ready for other parameters.
  void run();
  void reset();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double number(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Database;
  Statement(const Database& database, sqlite3_stmt* statement);
  void check(int code) const;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Mode { create, existing, read_only };
  // create: makes the file where there is none. Whether an existing one is a database at all shows
  // when it is first read.
  Database(std::string path, Mode mode);

  [[nodiscard]] const std::string& path() const { return path_; }
  void execute(const char* sql);
  [[nodiscard]] Statement prepare(std::string_view sql) const;
  [[nodiscard]] bool has_table(std::string_view name) const;
  // ConfigError for a database whose pages contradict each other.
  void check_pages() const;

  // What is thrown for the last failure.
  [[noreturn]] void fail(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// Everything from here to commit() happens, or nothing. One at a time.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace headroom
